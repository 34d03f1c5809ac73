// Copies between tensors with strides and dense ones, by a dispatch each.
#pragma once

#include "vk/record/executable_state.hpp"
#include "vk/record/run_memory.hpp"

namespace tosavk {

class Packer {
public:
    /// For the copies of both lists that have strides. The executable must outlive it.
    Packer(const ExecutableState& executable, const ExternalUse& use, const RunMemory& memory);
    Packer(const Packer&) = delete;
    Packer& operator=(const Packer&) = delete;

    /// Records the dispatches that go before or after a run; no barriers. Returns whether there were any.
    bool record_before(VkCommandBuffer commands) const { return record(commands, before_); }
    bool record_after(VkCommandBuffer commands) const { return record(commands, after_); }
    bool has_after() const { return !after_.empty(); }
    bool empty() const { return before_.empty() && after_.empty(); }

private:
    struct Job {
        std::shared_ptr<const Pipeline> pipeline;
        VkDescriptorSet set = VK_NULL_HANDLE;
        std::array<std::uint32_t, 3> groups{};
    };

    void make_sets(std::size_t count);
    Job make_job(const ExternalCopy& copy, const RunMemory& memory, std::size_t number);
    bool record(VkCommandBuffer commands, const std::vector<Job>& jobs) const;

    const ExecutableState& executable_;
    DeviceState& device_;
    Buffer layouts_;  ///< shape and strides of each job
    UniqueHandle<VkDescriptorPool> pool_;
    std::vector<Job> before_, after_;
};

}  // namespace tosavk

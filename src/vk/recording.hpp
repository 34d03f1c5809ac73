// Arena, descriptor sets and the command buffer of a Context: made once, submitted again and again.
#pragma once

#include "vk/executable_state.hpp"

namespace tosavk {

class Recording {
public:
    /// The executable must outlive the recording.
    Recording(const ExecutableState& executable, bool profile);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    void write_input(std::size_t index, std::span<const std::byte> bytes);
    /// Graph output number `index`, which must have a place in the arena.
    void read_output(std::size_t index, std::span<std::byte> bytes) const;
    /// Any bytes of the arena; blocking, not part of the recorded commands.
    void read_arena(std::uint64_t offset, std::span<std::byte> bytes) const;

    void submit();
    void wait();
    /// Nanoseconds per dispatch of the finished run; `result` is empty without timestamps.
    void read_timestamps(std::vector<double>& result) const;

    std::uint64_t allocations() const { return (arena_.size() > 0 ? 1u : 0u) + (staging_.size() > 0 ? 1u : 0u); }

private:
    void make_buffers();
    void make_descriptor_sets();
    void record();
    void record_dispatches();
    void copy(const Buffer& from, const Buffer& to, std::uint64_t from_offset, std::uint64_t to_offset,
              std::uint64_t size);
    void barrier(VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to, VkAccessFlags used);

    const ExecutableState& executable_;
    DeviceState& device_;
    const VolkDeviceTable& vk_;
    bool in_place_;  ///< the arena is mapped
    bool profile_;   ///< with timestamps, dispatches one after another
    Buffer arena_, staging_;
    std::vector<std::uint64_t> staged_inputs_, staged_outputs_;  ///< offsets in staging_ by graph input and output
    UniqueHandle<VkDescriptorPool> descriptor_pool_;
    std::vector<VkDescriptorSet> sets_;  ///< by dispatch
    UniqueHandle<VkCommandPool> command_pool_;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    UniqueHandle<VkFence> fence_;
    UniqueHandle<VkQueryPool> queries_;
    mutable std::vector<std::uint64_t> ticks_;
    bool pending_ = false;
};

}  // namespace tosavk

// Writes dispatches, copies and barriers of a plan into a command buffer. Which command buffer, and what stands before
// and after, is for others to know.
#pragma once

#include "vk/record/binding_set.hpp"

#include <functional>

namespace tosavk {

class PlanWriter {
public:
    static constexpr VkPipelineStageFlags compute_stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    static constexpr VkPipelineStageFlags transfer_stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
    static constexpr VkPipelineStageFlags host_stage = VK_PIPELINE_STAGE_HOST_BIT;
    static constexpr VkAccessFlags shader_access = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    static constexpr VkAccessFlags transfer_access = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;

    /// The executable must outlive it, as must the sets and the memory.
    PlanWriter(const ExecutableState& executable, const BindingSet& sets, const RunMemory& memory);

    void set_commands(VkCommandBuffer commands) { commands_ = commands; }
    VkCommandBuffer commands() const { return commands_; }

    void barrier(VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to, VkAccessFlags used);
    void copy(BufferPlace from, BufferPlace to, std::uint64_t size);
    /// What goes to the host is made visible to it.
    void copies(const std::vector<Copy>& copies);
    /// Copies before or after the run, without barriers, but for those with strides, which are a Packer's. Returns
    /// whether there were any.
    bool copies(const std::vector<ExternalCopy>& copies);
    /// Dispatches number `from` to `to` of a plan whose first one has the set `first_set`; one more barrier before each
    /// of `barriers`. `after` is called after each, and has a barrier before the next one, where it is not empty.
    void dispatches(const Plan& plan, std::size_t first_set, std::size_t from, std::size_t to,
                    std::span<const std::size_t> barriers, const std::function<void()>& after);

    /// A plan whole, with its control steps, none of which the host decides; each turn of a loop is written out.
    void whole(const Plan& plan, std::size_t first_set, std::span<const std::size_t> barriers);

    /// What dispatches do: compute only, or copies too.
    VkPipelineStageFlags work_stages() const { return work_stages_; }
    VkAccessFlags work_writes() const { return work_writes_; }
    VkAccessFlags work_access() const { return work_access_; }

private:
    /// Copies with all that comes before and after in order.
    void settled_copies(const std::vector<Copy>& copies);

    const ExecutableState& executable_;
    const VolkDeviceTable& vk_;
    const BindingSet& sets_;
    const RunMemory& memory_;
    VkPipelineStageFlags work_stages_;
    VkAccessFlags work_writes_, work_access_;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
};

}  // namespace tosavk

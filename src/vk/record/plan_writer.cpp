#include "vk/record/plan_writer.hpp"

#include <algorithm>

namespace tosavk {

PlanWriter::PlanWriter(const ExecutableState& executable, const BindingSet& sets, const RunMemory& memory)
    : executable_(executable), vk_(executable.device->state().vk), sets_(sets), memory_(memory) {
    const Plan& plan = executable_.plan;
    const bool copies = !plan.controls.empty() || plan.state_bytes > 0;
    work_stages_ = compute_stage | (copies ? transfer_stage : 0);
    work_writes_ = VK_ACCESS_SHADER_WRITE_BIT | (copies ? VK_ACCESS_TRANSFER_WRITE_BIT : 0);
    work_access_ = shader_access | (copies ? transfer_access : 0);
}

void PlanWriter::barrier(VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to, VkAccessFlags used) {
    VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    memory.srcAccessMask = made;
    memory.dstAccessMask = used;
    vk_.vkCmdPipelineBarrier(commands_, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void PlanWriter::copy(BufferPlace from, BufferPlace to, std::uint64_t size) {
    const VkBufferCopy region{from.offset, to.offset, size};
    vk_.vkCmdCopyBuffer(commands_, from.buffer, to.buffer, 1, &region);
}

void PlanWriter::copies(const std::vector<Copy>& copies) {
    bool to_host = false;
    for (const Copy& c : copies) {
        copy(memory_.at(executable_.plan, c.from), memory_.at(executable_.plan, c.to),
             std::min(c.from.size, c.to.size));
        to_host = to_host || c.to.space == Space::host;
    }
    if (to_host) {
        barrier(transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT, host_stage, VK_ACCESS_HOST_READ_BIT);
    }
}

bool PlanWriter::copies(const std::vector<ExternalCopy>& copies) {
    bool any = false;
    for (const ExternalCopy& c : copies) {
        if (c.is_strided()) continue;
        copy(memory_.at(executable_.plan, c.from), memory_.at(executable_.plan, c.to), c.bytes);
        any = true;
    }
    return any;
}

void PlanWriter::dispatches(const Plan& plan, std::size_t first_set, std::size_t from, std::size_t to,
                            std::span<const std::size_t> barriers, const std::function<void()>& after) {
    const Pipeline* bound = nullptr;
    for (std::size_t d = from; d < to; ++d) {
        const Dispatch& dispatch = plan.dispatches[d];
        const bool one_more = std::binary_search(barriers.begin(), barriers.end(), d);
        if (dispatch.barrier_before || one_more || (after && d > from)) {
            barrier(work_stages_, work_writes_, work_stages_, work_access_);
        }
        if (dispatch.is_copy()) {
            const Placement &source = dispatch.bindings[0].place, &target = dispatch.bindings[1].place;
            copy(memory_.at(executable_.plan, source), memory_.at(executable_.plan, target),
                 std::min(source.size, target.size));
        } else {
            const Pipeline& pipeline = *executable_.pipelines[first_set + d];
            if (bound != &pipeline) {
                vk_.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle.get());
                bound = &pipeline;
            }
            const VkDescriptorSet set = sets_[first_set + d];
            vk_.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout->pipeline.get(), 0,
                                        1, &set, 0, nullptr);
            if (!dispatch.pushed.empty()) {
                vk_.vkCmdPushConstants(commands_, pipeline.layout->pipeline.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                       static_cast<std::uint32_t>(dispatch.pushed.size() * sizeof(std::int32_t)),
                                       dispatch.pushed.data());
            }
            if (dispatch.arguments.space != Space::none) {
                const BufferPlace place = memory_.at(executable_.plan, dispatch.arguments);
                vk_.vkCmdDispatchIndirect(commands_, place.buffer, place.offset);
            } else {
                vk_.vkCmdDispatch(commands_, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
            }
        }
        if (after) after();
    }
}

void PlanWriter::settled_copies(const std::vector<Copy>& list) {
    barrier(work_stages_, work_writes_, work_stages_, work_access_);
    if (list.empty()) return;
    copies(list);
    barrier(work_stages_, work_writes_, work_stages_, work_access_);
}

void PlanWriter::whole(const Plan& plan, std::size_t first_set, std::span<const std::size_t> barriers) {
    std::size_t from = 0, next_set = first_set + plan.dispatches.size();
    for (const ControlStep& control : plan.controls) {
        dispatches(plan, first_set, from, control.before, barriers, {});
        from = control.before;
        settled_copies(control.prepare);
        next_set += dispatch_count(control.regions.front().plan);
        const std::size_t bodies = control.regions.size() - 1;  // one, or two that take turns
        for (std::int64_t turn = 0; turn < control.turns; ++turn) {
            const std::size_t which = 1 + static_cast<std::size_t>(turn) % bodies;
            const RegionPlan& body = control.regions[which];
            if (!body.enter.empty()) settled_copies(body.enter);
            whole(body.plan, which == 1 ? next_set : next_set + dispatch_count(control.regions[1].plan), {});
            settled_copies(body.leave);
        }
        if (!control.answer.empty()) settled_copies(control.answer);
        for (std::size_t r = 1; r <= bodies; ++r) next_set += dispatch_count(control.regions[r].plan);
    }
    dispatches(plan, first_set, from, plan.dispatches.size(), barriers, {});
}

}  // namespace tosavk

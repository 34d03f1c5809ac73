#include "vk/record/host_bindings.hpp"

#include "vk/core/transfer.hpp"
#include "vk/record/variables.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

std::uint64_t aligned_arena(const Plan& plan, const DevicePlan& device) {
    return (plan.arena_bytes + device.buffer_alignment - 1) / device.buffer_alignment * device.buffer_alignment;
}

void require_range(const char* what, const BufferRange& range, std::uint64_t bytes, std::uint64_t alignment) {
    if (bytes == 0) return;
    if (range.buffer == 0) throw Error(ErrorCode::usage, fmt::format("{} has no buffer", what));
    if (range.size < bytes || range.offset % alignment != 0)
        throw Error(ErrorCode::bad_input, fmt::format("{} needs {} bytes at a multiple of {}, and has {} at {}", what,
                                                      bytes, alignment, range.size, range.offset));
    if (!range.storage || !range.texels)
        throw Error(ErrorCode::bad_input,
                    fmt::format("{} needs a buffer for storage, uniform texels and transfers", what));
}

/// Of the memory that the library writes or reads beside the tensors: none of it may be theirs.
void require_apart(const char* what, BufferRange range, std::uint64_t bytes, const Graph& graph,
                   const HostTensors& tensors) {
    range.size = bytes;  // what is used of it
    const auto check = [&](const char* kind, const std::vector<BufferRange>& bound, const std::vector<ValueId>& ids) {
        for (std::size_t k = 0; k < bound.size() && k < ids.size(); ++k) {
            const Value& value = graph.value(ids[k]);
            if (bytes == 0 || has_no_elements(value.shape)) continue;
            BufferRange used = bound[k];
            const auto dense = static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
            if (used.strides.empty()) used.size = std::min(used.size, dense);
            if (range.overlaps(used)) throw Error(ErrorCode::usage, fmt::format("{} overlaps {} {}", what, kind, k));
        }
    };
    check("input", tensors.inputs, graph.inputs);
    check("output", tensors.outputs, graph.outputs);
}

bool same_copies(const ExternalUse& a, const ExternalUse& b) {
    return a.before.empty() && b.before.empty() && a.after.empty() && b.after.empty() && a.barriers == b.barriers;
}

}  // namespace

HostMemoryNeeds host_memory_needs(const ExecutableState& executable) {
    const DevicePlan& device = executable.device->plan();
    HostMemoryNeeds needs;
    needs.arena = executable.plan.arena_bytes;
    needs.with_copies = aligned_arena(executable.plan, device) + executable.plan.external_bytes;
    needs.alignment = device.buffer_alignment;
    needs.constants = executable.pieces.empty() ? executable.plan.constants.size() : 0;
    return needs;
}

HostBindings::HostBindings(std::shared_ptr<Executable> executable)
    : executable_(std::move(executable)), device_(executable_->device().state()), sets_(executable_->state()) {
    const Plan& plan = executable_->plan();
    if (!is_recordable(plan))
        throw Error(
            ErrorCode::unsupported,
            "a graph with COND_IF, or with a WHILE_LOOP whose turns only running it tells, needs the host for its "
            "decisions and cannot be recorded");
    constexpr std::uint64_t most = 65536;
    if (const std::uint64_t count = stretches(plan); count > most)
        throw Error(
            ErrorCode::unsupported,
            fmt::format("the turns of its loops are {} stretches of commands, and up to {} are recorded", count, most));
    const MemoryUse use = device_.plan.map_in_place ? MemoryUse::shared : MemoryUse::device;
    state_ = Buffer(device_, plan.state_bytes, use, "the variables");
    upload_initial_values(device_, executable_->graph(), plan, state_);
}

void HostBindings::write(const HostTensors& tensors) {
    const ExecutableState& state = executable_->state();
    const Plan& plan = state.plan;
    const HostMemoryNeeds needs = host_memory_needs(state);
    ExternalUse use = use_externals(*state.graph, plan, device_.caps, tensors.inputs, tensors.outputs);
    const bool copies =
        std::any_of(use.slots.begin(), use.slots.end(), [](const BufferRange& slot) { return slot.buffer == 0; });
    const std::uint64_t arena_bytes = copies ? needs.with_copies : needs.arena;
    require_range("the arena", tensors.arena, arena_bytes, needs.alignment);
    require_apart("the arena", tensors.arena, arena_bytes, *state.graph, tensors);
    if (tensors.constants.buffer != 0 && !state.pieces.empty())
        throw Error(ErrorCode::usage, "the constants are shared with other executables and stay where they are");
    if (tensors.constants.buffer != 0)
        require_range("the buffer of the constants", tensors.constants, needs.constants, needs.alignment);
    require_apart("the buffer of the constants", tensors.constants, needs.constants, *state.graph, tensors);
    BufferRange arena = tensors.arena, constants = tensors.constants;
    arena.size = arena_bytes, constants.size = needs.constants;
    if (arena_bytes != 0 && needs.constants != 0 && arena.overlaps(constants))
        throw Error(ErrorCode::usage, "the arena overlaps the buffer of the constants");
    // Of what kernels write in place they may write the padding too.
    for (const BufferRange& slot : use.slots) {
        if ((arena_bytes != 0 && arena.overlaps(slot)) || (needs.constants != 0 && constants.overlaps(slot)))
            throw Error(ErrorCode::usage, "the padding of a tensor overlaps the arena or the buffer of the constants");
    }
    RunMemory memory;
    memory.arena = {buffer_of(tensors.arena), tensors.arena.offset};
    memory.externals = {memory.arena.buffer, memory.arena.offset + aligned_arena(plan, device_.plan)};
    memory.constants = tensors.constants.buffer != 0
                         ? BufferPlace{buffer_of(tensors.constants), tensors.constants.offset}
                         : BufferPlace{state.constants.handle(), 0};
    memory.pieces = state.pieces;
    memory.state = {state_.handle(), 0};
    memory.set_slots(plan, use);
    // Copies, those of the lists of loops too, are recorded with the buffers that they go between.
    const bool only_bindings = plan.controls.empty() && std::none_of(plan.dispatches.begin(), plan.dispatches.end(),
                                                                     [](const Dispatch& d) { return d.is_copy(); });
    const bool same_places =
        use.slots == use_.slots && memory.arena == memory_.arena && memory.constants == memory_.constants;
    const bool follows = same_copies(use, use_) && (only_bindings || same_places);
    if (recorded_ && device_.update_after_bind && !follows)
        throw Error(ErrorCode::usage,
                    "what was recorded cannot follow: a tensor is copied now, or was; record another binding set");
    auto packer = std::make_unique<Packer>(state, use, memory);
    sets_.write(memory);
    packer_ = std::move(packer);
    memory_ = std::move(memory);
    use_ = std::move(use);
    written_ = true;
}

void HostBindings::record(VkCommandBuffer commands) {
    if (!written_) throw Error(ErrorCode::usage, "the binding set was not written yet");
    constexpr auto transfer = PlanWriter::transfer_stage;
    PlanWriter writer(executable_->state(), sets_, memory_);
    writer.set_commands(commands);
    const Plan& plan = executable_->plan();
    constexpr auto both = PlanWriter::compute_stage | transfer;
    constexpr VkAccessFlags writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    constexpr VkAccessFlags all = PlanWriter::shader_access | PlanWriter::transfer_access;
    const bool copied = writer.copies(use_.before), packed = packer_->record_before(commands);
    if (copied || packed) writer.barrier(both, writes, both, all);
    writer.whole(plan, 0, use_.barriers);
    if (!use_.after.empty()) {
        // Writes wait for reads of the same bytes too: an output may lie over an input.
        writer.barrier(both, writes, both, all);
        // A strided tensor is written by words, which may hold bytes of what was copied.
        if (writer.copies(use_.after) && packer_->has_after())
            writer.barrier(transfer, VK_ACCESS_TRANSFER_WRITE_BIT, PlanWriter::compute_stage,
                           PlanWriter::shader_access);
        packer_->record_after(commands);
    }
    recorded_ = true;
}

HostAccess HostBindings::access() const {
    if (!written_) throw Error(ErrorCode::usage, "the binding set was not written yet");
    HostAccess access;
    access.copies = use_.before.size() + use_.after.size();
    const auto add = [](VkPipelineStageFlags& stages, VkAccessFlags& accesses, VkPipelineStageFlags stage,
                        VkAccessFlags what) { stages |= stage, accesses |= what; };
    const auto& dispatches = executable_->plan().dispatches;
    const auto is_copy = [](const Dispatch& dispatch) { return dispatch.is_copy(); };
    const bool loops = !executable_->plan().controls.empty();  // their lists are copied, and bodies compute
    const bool moves = loops || std::any_of(dispatches.begin(), dispatches.end(), is_copy);
    const bool computes = loops || !std::all_of(dispatches.begin(), dispatches.end(), is_copy) || !packer_->empty();
    if (computes) {
        add(access.first_stages, access.first_access, PlanWriter::compute_stage, PlanWriter::shader_access);
        add(access.last_stages, access.last_access, PlanWriter::compute_stage, VK_ACCESS_SHADER_WRITE_BIT);
    }
    if (moves || access.copies > 0) {
        add(access.first_stages, access.first_access, PlanWriter::transfer_stage, PlanWriter::transfer_access);
        add(access.last_stages, access.last_access, PlanWriter::transfer_stage, VK_ACCESS_TRANSFER_WRITE_BIT);
    }
    return access;
}

}  // namespace tosavk

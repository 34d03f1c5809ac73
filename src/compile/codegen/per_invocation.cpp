// How many elements an invocation of a group without a kernel makes: four, one or eight.
#include "compile/codegen/source_builder.hpp"
#include "kernels/common/tensors.hpp"

#include <algorithm>

namespace tosavk {

namespace {

/// Where devices compute long functions element by element in a loop, that goes round as often for one.
bool loops_over_quads(const Graph& graph, const Group& group, const DevicePlan& device) {
    return device.function_elements < 4 && std::any_of(
                                               group.members.begin(), group.members.end(),
                                               [&](NodeId id) { return op_def(graph.node(id).op).library != nullptr; });
}

}  // namespace

/// Where four neighbours do not lie in one quad of each tensor they are loaded and stored one by one, each in a step of
/// four among those of the neighbouring invocations; as one element of an invocation they lie side by side.
bool SourceBuilder::wants_single_elements(std::span<const ValueId> writes) const {
    const auto is_word = [&](ValueId id) { return size_of(graph_.value(id).type) == 4; };
    return !group_.choice && !group_.rows && device_.lanes_together > 1 && !loops_over_quads(graph_, group_, device_) &&
           std::all_of(writes.begin(), writes.end(), is_word) && device_.chooses(parts_quads_, "single elements");
}

/// Two quads at once, where an invocation makes both and nothing else writes their memory.
bool SourceBuilder::stores_eights() const {
    const auto of_outputs = [&](auto test) {
        return std::count_if(group_.outputs.begin(), group_.outputs.end(),
                             [&](ValueId id) { return test(id, graph_.value(id).type); });
    };
    const bool wide = device_.slow_storage && device_.int64;
    // Eight numbers of fp16 are what four of fp32 are to memory, and found by as few instructions.
    const bool halves = device_.fast_fp16 && !device_.slow_storage &&
                        of_outputs([](ValueId, DType type) { return type == DType::fp16; }) > 0;
    if (group_.rows || !group_.stores.empty()) return false;
    if (group_.choice ? !group_.choice->by_eights
        : halves      ? count_ % 8 != 0 || !device_.keeps_busy(count_ / 8, "eights of halves")
                      : !wants_eights(count_, device_))
        return false;
    const auto takes = [&](ValueId id, DType type) {
        return (wide ? type != DType::i48 : size_of(type) == 1 || (halves && type == DType::fp16)) &&
               binding_count(value_bytes(graph_, id), device_) == 1;
    };
    return of_outputs(takes) == std::ssize(group_.outputs);
}

}  // namespace tosavk

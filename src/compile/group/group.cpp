#include "compile/group/group.hpp"

#include "ops/storage.hpp"

namespace tosavk {

const Group::Prologue* prologue_of(const Graph& graph, const Group& group, const KernelOperand& operand) {
    if (operand.value == no_id) return nullptr;
    const ValueId value = storage_of(graph, operand.value);
    const auto found = std::find_if(group.prologues.begin(), group.prologues.end(),
                                    [&](const auto& prologue) { return prologue.value == value; });
    return found == group.prologues.end() ? nullptr : &*found;
}

}  // namespace tosavk

// Prologues: elementwise groups that a kernel, or a group that moves it, computes where it reads their one result.
#include "compile/group/fuser.hpp"
#include "compile/group/leaves.hpp"
#include "compile/group/prologue.hpp"
#include "graph/index_map.hpp"
#include "ops/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

void Fuser::find_reads(ValueId id, std::vector<Read>& reads) const {
    if (is_output_[id]) reads.push_back({no_id, 0});
    std::set<NodeId> seen;
    for (const NodeId consumer : consumers_[id]) {
        if (!seen.insert(consumer).second) continue;
        const Node& node = graph_.node(consumer);
        const bool is_alias = !node.outputs.empty() && storage_of(graph_, node.outputs.front()) != node.outputs.front();
        if (is_alias) {
            find_reads(node.outputs.front(), reads);
            continue;
        }
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
            if (node.inputs[k] == id) reads.push_back({consumer, k});
        }
    }
}

std::optional<ValueId> Fuser::value_for(const Group& elementwise, const std::set<NodeId>& readers) const {
    const std::set<NodeId> members(elementwise.members.begin(), elementwise.members.end());
    std::optional<ValueId> value;
    for (const NodeId member : elementwise.members) {
        const ValueId made = graph_.node(member).outputs.front();
        std::vector<Read> reads;
        find_reads(made, reads);
        for (const Read& read : reads) {
            if (members.contains(read.node)) continue;
            if (!readers.contains(read.node) || (value && value != made)) return std::nullopt;
            value = made;
        }
    }
    return value;
}

bool Fuser::may_be_prologue(const Group& group) {
    return group.kind == Group::Kind::elementwise && group.stores.empty() && group.prologues.empty();
}

void Fuser::take_moved(std::size_t g, std::size_t h) {
    const Group &group = groups_[g], &taken = groups_[h];
    if (!may_be_prologue(taken) || group.kind != Group::Kind::elementwise) return;
    const std::optional<ValueId> value = value_for(taken, {group.members.begin(), group.members.end()});
    if (!value || element_count(graph_.value(*value).shape) > max_elements) return;

    double reads = 0;
    bool whole_quads = true;
    const auto elements = static_cast<double>(element_count(graph_.value(*value).shape));
    for (const NodeId id : group.members) {
        const NodeView view(graph_, id);
        for (std::size_t k = 0; k < view.input_count(); ++k) {
            if (storage_of(graph_, view.node().inputs[k]) != *value) continue;
            const OpDef& def = op_def(view.node().op);
            if (!def.view || k != 0) return;
            const IndexMap map = simplify(def.view(view).maps.front());
            whole_quads = whole_quads && !map.dims.empty() && has_rows_of_quads(map);
            reads += static_cast<double>(element_count(view.out().shape)) / elements;
        }
    }
    PrologueCost cost = prologue_cost(graph_, taken.members);
    const double once = cost.leaf_bytes + cost.operations;
    // Elements that are read one by one are made four at a time all the same.
    if (!whole_quads) cost.operations *= 4;
    if (reads * (cost.leaf_bytes + cost.operations) > once + cost.result_bytes * (1 + reads)) return;
    Group larger = group;
    larger.prologues.push_back({*value, taken.members});
    std::optional<std::set<std::size_t>> needs = joint_needs(g, h);
    if (!needs || !fits(larger)) return;
    merge(g, std::move(larger), h, std::move(*needs));
}

void Fuser::take_prologue(std::size_t g, std::size_t h) {
    Group& group = groups_[g];
    const Group& taken = groups_[h];
    if (group.kind != Group::Kind::kernel || !may_be_prologue(taken)) return;
    const std::optional<ValueId> value = value_for(taken, {group.anchor});
    if (!value || element_count(graph_.value(*value).shape) > max_elements) return;

    std::vector<const KernelPass*> passes{&*group.choice};
    for (const KernelPass& pass : group.choice->earlier) passes.push_back(&pass);
    const KernelPass* reader = nullptr;
    std::size_t index = 0, found = 0;
    for (const KernelPass* pass : passes) {
        for (std::size_t k = 0; k < pass->operands.size(); ++k) {
            if (pass->operands[k].value == no_id || storage_of(graph_, pass->operands[k].value) != *value) continue;
            reader = pass;
            index = k;
            ++found;
        }
    }
    // What is packed while planning, or read by several passes, is no matter of one function.
    if (found != 1 || reader->operands[index].type != graph_.value(*value).type) return;

    const double reads = reader->operands[index].reads;
    const auto elements = static_cast<double>(element_count(graph_.value(*value).shape));
    const auto& groups = reader->groups;
    const std::uint32_t size = reader->invocations != 0 ? reader->invocations : device_.workgroup_size;
    const double invocations = static_cast<double>(groups[0]) * groups[1] * groups[2] * size;
    std::string why;
    const auto note = [&](const std::string& text) {
        group.choice->note += (group.choice->note.empty() ? "" : "; ") + text;
    };
    if (!prologue_pays(prologue_cost(graph_, taken.members), reads, invocations, elements, device_, why)) {
        if (reads > 0) note(fmt::format("in{} is made before: {}", index, why));
        return;
    }
    Group larger = group;
    larger.prologues.push_back({*value, taken.members});
    std::optional<std::set<std::size_t>> needs = joint_needs(g, h);
    if (!needs || !fits(larger)) return;
    for (const KernelPass& pass : larger.choice->earlier) {
        if (pass_bindings(graph_, larger, pass, device_) > device_.max_buffers) return;
    }
    note(fmt::format("in{} is made where it is read", index));
    larger.choice->note = group.choice->note;
    merge(g, std::move(larger), h, std::move(*needs));
}

}  // namespace tosavk

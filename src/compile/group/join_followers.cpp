// Elementwise nodes join the group of a producer; some wait until their consumer does.
#include "compile/group/passes.hpp"
#include "ops/op.hpp"

#include <algorithm>

namespace tosavk {

namespace {

/// Nodes that may wait for one consumer. A guess.
constexpr std::size_t max_waiting = 16;

}  // namespace

void settle(GroupGraph& fusion, NodeId member, std::size_t group) {
    fusion.group_of[fusion.graph.node(member).outputs.front()] = group;
    fusion.waiting[member] = false;
}

bool waits_for_its_consumer(const GroupGraph& fusion, const NodeView& view) {
    const ValueId out = view.node().outputs.front();
    if (fusion.is_output[out] || fusion.consumers[out].size() != 1) return false;
    if (with_waiting(fusion, view.id()).size() > max_waiting) return false;
    const NodeView consumer(fusion.graph, fusion.consumers[out].front());
    if (!is_elementwise(consumer) || consumer.out().shape != view.out().shape) return false;
    if (fusion.absorbed[consumer.id()]) return false;
    const auto& inputs = op_def(consumer.node().op).inputs;
    for (std::size_t k = 0; k < consumer.input_count(); ++k) {
        const bool elementwise = inputs.at(std::min(k, inputs.size() - 1)).access == Access::elementwise;
        if (consumer.node().inputs[k] == out && !elementwise) return false;
    }
    const ValueId from = view.node().inputs.front();
    const NodeId maker = fusion.graph.value(from).producer;
    return (maker != no_id && fusion.waiting[maker]) || fusion.is_output[from] || fusion.consumers[from].size() > 1;
}

std::vector<NodeId> with_waiting(const GroupGraph& fusion, NodeId id) {
    std::set<NodeId> bundle{id};
    std::vector<NodeId> open{id};
    while (!open.empty()) {
        const Node& node = fusion.graph.node(open.back());
        open.pop_back();
        for (const ValueId value : node.inputs) {
            const NodeId maker = fusion.graph.value(value).producer;
            if (maker != no_id && fusion.waiting[maker] && bundle.insert(maker).second) open.push_back(maker);
        }
    }
    return {bundle.begin(), bundle.end()};
}

bool join_producer(GroupGraph& fusion, const std::vector<NodeId>& bundle, const Shape& space) {
    const std::set<std::size_t> needed = producers(fusion, bundle);
    // The newest producer first: its other operands are most likely there already.
    for (auto it = needed.rbegin(); it != needed.rend(); ++it) {
        const std::size_t target = *it;
        Group& group = fusion.groups[target];
        if (!takes_followers(group) || element_count(group.space) != element_count(space)) continue;
        const bool direct = std::all_of(bundle.begin(), bundle.end(), [&](NodeId id) {
            return reads_in_register(fusion, fusion.graph.node(id), target);
        });
        if (!direct) continue;
        const bool cycle = std::any_of(needed.begin(), needed.end(),
                                       [&](std::size_t g) { return g != target && reaches(fusion, target, g); });
        if (cycle) continue;
        Group larger = group;
        larger.members.insert(larger.members.end(), bundle.begin(), bundle.end());
        if (!fits(fusion, larger)) continue;
        group.members = std::move(larger.members);
        for (const NodeId id : bundle) settle(fusion, id, target);
        for (const std::size_t g : needed) {
            if (g != target) fusion.needs[target].insert(g);
        }
        return true;
    }
    return false;
}

}  // namespace tosavk

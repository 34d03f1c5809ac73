#include "compile/group/order.hpp"

#include <algorithm>

namespace tosavk {

namespace {

bool has_effect(const Graph& graph, const Group& group) {
    return group.kind == Group::Kind::structural &&
           (graph.node(group.anchor).op == Op::variable_write || !graph.node(group.anchor).regions.empty());
}

/// By ValueId: whether anything outside its group reads it.
std::vector<bool> find_needed(const GroupGraph& fusion) {
    const Graph& graph = fusion.graph;
    std::vector<bool> needed(graph.values.size(), fusion.options.keep_all);
    for (const ValueId id : graph.outputs) needed[fusion.homes[id].owner] = true;
    for (NodeId n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.node(n);
        // A loop's output may lie where its input does, and an update in what it updates: both read as any other.
        const bool is_apart = node.outputs.empty() || !node.regions.empty() || node.attrs.in_place;
        if (!is_apart && fusion.homes[node.outputs.front()].owner != node.outputs.front()) continue;
        const std::size_t home = is_apart ? no_group : producer(fusion, node.outputs.front());
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
            const ValueId id = node.inputs[k];
            const bool outside = home == no_group || producer(fusion, id) != home;
            if (outside && !fusion.stored.contains({n, k})) needed[fusion.homes[id].owner] = true;
        }
    }
    return needed;
}

}  // namespace

void find_outputs(GroupGraph& fusion) {
    const std::vector<bool> needed = find_needed(fusion);
    for (Group& group : fusion.groups) {
        const auto add = [&](NodeId id) {
            // A kernel of several outputs writes all of them, or is not run. What is updated in place is a result.
            const auto& made = fusion.graph.node(id).outputs;
            const bool any = std::any_of(made.begin(), made.end(), [&](ValueId value) { return needed[value]; });
            if (any || fusion.graph.node(id).attrs.in_place)
                group.outputs.insert(group.outputs.end(), made.begin(), made.end());
        };
        if (group.anchor != no_id) add(group.anchor);
        for (const NodeId id : group.members) add(id);
    }
}

std::vector<Group> in_order(const GroupGraph& fusion) {
    const auto runs = [&](const Group& group) {
        return !group.outputs.empty() || !group.stores.empty() || has_effect(fusion.graph, group);
    };
    std::vector<Group> order;
    std::vector<bool> done(fusion.groups.size(), false);
    // Depth first from each group in creation order keeps producers close to their consumers.
    for (std::size_t root = 0; root < fusion.groups.size(); ++root) {
        std::vector<std::pair<std::size_t, bool>> open{{root, false}};
        while (!open.empty()) {
            const auto [g, ready] = open.back();
            open.pop_back();
            if (done[g]) continue;
            if (ready) {
                done[g] = true;
                if (runs(fusion.groups[g])) order.push_back(fusion.groups[g]);
                continue;
            }
            open.emplace_back(g, true);
            for (const std::size_t before : fusion.needs[g]) open.emplace_back(before, false);
        }
    }
    return order;
}

}  // namespace tosavk

// Elementwise groups go into a group that reads their values element by element.
#include "compile/group/passes.hpp"

#include <algorithm>

namespace tosavk {

namespace {

bool take_elementwise(GroupGraph& fusion, std::size_t g, std::size_t h) {
    const Group &group = fusion.groups[g], &taken = fusion.groups[h];
    if (taken.kind != Group::Kind::elementwise) return false;
    if (element_count(taken.space) != element_count(group.space)) return false;
    if (group.anchor != no_id && producers(fusion, fusion.graph.node(group.anchor)).contains(h)) return false;
    if (producers(fusion, group.absorbed).contains(h)) return false;
    const bool direct = std::all_of(group.members.begin(), group.members.end(), [&](NodeId id) {
        const Node& node = fusion.graph.node(id);
        return op_def(node.op).view ? !producers(fusion, node).contains(h) : reads_in_register(fusion, node, h);
    });
    if (!direct) return false;
    Group larger = group;
    take_members(larger, taken);
    std::optional<std::set<std::size_t>> needs = joint_needs(fusion, g, h);
    if (!needs || !fits(fusion, larger)) return false;
    merge(fusion, g, std::move(larger), h, std::move(*needs));
    return true;
}

/// Into group g; false where none of its neighbours is such a group.
bool take_one(GroupGraph& fusion, std::size_t g) {
    const Group& group = fusion.groups[g];
    if (!takes_followers(group) || group.kind == Group::Kind::rows) return false;
    const std::set<std::size_t> neighbours = fusion.needs[g];
    return std::any_of(neighbours.begin(), neighbours.end(),
                       [&](std::size_t h) { return take_elementwise(fusion, g, h); });
}

}  // namespace

void merge_elementwise(GroupGraph& fusion) {
    for (std::size_t g = 0; g < fusion.groups.size(); ++g) {
        while (take_one(fusion, g)) {}
    }
}

}  // namespace tosavk

// Row groups: a reduction along rows takes in its neighbours over the same rows.
#include "compile/group/passes.hpp"
#include "compile/group/rows.hpp"

#include <algorithm>

namespace tosavk {

namespace {

/// The group as a row group, if it is one or its anchor reduces rows.
std::optional<Group> as_rows(const GroupGraph& fusion, const Group& group) {
    if (group.kind == Group::Kind::rows) return group;
    if (group.kind != Group::Kind::kernel || !group.stores.empty()) return std::nullopt;
    const NodeView anchor(fusion.graph, group.anchor);
    auto rows = row_reduction(anchor, fusion.device);
    if (!rows) rows = column_reduction(anchor, fusion.device);
    if (!rows) return std::nullopt;
    Group result;
    result.kind = Group::Kind::rows;
    result.rows = rows;
    result.space = group.space;
    result.members = {group.anchor};
    result.members.insert(result.members.end(), group.members.begin(), group.members.end());
    return result;
}

/// Whether the group broadcasts a value of the rows from the group g over their elements.
bool spreads_rows_of(const GroupGraph& fusion, std::size_t g, const Group& reader, const Rows& rows) {
    const Graph& graph = fusion.graph;
    return std::any_of(reader.members.begin(), reader.members.end(), [&](NodeId id) {
        const Node& node = graph.node(id);
        return element_count(graph.value(node.outputs.front()).shape) != rows.count &&
               std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
                   return producer(fusion, in) == g && element_count(graph.value(in).shape) == rows.count;
               });
    });
}

/// Whether a row group may run the node, whose operands from the groups g and h are then variables there.
bool reads_in_rows(const GroupGraph& fusion, NodeId id, const Rows& rows, std::size_t g, std::size_t h) {
    const Node& node = fusion.graph.node(id);
    const Shape& out = fusion.graph.value(node.outputs.front()).shape;
    const OpDef& def = op_def(node.op);
    const std::int64_t elements = rows.count * rows.axis;
    const bool reduces = def.combine != nullptr, of_rows = !reduces && element_count(out) == rows.count;
    if (!reduces && !of_rows && element_count(out) != elements) return false;
    if (of_rows && def.view) return false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const std::size_t from = producer(fusion, node.inputs[k]);
        if (from == no_group || (from != g && from != h)) continue;
        if (def.view || is_part(fusion, node.inputs[k])) return false;
        if (def.inputs.at(std::min(k, def.inputs.size() - 1)).access != Access::elementwise) return false;
        const Shape& shape = fusion.graph.value(node.inputs[k]).shape;
        const bool same = element_count(shape) == (of_rows ? rows.count : elements);
        if (!same && (reduces || of_rows || !spreads_over_rows(shape, out, rows))) return false;
    }
    return true;
}

bool take_rows(GroupGraph& fusion, std::size_t g, const Group& group, std::size_t h) {
    const std::optional<Group> other = as_rows(fusion, fusion.groups[h]);
    const Group& taken = other ? *other : fusion.groups[h];
    if (other) {
        const Rows &ours = *group.rows, &theirs = *other->rows;
        if (theirs.count != ours.count || theirs.axis != ours.axis || theirs.inner != ours.inner ||
            theirs.length != ours.length || theirs.by_elements != ours.by_elements)
            return false;
    } else if (taken.kind != Group::Kind::elementwise) {
        return false;
    } else if (!taken.stores.empty() && element_count(taken.space) == group.rows->count) {
        return false;  // the rows' own values are no quads in a shader
    }
    // Alone, columns are walked down faster by their kernel.
    if (group.rows->are_columns() && fusion.groups[g].kind == Group::Kind::kernel &&
        !spreads_rows_of(fusion, g, taken, *group.rows))
        return false;
    Group larger = group;
    take_members(larger, taken);
    const auto& members = larger.members;
    if (!std::all_of(members.begin(), members.end(),
                     [&](NodeId id) { return reads_in_rows(fusion, id, *group.rows, g, h); }))
        return false;
    const auto reductions = std::count_if(
        members.begin(), members.end(), [&](NodeId id) { return op_def(fusion.graph.node(id).op).combine != nullptr; });
    if (static_cast<std::size_t>(reductions) >= max_row_loops) return false;
    std::optional<std::set<std::size_t>> needs = joint_needs(fusion, g, h);
    if (!needs || !fits(fusion, larger)) return false;
    merge(fusion, g, std::move(larger), h, std::move(*needs));
    return true;
}

/// Into group g; false where none of its neighbours fits.
bool take_one(GroupGraph& fusion, std::size_t g) {
    const std::optional<Group> group = as_rows(fusion, fusion.groups[g]);
    if (!group) return false;
    std::set<std::size_t> neighbours = fusion.needs[g];
    for (std::size_t h = 0; h < fusion.groups.size(); ++h) {
        if (fusion.needs[h].contains(g)) neighbours.insert(h);
    }
    return std::any_of(neighbours.begin(), neighbours.end(),
                       [&](std::size_t h) { return take_rows(fusion, g, *group, h); });
}

}  // namespace

void fuse_rows(GroupGraph& fusion) {
    for (std::size_t g = 0; g < fusion.groups.size(); ++g) {
        while (take_one(fusion, g)) {}
    }
}

}  // namespace tosavk

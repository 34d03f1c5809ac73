// Row groups: a reduction along rows takes in its neighbours over the same rows.
#include "compile/group/fuser.hpp"
#include "compile/group/rows.hpp"

#include <algorithm>

namespace tosavk {

void Fuser::place_rows(const NodeView& view, const Rows& rows) {
    Group group;
    group.kind = Group::Kind::rows;
    group.rows = rows;
    group.members = {view.id()};
    group.space = view.out().shape;
    group_of_[view.node().outputs.front()] = new_group(std::move(group), producers(view.node()));
}

std::optional<Group> Fuser::as_rows(const Group& group) const {
    if (group.kind == Group::Kind::rows) return group;
    if (group.kind != Group::Kind::kernel || !group.stores.empty()) return std::nullopt;
    const NodeView anchor(graph_, group.anchor);
    auto rows = row_reduction(anchor, device_);
    if (!rows) rows = column_reduction(anchor, device_);
    if (!rows) return std::nullopt;
    Group result;
    result.kind = Group::Kind::rows;
    result.rows = rows;
    result.space = group.space;
    result.members = {group.anchor};
    result.members.insert(result.members.end(), group.members.begin(), group.members.end());
    return result;
}

bool Fuser::grow_rows(std::size_t g) {
    const std::optional<Group> group = as_rows(groups_[g]);
    if (!group) return false;
    std::set<std::size_t> neighbours = needs_[g];
    for (std::size_t h = 0; h < groups_.size(); ++h) {
        if (needs_[h].contains(g)) neighbours.insert(h);
    }
    return std::any_of(neighbours.begin(), neighbours.end(), [&](std::size_t h) { return take_rows(g, *group, h); });
}

bool Fuser::take_rows(std::size_t g, const Group& group, std::size_t h) {
    const std::optional<Group> other = as_rows(groups_[h]);
    const Group& taken = other ? *other : groups_[h];
    if (other) {
        const Rows &ours = *group.rows, &theirs = *other->rows;
        if (theirs.count != ours.count || theirs.axis != ours.axis || theirs.inner != ours.inner ||
            theirs.length != ours.length)
            return false;
    } else if (taken.kind != Group::Kind::elementwise) {
        return false;
    } else if (!taken.stores.empty() && element_count(taken.space) == group.rows->count) {
        return false;  // the rows' own values are no quads in a shader
    }
    // Alone, columns are walked down faster by their kernel.
    if (group.rows->are_columns() && groups_[g].kind == Group::Kind::kernel && !spreads_rows_of(g, taken, *group.rows))
        return false;
    Group larger = group;
    larger.members.insert(larger.members.end(), taken.members.begin(), taken.members.end());
    std::sort(larger.members.begin(), larger.members.end());
    larger.stores.insert(larger.stores.end(), taken.stores.begin(), taken.stores.end());
    const auto reads_well = [&](NodeId id) {
        return reads_in_rows(graph_.node(id), NodeView(graph_, id).out(), *group.rows, g, h);
    };
    if (!std::all_of(larger.members.begin(), larger.members.end(), reads_well)) return false;
    const auto reductions = std::count_if(larger.members.begin(), larger.members.end(),
                                          [&](NodeId id) { return op_def(graph_.node(id).op).combine != nullptr; });
    if (static_cast<std::size_t>(reductions) >= max_row_loops) return false;
    std::optional<std::set<std::size_t>> needs = joint_needs(g, h);
    if (!needs || !fits(larger)) return false;
    merge(g, std::move(larger), h, std::move(*needs));
    return true;
}

bool Fuser::spreads_rows_of(std::size_t g, const Group& reader, const Rows& rows) const {
    return std::any_of(reader.members.begin(), reader.members.end(), [&](NodeId id) {
        const Node& node = graph_.node(id);
        return element_count(graph_.value(node.outputs.front()).shape) != rows.count &&
               std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
                   return producer(in) == g && element_count(graph_.value(in).shape) == rows.count;
               });
    });
}

bool Fuser::reads_in_rows(const Node& node, const Value& out, const Rows& rows, std::size_t g, std::size_t h) const {
    const OpDef& def = op_def(node.op);
    const std::int64_t elements = rows.count * rows.axis;
    const bool reduces = def.combine != nullptr, of_rows = !reduces && element_count(out.shape) == rows.count;
    if (!reduces && !of_rows && element_count(out.shape) != elements) return false;
    if (of_rows && def.view) return false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const std::size_t from = producer(node.inputs[k]);
        if (from == none || (from != g && from != h)) continue;
        if (def.view || is_part(node.inputs[k])) return false;
        if (def.inputs.at(std::min(k, def.inputs.size() - 1)).access != Access::elementwise) return false;
        const Shape& shape = graph_.value(node.inputs[k]).shape;
        const bool same = element_count(shape) == (of_rows ? rows.count : elements);
        if (!same && (reduces || of_rows || !spreads_over_rows(shape, out.shape, rows))) return false;
    }
    return true;
}

}  // namespace tosavk

// CONCAT and TRANSPOSE by the stores of the groups that make their operands.
#include "compile/group/passes.hpp"
#include "graph/index_map.hpp"
#include "ops/storage.hpp"

#include <map>

namespace tosavk {

namespace {

/// Lets the group that makes the input store it; false where that group cannot.
bool store_part(GroupGraph& fusion, const Group::Store& part) {
    const ValueId value = storage_of(fusion.graph, fusion.graph.node(part.node).inputs[part.input]);
    const std::size_t maker = producer(fusion, value);
    if (maker == no_group || is_part(fusion, value)) return false;
    Group& group = fusion.groups[maker];
    // Values of rows, and those of kernels that write several, are no quads in a shader.
    if (!takes_followers(group) || group.kind == Group::Kind::rows) return false;
    if (group.anchor != no_id && fusion.graph.node(group.anchor).outputs.size() > 1) return false;
    Group larger = group;
    larger.stores.push_back(part);
    const bool is_new = fusion.stored.insert({part.node, part.input}).second;
    if (!fits(fusion, larger)) {
        if (is_new) fusion.stored.erase({part.node, part.input});
        return false;
    }
    group = std::move(larger);
    return true;
}

}  // namespace

void place_concat(GroupGraph& fusion, const NodeView& view, const ViewDef& move) {
    const bool joins = fusion.options.fuse && fusion.options.store_in_place;
    std::set<std::size_t> parts;
    std::map<std::int64_t, std::size_t> copies;  // by size; inputs of one size share a dispatch
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        const Group::Store part{view.id(), k, move.maps.at(k)};
        const std::size_t maker = producer(fusion, view.node().inputs[k]);
        if (joins && store_part(fusion, part)) {
            parts.insert(maker);
            continue;
        }
        const std::int64_t size = element_count(view.in(k).shape);
        const auto found = copies.find(size);
        if (joins && found != copies.end()) {
            Group larger = fusion.groups[found->second];
            larger.stores.push_back(part);
            if (fits(fusion, larger)) {
                fusion.groups[found->second] = std::move(larger);
                if (maker != no_group) fusion.needs[found->second].insert(maker);
                continue;
            }
        }
        Group group;
        group.kind = Group::Kind::copy;
        group.space = view.in(k).shape;
        group.stores = {part};
        copies[size] =
            add_group(fusion, std::move(group), maker != no_group ? std::set{maker} : std::set<std::size_t>());
        parts.insert(copies[size]);
    }
    fusion.group_of[view.node().outputs.front()] = add_group(fusion, Group(), std::move(parts));
}

bool store_transposed(GroupGraph& fusion, const NodeView& view) {
    const auto strides = row_major_strides(view.out().shape);
    Group::Store part{view.id(), 0, {view.in(0).shape, std::vector<std::int64_t>(strides.size()), 0, {}, {}}};
    for (std::size_t i = 0; i < strides.size(); ++i)
        part.map.strides[static_cast<std::size_t>(view.attrs().perms[i])] = strides[i];
    const std::size_t maker = producer(fusion, view.node().inputs.front());
    if (maker == no_group || !keeps_quads(part.map)) return false;
    const Group& group = fusion.groups[maker];
    if ((group.choice && !group.choice->aligned) || !store_part(fusion, part)) return false;
    fusion.group_of[view.node().outputs.front()] = add_group(fusion, Group(), {maker});
    return true;
}

}  // namespace tosavk

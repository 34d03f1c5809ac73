// CONCAT and TRANSPOSE by the stores of the groups that make their operands.
#include "compile/group/fuser.hpp"
#include "graph/index_map.hpp"
#include "ops/storage.hpp"

namespace tosavk {

bool Fuser::is_stored(ValueId value, NodeId consumer) const {
    const auto& inputs = graph_.node(consumer).inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k] == value && !stored_.contains({consumer, k})) return false;
    }
    return true;
}

void Fuser::place_concat(const NodeView& view, const ViewDef& move) {
    const bool joins = options_.fuse && options_.store_in_place;
    std::set<std::size_t> parts;
    std::map<std::int64_t, std::size_t> copies;  // by size; inputs of one size share a dispatch
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        const Group::Store part{view.id(), k, move.maps.at(k)};
        const std::size_t maker = producer(view.node().inputs[k]);
        if (joins && store_part(part)) {
            parts.insert(maker);
            continue;
        }
        const std::int64_t size = element_count(view.in(k).shape);
        const auto found = copies.find(size);
        if (joins && found != copies.end()) {
            Group larger = groups_[found->second];
            larger.stores.push_back(part);
            if (fits(larger)) {
                groups_[found->second] = std::move(larger);
                if (maker != none) needs_[found->second].insert(maker);
                continue;
            }
        }
        Group group;
        group.kind = Group::Kind::copy;
        group.space = view.in(k).shape;
        group.stores = {part};
        copies[size] = new_group(std::move(group), maker != none ? std::set{maker} : std::set<std::size_t>());
        parts.insert(copies[size]);
    }
    group_of_[view.node().outputs.front()] = new_group(Group(), std::move(parts));
}

bool Fuser::place_transpose(const NodeView& view) {
    const auto strides = row_major_strides(view.out().shape);
    Group::Store part{view.id(), 0, {view.in(0).shape, std::vector<std::int64_t>(strides.size()), 0, {}, {}}};
    for (std::size_t i = 0; i < strides.size(); ++i)
        part.map.strides[static_cast<std::size_t>(view.attrs().perms[i])] = strides[i];
    const std::size_t maker = producer(view.node().inputs.front());
    if (maker == none || !keeps_quads(part.map) || (groups_[maker].choice && !groups_[maker].choice->aligned))
        return false;
    if (!store_part(part)) return false;
    group_of_[view.node().outputs.front()] = new_group(Group(), {maker});
    return true;
}

bool Fuser::store_part(const Group::Store& part) {
    const ValueId value = storage_of(graph_, graph_.node(part.node).inputs[part.input]);
    const std::size_t maker = producer(value);
    if (maker == none || is_part(value)) return false;
    Group& group = groups_[maker];
    // Values of rows, and those of kernels that write several, are no quads in a shader.
    if (!takes_followers(group) || group.kind == Group::Kind::rows) return false;
    if (group.anchor != no_id && graph_.node(group.anchor).outputs.size() > 1) return false;
    Group larger = group;
    larger.stores.push_back(part);
    const bool is_new = stored_.insert({part.node, part.input}).second;
    if (!fits(larger)) {
        if (is_new) stored_.erase({part.node, part.input});
        return false;
    }
    group = std::move(larger);
    return true;
}

}  // namespace tosavk

#include "compile/group/prologue_value.hpp"

#include "ops/storage.hpp"

namespace tosavk {

namespace {

/// What reads a value under whatever shape and is more than another name for it; no_id: it is a graph output.
void find_readers(const GroupGraph& fusion, ValueId id, std::set<NodeId>& readers) {
    const Graph& graph = fusion.graph;
    if (fusion.is_output[id]) readers.insert(no_id);
    for (const NodeId consumer : fusion.consumers[id]) {
        const auto& made = graph.node(consumer).outputs;
        if (!made.empty() && storage_of(graph, made.front()) != made.front()) {
            find_readers(fusion, made.front(), readers);
        } else {
            readers.insert(consumer);
        }
    }
}

}  // namespace

bool may_be_prologue(const Group& group) {
    return group.kind == Group::Kind::elementwise && group.stores.empty() && group.prologues.empty();
}

std::optional<ValueId> prologue_value(const GroupGraph& fusion, const Group& elementwise,
                                      const std::set<NodeId>& readers) {
    const std::set<NodeId> members(elementwise.members.begin(), elementwise.members.end());
    std::optional<ValueId> value;
    for (const NodeId member : elementwise.members) {
        const ValueId made = fusion.graph.node(member).outputs.front();
        std::set<NodeId> found;
        find_readers(fusion, made, found);
        for (const NodeId reader : found) {
            if (members.contains(reader)) continue;
            if (!readers.contains(reader) || (value && value != made)) return std::nullopt;
            value = made;
        }
    }
    if (value && element_count(fusion.graph.value(*value).shape) > max_elements) return std::nullopt;
    return value;
}

std::optional<WithPrologue> with_prologue(const GroupGraph& fusion, std::size_t g, std::size_t h, ValueId value) {
    Group larger = fusion.groups[g];
    larger.prologues.push_back({value, fusion.groups[h].members});
    std::optional<std::set<std::size_t>> needs = joint_needs(fusion, g, h);
    if (!needs || !fits(fusion, larger)) return std::nullopt;
    return WithPrologue{std::move(larger), std::move(*needs)};
}

}  // namespace tosavk

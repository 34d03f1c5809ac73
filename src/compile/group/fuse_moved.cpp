// Elementwise groups that another one only moves (SLICE, PAD, REVERSE, TILE, TRANSPOSE) are computed by that one, where
// it reads them.
#include "compile/group/passes.hpp"
#include "compile/group/prologue.hpp"
#include "compile/group/prologue_value.hpp"
#include "graph/index_map.hpp"
#include "ops/storage.hpp"

namespace tosavk {

namespace {

/// How the members of a group move a value.
struct Moves {
    double reads = 0;         ///< of an element, on average
    bool whole_quads = true;  ///< four elements that are read together lie side by side
};

/// Nothing where a member reads the value otherwise.
std::optional<Moves> moves_of(const GroupGraph& fusion, const Group& group, ValueId value) {
    Moves moves;
    const auto elements = static_cast<double>(element_count(fusion.graph.value(value).shape));
    for (const NodeId id : group.members) {
        const NodeView view(fusion.graph, id);
        for (std::size_t k = 0; k < view.input_count(); ++k) {
            if (storage_of(fusion.graph, view.node().inputs[k]) != value) continue;
            const OpDef& def = op_def(view.node().op);
            if (!def.view || k != 0) return std::nullopt;
            const IndexMap map = simplify(def.view(view).maps.front());
            moves.whole_quads = moves.whole_quads && !map.dims.empty() && has_rows_of_quads(map);
            moves.reads += static_cast<double>(element_count(view.out().shape)) / elements;
        }
    }
    return moves;
}

void take_moved(GroupGraph& fusion, std::size_t g, std::size_t h) {
    const Group &group = fusion.groups[g], &taken = fusion.groups[h];
    if (!may_be_prologue(taken) || group.kind != Group::Kind::elementwise) return;
    const auto value = prologue_value(fusion, taken, {group.members.begin(), group.members.end()});
    if (!value) return;
    const std::optional<Moves> moves = moves_of(fusion, group, *value);
    if (!moves) return;

    PrologueCost cost = prologue_cost(fusion.graph, taken.members);
    const double once = cost.leaf_bytes + cost.operations;
    // Elements that are read one by one are made four at a time all the same.
    if (!moves->whole_quads) cost.operations *= 4;
    const double each_time = moves->reads * (cost.leaf_bytes + cost.operations);
    if (each_time > once + cost.result_bytes * (1 + moves->reads)) return;
    if (auto larger = with_prologue(fusion, g, h, *value))
        merge(fusion, g, std::move(larger->group), h, std::move(larger->needs));
}

}  // namespace

void fuse_moved(GroupGraph& fusion) {
    for (std::size_t g = 0; g < fusion.groups.size(); ++g) {
        const std::set<std::size_t> neighbours = fusion.needs[g];
        for (const std::size_t h : neighbours) take_moved(fusion, g, h);
    }
}

}  // namespace tosavk

#include "compile/group/prologue.hpp"

#include "graph/index_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tosavk {
namespace {

double operations_of(const NodeView& view) {
    // Each result of a small float is rounded by integer arithmetic.
    const double rounding = is_small_float(view.out().type) ? 4 : 0;
    const OpDef& def = op_def(view.node().op);
    if (!def.view) return def.operations + rounding;
    const ViewDef move = def.view(view);
    return move.kind == ViewDef::Kind::read ? 4 * static_cast<double>(simplify(move.maps.front()).dims.size()) : 0;
}

}  // namespace

PrologueCost prologue_cost(const Graph& graph, std::span<const NodeId> members) {
    PrologueCost cost;
    std::set<ValueId> known;
    const Value& result = graph.value(graph.node(members.back()).outputs.front());
    const auto elements = static_cast<double>(element_count(result.shape));
    for (const NodeId id : members) {
        const NodeView view(graph, id);
        cost.operations += operations_of(view);
        for (const ValueId in : view.node().inputs) {
            const Value& leaf = graph.value(in);
            if (!known.insert(in).second || leaf.type == DType::shape) continue;
            const double share = static_cast<double>(element_count(leaf.shape)) / elements;
            cost.leaf_bytes += static_cast<double>(size_of(leaf.type)) * std::min(1.0, share);
        }
        known.insert(view.node().outputs.front());
    }
    cost.result_bytes = static_cast<double>(size_of(result.type));
    return cost;
}

bool prologue_pays(const PrologueCost& cost, double reads, double invocations, double elements,
                   const DevicePlan& device, std::string& why) {
    if (reads <= 0) {
        why = "its kernel does not say how often it reads an element";
        return false;
    }
    const double busy = std::min(static_cast<double>(device.busy_invocations), elements / 4);
    if (cost.operations > 8 && !device.chooses(invocations >= busy, "busy")) {  // a guess
        why = "its kernel has too few invocations for so much arithmetic";
        return false;
    }
    // An operator counts as much as a byte moved: no device is worse at it, and most are better.
    const double once = cost.leaf_bytes + cost.operations;
    if (reads * once > once + cost.result_bytes * (1 + reads)) {
        why = fmt::format("its kernel reads each element {:.1f} times", reads);
        return false;
    }
    return true;
}

}  // namespace tosavk

#include "compile/group/homes.hpp"

#include "compile/group/fuse.hpp"
#include "graph/index_map.hpp"
#include "ops/op.hpp"
#include "ops/storage.hpp"
#include "ops/trips.hpp"

#include <algorithm>

namespace tosavk {
namespace {

/// Values with one elementwise consumer: a SLICE in its dispatch costs nothing, and binds nothing of its own.
std::vector<bool> find_read_once(const Graph& graph) {
    std::vector<std::size_t> reads(graph.values.size(), 0);
    std::vector<bool> elementwise(graph.values.size(), true);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        const NodeView view(graph, id);
        const bool is_expression = find_op(view.node().op) != nullptr && is_elementwise(view);
        for (const ValueId in : view.node().inputs) {
            ++reads[in];
            elementwise[in] = elementwise[in] && is_expression;
        }
    }
    for (const ValueId id : graph.outputs) elementwise[id] = false;
    std::vector<bool> once(graph.values.size());
    for (ValueId id = 0; id < once.size(); ++id) once[id] = reads[id] == 1 && elementwise[id];
    return once;
}

}  // namespace

std::vector<Home> find_homes(const Graph& graph, const DevicePlan& device, const PlanOptions& options) {
    const bool parts = options.fuse && options.alias_slices && !options.keep_all;
    std::vector<Home> homes(graph.values.size());
    for (ValueId id = 0; id < homes.size(); ++id) homes[id].owner = id;
    std::vector<bool> stays(graph.values.size(), false);  // in memory from the first run on, or after the last dispatch
    for (const ValueId id : graph.inputs) stays[id] = true;
    for (const ValueId id : graph.outputs) stays[id] = stays[storage_of(graph, id)] = true;
    const std::vector<bool> read_once = parts ? find_read_once(graph) : std::vector<bool>();
    const auto bytes = [&](ValueId id) {
        return static_cast<std::uint64_t>(element_count(graph.value(id).shape)) * size_of(graph.value(id).type);
    };
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        const NodeView view(graph, id);
        if (view.node().op == Op::while_loop && options.fuse && options.alias_lists) {
            for (std::size_t k = 0; k < view.node().inputs.size(); ++k)
                if (is_invariant(view.node(), k)) homes[view.node().outputs[k]] = homes[view.node().inputs[k]];
        }
        if (view.attrs().in_place) homes[view.node().outputs.front()] = homes[view.node().inputs.front()];
        const OpDef* def = find_op(view.node().op);
        if (!def || !def->view) continue;
        const ValueId out = view.node().outputs.front(), in = view.node().inputs.front();
        if (def->view(view).kind == ViewDef::Kind::alias) {
            homes[out] = homes[in];
            continue;
        }
        const ValueId owner = homes[in].owner;
        if (!parts || view.node().op != Op::slice || graph.value(owner).is_constant() || read_once[out]) continue;
        const IndexMap map = simplify(def->view(view).maps.front());
        const bool consecutive = map.dims.empty() || (map.dims.size() == 1 && map.strides.front() == 1);
        const std::uint64_t offset =
            homes[in].offset + static_cast<std::uint64_t>(map.base) * size_of(graph.value(in).type);
        // A small result should not hold the memory of a large operand to the end.
        const bool holds = stays[out] && !stays[owner] && 2 * bytes(out) < bytes(owner);
        if (consecutive && offset % device.buffer_alignment == 0 && !holds) homes[out] = {owner, offset};
    }
    return homes;
}

}  // namespace tosavk

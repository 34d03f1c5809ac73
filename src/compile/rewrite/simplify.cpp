#include "compile/rewrite/simplify.hpp"

#include "compile/rewrite/fold.hpp"
#include "graph/index_map.hpp"
#include "kernels/kernels.hpp"
#include "ops/op.hpp"
#include "ops/print.hpp"
#include "ops/storage.hpp"
#include "ops/window.hpp"
#include "reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace tosavk {

namespace {

void take_out(Graph& graph, NodeId id) {
    Node& node = graph.nodes[id];
    for (const ValueId out : node.outputs) graph.values[out].producer = no_id;
    node.op = Op::unknown;
    node.inputs.clear();
    node.outputs.clear();
}

bool has_subnormal(const Value& value) {
    if (!is_float(value.type)) return false;
    // A device may read such numbers as zeros. 2^-126 is the smallest normal number of the type that all are computed
    // in.
    const std::vector<double> numbers = decode_reals(value.type, *value.data);
    return std::any_of(numbers.begin(), numbers.end(),
                       [](double x) { return x != 0 && x > -0x1p-126 && x < 0x1p-126; });
}

bool is_finite(const Value& value) {
    const std::vector<double> numbers = decode_reals(value.type, *value.data);
    return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

/// Whether the reference gives the device's bits for this node of constants.
bool is_exact(const NodeView& view, const DevicePlan& device) {
    const Op op = view.node().op;
    const OpDef& def = op_def(op);
    if (def.structural) return false;
    if (def.view) return true;
    bool floats = false;
    for (std::size_t k = 0; k < view.input_count(); ++k) floats = floats || is_float(view.in(k).type);
    for (std::size_t k = 0; k < view.output_count(); ++k) floats = floats || is_float(view.out(k).type);
    if (!floats) return op != Op::rescale || view.attrs().rounding != Rounding::inexact_round;
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        if (has_subnormal(view.in(k))) return false;
    }
    switch (op) {
        case Op::cast: return is_float(view.in(0).type) && view.out().type == DType::fp32 && is_finite(view.in(0));
        case Op::select:
        case Op::negate:
        case Op::abs:
        case Op::floor:
        case Op::ceil:
        case Op::equal:
        case Op::greater:
        case Op::greater_equal: return true;
        case Op::add:
        case Op::sub:
        case Op::mul: return device.rte;
        default: return false;
    }
}

/// Whether a move leaves every element where it is: a TRANSPOSE of dimensions of 1, a TILE by 1, a CONCAT of one
/// tensor.
bool moves_nothing(const NodeView& view) {
    if (view.node().op == Op::concat) return view.input_count() == 1;
    const ViewDef moved = op_def(view.node().op).view(view);
    const std::int64_t count = element_count(view.out().shape);
    if (moved.kind != ViewDef::Kind::read || element_count(view.in(0).shape) != count) return false;
    const IndexMap map = simplify(moved.maps.front());
    const bool scalar = map.dims.empty() || count == 1;
    return map.base == 0 && !is_padded(map) && (scalar || (map.dims.size() == 1 && map.strides[0] == 1));
}

/// A constant behind all values.
ValueId add_shape(Graph& graph, const std::string& name, const std::vector<std::int64_t>& numbers) {
    Value value;
    value.name = name;
    value.type = DType::shape;
    value.shape = {static_cast<std::int64_t>(numbers.size())};
    value.data = encode_ints(DType::shape, numbers);
    graph.values.push_back(std::move(value));
    return static_cast<ValueId>(graph.values.size() - 1);
}

std::uint64_t bytes_of(const Value& value) {
    return static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
}

bool is_worth_folding(const NodeView& view) {
    std::uint64_t in = 0, out = 0;
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        if (!view.in(k).is_constant()) return false;
        in += bytes_of(view.in(k));
    }
    for (std::size_t k = 0; k < view.output_count(); ++k) out += bytes_of(view.out(k));
    // The reference folds: an operator that sums over its operands may take it minutes. The bounds are guesses.
    constexpr std::uint64_t most_work = 1u << 24;
    const OpDef& def = op_def(view.node().op);
    if (!def.view && !kernels_of(def.op).empty() && in * out > most_work) return false;
    return view.input_count() > 0 && out <= std::max<std::uint64_t>(4 * in, 4096);
}

}  // namespace

void fold_constants(Graph& graph, const DevicePlan& device) {
    // Outputs, and what they are other names of: both stay what they are for those who read the graph as it was.
    std::vector<bool> is_output(graph.values.size(), false);
    std::set<ValueId> owners;
    for (const ValueId id : graph.outputs) owners.insert(storage_of(graph, id));
    for (ValueId id = 0; id < graph.values.size(); ++id) is_output[id] = owners.contains(storage_of(graph, id));
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        const NodeView view(graph, id);
        const Node& node = view.node();
        if (node.op == Op::unknown || !is_worth_folding(view) || !is_exact(view, device)) continue;
        if (std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) { return is_output[out]; }))
            continue;
        const OpDef& def = op_def(node.op);
        if (def.view && def.view(view).kind == ViewDef::Kind::alias) {  // no copy of the bytes
            Value& out = graph.values[node.outputs.front()];
            out.data = view.in(0).data;
            take_out(graph, id);
            continue;
        }
        std::vector<HostTensor> inputs;
        for (const ValueId in : node.inputs) {
            inputs.emplace_back(graph.value(in).type, graph.value(in).shape);
            inputs.back().bytes = graph.value(in).data.copy();
        }
        std::vector<const HostTensor*> pointers;
        for (const HostTensor& input : inputs) pointers.push_back(&input);
        const std::vector<HostTensor> results = reference_node(view, pointers);
        const std::vector<ValueId> outputs = node.outputs;
        std::vector<Value> made;
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            made.push_back(graph.value(outputs[k]));
            made.back().data = results[k].bytes;
            made.back().producer = no_id;
        }
        if (std::any_of(made.begin(), made.end(), has_subnormal)) continue;
        take_out(graph, id);
        for (std::size_t k = 0; k < outputs.size(); ++k) graph.values[outputs[k]] = made[k];
    }
}

void merge_equal(Graph& graph) {
    constexpr std::size_t most_bytes = 4096;  // of constants that are looked at: a guess
    std::vector<ValueId> same(graph.values.size());
    std::map<std::tuple<DType, Shape, Bytes>, ValueId> constants;
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const Value& value = graph.value(id);
        same[id] = id;
        if (value.is_constant() && value.data->size() <= most_bytes) {
            same[id] = constants.try_emplace({value.type, value.shape, value.data.copy()}, id).first->second;
        }
    }
    using Types = std::vector<std::pair<DType, Shape>>;
    std::map<std::tuple<Op, std::vector<ValueId>, std::string, Types>, NodeId> nodes;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        Node& node = graph.nodes[id];
        for (ValueId& in : node.inputs) in = same[in];
        if (node.op == Op::unknown || op_def(node.op).structural) continue;
        Types types;
        for (const ValueId out : node.outputs) types.emplace_back(graph.value(out).type, graph.value(out).shape);
        const auto [found, is_new] = nodes.try_emplace({node.op, node.inputs, attributes_text(node), types}, id);
        if (is_new) continue;
        const std::vector<ValueId>& earlier = graph.node(found->second).outputs;
        for (std::size_t k = 0; k < node.outputs.size(); ++k) same[node.outputs[k]] = earlier[k];
    }
}

void drop_unread(Graph& graph) {
    std::vector<bool> read(graph.values.size(), false);
    for (const ValueId id : graph.outputs) read[id] = true;
    for (NodeId id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
        const Node& node = graph.node(id);
        const bool has_effect = node.op == Op::variable_write || !node.regions.empty();
        if (has_effect ||
            std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) { return read[out]; })) {
            for (const ValueId in : node.inputs) read[in] = true;
        } else if (node.op != Op::unknown) {
            take_out(graph, id);
        }
    }
}

void settle_weights(Graph& graph, const DevicePlan& device) {
    const auto is_computed_weight = [&](const Node& node) {
        if (!is_convolution(node.op)) return false;
        const Value& weight = graph.value(node.inputs.at(1));
        return is_float(weight.type) && !weight.is_constant();
    };
    if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_computed_weight)) return;
    Graph folded = graph;
    fold_constants(folded, device);
    for (Node& node : graph.nodes) {
        if (!is_computed_weight(node)) continue;
        const Value known = folded.value(node.inputs[1]);
        if (!known.is_constant()) continue;
        node.inputs[1] = static_cast<ValueId>(graph.values.size());
        graph.values.push_back(known);
    }
}

/// CONCAT of CONCATs along the same axis that nobody else reads: of all their operands.
void join_concats(Graph& graph) {
    std::vector<std::size_t> readers(graph.values.size());
    for (const Node& node : graph.nodes) {
        for (const ValueId in : node.inputs) ++readers[in];
    }
    for (const ValueId out : graph.outputs) ++readers[out];
    for (Node& node : graph.nodes) {
        if (node.op != Op::concat) continue;
        std::vector<ValueId> parts;
        for (const ValueId in : node.inputs) {
            const NodeId maker = graph.value(in).producer;
            const bool joins = maker != no_id && readers[in] == 1 && graph.node(maker).op == Op::concat &&
                               graph.node(maker).attrs.axis == node.attrs.axis;
            if (joins) parts.insert(parts.end(), graph.node(maker).inputs.begin(), graph.node(maker).inputs.end());
            else parts.push_back(in);
        }
        node.inputs = std::move(parts);
    }
}

void join_moves(Graph& graph) {
    join_concats(graph);
    for (Node& node : graph.nodes) {
        if (node.op != Op::transpose && node.op != Op::slice) continue;
        const NodeId before = graph.value(node.inputs[0]).producer;
        if (before == no_id || graph.node(before).op != node.op) continue;
        const Node& first = graph.node(before);
        if (node.op == Op::transpose) {
            for (std::int32_t& axis : node.attrs.perms) axis = first.attrs.perms[static_cast<std::size_t>(axis)];
        } else {
            const Value &outer = graph.value(first.inputs[1]), &inner = graph.value(node.inputs[1]);
            if (!outer.is_constant() || !inner.is_constant()) continue;
            std::vector<std::int64_t> start = decode_ints(DType::shape, *outer.data);
            const std::vector<std::int64_t> more = decode_ints(DType::shape, *inner.data);
            for (std::size_t d = 0; d < start.size(); ++d) start[d] += more[d];
            node.inputs[1] = add_shape(graph, inner.name + " of both", start);
        }
        node.inputs[0] = first.inputs[0];
    }
}

void drop_still_moves(Graph& graph) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        const NodeView view(graph, id);
        if (view.node().op == Op::unknown || !op_def(view.node().op).view || !moves_nothing(view)) continue;
        // Constants have no memory that an output could be another name of: fold_constants() does the others.
        if (graph.value(storage_of(graph, view.node().inputs.front())).is_constant()) continue;
        const Shape to = view.out().shape;
        const ValueId shape = add_shape(graph, view.out().name + " shape", to);
        Node& node = graph.nodes[id];
        node.op = Op::reshape;
        node.attrs = {};
        node.inputs = {node.inputs.front(), shape};
    }
}

Graph rewritten(const Graph& graph, const DevicePlan& device, const PlanOptions& options) {
    Graph result = graph;
    const bool moves = options.fuse && options.fold_movement;
    if (moves) {
        join_moves(result);
        result = fold(result);
    }
    if (!options.fuse || options.keep_all || !options.fold_constants) settle_weights(result, device);
    if (!options.fuse) return result;
    if (moves) drop_still_moves(result);
    if (options.keep_all) return result;
    if (options.fold_constants) fold_constants(result, device);
    if (options.merge_equal) merge_equal(result);
    if (options.drop_unread) drop_unread(result);
    return result;
}

}  // namespace tosavk

#include "compile/rewrite/fold.hpp"

#include "graph/host_tensor.hpp"
#include "ops/window.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace tosavk {

namespace {

/// Elements cut off (negative) or added before and after, along every axis but batch and channels.
using Margins = std::vector<std::int64_t>;

/// Of a SLICE that keeps batch and channels whole.
std::optional<Margins> cut_margins(const NodeView& slice) {
    const Shape &in = slice.in(0).shape, &out = slice.out().shape;
    if (in.front() != out.front() || in.back() != out.back()) return std::nullopt;
    const std::vector<std::int64_t> start = slice.constant_ints(1);
    Margins margins;
    for (std::size_t d = 1; d + 1 < in.size(); ++d)
        margins.insert(margins.end(), {-start[d], out[d] + start[d] - in[d]});
    return margins;
}

/// Of a PAD that keeps batch and channels.
std::optional<Margins> added_margins(const NodeView& pad) {
    const std::vector<std::int64_t> padding = pad.constant_ints(1);
    const std::size_t last = padding.size() - 2;
    if (padding[0] != 0 || padding[1] != 0 || padding[last] != 0 || padding[last + 1] != 0) return std::nullopt;
    return Margins(padding.begin() + 2, padding.end() - 2);
}

/// Whether a PAD adds what the operator behind it takes for zero.
bool pads_with_zero(const NodeView& pad, const Value& zero_point) {
    const Value& filler = pad.in(2);
    if (!filler.is_constant()) return false;
    if (is_float(filler.type)) return decode_reals(filler.type, *filler.data).at(0) == 0;
    return zero_point.is_constant() &&
           decode_ints(filler.type, *filler.data) == decode_ints(zero_point.type, *zero_point.data);
}

/// 0 * infinity would be NaN.
bool has_finite_weights(const NodeView& conv) {
    const Value& weight = conv.in(1);
    if (!is_float(weight.type)) return true;
    if (!weight.is_constant()) return false;
    const std::vector<double> weights = decode_reals(weight.type, *weight.data);
    return std::all_of(weights.begin(), weights.end(), [](double w) { return std::isfinite(w); });
}

/// Whether the value that a PAD adds is never the largest of a window that holds others too.
bool pads_with_lowest(const NodeView& pad, const NodeView& pool) {
    const Value& filler = pad.in(2);
    if (!filler.is_constant()) return false;
    if (!is_float(filler.type)) return decode_ints(filler.type, *filler.data).at(0) == min_of(filler.type);
    // Where NaN are ignored, a window of nothing else has another result with the filler than without.
    return pool.attrs().nan_mode == NanMode::propagate && decode_reals(filler.type, *filler.data).at(0) == -HUGE_VAL;
}

/// Whether what a PAD adds counts for nothing in the operator behind it.
bool pads_with_nothing(const NodeView& pad, const NodeView& reader) {
    switch (reader.node().op) {
        case Op::max_pool2d: return pads_with_lowest(pad, reader);
        case Op::avg_pool2d: return pads_with_zero(pad, reader.in(1));
        default: return pads_with_zero(pad, reader.in(3)) && has_finite_weights(reader);
    }
}

/// Applies the margins to the padding of a pool; false where a window would be left without an element of the tensor.
/// Averages count what a PAD added.
bool take_pool_margins(const Margins& margins, Attributes& attrs) {
    for (std::size_t i = 0; i < 4; ++i) {
        if (margins[i] < 0 || attrs.pad[i] + margins[i] >= attrs.kernel[i / 2]) return false;
    }
    for (std::size_t i = 0; i < 4; ++i) attrs.pad[i] += static_cast<std::int32_t>(margins[i]);
    return true;
}

/// Applies the margins to a convolution's padding; false where they do not fit. What a slice cut off must not come
/// back, so it may stand only where there is no padding; what a PAD added must not reach beyond a cut.
bool take_margins(const Margins& margins, std::vector<std::int32_t>& pad) {
    for (std::size_t i = 0; i < margins.size(); ++i) {
        if ((margins[i] < 0 && pad[i] != 0) || (margins[i] > 0 && pad[i] < 0)) return false;
    }
    for (std::size_t i = 0; i < margins.size(); ++i) pad[i] += static_cast<std::int32_t>(margins[i]);
    return true;
}

/// Every zero around the input of TRANSPOSE_CONV2D is a stride of outputs that it adds nothing to.
bool take_out_margins(const Margins& margins, Attributes& attrs) {
    Margins wider(4);
    for (std::size_t i = 0; i < 4; ++i) {
        wider[i] = attrs.pad[i] + margins[i] * attrs.stride[i / 2];
        if (margins[i] < 0 || wider[i] > INT32_MAX) return false;
    }
    attrs.pad.assign(wider.begin(), wider.end());
    return true;
}

/// One step: the node that makes the input of a convolution or a pool, taken into its padding.
bool fold_input(Graph& graph, NodeId id) {
    const NodeView reader(graph, id);
    const NodeId maker = reader.in(0).producer;
    if (maker == no_id) return false;
    const NodeView move(graph, maker);
    std::optional<Margins> margins;
    if (move.node().op == Op::slice) margins = cut_margins(move);
    if (move.node().op == Op::pad && pads_with_nothing(move, reader)) margins = added_margins(move);
    if (!margins) return false;
    const Op op = reader.node().op;
    Attributes& attrs = graph.nodes[id].attrs;
    const bool taken = op == Op::transpose_conv2d ? take_out_margins(*margins, attrs)
                     : is_pool(op)                ? take_pool_margins(*margins, attrs)
                                                  : take_margins(*margins, attrs.pad);
    if (!taken) return false;
    if (op == Op::avg_pool2d) {
        attrs.pad.resize(8);
        for (std::size_t i = 0; i < 4; ++i) attrs.pad[4 + i] += static_cast<std::int32_t>((*margins)[i]);
    }
    graph.nodes[id].inputs[0] = graph.nodes[maker].inputs[0];
    return true;
}

}  // namespace

Graph fold(const Graph& graph) {
    Graph folded = graph;
    for (NodeId id = 0; id < folded.nodes.size(); ++id) {
        const Op op = folded.nodes[id].op;
        while ((is_convolution(op) || is_pool(op)) && fold_input(folded, id)) {}
    }
    return folded;
}

}  // namespace tosavk

#include "plan/fold.hpp"

#include "graph/host_tensor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace tosavk {

namespace {

bool is_folding(Op op) { return op == Op::conv2d || op == Op::depthwise_conv2d || op == Op::max_pool2d; }

/// Elements cut off (negative) or added along height and width: top, bottom, left, right.
using Margins = std::array<std::int64_t, 4>;

/// Of a SLICE that keeps batch and channels whole.
std::optional<Margins> cut_margins(const NodeView& slice) {
    const Shape &in = slice.in(0).shape, &out = slice.out().shape;
    if (in.size() != 4 || in[0] != out[0] || in[3] != out[3]) return std::nullopt;
    const std::vector<std::int64_t> start = slice.constant_ints(1);
    return Margins{-start[1], out[1] + start[1] - in[1], -start[2], out[2] + start[2] - in[2]};
}

/// Of a PAD of height and width alone.
std::optional<Margins> added_margins(const NodeView& pad) {
    const std::vector<std::int64_t> padding = pad.constant_ints(1);
    if (padding.size() != 8 || padding[0] != 0 || padding[1] != 0 || padding[6] != 0 || padding[7] != 0) return std::nullopt;
    return Margins{padding[2], padding[3], padding[4], padding[5]};
}

/// Whether the value that a PAD adds counts for nothing in the convolution.
bool pads_with_zero(const NodeView& pad, const NodeView& conv) {
    const Value &filler = pad.in(2), &weight = conv.in(1), &zero_point = conv.in(3);
    if (!filler.is_constant()) return false;
    if (!is_float(filler.type)) {
        return zero_point.is_constant() && decode_ints(filler.type, *filler.data) == decode_ints(zero_point.type, *zero_point.data);
    }
    if (decode_reals(filler.type, *filler.data).at(0) != 0 || !weight.is_constant()) return false;
    const std::vector<double> weights = decode_reals(weight.type, *weight.data);  // 0 * infinity would be NaN
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

/// Whether every window of the pool still has an element of the tensor in it, and the kernel knows the padding.
bool fits_pool(const Margins& margins, const Attributes& attrs) {
    for (std::size_t i = 0; i < 4; ++i) {
        if (margins[i] < 0 || attrs.pad[i] + margins[i] >= attrs.kernel[i / 2]) return false;
    }
    return true;
}

/// Applies the margins to the convolution's padding; false where they do not fit. What a slice cut off must not come
/// back, so it may stand only where there is no padding; what a PAD added must not reach beyond a cut.
bool take_margins(const Margins& margins, std::vector<std::int32_t>& pad) {
    for (std::size_t i = 0; i < 4; ++i) {
        if ((margins[i] < 0 && pad[i] != 0) || (margins[i] > 0 && pad[i] < 0)) return false;
    }
    for (std::size_t i = 0; i < 4; ++i) pad[i] += static_cast<std::int32_t>(margins[i]);
    return true;
}

/// One step: the node that makes the input of a convolution or a pool, taken into its padding.
bool fold_input(Graph& graph, NodeId id) {
    const NodeView conv(graph, id);
    const NodeId maker = conv.in(0).producer;
    if (maker == no_id) return false;
    const NodeView move(graph, maker);
    const Op op = move.node().op;
    std::optional<Margins> margins;
    const bool pools = conv.node().op == Op::max_pool2d;
    if (op == Op::slice) margins = cut_margins(move);
    if (op == Op::pad && (pools ? pads_with_lowest(move, conv) : pads_with_zero(move, conv))) margins = added_margins(move);
    if (pools && margins && !fits_pool(*margins, conv.attrs())) return false;
    if (!margins || !take_margins(*margins, graph.nodes[id].attrs.pad)) return false;
    graph.nodes[id].inputs[0] = graph.nodes[maker].inputs[0];
    return true;
}

}  // namespace

Graph fold(const Graph& graph) {
    Graph folded = graph;
    for (NodeId id = 0; id < folded.nodes.size(); ++id) {
        while (is_folding(folded.nodes[id].op) && fold_input(folded, id)) {}
    }
    return folded;
}

}  // namespace tosavk

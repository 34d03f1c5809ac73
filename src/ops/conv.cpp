// CONV2D, CONV3D, DEPTHWISE_CONV2D and TRANSPOSE_CONV2D.
#include "ops/dot_product.hpp"
#include "ops/window.hpp"

#include <algorithm>

namespace tosavk {

namespace {

/// One weight position of one output position: the input channels it multiplies, and which weights.
template <class T> struct Tap {
    const T* input;      ///< the channels of one input element; zeros where the window lies over padding
    std::int64_t index;  ///< (kd * KH + ky) * KW + kx
};

/// Does padding take part as a factor 0? That matters for weights of NaN and infinity alone: the accuracy rule wants
/// them in its bound, which then asks for nothing, and the operator leaves them out.
enum class Padding { skipped, multiplied };

/// Calls at(output element / output channels, taps) for every output position.
template <class T, class F>
void for_each_position(const ConvGeometry& g, const std::vector<T>& input, Padding padding, F at) {
    const std::vector<T> zeros(static_cast<std::size_t>(g.in_channels), T(0));
    const WindowAxis &d = g.window.d, &y = g.window.y, &x = g.window.x;
    std::vector<Tap<T>> taps;
    std::int64_t position = 0;
    for (std::int64_t n = 0; n < g.batch; ++n)
        for (std::int64_t od = 0; od < d.out; ++od)
            for (std::int64_t oy = 0; oy < y.out; ++oy)
                for (std::int64_t ox = 0; ox < x.out; ++ox) {
                    turn_of_loop();
                    taps.clear();
                    std::int64_t index = 0;
                    for (std::int64_t kd = 0; kd < d.kernel; ++kd)
                        for (std::int64_t ky = 0; ky < y.kernel; ++ky)
                            for (std::int64_t kx = 0; kx < x.kernel; ++kx, ++index) {
                                const std::int64_t id = d.source(od, kd), iy = y.source(oy, ky), ix = x.source(ox, kx);
                                if (id >= 0 && iy >= 0 && ix >= 0)
                                    taps.push_back(
                                        {input.data() + (((n * d.in + id) * y.in + iy) * x.in + ix) * g.in_channels,
                                         index});
                                else if (padding == Padding::multiplied && !y.transposed)
                                    taps.push_back({zeros.data(), index});
                            }
                    at(position++, taps);
                }
}

/// Weights [OC, taps, IC], results without bias.
template <class T>
std::vector<std::int64_t> convolve_ints(const ConvGeometry& g, const std::vector<T>& input,
                                        const std::vector<T>& weight) {
    const std::int64_t oc_count = g.out_channels, ic_count = g.in_channels, taps_count = g.window.taps();
    std::vector<std::int64_t> out(static_cast<std::size_t>(g.batch * g.window.positions() * oc_count));
    for_each_position(g, input, Padding::skipped, [&](std::int64_t position, const std::vector<Tap<T>>& taps) {
        for (std::int64_t oc = 0; oc < oc_count; ++oc) {
            const T* row = weight.data() + oc * taps_count * ic_count;
            std::int64_t sum = 0;
            for (const auto& tap : taps) sum += dot(tap.input, row + tap.index * ic_count, ic_count);
            out[static_cast<std::size_t>(position * oc_count + oc)] = sum;
        }
    });
    return out;
}

/// The same in floats: every output channel adds its products in the order of taps and input channels.
template <class Real>
std::vector<Real> convolve_reals(const ConvGeometry& g, const std::vector<Real>& input, const std::vector<Real>& weight,
                                 Padding padding) {
    const std::int64_t oc_count = g.out_channels, rows = g.window.taps() * g.in_channels;
    std::vector<Real> by_channel(weight.size());  // [taps, IC, OC], so that output channels are contiguous
    for (std::int64_t oc = 0; oc < oc_count; ++oc)
        for (std::int64_t r = 0; r < rows; ++r)
            by_channel[static_cast<std::size_t>(r * oc_count + oc)] = weight[static_cast<std::size_t>(oc * rows + r)];
    std::vector<Real> out(static_cast<std::size_t>(g.batch * g.window.positions() * oc_count), Real(0));
    for_each_position(g, input, padding, [&](std::int64_t position, const std::vector<Tap<Real>>& taps) {
        Real* acc = out.data() + position * oc_count;
        for (const auto& tap : taps)
            for (std::int64_t ic = 0; ic < g.in_channels; ++ic) {
                const Real value = tap.input[ic];
                const Real* row = by_channel.data() + (tap.index * g.in_channels + ic) * oc_count;
                for (std::int64_t oc = 0; oc < oc_count; ++oc) acc[oc] += value * row[oc];
            }
    });
    return out;
}

/// Weights [taps, C, M]; output channel c * M + m. Acc is wide enough for T's products.
template <class T, class Acc>
std::vector<Acc> convolve_depthwise(const ConvGeometry& g, const std::vector<T>& input, const std::vector<T>& weight,
                                    Padding padding) {
    std::vector<Acc> out(static_cast<std::size_t>(g.batch * g.window.positions() * g.out_channels), Acc(0));
    for_each_position(g, input, padding, [&](std::int64_t position, const std::vector<Tap<T>>& taps) {
        Acc* acc = out.data() + position * g.out_channels;
        for (const auto& tap : taps) {
            const T* row = weight.data() + tap.index * g.out_channels;
            if (g.multiplier == 1) {
                for (std::int64_t c = 0; c < g.out_channels; ++c) acc[c] += Acc(tap.input[c]) * Acc(row[c]);
                continue;
            }
            for (std::int64_t c = 0, o = 0; c < g.in_channels; ++c)
                for (std::int64_t m = 0; m < g.multiplier; ++m, ++o) acc[o] += Acc(tap.input[c]) * Acc(row[o]);
        }
    });
    return out;
}

template <class Real>
std::vector<Real> convolve_any(const ConvGeometry& g, bool depthwise, const std::vector<Real>& input,
                               const std::vector<Real>& weight, const std::vector<Real>& bias, Padding padding) {
    std::vector<Real> out = depthwise ? convolve_depthwise<Real, Real>(g, input, weight, padding)
                                      : convolve_reals<Real>(g, input, weight, padding);
    const auto channels = static_cast<std::size_t>(g.out_channels);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += bias[bias.size() == 1 ? 0 : i % channels];
    return out;
}

bool is_depthwise(const NodeView& view) { return view.node().op == Op::depthwise_conv2d; }

template <class Real> void reference_reals(RefContext& ctx) {
    ctx.set_reals(convolve_any<Real>(conv_geometry(ctx.view), is_depthwise(ctx.view), ctx.real<Real>(0),
                                     ctx.real<Real>(1), ctx.real<Real>(2), Padding::skipped));
}

template <class T> void reference_ints(RefContext& ctx) {
    const ConvGeometry g = conv_geometry(ctx.view);
    const auto input = ints_less_zero_point<T>(ctx, 0, 3), weight = ints_less_zero_point<T>(ctx, 1, 4);
    const auto bias = ctx.ints(2);
    auto out = is_depthwise(ctx.view) ? convolve_depthwise<T, std::int64_t>(g, input, weight, Padding::skipped)
                                      : convolve_ints<T>(g, input, weight);
    const auto channels = static_cast<std::size_t>(g.out_channels);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += bias[bias.size() == 1 ? 0 : i % channels];
    ctx.set_ints(out);
}

void reference(RefContext& ctx) {
    if (is_float(ctx.view.in(0).type)) {
        if (ctx.fp64) reference_reals<double>(ctx);
        else reference_reals<float>(ctx);
        return;
    }
    if (ctx.view.in(0).type == DType::i16) reference_ints<std::int32_t>(ctx);
    else reference_ints<std::int16_t>(ctx);
}

Tolerance tolerance(RefContext& ctx, std::size_t, std::span<const double>) {
    const ConvGeometry g = conv_geometry(ctx.view);
    const bool depthwise = is_depthwise(ctx.view);
    Tolerance t;
    t.kind = Tolerance::Kind::dot_product;
    const bool fast = ctx.view.graph().fast_fp16;
    t.bound = convolve_any<double>(g, depthwise, bound_operand(ctx, 0, fast || ctx.attrs().local_bound),
                                   bound_operand(ctx, 1), bound_operand(ctx, 2), Padding::multiplied);
    if (fast) {
        t.products = static_cast<double>(g.terms(depthwise));
        t.squares = convolve_any<double>(g, depthwise, squared(ctx.real<double>(0)), squared(ctx.real<double>(1)),
                                         {0.0}, Padding::skipped);
    }
    const auto bias = ctx.real<double>(2);
    const bool biased = std::any_of(bias.begin(), bias.end(), [](double b) { return b != 0; });
    t.terms = dot_product_terms(g.terms(depthwise), ctx.attrs().acc_type, ctx.view.out().type, biased);
    return t;
}

std::vector<Shape> infer(const NodeView& view) {
    const ConvGeometry g = conv_geometry(view);
    Shape out{g.batch};
    if (view.node().op == Op::conv3d) out.push_back(g.window.d.out);
    out.insert(out.end(), {g.window.y.out, g.window.x.out, g.out_channels});
    return {out};
}

void check(const NodeView& view, const Level& level) {
    check_pad(view);
    check_window_level(view, conv_geometry(view).window, level);
    check_zero_point(view, 3, "input_zp");
    check_zero_point(view, 4, "weight_zp");
}

OpDef conv_op(Op op, int rank, std::vector<const char*> attributes) {
    OpDef def;
    def.op = op;
    def.type_vars = {"in_t", "weight_t", "out_t", "acc_t"};
    def.inputs = {
        {.name = "input", .type = "in_t", .min_rank = rank, .max_rank = rank},
        {.name = "weight", .type = "weight_t", .min_rank = rank, .max_rank = rank},
        {.name = "bias", .type = "out_t", .min_rank = 1, .max_rank = 1},
        {.name = "input_zp", .type = "in_t", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host},
        {.name = "weight_zp", .type = "weight_t", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host},
    };
    def.outputs = {{.name = "output", .type = "out_t", .min_rank = rank, .max_rank = rank}};
    def.attributes = std::move(attributes);
    def.rows = {
        {{DType::i8, DType::i8, DType::i32, DType::i32}, "PRO-INT"},
        {{DType::i8, DType::i4, DType::i32, DType::i32}, "EXT-INT4"},
        {{DType::i16, DType::i8, DType::i48, DType::i48}, "EXT-INT16"},
        {{DType::fp8e4m3, DType::fp8e4m3, DType::fp16, DType::fp16}, "EXT-FP8E4M3"},
        {{DType::fp8e5m2, DType::fp8e5m2, DType::fp16, DType::fp16}, "EXT-FP8E5M2"},
        {{DType::fp16, DType::fp16, DType::fp16, DType::fp16}, "PRO-FP"},
        {{DType::fp16, DType::fp16, DType::fp16, DType::fp32}, "PRO-FP"},
        {{DType::bf16, DType::bf16, DType::bf16, DType::fp32}, "EXT-BF16"},
        {{DType::fp32, DType::fp32, DType::fp32, DType::fp32}, "PRO-FP"},
    };
    def.infer = infer;
    def.check = check;
    def.reference = reference;
    def.tolerance = tolerance;
    return def;
}

}  // namespace

std::vector<OpDef> conv_ops() {
    const std::vector<const char*> attributes = {"pad", "stride", "dilation", "acc_type", "local_bound"};
    return {
        conv_op(Op::conv2d, 4, attributes),
        conv_op(Op::conv3d, 5, attributes),
        conv_op(Op::depthwise_conv2d, 4, attributes),
        conv_op(Op::transpose_conv2d, 4, {"pad", "stride", "acc_type", "local_bound"}),
    };
}

}  // namespace tosavk

// AVG_POOL2D and MAX_POOL2D. Padding takes no part: it is neither summed, counted nor compared.
#include "base/numerics/scale.hpp"
#include "ops/dot_product.hpp"
#include "ops/rows.hpp"
#include "ops/window.hpp"

#include <algorithm>
#include <limits>

namespace tosavk {

namespace {

/// Calls at(input offsets of the window's elements in channel 0, how many an average divides by, offset of output
/// channel 0) for every position.
template <class F> void for_each_window(const NodeView& view, F at) {
    const Window window = pool_window(view);
    const WindowAxis &y = window.y, &x = window.x;
    const std::int64_t batch = view.in(0).shape[0], channels = view.in(0).shape[3];
    std::vector<std::int64_t> elements;
    std::int64_t position = 0;
    for (std::int64_t n = 0; n < batch; ++n)
        for (std::int64_t oy = 0; oy < y.out; ++oy)
            for (std::int64_t ox = 0; ox < x.out; ++ox) {
                elements.clear();
                for (std::int64_t ky = 0; ky < y.kernel; ++ky)
                    for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
                        const std::int64_t iy = y.source(oy, ky), ix = x.source(ox, kx);
                        if (iy >= 0 && ix >= 0) elements.push_back(((n * y.in + iy) * x.in + ix) * channels);
                    }
                at(elements, y.counted(oy) * x.counted(ox), position++ * channels);
            }
}

/// out[position, c] = finish(step over the window's elements from `start`, number of elements counted).
template <class T, class Step, class Finish>
std::vector<T> pool(const NodeView& view, const std::vector<T>& in, T start, Step step, Finish finish) {
    const std::int64_t channels = view.in(0).shape[3];
    const Window window = pool_window(view);
    std::vector<T> out(static_cast<std::size_t>(view.in(0).shape[0] * window.positions() * channels), start);
    for_each_window(view, [&](const std::vector<std::int64_t>& elements, std::int64_t count, std::int64_t to) {
        T* acc = out.data() + to;
        for (const std::int64_t from : elements)
            for (std::int64_t c = 0; c < channels; ++c) acc[c] = step(acc[c], in[static_cast<std::size_t>(from + c)]);
        for (std::int64_t c = 0; c < channels; ++c) acc[c] = finish(acc[c], count);
    });
    return out;
}

template <class Real> std::vector<Real> average_reals(const NodeView& view, const std::vector<Real>& in) {
    return pool<Real>(
        view, in, Real(0), [](Real a, Real b) { return a + b; },
        [](Real sum, std::int64_t count) { return sum / static_cast<Real>(count); });
}

void average_reference(RefContext& ctx) {
    if (is_float(ctx.view.in(0).type)) {
        if (ctx.fp64) ctx.set_reals(average_reals<double>(ctx.view, ctx.real<double>(0)));
        else ctx.set_reals(average_reals<float>(ctx.view, ctx.real<float>(0)));
        return;
    }
    const std::int64_t input_zp = ctx.ints(1).at(0), output_zp = ctx.ints(2).at(0);
    const DType type = ctx.view.out().type;
    ctx.set_ints(pool<std::int64_t>(
        ctx.view, ctx.ints(0), 0, [=](std::int64_t a, std::int64_t b) { return a + b - input_zp; },
        [=](std::int64_t sum, std::int64_t count) {
            const Reciprocal share = reciprocal(static_cast<std::uint32_t>(count));
            const std::int64_t mean = scale32(static_cast<std::int32_t>(sum), share.multiplier, share.shift, false);
            return std::clamp(mean + output_zp, min_of(type), max_of(type));
        }));
}

Tolerance average_tolerance(RefContext& ctx, std::size_t, std::span<const double>) {
    Tolerance t;
    t.kind = Tolerance::Kind::dot_product;
    t.bound = average_reals<double>(ctx.view, bound_operand(ctx, 0));
    t.terms = dot_product_terms(pool_window(ctx.view).taps(), ctx.attrs().acc_type, ctx.view.out().type);
    return t;
}

template <class Real> void max_reals(RefContext& ctx) {
    const bool propagate = ctx.attrs().nan_mode == NanMode::propagate;
    const Real start = propagate ? -std::numeric_limits<Real>::infinity() : std::numeric_limits<Real>::quiet_NaN();
    ctx.set_reals(pool<Real>(
        ctx.view, ctx.real<Real>(0), start,
        [propagate](Real a, Real b) {
            if (std::isnan(a)) return propagate ? a : b;
            if (std::isnan(b)) return propagate ? b : a;
            return a >= b ? a : b;
        },
        [](Real a, std::int64_t) { return a; }));
}

void max_reference(RefContext& ctx) {
    const DType type = ctx.view.in(0).type;
    if (!is_float(type))
        ctx.set_ints(pool<std::int64_t>(
            ctx.view, ctx.ints(0), min_of(type), [](std::int64_t a, std::int64_t b) { return std::max(a, b); },
            [](std::int64_t a, std::int64_t) { return a; }));
    else if (ctx.fp64) max_reals<double>(ctx);
    else max_reals<float>(ctx);
}

std::vector<Shape> infer(const NodeView& view) {
    const Window window = pool_window(view);
    const Shape& in = view.in(0).shape;
    return {{in[0], window.y.out, window.x.out, in[3]}};
}

void average_check(const NodeView& view, const Level& level) {
    check_pad(view);
    check_window_level(view, pool_window(view), level);
    check_zero_point(view, 1, "input_zp");
    check_zero_point(view, 2, "output_zp");
}

void max_check(const NodeView& view, const Level& level) {
    check_pad(view);
    check_window_level(view, pool_window(view), level);
}

OpDef pool_op(Op op) {
    OpDef def;
    def.op = op;
    def.inputs = {{.name = "input", .type = "in_out_t", .min_rank = 4, .max_rank = 4}};
    def.outputs = {{.name = "output", .type = "in_out_t", .min_rank = 4, .max_rank = 4}};
    def.infer = infer;
    return def;
}

}  // namespace

std::vector<OpDef> pool_ops() {
    OpDef average = pool_op(Op::avg_pool2d);
    average.type_vars = {"in_out_t", "acc_t"};
    for (const char* name : {"input_zp", "output_zp"})
        average.inputs.push_back(
            {.name = name, .type = "in_out_t", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host});
    average.attributes = {"kernel", "stride", "pad", "acc_type"};
    average.rows = {{{DType::i8, DType::i32}, "PRO-INT"},           {{DType::i16, DType::i32}, "EXT-INT16"},
                    {{DType::fp8e4m3, DType::fp16}, "EXT-FP8E4M3"}, {{DType::fp8e5m2, DType::fp16}, "EXT-FP8E5M2"},
                    {{DType::fp16, DType::fp16}, "PRO-FP"},         {{DType::fp16, DType::fp32}, "PRO-FP"},
                    {{DType::bf16, DType::fp32}, "EXT-BF16"},       {{DType::fp32, DType::fp32}, "PRO-FP"}};
    average.check = average_check;
    average.reference = average_reference;
    average.tolerance = average_tolerance;

    OpDef max = pool_op(Op::max_pool2d);
    max.type_vars = {"in_out_t"};
    max.attributes = {"kernel", "stride", "pad", "nan_mode"};
    max.rows = with_floats(with_fp8({{{DType::i8}, "PRO-INT"}, {{DType::i16}, "EXT-INT16"}}));
    max.check = max_check;
    max.reference = max_reference;

    return {average, max};
}

}  // namespace tosavk

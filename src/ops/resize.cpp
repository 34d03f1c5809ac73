// RESIZE: nearest and bilinear sampling at rational positions, computed in integers for every type.
#include "ops/resize.hpp"

#include "ops/rows.hpp"
#include "ops/tolerance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tosavk {

namespace {

ResizeAxis make_axis(const NodeView& view, const char* name, std::int64_t in, std::int64_t n, std::int64_t d,
                     std::int64_t offset, std::int64_t border) {
    if (in >= 16384) view.fail(fmt::format("input size {} along {} is not below 16384", in, name), "input");
    if (n <= 0 || d <= 0) view.fail(fmt::format("scale {}/{} along {} is not positive", n, d, name), "scale");
    if (n > 2048) view.fail(fmt::format("scale_{}_n {} is above 2048", name, n), "scale");
    if (d >= 16 * n) view.fail(fmt::format("scale_{}_d {} is not below 16 * scale_{}_n {}", name, d, name, n), "scale");
    if (offset < -n || offset >= 16 * n)
        view.fail(fmt::format("offset_{} {} is not in {}..{}", name, offset, -n, 16 * n - 1), "offset");
    if (border < -16 * n || border >= n)
        view.fail(fmt::format("border_{} {} is not in {}..{}", name, border, -16 * n, n - 1), "border");
    const std::int64_t span = (in - 1) * n - offset + border;
    if (span < 0 || span % d != 0)
        view.fail(fmt::format("the span {} along {} is not a multiple of {}", span, name, d), "scale");
    const std::int64_t out = span / d + 1;
    if (out >= 16384) view.fail(fmt::format("output size {} along {} is not below 16384", out, name), "output");
    return {in, out, n, d, offset, border};
}

}  // namespace

ResizeGeometry resize_geometry(const NodeView& view) {
    const Shape& in = view.in(0).shape;
    const auto scale = view.constant_ints(1), offset = view.constant_ints(2), border = view.constant_ints(3);
    if (scale.size() != 4) view.fail(fmt::format("scale has {} values, not 4", scale.size()), "scale");
    if (offset.size() != 2) view.fail(fmt::format("offset has {} values, not 2", offset.size()), "offset");
    if (border.size() != 2) view.fail(fmt::format("border has {} values, not 2", border.size()), "border");
    return {in[0], in[3], make_axis(view, "y", in[1], scale[0], scale[1], offset[0], border[0]),
            make_axis(view, "x", in[2], scale[2], scale[3], offset[1], border[1])};
}

namespace {

std::vector<Shape> infer(const NodeView& view) {
    const ResizeGeometry g = resize_geometry(view);
    return {{g.batch, g.y.out, g.x.out, g.channels}};
}

void check(const NodeView& view, const Level& level) {
    const ResizeGeometry g = resize_geometry(view);
    for (const ResizeAxis* axis : {&g.y, &g.x}) {
        const std::int64_t common = std::gcd(axis->n, axis->d);
        if (axis->n / common > level.max_scale * (axis->d / common)) {
            view.fail(fmt::format("scale {}/{} exceeds {} of level {}", axis->n, axis->d, level.max_scale, level.name),
                      "scale");
        }
    }
    const bool bilinear = view.attrs().mode == ResizeMode::bilinear;
    const DType in = view.in(0).type, out = view.out().type;
    if (!is_float(in) && bilinear == (in == out)) {
        view.fail(fmt::format("mode {} does not give {} from {}", bilinear ? "BILINEAR" : "NEAREST_NEIGHBOR",
                              name_of(out), name_of(in)),
                  "output");
    }
}

/// Calls at(flat output index, y sample, x sample, flat index of input element (image, 0, 0, channel)).
template <class F> void for_each_output(const ResizeGeometry& g, F at) {
    std::size_t flat = 0;
    for (std::int64_t b = 0; b < g.batch; ++b) {
        for (std::int64_t oy = 0; oy < g.y.out; ++oy) {
            const auto y = g.y.sample(oy);
            for (std::int64_t ox = 0; ox < g.x.out; ++ox) {
                const auto x = g.x.sample(ox);
                for (std::int64_t c = 0; c < g.channels; ++c) at(flat++, y, x, b * g.y.in * g.x.in * g.channels + c);
            }
        }
    }
}

template <class T> std::vector<T> resize(const NodeView& view, const std::vector<T>& in) {
    const ResizeGeometry g = resize_geometry(view);
    std::vector<T> out(static_cast<std::size_t>(element_count(view.out().shape)));
    for_each_output(
        g, [&](std::size_t to, const ResizeAxis::Sample& y, const ResizeAxis::Sample& x, std::int64_t from) {
            const auto value = [&](std::int64_t iy, std::int64_t ix) {
                return in[static_cast<std::size_t>(from + (iy * g.x.in + ix) * g.channels)];
            };
            if (view.attrs().mode == ResizeMode::nearest) {
                out[to] = value(2 * y.r >= g.y.n ? y.i1 : y.i0, 2 * x.r >= g.x.n ? x.i1 : x.i0);
                return;
            }
            // Integers keep the scale n_y * n_x; floats weigh with fractions.
            constexpr bool real = std::is_floating_point_v<T>;
            const T one_y = real ? T(1) : static_cast<T>(g.y.n), one_x = real ? T(1) : static_cast<T>(g.x.n);
            const T wy = real ? static_cast<T>(y.r) / static_cast<T>(g.y.n) : static_cast<T>(y.r);
            const T wx = real ? static_cast<T>(x.r) / static_cast<T>(g.x.n) : static_cast<T>(x.r);
            T sum = value(y.i0, x.i0) * (one_y - wy) * (one_x - wx);
            sum += value(y.i0, x.i1) * (one_y - wy) * wx;
            sum += value(y.i1, x.i0) * wy * (one_x - wx);
            sum += value(y.i1, x.i1) * wy * wx;
            out[to] = sum;
        });
    return out;
}

void reference(RefContext& ctx) {
    if (!is_float(ctx.view.in(0).type)) ctx.set_ints(resize<std::int64_t>(ctx.view, ctx.ints(0)));
    else if (ctx.fp64) ctx.set_reals(resize<double>(ctx.view, ctx.real<double>(0)));
    else ctx.set_reals(resize<float>(ctx.view, ctx.real<float>(0)));
}

Tolerance tolerance(RefContext& ctx, std::size_t, std::span<const double> results) {
    Tolerance t;
    const DType type = ctx.view.out().type;
    if (!is_float(type)) return t;
    double largest = 0;
    for (const double v : ctx.real<double>(0)) largest = std::max(largest, std::fabs(v));
    t.kind = Tolerance::Kind::check;
    t.bound.assign(results.size(), std::max(absolute_bound(type, largest, 20, 0, 1), 0.006 * largest));
    return t;
}

}  // namespace

std::vector<OpDef> resize_ops() {
    OpDef def;
    def.op = Op::resize;
    def.type_vars = {"resize_t", "in_t", "out_t"};
    const auto host_shape = [](const char* name) {
        return ArgDef{.name = name, .type = "shape", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host};
    };
    def.inputs = {{.name = "input", .type = "in_t", .min_rank = 4, .max_rank = 4},
                  host_shape("scale"),
                  host_shape("offset"),
                  host_shape("border")};
    def.outputs = {{.name = "output", .type = "out_t", .min_rank = 4, .max_rank = 4}};
    def.attributes = {"mode"};
    def.rows = with_floats({{{DType::i16, DType::i8, DType::i32}, "PRO-INT"},
                            {{DType::i16, DType::i8, DType::i8}, "PRO-INT"},
                            {{DType::i16, DType::i16, DType::i48}, "EXT-INT16"},
                            {{DType::i16, DType::i16, DType::i16}, "EXT-INT16"}},
                           [](DType t) { return std::vector<DType>{t, t, t}; });
    def.infer = infer;
    def.check = check;
    def.reference = reference;
    def.tolerance = tolerance;
    return {def};
}

}  // namespace tosavk

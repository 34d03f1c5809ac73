// REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PRODUCT, REDUCE_SUM and ARGMAX: one axis becomes one element.
#include "ops/dot_product.hpp"
#include "ops/rows.hpp"
#include "ops/tolerance.hpp"

#include <fmt/format.h>

#include <limits>

namespace tosavk {

namespace {

std::size_t checked_axis(const NodeView& view) {
    const auto rank = static_cast<std::int64_t>(view.in(0).shape.size());
    const std::int64_t axis = view.attrs().axis;
    if (axis < 0 || axis >= rank) view.fail(fmt::format("axis {} is not in 0..{}", axis, rank - 1), "axis");
    return static_cast<std::size_t>(axis);
}

AxisSplit split_of(const NodeView& view) { return split_at(view.in(0).shape, checked_axis(view)); }

/// out[o, i] = step(...step(step(start, in[o, 0, i]), in[o, 1, i])...)
template <class T, class F> std::vector<T> fold(const AxisSplit& s, const std::vector<T>& in, T start, F step) {
    std::vector<T> out(static_cast<std::size_t>(s.outer * s.inner), start);
    for (std::int64_t o = 0; o < s.outer; ++o)
        for (std::int64_t a = 0; a < s.axis; ++a) {
            const T* row = in.data() + (o * s.axis + a) * s.inner;
            T* acc = out.data() + o * s.inner;
            for (std::int64_t i = 0; i < s.inner; ++i) acc[i] = step(acc[i], row[i]);
        }
    return out;
}

// Integer sums wrap like the device's; the specification leaves an overflow open.
std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <bool is_max> void extreme_ints(RefContext& ctx) {
    const DType type = ctx.view.in(0).type;
    if (is_max)
        ctx.set_ints(fold<std::int64_t>(split_of(ctx.view), ctx.ints(0), min_of(type),
                                        [](std::int64_t a, std::int64_t b) { return std::max(a, b); }));
    else
        ctx.set_ints(fold<std::int64_t>(split_of(ctx.view), ctx.ints(0), max_of(type),
                                        [](std::int64_t a, std::int64_t b) { return std::min(a, b); }));
}

template <bool is_max, class Real> void extreme_reals(RefContext& ctx) {
    const bool propagate = ctx.attrs().nan_mode == NanMode::propagate;
    const Real infinity = std::numeric_limits<Real>::infinity();
    const AxisSplit split = split_of(ctx.view);
    // Ignoring NaN, only NaN gives NaN; of no elements at all the extreme is an infinity.
    const bool may_be_nan = !propagate && split.axis > 0;
    const Real start = may_be_nan ? std::numeric_limits<Real>::quiet_NaN() : is_max ? -infinity : infinity;
    ctx.set_reals(fold<Real>(split, ctx.real<Real>(0), start, [propagate](Real a, Real b) {
        if (std::isnan(a)) return propagate ? a : b;
        if (std::isnan(b)) return propagate ? b : a;
        return is_max ? (a >= b ? a : b) : (a <= b ? a : b);
    }));
}

template <bool is_max> void extreme_reference(RefContext& ctx) {
    if (!is_float(ctx.view.in(0).type)) extreme_ints<is_max>(ctx);
    else if (ctx.fp64) extreme_reals<is_max, double>(ctx);
    else extreme_reals<is_max, float>(ctx);
}

template <class Real> void sum_reals(RefContext& ctx) {
    ctx.set_reals(fold<Real>(split_of(ctx.view), ctx.real<Real>(0), Real(0), [](Real a, Real b) { return a + b; }));
}

void sum_reference(RefContext& ctx) {
    if (!is_float(ctx.view.in(0).type))
        ctx.set_ints(fold<std::int64_t>(split_of(ctx.view), ctx.ints(0), 0, wrapping_add));
    else if (ctx.fp64) sum_reals<double>(ctx);
    else sum_reals<float>(ctx);
}

Tolerance sum_tolerance(RefContext& ctx, std::size_t, std::span<const double>) {
    const AxisSplit s = split_of(ctx.view);
    Tolerance t;
    t.kind = Tolerance::Kind::dot_product;
    t.bound = fold<double>(s, bound_operand(ctx, 0), 0.0, [](double a, double b) { return a + b; });
    t.terms = dot_product_terms(s.axis, match_row(ctx.view).types[1], ctx.view.out().type);
    return t;
}

template <class Real> void product_reals(RefContext& ctx) {
    ctx.set_reals(fold<Real>(split_of(ctx.view), ctx.real<Real>(0), Real(1), [](Real a, Real b) { return a * b; }));
}

void product_reference(RefContext& ctx) {
    if (ctx.fp64) product_reals<double>(ctx);
    else product_reals<float>(ctx);
}

/// Half an ulp per factor, compounded.
Tolerance product_tolerance(RefContext& ctx, std::size_t k, std::span<const double> reference) {
    const DType type = ctx.view.out(k).type;
    const double step = std::ldexp(1.0, -fraction_bits(type) - 1);
    const double share = std::expm1(static_cast<double>(split_of(ctx.view).axis) * std::log1p(step));
    Tolerance t;
    t.kind = Tolerance::Kind::check;
    for (const double r : reference) t.bound.push_back((std::fabs(r) < nmin(type) ? nmin(type) : std::fabs(r)) * share);
    return t;
}

void all_reference(RefContext& ctx) {
    ctx.set_ints(fold<std::int64_t>(split_of(ctx.view), ctx.ints(0), 1,
                                    [](std::int64_t a, std::int64_t b) -> std::int64_t { return a && b; }));
}

void any_reference(RefContext& ctx) {
    ctx.set_ints(fold<std::int64_t>(split_of(ctx.view), ctx.ints(0), 0,
                                    [](std::int64_t a, std::int64_t b) -> std::int64_t { return a || b; }));
}

/// The first of equal maxima wins. PROPAGATE: the first NaN wins and stays. IGNORE: NaN never beats a number.
template <class T> void argmax(RefContext& ctx, const std::vector<T>& in) {
    const AxisSplit s = split_of(ctx.view);
    const bool propagate = ctx.attrs().nan_mode == NanMode::propagate;
    std::vector<std::int64_t> out(static_cast<std::size_t>(s.outer * s.inner), 0);
    for (std::int64_t o = 0; o < s.outer; ++o)
        for (std::int64_t i = 0; i < s.inner; ++i) {
            const T* values = in.data() + o * s.axis * s.inner + i;
            std::int64_t best = 0;
            for (std::int64_t a = 1; a < s.axis; ++a) {
                const T value = values[a * s.inner], leader = values[best * s.inner];
                const bool nan = value != value, leader_nan = leader != leader;
                if (leader_nan ? !propagate && !nan : nan ? propagate : value > leader) best = a;
            }
            out[static_cast<std::size_t>(o * s.inner + i)] = best;
        }
    ctx.set_ints(out);
}

void argmax_reference(RefContext& ctx) {
    if (is_float(ctx.view.in(0).type)) argmax(ctx, ctx.real<double>(0));  // comparisons are exact in any precision
    else argmax(ctx, ctx.ints(0));
}

std::vector<Shape> reduce_infer(const NodeView& view) {
    Shape out = view.in(0).shape;
    out[checked_axis(view)] = 1;
    return {out};
}

std::vector<Shape> argmax_infer(const NodeView& view) {
    Shape out = view.in(0).shape;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(checked_axis(view)));
    return {out};
}

const char* combine_text(const NodeView& view) {
    const bool real = is_float(view.in(0).type), ignore = view.attrs().nan_mode == NanMode::ignore;
    switch (view.node().op) {
        case Op::reduce_all: return "((a) & (b))";
        case Op::reduce_any: return "((a) | (b))";
        case Op::reduce_max: return !real ? "max(a, b)" : ignore ? "tosa_max_ignore(a, b)" : "tosa_max(a, b)";
        case Op::reduce_min: return !real ? "min(a, b)" : ignore ? "tosa_min_ignore(a, b)" : "tosa_min(a, b)";
        case Op::reduce_product: return "((a) * (b))";
        default: return "((a) + (b))";
    }
}

OpDef reduce_op(Op op, std::vector<TypeRow> rows, void (*reference)(RefContext&)) {
    OpDef def;
    def.op = op;
    def.type_vars = {"in_out_t"};
    def.inputs = {{.name = "input", .type = "in_out_t", .min_rank = 1}};
    def.outputs = {{.name = "output", .type = "in_out_t", .min_rank = 1}};
    def.attributes = {"axis"};
    def.rows = std::move(rows);
    def.infer = reduce_infer;
    def.reference = reference;
    def.combine = combine_text;
    return def;
}

}  // namespace

std::vector<OpDef> reduce_ops() {
    const std::vector<TypeRow> logical = {{{DType::boolean}, "PRO-INT|PRO-FP"}};
    const std::vector<TypeRow> ordered =
        with_floats({{{DType::i8}, "PRO-INT"}, {{DType::i16}, "PRO-INT"}, {{DType::i32}, "PRO-INT"}});

    OpDef all = reduce_op(Op::reduce_all, logical, all_reference);
    OpDef any = reduce_op(Op::reduce_any, logical, any_reference);
    OpDef max = reduce_op(Op::reduce_max, ordered, extreme_reference<true>);
    OpDef min = reduce_op(Op::reduce_min, ordered, extreme_reference<false>);
    for (OpDef* def : {&max, &min}) def->attributes = {"axis", "nan_mode"};
    OpDef product = reduce_op(Op::reduce_product, with_floats(), product_reference);
    product.tolerance = product_tolerance;
    OpDef sum = reduce_op(Op::reduce_sum,
                          {{{DType::i32, DType::i32}, "PRO-INT"},
                           {{DType::fp16, DType::fp16}, "PRO-FP"},
                           {{DType::fp32, DType::fp32}, "PRO-FP"},
                           {{DType::bf16, DType::fp32}, "EXT-BF16"}},
                          sum_reference);
    sum.type_vars = {"in_out_t", "acc_t"};
    sum.tolerance = sum_tolerance;

    OpDef argmax_def;
    argmax_def.op = Op::argmax;
    argmax_def.type_vars = {"in_t", "out_t"};
    argmax_def.inputs = {{.name = "input", .type = "in_t", .min_rank = 1}};
    argmax_def.outputs = {{.name = "output", .type = "out_t"}};
    argmax_def.attributes = {"axis", "nan_mode"};
    const auto types_of = [](DType t) { return std::vector<DType>{t, DType::i32}; };
    argmax_def.rows = with_floats(
        with_fp8({{{DType::i8, DType::i32}, "PRO-INT"}, {{DType::i16, DType::i32}, "EXT-INT16"}}, types_of), types_of);
    argmax_def.infer = argmax_infer;
    argmax_def.reference = argmax_reference;

    return {argmax_def, all, any, max, min, product, sum};
}

}  // namespace tosavk

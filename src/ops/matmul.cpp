// MATMUL: batched [N,H,C] x [N,C,W] -> [N,H,W].
#include "ops/dot_product.hpp"
#include "ops/window.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

struct Sizes {
    std::int64_t n, h, c, w;
};

Sizes sizes_of(const NodeView& view) {
    const Shape &a = view.in(0).shape, &b = view.in(1).shape;
    if (a.size() != 3 || b.size() != 3)
        view.fail(fmt::format("A {} and B {} must have rank 3", to_string(a), to_string(b)));
    if (a[0] != b[0] || a[2] != b[1])
        view.fail(fmt::format("A {} and B {} do not fit: [N,H,C] times [N,C,W] is needed", to_string(a), to_string(b)));
    return {a[0], a[1], a[2], b[2]};
}

template <class Real>
std::vector<Real> multiply_reals(const Sizes& s, const std::vector<Real>& a, const std::vector<Real>& b) {
    std::vector<Real> out(static_cast<std::size_t>(s.n * s.h * s.w), Real(0));
    for (std::int64_t row = 0; row < s.n * s.h; ++row) {
        turn_of_loop();
        Real* acc = out.data() + row * s.w;
        for (std::int64_t c = 0; c < s.c; ++c) {
            const Real value = a[static_cast<std::size_t>(row * s.c + c)];
            const Real* line = b.data() + (row / s.h * s.c + c) * s.w;
            for (std::int64_t w = 0; w < s.w; ++w) acc[w] += value * line[w];
        }
    }
    return out;
}

template <class T>
std::vector<std::int64_t> multiply_ints(const Sizes& s, const std::vector<T>& a, const std::vector<T>& b) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(s.n * s.h * s.w));
    std::vector<T> column(static_cast<std::size_t>(s.c));
    for (std::int64_t n = 0; n < s.n; ++n)
        for (std::int64_t w = 0; w < s.w; ++w) {
            turn_of_loop();
            for (std::int64_t c = 0; c < s.c; ++c)
                column[static_cast<std::size_t>(c)] = b[static_cast<std::size_t>((n * s.c + c) * s.w + w)];
            for (std::int64_t h = 0; h < s.h; ++h)
                out[static_cast<std::size_t>((n * s.h + h) * s.w + w)] =
                    dot(a.data() + (n * s.h + h) * s.c, column.data(), s.c);
        }
    return out;
}

void reference(RefContext& ctx) {
    const Sizes s = sizes_of(ctx.view);
    if (ctx.view.in(0).type == DType::i16)
        ctx.set_ints(multiply_ints(s, ints_less_zero_point<std::int32_t>(ctx, 0, 2),
                                   ints_less_zero_point<std::int32_t>(ctx, 1, 3)));
    else if (!is_float(ctx.view.in(0).type))
        ctx.set_ints(multiply_ints(s, ints_less_zero_point<std::int16_t>(ctx, 0, 2),
                                   ints_less_zero_point<std::int16_t>(ctx, 1, 3)));
    else if (ctx.fp64) ctx.set_reals(multiply_reals<double>(s, ctx.real<double>(0), ctx.real<double>(1)));
    else ctx.set_reals(multiply_reals<float>(s, ctx.real<float>(0), ctx.real<float>(1)));
}

Tolerance tolerance(RefContext& ctx, std::size_t, std::span<const double>) {
    const Sizes s = sizes_of(ctx.view);
    Tolerance t;
    t.kind = Tolerance::Kind::dot_product;
    t.bound = multiply_reals<double>(s, bound_operand(ctx, 0), bound_operand(ctx, 1));
    t.terms = dot_product_terms(s.c, ctx.view.out().type, ctx.view.out().type);
    if (ctx.view.graph().fast_fp16) {
        t.products = static_cast<double>(s.c);
        t.squares = multiply_reals<double>(s, squared(ctx.real<double>(0)), squared(ctx.real<double>(1)));
    }
    return t;
}

std::vector<Shape> infer(const NodeView& view) {
    const Sizes s = sizes_of(view);
    return {{s.n, s.h, s.w}};
}

void check(const NodeView& view, const Level&) {
    check_zero_point(view, 2, "A_zp");
    check_zero_point(view, 3, "B_zp");
}

}  // namespace

std::vector<OpDef> matmul_ops() {
    OpDef def;
    def.op = Op::matmul;
    def.type_vars = {"in_t", "out_t"};
    def.inputs = {
        {.name = "A", .type = "in_t", .min_rank = 3, .max_rank = 3},
        {.name = "B", .type = "in_t", .min_rank = 3, .max_rank = 3},
        {.name = "A_zp", .type = "in_t", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host},
        {.name = "B_zp", .type = "in_t", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host},
    };
    def.outputs = {{.name = "output", .type = "out_t", .min_rank = 3, .max_rank = 3}};
    def.rows = {{{DType::i8, DType::i32}, "PRO-INT"},           {{DType::i16, DType::i48}, "EXT-INT16"},
                {{DType::fp8e4m3, DType::fp16}, "EXT-FP8E4M3"}, {{DType::fp8e5m2, DType::fp16}, "EXT-FP8E5M2"},
                {{DType::fp16, DType::fp16}, "PRO-FP"},         {{DType::fp16, DType::fp32}, "PRO-FP"},
                {{DType::bf16, DType::fp32}, "EXT-BF16"},       {{DType::fp32, DType::fp32}, "PRO-FP"}};
    def.infer = infer;
    def.check = check;
    def.reference = reference;
    def.tolerance = tolerance;
    return {def};
}

}  // namespace tosavk

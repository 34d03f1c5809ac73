// Elementwise operators of our own domain (docs/operators.md), such as exact quotients and square roots. One that is
// added here and in TOSAVK_OWN_OPERATORS (graph/operators.hpp) is complete: the sweep, the listing, problem lines
// and .tosa files go by what stands here.
#include "ops/pointwise.hpp"
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using namespace pointwise;
using i64 = std::int64_t;

constexpr const char* exact_library = "lib/exact.glsl";

std::vector<TypeRow> number_rows() {
    return own_rows({DType::i8, DType::i16, DType::i32, DType::fp16, DType::bf16, DType::fp32});
}

std::vector<TypeRow> float_rows() { return own_rows({DType::fp16, DType::bf16, DType::fp32}); }

/// map_reals for results that are the real number rounded once to the output's type: no other float is right.
template <class F> void map_rounded(RefContext& c, F f) {
    map_reals(c, f);
    const DType type = c.view.out().type;
    if (c.fp64) c.reals[0] = decode_reals(type, encode_reals(type, c.reals[0]));
}

/// The bits that hold an unsigned value; 0 where the operands are signed.
i64 mask_of(const NodeView& view) {
    const DType type = view.out().type;
    return !view.attrs().is_unsigned ? 0 : (i64{1} << (8 * size_of(type))) - 1;
}

/// The same as a literal of GLSL.
std::int32_t mask_literal(const NodeView& view) { return static_cast<std::int32_t>(mask_of(view)); }

void check_division(const NodeView& view, const Level&) {
    const Attributes& a = view.attrs();
    const bool is_divide = view.node().op == Op::divide;
    if (is_float(view.out().type)) {
        if (a.is_unsigned) view.fail("is_unsigned is for integers");
        if (a.by_zero != ByZero::zero) view.fail("by_zero is for integers and must be ZERO for floats");
        if (is_divide && a.floored) view.fail("floored is for integers; FLOOR of the quotient is that of floats");
    }
    if (is_divide && a.by_zero == ByZero::dividend) view.fail("by_zero is DIVIDEND, but must be ZERO or ONES");
    if (!is_divide && a.by_zero == ByZero::ones) view.fail("by_zero is ONES, but must be ZERO or DIVIDEND");
}

// ---- DIVIDE -------------------------------------------------------------------------------------------------------

i64 quotient(i64 a, i64 b, bool floored) {
    const i64 q = a / b;
    return floored && q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

void divide_reference(RefContext& c) {
    if (is_float(c.view.out().type)) return map_rounded(c, [](double a, double b) { return a / b; });
    const i64 mask = mask_of(c.view), by_zero = c.attrs().by_zero == ByZero::ones ? -1 : 0;
    const bool floored = c.attrs().floored;
    map_ints(c, [=](i64 a, i64 b) {
        if (b == 0) return by_zero;
        return mask != 0 ? (a & mask) / (b & mask) : quotient(a, b, floored);
    });
}

std::string divide_text(ExprContext& c) {
    const DType type = c.view().out().type;
    if (is_float(type)) return call2(c, "exact_divide");
    const Attributes& a = c.view().attrs();
    return wrap_to(type, fmt::format("exact_divide_int({}, {}, {}, {}, {})", c.in(0), c.in(1), mask_literal(c.view()),
                                     a.floored, a.by_zero == ByZero::ones ? -1 : 0));
}

// ---- REMAINDER ----------------------------------------------------------------------------------------------------

double remainder_of(double a, double b, bool floored) {
    const double r = std::fmod(a, b);
    return floored && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

void remainder_reference(RefContext& c) {
    const bool floored = c.attrs().floored;
    if (is_float(c.view.out().type))
        return map_rounded(c, [floored](double a, double b) { return remainder_of(a, b, floored); });
    const i64 mask = mask_of(c.view);
    const bool keeps_dividend = c.attrs().by_zero == ByZero::dividend;
    map_ints(c, [=](i64 a, i64 b) {
        if (b == 0) return keeps_dividend ? a : 0;
        return mask != 0 ? (a & mask) % (b & mask) : a - quotient(a, b, floored) * b;
    });
}

std::string remainder_text(ExprContext& c) {
    const DType type = c.view().out().type;
    const Attributes& a = c.view().attrs();
    if (is_float(type)) return fmt::format("exact_remainder({}, {}, {})", c.in(0), c.in(1), a.floored);
    return wrap_to(type, fmt::format("exact_remainder_int({}, {}, {}, {}, {})", c.in(0), c.in(1),
                                     mask_literal(c.view()), a.floored, a.by_zero == ByZero::dividend));
}

// ---- AFFINE_ZERO_POINT --------------------------------------------------------------------------------------------

i64 affine_zero_point(double minimum, double maximum) {
    constexpr double smallest = std::numeric_limits<float>::min(), lowest = -128, highest = 127;
    if (std::isnan(minimum) || std::isnan(maximum)) return 0;
    const double low = minimum <= -smallest ? -minimum : 0, high = maximum >= smallest ? maximum : 0;
    const float range = static_cast<float>(low) + static_cast<float>(high);
    if (range == 0 || !std::isfinite(range)) return 0;
    const double scale = static_cast<double>(range) / 255;
    const bool from_low = 128 + low / scale < 127 + high / scale;
    const double zero_point = from_low ? lowest + low / scale : highest - high / scale;
    return static_cast<i64>(std::clamp(std::round(zero_point), lowest, highest));
}

OpDef affine_zero_point_op() {
    OpDef def = binary(
        Op::affine_zero_point, {}, [](ExprContext& c) { return call2(c, "affine_zero_point"); },
        [](RefContext& c) { map_reals(c, affine_zero_point); });
    def.type_vars = {"in_t", "out_t"};
    for (ArgDef& input : def.inputs) input.type = "in_t";
    def.outputs = {{"output", "out_t"}};
    def.rows = {{{DType::fp32, DType::i32}, own_domain.data()}};
    def.library = "lib/affine_zero_point.glsl";
    def.operations = 40;
    return def;
}

}  // namespace

std::vector<OpDef> own_elementwise_ops() {
    std::vector<OpDef> ops;
    ops.push_back(binary(Op::divide, number_rows(), divide_text, divide_reference));
    ops.push_back(binary(Op::remainder, number_rows(), remainder_text, remainder_reference));
    for (OpDef& def : ops) {
        def.attributes = {"by_zero", "floored", "is_unsigned"};
        def.check = check_division;
        def.library = exact_library;
        def.operations = 60;
    }
    ops.push_back(worth(40, unary(
                                Op::sqrt, float_rows(), [](ExprContext& c) { return call(c, "exact_sqrt"); },
                                [](RefContext& c) { map_rounded(c, [](double a) { return std::sqrt(a); }); })));
    ops.back().library = exact_library;
    ops.push_back(affine_zero_point_op());
    return ops;
}

}  // namespace tosavk

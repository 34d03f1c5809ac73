// The elementwise operators of one, two and three operands.
#include "base/numerics/scale.hpp"
#include "ops/pointwise.hpp"
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <limits>

namespace tosavk {

namespace {

using namespace pointwise;
using i64 = std::int64_t;

constexpr const char* any_profile = "PRO-INT|PRO-FP";

const TypeRow int32_row{{DType::i32}, "PRO-INT"};
const TypeRow int32_any_row{{DType::i32}, any_profile};
const TypeRow bool_row{{DType::boolean}, any_profile};

std::vector<DType> twice(DType t) { return {t, t}; }

std::vector<TypeRow> integer_rows(const char* profile) {
    return {{{DType::i8}, profile}, {{DType::i16}, profile}, {{DType::i32}, profile}};
}

// ---- binary -------------------------------------------------------------------------------------------------------

// The specification leaves shifts outside 0..width-1 open; the shader takes the low five bits.
int shift_amount(i64 s) { return static_cast<int>(s & 31); }

i64 int_div(i64 a, i64 b) { return b == 0 ? 0 : a / b; }

i64 right_shift(i64 a, i64 amount, bool round) {
    const int s = shift_amount(amount);
    return (a >> s) + (round && s > 0 ? (a >> (s - 1)) & 1 : 0);
}

std::int32_t width_mask(DType type) { return type == DType::i8 ? 0xff : type == DType::i16 ? 0xffff : -1; }

std::string logical_right_shift_text(ExprContext& c) {
    const DType type = c.view().out().type;
    const std::int32_t mask = width_mask(type);
    const std::string a = mask == -1 ? c.in(0) : fmt::format("({} & {})", c.in(0), mask);
    return wrap_to(type, fmt::format("tosa_lshr({}, {})", a, c.in(1)));
}

void logical_right_shift(RefContext& c) {
    const auto mask = static_cast<std::uint32_t>(width_mask(c.view.out().type));
    map_ints(c, [mask](i64 a, i64 b) { return i64{(static_cast<std::uint32_t>(a) & mask) >> shift_amount(b)}; });
}

// Maximum (greater = true) or minimum; the NaN rules are the same.
template <bool greater> double extreme(double a, double b, NanMode mode) {
    if (std::isnan(a) || std::isnan(b)) {
        if (mode == NanMode::propagate) return std::numeric_limits<double>::quiet_NaN();
        return std::isnan(a) ? b : a;
    }
    return (greater ? a > b : a < b) ? a : b;
}

template <bool greater> void extreme_reference(RefContext& c) {
    if (is_float(c.view.out().type)) {
        const NanMode mode = c.attrs().nan_mode;
        map_reals(c, [mode](double a, double b) { return extreme<greater>(a, b, mode); });
    } else {
        map_ints(c, [](i64 a, i64 b) { return greater ? std::max(a, b) : std::min(a, b); });
    }
}

template <bool greater> std::string extreme_text(ExprContext& c) {
    if (!is_float(c.view().out().type)) return call2(c, greater ? "max" : "min");
    if (c.view().attrs().nan_mode == NanMode::ignore) return call2(c, greater ? "tosa_max_ignore" : "tosa_min_ignore");
    return call2(c, greater ? "tosa_max" : "tosa_min");
}

template <bool greater> OpDef extreme_op(Op op) {
    OpDef def = binary(op, with_floats({int32_row}), extreme_text<greater>, extreme_reference<greater>);
    def.attributes = {"nan_mode"};
    return def;
}

void check_mul(const NodeView& view, const Level&) {
    check_single(view, 2, "shift");
    if (!view.in(2).is_constant()) return;
    const i64 shift = view.constant_ints(2)[0];
    if (shift < 0 || shift > 63) view.fail(fmt::format("shift is {}, but must be 0 to 63", shift), view.in(2).name);
    if (shift != 0 && view.in(0).type != DType::i32) {
        view.fail(fmt::format("shift is {}, but must be 0 for type {}", shift, name_of(view.in(0).type)),
                  view.in(2).name);
    }
}

void mul_reference(RefContext& c) {
    if (is_float(c.view.out().type)) return map_reals(c, [](double a, double b) { return a * b; });
    const int shift = static_cast<int>(c.ints(2)[0]);
    map_ints(c, [shift](i64 a, i64 b) {
        return i64{mul_shift(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b), shift)};
    });
}

std::string mul_text(ExprContext& c) {
    const std::optional<i64> shift = c.known(2);
    // Only i32 products may be shifted.
    if (c.view().in(0).type != DType::i32 || shift == 0) return arithmetic(c, "*", "mul");
    if (shift)
        return fmt::format("mul_shift({}, {}, {})", c.in(0), c.in(1), c.param(static_cast<std::int32_t>(*shift)));
    return fmt::format("mul_shift({}, {}, ({}).x)", c.in(0), c.in(1), c.in(2));
}

OpDef mul_op() {
    OpDef def = binary(Op::mul, {}, mul_text, mul_reference, half_ulps<1>);
    def.type_vars = {"in_t", "out_t"};
    def.inputs = {{"input1", "in_t"},
                  {"input2", "in_t"},
                  {.name = "shift", .type = "i8", .min_rank = 1, .max_rank = 1, .ctc = true}};
    def.outputs = {{"output", "out_t"}};
    def.rows = with_floats({{{DType::i8, DType::i32}, "PRO-INT"},
                            {{DType::i16, DType::i32}, "PRO-INT"},
                            {{DType::i32, DType::i32}, any_profile}},
                           twice);
    def.check = check_mul;
    return def;
}

// POW of operands that the specification leaves open: any result is right.
bool pow_is_open(double x, double y) { return !(x >= 0) || std::isinf(x) || !std::isfinite(y) || (x == 0 && y <= 0); }

void pow_reference(RefContext& c) {
    const bool fp64 = c.fp64;
    map_reals(c, [fp64](double x, double y) { return fp64 && pow_is_open(x, y) ? 0.0 : std::pow(x, y); });
}

Tolerance pow_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double x, double y) {
        if (pow_is_open(x, y)) return std::numeric_limits<double>::infinity();
        if (x == 0 || y == 0) return 0.0;
        const double exponent = y * std::log(x);
        const double m = absolute_bound(type, exponent, 5.5, std::fabs(0.55 * y), 1);
        return r * std::expm1(m) + absolute_bound(type, r, base_error(type) + 2 * std::fabs(exponent + m), 0, 1);
    });
}

std::vector<OpDef> binary_ops() {
    std::vector<OpDef> ops;
    ops.push_back(binary(
        Op::add, with_floats({int32_any_row}), [](ExprContext& c) { return arithmetic(c, "+", "add"); },
        [](RefContext& c) { map_either(c, [](auto a, auto b) { return a + b; }); }, half_ulps<1>));
    ops.push_back(binary(
        Op::sub, with_floats({int32_any_row}), [](ExprContext& c) { return arithmetic(c, "-", "sub"); },
        [](RefContext& c) { map_either(c, [](auto a, auto b) { return a - b; }); }, half_ulps<1>));
    ops.push_back(mul_op());
    ops.push_back(worth(16, binary(
                                Op::intdiv, {int32_any_row}, [](ExprContext& c) { return call2(c, "tosa_intdiv"); },
                                [](RefContext& c) { map_ints(c, int_div); })));
    ops.push_back(worth(16, binary(
                                Op::pow, with_floats(), [](ExprContext& c) { return call2(c, "tosa_pow"); },
                                pow_reference, pow_tolerance)));
    ops.push_back(extreme_op<true>(Op::maximum));
    ops.push_back(extreme_op<false>(Op::minimum));

    ops.push_back(binary(
        Op::bitwise_and, integer_rows("PRO-INT"), [](ExprContext& c) { return infix(c, "&"); },
        [](RefContext& c) { map_ints(c, [](i64 a, i64 b) { return a & b; }); }));
    ops.push_back(binary(
        Op::bitwise_or, integer_rows("PRO-INT"), [](ExprContext& c) { return infix(c, "|"); },
        [](RefContext& c) { map_ints(c, [](i64 a, i64 b) { return a | b; }); }));
    ops.push_back(binary(
        Op::bitwise_xor, integer_rows("PRO-INT"), [](ExprContext& c) { return infix(c, "^"); },
        [](RefContext& c) { map_ints(c, [](i64 a, i64 b) { return a ^ b; }); }));
    ops.push_back(binary(
        Op::logical_and, {bool_row}, [](ExprContext& c) { return infix(c, "&"); },
        [](RefContext& c) { map_ints(c, [](i64 a, i64 b) { return a & b; }); }));
    ops.push_back(binary(
        Op::logical_or, {bool_row}, [](ExprContext& c) { return infix(c, "|"); },
        [](RefContext& c) { map_ints(c, [](i64 a, i64 b) { return a | b; }); }));
    ops.push_back(binary(
        Op::logical_xor, {bool_row}, [](ExprContext& c) { return infix(c, "^"); },
        [](RefContext& c) { map_ints(c, [](i64 a, i64 b) { return a ^ b; }); }));

    ops.push_back(binary(
        Op::logical_left_shift, integer_rows(any_profile),
        [](ExprContext& c) { return wrap_to(c.view().out().type, call2(c, "tosa_lshl")); },
        [](RefContext& c) { map_ints(c, [](i64 a, i64 b) { return a * (i64{1} << shift_amount(b)); }); }));
    ops.push_back(
        binary(Op::logical_right_shift, integer_rows(any_profile), logical_right_shift_text, logical_right_shift));
    OpDef arithmetic = binary(
        Op::arithmetic_right_shift, integer_rows("PRO-INT"),
        [](ExprContext& c) {
            return fmt::format("tosa_arshift({}, {}, {})", c.in(0), c.in(1), c.view().attrs().round ? 1 : 0);
        },
        [](RefContext& c) {
            const bool round = c.attrs().round;
            map_ints(c, [round](i64 a, i64 b) { return right_shift(a, b, round); });
        });
    arithmetic.attributes = {"round"};
    ops.push_back(arithmetic);
    return ops;
}

// ---- unary --------------------------------------------------------------------------------------------------------

void check_negate(const NodeView& view, const Level&) {
    const char* names[] = {"", "input1_zp", "output_zp"};
    for (const std::size_t k : {std::size_t{1}, std::size_t{2}}) {
        check_single(view, k, names[k]);
        const Value& zp = view.in(k);
        if (zp.type != DType::i8 && zp.is_constant() && decode_reals(zp.type, *zp.data)[0] != 0) {
            view.fail(fmt::format("{} must be 0 for type {}", names[k], name_of(zp.type)), zp.name);
        }
    }
}

void negate_reference(RefContext& c) {
    const DType type = c.view.out().type;
    if (is_float(type)) return map_reals(c, [](double a) { return -a; });
    const i64 zero_points = c.ints(1)[0] + c.ints(2)[0];
    map_ints(c, [=](i64 a) { return std::clamp(zero_points - a, min_of(type), max_of(type)); });
}

// 0 - (x - input1_zp) + output_zp
std::string negate_text(ExprContext& c) {
    const DType type = c.view().out().type;
    if (is_float(type)) return call(c, "tosa_negate");
    const std::string zero_points = zero_point_term(c, 1, "+", -1) + zero_point_term(c, 2, "+", -1);
    if (type == DType::i32 && zero_points.empty()) return fmt::format("wrapping_sub(ivec4(0), {})", c.in(0));
    return clamp_to(type, "(-" + c.in(0) + zero_points + ")");
}

OpDef negate_op() {
    OpDef def = unary(Op::negate, {}, negate_text, negate_reference);
    def.type_vars = {"in_out_t", "acc_t"};
    def.inputs.push_back({.name = "input1_zp", .type = "in_out_t", .min_rank = 1, .max_rank = 1, .ctc = true});
    def.inputs.push_back({.name = "output_zp", .type = "in_out_t", .min_rank = 1, .max_rank = 1, .ctc = true});
    def.rows = with_floats({{{DType::i8, DType::i32}, "PRO-INT"},
                            {{DType::i16, DType::i32}, "PRO-INT"},
                            {{DType::i32, DType::i32}, "PRO-INT"}},
                           twice);
    def.check = check_negate;
    return def;
}

Tolerance exp_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double x) {
        return absolute_bound(type, r, base_error(type) + 2 * std::fabs(x), 0, 1);
    });
}

Tolerance log_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double) { return absolute_bound(type, r, 5, 0.5, 1); });
}

Tolerance cos_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference,
                 [](DType type, double, double x) { return absolute_bound(type, 1 + std::fabs(x), 1, 0, 2); });
}

Tolerance sin_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double, double x) {
        return std::max(absolute_bound(type, x, 2, 0, 2), 3.14159265358979323846 * nmin(type));
    });
}

i64 leading_zeros(i64 a) { return std::countl_zero(static_cast<std::uint32_t>(a)); }

std::vector<OpDef> unary_ops() {
    std::vector<OpDef> ops;
    ops.push_back(unary(
        Op::abs, with_floats({int32_row}),
        [](ExprContext& c) { return call(c, is_float(c.view().out().type) ? "tosa_abs" : "wrapping_abs"); },
        [](RefContext& c) { map_either(c, [](auto a) { return std::abs(a); }); }));
    ops.push_back(unary(
        Op::bitwise_not, integer_rows("PRO-INT"), [](ExprContext& c) { return "(~" + c.in(0) + ")"; },
        [](RefContext& c) { map_ints(c, [](i64 a) { return ~a; }); }));
    ops.push_back(unary(
        Op::logical_not, {bool_row}, [](ExprContext& c) { return "(" + c.in(0) + " ^ 1)"; },
        [](RefContext& c) { map_ints(c, [](i64 a) { return a ^ 1; }); }));
    ops.push_back(unary(
        Op::clz, {int32_row}, [](ExprContext& c) { return call(c, "tosa_clz"); },
        [](RefContext& c) { map_ints(c, leading_zeros); }));
    ops.push_back(negate_op());

    ops.push_back(unary(
        Op::ceil, with_floats(), [](ExprContext& c) { return call(c, "tosa_ceil"); },
        [](RefContext& c) { map_reals(c, [](double a) { return std::ceil(a); }); }, half_ulps<1>));
    ops.push_back(unary(
        Op::floor, with_floats(), [](ExprContext& c) { return call(c, "tosa_floor"); },
        [](RefContext& c) { map_reals(c, [](double a) { return std::floor(a); }); }, half_ulps<1>));
    ops.push_back(
        worth(16, unary(
                      Op::reciprocal, with_floats(), [](ExprContext& c) { return call(c, "tosa_reciprocal"); },
                      [](RefContext& c) { map_reals(c, [](double a) { return 1 / a; }); }, half_ulps<2>)));
    ops.push_back(
        worth(16, unary(
                      Op::rsqrt, with_floats(), [](ExprContext& c) { return call(c, "tosa_rsqrt"); },
                      [](RefContext& c) { map_reals(c, [](double a) { return 1 / std::sqrt(a); }); }, half_ulps<4>)));
    ops.push_back(
        worth(16, unary(
                      Op::exp, with_floats(), [](ExprContext& c) { return call(c, "tosa_exp"); },
                      [](RefContext& c) { map_reals(c, [](double a) { return std::exp(a); }); }, exp_tolerance)));
    ops.push_back(
        worth(16, unary(
                      Op::log, with_floats(), [](ExprContext& c) { return call(c, "tosa_log"); },
                      [](RefContext& c) { map_reals(c, [](double a) { return std::log(a); }); }, log_tolerance)));
    ops.push_back(
        worth(16, unary(
                      Op::cos, with_floats(), [](ExprContext& c) { return call(c, "tosa_cos"); },
                      [](RefContext& c) { map_reals(c, [](double a) { return std::cos(a); }); }, cos_tolerance)));
    ops.push_back(
        worth(16, unary(
                      Op::sin, with_floats(), [](ExprContext& c) { return call(c, "tosa_sin"); },
                      [](RefContext& c) { map_reals(c, [](double a) { return std::sin(a); }); }, sin_tolerance)));
    return ops;
}

// ---- ternary ------------------------------------------------------------------------------------------------------

template <class T> void select_as(RefContext& c) {
    map<T>(c, [](T condition, T a, T b) { return condition != 0 ? a : b; });
}

OpDef select_op() {
    OpDef def = binary(
        Op::select, integer_rows("PRO-INT"),
        [](ExprContext& c) { return fmt::format("tosa_select({}, {}, {})", c.in(0), c.in(1), c.in(2)); },
        [](RefContext& c) { is_float(c.view.out().type) ? select_as<double>(c) : select_as<i64>(c); });
    def.inputs = {{"input1", "bool"}, {"input2", "in_out_t"}, {"input3", "in_out_t"}};
    def.rows.insert(def.rows.begin(), bool_row);
    def.rows = with_floats(std::move(def.rows));
    def.infer = broadcast3;
    return def;
}

}  // namespace

std::vector<OpDef> elementwise_ops() {
    std::vector<OpDef> ops = binary_ops();
    for (OpDef& def : unary_ops()) ops.push_back(std::move(def));
    ops.push_back(select_op());
    return ops;
}

}  // namespace tosavk

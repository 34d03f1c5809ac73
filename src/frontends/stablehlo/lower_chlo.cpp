// CHLO, the functions above StableHLO. Portable artifacts have them as what they are made of; text, as JAX prints it,
// has them as they are, and older serializers write some of them as custom calls.
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/lower_custom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

[[noreturn]] void refuse_type(const Lowering& l, Element element) {
    l.unsupported(fmt::format("numbers of {} are not supported", stablehlo::name_of(element)));
}

/// Whose numbers are floats, and no complex ones.
Tensor real_operand(Lowering& l, std::size_t k) {
    const Tensor x = l.given(k);
    const bool is_number = is_integer_element(x.element) || x.element == Element::pred || x.id == no_id;
    if (is_number || x.is_complex()) refuse_type(l, x.element);
    return l.in(k);
}

void expect_operands(const Lowering& l, std::size_t count, std::size_t results = 1) {
    if (l.operand_count() != count || l.result_count() != results)
        l.fail(fmt::format("it has {} operands and {} results", l.operand_count(), l.result_count()));
}

// ---- functions of one number --------------------------------------------------------------------------------------

struct ElementFunction {
    std::string_view name;
    Id (*of_real)(Lowering&, Id);  ///< of fp32
    Complex (*of_complex)(Lowering&, Complex) = nullptr;
};
template <Op op> Id of_operator(Lowering& l, Id x) { return l.unary(op, x); }

constexpr ElementFunction functions[] = {
    {"acos", arc_cosine, complex_arc_cosine},
    {"acosh", area_cosine, complex_area_cosine},
    {"asin", arc_sine, complex_arc_sine},
    {"asinh", area_sine, complex_area_sine},
    {"atan", arc_tangent, complex_arc_tangent},
    {"atanh", area_tangent, complex_area_tangent},
    {"bessel_i1e", bessel_i1e},
    {"cosh", hyperbolic_cosine, complex_hyperbolic_cosine},
    {"digamma", digamma},
    {"erf", of_operator<Op::erf>},
    {"erf_inv", of_operator<Op::erf_inv>},
    {"erfc", erfc},
    {"lgamma", of_operator<Op::lgamma>},
    {"sinh", hyperbolic_sine, complex_hyperbolic_sine},
    {"tan", tangent, complex_tangent},
};

void lower_named(Lowering& l) { lower_function(l, l.op().name); }

// ---- others -------------------------------------------------------------------------------------------------------

void lower_square(Lowering& l) {
    expect_operands(l, 1);
    const Tensor x = l.given(0);
    if (is_coded_element(x.element)) l.refuse_codes(x.element);
    l.set(product(l, x, x));
}

void lower_conjugate(Lowering& l) {
    expect_operands(l, 1);
    Tensor x = l.given(0);
    if (x.is_complex()) x.other = l.negated(x.other);
    l.set(x);
}

/// `of` makes a bool of fp32.
template <class Of> void lower_test(Lowering& l, const Of& of) {
    expect_operands(l, 1);
    const Id x = l.cast(real_operand(l, 0).id, DType::fp32);
    l.set({Element::pred, of(x), no_id, {0, 1}});
}
void lower_is_infinite(Lowering& l) {
    lower_test(l, [&](Id x) {
        return is_equal(l, l.unary(Op::abs, x), float_splat(l, x, std::numeric_limits<double>::infinity()));
    });
}
template <bool negative> void lower_is_this_infinity(Lowering& l) {
    const double limit = std::numeric_limits<double>::infinity();
    lower_test(l, [&](Id x) { return is_equal(l, x, float_splat(l, x, negative ? -limit : limit)); });
}

template <Id (*function)(Lowering&, Id, Id)> void lower_of_two(Lowering& l) {
    expect_operands(l, 2);
    const Tensor a = real_operand(l, 0), b = real_operand(l, 1);
    l.set(l.narrow(function(l, l.cast(a.id, DType::fp32), l.cast(b.id, DType::fp32)), a.element));
}

/// By the bits, which are in the order of the numbers but for the sign: no number below the smallest normal one is
/// computed with, since devices may take it for 0.
void lower_next_after(Lowering& l) {
    expect_operands(l, 2);
    const Tensor from = real_operand(l, 0), to = real_operand(l, 1);
    const DType type = l.type(from.id);
    const bool is_small = type == DType::fp16 || type == DType::bf16;
    if (!is_small && type != DType::fp32) refuse_type(l, from.element);
    const std::int64_t most = is_small ? 0x7fff : 0x7fffffff;
    const std::int64_t limit = type == DType::fp16 ? 0x7c00 : type == DType::bf16 ? 0x7f80 : 0x7f800000;
    const auto bits_of_float = [&](Id id) {
        return is_small ? l.cast(l.bitcast(id, DType::i16), DType::i32) : l.bitcast(id, DType::i32);
    };
    const auto both = [&](Id a, Id b) { return l.binary(Op::logical_and, a, b, DType::boolean); };
    const auto either = [&](Id a, Id b) { return l.binary(Op::logical_or, a, b, DType::boolean); };
    const Id other = l.with_rank_of(bits_of_float(to.id), from.id),
             bits = l.with_rank_of(bits_of_float(from.id), other);
    const auto number = [&](std::int64_t v) { return l.splat_int(bits, v); };
    const Id size = l.bits_and(bits, most), other_size = l.bits_and(other, most);
    const Id other_sign = l.bits_and(other, ~most);
    const Id differ = l.logical_not(is_equal(l, l.bits_and(bits, ~most), other_sign));
    const Id inward = either(differ, is_below(l, other_size, size));
    const Id step = l.select(inward, number(-1), number(1));
    const Id from_zero = l.binary(Op::bitwise_or, other_sign, number(1), DType::i32);
    const Id none = is_equal(l, size, number(0));
    Id made = l.select(none, from_zero, l.binary(Op::add, bits, step, DType::i32));
    const Id same = either(is_equal(l, bits, other), both(none, is_equal(l, other_size, number(0))));
    made = l.select(same, other, made);
    const Id is_nan = either(is_below(l, number(limit), size), is_below(l, number(limit), other_size));
    made = l.select(is_nan, number(limit + (limit & -limit) / 2), made);
    l.set({from.element, l.bitcast(is_small ? l.cast(made, DType::i16) : made, type), no_id, {}});
}

void lower_top_k_operation(Lowering& l) {
    if (l.is_lifted()) l.unsupported("this operation is not supported in a region of numbers");
    lower_top_k(l, l.integer("k"), true);
}

}  // namespace

bool lower_function(Lowering& l, std::string_view name) {
    const auto* const end = std::end(functions);
    const auto* const row =
        std::find_if(std::begin(functions), end, [&](const ElementFunction& f) { return f.name == name; });
    if (row == end) return false;
    expect_operands(l, 1);
    if (const Tensor x = l.given(0); x.is_complex() && row->of_complex) {
        const Complex made = row->of_complex(l, {x.id, x.other});
        l.set({x.element, made.re, made.im, {}});
        return true;
    }
    const Tensor x = real_operand(l, 0);
    l.set(l.narrow(row->of_real(l, l.cast(x.id, DType::fp32)), x.element));
    return true;
}

std::span<const LoweringRow> chlo_rows() {
    static constexpr LoweringRow rows[] = {
        {"acos", lower_named},
        {"acosh", lower_named},
        {"asin", lower_named},
        {"asinh", lower_named},
        {"atan", lower_named},
        {"atanh", lower_named},
        {"bessel_i1e", lower_named},
        {"conj", lower_conjugate},
        {"cosh", lower_named},
        {"digamma", lower_named},
        {"erf", lower_named},
        {"erf_inv", lower_named},
        {"erfc", lower_named},
        {"is_inf", lower_is_infinite},
        {"is_neg_inf", lower_is_this_infinity<true>},
        {"is_pos_inf", lower_is_this_infinity<false>},
        {"lgamma", lower_named},
        {"next_after", lower_next_after},
        {"polygamma", lower_of_two<polygamma>},
        {"sinh", lower_named},
        {"square", lower_square},
        {"tan", lower_named},
        {"top_k", lower_top_k_operation},
        {"zeta", lower_of_two<zeta>},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

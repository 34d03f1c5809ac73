// Operations of one operand, element by element.
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/words.hpp"

#include <array>
#include <limits>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

bool is_integer(const Tensor& t) { return is_integer_element(t.element); }

void refuse_complex(Lowering& l, const Tensor& x) {
    if (x.is_complex()) l.unsupported("complex numbers are not supported");
}

/// TOSA's operator of floats; `of_complex` may be null.
template <class OfComplex> void lower_real(Lowering& l, Op op, const OfComplex& of_complex) {
    const Tensor x = l.in(0);
    if (!x.is_complex()) return l.set(l.narrow(l.unary(op, l.wide(x)), x.element));
    const Complex r = of_complex(l, Complex{x.id, x.other});
    l.set({x.element, r.re, r.im, {}});
}

Complex none(Lowering& l, Complex) { l.unsupported("complex numbers are not supported"); }

/// In fp32 whatever the type of float.
void lower_fp32(Lowering& l, Id (*function)(Lowering&, Id)) {
    const Tensor x = l.in(0);
    refuse_complex(l, x);
    l.set(l.narrow(function(l, l.cast(x.id, DType::fp32)), x.element));
}

void lower_exponential(Lowering& l) { lower_real(l, Op::exp, complex_exp); }
void lower_log(Lowering& l) { lower_real(l, Op::log, complex_log); }
void lower_sqrt(Lowering& l) { lower_real(l, Op::sqrt, complex_sqrt); }
void lower_ceil(Lowering& l) { lower_real(l, Op::ceil, none); }
void lower_floor(Lowering& l) { lower_real(l, Op::floor, none); }

Complex complex_one(Lowering& l, Complex like) { return {float_splat(l, like.re, 1), float_splat(l, like.re, 0)}; }

void lower_rsqrt(Lowering& l) {
    lower_real(l, Op::rsqrt, [](Lowering& to, Complex a) {
        const Complex made = complex_quotient(to, complex_one(to, a), complex_sqrt(to, a));
        const Id infinite = float_splat(to, a.re, std::numeric_limits<double>::infinity());
        const auto is_infinite = [&](Id part) { return is_equal(to, to.unary(Op::abs, part), infinite); };
        const Id none = to.binary(Op::logical_or, is_infinite(a.re), is_infinite(a.im), DType::boolean);
        const Id zero = float_splat(to, a.re, 0);
        return Complex{to.select(none, zero, made.re), to.select(none, zero, made.im)};
    });
}

void lower_sine(Lowering& l) {
    lower_real(l, Op::sin, [](Lowering& to, Complex a) {
        return Complex{multiply(to, to.unary(Op::sin, a.re), hyperbolic_cosine(to, a.im)),
                       multiply(to, to.unary(Op::cos, a.re), hyperbolic_sine(to, a.im))};
    });
}

void lower_cosine(Lowering& l) {
    lower_real(l, Op::cos, [](Lowering& to, Complex a) {
        const Id im = multiply(to, to.unary(Op::sin, a.re), hyperbolic_sine(to, a.im));
        return Complex{multiply(to, to.unary(Op::cos, a.re), hyperbolic_cosine(to, a.im)), to.negated(im)};
    });
}

void lower_tanh(Lowering& l) { lower_real(l, Op::tanh, complex_tanh); }

void lower_logistic(Lowering& l) {
    lower_real(l, Op::sigmoid, [](Lowering& to, Complex a) {
        const Complex e = complex_exp(to, {to.negated(a.re), to.negated(a.im)});
        const Id one = float_splat(to, a.re, 1);
        const Complex made =
            complex_quotient(to, complex_one(to, a), {to.binary(Op::add, one, e.re, DType::fp32), e.im});
        // Far below 0 it is e^a, and e^-a may be infinite.
        const Id small = is_below(to, a.re, float_splat(to, a.re, -40));
        const Complex power = complex_exp(to, a);
        return Complex{to.select(small, power.re, made.re), to.select(small, power.im, made.im)};
    });
}

void lower_log_plus_one(Lowering& l) {
    const Tensor x = l.in(0);
    if (!x.is_complex()) return lower_fp32(l, log1p);
    // log|1 + x| = log1p(2 re + re^2 + im^2) / 2
    const Id half = float_splat(l, x.id, 0.5), one = float_splat(l, x.id, 1);
    const Id re = multiply(l, x.id, l.binary(Op::add, x.id, float_splat(l, x.id, 2), DType::fp32));
    const Id square = l.binary(Op::add, re, multiply(l, x.other, x.other), DType::fp32);
    const Id shifted = l.binary(Op::add, x.id, one, DType::fp32);
    // Far from 1 the logarithm of what has no squares.
    const Id size = complex_abs(l, {shifted, x.other});
    const Id length = l.select(is_below(l, float_splat(l, size, 4), size), l.unary(Op::log, size),
                               multiply(l, half, log1p(l, square)));
    l.set({x.element, length, atan2(l, x.other, shifted), {}});
}

void lower_exponential_minus_one(Lowering& l) {
    const Tensor x = l.in(0);
    if (!x.is_complex()) return lower_fp32(l, expm1);
    // re: expm1(a) cos b - 2 sin^2(b / 2)
    const Id s = l.unary(Op::sin, multiply(l, x.other, float_splat(l, x.id, 0.5)));
    const Id less = multiply(l, float_splat(l, x.id, 2), multiply(l, s, s));
    const Id re = multiply(l, expm1(l, x.id), l.unary(Op::cos, x.other));
    const Id im = times_sine(l, l.unary(Op::exp, x.id), x.other);
    l.set({x.element, l.binary(Op::sub, re, less, DType::fp32), im, {}});
}

void lower_cbrt(Lowering& l) {
    const Tensor x = l.in(0);
    if (!x.is_complex()) return lower_fp32(l, cbrt);
    const Complex log = complex_log(l, {x.id, x.other});
    const Id third = float_splat(l, x.id, 1.0 / 3);
    const Complex root = complex_exp(l, {multiply(l, log.re, third), multiply(l, log.im, third)});
    const Id none = is_equal(l, complex_abs(l, {x.id, x.other}), float_splat(l, x.id, 0));
    l.set({x.element, l.select(none, x.id, root.re), l.select(none, x.other, root.im), {}});
}
void lower_tan(Lowering& l) {
    const Tensor x = l.in(0);
    if (!x.is_complex()) return lower_fp32(l, tangent);
    const Complex made = complex_tangent(l, {x.id, x.other});
    l.set({x.element, made.re, made.im, {}});
}
void lower_round_even(Lowering& l) {
    lower_fp32(l, [](Lowering& to, Id x) { return rounded(to, x, true); });
}
void lower_round_away(Lowering& l) {
    lower_fp32(l, [](Lowering& to, Id x) { return rounded(to, x, false); });
}

void lower_is_finite(Lowering& l) {
    const Tensor x = l.in(0);
    refuse_complex(l, x);
    l.set({Element::pred, is_finite(l, l.wide(x)), no_id, {0, 1}});
}

bool leaves_word(const Tensor& x, Range range) {
    return is_integer(x) && bits_of(x.element) == 64 && (x.is_pair() || !whole_range(x.element).holds(range));
}

void lower_negate(Lowering& l) {
    const Tensor x = l.given(0);
    const Range negative{saturated_difference(0, x.range.most), saturated_difference(0, x.range.least)};
    if (leaves_word(x, negative)) {
        const bool wraps = x.element == Element::u64 || negative.most == std::numeric_limits<std::int64_t>::max();
        return l.set(
            from_words(l, negated_words(l, words_of(l, x)), x.element, wraps ? pair_range(x.element) : negative));
    }
    if (x.is_complex()) return l.set(l.move(x, [&](Id id) { return l.negated(id); }));
    const Id id = l.wide(x);
    if (is_integer(x))
        return l.set(l.narrow(l.binary(Op::sub, l.splat_int(id, 0), id, DType::i32), x.element, negative));
    l.set(l.narrow(l.negated(id), x.element));
}

void lower_abs(Lowering& l) {
    const Tensor x = l.given(0);
    if (x.is_complex()) return l.set({l.result_type().element, complex_abs(l, {x.id, x.other}), no_id, {}});
    const Range sizes{0, std::max(x.range.most, saturated_difference(0, x.range.least))};
    if (leaves_word(x, sizes)) {
        const Words words = words_of(l, x);
        const Id below = is_below(l, words.high, l.splat_int(words.high, 0));
        const bool wraps = sizes.most == std::numeric_limits<std::int64_t>::max();
        return l.set(from_words(l, chosen_words(l, below, negated_words(l, words), words), x.element,
                                wraps ? pair_range(x.element) : sizes));
    }
    const Id id = l.wide(x);
    if (!is_integer(x)) return l.set(l.narrow(l.unary(Op::abs, id), x.element));
    if (x.range.least >= 0) return l.set(x);
    const Id zero = l.splat_int(id, 0), minus = l.binary(Op::sub, zero, id, DType::i32);
    l.set(l.narrow(l.select(is_below(l, id, zero), minus, id), x.element, sizes));
}

void lower_sign(Lowering& l) {
    const Tensor x = l.given(0);
    if (x.is_pair()) {
        const Id below = l.shift_right(x.other, 31, true), zero = l.splat_int(x.id, 0);
        const Id none = is_equal(l, l.binary(Op::bitwise_or, x.id, x.other, DType::i32), zero);
        return l.set(l.ranged(l.select(none, zero, l.binary(Op::bitwise_or, below, l.splat_int(below, 1), DType::i32)),
                              x.element, {-1, 1}));
    }
    if (x.is_complex()) {
        const Id length = complex_abs(l, {x.id, x.other});
        const Id none = is_equal(l, length, float_splat(l, length, 0));
        return l.set(
            l.move(x, [&](Id id) { return l.select(none, id, l.binary(Op::divide, id, length, DType::fp32)); }));
    }
    const Id id = l.wide(x), one = l.splat(id, l.type(id), 1), minus = l.splat(id, l.type(id), -1);
    const Id zero = l.splat(id, l.type(id), 0);
    const Id below = l.select(is_below(l, id, zero), minus, id);
    l.set(l.narrow(l.select(is_below(l, zero, id), one, below), x.element, {-1, 1}));
}

void lower_not(Lowering& l) {
    const Tensor x = l.given(0);
    if (is_integer(x) && (x.is_pair() || x.element == Element::u64)) {
        const Words words = words_of(l, x);
        const Range range = x.element == Element::i64 ? Range{~x.range.most, ~x.range.least} : pair_range(x.element);
        return l.set(from_words(l, {l.unary(Op::bitwise_not, words.low), l.unary(Op::bitwise_not, words.high)},
                                x.element, range));
    }
    if (x.element == Element::pred) return l.set({x.element, l.logical_not(x.id), no_id, {0, 1}});
    const Range range = is_unsigned_integer(x.element) ? whole_range(x.element) : Range{~x.range.most, ~x.range.least};
    const Id id = l.unary(Op::bitwise_not, l.wide(x));
    l.set(l.narrow(
        bits_of(x.element) < 8 && is_unsigned_integer(x.element) ? l.bits_and(id, whole_range(x.element).most) : id,
        x.element, range));
}

/// In 32 bits, nothing but the type's own bits set.
Id own_bits(Lowering& l, const Tensor& x) {
    const Id id = l.wide(x);
    const int bits = bits_of(x.element);
    return is_signed_integer(x.element) && bits < 32 ? l.bits_and(id, (std::int64_t{1} << bits) - 1) : id;
}

Id bit_count(Lowering& l, Id v) {
    const auto sum = [&](Id a, Id b) { return l.binary(Op::add, a, b, DType::i32); };
    v = l.binary(Op::sub, v, l.bits_and(l.shift_right(v, 1), 0x55555555), DType::i32);
    v = sum(l.bits_and(v, 0x33333333), l.bits_and(l.shift_right(v, 2), 0x33333333));
    v = l.bits_and(sum(v, l.shift_right(v, 4)), 0x0f0f0f0f);
    return l.shift_right(l.mul(v, l.splat_int(v, 0x01010101), DType::i32), 24);
}

bool may_have_upper_bits(const Tensor& x) { return bits_of(x.element) == 64 && (x.is_pair() || x.range.least < 0); }

void lower_popcnt(Lowering& l) {
    const Tensor x = l.given(0);
    if (may_have_upper_bits(x)) {
        const Words words = words_of(l, x);
        const Id count = l.binary(Op::add, bit_count(l, words.low), bit_count(l, words.high), DType::i32);
        return l.set(l.ranged(count, x.element, {0, 64}));
    }
    l.set(l.narrow(bit_count(l, own_bits(l, x)), x.element, {0, std::min(bits_of(x.element), 64)}));
}

void lower_leading_zeros(Lowering& l) {
    const Tensor x = l.given(0);
    const int bits = bits_of(x.element);
    if (may_have_upper_bits(x)) {
        const Words words = words_of(l, x);
        const Id low = l.unary(Op::clz, words.low), high = l.unary(Op::clz, words.high);
        const Id all = l.binary(Op::add, low, l.splat_int(low, 32), DType::i32);
        return l.set(l.ranged(l.select(is_equal(l, words.high, l.splat_int(high, 0)), all, high), x.element, {0, 64}));
    }
    const Id zeros = l.unary(Op::clz, own_bits(l, x));
    l.set(l.narrow(l.binary(Op::add, zeros, l.splat_int(zeros, bits - 32), DType::i32), x.element, {0, bits}));
}

/// How the bits of a float lie.
struct FloatForm {
    int exponent, mantissa;  ///< bits of each
    std::int64_t bias() const { return (std::int64_t{1} << (exponent - 1)) - 1; }
    std::int64_t infinity() const { return ((std::int64_t{1} << exponent) - 1) << mantissa; }
    std::int64_t sign() const { return -(std::int64_t{1} << (exponent + mantissa)); }  ///< and all bits above
};

/// Rounded to fewer bits of exponent and mantissa, by the bits of an fp16, or of an fp32 for all others: their numbers
/// below the smallest normal one have fewer bits.
void lower_reduce_precision(Lowering& l) {
    const Tensor x = l.in(0);
    constexpr std::int64_t all = 64;  // more than any float has
    const auto exponent = static_cast<int>(std::min(l.integer("exponent_bits"), all)),
               mantissa = static_cast<int>(std::min(l.integer("mantissa_bits"), all));
    const bool is_half = l.type(x.id) == DType::fp16;
    const FloatForm form = is_half ? FloatForm{5, 10} : FloatForm{8, 23};
    const int own_exponent = x.element == Element::f8e4m3fn ? 4 : x.element == Element::f8e5m2 ? 5 : form.exponent;
    const Id value = is_half ? x.id : l.cast(x.id, DType::fp32);
    const Id bits = is_half ? l.cast(l.bitcast(value, DType::i16), DType::i32) : l.bitcast(value, DType::i32);
    const auto number = [&](std::int64_t v) { return l.splat_int(bits, v); };
    Id magnitude = l.bits_and(bits, ~form.sign());
    const Id sign = l.bits_and(bits, form.sign());
    const Id nan = is_below(l, number(form.infinity()), magnitude);
    if (mantissa < form.mantissa) {
        const int cut = form.mantissa - mantissa;
        const Id odd = l.bits_and(l.shift_right(magnitude, cut), 1);
        const Id half = l.binary(Op::add, odd, number((1 << (cut - 1)) - 1), DType::i32);
        magnitude = l.bits_and(l.binary(Op::add, magnitude, half, DType::i32), -(std::int64_t{1} << cut));
    }
    if (exponent < own_exponent) {
        const std::int64_t most = (std::int64_t{1} << (exponent - 1)) - 1;  // and 1 - most is the least
        const Id over = is_below(l, number(((form.bias() + most + 1) << form.mantissa) - 1), magnitude);
        const Id under = is_below(l, magnitude, number((form.bias() + 1 - most) << form.mantissa));
        magnitude = l.select(over, number(form.infinity()), l.select(under, number(0), magnitude));
    }
    const Id joined = l.binary(Op::bitwise_or, magnitude, sign, DType::i32);
    const Id made = is_half ? l.bitcast(l.cast(joined, DType::i16), DType::fp16) : l.bitcast(joined, DType::fp32);
    l.set(l.narrow(l.select(nan, value, made), x.element));
}

void lower_real_part(Lowering& l) {
    const Tensor x = l.in(0);
    l.set({l.result_type().element, x.id, no_id, {}});
}
void lower_imaginary_part(Lowering& l) {
    const Tensor x = l.in(0);
    const Id id = x.is_complex() ? x.other : l.zeros(l.type(x.id), l.shape(x.id));
    l.set({l.result_type().element, id, no_id, {}});
}

}  // namespace

std::span<const LoweringRow> unary_rows() {
    static constexpr LoweringRow rows[] = {
        {"abs", lower_abs},
        {"cbrt", lower_cbrt},
        {"ceil", lower_ceil},
        {"cosine", lower_cosine},
        {"count_leading_zeros", lower_leading_zeros},
        {"exponential", lower_exponential},
        {"exponential_minus_one", lower_exponential_minus_one},
        {"floor", lower_floor},
        {"imag", lower_imaginary_part},
        {"is_finite", lower_is_finite},
        {"log", lower_log},
        {"log_plus_one", lower_log_plus_one},
        {"logistic", lower_logistic},
        {"negate", lower_negate},
        {"not", lower_not},
        {"popcnt", lower_popcnt},
        {"real", lower_real_part},
        {"reduce_precision", lower_reduce_precision},
        {"round_nearest_afz", lower_round_away},
        {"round_nearest_even", lower_round_even},
        {"rsqrt", lower_rsqrt},
        {"sign", lower_sign},
        {"sine", lower_sine},
        {"sqrt", lower_sqrt},
        {"tan", lower_tan},
        {"tanh", lower_tanh},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

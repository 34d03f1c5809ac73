#include "frontends/stablehlo/functions.hpp"

#include "graph/host_tensor.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Id plus(Lowering& l, Id a, Id b) { return l.binary(Op::add, a, b, l.type(a)); }
Id minus(Lowering& l, Id a, Id b) { return l.binary(Op::sub, a, b, l.type(a)); }
Id over(Lowering& l, Id a, Id b) { return l.binary(Op::divide, a, b, l.type(a)); }
Id both(Lowering& l, Id a, Id b) { return l.binary(Op::logical_and, a, b, DType::boolean); }

/// Magnitude of the first, sign of the second.
Id with_sign_of(Lowering& l, Id magnitude, Id sign) {
    return l.select(sign_bit(l, sign), l.negated(magnitude), magnitude);
}

}  // namespace

Id float_splat(Lowering& l, Id like, double v) {
    if (!std::isnan(v)) return l.splat(like, l.type(like), v);  // which finds its constants by their values
    return l.constant("nan", l.type(like), Shape(l.shape(like).size(), 1), encode_reals(l.type(like), {&v, 1}));
}
Id multiply(Lowering& l, Id a, Id b) { return l.binary(Op::mul, a, b, l.type(a)); }
Id is_below(Lowering& l, Id a, Id b) { return l.binary(Op::greater, b, a, DType::boolean); }
Id is_equal(Lowering& l, Id a, Id b) { return l.binary(Op::equal, a, b, DType::boolean); }
Id is_nan(Lowering& l, Id a) { return l.logical_not(is_equal(l, a, a)); }
Id is_finite(Lowering& l, Id a) { return is_below(l, l.unary(Op::abs, a), float_splat(l, a, infinite)); }
Id sign_bit(Lowering& l, Id a) {
    const Id bits = l.bitcast(a, DType::i32);
    return is_below(l, bits, l.splat_int(bits, 0));
}

Id log1p(Lowering& l, Id x) { return l.unary(Op::log1p, x); }
Id expm1(Lowering& l, Id x) { return l.unary(Op::expm1, x); }
Id cbrt(Lowering& l, Id x) { return l.unary(Op::cbrt, x); }
Id tangent(Lowering& l, Id x) { return over(l, l.unary(Op::sin, x), l.unary(Op::cos, x)); }

/// e^x / 2, which is finite for longer than e^x.
Id half_exponential(Lowering& l, Id x) {
    const Id half = float_splat(l, x, 0.5), root = l.unary(Op::exp, multiply(l, x, half));
    return multiply(l, multiply(l, root, half), root);
}
Id hyperbolic_cosine(Lowering& l, Id x) { return plus(l, half_exponential(l, x), half_exponential(l, l.negated(x))); }
Id hyperbolic_sine(Lowering& l, Id x) {
    const Id large = minus(l, half_exponential(l, x), half_exponential(l, l.negated(x)));
    const Id small = multiply(l, float_splat(l, x, 0.5), minus(l, expm1(l, x), expm1(l, l.negated(x))));
    return l.select(is_below(l, l.unary(Op::abs, x), float_splat(l, x, 1)), small, large);
}

Id atan2(Lowering& l, Id y, Id x) {
    y = l.with_rank_of(y, x), x = l.with_rank_of(x, y);
    return l.binary(Op::atan2, y, x, l.type(y));
}

namespace {

/// A number as the sum of two, of which the second is what the first was rounded by.
struct Two {
    Id high, low;
};

/// Of as many bits that products of two are exact.
Id upper_half(Lowering& l, Id a) { return l.bitcast(l.bits_and(l.bitcast(a, DType::i32), -4096), DType::fp32); }

Two product_in_two(Lowering& l, Id a, Id b) {
    const Id high = multiply(l, a, b);
    const Id a1 = upper_half(l, a), b1 = upper_half(l, b), a2 = minus(l, a, a1), b2 = minus(l, b, b1);
    const Id rest = minus(l, multiply(l, a1, b1), high);
    const Id mixed = plus(l, multiply(l, a1, b2), multiply(l, a2, b1));
    return {high, plus(l, plus(l, rest, mixed), multiply(l, a2, b2))};
}

/// Where |a| >= |b| or a is 0.
Two sum_in_two(Lowering& l, Id a, Id b) {
    const Id high = plus(l, a, b);
    return {high, minus(l, b, minus(l, high, a))};
}

/// The logarithm to base 2 of fp32 above 0 and finite: x = 2^k m with m from sqrt(1/2) to sqrt(2), and
/// log m = 2 atanh s with s = (m - 1) / (m + 1), of which only the first term needs two numbers.
Two log2_in_two(Lowering& l, Id x) {
    const auto number = [&](double v) { return float_splat(l, x, v); };
    const Id tiny = is_below(l, x, number(0x1p-126));
    const Id bits = l.bitcast(l.select(tiny, multiply(l, x, number(0x1p24)), x), DType::i32);
    const Id from_root = l.binary(Op::sub, bits, l.splat_int(bits, 0x3F3504F3), DType::i32);
    const Id k =
        minus(l, l.cast(l.shift_right(from_root, 23, true), DType::fp32), l.select(tiny, number(24), number(0)));
    const Id rest = l.binary(Op::add, l.bits_and(from_root, 0x7FFFFF), l.splat_int(bits, 0x3F3504F3), DType::i32);
    const Id m = l.bitcast(rest, DType::fp32);
    const Id f = minus(l, m, number(1));
    const Two g = sum_in_two(l, number(1), m);  // m - (g - 1) is exact for m above 1, too
    const Id s = over(l, f, g.high);
    const Two back = product_in_two(l, s, g.high);
    const Id missing = minus(l, minus(l, minus(l, f, back.high), back.low), multiply(l, s, g.low));
    const Id s_low = over(l, missing, g.high), q = multiply(l, s, s);
    Id series = number(2.0 / 9);
    for (const double part : {2.0 / 7, 2.0 / 5, 2.0 / 3}) series = plus(l, multiply(l, series, q), number(part));
    const Id tail = plus(l, multiply(l, multiply(l, series, q), s), multiply(l, s_low, number(2)));
    constexpr float log2_e = static_cast<float>(std::numbers::log2e);
    const Two first = product_in_two(l, multiply(l, s, number(2)), number(log2_e));
    const Id low = plus(l, plus(l, first.low, multiply(l, tail, number(log2_e))),
                        multiply(l, multiply(l, s, number(2)), number(std::numbers::log2e - log2_e)));
    const Two sum = sum_in_two(l, k, first.high);
    return {sum.high, plus(l, sum.low, low)};
}

/// x^y of fp32, x above 0 and both finite, to one or two units in the last place: exp magnifies what y log x is
/// rounded by, so that is kept in two numbers.
Id positive_power(Lowering& l, Id x, Id y) {
    const auto number = [&](double v) { return float_splat(l, x, v); };
    const Two log = log2_in_two(l, x);
    Two exponent = product_in_two(l, y, log.high);
    exponent.low = plus(l, exponent.low, multiply(l, y, log.low));
    const Id high = exponent.high, least = number(-200), most = number(200);
    const Id clamped = l.select(is_below(l, high, least), least, l.select(is_below(l, most, high), most, high));
    const Id whole = l.unary(Op::floor, plus(l, clamped, number(0.5)));
    const Id inside = is_equal(l, clamped, high);  // else it is 0 or infinite, and the rest may be anything
    const Id part = l.select(inside, plus(l, minus(l, clamped, whole), exponent.low), number(0));
    Id result = l.unary(Op::exp, multiply(l, part, number(std::numbers::ln2)));
    const Id n = l.cast(whole, DType::i32), half = l.shift_right(n, 1, true);
    for (const Id power : {half, l.binary(Op::sub, n, half, DType::i32)}) {
        const Id biased = l.binary(Op::add, power, l.splat_int(power, 127), DType::i32);
        result = multiply(l, result, l.bitcast(l.shift_left(biased, 23), DType::fp32));
    }
    return result;
}

}  // namespace

// POW takes bases of 0 and above; the sign, and what IEEE 754 says of ends, are added here.
Id power(Lowering& l, Id x, Id y, bool is_exact) {
    x = l.with_rank_of(x, y), y = l.with_rank_of(y, x);
    const Id zero = float_splat(l, x, 0), one = float_splat(l, x, 1), inf = float_splat(l, x, infinite);
    const Id ax = l.unary(Op::abs, x), ay = l.unary(Op::abs, y);
    const Id whole =
        l.binary(Op::logical_or, is_equal(l, l.unary(Op::floor, y), y), is_equal(l, ay, inf), DType::boolean);
    const Id half = multiply(l, y, float_splat(l, y, 0.5));
    const Id odd = both(l, both(l, whole, is_finite(l, y)), l.logical_not(is_equal(l, l.unary(Op::floor, half), half)));
    const Id negative = sign_bit(l, l.cast(x, DType::fp32));
    const Id down = is_below(l, y, zero);  // exponent below 0
    // Ends that POW is not asked about.
    const Id is_end =
        l.binary(Op::logical_or, l.logical_not(is_finite(l, ax)),
                 l.binary(Op::logical_or, is_equal(l, ax, zero), l.logical_not(is_finite(l, y)), DType::boolean),
                 DType::boolean);
    const Id base = l.select(is_end, one, ax), exponent = l.select(is_end, one, y);
    const Id ordinary = is_exact ? positive_power(l, base, exponent) : l.binary(Op::pow, base, exponent, l.type(x));
    // |x| above 1 with an exponent above 0, or below 1 with one below 0, grows.
    const Id grows = l.binary(Op::logical_xor, is_below(l, one, ax), down, DType::boolean);
    const Id end = l.select(is_equal(l, ax, one), one, l.select(grows, inf, zero));
    Id result = l.select(is_end, end, ordinary);
    result = l.select(both(l, negative, odd), l.negated(result), result);
    const Id nan = float_splat(l, x, std::numeric_limits<double>::quiet_NaN());
    const Id real_negative = both(l, both(l, is_below(l, x, zero), is_finite(l, x)), l.logical_not(whole));
    const Id strange = l.binary(Op::logical_or, real_negative,
                                l.binary(Op::logical_or, is_nan(l, x), is_nan(l, y), DType::boolean), DType::boolean);
    result = l.select(strange, nan, result);
    const Id always_one = l.binary(Op::logical_or, is_equal(l, x, one), is_equal(l, y, zero), DType::boolean);
    return l.select(always_one, one, result);
}

Id rounded(Lowering& l, Id x, bool to_even) {
    const Id zero = float_splat(l, x, 0), half = float_splat(l, x, 0.5), one = float_splat(l, x, 1);
    const Id a = l.unary(Op::abs, x), down = l.unary(Op::floor, a), rest = minus(l, a, down);
    Id up = l.binary(Op::greater_equal, rest, half, DType::boolean);
    if (to_even) {
        const Id halved = multiply(l, down, half);
        const Id even = is_equal(l, l.unary(Op::floor, halved), halved);
        up = both(l, up, l.logical_not(both(l, is_equal(l, rest, half), even)));
    }
    const Id magnitude = plus(l, down, l.select(up, one, zero));
    const Id r = l.select(is_finite(l, x), magnitude, a);
    return with_sign_of(l, r, x);
}

Id truncated(Lowering& l, Id x) {
    const Id negative = is_below(l, x, float_splat(l, x, 0));
    return l.select(negative, l.unary(Op::ceil, x), l.unary(Op::floor, x));
}

// ---- complex numbers ----------------------------------------------------------------------------------------------

Complex complex_product(Lowering& l, Complex a, Complex b) {
    return {minus(l, multiply(l, a.re, b.re), multiply(l, a.im, b.im)),
            plus(l, multiply(l, a.re, b.im), multiply(l, a.im, b.re))};
}

/// What C (Annex G) makes of a quotient that is no number in either part: infinite where the divisor is zero or the
/// dividend infinite, zero where the divisor is.
Complex quotient_at_ends(Lowering& l, Complex a, Complex b, Complex made) {
    const Id zero = float_splat(l, a.re, 0), one = float_splat(l, a.re, 1), limit = float_splat(l, a.re, infinite);
    const auto either = [&](Id p, Id q) { return l.binary(Op::logical_or, p, q, DType::boolean); };
    const auto is_infinite = [&](Id v) { return is_equal(l, l.unary(Op::abs, v), limit); };
    const auto direction = [&](Id v) { return with_sign_of(l, l.select(is_infinite(v), one, zero), v); };
    // size (p conj(q))
    const auto scaled = [&](Id size, Complex p, Complex q) {
        return Complex{multiply(l, size, plus(l, multiply(l, p.re, q.re), multiply(l, p.im, q.im))),
                       multiply(l, size, minus(l, multiply(l, p.im, q.re), multiply(l, p.re, q.im)))};
    };
    const Id undefined = both(l, is_nan(l, made.re), is_nan(l, made.im));
    const Id by_zero = both(l, is_equal(l, b.re, zero), is_equal(l, b.im, zero));
    const Id of_infinite =
        both(l, either(is_infinite(a.re), is_infinite(a.im)), both(l, is_finite(l, b.re), is_finite(l, b.im)));
    const Id by_infinite =
        both(l, either(is_infinite(b.re), is_infinite(b.im)), both(l, is_finite(l, a.re), is_finite(l, a.im)));
    const auto choose = [&](Id condition, Complex p) {
        const Id here = both(l, undefined, condition);
        made = {l.select(here, p.re, made.re), l.select(here, p.im, made.im)};
    };
    choose(by_infinite, scaled(zero, a, {direction(b.re), direction(b.im)}));
    choose(of_infinite, scaled(limit, {direction(a.re), direction(a.im)}, b));
    const Id size = with_sign_of(l, limit, b.re);
    choose(by_zero, {multiply(l, size, a.re), multiply(l, size, a.im)});
    return made;
}

// Both are divided by the larger part of the divisor first, so that nothing overflows that need not.
Complex complex_quotient(Lowering& l, Complex a, Complex b) {
    const Id flat = l.binary(Op::greater_equal, l.unary(Op::abs, b.re), l.unary(Op::abs, b.im), DType::boolean);
    const Id large = l.select(flat, b.re, b.im), small = l.select(flat, b.im, b.re);
    const Id r = over(l, small, large), divisor = plus(l, large, multiply(l, small, r));
    const Id first = l.select(flat, a.re, a.im), second = l.select(flat, a.im, a.re);
    const Id re = over(l, plus(l, first, multiply(l, second, r)), divisor);
    const Id difference = over(l, minus(l, second, multiply(l, first, r)), divisor);
    return quotient_at_ends(l, a, b, {re, l.select(flat, difference, l.negated(difference))});
}

Id complex_abs(Lowering& l, Complex a) {
    const Id x = l.unary(Op::abs, a.re), y = l.unary(Op::abs, a.im);
    const Id large = l.binary(Op::maximum, x, y, DType::fp32), small = l.binary(Op::minimum, x, y, DType::fp32);
    const Id one = float_splat(l, large, 1), r = over(l, small, large);
    const Id length = multiply(l, large, l.unary(Op::sqrt, plus(l, one, multiply(l, r, r))));
    const Id ends = l.binary(Op::logical_or, is_equal(l, large, float_splat(l, large, 0)),
                             is_equal(l, large, float_splat(l, large, infinite)), DType::boolean);
    return l.select(ends, large, length);
}

Id times_sine(Lowering& l, Id size, Id angle) {
    const Id none = is_equal(l, angle, float_splat(l, angle, 0));
    return l.select(none, angle, multiply(l, size, l.unary(Op::sin, angle)));
}

Complex complex_exp(Lowering& l, Complex a) {
    // Where e^re is infinite its product with what is small need not be.
    constexpr double part = 64;
    const Id large = is_below(l, float_splat(l, a.re, 80), a.re), one = float_splat(l, a.re, 1);
    const Id e = l.unary(Op::exp, l.select(large, minus(l, a.re, float_splat(l, a.re, part)), a.re));
    const Id rest = l.select(large, float_splat(l, a.re, std::exp(part)), one);
    return {multiply(l, multiply(l, e, l.unary(Op::cos, a.im)), rest), multiply(l, times_sine(l, e, a.im), rest)};
}

Complex complex_log(Lowering& l, Complex a) { return {l.unary(Op::log, complex_abs(l, a)), atan2(l, a.im, a.re)}; }

// Of 0 it is 0 where the exponent is real and positive, and else no number.
Complex complex_power(Lowering& l, Complex a, Complex b) {
    const Complex log = complex_log(l, a), product = complex_product(l, b, log);
    const Id zero = float_splat(l, a.re, 0), one = float_splat(l, a.re, 1);
    const auto is_zero = [&](Complex v) { return both(l, is_equal(l, v.re, zero), is_equal(l, v.im, zero)); };
    // A real exponent's other part is no factor of what may be infinite.
    const Id is_real = is_equal(l, b.im, zero), none = is_zero(a), to_none = is_zero(b);
    const Complex made = complex_exp(l, {l.select(is_real, multiply(l, b.re, log.re), product.re),
                                         l.select(is_real, multiply(l, b.re, log.im), product.im)});
    const Id undefined = float_splat(l, zero, std::numeric_limits<double>::quiet_NaN());
    const Id of_none = l.select(both(l, is_real, is_below(l, zero, b.re)), zero, undefined);
    return {l.select(to_none, one, l.select(none, of_none, made.re)),
            l.select(to_none, zero, l.select(none, of_none, made.im))};
}

// u = sqrt((|re| + |a|) / 2) is the larger part; the other one is im / 2u.
Complex complex_sqrt(Lowering& l, Complex a) {
    const Id x = l.unary(Op::abs, a.re), half = float_splat(l, x, 0.5);
    const Id u = l.unary(Op::sqrt, plus(l, multiply(l, x, half), multiply(l, complex_abs(l, a), half)));
    const Id none = is_equal(l, u, float_splat(l, u, 0));
    const Id other = l.select(none, u, multiply(l, half, over(l, l.unary(Op::abs, a.im), u)));
    const Id left = sign_bit(l, a.re);
    return {l.select(left, other, u), with_sign_of(l, l.select(left, u, other), a.im)};
}

}  // namespace tosavk::stablehlo

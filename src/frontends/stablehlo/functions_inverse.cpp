// Trigonometric and hyperbolic functions and what reverses them. Those of complex numbers are Kahan's ("Branch cuts for
// complex elementary functions", 1987): no difference of what is nearly alike, and a zero's sign says which side of a
// cut is meant.
#include "frontends/stablehlo/functions.hpp"

#include <limits>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

Id added(Lowering& l, Id a, Id b) { return l.binary(Op::add, a, b, DType::fp32); }
Id less(Lowering& l, Id a, Id b) { return l.binary(Op::sub, a, b, DType::fp32); }
Id divided_by(Lowering& l, Id a, Id b) { return l.binary(Op::divide, a, b, DType::fp32); }
Id square_root(Lowering& l, Id x) { return l.unary(Op::sqrt, x); }

/// sqrt((1 - x) (1 + x))
Id other_leg(Lowering& l, Id x) {
    const Id one = float_splat(l, x, 1);
    return square_root(l, multiply(l, less(l, one, x), added(l, one, x)));
}

/// log(x) + log(2) where x is so large that what x^2 differs from x^2 + 1 is lost, and x^2 may be infinite.
Id or_log_of_double(Lowering& l, Id x, Id otherwise) {
    const Id large = is_below(l, float_splat(l, x, 1e9), x);
    return l.select(large, added(l, l.unary(Op::log, x), float_splat(l, x, 0.6931471805599453)), otherwise);
}

Complex times_i(Lowering& l, Complex a) { return {l.negated(a.im), a.re}; }
Complex over_i(Lowering& l, Complex a) { return {a.im, l.negated(a.re)}; }

/// What infinite parts are computed as: their angles are those of large numbers.
Complex without_infinities(Lowering& l, Complex z) {
    const auto part = [&](Id x) {
        const Id limit = float_splat(l, x, std::numeric_limits<double>::infinity()), large = float_splat(l, x, 1e30);
        const Id bounded = l.select(is_equal(l, x, limit), large, x);
        return l.select(is_equal(l, x, l.negated(limit)), l.negated(large), bounded);
    };
    return {part(z.re), part(z.im)};
}

/// A logarithm of z, which is infinite where that is.
Id infinite_where(Lowering& l, Complex z, Id log) {
    const Id limit = float_splat(l, log, std::numeric_limits<double>::infinity());
    const auto is_infinite = [&](Id x) { return is_equal(l, l.unary(Op::abs, x), limit); };
    const Id where = l.binary(Op::logical_or, is_infinite(z.re), is_infinite(z.im), DType::boolean);
    return l.select(where, l.select(sign_bit(l, log), l.negated(limit), limit), log);
}

struct Roots {
    Complex less, more;  ///< sqrt(1 - z) and sqrt(1 + z)
};
Roots roots_around(Lowering& l, Complex z) {
    const Id one = float_splat(l, z.re, 1);
    return {complex_sqrt(l, {less(l, one, z.re), l.negated(z.im)}), complex_sqrt(l, {added(l, one, z.re), z.im})};
}

}  // namespace

Id arc_sine(Lowering& l, Id x) { return atan2(l, x, other_leg(l, x)); }
Id arc_cosine(Lowering& l, Id x) { return atan2(l, other_leg(l, x), x); }
Id arc_tangent(Lowering& l, Id x) { return atan2(l, x, float_splat(l, x, 1)); }

/// Of |x|: log1p(|x| + x^2 / (1 + sqrt(1 + x^2))), with the sign of x.
Id area_sine(Lowering& l, Id x) {
    const Id one = float_splat(l, x, 1), size = l.unary(Op::abs, x), square = multiply(l, size, size);
    const Id root = added(l, one, square_root(l, added(l, one, square)));
    const Id made = or_log_of_double(l, size, log1p(l, added(l, size, divided_by(l, square, root))));
    return l.select(sign_bit(l, x), l.negated(made), made);
}
/// With t = x - 1: log1p(t + sqrt(t) sqrt(t + 2)).
Id area_cosine(Lowering& l, Id x) {
    const Id t = less(l, x, float_splat(l, x, 1));
    const Id roots = multiply(l, square_root(l, t), square_root(l, added(l, t, float_splat(l, x, 2))));
    return or_log_of_double(l, x, log1p(l, added(l, t, roots)));
}
Id area_tangent(Lowering& l, Id x) {
    return multiply(l, float_splat(l, x, 0.5), less(l, log1p(l, x), log1p(l, l.negated(x))));
}

// ---- complex numbers ----------------------------------------------------------------------------------------------

Complex complex_hyperbolic_cosine(Lowering& l, Complex a) {
    return {multiply(l, hyperbolic_cosine(l, a.re), l.unary(Op::cos, a.im)),
            times_sine(l, hyperbolic_sine(l, a.re), a.im)};
}
Complex complex_hyperbolic_sine(Lowering& l, Complex a) {
    return {multiply(l, hyperbolic_sine(l, a.re), l.unary(Op::cos, a.im)),
            times_sine(l, hyperbolic_cosine(l, a.re), a.im)};
}

/// (sinh a cosh a + i sin b cos b) / (sinh^2 a + cos^2 b), whose divisor has no difference in it; where that overflows,
/// 1 of a's sign.
Complex complex_tanh(Lowering& l, Complex a) {
    const Id large = is_below(l, float_splat(l, a.re, 20), l.unary(Op::abs, a.re)), zero = float_splat(l, a.re, 0);
    const Id usable = l.select(large, zero, a.re);
    const Id sinh = hyperbolic_sine(l, usable), sine = l.unary(Op::sin, a.im), cosine = l.unary(Op::cos, a.im);
    const Id divisor = l.binary(Op::add, multiply(l, sinh, sinh), multiply(l, cosine, cosine), DType::fp32);
    const Id re = l.binary(Op::divide, multiply(l, sinh, hyperbolic_cosine(l, usable)), divisor, DType::fp32);
    const Id im = l.binary(Op::divide, multiply(l, sine, cosine), divisor, DType::fp32);
    // Of a real number there is no other part; far out the angle counts for nothing, if it is one.
    const Id is_angle = l.binary(Op::logical_or, is_finite(l, a.im), l.logical_not(is_finite(l, a.re)), DType::boolean);
    const Id far = l.binary(Op::logical_and, large, is_angle, DType::boolean);
    const Id is_real = is_equal(l, a.im, zero);
    return {l.select(far, l.unary(Op::tanh, a.re), re), l.select(is_real, a.im, l.select(far, zero, im))};
}

// -i tanh(i a)
Complex complex_tangent(Lowering& l, Complex a) { return over_i(l, complex_tanh(l, times_i(l, a))); }

Complex complex_arc_sine(Lowering& l, Complex given) {
    const Complex a = without_infinities(l, given);
    const auto [below, above] = roots_around(l, a);
    const Id length = less(l, multiply(l, below.re, above.re), multiply(l, below.im, above.im));
    const Id rest = less(l, multiply(l, below.re, above.im), multiply(l, below.im, above.re));
    return {atan2(l, a.re, length), infinite_where(l, given, area_sine(l, rest))};
}
Complex complex_arc_cosine(Lowering& l, Complex given) {
    const Complex a = without_infinities(l, given);
    const auto [below, above] = roots_around(l, a);
    const Id rest = less(l, multiply(l, above.re, below.im), multiply(l, above.im, below.re));
    return {multiply(l, float_splat(l, a.re, 2), atan2(l, below.re, above.re)),
            infinite_where(l, given, area_sine(l, rest))};
}
Complex complex_area_cosine(Lowering& l, Complex given) {
    const Complex a = without_infinities(l, given);
    const Id one = float_splat(l, a.re, 1);
    const Complex below = complex_sqrt(l, {less(l, a.re, one), a.im});
    const Complex above = complex_sqrt(l, {added(l, a.re, one), a.im});
    const Id length = added(l, multiply(l, below.re, above.re), multiply(l, below.im, above.im));
    return {infinite_where(l, given, area_sine(l, length)),
            multiply(l, float_splat(l, one, 2), atan2(l, below.im, above.re))};
}
Complex complex_area_sine(Lowering& l, Complex a) { return over_i(l, complex_arc_sine(l, times_i(l, a))); }

// Of |x|, with its sign: log1p(4x / ((1 - x)^2 + y^2)) / 4, beside the pole by the logarithms of both, since the
// squares vanish there; and atan2(2y, (1 - x) (1 + x) - y^2) / 2.
Complex complex_area_tangent(Lowering& l, Complex given) {
    const Complex a = without_infinities(l, given);
    const Id one = float_splat(l, a.re, 1), size = l.unary(Op::abs, a.re);
    const Id square = multiply(l, a.im, a.im), rest = less(l, one, size);
    const Id divisor = added(l, multiply(l, rest, rest), square);
    const Id numerator = multiply(l, float_splat(l, one, 4), size);
    const Id root = l.unary(Op::log, complex_abs(l, {rest, a.im}));
    const Id beside = less(l, l.unary(Op::log, numerator), added(l, root, root));
    const Id log =
        l.select(is_below(l, divisor, float_splat(l, one, 1e-20)), beside, log1p(l, divided_by(l, numerator, divisor)));
    const Id far = is_equal(l, divisor, float_splat(l, one, std::numeric_limits<double>::infinity()));
    const Id re = l.select(far, float_splat(l, one, 0), multiply(l, float_splat(l, one, 0.25), log));
    const Id length = less(l, multiply(l, rest, added(l, one, size)), square);
    const Id angle = atan2(l, a.im, multiply(l, float_splat(l, one, 0.5), length));
    return {l.select(sign_bit(l, a.re), l.negated(re), re), multiply(l, float_splat(l, one, 0.5), angle)};
}
Complex complex_arc_tangent(Lowering& l, Complex a) { return over_i(l, complex_area_tangent(l, times_i(l, a))); }

}  // namespace tosavk::stablehlo

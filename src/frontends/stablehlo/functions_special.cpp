// Functions of statistics and their like. The polynomials are Chebyshev fits of our own, made with 40 digits.
#include "frontends/stablehlo/functions.hpp"

#include <array>
#include <limits>
#include <numbers>
#include <span>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// fp32 with operators, since these are formulas.
struct Floats {
    Lowering* l;
    Id id;

    Floats like(double v) const { return {l, float_splat(*l, id, v)}; }
    Floats made(Op op, Floats b) const { return {l, l->binary(op, id, b.id, DType::fp32)}; }
    Floats made(Op op) const { return {l, l->unary(op, id)}; }
    Floats operator+(Floats b) const { return made(Op::add, b); }
    Floats operator-(Floats b) const { return made(Op::sub, b); }
    Floats operator*(Floats b) const { return {l, multiply(*l, id, b.id)}; }
    Floats operator/(Floats b) const { return made(Op::divide, b); }
    Floats operator+(double v) const { return *this + like(v); }
    Floats operator-(double v) const { return *this - like(v); }
    Floats operator*(double v) const { return *this * like(v); }
    Floats operator/(double v) const { return *this / like(v); }
    Floats operator-() const { return {l, l->negated(id)}; }
};
Floats operator-(double v, Floats b) { return b.like(v) - b; }
Floats operator/(double v, Floats b) { return b.like(v) / b; }

struct Flags {
    Lowering* l;
    Id id;

    Flags operator!() const { return {l, l->logical_not(id)}; }
    Flags operator&&(Flags b) const { return {l, l->binary(Op::logical_and, id, b.id, DType::boolean)}; }
    Floats choose(Floats a, Floats b) const { return {l, l->select(id, a.id, b.id)}; }
    Floats choose(double a, Floats b) const { return choose(b.like(a), b); }
};
Flags operator<(Floats a, Floats b) { return {a.l, is_below(*a.l, a.id, b.id)}; }
Flags operator<(Floats a, double v) { return a < a.like(v); }
Flags operator<(double v, Floats b) { return b.like(v) < b; }
Flags operator==(Floats a, Floats b) { return {a.l, is_equal(*a.l, a.id, b.id)}; }
Flags operator==(Floats a, double v) { return a == a.like(v); }

Floats floor_of(Floats x) { return x.made(Op::floor); }
Floats abs_of(Floats x) { return x.made(Op::abs); }
Floats exp_of(Floats x) { return x.made(Op::exp); }
Floats power_of(Floats x, Floats y) { return {x.l, power(*x.l, x.id, y.id, /*is_exact=*/true)}; }
Flags is_whole(Floats x) { return floor_of(x) == x; }
Flags is_even(Floats x) { return is_whole(x * 0.5); }

/// The constant first.
Floats polynomial(Floats x, std::span<const double> coefficients) {
    Floats sum = x.like(coefficients.back());
    for (std::size_t k = coefficients.size() - 1; k-- > 0;) sum = sum * x + coefficients[k];
    return sum;
}

/// What two numbers make, of which either is in fp32's range for longer than their product.
struct Factors {
    Floats left, right;
    Floats product() const { return left * right; }
};

/// x and q above 0, by Euler and Maclaurin with all terms as parts of the first one: q^-x is all that is computed to
/// more than the bound of EXP, since what that is off by in the others is small beside the sum.
Factors zeta_of_positive(Floats x, Floats q) {
    constexpr int terms = 8;
    constexpr double corrections[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240};  // of the Bernoulli numbers, B / (2k)!
    const Floats inverse = 1 / q, minus_x = -x;
    const auto part = [&](int k) {  // ((q + k) / q)^-x
        const Floats step = inverse * k;
        return exp_of(minus_x * Floats{x.l, log1p(*x.l, step.id)});
    };
    Floats sum = x.like(1);
    for (int k = 1; k < terms; ++k) sum = sum + part(k);
    const Floats end = q + terms, inverse_end = 1 / end;
    const Floats bounded = (x < 1e6).choose(x, x.like(1e6));  // beyond it the part is 0, and its factor may be infinite
    Floats factor = bounded * inverse_end, rest = end / (x - 1) + 0.5;
    for (int k = 0; k < 3; ++k) {
        rest = rest + factor * corrections[k];
        if (k < 2) factor = factor * ((bounded + (2 * k + 1)) * inverse_end) * ((bounded + (2 * k + 2)) * inverse_end);
    }
    sum = sum + part(terms) * rest;
    const Floats half = power_of(q, (1 - x) * 0.5);
    return {half, half * (sum * inverse)};
}

/// Hurwitz's: the sum of (q + k)^-x over k from 0 on. What it is at its ends is what XLA has there.
Factors hurwitz(Floats x, Floats q) {
    const Flags above = 0 < q;
    // Below 0, x whole: the terms on either side of 0, then those above and those below. Each side is computed as the
    // other is, since at -3/2 and so on all that they have in common goes.
    const Floats r = q - floor_of(q), s = q.made(Op::ceil) - q;
    const Factors first = zeta_of_positive(x, above.choose(q, r + 1));
    const Flags even = is_even(x);
    const auto beside = [&](Floats a, Floats b) { return a + even.choose(b, -b); };
    const Floats near = beside(power_of(r, -x), power_of(s, -x));
    const Floats far = beside(first.product(), zeta_of_positive(x, s + 1).product());
    const Floats below = beside(near + far, -zeta_of_positive(x, 1 - q).product());
    const Floats nan = x.like(no_number);
    const Floats at_pole = even.choose(no_limit, nan);
    Floats made = above.choose(first.right, is_whole(x).choose(below, nan));
    made = (1 < x).choose(made, nan);
    made = (!above && is_whole(q)).choose(at_pole, made);
    return {above.choose(first.left, x.like(1)), (x == 1).choose(no_limit, made)};
}

/// n!, n whole and not below 0: a product up to 12, else by Stirling.
Factors factorial(Floats n) {
    Floats product = n.like(1);
    for (int k = 0; k < 11; ++k) {
        const Floats factor = n - k;
        product = product * (1 < factor).choose(factor, factor.like(1));
    }
    const Floats half = power_of(n, n * 0.5), inverse = 1 / n;
    const Floats series = polynomial(inverse, std::array{1.0, 1.0 / 12, 1.0 / 288, -139.0 / 51840});
    const Floats root = (n * (2 * std::numbers::pi)).made(Op::sqrt);
    const Flags large = 12.5 < n;
    return {large.choose(half * exp_of(-n) * (root * series), product), large.choose(half, n.like(1))};
}

}  // namespace

Id digamma(Lowering& l, Id x) {
    const Floats at{&l, x};
    return (at == 0).choose(-no_limit, at.made(Op::digamma)).id;
}

// From 1/2 on e^-x^2 P / (1 + 2x), where x^2 is made of parts of which the first one is exact.
Id erfc(Lowering& l, Id id) {
    const Floats given{&l, id}, x = (11 < given).choose(11, given);  // where it is 0
    constexpr std::array fit = {1.26240213,     0.0814233344,  -0.0327522827,   -0.04446391,   -0.0248543086,
                                -0.00866190998, -0.0017415483, -3.40498727e-05, 6.31981036e-05};
    const Floats p = polynomial((28.0 / 3) / (x + 3) - 5.0 / 3, fit);
    const Floats head = floor_of(x * 32) * (1.0 / 32), tail = x - head;
    const Floats power = exp_of(-(head * head)) * exp_of(-(tail * (x + head)));
    const Floats large = power * (p / (x * 2 + 1));
    return (x < 0.5).choose(1 - x.made(Op::erf), large).id;
}

Id bessel_i1e(Lowering& l, Id id) {
    const Floats x{&l, id}, size = abs_of(x);
    constexpr std::array near = {0.0446877102,    -0.0611243393,  0.0680575434,  -0.0684825332,  0.0637688955,
                                 -0.0552813128,   0.0446594371,   -0.0336612829, 0.023762642,    -0.015614301,
                                 0.00936740036,   -0.00542742132, 0.00336142037, -0.00169859431, 0.000411442194,
                                 -0.000202626589, 0.000307414217, -0.0001236828};
    constexpr std::array far = {0.389398455,     -0.00974958137,  -0.000219168089,
                                -1.50039655e-05, -2.00978899e-06, -4.21035024e-07};
    const Flags is_near = size < 8;
    const Floats usable = is_near.choose(size, size.like(8));
    const Floats small = x * polynomial(usable * 0.25 - 1, near);
    const Floats large = polynomial(16 / size - 1, far) * size.made(Op::rsqrt);
    const Flags negative{&l, sign_bit(l, id)};
    return is_near.choose(small, negative.choose(-large, large)).id;
}

Id zeta(Lowering& l, Id x, Id q) {
    x = l.with_rank_of(x, q), q = l.with_rank_of(q, x);
    return hurwitz({&l, x}, {&l, q}).product().id;
}

// (-1)^(n + 1) n! zeta(n + 1, x)
Id polygamma(Lowering& l, Id order, Id id) {
    order = l.with_rank_of(order, id), id = l.with_rank_of(id, order);
    const Floats n{&l, order}, x{&l, id};
    const Factors sum = hurwitz(n + 1, x), times = factorial(n);
    const Floats size = (times.left * sum.left) * (times.right * sum.right);
    const Floats made = is_even(n).choose(-size, size);
    const Floats of_order = (is_whole(n) && (0 < n)).choose(made, n.like(no_number));
    return (n == 0).choose(Floats{&l, digamma(l, id)}, of_order).id;
}

}  // namespace tosavk::stablehlo

// Functions of floats that TOSA lacks: EXPM1, LOG1P, CBRT, ERF_INV, LGAMMA, DIGAMMA, ATAN2 (docs/operators.md). What
// the shaders do stands in shaders/lib/functions.glsl.
#include "ops/pointwise.hpp"
#include "ops/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tosavk {

namespace {

using namespace pointwise;

constexpr const char* functions_library = "lib/functions.glsl";
constexpr double pi = std::numbers::pi, infinite = std::numeric_limits<double>::infinity();

std::vector<TypeRow> float_rows() { return own_rows({DType::fp16, DType::bf16, DType::fp32}); }

/// So many units of fp32 in the last place of `size`, which is at least that of the result; half a unit more of a
/// type that the result of fp32 is then rounded to.
double units(DType type, double r, double size, double count) {
    const double of_fp32 = count * ulp(DType::fp32, std::max(std::fabs(r), size));
    return type == DType::fp32 ? of_fp32 : of_fp32 + 0.5 * ulp(type, r);
}

template <int count> Tolerance units_of_result(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double) { return units(type, r, 0, count); });
}
template <int count> Tolerance units_of_angle(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double, double) { return units(type, r, 0, count); });
}

// ---- ERF_INV ------------------------------------------------------------------------------------------------------

/// Newton's method from a guess that is within 0.005 (Winitzki, "A handy approximation for the error function and its
/// inverse", 2008), on erfc, which keeps its digits near 1.
double erf_inv(double x) {
    const double a = std::fabs(x);
    if (!(a < 1)) return a == 1 ? std::copysign(infinite, x) : std::numeric_limits<double>::quiet_NaN();
    constexpr double share = 0.147;
    const double log = std::log1p(-a * a), half = 2 / (pi * share) + log / 2;
    double y = std::sqrt(std::sqrt(half * half - log / share) - half);
    for (int step = 0; step < 4; ++step) {
        const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
        const double slope = 2 / std::sqrt(pi) * std::exp(-y * y), shift = error / slope;
        y -= shift / (1 + y * shift);
    }
    return a == 0 ? x : std::copysign(y, x);
}

// ---- LGAMMA, DIGAMMA ----------------------------------------------------------------------------------------------

/// The distance from the nearest integer, below 0 where that is larger.
double from_integer(double x) { return x - std::round(x); }

double log_gamma(double x) {
    if (std::isinf(x) || (x <= 0 && from_integer(x) == 0)) return infinite;
    int sign = 0;  // std::lgamma() writes it to a variable of the process
    return ::lgamma_r(x, &sign);
}

/// The larger term of log(pi / abs(sin(pi x))) - lgamma(1 - x), by which LGAMMA goes below 1/2.
double log_gamma_term(double x) {
    if (!(x < 0.5)) return 0;
    return std::max(std::fabs(std::log(pi / std::fabs(std::sin(pi * from_integer(x))))), std::fabs(log_gamma(1 - x)));
}

/// Of x above 0.
double positive_digamma(double x) {
    double sum = 0;
    for (; x < 20; x += 1) sum -= 1 / x;
    const double z = 1 / (x * x);
    // Bernoulli's numbers by 2 k.
    const double series = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
    return sum + std::log(x) - 0.5 / x - series;
}

double pi_cotangent(double x) {
    const double f = from_integer(x);
    return std::fabs(f) == 0.5 ? 0 : pi / std::tan(pi * f);
}

double digamma(double x) {
    if (std::isnan(x) || (x <= 0 && from_integer(x) == 0) || x == -infinite)
        return std::numeric_limits<double>::quiet_NaN();
    if (x == infinite) return x;
    return x > 0 ? positive_digamma(x) : positive_digamma(1 - x) - pi_cotangent(x);
}

/// The largest of the terms that DIGAMMA adds up.
double digamma_term(double x) {
    if (x > 0) return x < 1 ? 1 / x : 0;
    return std::max(std::fabs(pi_cotangent(x)), std::fabs(positive_digamma(1 - x)));
}

Tolerance lgamma_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double x) { return units(type, r, log_gamma_term(x), 6); });
}
Tolerance digamma_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double x) { return units(type, r, digamma_term(x), 8); });
}

// ---- definitions --------------------------------------------------------------------------------------------------

OpDef function(int operations, OpDef def, const char* accuracy) {
    def.operations = operations;
    def.library = functions_library;
    def.accuracy = accuracy;
    return def;
}

}  // namespace

std::vector<OpDef> own_function_ops() {
    std::vector<OpDef> ops;
    ops.push_back(
        function(20,
                 unary(
                     Op::expm1, float_rows(), [](ExprContext& c) { return call(c, "own_expm1"); },
                     [](RefContext& c) { map_reals(c, [](double x) { return std::expm1(x); }); }, units_of_result<2>),
                 "2 ulp of fp32, then rounded"));
    ops.push_back(
        function(30,
                 unary(
                     Op::log1p, float_rows(), [](ExprContext& c) { return call(c, "own_log1p"); },
                     [](RefContext& c) { map_reals(c, [](double x) { return std::log1p(x); }); }, units_of_result<2>),
                 "2 ulp of fp32, then rounded"));
    ops.push_back(
        function(40,
                 unary(
                     Op::cbrt, float_rows(), [](ExprContext& c) { return call(c, "own_cbrt"); },
                     [](RefContext& c) { map_reals(c, [](double x) { return std::cbrt(x); }); }, units_of_result<1>),
                 "1 ulp of fp32, then rounded"));
    ops.push_back(function(80,
                           unary(
                               Op::erf_inv, float_rows(), [](ExprContext& c) { return call(c, "own_erf_inv"); },
                               [](RefContext& c) { map_reals(c, erf_inv); }, units_of_result<3>),
                           "3 ulp of fp32, then rounded"));
    ops.push_back(function(150,
                           unary(
                               Op::lgamma, float_rows(), [](ExprContext& c) { return call(c, "own_lgamma"); },
                               [](RefContext& c) { map_reals(c, log_gamma); }, lgamma_tolerance),
                           "6 ulp of fp32 of its largest term, then rounded"));
    ops.push_back(function(170,
                           unary(
                               Op::digamma, float_rows(), [](ExprContext& c) { return call(c, "own_digamma"); },
                               [](RefContext& c) { map_reals(c, digamma); }, digamma_tolerance),
                           "8 ulp of fp32 of its largest term, then rounded"));
    ops.push_back(function(80,
                           binary(
                               Op::atan2, float_rows(), [](ExprContext& c) { return call2(c, "own_atan2"); },
                               [](RefContext& c) { map_reals(c, [](double y, double x) { return std::atan2(y, x); }); },
                               units_of_angle<3>),
                           "3 ulp of fp32, then rounded"));
    return ops;
}

}  // namespace tosavk

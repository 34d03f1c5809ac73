// The unary functions of shaders/lib/math.glsl with their fp64 references and TOSA 1.0's fp32 error bounds.
#pragma once

#include "base/numerics/shader_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tosavk::math_bounds {

inline constexpr double nmin = 0x1p-126, nmax = 0x1.fffffep127, epsilon = 0x1p-23;

inline double ulp(double r) {
    const double magnitude = std::fabs(r);
    if (magnitude == 0 || !std::isfinite(r)) return 0;
    if (magnitude < nmin) return nmin * epsilon;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) & 0x7ff0000000000000u) * epsilon;
}

/// The specification's A(mag, v, low, 1) for fp32.
inline double absolute_bound(double mag, double v, double low) {
    if (!std::isfinite(v) && mag == 0) return 0;
    return epsilon * std::fmax(std::fmax(std::fabs(mag), nmin), low > 0 ? low / v : 0) * v;
}

struct Function {
    const char* name;
    float (*mirror)(float);
    double (*reference)(double);
    double (*bound)(double x, double r);
    double share;  ///< the largest part of the bound that an error may take
    double ulps;   ///< and the largest error in units of the last place; infinity: only the bound counts
};

inline constexpr double no_limit = std::numeric_limits<double>::infinity();

// clang-format off
inline const Function functions[] = {
    {"exp", shader_math::exp, [](double x) { return std::exp(x); },
     [](double x, double r) { return absolute_bound(r, 3 + 2 * std::fabs(x), 0); }, 0.2, 1.0},
    {"log", shader_math::log, [](double x) { return std::log(x); },
     [](double, double r) { return absolute_bound(r, 5, 0.5); }, 0.2, 1.0},
    {"tanh", shader_math::tanh, [](double x) { return std::tanh(x); },
     [](double x, double r) { return absolute_bound(r, 4 * (3 + 2 * std::fabs(x)), 0.5); }, 0.11, 2.5},
    {"sigmoid", shader_math::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); },
     [](double x, double r) { return absolute_bound(r, 2 * (1 + std::fabs(x)), 0); }, 0.75, 64},
    {"erf", shader_math::erf, [](double x) { return std::erf(x); },
     [](double, double r) { return 5 * ulp(r); }, 0.4, 2.0},
    {"sin", shader_math::sin, [](double x) { return std::sin(x); },
     [](double x, double) { return std::fmax(0x1p-10 * std::fmax(std::fabs(x), nmin), 3.141592653589793 * nmin); },
     0.5, no_limit},
    {"cos", shader_math::cos, [](double x) { return std::cos(x); },
     [](double x, double) { return 0x1p-11 * (1 + std::fabs(x)); }, 0.5, no_limit},
    {"reciprocal", shader_math::reciprocal, [](double x) { return 1 / x; },
     [](double, double r) { return ulp(r); }, 0.75, 0.75},  // 0.5 where the result is normal; denormals round twice
    {"rsqrt", shader_math::rsqrt, [](double x) { return x == 0 ? 1 / x : 1 / std::sqrt(x); },
     [](double, double r) { return 2 * ulp(r); }, 0.3, 0.6},
};
// clang-format on

/// POW's bound, x > 0 and r = x^y.
inline double pow_bound(double x, double y, double r) {
    const double t = y * std::log(x);
    const double m = absolute_bound(t, 5.5, std::fabs(0.55 * y));
    return r * std::expm1(m) + absolute_bound(r, 3 + 2 * std::fabs(t + m), 0);
}

/// Of one comparison: the error as a part of the bound and in ulps (0 where only the kind of result is checked).
struct Error {
    double share = 0, ulps = 0;
};

/// TOSA's CHECK; a result that fails it has an infinite share.
inline Error compare(double test, double r, double bound) {
    const Error wrong{no_limit, no_limit};
    if (std::isnan(r)) return std::isnan(test) ? Error{} : wrong;
    if (!std::isfinite(bound)) return {};
    if (std::isnan(test)) return wrong;
    if (r < 0) r = -r, test = -test;
    const double inf = no_limit;
    const double hi = r + bound > nmax ? inf : r + bound, lo = r - bound > nmax ? inf : r - bound;
    if (test == 0 && lo < nmin) return {};
    if (!(lo <= test && test <= hi)) return wrong;
    if (!std::isfinite(test) || !std::isfinite(r) || bound == 0) return {};
    const double distance = std::fabs(test - r), unit = ulp(r);
    return {distance / bound, unit > 0 ? distance / unit : 0};
}

}  // namespace tosavk::math_bounds

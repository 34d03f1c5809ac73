// Roots of unity.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

namespace tosavk {

/// exp(2 pi i k / m), k >= 0. Quarters of a turn are exact: a sine of the double next to pi is no zero, and times the
/// largest floats it is more than most results.
inline std::complex<double> root_of_unity(std::int64_t k, std::int64_t m) {
    k %= m;
    const std::int64_t quarters = 4 * k / m, rest = 4 * k - quarters * m;  // rest / m of a quarter more
    const auto angle = [&](std::int64_t part) {
        return std::numbers::pi / 2 * static_cast<double>(part) / static_cast<double>(m);
    };
    const bool near_0 = 2 * rest <= m;
    const double c = near_0 ? std::cos(angle(rest)) : std::sin(angle(m - rest));
    const double s = near_0 ? std::sin(angle(rest)) : std::cos(angle(m - rest));
    switch (quarters) {
        case 0: return {c, s};
        case 1: return {-s, c};
        case 2: return {-c, -s};
        default: return {s, -c};
    }
}

}  // namespace tosavk

// fp16, bf16 and the two fp8 formats from one description each: sign, exponent, fraction.
#include "base/numerics/small_floats.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

int bias_of(const FloatFormat& f) { return (1 << (f.exponent_bits - 1)) - 1; }

}  // namespace

double small_float_to_double(std::uint32_t bits, const FloatFormat& f) {
    const std::uint32_t fraction_mask = (1u << f.fraction_bits) - 1;
    const std::uint32_t exponent_mask = (1u << f.exponent_bits) - 1;
    const std::uint32_t fraction = bits & fraction_mask;
    const std::uint32_t exponent = (bits >> f.fraction_bits) & exponent_mask;
    const bool negative = (bits >> (f.fraction_bits + f.exponent_bits)) & 1u;

    double magnitude;
    if (exponent == exponent_mask && (f.has_infinity || fraction == fraction_mask)) {
        magnitude = f.has_infinity && fraction == 0 ? std::numeric_limits<double>::infinity()
                                                    : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
        magnitude = std::ldexp(static_cast<double>(fraction), 1 - bias_of(f) - f.fraction_bits);
    } else {
        magnitude = std::ldexp(static_cast<double>(fraction + fraction_mask + 1),
                               static_cast<int>(exponent) - bias_of(f) - f.fraction_bits);
    }
    return std::copysign(magnitude, negative ? -1.0 : 1.0);
}

std::uint32_t small_float_from_double(double value, const FloatFormat& f) {
    const std::uint64_t wide = std::bit_cast<std::uint64_t>(value);
    const std::uint32_t sign = static_cast<std::uint32_t>(wide >> 63) << (f.fraction_bits + f.exponent_bits);
    const std::uint32_t exponent_mask = (1u << f.exponent_bits) - 1;
    const std::uint32_t infinity = exponent_mask << f.fraction_bits;
    const std::uint32_t nan =
        f.has_infinity ? infinity | (1u << (f.fraction_bits - 1)) : infinity | ((1u << f.fraction_bits) - 1);
    const std::uint32_t overflow = f.has_infinity ? infinity : nan;

    const int wide_exponent = static_cast<int>((wide >> 52) & 0x7ff);
    const std::uint64_t wide_fraction = wide & ((std::uint64_t{1} << 52) - 1);
    if (wide_exponent == 0x7ff) return sign | (wide_fraction != 0 ? nan : overflow);
    if (wide_exponent == 0) return sign;  // zero; a subnormal double is below half of every format's smallest number

    // The significand has 53 bits; keep 1 + fraction_bits of them, fewer when the result is subnormal.
    const std::uint64_t significand = wide_fraction | (std::uint64_t{1} << 52);
    const int exponent = wide_exponent - 1023 + bias_of(f);  // biased exponent of a normal result
    int drop = 52 - f.fraction_bits;
    if (exponent < 1) drop += 1 - exponent;
    if (drop > 54) return sign;
    std::uint64_t kept = significand >> drop;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << drop) - 1);
    const std::uint64_t half = std::uint64_t{1} << (drop - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept;

    // `kept` holds the hidden bit: adding it to the exponent field carries rounding into the exponent.
    const std::int64_t field = exponent < 1 ? 0 : exponent - 1;
    const std::uint64_t bits = (static_cast<std::uint64_t>(field) << f.fraction_bits) + kept;
    if (bits >= (f.has_infinity ? infinity : nan)) return sign | overflow;
    return sign | static_cast<std::uint32_t>(bits);
}

}  // namespace tosavk

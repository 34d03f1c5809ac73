// Conversion between double and the narrow floating-point formats, by integer work on bit patterns.
#pragma once

#include <cstdint>

namespace tosavk {

struct FloatFormat {
    int exponent_bits, fraction_bits;
    bool has_infinity;  ///< false (fp8e4m3): all-ones is the only NaN, the rest of the top exponent are numbers
};

inline constexpr FloatFormat format_fp16{5, 10, true};
inline constexpr FloatFormat format_bf16{8, 7, true};
inline constexpr FloatFormat format_fp8e4m3{4, 3, false};
inline constexpr FloatFormat format_fp8e5m2{5, 2, true};

/// The value of a bit pattern, exactly; subnormals included.
double small_float_to_double(std::uint32_t bits, const FloatFormat& format);

/// Round to nearest, ties to even; subnormals are produced. Values that round past the largest finite number become
/// infinity, or NaN where the format has none. NaN becomes a quiet NaN of the same sign.
std::uint32_t small_float_from_double(double value, const FloatFormat& format);

}  // namespace tosavk

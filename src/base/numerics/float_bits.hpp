// What the host's forms of the shaders' functions share: fp32 numbers as their bits, unsigned where GLSL's integers
// wrap around.
#pragma once

#include <bit>
#include <cstdint>

namespace tosavk::shader_math::float_bits {

using I = std::int32_t;
using U = std::uint32_t;

inline constexpr U inf_bits = 0x7f800000, nan_bits = 0x7fc00000, sign_bit = 0x80000000, abs_mask = 0x7fffffff;
inline constexpr U min_normal = 0x00800000, one_bits = 0x3f800000;

inline U bits_of(float x) { return std::bit_cast<U>(x); }
inline float from_bits(U b) { return std::bit_cast<float>(b); }
inline bool nan(float x) { return (bits_of(x) & abs_mask) > inf_bits; }

/// x = n ln 2 + r: e^r - 1, and n + bias in the low bits of k.
float expm1_part(float x, float bias, U& k);
/// log(2^n (1 + f)), 1 + f from sqrt(1/2) to sqrt(2).
float log_part(float f, float n);

}  // namespace tosavk::shader_math::float_bits

// The specification's shared integer functions: scaling with a multiplier and a shift, the reciprocal for averages,
// table interpolation, and the 48-bit range. shaders/lib/scale.glsl computes the same bits.
#pragma once

#include <cstdint>
#include <span>

namespace tosavk {

/// apply_scale_32: floor((v * m + R) / 2^s), low 32 bits; R = 2^(s-1), and with `double_round` and s > 31 another
/// 2^30 by the sign of v. Defined by the specification for m >= 0, 2 <= s <= 62 and -2^(s-1) <= v < 2^(s-1); every
/// other argument gives some number.
std::int32_t scale32(std::int32_t v, std::int32_t m, int s, bool double_round);

/// apply_scale_16: the same with a value of 48 bits and a multiplier of 16 bits, single rounding.
std::int32_t scale16(std::int64_t v, std::int16_t m, int s);

/// MUL of i32: low 32 bits of a * b for s == 0, else of (a * b + 2^(s-1)) >> s in 64 bits; s in 0..63.
std::int32_t mul_shift(std::int32_t a, std::int32_t b, int s);

struct Reciprocal {
    std::int32_t multiplier;
    int shift;
};
/// Multiplier and shift with which scale32 divides by n >= 1.
Reciprocal reciprocal(std::uint32_t n);

/// lookup16: TABLE for i16; `table` has 513 entries, the result 7 fraction bits.
std::int32_t lookup16(std::span<const std::int64_t> table, std::int64_t x);

inline constexpr std::int64_t int48_min = -(std::int64_t{1} << 47);
inline constexpr std::int64_t int48_max = (std::int64_t{1} << 47) - 1;
constexpr bool fits_int48(std::int64_t v) { return v >= int48_min && v <= int48_max; }
/// The low 48 bits, sign-extended.
constexpr std::int64_t wrap_int48(std::int64_t v) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(v) << 16) >> 16;
}

/// floor(p / 2^s) rounded half up, for 1 <= s <= 63, without overflow.
constexpr std::int64_t shift_round_half_up(std::int64_t p, int s) { return (p >> s) + ((p >> (s - 1)) & 1); }

}  // namespace tosavk

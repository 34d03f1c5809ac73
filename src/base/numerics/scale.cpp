#include "base/numerics/scale.hpp"

#include <algorithm>
#include <bit>

namespace tosavk {

namespace {

// |v * m| < 2^63 for every pair of operands that the callers pass (32 x 32 and 48 x 16 bits). Adding 2^30 cannot
// overflow either: it happens for s > 31 only in apply_scale_32, whose products stay within 2^62.
std::int64_t scaled(std::int64_t v, std::int64_t m, int s, bool double_round) {
    const int shift = std::clamp(s, 1, 63);
    std::int64_t product = v * m;
    if (double_round && shift > 31) product += v >= 0 ? std::int64_t{1} << 30 : -(std::int64_t{1} << 30);
    return shift_round_half_up(product, shift);
}

}  // namespace

std::int32_t scale32(std::int32_t v, std::int32_t m, int s, bool double_round) {
    return static_cast<std::int32_t>(scaled(v, m, s, double_round));
}

std::int32_t scale16(std::int64_t v, std::int16_t m, int s) {
    return static_cast<std::int32_t>(scaled(v, m, s, false));
}

std::int32_t mul_shift(std::int32_t a, std::int32_t b, int s) {
    const std::int64_t product = std::int64_t{a} * b;
    return static_cast<std::int32_t>(s <= 0 ? product : shift_round_half_up(product, std::min(s, 63)));
}

Reciprocal reciprocal(std::uint32_t n) {
    const int k = 32 - std::countl_zero(n - 1);
    const std::uint64_t numerator = ((std::uint64_t{1} << 30) + 1) << k;
    return {static_cast<std::int32_t>(numerator / n), 30 + k};
}

std::int32_t lookup16(std::span<const std::int64_t> table, std::int64_t x) {
    const std::int64_t clipped = std::clamp<std::int64_t>(x, -32768, 32767);
    const auto index = static_cast<std::size_t>((clipped + 32768) >> 7);
    const std::int64_t fraction = clipped & 127;
    const std::int64_t base = table[index];
    return static_cast<std::int32_t>((base << 7) + (table[index + 1] - base) * fraction);
}

}  // namespace tosavk

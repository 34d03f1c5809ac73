// Exact integers and small floats: against wider arithmetic, against the compiler's own types, and exhaustively.
#include "base/numerics/scale.hpp"
#include "base/numerics/small_floats.hpp"
#include "graph/host_tensor.hpp"
#include "ops/tolerance.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace tosavk;

namespace {

// floor((v * m + R) / 2^s), low 32 bits, word for word in 128 bits.
std::int32_t wide_scale(std::int64_t v, std::int64_t m, int s, bool double_round) {
    __int128 r = static_cast<__int128>(1) << (s - 1);
    if (double_round && s > 31) r += v >= 0 ? (1 << 30) : -(1 << 30);
    return static_cast<std::int32_t>((static_cast<__int128>(v) * m + r) >> s);
}

double from_bits(std::uint32_t bits, const FloatFormat& f) { return small_float_to_double(bits, f); }

// Every bit pattern survives decode and encode; NaN stays NaN.
void round_trip(const FloatFormat& f, const char* name) {
    const std::uint32_t count = 1u << (1 + f.exponent_bits + f.fraction_bits);
    for (std::uint32_t bits = 0; bits < count; ++bits) {
        const double value = from_bits(bits, f);
        const std::uint32_t again = small_float_from_double(value, f);
        if (std::isnan(value)) ASSERT_TRUE(std::isnan(from_bits(again, f))) << name << " " << bits;
        else ASSERT_EQ(again, bits) << name;
    }
}

// Between two neighbours the nearer one is chosen, the even one in the middle; one double beside the middle decides.
void rounds_to_nearest_even(const FloatFormat& f, const char* name) {
    const std::uint32_t top = (1u << (f.exponent_bits + f.fraction_bits)) - 1;
    for (std::uint32_t bits = 0; bits < top; ++bits) {
        const double a = from_bits(bits, f), b = from_bits(bits + 1, f);
        if (!std::isfinite(a) || !std::isfinite(b)) break;
        const double middle = (a + b) / 2;
        ASSERT_EQ(small_float_from_double(middle, f), bits + (bits & 1)) << name << " " << bits;
        ASSERT_EQ(small_float_from_double(std::nextafter(middle, 0.0), f), bits) << name << " " << bits;
        ASSERT_EQ(small_float_from_double(std::nextafter(middle, 1e300), f), bits + 1) << name << " " << bits;
    }
}

}  // namespace

TEST(Scale, MatchesWideArithmetic) {
    const std::uint64_t seed = 20;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 400000; ++i) {
        const int s = 2 + static_cast<int>(random() % 61);
        const auto m = static_cast<std::int32_t>(random() & 0x7fffffff) >> (random() % 31);
        auto v = static_cast<std::int64_t>(static_cast<std::int32_t>(random())) >> (random() % 32);
        const std::int64_t limit = std::int64_t{1} << (s - 1);
        v = std::clamp(v, -limit, limit - 1);
        const auto v32 = static_cast<std::int32_t>(v);
        ASSERT_EQ(scale32(v32, m, s, false), wide_scale(v, m, s, false))
            << "seed " << seed << ": " << v << " " << m << " " << s;
        ASSERT_EQ(scale32(v32, m, s, true), wide_scale(v, m, s, true))
            << "seed " << seed << ": " << v << " " << m << " " << s;
    }
}

TEST(Scale, EdgesMatchWideArithmetic) {
    const std::int64_t values[] = {-2147483648LL, -2147483647LL, -1073741825, -2, -1, 0, 1, 2,
                                   1073741823,    2147483646,    2147483647};
    const std::int32_t multipliers[] = {0, 1, 2, 1073741823, 1073741824, 1073741825, 2147483646, 2147483647};
    for (int s = 2; s <= 62; ++s) {
        for (const std::int64_t v : values) {
            if (v < -(std::int64_t{1} << (s - 1)) || v >= (std::int64_t{1} << (s - 1))) continue;
            for (const std::int32_t m : multipliers) {
                const auto v32 = static_cast<std::int32_t>(v);
                ASSERT_EQ(scale32(v32, m, s, false), wide_scale(v, m, s, false)) << v << " " << m << " " << s;
                ASSERT_EQ(scale32(v32, m, s, true), wide_scale(v, m, s, true)) << v << " " << m << " " << s;
            }
        }
    }
}

TEST(Scale, DoubleRoundingDiffersOnlyAboveShift31) {
    EXPECT_EQ(scale32(-1, 1 << 30, 31, false), 0);  // -0.5 rounds up
    EXPECT_EQ(scale32(-1, 1 << 30, 31, true), 0);
    EXPECT_EQ(scale32(-2, 1 << 30, 32, false), 0);  // -0.5 again
    EXPECT_EQ(scale32(-2, 1 << 30, 32, true), -1);  // pushed past the tie
    EXPECT_EQ(scale32(2, 1 << 30, 32, true), 1);
}

TEST(Scale, Scale16MatchesWideArithmetic) {
    const std::uint64_t seed = 21;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 200000; ++i) {
        const int s = 2 + static_cast<int>(random() % 61);
        const auto m = static_cast<std::int16_t>(random() & 0x7fff);
        const std::int64_t v = wrap_int48(static_cast<std::int64_t>(random())) >> (random() % 48);
        ASSERT_EQ(scale16(v, m, s), wide_scale(v, m, s, false)) << "seed " << seed << ": " << v << " " << m << " " << s;
    }
    EXPECT_EQ(scale16(int48_min, 32767, 47), static_cast<std::int32_t>(-32767));
    EXPECT_TRUE(fits_int48(int48_max));
    EXPECT_FALSE(fits_int48(int48_max + 1));
    EXPECT_EQ(wrap_int48(int48_max + 1), int48_min);
}

TEST(Scale, MulShift) {
    EXPECT_EQ(mul_shift(2147483647, 2147483647, 0), 1);  // low 32 bits
    EXPECT_EQ(mul_shift(-2147483648, -2147483648, 62), 1);
    EXPECT_EQ(mul_shift(-2147483648, -2147483648, 63), 1);  // 0.5 rounds up
    EXPECT_EQ(mul_shift(3, 1, 1), 2);
    EXPECT_EQ(mul_shift(-3, 1, 1), -1);
    EXPECT_EQ(mul_shift(-2147483648, 2147483647, 63), 0);
}

TEST(Scale, Reciprocal) {
    EXPECT_EQ(reciprocal(1).multiplier, (1 << 30) + 1);
    EXPECT_EQ(reciprocal(1).shift, 30);
    EXPECT_EQ(reciprocal(2).multiplier, (1 << 30) + 1);
    EXPECT_EQ(reciprocal(2).shift, 31);
    EXPECT_EQ(reciprocal(9).multiplier, 1908874355);
    EXPECT_EQ(reciprocal(9).shift, 34);
}

TEST(Scale, ReciprocalDividesRoundingHalfAwayFromZero) {
    for (int n = 1; n <= 300; ++n) {
        const Reciprocal r = reciprocal(static_cast<std::uint32_t>(n));
        for (int v = -128 * n; v <= 127 * n; ++v) {
            const int magnitude = (2 * std::abs(v) + n) / (2 * n);
            ASSERT_EQ(scale32(v, r.multiplier, r.shift, false), v < 0 ? -magnitude : magnitude) << v << " / " << n;
        }
    }
}

TEST(Scale, Lookup16) {
    std::vector<std::int64_t> table(513);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int64_t>(i) * 100 - 25600;
    EXPECT_EQ(lookup16(table, -32768), -25600 * 128);
    EXPECT_EQ(lookup16(table, 0), 0);
    EXPECT_EQ(lookup16(table, 1), 100);  // a fraction of 1/128 of the step
    EXPECT_EQ(lookup16(table, -1), (-100 * 128) + 100 * 127);
    EXPECT_EQ(lookup16(table, 32767), (25500 * 128) + 100 * 127);
}

TEST(SmallFloats, RoundTrips) {
    round_trip(format_fp16, "fp16");
    round_trip(format_bf16, "bf16");
    round_trip(format_fp8e4m3, "fp8e4m3");
    round_trip(format_fp8e5m2, "fp8e5m2");
}

TEST(SmallFloats, RoundsToNearestEven) {
    rounds_to_nearest_even(format_fp16, "fp16");
    rounds_to_nearest_even(format_bf16, "bf16");
    rounds_to_nearest_even(format_fp8e4m3, "fp8e4m3");
    rounds_to_nearest_even(format_fp8e5m2, "fp8e5m2");
}

TEST(SmallFloats, Bf16IsTheTopHalfOfFp32) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float f = std::bit_cast<float>(bits << 16);
        if (std::isnan(f)) continue;
        ASSERT_EQ(from_bits(bits, format_bf16), static_cast<double>(f)) << bits;
    }
}

#ifdef __FLT16_MANT_DIG__
#ifdef __aarch64__
using CompilersHalf = __fp16;  // GCC 12 has no other name for it there in C++
#else
using CompilersHalf = _Float16;
#endif

TEST(SmallFloats, Fp16MatchesTheCompiler) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto h = std::bit_cast<CompilersHalf>(static_cast<std::uint16_t>(bits));
        const auto expected = static_cast<double>(static_cast<float>(h));
        if (std::isnan(expected)) ASSERT_TRUE(std::isnan(from_bits(bits, format_fp16))) << bits;
        else ASSERT_EQ(from_bits(bits, format_fp16), expected) << bits;
    }
    const std::uint64_t seed = 22;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1000000; ++i) {
        // Floats of every exponent near the format's range.
        const float f =
            std::bit_cast<float>(static_cast<std::uint32_t>((random() & 0x807fffff) | ((90 + random() % 60) << 23)));
        const auto expected = std::bit_cast<std::uint16_t>(static_cast<CompilersHalf>(f));
        ASSERT_EQ(small_float_from_double(f, format_fp16), expected) << "seed " << seed << ": " << f;
    }
}
#endif

TEST(SmallFloats, Extremes) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(small_float_from_double(65504, format_fp16), 0x7bffu);
    EXPECT_EQ(small_float_from_double(65519.99, format_fp16), 0x7bffu);
    EXPECT_EQ(small_float_from_double(65520, format_fp16), 0x7c00u);
    EXPECT_EQ(small_float_from_double(-inf, format_fp16), 0xfc00u);
    EXPECT_EQ(small_float_from_double(-0.0, format_fp16), 0x8000u);
    EXPECT_EQ(small_float_from_double(448, format_fp8e4m3), 0x7eu);
    EXPECT_EQ(small_float_from_double(464, format_fp8e4m3), 0x7eu);  // tie with the missing 480: to even
    EXPECT_EQ(small_float_from_double(465, format_fp8e4m3), 0x7fu);  // NaN: there is no infinity
    EXPECT_EQ(small_float_from_double(-inf, format_fp8e4m3), 0xffu);
    EXPECT_EQ(small_float_from_double(nan, format_fp8e4m3) & 0x7fu, 0x7fu);
    EXPECT_EQ(small_float_from_double(57344, format_fp8e5m2), 0x7bu);
    EXPECT_EQ(small_float_from_double(61440, format_fp8e5m2), 0x7cu);
    EXPECT_EQ(small_float_from_double(1e-300, format_bf16), 0u);
    EXPECT_EQ(small_float_from_double(5e-324, format_bf16), 0u);
    EXPECT_EQ(small_float_from_double(1e300, format_bf16), 0x7f80u);
}

TEST(HostTensor, EncodeTruncatesAndDecodes) {
    const std::vector<std::int64_t> values{0, 1, -1, 127, 128, 255, 256, -129};
    EXPECT_EQ(decode_ints(DType::i8, encode_ints(DType::i8, values)),
              (std::vector<std::int64_t>{0, 1, -1, 127, -128, -1, 0, 127}));
    EXPECT_EQ(decode_ints(DType::boolean, encode_ints(DType::boolean, values)),
              (std::vector<std::int64_t>{0, 1, 1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(decode_ints(DType::i4, encode_ints(DType::i4, values)),
              (std::vector<std::int64_t>{0, 1, -1, -1, 0, -1, 0, -1}));
    const std::vector<std::int64_t> large{int48_max, int48_min, int48_max + 1};
    EXPECT_EQ(decode_ints(DType::i48, encode_ints(DType::i48, large)),
              (std::vector<std::int64_t>{int48_max, int48_min, int48_min}));
    const std::vector<double> reals{2.5, 3.5, -2.5, 1e9, -1e9, std::nan("")};
    EXPECT_EQ(decode_ints(DType::i16, encode_reals(DType::i16, reals)),
              (std::vector<std::int64_t>{2, 4, -2, 32767, -32768, 0}));
    EXPECT_EQ(decode_reals(DType::fp32, encode_reals(DType::fp32, std::vector<double>{1e300}))[0],
              std::numeric_limits<double>::infinity());
    EXPECT_THROW(decode_ints(DType::fp32, Bytes(4)), Error);
}

TEST(Tolerance, Quantities) {
    EXPECT_EQ(nmin(DType::fp32), static_cast<double>(std::numeric_limits<float>::min()));
    EXPECT_EQ(nmax(DType::fp32), static_cast<double>(std::numeric_limits<float>::max()));
    EXPECT_EQ(ulp(DType::fp32, 1), std::ldexp(1, -23));
    EXPECT_EQ(ulp(DType::fp32, -1.99), std::ldexp(1, -23));
    EXPECT_EQ(ulp(DType::fp32, 1e-44), std::ldexp(1, -149));
    EXPECT_EQ(ulp(DType::fp16, 1e-9), std::ldexp(1, -24));
    EXPECT_EQ(ulp(DType::fp32, 0), 0);
    EXPECT_EQ(absolute_bound(DType::fp32, -2, 3, 0, 1), 6 * std::ldexp(1, -23));
    EXPECT_EQ(absolute_bound(DType::fp32, 0.01, 5, 0.5, 1), 0.5 * std::ldexp(1, -23));
    EXPECT_EQ(absolute_bound(DType::fp16, 1, 1, 0, 2), std::ldexp(1, -5));
}

TEST(Tolerance, CheckValue) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(check_value(DType::fp32, nan, nan, 0));
    EXPECT_FALSE(check_value(DType::fp32, 1, nan, 0));
    EXPECT_FALSE(check_value(DType::fp32, nan, 1, 0.5));
    EXPECT_TRUE(check_value(DType::fp32, nan, 1, inf));
    EXPECT_TRUE(check_value(DType::fp32, -1.5, -1, 0.5));
    EXPECT_FALSE(check_value(DType::fp32, -1.6, -1, 0.5));
    EXPECT_FALSE(check_value(DType::fp32, 1, -1, 0.5));
    // A result may be flushed only when it may lie below the smallest normal number.
    EXPECT_TRUE(check_value(DType::fp32, 0, 1e-39, 0));
    EXPECT_TRUE(check_value(DType::fp32, -0.0, -1e-39, 0));
    EXPECT_FALSE(check_value(DType::fp32, 0, 1e-30, 0));
    EXPECT_FALSE(check_value(DType::fp8e5m2, 0, std::ldexp(1, -16), 0));
    // Past the largest number: infinity of the right sign and nothing else.
    EXPECT_TRUE(check_value(DType::fp16, inf, 70000, 0));
    EXPECT_FALSE(check_value(DType::fp16, 65504, 70000, 0));
    EXPECT_FALSE(check_value(DType::fp16, -inf, 70000, 0));
    EXPECT_TRUE(check_value(DType::fp16, inf, 65500, 16));
    EXPECT_TRUE(check_value(DType::fp16, 65504, 65500, 16));
    EXPECT_TRUE(check_value(DType::fp16, -inf, -inf, 0));
    EXPECT_TRUE(check_value(DType::fp8e4m3, nan, 500, 0));
    EXPECT_FALSE(check_value(DType::fp8e4m3, nan, 400, 1));
}

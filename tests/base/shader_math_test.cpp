// The host form of shaders/lib/math.glsl against fp64 libm and TOSA's bounds: dense samples over all exponents, the
// surroundings of every threshold, and the special values. tests/base/exhaustive_math.cpp runs all 2^32 inputs.
#include "base/math_bounds.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <regex>
#include <string>
#include <vector>

using namespace tosavk;
using namespace tosavk::math_bounds;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Equal bits; any NaN for a NaN.
::testing::AssertionResult same(float a, float b) {
    if (bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b))) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << a << " (" << std::hex << bits_of(a) << ") is not " << b << " ("
                                         << bits_of(b) << ")";
}

/// Calls check(x) for about two million values of every exponent and sign and for all values near the given ones.
template <class Check> void for_sample(const Check& check) {
    constexpr std::uint32_t stride = 2147;  // odd: every low bit pattern occurs
    for (std::uint64_t b = 0; b >> 32 == 0; b += stride) check(from_bits(static_cast<std::uint32_t>(b)));
    const float points[] = {0.0f,    0x1p-128f, 0x1p-126f,  0.1732868f, 0.25f,      0.5f,       0.70710677f,
                            0.95f,   1.0f,      1.4142135f, 1.5707964f, 2.0f,       3.1415927f, 3.8325f,
                            4.0f,    10.0f,     16.0f,      87.33655f,  88.722839f, 103.97208f, 104.0f,
                            0x1p22f, 0x1p23f,   0x1p24f,    0x1p31f,    0x1p125f,   0x1p126f,   inf};
    for (float point : points)
        for (std::uint32_t sign : {0u, 0x80000000u})
            for (std::uint32_t d = 0; d <= 4000; ++d) check(from_bits((bits_of(point) + d - 2000) ^ sign));
}

}  // namespace

TEST(ShaderMath, StaysWithinItsShareOfTheBounds) {
    for (const Function& function : functions) {
        SCOPED_TRACE(function.name);
        int failures = 0;
        for_sample([&](float x) {
            const double r = function.reference(x);
            const float y = function.mirror(x);
            const Error error = compare(y, r, function.bound(x, r));
            const bool good = error.share <= function.share && (error.ulps <= function.ulps || std::fabs(r) < nmin);
            if (!good && failures++ < 5)
                ADD_FAILURE() << function.name << "(" << x << ", bits " << std::hex << bits_of(x) << std::dec
                              << ") = " << y << ", reference " << r << ": " << error.share << " of the bound, "
                              << error.ulps << " ulp";
        });
        EXPECT_EQ(failures, 0);
    }
}

TEST(ShaderMath, PowStaysWithinHalfOfItsBound) {
    constexpr unsigned seed = 1;
    std::mt19937_64 random(seed);
    double worst = 0;
    for (int i = 0; i < 2'000'000; ++i) {
        const std::uint64_t bits = random();
        // A base of any exponent or, every second time, near 1; an exponent that spreads x^y over the range of fp32.
        const bool near_one = (bits & 1) != 0;
        const auto low = static_cast<std::uint32_t>(bits >> 1);
        const float x = from_bits(near_one ? 0x3f400000u + low % 0x00c00000u : low % 0x7f800000u);
        const double log_x = std::log(static_cast<double>(x));
        const double target = static_cast<double>(random() >> 11) * 0x1p-53 * 200 - 104;
        const float y = (bits >> 33) % 4 == 0 ? static_cast<float>(static_cast<int>(bits >> 40) % 9 - 4)
                                              : static_cast<float>(target / (std::fabs(log_x) < 1e-30 ? 1 : log_x));
        if (x == 0 || !std::isfinite(y) || (bits_of(y) & 0x7f800000u) == 0) continue;  // special operands; denormals
        const double r = std::pow(static_cast<double>(x), static_cast<double>(y));
        const Error error = compare(shader_math::pow(x, y), r, pow_bound(x, y, r));
        ASSERT_LE(error.share, 0.5) << "pow(" << x << ", " << y << ") = " << shader_math::pow(x, y) << ", reference "
                                    << r << ", seed " << seed;
        worst = std::fmax(worst, error.share);
    }
    RecordProperty("share_of_bound", std::to_string(worst));
}

// All of its arguments: a device whose division rounds correctly may take its place.
TEST(ShaderMath, OverIsCorrectlyRounded) {
    for (std::uint32_t bits = bits_of(1.0f); bits <= bits_of(2.0f); ++bits) {
        const float s = from_bits(bits);
        ASSERT_EQ(shader_math::over(s), 1.0f / s) << "1 / " << s;
    }
}

TEST(ShaderMath, ReciprocalIsCorrectlyRounded) {
    for_sample([](float x) {
        const float expected = 1.0f / x;
        if (std::fabs(expected) < 0x1p-126f && expected != 0) return;  // a denormal result rounds twice
        ASSERT_TRUE(same(shader_math::reciprocal(x), expected)) << "1 / " << x;
    });
}

TEST(ShaderMath, SpecialValues) {
    using namespace shader_math;
    struct Row {
        const char* name;
        float (*f)(float);
        float minus_inf, plus_inf, minus_zero, plus_zero;
    };
    const Row rows[] = {
        {"abs", shader_math::abs, inf, inf, 0.0f, 0.0f},
        {"ceil", shader_math::ceil, -inf, inf, -0.0f, 0.0f},
        {"floor", shader_math::floor, -inf, inf, -0.0f, 0.0f},
        {"cos", shader_math::cos, quiet_nan, quiet_nan, 1.0f, 1.0f},
        {"sin", shader_math::sin, quiet_nan, quiet_nan, -0.0f, 0.0f},
        {"exp", shader_math::exp, 0.0f, inf, 1.0f, 1.0f},
        {"log", shader_math::log, quiet_nan, inf, -inf, -inf},
        {"negate", negate, inf, -inf, 0.0f, -0.0f},
        {"reciprocal", reciprocal, -0.0f, 0.0f, -inf, inf},
        {"rsqrt", rsqrt, quiet_nan, 0.0f, -inf, inf},
        {"sigmoid", sigmoid, 0.0f, 1.0f, 0.5f, 0.5f},
        {"tanh", shader_math::tanh, -1.0f, 1.0f, -0.0f, 0.0f},
        {"erf", shader_math::erf, -1.0f, 1.0f, -0.0f, 0.0f},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_TRUE(same(row.f(-inf), row.minus_inf));
        EXPECT_TRUE(same(row.f(inf), row.plus_inf));
        EXPECT_TRUE(same(row.f(-0.0f), row.minus_zero));
        EXPECT_TRUE(same(row.f(0.0f), row.plus_zero));
        for (std::uint32_t payload : {0x7fc00000u, 0x7f800001u, 0x7fffffffu, 0xffc00000u, 0xff800001u})
            EXPECT_TRUE(std::isnan(row.f(from_bits(payload))));
    }
    for (float x : {-0x1p-149f, -1.0f, -0x1p127f}) {
        EXPECT_TRUE(std::isnan(shader_math::log(x)));
        EXPECT_TRUE(std::isnan(rsqrt(x)));
    }
    EXPECT_TRUE(same(shader_math::log(1.0f), 0.0f));
    EXPECT_TRUE(same(shader_math::exp(89.0f), inf));
    EXPECT_TRUE(same(shader_math::exp(-105.0f), 0.0f));
    EXPECT_TRUE(same(shader_math::tanh(100.0f), 1.0f));
    for (float x : {from_bits(0x00200001), 0x1p-127f, 0x1p-126f}) EXPECT_TRUE(same(reciprocal(-x), -1.0f / x));
}

// Wherever the argument lies: the library's own sin of a double reduces it exactly.
TEST(ShaderMath, SinAndCosHoldToTheEndOfTheRange) {
    for (std::uint32_t bits = 0x3f000000u; bits < 0x7f800000u; bits += 0x1357u) {
        for (const std::uint32_t sign : {0u, 0x80000000u}) {
            const float x = from_bits(bits | sign);
            ASSERT_NEAR(shader_math::sin(x), std::sin(static_cast<double>(x)), 3e-7) << x;
            ASSERT_NEAR(shader_math::cos(x), std::cos(static_cast<double>(x)), 3e-7) << x;
        }
    }
}

TEST(ShaderMath, PowOfSpecialOperands) {
    using shader_math::pow;
    for (float y : {-2.5f, -1.0f, 0.5f, 3.0f}) EXPECT_TRUE(same(pow(0.0f, y), y > 0 ? 0.0f : inf));
    for (float x : {0.0f, 1e-40f, 0.5f, 3e38f, inf, -2.0f}) EXPECT_TRUE(same(pow(x, 0.0f), 1.0f)) << x;
    EXPECT_TRUE(same(pow(inf, -1.5f), 0.0f));
    EXPECT_TRUE(same(pow(inf, 1.5f), inf));
    EXPECT_NEAR(pow(-2.0f, 3.0f), -8.0f, 1e-5f);
    EXPECT_NEAR(pow(-2.0f, -2.0f), 0.25f, 1e-6f);
    EXPECT_TRUE(std::isnan(pow(-2.0f, 0.5f)));
    EXPECT_TRUE(std::isnan(pow(quiet_nan, 2.0f)));
    EXPECT_TRUE(std::isnan(pow(2.0f, quiet_nan)));
}

TEST(ShaderMath, FloorCeilAndCasts) {
    constexpr auto low = std::numeric_limits<std::int32_t>::min(), high = std::numeric_limits<std::int32_t>::max();
    for_sample([](float x) {
        ASSERT_TRUE(same(shader_math::floor(x), std::floor(x)));
        ASSERT_TRUE(same(shader_math::ceil(x), std::ceil(x)));
        const double rounded = std::nearbyint(static_cast<double>(x));
        const auto saturated = [&](double lo, double hi) {
            return std::isnan(x) ? 0 : static_cast<std::int32_t>(std::fmin(std::fmax(rounded, lo), hi));
        };
        ASSERT_EQ(shader_math::float_to_int(x, -128, 127), saturated(-128, 127)) << x;
        ASSERT_EQ(shader_math::float_to_int(x, -32768, 32767), saturated(-32768, 32767)) << x;
        ASSERT_EQ(shader_math::float_to_int(x, low, high), saturated(low, high)) << x;
    });
    for (int i = 0; i < 4000; ++i) {
        const float x = static_cast<float>(i - 2000) / 2;  // ties
        ASSERT_TRUE(same(shader_math::floor(x), std::floor(x)));
        ASSERT_EQ(shader_math::float_to_int(x, low, high), static_cast<std::int32_t>(std::nearbyint(x))) << x;
    }
}

TEST(ShaderMath, HasTheConstantsOfTheShader) {
    const char* source = std::getenv("TOSAVK_SOURCE");
    TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
    const auto constants = [&](const char* path) {
        std::ifstream file(std::string(source) + path);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        // Coefficients and thresholds outside comments; 0.0 and 1.0 are written freely.
        const std::regex number(R"(//.*|((?:- ?)?\d+\.\d{4,}(e-?\d+)?))");
        std::vector<std::string> found;
        for (auto it = std::sregex_iterator(text.begin(), text.end(), number); it != std::sregex_iterator(); ++it)
            if ((*it)[1].matched) found.push_back(it->str());
        return found;
    };
    const auto shader = constants("/shaders/lib/math.glsl");
    EXPECT_GT(shader.size(), 50u);
    EXPECT_EQ(shader, constants("/src/base/numerics/shader_math.cpp"));
}

TEST(ShaderMath, MaxMinAndClampTreatNanAsTheirModeSays) {
    using namespace shader_math;
    const float values[] = {-inf, -2.0f, -0.0f, 0.0f, 1.5f, inf};
    for (float a : values) {
        for (float b : values) {
            EXPECT_EQ(shader_math::max(a, b), std::fmax(a, b));
            EXPECT_EQ(shader_math::min(a, b), std::fmin(a, b));
            EXPECT_EQ(max_ignore(a, b), std::fmax(a, b));
            EXPECT_EQ(min_ignore(a, b), std::fmin(a, b));
        }
        for (auto propagate : {shader_math::max, shader_math::min}) {
            EXPECT_TRUE(std::isnan(propagate(a, quiet_nan)));
            EXPECT_TRUE(std::isnan(propagate(quiet_nan, a)));
        }
        for (auto ignore : {max_ignore, min_ignore}) {
            EXPECT_TRUE(same(ignore(a, quiet_nan), a));
            EXPECT_TRUE(same(ignore(quiet_nan, a), a));
        }
        EXPECT_EQ(clamp(a, -1.0f, 1.0f), std::fmin(std::fmax(a, -1.0f), 1.0f));
        EXPECT_EQ(clamp_ignore(a, -1.0f, 1.0f), std::fmin(std::fmax(a, -1.0f), 1.0f));
    }
    EXPECT_TRUE(std::isnan(max_ignore(quiet_nan, quiet_nan)));
    EXPECT_TRUE(std::isnan(clamp(quiet_nan, -1.0f, 1.0f)));
    EXPECT_EQ(clamp_ignore(quiet_nan, -1.0f, 1.0f), -1.0f);
}

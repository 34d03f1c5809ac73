// How the sums of a device's cooperative matrices are judged: by what adders of several kinds would give.
#include "vk/measure/cooperative_check.hpp"
#include "base/numerics/small_floats.hpp"
#include "device/device_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace tosavk;

namespace {

/// Each result as `add` makes it, product by product.
std::vector<float> sums_by(const SumsProblem& problem, const std::function<float(float sum, float a, float b)>& add) {
    constexpr std::int64_t inner = SumsProblem::inner, columns = SumsProblem::columns;
    std::vector<float> sums;
    for (std::int64_t r = 0; r < SumsProblem::rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
            float sum = 0;
            for (std::int64_t k = 0; k < inner; ++k) {
                const auto value = [](std::uint16_t bits) {
                    return static_cast<float>(small_float_to_double(bits, format_fp16));
                };
                sum = add(sum, value(problem.a[static_cast<std::size_t>(r * inner + k)]),
                          value(problem.b[static_cast<std::size_t>(k * columns + c)]));
            }
            sums.push_back(sum);
        }
    }
    return sums;
}

float to_fp16(float x) {
    return static_cast<float>(small_float_to_double(small_float_from_double(x, format_fp16), format_fp16));
}

/// Towards zero, `bits` of the significand kept.
float cut(double x, int bits) {
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return static_cast<float>(std::ldexp(std::trunc(std::ldexp(fraction, bits)), exponent - bits));
}

TEST(CooperativeCheck, SumsInFp32AreAccurateEnough) {
    const SumsProblem problem = sums_problem();
    EXPECT_EQ(judge_sums(problem, sums_by(problem, [](float sum, float a, float b) { return sum + a * b; })),
              (CooperativeSums{true, true}));
}

TEST(CooperativeCheck, CutSumsAreForFp16Alone) {
    const SumsProblem problem = sums_problem();
    const auto sums = sums_by(problem, [](float sum, float a, float b) {
        return cut(static_cast<double>(sum) + static_cast<double>(a * b), 24);
    });
    EXPECT_EQ(judge_sums(problem, sums), (CooperativeSums{true, false}));
}

TEST(CooperativeCheck, SumsInFp16AreNot) {
    const SumsProblem problem = sums_problem();
    EXPECT_EQ(judge_sums(problem, sums_by(problem, [](float sum, float a, float b) { return to_fp16(sum + a * b); })),
              (CooperativeSums{false, false}));
}

TEST(CooperativeCheck, LostSubnormalNumbersAreFound) {
    const SumsProblem problem = sums_problem();
    const auto flushed = [](float x) { return std::fabs(x) < 0x1p-14f ? 0.0f : x; };
    EXPECT_FALSE(judge_sums(problem, sums_by(problem, [&](float sum, float a,
                                                          float b) { return sum + flushed(a) * flushed(b); }))
                     .fp32);
    EXPECT_EQ(judge_sums(problem, std::vector<float>(problem.sums.size(), std::nanf(""))),
              (CooperativeSums{false, false}));
}

TEST(CooperativeCheck, ThePlanFollows) {
    DevicePlan plan;
    plan.cooperative_fp16 = {16, 16, 16};
    plan.subgroup_size = 32;
    DevicePlan both = plan, narrow = plan, none = plan;
    apply_cooperative_sums(both, {true, true});
    EXPECT_TRUE(both.cooperative_fp16 && both.cooperative_fp32_sums);
    apply_cooperative_sums(narrow, {true, false});
    EXPECT_TRUE(narrow.cooperative_fp16);
    EXPECT_FALSE(narrow.cooperative_fp32_sums);
    apply_cooperative_sums(none, {false, true});
    EXPECT_FALSE(none.cooperative_fp16);
    EXPECT_FALSE(none.cooperative_fp32_sums);
    EXPECT_EQ(none.subgroup_size, 0u);
}

}  // namespace

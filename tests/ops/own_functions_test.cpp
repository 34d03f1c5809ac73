// EXPM1, LOG1P, CBRT, ERF_INV, LGAMMA, DIGAMMA and ATAN2: the reference against numbers of mpmath 1.3 (120 bits) and
// the ends that docs/operators.md names; the host's form of the shaders' functions against the reference.
#include "base/numerics/shader_math.hpp"
#include "ops/op.hpp"
#include "support/one_node.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace tosavk {
namespace {

using testing::floats;
using testing::real_values;
using testing::run_op;
using Reals = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN(),
                 pi = std::numbers::pi;

struct Recorded {
    Op op;
    std::vector<float> x;
    Reals expected;
};

// clang-format off
const Recorded recorded[] = {
    {Op::expm1, {1e-06f, -1e-06f, 0.3f, -0.4f, 1.0f, -5.0f, 20.0f, 88.5f, -17.0f}, {1.0000004974754068e-6,
     -9.999994974754119e-7, 0.34985882366757414, -0.32967995795977951, 1.7182818284590452, -0.99326205300091453,
     485165194.40979028, 2.7230878250681116e+38, -0.99999995860062281}},
    {Op::log1p, {1e-06f, -1e-06f, 0.3f, -0.4f, 1.0f, -0.999f, 20.0f, 1e+30f, 3e-20f}, {9.9999949747557857e-7,
     -1.0000004974755735e-6, 0.26236427363743636, -0.5108256337000982, 0.69314718055994531, -6.907768153668287,
     3.044522437723423, 69.077552804868837, 2.9999999047965676e-20}},
    {Op::cbrt, {1e-06f, -27.0f, 0.3f, -0.4f, 2.0f, 1e+30f, -3e-38f, 65.5f, 1e-20f}, {0.0099999999915841424,
     -3.0, 0.66943295894912789, -0.73680630338783378, 1.2599210498948732, 10000000050.15822,
     -3.1072325354368736e-13, 4.0310089894572902, 2.1544346672419304e-7}},
    {Op::erf_inv, {1e-06f, -0.1f, 0.3f, -0.4f, 0.75f, 0.99f, -0.9999f, 0.9999999f, 3e-20f},
     {8.8622692321548213e-7, -0.088855991825306482, 0.27246272610552377, -0.3708071646544932,
     0.81341984759761854, 1.8213866009002778, -2.7510354379032874, 3.7439211627767996, 2.6586806919864289e-20}},
    {Op::lgamma, {1e-06f, -0.1f, 0.3f, -0.4f, 1.1f, 1.9f, 3.7f, -7.3f, 1e+20f}, {13.81550998327419,
     2.3689613189525564, 1.095797953064734, 1.314524584225035, -0.049872451362944395, -0.038984284415175295,
     1.428072382319606, -7.7791024571022964, 4.5051702782797422e+21}},
    {Op::digamma, {1e-06f, -0.1f, 0.3f, -0.4f, 1.4f, 1.5f, 3.7f, -7.3f, 1e+20f}, {-1000000.5797387773,
     9.2450728981765311, -3.5025240762240176, 0.9593807271804084, -0.061384569031522566, 0.036489973978576521,
     1.1671535541452684, 4.3373044537612724, 46.051701879921791}},
};
// clang-format on

Reals of(Op op, const Reals& x) {
    return real_values(run_op(op, {floats({static_cast<std::int64_t>(x.size())}, x)}, DType::fp32));
}

/// Equal, or both NaN; zeros of both signs are equal.
void expect_ends(Op op, const Reals& x, const Reals& expected) {
    const Reals got = of(op, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(expected[i]))
            EXPECT_TRUE(std::isnan(got[i])) << name_of(op) << " of " << x[i] << " is " << got[i];
        else EXPECT_EQ(got[i], expected[i]) << name_of(op) << " of " << x[i];
    }
}

TEST(OwnFunctions, GiveWhatWasComputedWithMoreDigits) {
    for (const Recorded& row : recorded) {
        ASSERT_EQ(row.x.size(), row.expected.size());
        const Reals x(row.x.begin(), row.x.end()), got = of(row.op, x);
        for (std::size_t i = 0; i < x.size(); ++i) {
            // The reference is rounded to fp32 once, from a number that is right to 13 digits.
            EXPECT_LE(std::fabs(got[i] - row.expected[i]), std::fabs(row.expected[i]) * 0x1.001p-24)
                << name_of(row.op) << " of " << x[i];
        }
    }
}

TEST(OwnFunctions, OfEnds) {
    expect_ends(Op::expm1, {infinity, -infinity, 0, nan, 89}, {infinity, -1, 0, nan, infinity});
    expect_ends(Op::log1p, {infinity, -1, -1.5, 0, nan, -infinity}, {infinity, -infinity, nan, 0, nan, nan});
    expect_ends(Op::cbrt, {infinity, -infinity, 0, nan, -8}, {infinity, -infinity, 0, nan, -2});
    expect_ends(Op::erf_inv, {1, -1, 1.5, -2, 0, nan, infinity}, {infinity, -infinity, nan, nan, 0, nan, nan});
    expect_ends(Op::lgamma, {0, -1, -2, 1, 2, infinity, -infinity, nan},
                {infinity, infinity, infinity, 0, 0, infinity, infinity, nan});
    expect_ends(Op::digamma, {0, -1, -2, infinity, -infinity, nan}, {nan, nan, nan, infinity, nan, nan});
}

TEST(OwnFunctions, AnglesAreThoseOfC) {
    const Reals y{0, 0, -0.0, 1, -1, infinity, infinity, 3, nan, -2},
        x{1, -0.0, -1, 0, 0, infinity, -infinity, -infinity, 1, nan};
    const auto n = static_cast<std::int64_t>(y.size());
    const Reals got = real_values(run_op(Op::atan2, {floats({n}, y), floats({n}, x)}, DType::fp32));
    const Reals expected{0, pi, -pi, pi / 2, -pi / 2, pi / 4, 3 * pi / 4, pi, nan, nan};
    for (std::size_t i = 0; i < y.size(); ++i) {
        if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(got[i])) << i;
        else EXPECT_EQ(got[i], static_cast<float>(expected[i])) << y[i] << ", " << x[i];
    }
}

void expect_within_bounds(Op op, std::vector<HostTensor> operands, const Reals& got) {
    const testing::OneNode node(op, std::move(operands), DType::fp32);
    const CheckResult result = node.check(floats({static_cast<std::int64_t>(got.size())}, got));
    EXPECT_TRUE(result.passed) << name_of(op) << ", element " << result.element << ": " << result.got << " instead of "
                               << result.expected << ", " << result.worst << " of the bound";
}

TEST(OwnFunctions, OfTheShadersAreWithinTheirBounds) {
    constexpr unsigned seed = 11;
    std::mt19937 random(seed);
    const auto any = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); };
    const auto between = [&](float low, float high) {
        return std::uniform_real_distribution<float>(low, high)(random);
    };
    struct Function {
        Op op;
        float (*host)(float);
        float low, high;
    };
    namespace host = shader_math;
    const Function functions[] = {{Op::expm1, host::expm1, -20, 90},  {Op::log1p, host::log1p, -1, 4},
                                  {Op::cbrt, host::cbrt, -30, 30},    {Op::erf_inv, host::erf_inv, -1, 1},
                                  {Op::lgamma, host::lgamma, -9, 12}, {Op::digamma, host::digamma, -9, 12}};
    constexpr std::int64_t count = 100000;
    for (const Function& function : functions) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Reals x, got;
        for (std::int64_t i = 0; i < count; ++i) {
            const float v = i % 2 == 0 ? any() : between(function.low, function.high);
            x.push_back(v);
            got.push_back(function.host(v));
        }
        expect_within_bounds(function.op, {floats({count}, x)}, got);
    }
    Reals y, x, got;
    for (std::int64_t i = 0; i < count; ++i) {
        const float v = i % 2 == 0 ? any() : between(-2, 2), w = i % 2 == 0 ? any() : between(-2, 2);
        y.push_back(v), x.push_back(w), got.push_back(host::atan2(v, w));
    }
    expect_within_bounds(Op::atan2, {floats({count}, y), floats({count}, x)}, got);
}

}  // namespace
}  // namespace tosavk

// Elementwise operators of floats, int32 and bool: small models run by the reference, compared with the arithmetic of
// TFLite's kernels written out here.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

constexpr float infinity = std::numeric_limits<float>::infinity();
const std::vector<float> values{0.0f,        -0.0f,       0.5f,   -0.5f,   1.0f,     -1.0f,    1.5f,
                                -1.5f,       2.5f,        -2.5f,  3.0f,    -3.0f,    6.0f,     -7.0f,
                                0.49999997f, 1e-3f,       -1e-3f, 100.25f, -100.25f, 1e6f,     -1e6f,
                                8388609.0f,  -8388607.5f, 1e10f,  -1e10f,  infinity, -infinity};

TensorSpec i32(std::vector<std::int32_t> shape) { return {std::move(shape), TensorType::INT32}; }
TensorSpec boolean(std::vector<std::int32_t> shape) { return {std::move(shape), TensorType::BOOL}; }

HostTensor floats_of(const std::vector<float>& list) {
    HostTensor t(DType::fp32, {static_cast<std::int64_t>(list.size())});
    std::copy(list.begin(), list.end(), t.as<float>().begin());
    return t;
}
HostTensor ints_of(DType type, const Shape& shape, const Ints& list) {
    HostTensor t(type, shape);
    t.bytes = encode_ints(type, list);
    return t;
}

/// Equal, both NaN, or nearer than `ulps` units in the last place.
void expect_near(float got, float expected, float ulps, const std::string& what) {
    if (std::isnan(expected) ? std::isnan(got) : got == expected) return;
    const float step = std::nextafter(std::abs(expected), infinity) - std::abs(expected);
    EXPECT_LE(std::abs(got - expected), ulps * step) << what << ": expected " << expected << ", got " << got;
}

struct Function {
    B code;
    float (*f)(float);
    float ulps = 0;
};

TEST(TfliteReal, FunctionsOfOneNumber) {
    const Function functions[] = {
        {B::LOG, [](float x) { return std::log(x); }, 3},
        {B::RSQRT, [](float x) { return 1.0f / std::sqrt(x); }, 2},
        {B::SQRT, [](float x) { return std::sqrt(x); }},
        {B::SQUARE, [](float x) { return x * x; }},
        {B::FLOOR, [](float x) { return std::floor(x); }},
        {B::CEIL, [](float x) { return std::ceil(x); }},
        {B::ROUND, [](float x) { return std::nearbyint(x); }},
        {B::RELU_0_TO_1, [](float x) { return std::min(std::max(x, 0.0f), 1.0f); }},
        {B::HARD_SWISH, [](float x) { return x * std::min(std::max(x + 3, 0.0f), 6.0f) / 6; }},
    };
    const auto n = static_cast<std::int32_t>(values.size());
    for (const Function& function : functions) {
        const auto got = run(one_op(function.code, {f32({n})}, f32({n})), {floats_of(values)}).at(0);
        for (std::size_t i = 0; i < values.size(); ++i)
            expect_near(got.as<float>()[i], function.f(values[i]), function.ulps,
                        std::string(EnumNameBuiltinOperator(function.code)) + " of " + std::to_string(values[i]));
    }
    for (const B code : {B::SIN, B::COS}) {
        const auto x = random_f32({500}, 20);
        const auto got = run(one_op(code, {f32({500})}, f32({500})), {x}).at(0);
        for (std::size_t i = 0; i < 500; ++i) {
            const float expected = code == B::SIN ? std::sin(x.as<float>()[i]) : std::cos(x.as<float>()[i]);
            EXPECT_NEAR(got.as<float>()[i], expected, 1e-6);
        }
    }
}

TEST(TfliteReal, QuotientsOfFloats) {
    std::vector<float> a, b;
    for (const float x : values)
        for (const float y : values) a.push_back(x), b.push_back(y);
    for (int k = 0; k < 4000; ++k) {  // quotients next to an integer
        const auto whole = static_cast<float>(static_cast<int>(random_source()() % 2000) - 1000);
        const float divisor = 0.001f * static_cast<float>(1 + random_source()() % 5000);
        const float product = whole * divisor;
        a.push_back(k % 3 == 0 ? product : std::nextafter(product, k % 3 == 1 ? infinity : -infinity));
        b.push_back(divisor);
    }
    const auto n = static_cast<std::int32_t>(a.size());
    for (const B code : {B::DIV, B::FLOOR_DIV, B::FLOOR_MOD}) {
        const auto got = run(one_op(code, {f32({n}), f32({n})}, f32({n})), {floats_of(a), floats_of(b)}).at(0);
        for (std::size_t i = 0; i < a.size(); ++i) {
            float expected = a[i] / b[i];
            if (code == B::FLOOR_DIV)
                expected = static_cast<float>(std::floor(static_cast<double>(a[i]) / static_cast<double>(b[i])));
            if (code == B::FLOOR_MOD) {
                expected = std::fmod(a[i], b[i]);
                if (expected != 0 && (b[i] < 0) != (expected < 0)) expected += b[i];
            }
            const bool exact = code != B::FLOOR_DIV || std::abs(expected) < 0x1p22f;
            expect_near(got.as<float>()[i], expected, exact ? 0 : 2,
                        std::string(EnumNameBuiltinOperator(code)) + " of " + std::to_string(a[i]) + " by " +
                            std::to_string(b[i]));
        }
    }
}

TEST(TfliteReal, QuotientsOfIntegersAndSquares) {
    const Ints x{7, -7, 7, -7, 0, 2147483647, -2147483647}, y{2, 2, -2, -2, 5, 10, 10};
    const auto got = [&](B code) {
        return ints(run(one_op(code, {i32({7}), i32({7})}, i32({7})),
                        {ints_of(DType::i32, {7}, x), ints_of(DType::i32, {7}, y)})
                        .at(0));
    };
    EXPECT_EQ(got(B::DIV), (Ints{3, -3, -3, 3, 0, 214748364, -214748364}));
    EXPECT_EQ(got(B::FLOOR_DIV), (Ints{3, -4, -4, 3, 0, 214748364, -214748365}));
    EXPECT_EQ(got(B::FLOOR_MOD), (Ints{1, 1, -1, -1, 0, 7, 3}));
    EXPECT_EQ(ints(run(one_op(B::SQUARED_DIFFERENCE, {i32({3}), i32({1})}, i32({3})),
                       {ints_of(DType::i32, {3}, {1, -5, 9}), ints_of(DType::i32, {1}, {4})})
                       .at(0)),
              (Ints{9, 81, 25}));
    EXPECT_EQ(ints(run(one_op(B::SQUARE, {i32({2})}, i32({2})), {ints_of(DType::i32, {2}, {-4, 5})}).at(0)),
              (Ints{16, 25}));
}

TEST(TfliteReal, DivHasActivations) {
    const Bytes model = one_op(B::DIV, {f32({4}), f32({1})}, f32({4}), [](TfliteBuilder& t) {
        return Options{BuiltinOptions::DivOptions, CreateDivOptions(t.fbb, Act::RELU6).Union()};
    });
    const auto got = run(model, {floats_of({-1, 1, 3, 100}), floats_of({0.25f})}).at(0);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got.as<float>()[i], (std::vector<float>{0, 4, 6, 6})[i]);
}

TEST(TfliteReal, PreluBroadcastsItsSlopes) {
    const auto x = random_f32({2, 3, 4, 5}), alpha = random_f32({1, 1, 5});
    const auto got = run(one_op(B::PRELU, {f32({2, 3, 4, 5}), f32({1, 1, 5})}, f32({2, 3, 4, 5})), {x, alpha}).at(0);
    for (std::size_t i = 0; i < 120; ++i) {
        const float v = x.as<float>()[i];
        ASSERT_EQ(got.as<float>()[i], v >= 0 ? v : v * alpha.as<float>()[i % 5]) << i;
    }
}

TEST(TfliteReal, SelectChoosesElementsOrRows) {
    const Ints a{1, 2, 3, 4, 5, 6}, b{-1, -2, -3, -4, -5, -6};
    const auto got = [&](B code, const Shape& shape, const Ints& condition) {
        std::vector<std::int32_t> dims(shape.begin(), shape.end());
        return ints(run(one_op(code, {boolean(dims), i32({2, 3}), i32({2, 3})}, i32({2, 3})),
                        {ints_of(DType::boolean, shape, condition), ints_of(DType::i32, {2, 3}, a),
                         ints_of(DType::i32, {2, 3}, b)})
                        .at(0));
    };
    EXPECT_EQ(got(B::SELECT, {2, 3}, {1, 0, 1, 0, 1, 0}), (Ints{1, -2, 3, -4, 5, -6}));
    EXPECT_EQ(got(B::SELECT, {2}, {0, 1}), (Ints{-1, -2, -3, 4, 5, 6}));
    EXPECT_EQ(got(B::SELECT_V2, {3}, {0, 1, 0}), (Ints{-1, 2, -3, -4, 5, -6}));
    EXPECT_EQ(got(B::SELECT_V2, {2, 1}, {0, 1}), (Ints{-1, -2, -3, 4, 5, 6}));
}

TEST(TfliteReal, CastCutsOffAndCounts) {
    const auto x = floats_of({1.9f, -1.9f, 0.5f, -0.5f, 300.7f, 0.0f});
    EXPECT_EQ(ints(run(one_op(B::CAST, {f32({6})}, i32({6})), {x}).at(0)), (Ints{1, -1, 0, 0, 300, 0}));
    EXPECT_EQ(ints(run(one_op(B::CAST, {f32({6})}, boolean({6})), {x}).at(0)), (Ints{1, 1, 1, 1, 1, 0}));
    const auto large = floats_of({1e10f, -infinity, 127.9f, -1000.0f, std::nanf("")});
    EXPECT_EQ(ints(run(one_op(B::CAST, {f32({5})}, {{5}, TensorType::INT8}), {large}).at(0)),
              (Ints{127, -128, 127, -128, 127}));
    EXPECT_EQ(ints(run(one_op(B::CAST, {f32({5})}, {{5}, TensorType::INT16}), {large}).at(0)),
              (Ints{32767, -32768, 127, -1000, 32767}));
    EXPECT_EQ(ints(run(one_op(B::CAST, {f32({5})}, i32({5})), {large}).at(0)),
              (Ints{INT32_MAX, INT32_MIN, 127, -1000, INT32_MAX}));
    const auto flags = ints_of(DType::boolean, {2}, {1, 0});
    EXPECT_EQ(run(one_op(B::CAST, {boolean({2})}, f32({2})), {flags}).at(0).as<float>()[0], 1.0f);
    EXPECT_EQ(ints(run(one_op(B::CAST, {boolean({2})}, i32({2})), {flags}).at(0)), (Ints{1, 0}));
    const auto numbers = ints_of(DType::i32, {3}, {5, -6, 0});
    EXPECT_EQ(ints(run(one_op(B::CAST, {i32({3})}, boolean({3})), {numbers}).at(0)), (Ints{1, 1, 0}));
    EXPECT_EQ(run(one_op(B::CAST, {i32({3})}, f32({3})), {numbers}).at(0).as<float>()[1], -6.0f);
}

TEST(TfliteReal, SaysWhatItDoesNotTake) {
    expect_error(one_op(B::COS, {i8({4}, 0.1f, 0)}, i8({4}, 0.1f, 0)), ErrorCode::unsupported, "INT8");
    expect_error(one_op(B::DIV, {i32({4}), f32({4})}, f32({4})), ErrorCode::unsupported, "types INT32");
    expect_error(one_op(B::SELECT, {i32({4}), f32({4}), f32({4})}, f32({4})), ErrorCode::unsupported, "types INT32");
}

}  // namespace
}  // namespace tosavk

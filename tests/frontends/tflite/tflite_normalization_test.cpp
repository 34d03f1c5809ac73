// L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and L2_POOL_2D.
#include "support/tflite_models.hpp"

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

Bytes l2(const TensorSpec& x, const TensorSpec& y, Act activation = Act::NONE) {
    return one_op(B::L2_NORMALIZATION, {x}, y, [=](TfliteBuilder& t) {
        return Options{BuiltinOptions::L2NormOptions, CreateL2NormOptions(t.fbb, activation).Union()};
    });
}

TEST(TfliteNormalization, L2OfFloats) {
    auto x = random_f32({3, 2, 5});
    for (std::size_t i = 0; i < 5; ++i) x.as<float>()[i] = 0;       // no direction at all
    for (std::size_t i = 5; i < 10; ++i) x.as<float>()[i] = 1e-8f;  // shorter than what TFLite divides by at least
    const auto out = run(l2(f32({3, 2, 5}), f32({3, 2, 5})), {x}).at(0);
    for (std::size_t row = 0; row < 6; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < 5; ++i) sum += std::pow(static_cast<double>(x.as<float>()[row * 5 + i]), 2);
        for (std::size_t i = 0; i < 5; ++i) {
            const double want = static_cast<double>(x.as<float>()[row * 5 + i]) / std::max(std::sqrt(sum), 1e-6);
            EXPECT_NEAR(static_cast<double>(out.as<float>()[row * 5 + i]), want, 1e-6);
        }
    }
}

// a * b / 2^31, rounded half up.
std::int64_t mul31(std::int64_t a, std::int64_t b) { return (a * b + (1 << 30)) >> 31; }

/// The fixed-point algorithm: multiplier and shift to the right of 1 / sqrt(n).
std::pair<std::int64_t, int> inverse_root(std::int64_t n) {
    if (n <= 1) return {INT32_MAX, 0};
    int shift = 11;
    for (; n >= 1 << 29; n /= 4) ++shift;
    for (; n < 1 << 27; n *= 4) --shift;
    const std::int64_t half = ((n >> 1) + 1) >> 1;
    std::int64_t x = 1 << 28;
    for (int step = 0; step < 5; ++step) {
        const std::int64_t cube = std::min<std::int64_t>(mul31(mul31(x, x), x) * 64, INT32_MAX);
        x = (mul31(3 << 27, x) - mul31(half, cube)) * 8;
    }
    x = mul31(x, 1518500250);
    return shift < 0 ? std::pair{x << -shift, 0} : std::pair{x, shift};
}

TEST(TfliteNormalization, L2OfInt8InFixedPoint) {
    for (const std::int64_t zp : {-128, 0, 3, 127}) {
        for (const std::int32_t depth : {1, 2, 7, 100}) {
            auto x = random_i8({40, depth});
            const auto place = static_cast<std::size_t>(depth);
            for (std::size_t i = 0; i < place; ++i) {  // lengths of 0, of 1, and the longest
                x.bytes[i] = x.bytes[place + i] = static_cast<std::byte>(zp);
                x.bytes[2 * place + i] = static_cast<std::byte>(zp < 0 ? 127 : -128);
            }
            x.bytes[place] = static_cast<std::byte>(zp < 0 ? zp + 1 : zp - 1);
            const Ints got = ints(run(l2(i8({40, depth}, 0.1f, zp), i8({40, depth}, 1.0f / 128)), {x}).at(0)),
                       q = ints(x);
            for (std::size_t row = 0; row < 40; ++row) {
                std::int64_t sum = 0;
                for (std::size_t i = 0; i < place; ++i) sum += (q[row * place + i] - zp) * (q[row * place + i] - zp);
                const auto [multiplier, shift] = inverse_root(sum);
                for (std::size_t i = 0; i < place; ++i) {
                    const int right = std::max(shift - 7, 0), left = std::max(7 - shift, 0);
                    const std::int64_t high = mul31((q[row * place + i] - zp) * (1 << left), multiplier);
                    ASSERT_EQ(got[row * place + i], clip8(std::llround(std::ldexp(static_cast<double>(high), -right))))
                        << "sum " << sum;
                }
            }
        }
    }
}

Bytes lrn(std::int32_t radius, float bias, float alpha, float beta) {
    return one_op(B::LOCAL_RESPONSE_NORMALIZATION, {f32({2, 3, 2, 6})}, f32({2, 3, 2, 6}), [=](TfliteBuilder& t) {
        return Options{BuiltinOptions::LocalResponseNormalizationOptions,
                       CreateLocalResponseNormalizationOptions(t.fbb, radius, bias, alpha, beta).Union()};
    });
}

TEST(TfliteNormalization, LocalResponseLeavesOutTheLastOfItsChannels) {
    const auto x = random_f32({2, 3, 2, 6}, 3);
    for (const std::int32_t radius : {0, 1, 2, 5, 40}) {
        const auto out = run(lrn(radius, 1.5f, 0.3f, 0.75f), {x}).at(0);
        for (std::int32_t at = 0; at < 72; ++at) {
            const std::int32_t c = at % 6, first = std::max(c - radius, 0), end = std::min(c + radius, 6);
            const auto value = [&](std::int32_t k) {
                return static_cast<double>(x.as<float>()[static_cast<std::size_t>(k)]);
            };
            double sum = 0;
            for (std::int32_t k = first; k < end; ++k) sum += value(at - c + k) * value(at - c + k);
            EXPECT_NEAR(static_cast<double>(out.as<float>()[static_cast<std::size_t>(at)]),
                        value(at) * std::pow(1.5 + 0.3 * sum, -0.75), 1e-5)
                << "radius " << radius;
        }
    }
}

TEST(TfliteNormalization, L2PoolIsTheRootOfTheMeanSquare) {
    const auto x = random_f32({1, 4, 5, 2}, 5);
    const Bytes model = one_op(B::L2_POOL_2D, {f32({1, 4, 5, 2})}, f32({1, 2, 5, 2}), [](TfliteBuilder& t) {
        return Options{BuiltinOptions::Pool2DOptions,
                       CreatePool2DOptions(t.fbb, Padding::SAME, 1, 2, 3, 3, Act::RELU6).Union()};
    });
    const auto out = run(model, {x}).at(0);
    ASSERT_EQ(out.shape, (Shape{1, 2, 5, 2}));
    std::size_t at = 0;
    for (int oy = 0; oy < 2; ++oy)
        for (int ox = 0; ox < 5; ++ox)
            for (int c = 0; c < 2; ++c) {
                double sum = 0, count = 0;
                for (int y = 2 * oy; y < 2 * oy + 3; ++y)
                    for (int w = ox - 1; w < ox + 2; ++w) {
                        if (y > 3 || w < 0 || w > 4) continue;
                        sum += std::pow(
                            static_cast<double>(x.as<float>()[static_cast<std::size_t>((y * 5 + w) * 2 + c)]), 2);
                        ++count;
                    }
                EXPECT_NEAR(static_cast<double>(out.as<float>()[at++]), std::min(std::sqrt(sum / count), 6.0), 1e-5);
            }
}

TEST(TfliteNormalization, Refuses) {
    expect_error(l2(f32({2, 3}), f32({2, 3}), Act::RELU), ErrorCode::bad_model, "it has a fused activation");
    expect_error(l2(i8({2, 3}), i8({2, 3}, 0.1f)), ErrorCode::bad_model, "its output must have scale 1/128");
    expect_error(l2(i16({2, 3}, 1), i16({2, 3}, 1)), ErrorCode::unsupported, "types INT16 -> INT16 are not supported");
    expect_error(lrn(-1, 1, 1, 1), ErrorCode::bad_model, "radius -1 must be at least 0");
    expect_error(lrn(1, 1, std::numeric_limits<float>::infinity(), 1), ErrorCode::bad_model,
                 "one of its numbers is inf");
    expect_error(one_op(B::LOCAL_RESPONSE_NORMALIZATION, {f32({2, 3})}, f32({2, 3})), ErrorCode::bad_model,
                 "its options are missing");
    expect_error(one_op(B::L2_POOL_2D, {i8({1, 2, 2, 1})}, i8({1, 2, 2, 1}),
                        [](TfliteBuilder& t) {
                            return Options{BuiltinOptions::Pool2DOptions,
                                           CreatePool2DOptions(t.fbb, Padding::SAME, 1, 1, 2, 2).Union()};
                        }),
                 ErrorCode::unsupported, "types INT8 -> INT8 are not supported");
}

}  // namespace
}  // namespace tosavk

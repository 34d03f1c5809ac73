// Operators that the corpus lacks: small models written here, run by the reference and compared with TFLite's
// arithmetic written out a second time, from the definition of its kernels.
#include "frontends/tflite/quant.hpp"
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

/// A scale too small for a multiplier makes 0 of every sum, in a form that RESCALE allows for every sum: it takes
/// values below 2^(shift - 1).
TEST(TfliteMultipliers, TooSmallIsZeroForEverySum) {
    for (const double real : {0.0, 1e-10, 1e-300}) {
        const QuantizedMultiplier m = quantize_multiplier(real);
        EXPECT_EQ(m, (QuantizedMultiplier{0, 31 - 62})) << real;
        for (const std::int32_t sum : {INT32_MIN, -(1 << 30) - 128, -1, 0, 1 << 30, INT32_MAX}) {
            for (const Rounding rounding : roundings) EXPECT_EQ(multiply_by_quantized(sum, m, rounding), 0) << sum;
        }
    }
    EXPECT_NE(quantize_multiplier(std::ldexp(0.5, -31)).multiplier, 0) << "the smallest there is";
}

// ---- elementwise --------------------------------------------------------------------------------------------------

TEST(TfliteElementwise, MulInt8BroadcastsAndRounds) {
    const float sa = 0.031f, sb = 0.047f, so = 0.02f;
    const auto a = random_i8({2, 3, 5}), b = random_i8({5});
    const Bytes model =
        one_op(B::MUL, {i8({2, 3, 5}, sa, 3), i8({5}, sb, -7)}, i8({2, 3, 5}, so, 11), [](TfliteBuilder& t) {
            return Options{BuiltinOptions::MulOptions, CreateMulOptions(t.fbb, Act::RELU).Union()};
        });
    for (const Rounding rounding : roundings) {
        const Ints got = ints(run(model, {a, b}, rounding).at(0)), x = ints(a), y = ints(b);
        for (std::size_t i = 0; i < got.size(); ++i) {
            const std::int64_t v = 11 + scale_by((x[i] - 3) * (y[i % 5] + 7), Scaled(sa * sb / so), rounding);
            ASSERT_EQ(got[i], std::max<std::int64_t>(clip8(v), 11)) << i;
        }
    }
}

TEST(TfliteElementwise, AddAndSubInt8WithActivations) {
    const float sa = 0.05f, sb = 0.013f, so = 0.06f;
    const double twice_max = 2 * static_cast<double>(sa);
    const Scaled ma(sa / twice_max), mb(sb / twice_max), mo(twice_max / ((1 << 20) * static_cast<double>(so)));
    const auto a = random_i8({7, 40}), b = random_i8({7, 40});
    for (const bool sub : {false, true}) {
        const Bytes model =
            one_op(sub ? B::SUB : B::ADD, {i8({7, 40}, sa, 5), i8({7, 40}, sb, -9)}, i8({7, 40}, so, -20),
                   [&](TfliteBuilder& t) {
                       return sub ? Options{BuiltinOptions::SubOptions, CreateSubOptions(t.fbb, Act::RELU6).Union()}
                                  : Options{BuiltinOptions::AddOptions, CreateAddOptions(t.fbb, Act::RELU6).Union()};
                   });
        for (const Rounding rounding : roundings) {
            const Ints got = ints(run(model, {a, b}, rounding).at(0)), x = ints(a), y = ints(b);
            for (std::size_t i = 0; i < got.size(); ++i) {
                const std::int64_t p = scale_by((x[i] - 5) * (1 << 20), ma, rounding),
                                   q = scale_by((y[i] + 9) * (1 << 20), mb, rounding);
                const std::int64_t v = scale_by(sub ? p - q : p + q, mo, rounding) - 20;
                ASSERT_EQ(got[i], std::clamp<std::int64_t>(v, -20, -20 + std::lround(6.0f / so))) << i;
            }
        }
    }
}

TEST(TfliteElementwise, AddInt16WithPowerOfTwoScales) {
    const auto a = random_ints(DType::i16, {500}, -32768, 32767), b = random_ints(DType::i16, {500}, -32768, 32767);
    const Bytes model = one_op(B::ADD, {i16({500}, 1.0f / 4096), i16({500}, 1.0f / 32768)}, i16({500}, 1.0f / 4096));
    for (const Rounding rounding : roundings) {
        const Ints got = ints(run(model, {a, b}, rounding).at(0)), x = ints(a), y = ints(b);
        for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i], clip16(x[i] + std::lround(static_cast<double>(y[i]) / 8))) << i;
        }
    }
}

TEST(TfliteElementwise, LeakyReluInt8AndInt16) {
    HostTensor all(DType::i8, {256});
    for (int q = -128; q < 128; ++q)
        all.as<std::int8_t>()[static_cast<std::size_t>(q + 128)] = static_cast<std::int8_t>(q);
    const auto wide = random_ints(DType::i16, {2000}, -32768, 32767);
    const float si = 0.04f, so = 0.03f;
    for (const float alpha : {0.1f, 0.0f, 1.7f, -0.3f}) {
        const auto options = [&](TfliteBuilder& t) {
            return Options{BuiltinOptions::LeakyReluOptions, CreateLeakyReluOptions(t.fbb, alpha).Union()};
        };
        for (const Rounding rounding : roundings) {
            const Scaled identity(si / so), scaled(si * alpha / so);
            const Ints got = ints(
                           run(one_op(B::LEAKY_RELU, {i8({256}, si, 10)}, i8({256}, so, -5), options), {all}, rounding)
                               .at(0)),
                       x = ints(all);
            for (std::size_t i = 0; i < got.size(); ++i) {
                const std::int64_t v = x[i] - 10;
                ASSERT_EQ(got[i], clip8(scale_by(v, v >= 0 ? identity : scaled, rounding) - 5))
                    << "alpha " << alpha << ", q " << x[i];
            }
            const Ints got16 = ints(
                           run(one_op(B::LEAKY_RELU, {i16({2000}, si)}, i16({2000}, so), options), {wide}, rounding)
                               .at(0)),
                       w = ints(wide);
            for (std::size_t i = 0; i < got16.size(); ++i) {
                ASSERT_EQ(got16[i], clip16(scale_by(w[i], w[i] >= 0 ? identity : scaled, rounding)))
                    << "alpha " << alpha << ", q " << w[i];
            }
        }
    }
}

TEST(TfliteElementwise, TablesOfLogisticAndTanh) {
    HostTensor all(DType::i8, {256});
    for (int q = -128; q < 128; ++q)
        all.as<std::int8_t>()[static_cast<std::size_t>(q + 128)] = static_cast<std::int8_t>(q);
    const Ints logistic =
        ints(run(one_op(B::LOGISTIC, {i8({256}, 0.07f, 4)}, i8({256}, 1.0f / 256, -128)), {all}).at(0));
    const Ints tanh = ints(run(one_op(B::TANH, {i8({256}, 0.03f, -12)}, i8({256}, 1.0f / 128, 0)), {all}).at(0));
    for (int q = -128; q < 128; ++q) {
        const auto i = static_cast<std::size_t>(q + 128);
        // In double; float tables may differ where a value lies within float error of a tie.
        const double l = 256 / (1 + std::exp(-static_cast<double>(0.07f) * (q - 4))) - 128;
        const double t = 128 * std::tanh(static_cast<double>(0.03f) * (q + 12));
        EXPECT_LE(std::abs(static_cast<double>(logistic[i]) - std::clamp(l, -128.0, 127.0)), 0.5001) << q;
        EXPECT_LE(std::abs(static_cast<double>(tanh[i]) - std::clamp(t, -128.0, 127.0)), 0.5001) << q;
    }
}

TEST(TfliteElementwise, ReluFamilyInt8AndFloat) {
    const auto x8 = random_i8({300});
    const auto xf = random_f32({300}, 10);
    struct {
        B code;
        double low, high;
    } const kinds[] = {{B::RELU, 0, 1e30}, {B::RELU6, 0, 6}, {B::RELU_N1_TO_1, -1, 1}};
    for (const auto& kind : kinds) {
        for (const Rounding rounding : roundings) {
            const Ints got = ints(
                           run(one_op(kind.code, {i8({300}, 0.07f, -3)}, i8({300}, 0.05f, 2)), {x8}, rounding).at(0)),
                       x = ints(x8);
            const std::int64_t low = 2 + std::lround(static_cast<float>(kind.low) / 0.05f);
            const std::int64_t high =
                kind.high > 100 ? 127
                                : std::min<std::int64_t>(127, 2 + std::lround(static_cast<float>(kind.high) / 0.05f));
            for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_EQ(got[i],
                          std::clamp<std::int64_t>(2 + scale_by(x[i] + 3, Scaled(0.07f / 0.05f), rounding), low, high));
            }
        }
        const auto outputs = run(one_op(kind.code, {f32({300})}, f32({300})), {xf});
        for (std::size_t i = 0; i < 300; ++i) {
            ASSERT_EQ(outputs[0].as<float>()[i],
                      std::clamp(xf.as<float>()[i], static_cast<float>(kind.low), static_cast<float>(kind.high)));
        }
    }
}

TEST(TfliteElementwise, QuantizeRoundsHalfAwayFromZero) {
    HostTensor x(DType::fp32, {10});
    const float values[] = {0.25f, -0.25f, 0.75f, -0.75f, 0.2499999f, 1e9f, -1e9f, 0.0f, 31.9f, 0.49999997f * 0.5f};
    std::copy(std::begin(values), std::end(values), x.as<float>().begin());
    EXPECT_EQ(ints(run(one_op(B::QUANTIZE, {f32({10})}, i8({10}, 0.5f, 3)), {x}).at(0)),
              (Ints{4, 2, 5, 1, 3, 127, -128, 3, 67, 3}));
}

TEST(TfliteElementwise, DequantizeAndRequantize) {
    const auto x = random_i8({100});
    const auto real = run(one_op(B::DEQUANTIZE, {i8({100}, 0.3f, 7)}, f32({100})), {x});
    for (std::size_t i = 0; i < 100; ++i)
        ASSERT_EQ(real[0].as<float>()[i], static_cast<float>(0.3f * static_cast<double>(ints(x)[i] - 7)));
    for (const Rounding rounding : roundings) {
        const Ints got =
            ints(run(one_op(B::QUANTIZE, {i8({100}, 0.3f, 7)}, i8({100}, 0.41f, -2)), {x}, rounding).at(0));
        for (std::size_t i = 0; i < 100; ++i) {
            ASSERT_EQ(got[i], clip8(scale_by(ints(x)[i] - 7,
                                             Scaled(static_cast<double>(0.3f) / static_cast<double>(0.41f)), rounding) -
                                    2));
        }
    }
}

TEST(TfliteElementwise, MaximumMinimumInt8) {
    const auto a = random_i8({4, 6}), b = random_i8({6});
    const Ints high = ints(run(one_op(B::MAXIMUM, {i8({4, 6}), i8({6})}, i8({4, 6})), {a, b}).at(0));
    const Ints low = ints(run(one_op(B::MINIMUM, {i8({4, 6}), i8({6})}, i8({4, 6})), {a, b}).at(0));
    for (std::size_t i = 0; i < 24; ++i) {
        EXPECT_EQ(high[i], std::max(ints(a)[i], ints(b)[i % 6]));
        EXPECT_EQ(low[i], std::min(ints(a)[i], ints(b)[i % 6]));
    }
}

// ---- reductions, pooling, softmax ---------------------------------------------------------------------------------

TEST(TfliteReduce, MeanInt8FoldsTheCountIntoTheMultiplier) {
    const float si = 0.02f, so = 0.013f;
    const auto x = random_i8({2, 5, 7, 3});
    for (const bool keep : {false, true}) {
        const Bytes model = one_op_indices(
            B::MEAN, i8({2, 5, 7, 3}, si, -4), {{1, -2, 1}},
            i8(keep ? std::vector<std::int32_t>{2, 1, 1, 3} : std::vector<std::int32_t>{2, 3}, so, 9),
            [&](TfliteBuilder& t) {
                return Options{BuiltinOptions::ReducerOptions, CreateReducerOptions(t.fbb, keep).Union()};
            });
        for (const Rounding rounding : roundings) {
            const auto out = run(model, {x}, rounding).at(0);
            EXPECT_EQ(out.shape, keep ? (Shape{2, 1, 1, 3}) : (Shape{2, 3}));
            for (std::int64_t n = 0; n < 2; ++n) {
                for (std::int64_t c = 0; c < 3; ++c) {
                    std::int64_t sum = 0;
                    for (std::int64_t p = 0; p < 35; ++p)
                        sum += ints(x)[static_cast<std::size_t>((n * 35 + p) * 3 + c)] + 4;
                    Scaled s(static_cast<double>(si) / static_cast<double>(so));
                    s.m = (s.m << 5) / 35;  // 2^5 <= 35 < 2^6
                    s.e -= 5;
                    ASSERT_EQ(ints(out)[static_cast<std::size_t>(n * 3 + c)], clip8(scale_by(sum, s, rounding) + 9));
                }
            }
        }
    }
}

TEST(TfliteReduce, FloatMeanSumMaxMin) {
    const auto x = random_f32({3, 4, 5});
    const auto v = x.as<float>();
    const auto reducer = [](TfliteBuilder& t) {
        return Options{BuiltinOptions::ReducerOptions, CreateReducerOptions(t.fbb, false).Union()};
    };
    const auto result = [&](B code) {
        return run(one_op_indices(code, f32({3, 4, 5}), {{0, 2}}, f32({4}), reducer), {x}).at(0);
    };
    const auto mean = result(B::MEAN), sum = result(B::SUM), high = result(B::REDUCE_MAX), low = result(B::REDUCE_MIN);
    ASSERT_EQ(mean.shape, (Shape{4}));
    for (std::size_t j = 0; j < 4; ++j) {
        double total = 0;
        float top = -1e9f, bottom = 1e9f;
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t k = 0; k < 5; ++k) {
                const float e = v[(i * 4 + j) * 5 + k];
                total += static_cast<double>(e), top = std::max(top, e), bottom = std::min(bottom, e);
            }
        }
        EXPECT_NEAR(sum.as<float>()[j], total, 1e-5);
        EXPECT_NEAR(mean.as<float>()[j], total / 15, 1e-6);
        EXPECT_EQ(high.as<float>()[j], top);
        EXPECT_EQ(low.as<float>()[j], bottom);
    }
}

// Sizes chosen so that VALID leaves a remainder and SAME pads unevenly.
TEST(TflitePool, MaxAndAverageInt8) {
    for (const bool average : {false, true}) {
        for (const Padding padding : {Padding::SAME, Padding::VALID}) {
            const std::int64_t ih = 8, iw = 7, kh = 3, kw = 2, sy = 3, sx = 2;
            const bool same = padding == Padding::SAME;
            const std::int64_t oh = same ? (ih + sy - 1) / sy : (ih - kh) / sy + 1,
                               ow = same ? (iw + sx - 1) / sx : (iw - kw) / sx + 1;
            const std::int64_t top = same ? std::max<std::int64_t>((oh - 1) * sy + kh - ih, 0) / 2 : 0;
            const std::int64_t left = same ? std::max<std::int64_t>((ow - 1) * sx + kw - iw, 0) / 2 : 0;
            const auto x = random_i8({2, ih, iw, 3});
            const Bytes model =
                one_op(average ? B::AVERAGE_POOL_2D : B::MAX_POOL_2D, {i8({2, 8, 7, 3}, 0.1f, -30)},
                       i8({2, static_cast<std::int32_t>(oh), static_cast<std::int32_t>(ow), 3}, 0.1f, -30),
                       [&](TfliteBuilder& t) {
                           return Options{BuiltinOptions::Pool2DOptions,
                                          CreatePool2DOptions(t.fbb, padding, 2, 3, 2, 3, Act::RELU6).Union()};
                       });
            const auto out = run(model, {x}).at(0);
            ASSERT_EQ(out.shape, (Shape{2, oh, ow, 3}));
            std::size_t at = 0;
            for (std::int64_t n = 0; n < 2; ++n)
                for (std::int64_t oy = 0; oy < oh; ++oy)
                    for (std::int64_t ox = 0; ox < ow; ++ox)
                        for (std::int64_t c = 0; c < 3; ++c) {
                            std::int64_t sum = 0, count = 0, most = -128;
                            for (std::int64_t y = oy * sy - top; y < oy * sy - top + kh; ++y)
                                for (std::int64_t w = ox * sx - left; w < ox * sx - left + kw; ++w) {
                                    if (y < 0 || y >= ih || w < 0 || w >= iw) continue;
                                    const std::int64_t q =
                                        ints(x)[static_cast<std::size_t>(((n * ih + y) * iw + w) * 3 + c)];
                                    sum += q, ++count, most = std::max(most, q);
                                }
                            const std::int64_t mean = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
                            ASSERT_EQ(ints(out)[at++], std::clamp<std::int64_t>(average ? mean : most, -30, 30));
                        }
        }
    }
}

Options beta_of_one(TfliteBuilder& t) {
    return {BuiltinOptions::SoftmaxOptions, CreateSoftmaxOptions(t.fbb, 1).Union()};
}

TEST(TfliteSoftmax, Int8IsNearTheTrueFunctionForLongRowsAndManyScales) {
    for (const float scale : {0.01f, 0.1f, 1.0f}) {
        for (const std::int32_t n : {1, 2, 12, 700}) {
            const auto x = random_i8({3, n});
            const Bytes model = one_op(B::SOFTMAX, {i8({3, n}, scale, 5)}, i8({3, n}, 1.0f / 256, -128), beta_of_one);
            const Ints got = ints(run(model, {x}).at(0)), q = ints(x);
            for (std::int32_t r = 0; r < 3; ++r) {
                double sum = 0;
                const auto row = static_cast<std::size_t>(r * n);
                for (std::int32_t i = 0; i < n; ++i)
                    sum += std::exp(static_cast<double>(scale) *
                                    static_cast<double>(q[row + static_cast<std::size_t>(i)]));
                for (std::int32_t i = 0; i < n; ++i) {
                    const double p = std::exp(static_cast<double>(scale) *
                                              static_cast<double>(q[row + static_cast<std::size_t>(i)])) /
                                     sum;
                    ASSERT_NEAR(static_cast<double>(got[row + static_cast<std::size_t>(i)]),
                                std::min(p * 256 - 128, 127.0), 0.51);
                }
            }
        }
    }
}

TEST(TfliteSoftmax, FloatDoesNotOverflowAndAbsentOptionsAreZeros) {
    HostTensor x(DType::fp32, {1, 4});
    const float values[] = {1000, 999, -1000, 998};
    std::copy(std::begin(values), std::end(values), x.as<float>().begin());
    const auto out = run(one_op(B::SOFTMAX, {f32({1, 4})}, f32({1, 4}), beta_of_one), {x}).at(0);
    const auto equal = run(one_op(B::SOFTMAX, {f32({1, 4})}, f32({1, 4})), {x}).at(0);
    for (const float v : equal.as<float>()) EXPECT_EQ(v, 0.25f) << "a beta of 0";
    const double sum = 1 + std::exp(-1.0) + std::exp(-2.0);
    EXPECT_NEAR(out.as<float>()[0], 1 / sum, 1e-6);
    EXPECT_NEAR(out.as<float>()[1], std::exp(-1.0) / sum, 1e-6);
    EXPECT_EQ(out.as<float>()[2], 0);
}

}  // namespace
}  // namespace tosavk

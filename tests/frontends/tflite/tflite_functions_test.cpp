// Functions of one quantized number, and what two of them make: every integer of 8 bits against the function itself,
// and integers that TFLite's own kernels gave.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

HostTensor ints_of(DType type, const Ints& list) {
    HostTensor t(type, {static_cast<std::int64_t>(list.size())});
    t.bytes = encode_ints(type, list);
    return t;
}

Ints every_8_bits() {
    Ints all;
    for (int q = -128; q < 128; ++q) all.push_back(q);
    return all;
}

using MakeOptions = std::function<Options(TfliteBuilder&)>;

struct Quantization {
    float scale;
    std::int64_t zp;
};

TensorSpec spec(TensorType type, std::size_t count, const Quantization& q) {
    return {{static_cast<std::int32_t>(count)}, type, {q.scale}, {q.zp}};
}

Ints results(B code, TensorType type, const Ints& x, const Quantization& in, const Quantization& out,
             const MakeOptions& options = {}) {
    const DType t = type == TensorType::INT16 ? DType::i16 : DType::i8;
    return ints(
        run(one_op(code, {spec(type, x.size(), in)}, spec(type, x.size(), out), options), {ints_of(t, x)}).at(0));
}

MakeOptions gelu(bool approximate) {
    return [approximate](TfliteBuilder& t) {
        return Options{BuiltinOptions::GeluOptions, CreateGeluOptions(t.fbb, approximate).Union()};
    };
}

// In double: tables of floats may differ where a value lies within float error of a tie.
TEST(TfliteFunctions, EveryIntegerOfEightBits) {
    struct Function {
        B code;
        std::function<double(double)> f;
        Quantization in, out;
        MakeOptions options = {};
    };
    const auto gelu_of = [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); };
    const auto approximate = [](double x) {
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    };
    const Function functions[] = {
        {B::EXP, [](double x) { return std::exp(x); }, {0.02f, 3}, {0.05f, -120}},
        {B::LOG, [](double x) { return x <= 0 ? -1e9 : std::log(x); }, {0.05f, -100}, {0.04f, 7}},
        {B::ELU, [](double x) { return x < 0 ? std::expm1(x) : x; }, {0.03f, 20}, {0.02f, -60}},
        {B::GELU, gelu_of, {0.03f, -5}, {0.025f, -80}, gelu(false)},
        {B::GELU, approximate, {0.03f, -5}, {0.025f, -80}, gelu(true)},
        {B::ABS, [](double x) { return std::abs(x); }, {0.03f, -128}, {0.04f, 3}},
        {B::RELU_0_TO_1, [](double x) { return std::clamp(x, 0.0, 1.0); }, {0.02f, 9}, {0.01f, -20}},
    };
    const Ints all = every_8_bits();
    for (const Function& function : functions) {
        const Ints got = results(function.code, TensorType::INT8, all, function.in, function.out, function.options);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double x = static_cast<double>(function.in.scale) * static_cast<double>(all[i] - function.in.zp);
            const double expected =
                function.f(x) / static_cast<double>(function.out.scale) + static_cast<double>(function.out.zp);
            EXPECT_LE(std::abs(static_cast<double>(got[i]) - std::clamp(expected, -128.0, 127.0)), 0.5001)
                << EnumNameBuiltinOperator(function.code) << " of " << x;
        }
    }
}

TEST(TfliteFunctions, RootsCutOffAndReciprocalRootsAreNear) {
    const Ints all = every_8_bits();
    const Ints roots = results(B::SQRT, TensorType::INT8, all, {0.02f, -120}, {0.01f, -128});
    const Ints reciprocal = results(B::RSQRT, TensorType::INT8, all, {0.02f, -120}, {0.04f, -100});
    for (std::size_t i = 0; i < all.size(); ++i) {
        const float x = 0.02f * static_cast<float>(all[i] + 120);
        // What TFLite does not take (below 0) is as 0.
        EXPECT_EQ(roots[i], x <= 0 ? -128 : clip8(static_cast<std::int64_t>(std::sqrt(x) / 0.01f) - 128)) << x;
        const double expected = x <= 0 ? 127 : std::min(127.0, 25 / std::sqrt(static_cast<double>(x)) - 100);
        EXPECT_LE(std::abs(static_cast<double>(reciprocal[i]) - expected), 0.51) << x;
    }
}

// The fixed-point kernels have errors of their own.
TEST(TfliteFunctions, IntegersOfTheRealKernels) {
    const Ints x8{-128, -111, -94, -77, -60, -43, -26, -9, 8, 25, 42, 59, 76, 93, 110, 127};
    const auto of_8 = [&](B code, const Quantization& in, const Quantization& out) {
        return results(code, TensorType::INT8, x8, in, out);
    };
    EXPECT_EQ(of_8(B::HARD_SWISH, {0.05f, -7}, {0.03f, 5}),
              (Ints{5, 5, 5, 5, 0, -7, -6, 3, 21, 46, 79, 115, 127, 127, 127, 127}));
    EXPECT_EQ(of_8(B::HARD_SWISH, {0.2f, -128}, {0.1f, -100}),
              (Ints{-100, -66, -32, 2, 36, 70, 104, 127, 127, 127, 127, 127, 127, 127, 127, 127}));
    Ints most(16, 127);
    most[0] = 118;
    EXPECT_EQ(of_8(B::HARD_SWISH, {0.5f, -128}, {0.00683743646f, 118}), most) << "nothing is shifted to the right";
    // A shift by more than the 15 bits of TFLite's numbers leaves the sign, and puts what is not negative one up.
    EXPECT_EQ(of_8(B::HARD_SWISH, {0.05f, -7}, {50, 20}),
              (Ints{21, 21, 21, 21, 19, 19, 19, 19, 21, 21, 21, 21, 21, 21, 21, 21}));
    EXPECT_EQ(of_8(B::RSQRT, {0.02f, -128}, {0.04f, -100}),
              (Ints{127, -57, -70, -75, -79, -81, -82, -84, -85, -86, -86, -87, -88, -88, -89, -89}));
    EXPECT_EQ(of_8(B::SQRT, {0.02f, -128}, {0.01f, -128}),
              (Ints{-128, -70, -46, -28, -12, 2, 14, 26, 36, 46, 56, 65, 73, 82, 90, 97}));

    const Ints x16{-32768, -20000, -8191, -300, -1, 0, 1, 77, 4096, 12345, 32767};
    const auto of_16 = [&](B code, float in, float out) {
        return results(code, TensorType::INT16, x16, {in, 0}, {out, 0});
    };
    constexpr float one = 1.0f / 32768;
    EXPECT_EQ(of_16(B::LOGISTIC, 1.0f / 4096, one),
              (Ints{11, 247, 3907, 15784, 16382, 16384, 16386, 16538, 23956, 31234, 32757}));
    EXPECT_EQ(of_16(B::LOGISTIC, 0.0007f, one),
              (Ints{1, 1, 106, 14670, 16378, 16384, 16390, 16825, 31005, 32762, 32767}));
    EXPECT_EQ(of_16(B::TANH, 1.0f / 4096, one),
              (Ints{-32767, -32764, -31588, -2396, -8, 0, 8, 616, 24956, 32611, 32767}));
    EXPECT_EQ(of_16(B::TANH, 1.0f / 2048, one),
              (Ints{-32767, -32767, -32746, -4766, -16, 0, 16, 1232, 31589, 32767, 32767}));
    EXPECT_EQ(of_16(B::TANH, 0.00007f, one), (Ints{-32108, -29011, -16967, -688, -3, 0, 3, 176, 9145, 22883, 32108}));
    EXPECT_EQ(of_16(B::EXP, 0.0001f, 0.001f), (Ints{38, 136, 441, 971, 1000, 1000, 1000, 1008, 1506, 3437, 26486}));
    EXPECT_EQ(of_16(B::LOG, 0.001f, 0.0003f),
              (Ints{-32768, -32768, -32768, -32768, -27497, -27455, -27293, -15010, 4700, 8378, 11632}));
    EXPECT_EQ(of_16(B::GELU, 0.0002f, 0.0003f), (Ints{0, 0, -277, -95, -1, -1, -1, 25, 2167, 8174, 21844}));
    EXPECT_EQ(of_16(B::ABS, 0.001f, 0.0013f), (Ints{25206, 15385, 6301, 231, 1, 0, 1, 59, 3151, 9496, 25205}));
    const Ints positive{0, 1, 77, 4096, 12345, 32767};
    EXPECT_EQ(results(B::RSQRT, TensorType::INT16, positive, {0.001f, 0}, {0.002f, 0}),
              (Ints{25218, 25032, 10874, 247, 143, 87}));
    EXPECT_EQ(results(B::SQRT, TensorType::INT16, positive, {0.001f, 0}, {0.0002f, 0}),
              (Ints{0, 158, 1387, 10119, 17567, 28621}));
}

TEST(TfliteFunctions, SignsOfIntegers) {
    const Quantization q{0.1f, 5};
    EXPECT_EQ(results(B::NEG, TensorType::INT8, {-128, -1, 0, 5, 127}, q, q), (Ints{-128, 1, 0, -5, -127}));
    EXPECT_EQ(results(B::NEG, TensorType::INT16, {-32768, -1, 0, 32767}, {1, 0}, {1, 0}), (Ints{-32768, 1, 0, -32767}));
    const auto of_i32 = [](B code, const Ints& x) {
        const TensorSpec s{{static_cast<std::int32_t>(x.size())}, TensorType::INT32};
        return ints(run(one_op(code, {s}, s), {ints_of(DType::i32, x)}).at(0));
    };
    EXPECT_EQ(of_i32(B::NEG, {INT32_MIN, -7, 0, INT32_MAX}), (Ints{INT32_MIN, 7, 0, -INT32_MAX}));
    EXPECT_EQ(of_i32(B::SIGN, {INT32_MIN, -7, 0, 3, INT32_MAX}), (Ints{-1, -1, 0, 1, 1}));
    EXPECT_EQ(of_i32(B::ABS, {-7, 0, 3}), (Ints{7, 0, 3}));
}

TEST(TfliteFunctions, SmallNumbersKeepTheirDigits) {
    HostTensor x(DType::fp32, {5});
    const float values[] = {-1e-6f, -0.001f, -1.0f, -30.0f, 2.5f};
    std::copy(std::begin(values), std::end(values), x.as<float>().begin());
    const auto got = run(one_op(B::ELU, {f32({5})}, f32({5})), {x}).at(0);
    for (std::size_t i = 0; i < 5; ++i) {
        const double expected = values[i] < 0 ? std::expm1(static_cast<double>(values[i])) : 2.5;
        EXPECT_NEAR(got.as<float>()[i], expected, 3e-7 * std::abs(expected));
    }
}

TEST(TfliteFunctions, SaysWhatItDoesNotTake) {
    const auto i8_op = [](B code, const Quantization& in, const Quantization& out) {
        return one_op(code, {spec(TensorType::INT8, 4, in)}, spec(TensorType::INT8, 4, out));
    };
    expect_error(i8_op(B::SIN, {1, 0}, {1, 0}), ErrorCode::unsupported, "types INT8 -> INT8");
    expect_error(i8_op(B::HARD_SWISH, {1, 0}, {0.001f, 0}), ErrorCode::unsupported, "ratio of its scales");
    expect_error(one_op(B::LOGISTIC, {i16({4}, 0.1f)}, i16({4}, 0.1f)), ErrorCode::unsupported, "not 1/32768");
    expect_error(one_op(B::ABS, {{{4}, TensorType::INT8}}, {{4}, TensorType::INT8}), ErrorCode::bad_model,
                 "no quantization");
    expect_error(one_op(B::SQRT, {i8({4}, 0, 0)}, i8({4})), ErrorCode::bad_model, "scale 0");
}

// ---- two operands -------------------------------------------------------------------------------------------------

TEST(TfliteFunctions, SquaredDifferenceOfInt8) {
    const float sa = 0.03f, sb = 0.05f, so = 0.2f;
    const auto a = random_i8({3, 50}), b = random_i8({50});
    const double twice_max = 2 * static_cast<double>(sb);
    const Scaled ma(static_cast<double>(sa) / twice_max), mb(static_cast<double>(sb) / twice_max),
        mo(twice_max * twice_max / ((1 << 14) * static_cast<double>(so)));
    for (const Rounding rounding : roundings) {
        const Ints got =
            ints(run(one_op(B::SQUARED_DIFFERENCE, {i8({3, 50}, sa, 7), i8({50}, sb, -20)}, i8({3, 50}, so, -128)),
                     {a, b}, rounding)
                     .at(0));
        for (std::size_t i = 0; i < got.size(); ++i) {
            const std::int64_t difference =
                scale_by((ints(a)[i] - 7) * 128, ma, rounding) - scale_by((ints(b)[i % 50] + 20) * 128, mb, rounding);
            ASSERT_EQ(got[i], clip8(scale_by(difference * difference, mo, rounding) - 128)) << i;
        }
    }
}

TEST(TfliteFunctions, PreluOfQuantizedNumbers) {
    for (const bool wide : {false, true}) {  // int16 has slopes of int8
        const DType type = wide ? DType::i16 : DType::i8;
        const float si = 0.04f, slope = 0.01f, so = 0.05f;
        const std::int64_t zi = wide ? 0 : 11, za = -9, zo = wide ? 0 : -30;
        const auto x = random_ints(type, {4, 30}, min_of(type), max_of(type));
        const auto alpha = random_i8({30});
        const TensorType t = wide ? TensorType::INT16 : TensorType::INT8;
        const Bytes model = one_op(B::PRELU, {{{4, 30}, t, {si}, {zi}}, i8({30}, slope, za)}, {{4, 30}, t, {so}, {zo}});
        const Scaled identity(static_cast<double>(si / so)), scaled(static_cast<double>(si * slope / so));
        for (const Rounding rounding : roundings) {
            const Ints got = ints(run(model, {x, alpha}, rounding).at(0));
            for (std::size_t i = 0; i < got.size(); ++i) {
                const std::int64_t v = ints(x)[i] - zi;
                const std::int64_t r = v >= 0 ? scale_by(v, identity, rounding)
                                              : scale_by(v * (ints(alpha)[i % 30] - za), scaled, rounding);
                ASSERT_EQ(got[i], std::clamp(r + zo, min_of(type), max_of(type))) << v;
            }
        }
    }
}

// Where a quotient is far below a step, TFLite's shift of 32 bits gives what its processor makes of it.
TEST(TfliteFunctions, QuotientsOfInt8AndInt16) {
    const Ints a{-128, -50, -8, -7, -6, 0, 10, 127}, b{-128, -40, -3, -1, 1, 7, 50, 127};
    HostTensor x(DType::i8, {8, 1});
    x.bytes = encode_ints(DType::i8, a);
    EXPECT_EQ(ints(run(one_op(B::DIV, {i8({8, 1}, 0.03f, -7), i8({8}, 0.02f, 0)}, i8({8, 8}, 0.05f, 4)),
                       {x, ints_of(DType::i8, b)})
                       .at(0)),
              (Ints{32,   95, 127,  127,  -128, -128, -69, -25,  14,  36,  127,  127,  -128, -128, -22, -6,
                    127,  5,  14,   34,   -26,  0,    3,   -128, 5,   4,   4,    4,    4,    4,    4,   5,
                    -128, 3,  -6,   -26,  34,   8,    5,   4,    2,   -1,  -66,  -128, 127,  34,   8,   6,
                    0,    -9, -128, -128, 127,  77,   14,  8,    -27, -96, -128, -128, 127,  127,  84,  36}));
    // The same of int16, of which there is no table.
    HostTensor wide(DType::i16, {6, 1});
    wide.bytes = encode_ints(DType::i16, Ints{-32768, -5000, -3, 0, 40, 32767});
    const HostTensor divisors = ints_of(DType::i16, {-32768, -700, -1, 3, 900, 32767});
    const auto of_16 = [&](float sa, float sb, float so) {
        return ints(run(one_op(B::DIV, {i16({6, 1}, sa), i16({6}, sb)}, i16({6, 6}, so)), {wide, divisors}).at(0));
    };
    EXPECT_EQ(of_16(0.0001f, 0.003f, 0.0005f),
              (Ints{67,     3121, 32767, -32768, -2427, -67,    10,  476,   32767,  -32768, -370, -10,
                    32767,  0,    200,   -67,    0,     -32768, 1,   1,     0,      0,      1,    1,
                    -32768, -4,   -2667, 889,    3,     32767,  -67, -3121, -32768, 32767,  2427, 67}));
    EXPECT_EQ(of_16(0.001f, 0.02f, 0.9f),
              (Ints{32767,  3,      1820,  -607,   -2,     -32768, 32767,  0,  278,   -93, 0, -32768,
                    21846,  32767,  32767, -32768, -32768, -21847, 1,      1,  1,     1,   1, 1,
                    -32768, -32768, -2,    1,      32767,  32767,  -32768, -3, -1820, 607, 2, 32767}));
    ImportOptions single;
    single.rounding = TfliteRounding::single_round;
    EXPECT_THROW(import_tflite(one_op(B::DIV, {i16({4}, 1), i16({4}, 1)}, i16({4}, 1)), single), Error);

    TfliteBuilder builder;
    const int in = builder.tensor(i8({2})), zero = builder.constant(i8({2}, 1, 3), encode_ints(DType::i8, Ints{5, 3}));
    const int out = builder.tensor(i8({2}));
    builder.op(B::DIV, {in, zero}, {out});
    expect_error(builder.finish({in}, {out}), ErrorCode::bad_model, "divisor is 0");
}

TEST(TfliteFunctions, QuotientsAndPowersOfIntegers) {
    const auto of = [](B code, TensorType type, DType t, const Ints& a, const Ints& b) {
        const TensorSpec s{{static_cast<std::int32_t>(a.size())}, type};
        return ints(run(one_op(code, {s, s}, s), {ints_of(t, a), ints_of(t, b)}).at(0));
    };
    EXPECT_EQ(of(B::FLOOR_DIV, TensorType::INT8, DType::i8, {-128, 7, -7}, {-1, -2, 3}), (Ints{-128, -4, -3}));
    EXPECT_EQ(of(B::FLOOR_MOD, TensorType::INT16, DType::i16, {-100, 7, -7}, {30, -2, 3}), (Ints{20, -1, 2}));
    EXPECT_EQ(of(B::POW, TensorType::INT32, DType::i32, {3, -3, 0, 0, 2, -2, 1, -1, -1, 46340, 5},
                 {4, 3, 0, 9, 30, 31, 1000, 2147483647, 64, 2, 1}),
              (Ints{81, -27, 1, 0, 1 << 30, INT32_MIN, 1, -1, 1, 2147395600, 5}));
    TfliteBuilder builder;
    const TensorSpec two{{2}, TensorType::INT32};
    const int in = builder.tensor(two), exponent = builder.constant_i32({2}, {1, -1}), out = builder.tensor(two);
    builder.op(B::POW, {in, exponent}, {out});
    expect_error(builder.finish({in}, {out}), ErrorCode::bad_model, "is negative");
}

TEST(TfliteFunctions, ActivationsOfInt32) {
    const TensorSpec s{{5}, TensorType::INT32};
    const auto of = [&](Act act) {
        const Bytes model = one_op(B::MUL, {s, s}, s, [&](TfliteBuilder& t) {
            return Options{BuiltinOptions::MulOptions, CreateMulOptions(t.fbb, act).Union()};
        });
        return ints(run(model, {ints_of(DType::i32, {-5, -1, 0, 1, 9}), ints_of(DType::i32, {2, 1, 7, 1, 9})}).at(0));
    };
    EXPECT_EQ(of(Act::NONE), (Ints{-10, -1, 0, 1, 81}));
    EXPECT_EQ(of(Act::RELU), (Ints{0, 0, 0, 1, 81}));
    EXPECT_EQ(of(Act::RELU6), (Ints{0, 0, 0, 1, 6}));
    EXPECT_EQ(of(Act::RELU_N1_TO_1), (Ints{-1, -1, 0, 1, 1}));
}

// ---- conversions --------------------------------------------------------------------------------------------------

TEST(TfliteFunctions, FakeQuantMovesItsRangeToHoldZero) {
    const auto x = random_f32({400}, 3);
    for (const bool narrow : {false, true}) {
        const Bytes model = one_op(B::FAKE_QUANT, {f32({400})}, f32({400}), [&](TfliteBuilder& t) {
            return Options{BuiltinOptions::FakeQuantOptions,
                           CreateFakeQuantOptions(t.fbb, -0.7f, 1.9f, 4, narrow).Union()};
        });
        const auto got = run(model, {x}).at(0);
        const double first = narrow ? 1 : 0, step = (1.9 + 0.7) / (15 - first);
        const double zero = std::round(first + 0.7 / step);
        for (std::size_t i = 0; i < 400; ++i) {
            const double v = static_cast<double>(x.as<float>()[i]) / step + zero;
            const double nearest = std::clamp(std::round(v), first, 15.0);
            if (std::abs(v - std::floor(v) - 0.5) < 1e-4) continue;  // near a tie
            EXPECT_NEAR(got.as<float>()[i], (nearest - zero) * step, 1e-6) << v;
        }
    }
    expect_error(one_op(B::FAKE_QUANT, {f32({4})}, f32({4})), ErrorCode::bad_model, "0 bits");
}

TEST(TfliteFunctions, QuantizesAlongADimension) {
    const TensorSpec channels{{2, 3}, TensorType::INT8, {0.1f, 0.25f, 3.0f}, {-3, 0, 100}, 1};
    const auto x = random_f32({2, 3}, 20);
    const auto stored = run(one_op(B::QUANTIZE, {f32({2, 3})}, channels), {x}).at(0);
    const auto real = run(one_op(B::DEQUANTIZE, {channels}, f32({2, 3})), {stored}).at(0);
    for (std::size_t i = 0; i < 6; ++i) {
        const float scale = channels.scale[i % 3];
        const std::int64_t zp = channels.zero_point[i % 3], q = ints(stored)[i];
        EXPECT_EQ(q, clip8(static_cast<std::int64_t>(std::round(x.as<float>()[i] / scale)) + zp)) << i;
        EXPECT_EQ(real.as<float>()[i], static_cast<float>(q - zp) * scale) << i;
    }
    TensorSpec wrong = channels;
    wrong.scale[1] = 0;
    expect_error(one_op(B::DEQUANTIZE, {wrong}, f32({2, 3})), ErrorCode::bad_model, "scale 0");
    wrong = channels;
    wrong.zero_point[2] = 200;
    expect_error(one_op(B::DEQUANTIZE, {wrong}, f32({2, 3})), ErrorCode::bad_model, "zero point 200");
}

// Graphs hold the bits of UINT8 in i8.
TEST(TfliteFunctions, CastsUnsignedAndHalfNumbers) {
    const auto of = [](TensorType from, TensorType to, const HostTensor& x) {
        const auto n = static_cast<std::int32_t>(x.shape[0]);
        return run(one_op(B::CAST, {{{n}, from}}, {{n}, to}), {x}).at(0);
    };
    const TensorType u8 = TensorType::UINT8;
    EXPECT_EQ(ints(of(u8, TensorType::INT32, ints_of(DType::i8, {0, 127, -128, -1}))), (Ints{0, 127, 128, 255}));
    EXPECT_EQ(ints(of(u8, TensorType::INT8, ints_of(DType::i8, {0, 127, -128, -1}))), (Ints{0, 127, -128, -1}));
    EXPECT_EQ(ints(of(TensorType::INT32, u8, ints_of(DType::i32, {0, 255, 256, -1}))), (Ints{0, -1, 0, -1}));
    HostTensor x(DType::fp32, {5});
    const float values[] = {-3.5f, 0.9f, 200.7f, 1000.0f, std::nanf("")};
    std::copy(std::begin(values), std::end(values), x.as<float>().begin());
    EXPECT_EQ(ints(of(TensorType::FLOAT32, u8, x)), (Ints{0, 0, 200 - 256, -1, -1}));
    const HostTensor half = of(TensorType::FLOAT32, TensorType::FLOAT16, x);
    EXPECT_EQ(half.type, DType::fp16);
    EXPECT_EQ(ints(of(TensorType::FLOAT16, TensorType::INT16, half)), (Ints{-3, 0, 200, 1000, 32767}));
}

TEST(TfliteFunctions, RequantizesInt32ToFinerScales) {
    const Ints x{-2000, -37, 0, 1, 5, 400};
    const Bytes model = one_op(B::QUANTIZE, {{{6}, TensorType::INT32, {0.3f}, {0}}}, i8({6}, 0.07f, -11));
    const Ints got = ints(run(model, {ints_of(DType::i32, x)}).at(0));
    const Scaled m(static_cast<double>(0.3f) / static_cast<double>(0.07f));
    for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(got[i], clip8(scale_by(x[i], m, Rounding::double_round) - 11)) << x[i];
}

}  // namespace
}  // namespace tosavk

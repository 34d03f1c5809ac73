// TFLite's convolutions of int16 activations, TRANSPOSE_CONV and int4 weights against their arithmetic written again.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

constexpr float si = 0.0011f, so = 0.0023f;
constexpr std::int32_t ih = 4, iw = 5, ic = 4, oc = 6;

/// How 64-bit sums are scaled: by the upper half of the multiplier, half up.
std::int64_t scale_sum(std::int64_t x, const Scaled& s) {
    const std::int64_t m = s.m < 0x7fff0000 ? (s.m + 0x8000) >> 16 : 0x7fff;
    const __int128 product = static_cast<__int128>(x) * m;
    return static_cast<std::int64_t>((product + (static_cast<__int128>(1) << (14 - s.e))) >> (15 - s.e));
}

std::vector<float> channel_scales(std::size_t count) {
    std::vector<float> scales;
    for (std::size_t o = 0; o < count; ++o) scales.push_back(0.011f + 0.004f * static_cast<float>(o));
    return scales;
}

Scaled output_scale(float filter) {
    return Scaled(static_cast<double>(si) * static_cast<double>(filter) / static_cast<double>(so));
}

TensorSpec filter_spec(std::vector<std::int32_t> shape, const std::vector<float>& scales, int axis = 0,
                       TensorType type = TensorType::INT8) {
    return {std::move(shape), type, scales, std::vector<std::int64_t>(scales.size(), 0), axis};
}

enum class Bias { none, int32, int64 };

int bias_tensor(TfliteBuilder& t, Bias kind, const Ints& values) {
    const auto n = static_cast<std::int32_t>(values.size());
    if (kind == Bias::none) return -1;
    if (kind == Bias::int32) return t.constant({{n}, TensorType::INT32}, encode_ints(DType::i32, values));
    return t.constant({{n}, TensorType::INT64}, encode_ints(DType::i48, values));
}

/// VALID convolution by [oc][kh][kw][filter_ic], grouped where filter_ic < ic, or depthwise ([1][kh][kw][oc]).
Ints sums_of(const Ints& x, const Ints& w, std::int32_t kh, std::int32_t kw, std::int32_t filter_ic, bool depthwise) {
    Ints out;
    for (std::int32_t y = 0; y + kh <= ih; ++y)
        for (std::int32_t z = 0; z + kw <= iw; ++z)
            for (std::int32_t o = 0; o < oc; ++o) {
                std::int64_t sum = 0;
                for (std::int32_t ky = 0; ky < kh; ++ky)
                    for (std::int32_t kx = 0; kx < kw; ++kx)
                        for (std::int32_t i = 0; i < (depthwise ? 1 : filter_ic); ++i) {
                            const std::int32_t channel =
                                depthwise ? o / (oc / 2) : o / (oc / (ic / filter_ic)) * filter_ic + i;
                            const std::int32_t channels = depthwise ? 2 : ic;
                            const std::int32_t at =
                                depthwise ? (ky * kw + kx) * oc + o : ((o * kh + ky) * kw + kx) * filter_ic + i;
                            sum += x[static_cast<std::size_t>(((y + ky) * iw + z + kx) * channels + channel)] *
                                   w[static_cast<std::size_t>(at)];
                        }
                out.push_back(sum);
            }
    return out;
}

void check_conv16(Bias kind, bool per_channel, std::int32_t filter_ic, bool depthwise) {
    SCOPED_TRACE(testing::Message() << "bias " << static_cast<int>(kind) << " per_channel " << per_channel
                                    << " filter_ic " << filter_ic << " depthwise " << depthwise);
    const std::int32_t channels = depthwise ? 2 : ic;
    const auto x = random_ints(DType::i16, {1, ih, iw, channels}, -32768, 32767);
    const std::vector<std::int32_t> shape =
        depthwise ? std::vector<std::int32_t>{1, 2, 3, oc} : std::vector<std::int32_t>{oc, 2, 3, filter_ic};
    const auto w = random_i8(Shape(shape.begin(), shape.end()));
    const std::vector<float> scales = channel_scales(per_channel ? oc : 1);
    Ints bias(oc, 0);
    for (std::size_t o = 0; o < bias.size() && kind != Bias::none; ++o) {
        bias[o] = static_cast<std::int64_t>(o * o) * 70000 - 900000;
        if (kind == Bias::int64 && o == 0) bias[o] = -(std::int64_t{1} << 40);  // saturates
    }
    TfliteBuilder t;
    const int in = t.tensor(i16({1, ih, iw, channels}, si)),
              filter = t.constant(filter_spec(shape, scales, depthwise ? 3 : 0), w.bytes);
    const int b = bias_tensor(t, kind, bias), out = t.tensor(i16({1, 1, 1, oc}, so));
    if (depthwise) {
        t.op(B::DEPTHWISE_CONV_2D, {in, filter, b}, {out}, BuiltinOptions::DepthwiseConv2DOptions,
             CreateDepthwiseConv2DOptions(t.fbb, Padding::VALID, 1, 1, 0, Act::RELU).Union());
    } else {
        t.op(B::CONV_2D, {in, filter, b}, {out}, BuiltinOptions::Conv2DOptions,
             CreateConv2DOptions(t.fbb, Padding::VALID, 1, 1, Act::RELU).Union());
    }
    const Bytes model = t.finish({in}, {out});
    const Ints sums = sums_of(ints(x), ints(w), 2, 3, filter_ic, depthwise);
    for (const Rounding rounding : roundings) {
        const Ints got = ints(run(model, {x}, rounding).at(0));
        ASSERT_EQ(got.size(), sums.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
            const std::size_t o = i % oc;
            const Scaled s = output_scale(scales[per_channel ? o : 0]);
            const std::int64_t sum = sums[i] + bias[o];
            const std::int64_t scaled = kind == Bias::int64 ? scale_sum(sum, s) : scale_by(sum, s, rounding);
            ASSERT_EQ(got[i], std::clamp<std::int64_t>(scaled, 0, 32767)) << i;
        }
    }
}

TEST(TfliteConv16, SumsInTheTypeOfTheBias) {
    for (const Bias kind : {Bias::none, Bias::int32, Bias::int64}) {
        for (const bool per_channel : {false, true}) {
            check_conv16(kind, per_channel, ic, false);
            check_conv16(kind, per_channel, 2, false);  // two groups
            check_conv16(kind, per_channel, 1, true);
        }
    }
}

TEST(TfliteConv16, FullyConnectedRoundsTheProductOfScales) {
    const float sw = 0.017f;
    const auto x = random_ints(DType::i16, {3, 8}, -32768, 32767), w = random_i8({5, 8});
    for (const Bias kind : {Bias::none, Bias::int64}) {
        const Ints bias = kind == Bias::none ? Ints(5, 0) : Ints{1, -2, 300000, -4000000, 5};
        TfliteBuilder t;
        const int in = t.tensor(i16({3, 8}, si)), weights = t.constant(i8({5, 8}, sw, 0), w.bytes);
        const int b = bias_tensor(t, kind, bias), out = t.tensor(i16({3, 5}, so));
        t.op(B::FULLY_CONNECTED, {in, weights, b}, {out});
        const Bytes model = t.finish({in}, {out});
        const float product = si * sw;
        const Scaled s(static_cast<double>(product) / static_cast<double>(so));
        for (const Rounding rounding : roundings) {
            const Ints got = ints(run(model, {x}, rounding).at(0));
            for (std::size_t r = 0; r < 3; ++r)
                for (std::size_t o = 0; o < 5; ++o) {
                    std::int64_t sum = bias[o];
                    for (std::size_t i = 0; i < 8; ++i) sum += ints(x)[r * 8 + i] * ints(w)[o * 8 + i];
                    ASSERT_EQ(got[r * 5 + o],
                              clip16(kind == Bias::int64 ? scale_sum(sum, s) : scale_by(sum, s, rounding)));
                }
        }
    }
}

Bytes int16_by_int16(const TensorSpec& weights, const HostTensor& w, TensorType bias_type, const Ints& bias,
                     TensorType option) {
    TfliteBuilder b;
    const int x = b.tensor(i16({3, 9}, 0.05f)), k = b.constant(weights, w.bytes), y = b.tensor(i16({3, 4}, 2000));
    std::vector<int> inputs{x, k};
    if (!bias.empty()) {
        const bool wide = bias_type == TensorType::INT64;
        inputs.push_back(b.constant({{static_cast<std::int32_t>(bias.size())}, bias_type, {0.001f}, {0}},
                                    encode_ints(wide ? DType::i48 : DType::i32, bias)));
    }
    b.op(
        B::FULLY_CONNECTED, inputs, {y}, BuiltinOptions::FullyConnectedOptions,
        CreateFullyConnectedOptions(b.fbb, Act::NONE, FullyConnectedOptionsWeightsFormat::DEFAULT, false, false, option)
            .Union());
    return b.finish({x}, {y});
}

TEST(TfliteConv16, FullyConnectedOfInt16WeightsKeeps15BitsOfAMultiplier) {
    const auto x = random_ints(DType::i16, {3, 9}, -32768, 32767), w = random_ints(DType::i16, {4, 9}, -32768, 32767);
    const Ints far{2147483647, -2147483648, -1, 12345};
    const TensorSpec one{{4, 9}, TensorType::INT16, {0.02f}, {0}},
        each{{4, 9}, TensorType::INT16, {0.02f, 0.03f, 0.01f, 0.5f}, {0, 0, 0, 0}};
    for (const bool per_channel : {false, true}) {
        for (const Ints& bias : {Ints{}, far}) {
            for (const TensorType type : {TensorType::INT32, TensorType::INT64}) {
                const Ints got = ints(run(int16_by_int16(per_channel ? each : one, w, type, bias, type), {x}).at(0));
                for (std::size_t r = 0; r < 3; ++r) {
                    for (std::size_t c = 0; c < 4; ++c) {
                        std::int64_t sum = bias.empty() ? 0 : bias[c];
                        for (std::size_t k = 0; k < 9; ++k) sum += ints(x)[r * 9 + k] * ints(w)[c * 9 + k];
                        // One scale is multiplied as a float, several as doubles.
                        const double scale = per_channel
                                               ? static_cast<double>(0.05f) * static_cast<double>(each.scale[c])
                                               : static_cast<double>(0.05f * 0.02f);
                        const Scaled s(scale / 2000);
                        const std::int64_t m = s.m < 0x7fff0000 ? (s.m + (1 << 15)) >> 16 : 0x7fff;
                        ASSERT_EQ(got[r * 4 + c], clip16((sum * m + (std::int64_t{1} << (14 - s.e))) >> (15 - s.e)));
                    }
                }
            }
        }
    }
    expect_error(int16_by_int16(one, w, TensorType::INT64, far, TensorType::FLOAT32), ErrorCode::unsupported,
                 "a bias of type INT64 is not what its options say");
    expect_error(int16_by_int16(one, w, TensorType::INT64, {1LL << 40, 0, 0, 0}, TensorType::INT64),
                 ErrorCode::unsupported, "is too large");
    expect_error(int16_by_int16(one, w, TensorType::INT32, {1, 2, 3}, TensorType::INT32), ErrorCode::bad_model,
                 "has 3 elements for 4 channels");
}

TEST(TfliteConv16, BiasesPast48BitsAreRefused) {
    TfliteBuilder t;
    const int in = t.tensor(i16({1, 1}, si)), weights = t.constant(i8({1, 1}, 0.5f, 0), Bytes(1));
    const Ints large{std::int64_t{1} << 47};
    const int b = t.constant({{1}, TensorType::INT64}, encode_ints(DType::shape, large)),
              out = t.tensor(i16({1, 1}, so));
    t.op(B::FULLY_CONNECTED, {in, weights, b}, {out});
    expect_error(t.finish({in}, {out}), ErrorCode::unsupported, "exceeds 48 bits");
}

// ---- TRANSPOSE_CONV -----------------------------------------------------------------------------------------------

struct Transposed {
    Padding padding;
    std::int32_t oh, ow, sy, sx;
    bool known_shape;
};

/// sum of x * w over every input pixel that reaches (y, z); weights [oc][3][2][ic].
std::vector<double> scatter(const Transposed& c, const std::vector<double>& x, const std::vector<double>& w) {
    const bool same = c.padding == Padding::SAME;
    const std::int32_t top = same ? std::max((ih - 1) * c.sy + 3 - c.oh, 0) / 2 : 0,
                       left = same ? std::max((iw - 1) * c.sx + 2 - c.ow, 0) / 2 : 0;
    std::vector<double> out(static_cast<std::size_t>(c.oh * c.ow * oc), 0);
    for (std::int32_t y = 0; y < ih; ++y)
        for (std::int32_t z = 0; z < iw; ++z)
            for (std::int32_t ky = 0; ky < 3; ++ky)
                for (std::int32_t kx = 0; kx < 2; ++kx) {
                    const std::int32_t oy = y * c.sy - top + ky, ox = z * c.sx - left + kx;
                    if (oy < 0 || oy >= c.oh || ox < 0 || ox >= c.ow) continue;
                    for (std::int32_t o = 0; o < oc; ++o)
                        for (std::int32_t i = 0; i < ic; ++i)
                            out[static_cast<std::size_t>((oy * c.ow + ox) * oc + o)] +=
                                x[static_cast<std::size_t>((y * iw + z) * ic + i)] *
                                w[static_cast<std::size_t>(((o * 3 + ky) * 2 + kx) * ic + i)];
                }
    return out;
}

std::vector<double> reals(const HostTensor& t) { return decode_reals(t.type, t.bytes); }

TEST(TfliteTransposeConv, EveryKindOfArithmetic) {
    for (const Transposed& c :
         {Transposed{Padding::VALID, 9, 6, 2, 1, true}, Transposed{Padding::SAME, 8, 5, 2, 1, true},
          Transposed{Padding::SAME, 7, 10, 2, 2, true}, Transposed{Padding::VALID, 12, 17, 3, 3, true},
          Transposed{Padding::VALID, 9, 6, 2, 1, false}}) {
        for (const TensorType type : {TensorType::FLOAT32, TensorType::INT8, TensorType::INT16}) {
            SCOPED_TRACE(testing::Message() << c.oh << "x" << c.ow << " " << EnumNameTensorType(type));
            const bool real = type == TensorType::FLOAT32, narrow = type == TensorType::INT8;
            const Shape in_shape{1, ih, iw, ic}, filter_shape{oc, 3, 2, ic};
            const auto x = real   ? random_f32(in_shape)
                         : narrow ? random_i8(in_shape)
                                  : random_ints(DType::i16, in_shape, -32768, 32767);
            const auto w = real ? random_f32(filter_shape) : random_i8(filter_shape);
            const std::vector<float> scales = channel_scales(oc);
            const Ints bias{1, -20, 300, -4000, 50000, -60000};
            TfliteBuilder t;
            const Ints shape{1, c.oh, c.ow, oc};
            const int size = c.known_shape ? t.constant({{4}, TensorType::INT32}, encode_ints(DType::i32, shape))
                                           : t.tensor({{4}, TensorType::INT32});
            const int in = t.tensor(real     ? f32({1, ih, iw, ic})
                                    : narrow ? i8({1, ih, iw, ic}, si, 5)
                                             : i16({1, ih, iw, ic}, si));
            const int filter = t.constant(real ? f32({oc, 3, 2, ic}) : filter_spec({oc, 3, 2, ic}, scales), w.bytes);
            const int b = real ? -1 : bias_tensor(t, narrow ? Bias::int32 : Bias::int64, bias);
            const std::vector<std::int32_t> out_shape{1, c.oh, c.ow, oc};
            const int out = t.tensor(real ? f32(out_shape) : narrow ? i8(out_shape, so, -7) : i16(out_shape, so));
            t.op(B::TRANSPOSE_CONV, {size, filter, in, b}, {out}, BuiltinOptions::TransposeConvOptions,
                 CreateTransposeConvOptions(t.fbb, c.padding, c.sx, c.sy).Union());
            const Bytes model = c.known_shape ? t.finish({in}, {out}) : t.finish({size, in}, {out});
            std::vector<HostTensor> inputs{x};
            if (!c.known_shape) {
                inputs.insert(inputs.begin(), HostTensor(DType::i32, {4}));
                inputs[0].bytes = encode_ints(DType::i32, shape);
            }
            std::vector<double> xs = reals(x);
            for (double& v : xs) v -= narrow ? 5 : 0;
            const std::vector<double> sums = scatter(c, xs, reals(w));
            for (const Rounding rounding : roundings) {
                const auto got = run(model, inputs, rounding).at(0);
                ASSERT_EQ(got.shape, (Shape{1, c.oh, c.ow, oc}));
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    if (real) {
                        ASSERT_NEAR(got.as<float>()[i], sums[i], 1e-5) << i;
                        continue;
                    }
                    const Scaled s = output_scale(scales[i % oc]);
                    const std::int64_t sum = static_cast<std::int64_t>(sums[i]) + bias[i % oc];
                    ASSERT_EQ(ints(got)[i], narrow ? clip8(scale_by(sum, s, rounding) - 7) : clip16(scale_sum(sum, s)))
                        << i;
                }
            }
        }
    }
}

// ---- int4 weights -------------------------------------------------------------------------------------------------

TEST(TfliteInt4, WeightsAreUnpacked) {
    // Three by five: an odd number of elements, -8 among them.
    const Ints w{-8, 7, 0, -1, 1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6};
    Bytes packed(8);
    for (std::size_t i = 0; i < w.size(); ++i) packed[i / 2] |= static_cast<std::byte>((w[i] & 15) << (i % 2 * 4));
    const auto x = random_i8({2, 5});
    for (const bool real : {false, true}) {
        TfliteBuilder t;
        const int in = t.tensor(real ? f32({2, 5}) : i8({2, 5}, 0.5f, 3));
        const int weights = t.constant(filter_spec({3, 5}, {0.25f}, 0, TensorType::INT4), packed);
        const int out = t.tensor(real ? f32({2, 3}) : i8({2, 3}, 2.0f, 0));
        t.op(B::FULLY_CONNECTED, {in, weights, -1}, {out});
        HostTensor input = x;
        if (real) {
            input = HostTensor(DType::fp32, {2, 5});
            input.bytes = encode_reals(DType::fp32, reals(x));
        }
        ImportOptions options;
        options.hybrid = TfliteHybrid::dequantize;  // float activations are not quantized, so that sums are exact
        const auto got = reference_run(import_tflite(t.finish({in}, {out}), options), std::vector{input}).at(0);
        for (std::size_t r = 0; r < 2; ++r)
            for (std::size_t o = 0; o < 3; ++o) {
                std::int64_t sum = 0;
                for (std::size_t i = 0; i < 5; ++i) sum += (ints(x)[r * 5 + i] - (real ? 0 : 3)) * w[o * 5 + i];
                if (real) EXPECT_EQ(got.as<float>()[r * 3 + o], static_cast<float>(sum) / 4);
                else EXPECT_EQ(ints(got)[r * 3 + o], clip8(std::lround(static_cast<double>(sum) * 0.0625)));
            }
    }
    TfliteBuilder short_one;
    const int in = short_one.tensor(i8({2, 5}, 0.5f, 3)), out = short_one.tensor(i8({2, 3}, 2.0f, 0));
    const int weights = short_one.constant(filter_spec({3, 5}, {0.25f}, 0, TensorType::INT4), Bytes(7));
    short_one.op(B::FULLY_CONNECTED, {in, weights, -1}, {out});
    expect_error(short_one.finish({in}, {out}), ErrorCode::bad_model, "needs 8 bytes");
}

}  // namespace
}  // namespace tosavk

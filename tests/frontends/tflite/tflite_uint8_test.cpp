// UINT8 in convolutions, pools, reductions and resizing, against the definition of TFLite's kernels for it. Inputs and
// outputs are the bits of the bytes.
#include "support/tflite_models.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

TensorSpec u8(std::vector<std::int32_t> shape, float scale = 1, std::int64_t zp = 0) {
    return {std::move(shape), TensorType::UINT8, {scale}, {zp}};
}

Ints bytes_of(const HostTensor& t) {
    Ints values;
    for (const std::byte b : t.bytes) values.push_back(std::to_integer<std::int64_t>(b));
    return values;
}
std::int64_t clip(std::int64_t v) { return std::clamp<std::int64_t>(v, 0, 255); }

constexpr float si = 0.05f, sw = 0.013f, so = 0.11f;
constexpr std::int64_t zi = 131, zw = 97, zo = 40;

std::int64_t finish(std::int64_t sum, Rounding rounding) {
    // The product of two scales is a float.
    const Scaled s(static_cast<double>(si * sw) / static_cast<double>(so));
    return clip(scale_by(sum, s, rounding) + zo);
}

struct Operator {
    B code;
    std::vector<std::int32_t> filter, output;
    std::function<Options(TfliteBuilder&)> options;
};

/// [1, 4, 5, 2] under `filter`, with a bias.
Bytes convolution(const Operator& o, const HostTensor& filter, const Ints& bias) {
    TfliteBuilder b;
    const int x = b.tensor(u8({1, 4, 5, 2}, si, zi));
    const int w = b.constant(u8(o.filter, sw, zw), filter.bytes);
    const TensorSpec spec{{static_cast<std::int32_t>(bias.size())}, TensorType::INT32, {si * sw}, {0}};
    const int c = b.constant(spec, encode_ints(DType::i32, bias));
    const int y = b.tensor(u8(o.output, so, zo));
    const Options options = o.options(b);
    if (o.code == B::TRANSPOSE_CONV) {
        const int to = b.indices(Ints(o.output.begin(), o.output.end()));
        b.op(o.code, {to, w, x, c}, {y}, options.first, options.second);
    } else {
        b.op(o.code, {x, w, c}, {y}, options.first, options.second);
    }
    return b.finish({x}, {y});
}

Shape shape_of(const std::vector<std::int32_t>& s) { return {s.begin(), s.end()}; }

TEST(TfliteUint8, ConvolutionsWithWeightsThatHaveAZeroPoint) {
    const Operator conv{B::CONV_2D, {3, 2, 3, 2}, {1, 4, 5, 3}, [](TfliteBuilder& t) {
                            return Options{BuiltinOptions::Conv2DOptions,
                                           CreateConv2DOptions(t.fbb, Padding::SAME, 1, 1).Union()};
                        }};
    const Operator depthwise{B::DEPTHWISE_CONV_2D, {1, 2, 3, 4}, {1, 4, 5, 4}, [](TfliteBuilder& t) {
                                 return Options{BuiltinOptions::DepthwiseConv2DOptions,
                                                CreateDepthwiseConv2DOptions(t.fbb, Padding::SAME, 1, 1, 2).Union()};
                             }};
    const Operator back{B::TRANSPOSE_CONV, {3, 2, 3, 2}, {1, 5, 7, 3}, [](TfliteBuilder& t) {
                            return Options{BuiltinOptions::TransposeConvOptions,
                                           CreateTransposeConvOptions(t.fbb, Padding::VALID, 1, 1).Union()};
                        }};
    const auto x = random_i8({1, 4, 5, 2});
    const Ints q = bytes_of(x), bias{700, -1500, 20, 3000};
    for (const Operator& o : {conv, depthwise, back}) {
        const auto filter = random_i8(shape_of(o.filter));
        const Ints w = bytes_of(filter);
        const std::int64_t channels = o.output[3], oh = o.output[1], ow = o.output[2];
        const Bytes model = convolution(o, filter, Ints(bias.begin(), bias.begin() + channels));
        for (const Rounding rounding : roundings) {
            const Ints got = bytes_of(run(model, {x}, rounding).at(0));
            std::size_t at = 0;
            for (std::int64_t oy = 0; oy < oh; ++oy)
                for (std::int64_t ox = 0; ox < ow; ++ox)
                    for (std::int64_t c = 0; c < channels; ++c) {
                        std::int64_t sum = bias[static_cast<std::size_t>(c)];
                        for (std::int64_t ky = 0; ky < 2; ++ky)
                            for (std::int64_t kx = 0; kx < 3; ++kx)
                                for (std::int64_t k = 0; k < 2; ++k) {
                                    // SAME pads behind two rows, and on both sides of three columns.
                                    const bool transposed = o.code == B::TRANSPOSE_CONV;
                                    const std::int64_t iy = transposed ? oy - ky : oy + ky;
                                    const std::int64_t ix = transposed ? ox - kx : ox + kx - 1;
                                    if (iy < 0 || iy >= 4 || ix < 0 || ix >= 5) continue;
                                    if (o.code == B::DEPTHWISE_CONV_2D && k != c / 2) continue;
                                    const std::int64_t tap = o.code == B::DEPTHWISE_CONV_2D
                                                               ? (ky * 3 + kx) * 4 + c
                                                               : ((c * 2 + ky) * 3 + kx) * 2 + k;
                                    sum += (q[static_cast<std::size_t>((iy * 5 + ix) * 2 + k)] - zi) *
                                           (w[static_cast<std::size_t>(tap)] - zw);
                                }
                        ASSERT_EQ(got[at++], finish(sum, rounding)) << EnumNameBuiltinOperator(o.code);
                    }
        }
    }
}

TEST(TfliteUint8, FullyConnected) {
    const Operator o{B::FULLY_CONNECTED, {3, 40}, {1, 3}, [](TfliteBuilder& t) {
                         return Options{BuiltinOptions::FullyConnectedOptions,
                                        CreateFullyConnectedOptions(t.fbb).Union()};
                     }};
    const auto x = random_i8({1, 4, 5, 2}), filter = random_i8({3, 40});
    const Ints bias{100, -2000, 0};
    for (const Rounding rounding : roundings) {
        const Ints got = bytes_of(run(convolution(o, filter, bias), {x}, rounding).at(0));
        for (std::size_t c = 0; c < 3; ++c) {
            std::int64_t sum = bias[c];
            for (std::size_t k = 0; k < 40; ++k) sum += (bytes_of(x)[k] - zi) * (bytes_of(filter)[c * 40 + k] - zw);
            EXPECT_EQ(got[c], finish(sum, rounding));
        }
    }
}

TEST(TfliteUint8, AveragesRoundHalvesUp) {
    HostTensor x(DType::i8, {1, 1, 2, 3});
    const int values[] = {0, 5, 255, 1, 6, 254};
    std::transform(std::begin(values), std::end(values), x.bytes.begin(),
                   [](int v) { return static_cast<std::byte>(v); });
    const auto pool = [&](B code, Act activation) {
        return bytes_of(run(one_op(code, {u8({1, 1, 2, 3}, 0.1f, 3)}, u8({1, 1, 1, 3}, 0.1f, 3),
                                   [=](TfliteBuilder& t) {
                                       return Options{
                                           BuiltinOptions::Pool2DOptions,
                                           CreatePool2DOptions(t.fbb, Padding::VALID, 1, 1, 2, 1, activation).Union()};
                                   }),
                            {x})
                            .at(0));
    };
    EXPECT_EQ(pool(B::AVERAGE_POOL_2D, Act::NONE), (Ints{1, 6, 255}));
    EXPECT_EQ(pool(B::AVERAGE_POOL_2D, Act::RELU6), (Ints{3, 6, 63}));
    EXPECT_EQ(pool(B::MAX_POOL_2D, Act::NONE), (Ints{1, 6, 255}));
    EXPECT_EQ(pool(B::MAX_POOL_2D, Act::RELU), (Ints{3, 6, 255}));
}

TEST(TfliteUint8, Reductions) {
    const auto x = random_i8({6, 7});
    const Ints q = bytes_of(x);
    for (const Rounding rounding : roundings) {
        for (const B code : {B::MEAN, B::SUM, B::REDUCE_MAX, B::REDUCE_MIN}) {
            const bool same = code == B::REDUCE_MAX || code == B::REDUCE_MIN;
            const Bytes model =
                one_op_indices(code, u8({6, 7}, si, zi), {{1}}, same ? u8({6}, si, zi) : u8({6}, so, zo));
            const Ints got = bytes_of(run(model, {x}, rounding).at(0));
            for (std::size_t r = 0; r < 6; ++r) {
                const auto first = q.begin() + static_cast<std::ptrdiff_t>(r * 7);
                std::int64_t sum = -7 * zi;
                for (auto i = first; i < first + 7; ++i) sum += *i;
                Scaled s(static_cast<double>(si) / static_cast<double>(so));
                if (code == B::MEAN) s.m = (s.m << 2) / 7, s.e -= 2;  // 2^2 <= 7 < 2^3
                const std::int64_t want = code == B::REDUCE_MAX ? *std::max_element(first, first + 7)
                                        : code == B::REDUCE_MIN ? *std::min_element(first, first + 7)
                                                                : clip(scale_by(sum, s, rounding) + zo);
                ASSERT_EQ(got[r], want) << EnumNameBuiltinOperator(code);
            }
        }
    }
}

TEST(TfliteUint8, ProductOfUnquantizedWraps) {
    const auto x = random_i8({5, 3});
    const TensorSpec in{{5, 3}, TensorType::UINT8}, out{{5}, TensorType::UINT8};
    const Ints got = bytes_of(run(one_op_indices(B::REDUCE_PROD, in, {{1}}, out), {x}).at(0)), q = bytes_of(x);
    for (std::size_t r = 0; r < 5; ++r) EXPECT_EQ(got[r], q[3 * r] * q[3 * r + 1] * q[3 * r + 2] % 256);
    expect_error(one_op_indices(B::REDUCE_PROD, u8({5, 3}), {{1}}, u8({5})), ErrorCode::unsupported,
                 "quantized UINT8 is not supported");
}

// In floats, in this order, and rounded half up.
TEST(TfliteUint8, BilinearInFloats) {
    for (const std::int32_t to : {1, 3, 8, 10, 16, 37}) {
        for (const bool half : {false, true}) {
            const auto x = random_i8({1, 1, 8, 2});
            const Ints q = bytes_of(x);
            const Bytes model = one_op_indices(
                B::RESIZE_BILINEAR, u8({1, 1, 8, 2}), {{1, to}}, u8({1, 1, to, 2}), [&](TfliteBuilder& t) {
                    return Options{BuiltinOptions::ResizeBilinearOptions,
                                   CreateResizeBilinearOptions(t.fbb, 0, 0, false, half).Union()};
                });
            const Ints got = bytes_of(run(model, {x}).at(0));
            for (std::int32_t k = 0; k < to; ++k) {
                const float scale = 8.0f / static_cast<float>(to), number = static_cast<float>(k);
                const float at = half ? (number + 0.5f) * scale - 0.5f : number * scale;
                const auto low = static_cast<std::size_t>(std::max(std::floor(at), 0.0f)),
                           high = static_cast<std::size_t>(std::clamp(std::ceil(at), 0.0f, 7.0f));
                const float weight = at - static_cast<float>(low);
                for (std::size_t c = 0; c < 2; ++c) {
                    const float a = static_cast<float>(q[low * 2 + c]) * (1 - weight);
                    const float b = static_cast<float>(q[high * 2 + c]) * weight;
                    ASSERT_EQ(got[static_cast<std::size_t>(k) * 2 + c], static_cast<std::int64_t>(a + b + 0.5f))
                        << fmt::format("{} of {}, half {}", k, to, half);
                }
            }
        }
    }
}

}  // namespace
}  // namespace tosavk

// Float activations that meet narrow weights: compared with TFLite's kernels written out here, in fp64 where they are.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

struct Row {
    std::vector<std::int64_t> q;
    float scale = 1;
    std::int64_t zero_point = 0;
};

Row quantize(std::span<const float> x, bool asymmetric) {
    Row row;
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const float least = std::min(*low, 0.0f), most = std::max(*high, 0.0f);
    const auto round = [](float v) { return static_cast<std::int64_t>(std::round(v)); };
    if (least == 0 && most == 0) {
        row.q.assign(x.size(), 0);
        return row;
    }
    if (asymmetric) {
        const double scale = static_cast<double>(most - least) / 255;
        const double a = -128 - static_cast<double>(least) / scale, b = 127 - static_cast<double>(most) / scale;
        const bool first =
            128 + std::abs(static_cast<double>(least) / scale) < 127 + std::abs(static_cast<double>(most) / scale);
        row.zero_point = std::clamp<std::int64_t>(std::llround(first ? a : b), -128, 127);
        row.scale = static_cast<float>(scale);
        for (const float v : x)
            row.q.push_back(std::clamp<std::int64_t>(round(v * (1.0f / row.scale)) + row.zero_point, -128, 127));
        return row;
    }
    const float range = std::max(-least, most);
    row.scale = range / 127;
    for (const float v : x) row.q.push_back(std::clamp<std::int64_t>(round(v * (127 / range)), -127, 127));
    return row;
}

struct Layer {
    std::int32_t rows = 3, depth = 13, channels = 4;
    bool asymmetric = false, per_channel = false;
};

Options fully_connected(TfliteBuilder& b, bool asymmetric) {
    return {
        BuiltinOptions::FullyConnectedOptions,
        CreateFullyConnectedOptions(b.fbb, Act::NONE, FullyConnectedOptionsWeightsFormat::DEFAULT, false, asymmetric)
            .Union()};
}

Bytes layer_model(const Layer& f, const TensorSpec& weights, const Bytes& data, const std::vector<float>& bias) {
    TfliteBuilder b;
    const int x = b.tensor(f32({f.rows, f.depth})), w = b.constant(weights, data);
    Bytes bytes(bias.size() * 4);
    std::memcpy(bytes.data(), bias.data(), bytes.size());
    const int c = b.constant(f32({f.channels}), bytes), y = b.tensor(f32({f.rows, f.channels}));
    const Options options = fully_connected(b, f.asymmetric);
    b.op(B::FULLY_CONNECTED, {x, w, c}, {y}, options.first, options.second);
    return b.finish({x}, {y});
}

TensorSpec layer_weights(const Layer& f, TensorType type) {
    TensorSpec spec{{f.channels, f.depth}, type, {0.013f}, {0}};
    if (f.per_channel) spec.scale = {0.01f, 0.02f, 0.5f, 0.003f}, spec.zero_point = {0, 0, 0, 0};
    return spec;
}

void expect_layer(const Layer& f, const Ints& weights, const std::vector<float>& scales, const HostTensor& x,
                  const std::vector<float>& bias, const HostTensor& got) {
    for (std::int32_t r = 0; r < f.rows; ++r) {
        const auto depth = static_cast<std::size_t>(f.depth), row = static_cast<std::size_t>(r);
        const Row q = quantize(x.as<float>().subspan(row * depth, depth), f.asymmetric);
        for (std::size_t c = 0; c < static_cast<std::size_t>(f.channels); ++c) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < depth; ++i) sum += (q.q[i] - q.zero_point) * weights[c * depth + i];
            const float scale = q.scale * scales[scales.size() == 1 ? 0 : c];
            const float expected = static_cast<float>(sum) * scale + bias[c];
            EXPECT_FLOAT_EQ(got.as<float>()[row * static_cast<std::size_t>(f.channels) + c], expected)
                << "row " << r << " channel " << c << (f.asymmetric ? " asymmetric" : "");
        }
    }
}

const std::vector<float> bias{0.5f, -1, 0, 100};

TEST(TfliteHybrid, FullyConnected) {
    for (const bool asymmetric : {false, true}) {
        for (const bool per_channel : {false, true}) {
            const Layer f{3, 13, 4, asymmetric, per_channel};
            HostTensor x = random_f32({3, 13}, asymmetric ? 3 : 1e-3);
            for (std::size_t i = 13; i < 26; ++i) x.as<float>()[i] = 0;  // a row of scale 1
            const HostTensor weights = random_i8({4, 13});
            const TensorSpec spec = layer_weights(f, TensorType::INT8);
            const auto got = run(layer_model(f, spec, weights.bytes, bias), {x}).at(0);
            expect_layer(f, ints(weights), spec.scale, x, bias, got);
        }
    }
}

// Each image of the batch is quantized with a zero point, which what lies outside of it does not have.
TEST(TfliteHybrid, TransposeConv) {
    constexpr std::size_t size = 3, depth = 5, channels = 4, kernel = 3, to = 2 * (size - 1) + kernel;
    const HostTensor x = random_f32({2, size, size, depth}, 3), weights = random_i8({channels, kernel, kernel, depth});
    const std::vector<std::int64_t> output{2, to, to, channels};
    TfliteBuilder b;
    TensorSpec spec{{channels, kernel, kernel, depth}, TensorType::INT8, {0.01f, 0.02f, 0.5f, 0.003f}, {0, 0, 0, 0}};
    const int shape = b.constant({{4}, TensorType::INT32}, encode_ints(DType::i32, output)),
              w = b.constant(spec, weights.bytes), in = b.tensor(f32({2, size, size, depth})),
              y = b.tensor(f32({2, to, to, channels}));
    b.op(B::TRANSPOSE_CONV, {shape, w, in}, {y}, BuiltinOptions::TransposeConvOptions,
         CreateTransposeConvOptions(b.fbb, Padding::VALID, 2, 2).Union());
    const Bytes model = b.finish({in}, {y});
    const auto got = run(model, {x}).at(0);
    const Ints q = ints(weights);
    std::vector<double> expected(2 * to * to * channels);
    for (std::size_t n = 0; n < 2; ++n) {
        const std::size_t count = size * size * depth;
        const Row row = quantize(x.as<float>().subspan(n * count, count), true);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t iy = i / depth / size, ix = i / depth % size, c = i % depth;
            for (std::size_t k = 0; k < channels * kernel * kernel; ++k) {
                const std::size_t o = k / (kernel * kernel), ky = k / kernel % kernel, kx = k % kernel;
                expected[((n * to + 2 * iy + ky) * to + 2 * ix + kx) * channels + o] +=
                    static_cast<double>((row.q[i] - row.zero_point) * q[k * depth + c]) *
                    static_cast<double>(spec.scale[o]) * static_cast<double>(row.scale);
            }
        }
    }
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(static_cast<double>(got.as<float>()[i]), expected[i], 1e-3) << i;
    ImportOptions plain;
    plain.hybrid = TfliteHybrid::dequantize;
    const auto other = reference_run(import_tflite(model, plain), std::vector{x}, false, nullptr).at(0);
    EXPECT_NE(other.bytes, got.bytes);
}

TEST(TfliteHybrid, NarrowerWeights) {
    const Layer f{2, 6, 4, true, true};
    const HostTensor x = random_f32({2, 6});
    Ints four, two;
    Bytes packed_four(12), packed_two(6);
    for (std::size_t i = 0; i < 24; ++i) {
        const std::int64_t a = static_cast<std::int64_t>(random_source()() % 16) - 8,
                           b = static_cast<std::int64_t>(random_source()() % 4) - 2;
        four.push_back(a);
        two.push_back(b);
        packed_four[i / 2] |= static_cast<std::byte>((a & 15) << (i % 2 * 4));
        packed_two[i / 4] |= static_cast<std::byte>((b & 3) << (i % 4 * 2));
    }
    const TensorSpec spec = layer_weights(f, TensorType::INT4);
    expect_layer(f, four, spec.scale, x, bias, run(layer_model(f, spec, packed_four, bias), {x}).at(0));
    const TensorSpec spec2 = layer_weights(f, TensorType::INT2);
    expect_layer(f, two, spec2.scale, x, bias, run(layer_model(f, spec2, packed_two, bias), {x}).at(0));
}

TEST(TfliteHybrid, OldUnsignedWeightsAreTheBitsOfInt8) {
    const Layer f{2, 13, 4};
    const HostTensor x = random_f32({2, 13}), weights = random_i8({4, 13});
    const TensorSpec spec = layer_weights(f, TensorType::UINT8);
    expect_layer(f, ints(weights), spec.scale, x, bias, run(layer_model(f, spec, weights.bytes, bias), {x}).at(0));
}

TEST(TfliteHybrid, DequantizedWhereAsked) {
    const Layer f{2, 13, 4};
    const HostTensor x = random_f32({2, 13}), weights = random_i8({4, 13});
    const Bytes model = layer_model(f, layer_weights(f, TensorType::INT8), weights.bytes, bias);
    ImportOptions options;
    options.hybrid = TfliteHybrid::dequantize;
    const auto got = reference_run(import_tflite(model, options), std::vector{x}).at(0), exact = run(model, {x}).at(0);
    const Ints w = ints(weights);
    for (std::size_t i = 0; i < 8; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < 13; ++k)
            sum += static_cast<double>(x.as<float>()[i / 4 * 13 + k]) * 0.013f * static_cast<double>(w[i % 4 * 13 + k]);
        EXPECT_NEAR(got.as<float>()[i], sum + static_cast<double>(bias[i % 4]), 1e-4);
    }
    EXPECT_NE(got.bytes, exact.bytes);
}

// [1,2,3,1] by one kernel of 3x3 without a scale of its own for each channel: padding counts nothing.
TEST(TfliteHybrid, PaddedConvolutionsWithZeroPoints) {
    const HostTensor x = random_f32({1, 2, 3, 1}), weights = random_i8({2, 3, 3, 1});
    TfliteBuilder b;
    const int in = b.tensor(f32({1, 2, 3, 1}));
    const int w = b.constant({{2, 3, 3, 1}, TensorType::INT8, {0.1f, 0.02f}, {0, 0}}, weights.bytes);
    const int c = b.constant(f32({2}), Bytes(8)), y = b.tensor(f32({1, 2, 3, 2}));
    b.op(B::CONV_2D, {in, w, c}, {y}, BuiltinOptions::Conv2DOptions,
         CreateConv2DOptions(b.fbb, Padding::SAME, 1, 1).Union());
    const auto got = run(b.finish({in}, {y}), {x}).at(0);
    const Row q = quantize(x.as<float>(), true);
    const Ints v = ints(weights);
    for (std::int64_t i = 0; i < 12; ++i) {
        const std::int64_t oc = i % 2, ox = i / 2 % 3, oy = i / 6;
        std::int64_t sum = 0;
        for (std::int64_t ky = 0; ky < 3; ++ky) {
            for (std::int64_t kx = 0; kx < 3; ++kx) {
                const std::int64_t iy = oy + ky - 1, ix = ox + kx - 1;
                if (iy < 0 || iy > 1 || ix < 0 || ix > 2) continue;
                sum += (q.q[static_cast<std::size_t>(iy * 3 + ix)] - q.zero_point) *
                       v[static_cast<std::size_t>(oc * 9 + ky * 3 + kx)];
            }
        }
        EXPECT_FLOAT_EQ(got.as<float>()[static_cast<std::size_t>(i)],
                        static_cast<float>(sum) * (q.scale * (oc == 0 ? 0.1f : 0.02f)));
    }
}

TEST(TfliteHybrid, BlocksOfInt4) {
    const HostTensor x = random_f32({2, 8});
    Ints values;
    Bytes packed(16);
    for (std::size_t i = 0; i < 32; ++i) {
        values.push_back(static_cast<std::int64_t>(random_source()() % 16) - 8);
        packed[i / 2] |= static_cast<std::byte>((values[i] & 15) << (i % 2 * 4));
    }
    std::vector<double> scales;
    for (int i = 0; i < 8; ++i) scales.push_back(std::ldexp(1.0 + i, -6));
    const auto model = [&](std::int32_t block_size, std::int32_t scale_tensor) {
        TfliteBuilder b;
        const int in = b.tensor(f32({2, 8}));
        b.constant({{4, 2}, TensorType::FLOAT16}, encode_reals(DType::fp16, scales));
        TensorSpec spec{{4, 8}, TensorType::INT4};
        spec.block_size = block_size;
        spec.block_scales = scale_tensor;
        const int w = b.constant(spec, packed), y = b.tensor(f32({2, 4}));
        const Options options = fully_connected(b, false);
        b.op(B::FULLY_CONNECTED, {in, w, -1}, {y}, options.first, options.second);
        return b.finish({in}, {y});
    };
    const auto got = run(model(4, 1), {x}).at(0);
    for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t c = i % 4;
        const Row q = quantize(x.as<float>().subspan(i / 4 * 8, 8), true);
        double sum = 0;
        for (std::size_t k = 0; k < 8; ++k)
            sum += static_cast<double>((q.q[k] - q.zero_point) * values[c * 8 + k]) * scales[c * 2 + k / 4];
        EXPECT_NEAR(got.as<float>()[i], sum * static_cast<double>(q.scale), 1e-5);
    }
    expect_error(model(3, 1), ErrorCode::bad_model, "do not divide into blocks of 3");
    expect_error(model(8, 1), ErrorCode::bad_model, "has 8 scales for 4 blocks");
    expect_error(model(4, 99), ErrorCode::bad_model, "names tensor 99, which does not exist");
    expect_error(model(-1, 1), ErrorCode::unsupported, "blocks of no elements");
}

/// Weights that a run brings are the same as constant ones, with zero points too.
TEST(TfliteHybrid, WeightsOfARun) {
    const HostTensor x = random_f32({3, 6}), w = random_i8({2, 6});
    for (const bool asymmetric : {false, true}) {
        const auto model = [&](bool computed) {
            TfliteBuilder b;
            const TensorSpec spec = i8({2, 6}, 0.1f);
            const int a = b.tensor(f32({3, 6})), weights = computed ? b.tensor(spec) : b.constant(spec, w.bytes);
            const int y = b.tensor(f32({3, 2}));
            const Options options = fully_connected(b, asymmetric);
            b.op(B::FULLY_CONNECTED, {a, weights, -1}, {y}, options.first, options.second);
            return b.finish(computed ? std::vector<int>{a, weights} : std::vector<int>{a}, {y});
        };
        EXPECT_EQ(run(model(true), {x, w}).at(0).bytes, run(model(false), {x}).at(0).bytes);
    }
}

}  // namespace
}  // namespace tosavk

// SOFTMAX and LOG_SOFTMAX of every type: against the function in double, and integers that TFLite's own kernels gave.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

/// Graphs hold the bits of UINT8 in i8.
Ints results(const Bytes& model, TensorType from, TensorType to, const Shape& shape, Ints x) {
    HostTensor in(from == TensorType::INT16 ? DType::i16 : DType::i8, shape);
    if (from == TensorType::UINT8) {
        for (std::int64_t& v : x) v = v > 127 ? v - 256 : v;
    }
    in.bytes = encode_ints(in.type, x);
    Ints out = ints(run(model, {in}).at(0));
    if (to == TensorType::UINT8) {
        for (std::int64_t& v : out) v &= 255;
    }
    return out;
}

TensorSpec output_of(TensorType type, std::vector<std::int32_t> shape) {
    if (type == TensorType::INT16) return {std::move(shape), type, {1.0f / 32768}, {0}};
    return {std::move(shape), type, {1.0f / 256}, {type == TensorType::INT8 ? -128 : 0}};
}

Bytes softmax(TensorType from, TensorType to, float scale, float beta, const std::vector<std::int32_t>& shape) {
    return one_op(B::SOFTMAX, {{shape, from, {scale}, {0}}}, output_of(to, shape), [&](TfliteBuilder& t) {
        return Options{BuiltinOptions::SoftmaxOptions, CreateSoftmaxOptions(t.fbb, beta).Union()};
    });
}

const Ints rows_i8{-128, -100, -3, 40, 41, 90, 7, 7, 7, 7, 6, 8, -128, 127, 126, 0, 100, 120};
const Ints rows_u8{128, 156, 253, 40, 41, 90, 7, 7, 7, 7, 6, 8, 128, 127, 126, 0, 100, 120};
const Ints rows_i16{-32768, -100, -3, 4000, 4001, 9000, 7, 7, 7, 7, 6, 8, -32768, 32767, 32000, 0, 20000, 31000};

TEST(TfliteSoftmax, IntegersOfTheRealKernels) {
    constexpr TensorType i8_type = TensorType::INT8, u8 = TensorType::UINT8, i16_type = TensorType::INT16;
    const auto of = [](TensorType from, TensorType to, float scale, float beta, const Ints& x) {
        return results(softmax(from, to, scale, beta, {3, 6}), from, to, {3, 6}, x);
    };
    EXPECT_EQ(of(i8_type, i16_type, 0.05f, 1, rows_i8),
              (Ints{-32767, -32764, -32236, -28201, -27967, 22864, -21850, -21850, -21850, -21850, -22382, -21290,
                    -32768, -10300, -11396, -32729, -26943, -16935}));
    EXPECT_EQ(of(u8, u8, 0.05f, 0.7f, rows_u8),
              (Ints{3, 8, 244, 0, 0, 1, 43, 43, 43, 43, 41, 44, 63, 61, 59, 1, 24, 48}));
    EXPECT_EQ(of(u8, i16_type, 0.01f, 1, rows_u8),
              (Ints{-23829, -20940, -1566, -29060, -29023, -26655, -21846, -21846, -21846, -21846, -21954, -21736,
                    -19467, -19599, -19730, -29070, -22715, -20490}));
    EXPECT_EQ(of(i16_type, i16_type, 0.0003f, 1, rows_i16), (Ints{1, 1354, 1394, 4631, 4633, 20755, 5461, 5461, 5461,
                                                                  5461, 5460, 5463, 1, 13626, 10826, 1, 296, 8020}));
    EXPECT_EQ(of(i16_type, i16_type, 0.0003f, 2, rows_i16),
              (Ints{2, 126, 134, 1472, 1473, 29560, 5461, 5461, 5461, 5461, 5458, 5465, 1, 16565, 10456, 1, 8, 5738}));
}

TEST(TfliteSoftmax, EveryTypeIsNearTheFunction) {
    struct {
        TensorType from, to;
        double scale, zp, steps, within;
    } const kinds[] = {{TensorType::INT8, TensorType::INT8, 0.04, 128, 256, 0.51},
                       {TensorType::INT8, TensorType::INT16, 0.04, 32768, 65536, 3},
                       {TensorType::INT16, TensorType::INT16, 0.0004, 0, 32768, 32}};
    for (const auto& kind : kinds) {
        const DType type = kind.from == TensorType::INT16 ? DType::i16 : DType::i8;
        const auto x = random_ints(type, {2, 3, 20}, min_of(type), max_of(type));
        const Ints q = ints(x),
                   got = results(softmax(kind.from, kind.to, static_cast<float>(kind.scale), 1, {2, 3, 20}), kind.from,
                                 kind.to, {2, 3, 20}, q);
        for (std::size_t row = 0; row < 6; ++row) {
            double sum = 0;
            const auto e = [&](std::size_t i) { return std::exp(kind.scale * static_cast<double>(q[row * 20 + i])); };
            for (std::size_t i = 0; i < 20; ++i) sum += e(i);
            for (std::size_t i = 0; i < 20; ++i) {
                const double expected = std::min(kind.steps * e(i) / sum, kind.steps - 1) - kind.zp;
                EXPECT_LE(std::abs(static_cast<double>(got[row * 20 + i]) - expected), kind.within) << row << " " << i;
            }
        }
    }
}

TEST(TfliteLogSoftmax, IntegersOfTheRealKernels) {
    const auto of = [](TensorType type, float scale, const Ints& x) {
        const std::int64_t zp = type == TensorType::INT8 ? 127 : 255;
        const Bytes model = one_op(B::LOG_SOFTMAX, {{{3, 6}, type, {scale}, {0}}}, {{3, 6}, type, {1.0f / 16}, {zp}});
        return results(model, type, type, {3, 6}, x);
    };
    EXPECT_EQ(of(TensorType::INT8, 0.05f, rows_i8),
              (Ints{-50, -28, 50, 84, 85, 124, 98, 98, 98, 98, 98, 99, -94, 110, 109, 8, 88, 104}));
    EXPECT_EQ(of(TensorType::INT8, 0.003f, rows_i8),
              (Ints{92, 94, 98, 100, 100, 103, 98, 98, 98, 98, 98, 98, 89, 101, 101, 95, 100, 101}));
    EXPECT_EQ(of(TensorType::UINT8, 0.05f, rows_u8),
              (Ints{155, 177, 255, 84, 85, 124, 226, 226, 226, 226, 226, 227, 234, 233, 232, 131, 211, 227}));
}

TEST(TfliteLogSoftmax, IntegersAndFloatsAreNearTheFunction) {
    const auto x = random_i8({5, 30});
    const auto real = random_f32({5, 30}, 40);
    const Bytes model = one_op(B::LOG_SOFTMAX, {i8({5, 30}, 0.05f, 4)}, i8({5, 30}, 1.0f / 16, 127));
    const Ints got = ints(run(model, {x}).at(0)), q = ints(x);
    const auto floats = run(one_op(B::LOG_SOFTMAX, {f32({5, 30})}, f32({5, 30})), {real}).at(0);
    for (std::size_t row = 0; row < 5; ++row) {
        double sum = 0, float_sum = 0;
        for (std::size_t i = row * 30; i < row * 30 + 30; ++i) {
            sum += std::exp(0.05 * static_cast<double>(q[i]));
            float_sum += std::exp(static_cast<double>(real.as<float>()[i]));
        }
        for (std::size_t i = row * 30; i < row * 30 + 30; ++i) {
            const double expected = std::max((0.05 * static_cast<double>(q[i]) - std::log(sum)) * 16 + 127, -128.0);
            EXPECT_LE(std::abs(static_cast<double>(got[i]) - expected), 0.51) << i;
            EXPECT_NEAR(floats.as<float>()[i], static_cast<double>(real.as<float>()[i]) - std::log(float_sum), 2e-5);
        }
    }
}

TEST(TfliteSoftmax, SaysWhatItDoesNotTake) {
    const auto model = [](const TensorSpec& in, const TensorSpec& out, B code) { return one_op(code, {in}, out); };
    expect_error(model(i8({4}, 0.1f), i8({4}, 0.1f), B::SOFTMAX), ErrorCode::unsupported, "scale 1/256");
    expect_error(model(i16({4}, 0.1f), i16({4}, 0.1f), B::SOFTMAX), ErrorCode::unsupported, "scale 1/32768");
    expect_error(model(i8({4}, 0.1f), i8({4}, 0.1f), B::LOG_SOFTMAX), ErrorCode::unsupported, "scale 1/16");
    expect_error(model(i16({4}, 0.1f), i8({4}, 0.1f), B::SOFTMAX), ErrorCode::unsupported, "types INT16 -> INT8");
    expect_error(model(i16({4}, 0.1f), i16({4}, 0.1f), B::LOG_SOFTMAX), ErrorCode::unsupported, "types INT16");
    expect_error(model(f32({}), f32({}), B::LOG_SOFTMAX), ErrorCode::bad_model, "scalar");
}

}  // namespace
}  // namespace tosavk

// MEAN, SUM and REDUCE_*: their sums, products and scalings against the definition of TFLite's kernels.
#include "support/tflite_models.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

/// [4, 3, 5, 2] without the axes {1, 2}: 15 elements make each of 8.
const Shape from{4, 3, 5, 2};
const std::vector<std::int32_t> sizes{4, 3, 5, 2}, left{4, 2};
constexpr std::size_t results = 8, count = 15;

Bytes reducer(B code, TensorSpec x, TensorSpec y, const Ints& axes = {1, 2}, bool keep = false) {
    return one_op_indices(code, x, {axes}, y, [keep](TfliteBuilder& t) {
        return Options{BuiltinOptions::ReducerOptions, CreateReducerOptions(t.fbb, keep).Union()};
    });
}

/// Element `k` of those that make result `r`, in TFLite's order.
template <class T> T element(const std::vector<T>& all, std::size_t r, std::size_t k) {
    return all[(r / 2 * count + k) * 2 + r % 2];
}

TEST(TfliteReduce, SumOfInt8AndInt16IsScaledInFloats) {
    for (const float so : {0.05f, 0.1f, 0.2f, 0.37f}) {
        for (const bool wide : {false, true}) {
            const float si = 0.1f;
            const std::int64_t zi = wide ? 0 : 7, zo = wide ? 0 : -5;
            const auto x = wide ? random_ints(DType::i16, from, -4000, 4000) : random_i8(from);
            const Bytes model = wide ? reducer(B::SUM, i16(sizes, si), i16(left, so))
                                     : reducer(B::SUM, i8(sizes, si, zi), i8(left, so, zo));
            const Ints got = ints(run(model, {x}).at(0)), q = ints(x);
            for (std::size_t r = 0; r < results; ++r) {
                std::int64_t sum = 0;
                for (std::size_t k = 0; k < count; ++k) sum += element(q, r, k);
                const float scale = si / so, bias = static_cast<float>(-zi) * scale * 15.0f;
                const std::int64_t v = std::lround(static_cast<float>(sum) * scale + bias) + zo;
                ASSERT_EQ(got[r], wide ? clip16(v) : clip8(v)) << "scale " << so << ", " << wide;
            }
        }
    }
}

TEST(TfliteReduce, MeanOfInt16WrapsItsSum) {
    // 32 bits do not hold the sum of so many: TFLite's wrap.
    const auto x = random_ints(DType::i16, {1, 70000}, 32000, 32010);
    for (const Rounding rounding : roundings) {
        std::int64_t sum = 0;
        for (const std::int64_t v : ints(x)) sum += v;
        Scaled s(1);
        s.m = (s.m << 16) / 70000;
        s.e -= 16;
        const std::int64_t want = scale_by(static_cast<std::int32_t>(sum), s, rounding);
        EXPECT_EQ(ints(run(reducer(B::MEAN, i16({1, 70000}, 0.5f), i16({1}, 0.5f), {1}), {x}, rounding).at(0)),
                  (Ints{clip16(want)}));
    }
}

TEST(TfliteReduce, MeanOfInt32IsExactAndTruncated) {
    const TensorSpec in{sizes, TensorType::INT32}, out{left, TensorType::INT32};
    for (const std::int64_t most : {20L, 1L << 31}) {
        const auto x = random_ints(DType::i32, from, -most, most - 1);
        const Ints got = ints(run(reducer(B::MEAN, in, out), {x}).at(0)), q = ints(x);
        for (std::size_t r = 0; r < results; ++r) {
            std::int64_t sum = 0;
            for (std::size_t k = 0; k < count; ++k) sum += element(q, r, k);
            ASSERT_EQ(got[r], sum / 15) << "up to " << most;
        }
    }
    HostTensor ends(DType::i32, {2, 3});
    ends.bytes = encode_ints(DType::i32, Ints{INT32_MAX, INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN, INT32_MIN});
    EXPECT_EQ(ints(run(reducer(B::MEAN, {{2, 3}, TensorType::INT32}, {{2}, TensorType::INT32}, {-1}), {ends}).at(0)),
              (Ints{INT32_MAX, INT32_MIN}));
}

TEST(TfliteReduce, SumOfInt32Wraps) {
    const auto x = random_ints(DType::i32, from, INT32_MIN, INT32_MAX);
    const Ints got = ints(run(reducer(B::SUM, {sizes, TensorType::INT32}, {left, TensorType::INT32}), {x}).at(0));
    for (std::size_t r = 0; r < results; ++r) {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < count; ++k) sum += element(ints(x), r, k);
        ASSERT_EQ(got[r], static_cast<std::int32_t>(sum));
    }
}

// 15 bits of the multiplier, after each factor.
std::int64_t scale_product(std::int64_t v, const Scaled& s) {
    const std::int64_t m = s.m < 0x7fff0000 ? (s.m + (1 << 15)) >> 16 : 0x7fff;
    return static_cast<std::int64_t>((static_cast<__int128>(v) * m + (std::int64_t{1} << (14 - s.e))) >> (15 - s.e));
}

TEST(TfliteReduce, QuantizedProductScalesAfterEveryFactor) {
    for (const bool wide : {false, true}) {
        for (const float so : {0.001f, 0.004f}) {
            const float si = wide ? 0.00003f : 0.02f;
            const std::int64_t zi = wide ? 0 : -3, zo = wide ? 0 : 4;
            const auto x = wide ? random_ints(DType::i16, from, 20000, 32767) : random_i8(from);
            const Bytes model = wide ? reducer(B::REDUCE_PROD, i16(sizes, si), i16(left, so))
                                     : reducer(B::REDUCE_PROD, i8(sizes, si, zi), i8(left, so, zo));
            const Ints got = ints(run(model, {x}).at(0)), q = ints(x);
            const Scaled s(static_cast<double>(si) / std::pow(static_cast<double>(so), 1.0 / 15));
            bool any = false;
            for (std::size_t r = 0; r < results; ++r) {
                std::int64_t product = element(q, r, 0) - zi;
                for (std::size_t k = 1; k < count; ++k) product = scale_product(product * (element(q, r, k) - zi), s);
                product = scale_product(product, s) + zo;
                ASSERT_EQ(got[r], wide ? clip16(product) : clip8(product)) << wide << ", scale " << so;
                any = any || got[r] != zo;
            }
            EXPECT_TRUE(any);
        }
    }
}

TEST(TfliteReduce, ProductsOfIntegersWrap) {
    const struct {
        TensorType type;
        DType stored;
        std::int64_t low, high;
    } kinds[] = {{TensorType::INT32, DType::i32, -3000, 3000},
                 {TensorType::INT16, DType::i16, -32768, 32767},
                 {TensorType::INT8, DType::i8, -128, 127}};
    for (const auto& kind : kinds) {
        const auto x = random_ints(kind.stored, from, kind.low | 1, kind.high);
        const Ints got = ints(run(reducer(B::REDUCE_PROD, {sizes, kind.type}, {left, kind.type}), {x}).at(0));
        for (std::size_t r = 0; r < results; ++r) {
            std::uint64_t product = 1;
            for (std::size_t k = 0; k < count; ++k) product *= static_cast<std::uint64_t>(element(ints(x), r, k));
            const std::int64_t want = kind.stored == DType::i8  ? static_cast<std::int8_t>(product)
                                    : kind.stored == DType::i16 ? static_cast<std::int16_t>(product)
                                                                : static_cast<std::int32_t>(product);
            ASSERT_EQ(got[r], want) << name_of(kind.stored);
        }
    }
}

TEST(TfliteReduce, ProductOfFloats) {
    auto x = random_f32(from, 2);
    const auto out = run(reducer(B::REDUCE_PROD, f32(sizes), f32(left)), {x}).at(0);
    const std::vector<float> v(x.as<float>().begin(), x.as<float>().end());
    for (std::size_t r = 0; r < results; ++r) {
        double product = 1;
        for (std::size_t k = 0; k < count; ++k) product *= static_cast<double>(element(v, r, k));
        EXPECT_NEAR(static_cast<double>(out.as<float>()[r]), product, 1e-5 * std::abs(product));
    }
}

// Of booleans a product and a minimum are "and", a sum and a maximum "or".
TEST(TfliteReduce, Booleans) {
    auto x = random_ints(DType::boolean, from, 0, 1);
    for (std::size_t k = 0; k < count; ++k) {  // results 0 and 1: all and none
        x.bytes[2 * k] = std::byte{1};
        x.bytes[2 * k + 1] = std::byte{0};
    }
    const TensorSpec in{sizes, TensorType::BOOL}, out{left, TensorType::BOOL};
    for (const B code : {B::REDUCE_ALL, B::REDUCE_ANY, B::REDUCE_MIN, B::REDUCE_MAX, B::REDUCE_PROD, B::SUM}) {
        const bool all = code == B::REDUCE_ALL || code == B::REDUCE_MIN || code == B::REDUCE_PROD;
        const Ints got = ints(run(reducer(code, in, out), {x}).at(0));
        for (std::size_t r = 0; r < results; ++r) {
            std::size_t set = 0;
            for (std::size_t k = 0; k < count; ++k) set += element(ints(x), r, k) != 0;
            ASSERT_EQ(got[r] != 0, all ? set == count : set > 0) << EnumNameBuiltinOperator(code);
        }
    }
}

TEST(TfliteReduce, MaximumAndMinimumOfEveryType) {
    const TensorType types[] = {TensorType::FLOAT32, TensorType::INT8, TensorType::INT16, TensorType::INT32};
    const DType stored[] = {DType::fp32, DType::i8, DType::i16, DType::i32};
    for (std::size_t t = 0; t < 4; ++t) {
        const auto x = t == 0 ? random_f32(from) : random_ints(stored[t], from, -128, 127);
        const auto v = decode_reals(stored[t], x.bytes);
        for (const bool largest : {true, false}) {
            const auto out =
                run(reducer(largest ? B::REDUCE_MAX : B::REDUCE_MIN, {sizes, types[t]}, {left, types[t]}), {x}).at(0);
            const auto got = decode_reals(stored[t], out.bytes);
            for (std::size_t r = 0; r < results; ++r) {
                double best = element(v, r, 0);
                for (std::size_t k = 1; k < count; ++k)
                    best = largest ? std::max(best, element(v, r, k)) : std::min(best, element(v, r, k));
                ASSERT_EQ(got[r], best) << name_of(stored[t]);
            }
        }
    }
}

TEST(TfliteReduce, ComparisonsPassOverNaN) {
    HostTensor x(DType::fp32, {2, 3});
    const float values[] = {1,  std::numeric_limits<float>::quiet_NaN(), 3, -1,
                            -2, std::numeric_limits<float>::quiet_NaN()};
    std::copy(std::begin(values), std::end(values), x.as<float>().begin());
    const auto high = run(reducer(B::REDUCE_MAX, f32({2, 3}), f32({2}), {1}), {x}).at(0);
    const auto low = run(reducer(B::REDUCE_MIN, f32({2, 3}), f32({2}), {1}), {x}).at(0);
    EXPECT_EQ(high.as<float>()[0], 3);
    EXPECT_EQ(high.as<float>()[1], -1);
    EXPECT_EQ(low.as<float>()[0], 1);
    EXPECT_EQ(low.as<float>()[1], -2);
}

TEST(TfliteReduce, Refuses) {
    const TensorSpec flags{sizes, TensorType::BOOL}, few{left, TensorType::BOOL};
    expect_error(reducer(B::REDUCE_ALL, f32(sizes), f32(left)), ErrorCode::unsupported,
                 "type FLOAT32 is not supported");
    expect_error(reducer(B::MEAN, flags, few), ErrorCode::unsupported, "type BOOL is not supported");
    expect_error(reducer(B::SUM, f32(sizes), i8(left)), ErrorCode::unsupported,
                 "types FLOAT32 -> INT8 are not supported");
    expect_error(reducer(B::SUM, f32(sizes), f32(left), {4}), ErrorCode::bad_model,
                 "axis 4 is out of range for rank 4");
    expect_error(reducer(B::REDUCE_MAX, i8(sizes, 0.1f), i8(left, 0.2f)), ErrorCode::unsupported,
                 "must have the same quantization");
    expect_error(reducer(B::MEAN, i8(sizes, 1e9f), i8(left, 1e-3f)), ErrorCode::unsupported,
                 "the ratio of its scales is too large");
    expect_error(reducer(B::REDUCE_PROD, i8({2, 2000}), i8({2}), {1}), ErrorCode::unsupported,
                 "a product of 2000 quantized numbers is not supported");
    expect_error(reducer(B::REDUCE_PROD, i8({2, 3}, 1e9f), i8({2}), {1}), ErrorCode::unsupported,
                 "the ratio of its scales is too large");
}

}  // namespace
}  // namespace tosavk

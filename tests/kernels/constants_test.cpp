// What a plan uploads once: bytes made on demand, their places, and weights in the order of the kernels.
#include "kernels/common/constants.hpp"
#include "kernels/product/pack_weights.hpp"
#include "vk/core/parallel.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>
#include <stdexcept>

using namespace tosavk;

namespace {

Bytes ramp(std::size_t count, int first) {
    Bytes bytes;
    for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(first + static_cast<int>(i)));
    return bytes;
}

/// `ramp`, and how often it was made.
LazyBytes lazy_ramp(std::size_t count, int first, int& made) {
    return {count, [=, &made](std::span<std::byte> to) {
                ++made;
                const Bytes bytes = ramp(count, first);
                std::copy(bytes.begin(), bytes.end(), to.begin());
            }};
}

Value weight_of(DType type, Shape shape, unsigned seed) {
    Value value;
    value.type = type;
    value.shape = std::move(shape);
    std::mt19937 random(seed);
    Bytes bytes(static_cast<std::size_t>(element_count(value.shape)) * size_of(type));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    value.data = std::make_shared<const Bytes>(std::move(bytes));
    return value;
}

Bytes element(const Value& value, std::int64_t index) {
    const auto size = static_cast<std::int64_t>(size_of(value.type));
    return {value.data->begin() + index * size, value.data->begin() + (index + 1) * size};
}

}  // namespace

TEST(LazyBytes, AreMadeWhenTheyAreAskedFor) {
    int made = 0;
    Bytes scratch;
    const LazyBytes lazy = lazy_ramp(5, 1, made), ready(ramp(5, 1));
    EXPECT_EQ(lazy.size(), 5u);
    EXPECT_EQ(made, 0);
    for (const LazyBytes& bytes : {lazy, ready, lazy}) {
        const auto view = bytes.view(scratch);
        EXPECT_EQ(Bytes(view.begin(), view.end()), ramp(5, 1));
    }
    EXPECT_EQ(made, 2);
    EXPECT_EQ(LazyBytes().view(scratch).size(), 0u);
}

TEST(ConstantPool, ReadsAcrossPartsAndWhatLiesBetween) {
    int made = 0;
    ConstantPool pool, other;
    EXPECT_TRUE(pool.empty());
    pool.add(0, ramp(5, 1), 16);
    pool.add(32, lazy_ramp(3, 50, made), 3);
    other.add(0, ramp(2, 100), 4);
    other.add(16, ramp(2, 110), 16);
    pool.append(64, other);
    EXPECT_EQ(pool.size(), 96u);
    EXPECT_EQ(made, 0);

    Bytes expected(96);
    const auto put = [&](std::size_t at, const Bytes& bytes) {
        std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
    };
    put(0, ramp(5, 1)), put(32, ramp(3, 50)), put(64, ramp(2, 100)), put(80, ramp(2, 110));
    EXPECT_EQ(pool.all(), expected);
    for (std::size_t first = 0; first <= 96; first += 3) {
        for (std::size_t last = first; last <= 96; last += 5) {
            Bytes some(last - first, std::byte{9});
            pool.read(first, some);
            EXPECT_TRUE(std::equal(some.begin(), some.end(), expected.begin() + static_cast<std::ptrdiff_t>(first)))
                << first << " to " << last;
        }
    }
    Bytes too_many(2);
    EXPECT_THROW(pool.read(95, too_many), Error);
    EXPECT_THROW(pool.add(95, ramp(1, 0), 1), Error);
    EXPECT_THROW(pool.append(95, other), Error);
}

Window window_of(const Shape& weights) {
    Window window;
    window.y.kernel = weights[1];
    window.x.kernel = weights[2];
    return window;
}

TEST(PackedWeights, BlocksOfFourByFour) {
    Bytes scratch;
    for (const DType type : {DType::i8, DType::fp16, DType::fp32}) {
        for (const Shape& shape :
             {Shape{8, 3, 2, 12}, Shape{5, 1, 2, 7}, Shape{1, 1, 1, 1}, Shape{3, 2, 2, 4}, Shape{4, 1, 1, 3}}) {
            const Value weight = weight_of(type, shape, 7);
            const std::int64_t zero_point = type == DType::i8 ? -3 : 0;
            const std::int64_t taps = shape[1] * shape[2], blocks = (shape[3] + 3) / 4, quads = (shape[0] + 3) / 4;
            for (const bool turned : {false, true}) {
                const auto packed =
                    pack_conv_weights(weight, window_of(shape), zero_point, {.turned = turned}).view(scratch);
                Bytes expected;
                for (std::int64_t i = 0; i < quads * taps * blocks * 16; ++i) {
                    const std::int64_t slow = i / 4 % 4, fast = i % 4, block = i / 16 % blocks,
                                       tap = i / 16 / blocks % taps;
                    const std::int64_t oc = i / 16 / blocks / taps * 4 + (turned ? slow : fast),
                                       ic = block * 4 + (turned ? fast : slow);
                    const Bytes one = oc < shape[0] && ic < shape[3]
                                        ? element(weight, (oc * taps + tap) * shape[3] + ic)
                                        : Bytes(size_of(type), static_cast<std::byte>(zero_point));
                    expected.insert(expected.end(), one.begin(), one.end());
                }
                EXPECT_EQ(Bytes(packed.begin(), packed.end()), expected)
                    << name_of(type) << " " << to_string(shape) << (turned ? " turned" : "");
            }
        }
    }
}

TEST(PackedWeights, BlocksOfFp32) {
    Bytes scratch, narrow_scratch;
    for (const DType type : {DType::i8, DType::fp16, DType::fp8e5m2}) {
        const Value weight = weight_of(type, {5, 1, 2, 7}, 7);
        const std::int64_t zero_point = type == DType::i8 ? -3 : 0;
        const auto wide =
            pack_conv_weights(weight, window_of(weight.shape), zero_point, {.widened = true}).view(scratch);
        const auto narrow = pack_conv_weights(weight, window_of(weight.shape), zero_point).view(narrow_scratch);
        const std::vector<double> numbers = decode_reals(DType::fp32, wide);
        ASSERT_EQ(numbers.size() * size_of(type), narrow.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto one = narrow.subspan(i * size_of(type), size_of(type));
            const double expected = is_float(type) ? decode_reals(type, one).front()
                                                   : static_cast<double>(decode_ints(type, one).front() - zero_point);
            EXPECT_TRUE(numbers[i] == expected || std::isnan(expected)) << name_of(type) << " " << i;
        }
    }
}

TEST(PackedWeights, UnitsOfInnerElements) {
    Bytes scratch;
    for (const DType type : {DType::i8, DType::fp16}) {
        for (const Shape& shape : {Shape{8, 3, 2, 12}, Shape{5, 1, 2, 7}, Shape{1, 1, 1, 1}, Shape{3, 2, 2, 28}}) {
            for (const InnerUnits units : {InnerUnits{1, 1}, InnerUnits{2, 1}, InnerUnits{4, 1}, InnerUnits{4, 4}}) {
                const Value weight = weight_of(type, shape, 7);
                const std::int64_t zero_point = type == DType::i8 ? -3 : 0;
                const auto packed = pack_conv_units(weight, window_of(shape), zero_point, units).view(scratch);
                const std::int64_t taps = shape[1] * shape[2], whole = 4 * units.of_tap, unit = 4 * units.blocks,
                                   tap_length = (shape[3] + whole - 1) / whole * whole,
                                   count = (taps * tap_length + unit - 1) / unit;
                Bytes expected;
                for (std::int64_t i = 0; i < (shape[0] + 3) / 4 * count * 4 * unit; ++i) {
                    const std::int64_t oc = i / unit % 4 + i / unit / 4 / count * 4,
                                       inner = i / unit / 4 % count * unit + i % unit, tap = inner / tap_length,
                                       ic = inner % tap_length;
                    const Bytes one = oc < shape[0] && tap < taps && ic < shape[3]
                                        ? element(weight, (oc * taps + tap) * shape[3] + ic)
                                        : Bytes(size_of(type), static_cast<std::byte>(zero_point));
                    expected.insert(expected.end(), one.begin(), one.end());
                }
                EXPECT_EQ(Bytes(packed.begin(), packed.end()), expected)
                    << name_of(type) << " " << to_string(shape) << ", units of " << units.blocks << " in "
                    << units.of_tap;
            }
        }
    }
}

TEST(PackedWeights, RowsOfQuads) {
    Bytes scratch(100, std::byte{77});  // what is left of an earlier constant
    const Value weight = weight_of(DType::i8, {1, 2, 3, 1}, 3);
    const auto packed = pack_depthwise_weights(weight, 5).view(scratch);
    Bytes expected = element(weight, 0);
    for (const std::int64_t i : {1, 2, -1, 3, 4, 5, -1})
        expected.push_back(i < 0 ? std::byte{5} : element(weight, i)[0]);
    EXPECT_EQ(Bytes(packed.begin(), packed.end()), expected);
}

TEST(PackedWeights, SumsOfChannels) {
    Value weight = weight_of(DType::i8, {2, 1, 1, 3}, 0);
    weight.data = std::make_shared<const Bytes>(
        Bytes{std::byte{1}, std::byte{0x80}, std::byte{7}, std::byte{0xff}, std::byte{0}, std::byte{2}});
    EXPECT_EQ(channel_sums(weight, window_of(weight.shape), 0), (std::vector<std::int64_t>{-120, 1, 0, 0}));
    EXPECT_EQ(channel_sums(weight, window_of(weight.shape), -2), (std::vector<std::int64_t>{-114, 7, 0, 0}));
}

// Of a transposed window, an output's phase says which taps it gets: those that lead from it to whole strides.
TEST(PackedWeights, PhasesHaveTheTapsOfTheirOutputs) {
    Bytes scratch;
    for (const std::int64_t stride : {1, 2, 3}) {
        for (const std::int64_t kernel : {1, 2, 3, 4}) {
            for (const std::int64_t pad : {-3, -1, 0, 2}) {
                const WindowAxis axis{.in = 9,
                                      .kernel = kernel,
                                      .stride = stride,
                                      .pad_before = pad,
                                      .out = 9 * stride + kernel,
                                      .transposed = true};
                for (std::int64_t o = 0; o < axis.out; ++o) {
                    std::vector<std::int64_t> taps, wanted;
                    for (std::int64_t k = 0; k < axis.phase_taps(); ++k) {
                        const std::int64_t tap = axis.phase_tap(o % stride, k);
                        if (tap >= 0 && axis.source(o, tap) >= 0) taps.push_back(tap);
                    }
                    for (std::int64_t k = 0; k < kernel; ++k)
                        if (axis.source(o, k) >= 0) wanted.push_back(k);
                    EXPECT_EQ(taps, wanted)
                        << "output " << o << ", stride " << stride << ", kernel " << kernel << ", pad " << pad;
                }
            }
        }
    }
    // Two phases of three taps: channels 1 and 2, then taps 0 and 2, or tap 1 and the zero point.
    const Value weight = weight_of(DType::i8, {1, 1, 3, 1}, 3);
    Window window;
    window.x = {.in = 2, .kernel = 3, .stride = 2, .out = 5, .transposed = true};
    const auto at = [&](std::int64_t tap) { return element(weight, tap)[0]; };
    Bytes expected(4 * 16, std::byte{5});
    expected[0] = at(0), expected[16] = at(2), expected[32] = at(1);
    const auto packed = pack_conv_weights(weight, window, 5).view(scratch);
    EXPECT_EQ(Bytes(packed.begin(), packed.end()), expected);
    // Those of two axes lie side by side, whatever the phase that has most has.
    const Value square = weight_of(DType::i8, {1, 3, 3, 1}, 3);
    window.y = window.x;
    const std::vector<std::int64_t> taps[] = {{0, 2, 6, 8}, {1, 7}, {3, 5}, {4}};
    expected.assign(4 * 4 * 16, std::byte{5});
    for (std::size_t phase = 0; phase < 4; ++phase)
        for (std::size_t k = 0; k < taps[phase].size(); ++k)
            expected[(phase * 4 + k) * 16] = element(square, taps[phase][k])[0];
    const auto packed_square = pack_conv_weights(square, window, 5).view(scratch);
    EXPECT_EQ(Bytes(packed_square.begin(), packed_square.end()), expected);
    window.y = {};
    const auto value = [&](std::int64_t tap) {
        return static_cast<std::int64_t>(static_cast<std::int8_t>(at(tap))) - 5;
    };
    EXPECT_EQ(channel_sums(weight, window, 5),
              (std::vector<std::int64_t>{value(0) + value(2), 0, 0, 0, value(1), 0, 0, 0}));
}

TEST(InParallel, DoesEveryPieceOnceWithCopiesOfTheWork) {
    for (const std::size_t count : {0u, 1u, 2u, 1000u}) {
        std::vector<int> done(count, 0);
        in_parallel(
            count,
            [&, scratch = Bytes()](std::size_t k) mutable {
                scratch.push_back(std::byte{});  // a race, if it were shared
                ++done[k];
            },
            4);
        EXPECT_EQ(done, std::vector<int>(count, 1));
    }
}

TEST(InParallel, ThrowsTheFirstFailureAfterAllHaveEnded) {
    std::atomic<int> under_way{0};
    try {
        in_parallel(
            1000,
            [&](std::size_t k) {
                ++under_way;
                if (k != 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                --under_way;
                if (k == 3) throw std::runtime_error("piece 3");
            },
            4);
        FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "piece 3");
    }
    EXPECT_EQ(under_way, 0);
}

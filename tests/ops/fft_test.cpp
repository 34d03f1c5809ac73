// FFT2D and RFFT2D: the reference against sums in long double and transforms known by hand; how they are planned.
#include "compile/plan/plan.hpp"
#include "ops/builder.hpp"
#include "support/one_node.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

namespace tosavk {
namespace {

Graph transform_graph(Op op, const Shape& shape, bool inverse, bool local_bound) {
    GraphBuilder builder("fft");
    std::vector<ValueId> inputs{builder.input("real", DType::fp32, shape)};
    if (op == Op::fft2d) inputs.push_back(builder.input("imag", DType::fp32, shape));
    Attributes attrs;
    attrs.inverse = inverse;
    attrs.local_bound = local_bound;
    const DType types[] = {DType::fp32, DType::fp32};
    for (const ValueId id : builder.add(op, inputs, attrs, types, "fft")) builder.output(id);
    return builder.finish();
}

std::string rejection(Op op, const Shape& shape) {
    try {
        transform_graph(op, shape, false, false);
        return {};
    } catch (const Error& error) {
        return error.what();
    }
}

HostTensor tensor(const Shape& shape, const std::vector<float>& values) {
    HostTensor t(DType::fp32, shape);
    std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
    return t;
}

std::vector<float> noise(std::int64_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = static_cast<float>(random() >> 8) / 8388608.0f - 1.0f;
    return values;
}

// Times the largest floats, what a sine of the double next to pi is beside 0 would be more than all other results.
TEST(Fft, QuartersOfATurnAreExact) {
    for (const std::int64_t length : {2, 4, 8, 16, 64, 256}) {
        std::vector<float> re(static_cast<std::size_t>(length), 0.0f), im(re.size(), 1.0f);
        re[static_cast<std::size_t>(length / 2)] = 0x1p127f;
        const Shape shape{1, 1, length};
        const std::vector<HostTensor> inputs{tensor(shape, re), tensor(shape, im)};
        const auto out = reference_run(transform_graph(Op::fft2d, shape, false, false), inputs);
        for (std::int64_t k = 0; k < length; ++k) {
            const auto at = static_cast<std::size_t>(k);
            EXPECT_EQ(out[0].as<float>()[at], k % 2 == 0 ? 0x1p127f : -0x1p127f) << length << ", " << k;
            const float imaginary = k == 0 ? static_cast<float>(length) : 0.0f;
            EXPECT_NEAR(out[1].as<float>()[at], imaginary, 1e-9) << length << ", " << k;
        }
    }
}

TEST(Fft, AgreesWithTheSumInLongDouble) {
    // 128 x 64 is past the size at which the reference stops summing directly.
    for (const Shape& shape : {Shape{2, 4, 8}, Shape{1, 1, 16}, Shape{1, 8, 1}, Shape{1, 1, 1}, Shape{1, 128, 64}}) {
        for (const bool inverse : {false, true}) {
            const std::vector<float> re = noise(element_count(shape), 7), im = noise(element_count(shape), 8);
            const std::vector<HostTensor> inputs{tensor(shape, re), tensor(shape, im)};
            const auto out = reference_run(transform_graph(Op::fft2d, shape, inverse, false), inputs);
            const std::int64_t h = shape[1], w = shape[2];
            std::mt19937 random(9);
            for (int probe = 0; probe < 40; ++probe) {
                const std::int64_t n = random() % shape[0], oy = random() % h, ox = random() % w;
                long double real = 0, imaginary = 0;
                for (std::int64_t iy = 0; iy < h; ++iy)
                    for (std::int64_t ix = 0; ix < w; ++ix) {
                        const long double turn =
                            static_cast<long double>(iy * oy % h) / h + static_cast<long double>(ix * ox % w) / w;
                        const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> * turn;
                        const auto i = static_cast<std::size_t>((n * h + iy) * w + ix);
                        real += re[i] * std::cos(angle) - im[i] * std::sin(angle);
                        imaginary += re[i] * std::sin(angle) + im[i] * std::cos(angle);
                    }
                const auto at = static_cast<std::size_t>((n * h + oy) * w + ox);
                const double slack = 1e-7 * static_cast<double>(h * w);
                EXPECT_NEAR(out[0].as<float>()[at], static_cast<double>(real), slack)
                    << to_string(shape) << " seed 7, 8";
                EXPECT_NEAR(out[1].as<float>()[at], static_cast<double>(imaginary), slack);
            }
        }
    }
}

TEST(Fft, HandComputed) {
    // [1 2 3 4] has the transform [10, -2+2i, -2, -2-2i].
    const std::vector<HostTensor> inputs{tensor({1, 1, 4}, {1, 2, 3, 4}), tensor({1, 1, 4}, {0, 0, 0, 0})};
    const auto out = reference_run(transform_graph(Op::fft2d, {1, 1, 4}, false, false), inputs);
    const float real[] = {10, -2, -2, -2}, imaginary[] = {0, 2, 0, -2};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(out[0].as<float>()[i], real[i], 1e-6);
        EXPECT_NEAR(out[1].as<float>()[i], imaginary[i], 1e-6);
    }
}

TEST(Fft, RealTransformIsTheFirstHalfOfTheComplexOne) {
    const Shape shape{2, 8, 16};
    const std::vector<float> re = noise(element_count(shape), 3), im(re.size(), 0.0f);
    const std::vector<HostTensor> real_input{tensor(shape, re)}, complex_input{tensor(shape, re), tensor(shape, im)};
    const auto half = reference_run(transform_graph(Op::rfft2d, shape, false, false), real_input);
    const auto whole = reference_run(transform_graph(Op::fft2d, shape, false, false), complex_input);
    ASSERT_EQ(half[0].shape, (Shape{2, 8, 9}));
    for (std::size_t row = 0; row < 16; ++row)
        for (std::size_t x = 0; x < 9; ++x)
            for (std::size_t k = 0; k < 2; ++k) {
                EXPECT_NEAR(half[k].as<float>()[row * 9 + x], whole[k].as<float>()[row * 16 + x], 1e-5);
            }
    // Self-conjugate points have no imaginary part at all.
    for (const std::size_t at : {0u, 8u, 4u * 9u, 4u * 9u + 8u}) EXPECT_EQ(half[1].as<float>()[at], 0.0f);
}

TEST(Fft, SizesMustBePowersOfTwo) {
    EXPECT_REJECTED(rejection(Op::fft2d, Shape{1, 6, 8}), "H is 6, but must be a power of two");
    EXPECT_REJECTED(rejection(Op::rfft2d, Shape{1, 8, 12}), "W is 12, but must be a power of two");
    EXPECT_REJECTED(rejection(Op::fft2d, Shape{1, 16384, 2}), "H is 16384, but level 8K allows 8192");
}

TEST(FftPlan, PassesShareTwoScratchBuffers) {
    DevicePlan device;
    const Graph graph = transform_graph(Op::fft2d, {8, 256, 256}, false, false);
    const Plan plan = make_plan(graph, device, {});
    ASSERT_EQ(plan.dispatches.size(), 4u);  // 16 x 16 along either axis
    for (std::size_t d = 1; d < 4; ++d) EXPECT_TRUE(plan.dispatches[d].barrier_before) << d;
    const std::uint64_t image = 8 * 256 * 256 * 4;
    EXPECT_EQ(plan.dispatches[0].bindings.back().place.size, 2 * image);
    EXPECT_EQ(plan.dispatches[2].bindings.back().place.offset, plan.dispatches[0].bindings.back().place.offset);
    EXPECT_LE(plan.arena_bytes, 8 * image);
}

TEST(FftPlan, LinesThatFitSharedMemoryTakeOnePassAnAxis) {
    DevicePlan device;
    device.shared_tiles = true;
    device.workgroup_size = 64;
    const auto plan = [&](const Shape& shape) {
        return make_plan(transform_graph(Op::fft2d, shape, false, false), device, {});
    };
    const Plan both = plan({8, 256, 1024});
    ASSERT_EQ(both.dispatches.size(), 2u);
    EXPECT_EQ(both.dispatches[0].groups, (std::array<std::uint32_t, 3>{8 * 256, 1, 1})) << "a line each";
    EXPECT_EQ(both.dispatches[1].groups, (std::array<std::uint32_t, 3>{8 * 1024 / 4, 1, 1})) << "4 lines each";
    EXPECT_EQ(both.dispatches[1].note, "lines of 1024, then 256 in shared memory");
    EXPECT_EQ(plan({8, 1, 256}).dispatches.size(), 1u);
    EXPECT_EQ(both.dispatches[0].invocations, 128u) << "which every device takes";
    EXPECT_EQ(plan({8, 256, 2048}).dispatches[0].kernel, "fft_quads") << "1024 elements a workgroup";
    EXPECT_EQ(plan({8, 1024, 256}).dispatches[0].kernel, "fft_quads") << "columns are read two and more together";
    EXPECT_EQ(plan({8, 1, 1}).dispatches[0].kernel, "fft_pass");
}

TEST(FftPlan, LocalBoundTakesTheDirectSum) {
    const Plan plan = make_plan(transform_graph(Op::rfft2d, {1, 8, 8}, false, true), DevicePlan(), {});
    ASSERT_EQ(plan.dispatches.size(), 1u);
    EXPECT_EQ(plan.dispatches[0].kernel, "fft_direct");
}

}  // namespace
}  // namespace tosavk

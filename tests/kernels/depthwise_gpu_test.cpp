// DEPTHWISE_CONV2D of i8 down the rows: four channels an invocation, and eight where loads and stores are dear, read
// and written at once through texel buffers and through storage buffers.
#include "support/one_node.hpp"

#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

using namespace tosavk;
using namespace tosavk::testing;

namespace {

struct Window {
    Shape input;
    std::int64_t kernel_y, kernel_x;
    std::int32_t stride, dilation, pad;
    bool shares_rows = true;  ///< steps no further than the window: else nobody takes eight channels
};

struct Operands {
    DType weight_type = DType::i8;
    std::int64_t weight_zp = 0;
    bool one_bias = false;
    bool prologue = false;  ///< an operator that the kernel computes where it reads
};

Graph depthwise(const Window& window, const Operands& operands) {
    GraphBuilder b("depthwise", level_none);
    const std::int64_t channels = window.input.back(), biases = operands.one_bias ? 1 : channels;
    std::vector<std::int64_t> weights, bias;
    const std::int64_t range = operands.weight_type == DType::i4 ? 15 : 256;
    for (std::int64_t i = 0; i < window.kernel_y * window.kernel_x * channels; ++i)
        weights.push_back((i * 2654435761 >> 7) % range - range / 2);
    for (std::int64_t i = 0; i < biases; ++i) bias.push_back((i - 30) * 100001);
    Attributes attrs;
    attrs.pad = {window.pad, window.pad, window.pad, window.pad};
    attrs.stride = {window.stride, window.stride};
    attrs.dilation = {window.dilation, window.dilation};
    attrs.acc_type = DType::i32;
    ValueId x = b.input("x", DType::i8, window.input);
    if (operands.prologue) {
        Attributes limits;
        limits.min_val = -90;
        limits.max_val = 77;
        x = b.add1(Op::clamp, {x}, DType::i8, limits);
    }
    b.output(b.add1(
        Op::depthwise_conv2d,
        {x, b.constant_ints("weight", operands.weight_type, {window.kernel_y, window.kernel_x, channels, 1}, weights),
         b.constant_ints("bias", DType::i32, {biases}, bias), b.scalar(DType::i8, -77),
         b.scalar(operands.weight_type, operands.weight_zp)},
        DType::i32, attrs, "sums"));
    return b.finish();
}

struct Form {
    const char* name;
    bool eights, texels;
};

class Depthwise : public test::GpuTestWith<Form> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (GetParam().eights && !device_->plan().int64) GTEST_SKIP() << "the device has no 64-bit integers";
        if (GetParam().texels && device_->plan().texel_elements == 0)
            GTEST_SKIP() << "the device has no texel buffers for kernels";
    }

    /// Runs the graph beside the reference; `whole` is whether eight channels are read at once where the form takes
    /// eight.
    void check(const Window& window, const Operands& operands, bool whole = true, bool busy = false,
               std::uint64_t max_binding_bytes = 0) {
        SCOPED_TRACE(::testing::Message() << "channels " << window.input.back() << ", window " << window.kernel_y << "x"
                                          << window.kernel_x << ", weight zero point " << operands.weight_zp);
        const auto used = test::open_with([&](DevicePlan& plan) {
            plan.slow_storage = GetParam().eights;
            plan.workgroup_size = 64;
            plan.busy_invocations = busy ? 1 << 20 : 1;
            if (!GetParam().texels) plan.texel_elements = 0;
            if (max_binding_bytes != 0) plan.max_binding_bytes = max_binding_bytes;
        });
        const auto shared = std::make_shared<const Graph>(depthwise(window, operands));
        const Plan plan = make_plan(*shared, used->plan(), {});
        ASSERT_EQ(plan.dispatches.size(), 1u);
        const Dispatch& dispatch = plan.dispatches[0];
        const auto has = [&](const char* define) { return dispatch.glsl.find(define) != std::string::npos; };
        const bool eights = GetParam().eights && window.shares_rows && window.input.back() % 8 == 0;
        EXPECT_EQ(dispatch.kernel, "depthwise_rows");
        EXPECT_EQ(has("#define EIGHTS 1\n"), eights);
        EXPECT_EQ(has("#define IN0_EIGHTS\n"), eights && whole);
        EXPECT_EQ(has("#define IN1_EIGHTS\n"), eights && operands.weight_type == DType::i8);
        EXPECT_TRUE(!busy || has("#define ROWS 1\n"));
        EXPECT_EQ(dispatch.bindings[0].path, !GetParam().texels ? ReadPath::buffer
                                             : eights           ? ReadPath::texel_pairs
                                                                : ReadPath::texels);
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        Checker checker(used, shared);
        const CheckReport report = checker.run(seed);
        EXPECT_TRUE(report.passed) << "seed " << seed << "\n" << report.detail;
    }
};

TEST_P(Depthwise, WindowsAndZeroPoints) {
    const Window windows[] = {
        {{1, 14, 15, 16}, 3, 3, 1, 1, 1}, {{2, 21, 23, 24}, 3, 3, 2, 1, 1}, {{1, 15, 11, 16}, 5, 5, 1, 1, 2},
        {{1, 13, 12, 8}, 3, 3, 1, 2, 2},  {{1, 9, 40, 8}, 1, 4, 1, 1, 3},   {{3, 25, 9, 8}, 2, 1, 1, 3, 0},
        {{1, 24, 24, 16}, 2, 2, 2, 1, 0}, {{2, 18, 36, 24}, 3, 3, 3, 1, 0}, {{2, 29, 38, 24}, 2, 2, 3, 1, 0, false},
        {{1, 17, 18, 12}, 3, 3, 1, 1, 1}, {{1, 14, 15, 6}, 3, 3, 1, 1, 1}};
    for (const Window& window : windows) {
        check(window, {});
        check(window, {DType::i8, 11, true}, true, true);
    }
}

// Columns between the taps are not read: a wide dilation is no long loop.
TEST_P(Depthwise, WideDilation) { check({{1, 6, 700, 8}, 1, 3, 1, 300, 0}, {}); }

TEST_P(Depthwise, NarrowWeights) { check({{1, 14, 15, 16}, 3, 3, 1, 1, 1}, {DType::i4}); }

TEST_P(Depthwise, InputsThatAreComputed) {
    check({{1, 14, 15, 16}, 1, 1, 1, 1, 0}, {DType::i8, 3, false, true}, false);
}

TEST_P(Depthwise, InputsInSeveralBindings) {
    if (GetParam().texels) GTEST_SKIP() << "a texel buffer is in one piece";
    check({{1, 31, 33, 8}, 3, 3, 1, 1, 1}, {}, false, false, 4096);
}

using Direct = test::GpuTest;

// Larger windows, several outputs a channel and sums of 48 bits, of 1, 2 and 4 pixels an invocation.
TEST_F(Direct, LinesAgreeWithTheReference) {
    const auto used = test::open_with([](DevicePlan& plan) { plan.busy_invocations = 1; });
    const struct {
        const char *line, *pixels;
    } cases[] = {{"depthwise f32 1x9x13x8 1x7x7 p3", "4"},
                 {"depthwise i8 2x9x14x12 1x7x7 p3 rescale", "4"},
                 {"depthwise f32 1x9x13x6 1x7x7 p3", "4"},
                 {"depthwise f32 1x9x3x8 2x3x3 p1 clamp", "2"},
                 {"depthwise f32 1x8x9x8 2x3x3 p1", "4"},
                 {"depthwise i8 1x9x15x8 2x3x3 s2 p1 rescale", "4"},
                 {"depthwise i8 1x8x9x4 4x3x3 p1 rescale clamp", "4"},
                 {"depthwise f16 1x8x9x4 8x2x3 p1", "4"},
                 {"depthwise i8 1x8x9x8 3x3x3 p1 rescale", "4"},
                 {"depthwise f32 1x8x9x5 2x3x3 p1", "4"},
                 {"depthwise 16x8 1x8x9x8 1x3x3 p1 rescale", "4"},
                 {"depthwise 16x8 1x30x13x6 2x29x10", "4"},
                 {"depthwise 16x8 1x5x60x4 1x2x52 p1", "1"},
                 {"depthwise i8 1x9x9x8 2x3x3 p2 d2 rescale", "1"},
                 {"depthwise f32 1x9x31x8 1x9x11 p4", "4"},
                 {"depthwise f32 1x9x31x8 1x9x13 p4", "4"},
                 {"depthwise f32 1x9x31x8 1x9x14 p4", "2"},
                 {"depthwise i8 1x30x31x4 1x18x15 rescale", "2"}};
    for (const auto& [line, pixels] : cases) {
        const auto graph = std::make_shared<const Graph>(load_problem(line));
        const Plan plan = make_plan(*graph, used->plan(), {});
        ASSERT_EQ(plan.dispatches.size(), 1u) << line;
        EXPECT_EQ(plan.dispatches[0].kernel, "depthwise_conv2d") << line;
        EXPECT_NE(plan.dispatches[0].glsl.find(std::string("#define TX ") + pixels + "\n"), std::string::npos) << line;
        Checker checker(used, graph);
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        const CheckReport report = checker.run(seed);
        EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
    }
}

INSTANTIATE_TEST_SUITE_P(Forms, Depthwise,
                         ::testing::Values(Form{"Quads", false, false}, Form{"EightsOfTexels", true, true},
                                           Form{"EightsOfBuffers", true, false}),
                         [](const auto& place) { return std::string(place.param.name); });

}  // namespace

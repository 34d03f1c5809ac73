// DEPTHWISE_CONV2D of i8 as devices run it whose loads and stores are dear: eight channels an invocation, read and written
// at once through texel buffers and through storage buffers.
#include "one_node.hpp"

#include "api/checker.hpp"
#include "plan/plan.hpp"
#include "support/gpu_test.hpp"

using namespace tosavk;
using namespace tosavk::testing;

namespace {

struct Window {
    Shape input;
    std::int64_t kernel_y, kernel_x;
    std::int32_t stride, dilation, pad;
    bool prologue = false;  ///< an operator that the kernel computes where it reads
};

Graph depthwise(const Window& window, DType weight_type, std::int64_t weight_zp) {
    GraphBuilder b("depthwise", level_none);
    const std::int64_t channels = window.input.back();
    std::vector<std::int64_t> weights, bias;
    const std::int64_t range = weight_type == DType::i4 ? 15 : 256;
    for (std::int64_t i = 0; i < window.kernel_y * window.kernel_x * channels; ++i) weights.push_back((i * 2654435761 >> 7) % range - range / 2);
    for (std::int64_t i = 0; i < channels; ++i) bias.push_back((i - 30) * 100001);
    Attributes attrs;
    attrs.pad = {window.pad, window.pad, window.pad, window.pad};
    attrs.stride = {window.stride, window.stride};
    attrs.dilation = {window.dilation, window.dilation};
    attrs.acc_type = DType::i32;
    ValueId x = b.input("x", DType::i8, window.input);
    if (window.prologue) {
        Attributes limits;
        limits.min_val = -90;
        limits.max_val = 77;
        x = b.add1(Op::clamp, {x}, DType::i8, limits);
    }
    b.output(b.add1(Op::depthwise_conv2d,
                    {x, b.constant_ints("weight", weight_type, {window.kernel_y, window.kernel_x, channels, 1}, weights),
                     b.constant_ints("bias", DType::i32, {channels}, bias), b.scalar(DType::i8, -77), b.scalar(weight_type, weight_zp)},
                    DType::i32, attrs, "sums"));
    return b.finish();
}

class Depthwise : public test::GpuTestWith<bool> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (!device_->plan().int64) GTEST_SKIP() << "the device has no 64-bit integers";
        if (GetParam() && device_->plan().texel_elements == 0) GTEST_SKIP() << "the device has no texel buffers for kernels";
    }

    /// Runs the graph beside the reference; `eights` is whether the plan reads the input by eights.
    void check(Graph&& graph, const std::string& name, bool eights, std::uint64_t max_binding_bytes = 0) {
        const auto used = test::open_with([&](DevicePlan& plan) {
            plan.slow_storage = true;
            plan.workgroup_size = 64;
            plan.busy_invocations = 1;
            if (!GetParam()) plan.texel_elements = 0;
            if (max_binding_bytes != 0) plan.max_binding_bytes = max_binding_bytes;
        });
        const auto shared = std::make_shared<const Graph>(std::move(graph));
        const Plan plan = make_plan(*shared, used->plan(), {});
        ASSERT_EQ(plan.dispatches.size(), 1u) << name;
        EXPECT_EQ(plan.dispatches[0].kernel, "depthwise_rows") << name;
        EXPECT_NE(plan.dispatches[0].glsl.find("#define EIGHTS 1"), std::string::npos) << name;
        EXPECT_EQ(plan.dispatches[0].glsl.find("#define IN0_EIGHTS") != std::string::npos, eights) << name;
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        api::Checker checker(used, shared);
        const api::CheckReport report = checker.run(seed);
        EXPECT_TRUE(report.passed) << name << ", seed " << seed << "\n" << report.detail;
    }
};

TEST_P(Depthwise, WindowsAndZeroPoints) {
    const Window windows[] = {{{1, 14, 15, 16}, 3, 3, 1, 1, 1}, {{2, 21, 23, 24}, 3, 3, 2, 1, 1}, {{1, 15, 11, 16}, 5, 5, 1, 1, 2},
                              {{1, 13, 12, 8}, 3, 3, 1, 2, 2},  {{1, 9, 40, 8}, 1, 4, 1, 1, 3},   {{3, 25, 9, 8}, 2, 1, 1, 3, 0}};
    for (const Window& window : windows) {
        for (const std::int64_t weight_zp : {0, 11}) {
            check(depthwise(window, DType::i8, weight_zp), "channels " + std::to_string(window.input.back()) + ", zero point " + std::to_string(weight_zp), true);
        }
    }
}

TEST_P(Depthwise, NarrowWeights) { check(depthwise({{1, 14, 15, 16}, 3, 3, 1, 1, 1}, DType::i4, 0), "i4", true); }

TEST_P(Depthwise, InputsThatAreComputed) { check(depthwise({{1, 14, 15, 16}, 1, 1, 1, 1, 0, true}, DType::i8, 3), "prologue", false); }

TEST_P(Depthwise, InputsInSeveralBindings) {
    if (GetParam()) GTEST_SKIP() << "a texel buffer is in one piece";
    check(depthwise({{1, 31, 33, 8}, 3, 3, 1, 1, 1}, DType::i8, 0), "several bindings", false, 4096);
}

INSTANTIATE_TEST_SUITE_P(Operands, Depthwise, ::testing::Bool(),
                         [](const auto& place) { return place.param ? "TexelBuffers" : "StorageBuffers"; });

}  // namespace

// Products of few rows, whose sums several invocations share: how many blocks each takes at a time, and what is left
// where these are no whole number.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "support/plan_labels.hpp"
#include "verify/checker.hpp"

#include <fmt/format.h>

using namespace tosavk;

namespace {

class FewRows : public test::GpuTest {
protected:
    static std::shared_ptr<Device> open(bool tiles, std::int64_t busy) {
        return test::open_with([=](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.subgroup_lanes = 1;
            plan.shared_rows = plan.slow_storage = false;
            plan.shared_tiles = true;
            plan.product_tiles = tiles;
            plan.product_tile_bytes = 16384;
            plan.least_tiles = 1000;
            plan.tile_parts = 1;
            plan.own_rows = 0;
            plan.registers = 256;
            plan.busy_invocations = busy;
        });
    }

    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (device_->plan().own_rows == 0)
            GTEST_SKIP() << "the driver takes minutes to compile loops that are unrolled";
    }

    /// Returns how many blocks an invocation takes at a time.
    int check(const std::shared_ptr<Device>& device, const std::string& line) {
        return check(device, load_problem(line), line);
    }

    int check(const std::shared_ptr<Device>& device, Graph&& of, const std::string& line) {
        const auto graph = std::make_shared<const Graph>(std::move(of));
        const Plan plan = make_plan(*graph, device->plan(), {});
        EXPECT_EQ(plan.dispatches.at(0).kernel, "gemm_split") << line;
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        const CheckReport report = Checker(device, graph).run(seed);
        EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
        return test::first_define(plan, "MANY");
    }
};

TEST_F(FewRows, Vectors) {
    const auto device = open(true, 256);
    for (const int inner : {3, 64, 100, 510, 1024}) {
        for (const char* form : {"fully_connected f32 1x{} 68", "fully_connected f16 1x{} 66", "matmul f32 1x1x{}x64",
                                 "matmul f16 3x1x{}x30", "fully_connected bf16 1x{} 64"})
            check(device, fmt::format(fmt::runtime(form), inner));
        for (const char* form : {"fully_connected i8 1x{} 68 rescale", "fully_connected i4 1x{} 64 rescale",
                                 "matmul i8 1x1x{}x64 rescale", "fully_connected 16x8 1x{} 68 rescale"})
            check(device, fmt::format(fmt::runtime(form), inner));
    }
    EXPECT_EQ(check(device, "fully_connected f32 1x1024 64"), 8) << "inner elements";
    EXPECT_EQ(check(device, "matmul f32 1x1x1024x64"), 4);
    EXPECT_EQ(check(device, "matmul f32 1x1x1000x64"), 1);
}

TEST_F(FewRows, SeveralRows) {
    const auto device = open(false, 4096);
    for (const char* line : {"matmul f32 1x4x512x8", "matmul f16 2x3x260x12", "conv2d f32 1x3x3x64 8x3x3 p1",
                             "conv2d f32 1x3x3x40 8x5x5 p2", "conv2d i8 1x3x3x64 8x3x3 p1 rescale",
                             "conv2d f32 1x3x4x20 8x1x33 p0,0,16,16", "conv3d f32 1x3x3x3x16 8x3x3x3 p1",
                             "transpose_conv2d f32 1x3x3x64 8x2x2 s2", "transpose_conv2d f32 1x3x3x64 8x3x3 s2",
                             "transpose_conv2d i8 1x4x3x64 8x4x4 s2 p-1 rescale"})
        check(device, line);
    EXPECT_EQ(check(device, "matmul f32 1x4x512x8"), 2);
}

// Fused with what cuts one or four pixels out, and without: the sums have one order.
TEST_F(FewRows, MayBePartOfALargerInput) {
    const auto device = open(true, 1 << 16);
    for (const auto& [side, channels] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 256}, {1, 250}, {2, 64}}) {
        GraphBuilder b("part", level_none);
        std::vector<float> weights;
        for (std::int64_t i = 0; i < 64 * channels; ++i) weights.push_back(static_cast<float>(i * 37 % 64 - 32) / 61);
        Attributes attrs;
        attrs.pad = {0, 0, 0, 0};
        attrs.stride = attrs.dilation = {1, 1};
        attrs.acc_type = DType::fp32;
        const std::int64_t start[] = {0, 1, 1, 0}, size[] = {1, side, side, channels};
        const ValueId x = b.input("x", DType::fp32, {1, 3, 3, channels}), zero = b.scalar(DType::fp32, 0);
        const ValueId pixels = b.add1(Op::slice, {x, b.shape(start), b.shape(size)}, DType::fp32, {}, "pixels");
        const ValueId weight = b.constant_floats("weight", DType::fp32, {64, 1, 1, channels}, weights);
        b.output(b.add1(Op::conv2d, {pixels, weight, b.scalar(DType::fp32, 0.5), zero, zero}, DType::fp32, attrs,
                        "convolution"));
        check(device, b.finish(), fmt::format("{0}x{0}x{1}", side, channels));
    }
}

}  // namespace

// Products whose inner dimension is parted: tiles of each part, in shared memory or in registers alone, and what adds
// them up.
#include "support/one_node.hpp"

#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "support/gpu_test.hpp"
#include "support/plan_labels.hpp"
#include "verify/checker.hpp"

using namespace tosavk;
using namespace tosavk::testing;

namespace {

struct Form {
    bool dot4, direct;
};

class TileParts : public test::GpuTestWith<Form> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        const auto [dot4, direct] = GetParam();
        if (dot4 && !device_->caps().integer_dot_product) GTEST_SKIP() << "the device has no integer dot products";
        // SwiftShader, whose plan has no such tiles, compiles for minutes what others do in a second.
        if (device_->plan().own_rows == 0 && !direct)
            GTEST_SKIP() << "the driver takes minutes to compile large register tiles";
        used_ = test::open_with([](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.workgroup_size = 64;
            plan.subgroup_lanes = 1;
            plan.shared_rows = false;
            plan.shared_tiles = true;
            plan.product_tiles = !GetParam().direct;
            plan.own_rows = GetParam().direct ? 8 : 0;
            plan.slow_storage = plan.slow_storage && !GetParam().direct;
            plan.product_tile_bytes = 32768;
            plan.least_tiles = 64;
            plan.tile_parts = 16;
            plan.busy_invocations = 65536;
            plan.dot4 = GetParam().dot4;
        });
    }

    Plan plan(const char* line) { return make_plan(load_problem(line), used_->plan(), {}); }

    std::shared_ptr<Device> used_;
};

int parts_of(const Plan& plan) { return test::first_define(plan, "PARTS"); }

TEST_P(TileParts, AgreeWithTheReference) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    for (const char* line :
         {"matmul f32 1x128x512x64", "matmul f32 2x120x333x60", "matmul f16 1x128x260x66", "matmul bf16 1x64x1024x32",
          "matmul i8 2x128x1032x128 rescale", "matmul i8 1x128x517x64 rescale", "conv2d f32 1x16x16x64 64x3x3 p1 clamp",
          "conv2d f32 2x8x8x30 62x3x3 p2 d2", "conv2d f16 1x16x16x32 32x3x3 s1 p1", "conv2d f32 1x32x16x257 16x1x1",
          "conv2d i8 1x16x16x128 64x3x3 p1 rescale clamp", "conv2d i8 1x16x16x100 63x3x3 p1 rescale",
          "conv2d i8 1x32x16x1024 16x1x1 rescale", "conv3d f32 1x4x8x8x64 64x2x3x3 p1 clamp"}) {
        const Plan made = plan(line);
        ASSERT_EQ(made.dispatches.size() - test::widened(made) - test::turned(made), 2u) << line;
        EXPECT_EQ(test::first_of(made).kernel, GetParam().direct ? "gemm_direct" : "gemm_tiles") << line;
        EXPECT_EQ(made.dispatches.back().kernel, "gemm_parts") << line;
        EXPECT_GT(parts_of(made), 1) << line;
        if (!GetParam().direct) {
            EXPECT_EQ(test::first_define(made, "SPLIT"), 1) << line;
        }
        Checker checker(used_, std::make_shared<const Graph>(load_problem(line)));
        const CheckReport report = checker.run(seed);
        EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
    }
}

TEST_P(TileParts, AsManyAsKeepTheDeviceBusy) {
    // 8 tiles of 64x32, or 512 of 8x4.
    EXPECT_EQ(parts_of(plan("conv2d f32 1x16x16x512 64x3x3 p1")), GetParam().direct ? 16 : 8);
    EXPECT_EQ(parts_of(plan("conv2d f32 1x8x8x512 64x3x3 p1")), 16);
    // Enough tiles, a short inner dimension, sums of 48 bits, phases: as they are.
    for (const char* line : {"matmul f32 1x2048x512x1024", "matmul f32 1x128x16x64", "matmul i16 1x128x512x64 rescale",
                             "transpose_conv2d f32 1x16x16x64 64x4x4 s2"})
        EXPECT_EQ(plan(line).dispatches.size(), 1u) << line;
}

/// Of windows of one pixel one pipeline has all sizes.
TEST_P(TileParts, OfAllSizesAreOnePipeline) {
    if (GetParam().direct) GTEST_SKIP() << "tiles in registers alone have their sizes";
    const auto first = [&](const char* line) {
        const Plan made = plan(line);
        EXPECT_EQ(made.dispatches.size(), 2u) << line;
        EXPECT_EQ(test::first_define(made, "FLAT"), 1) << line;
        return std::make_pair(made.dispatches.at(0).glsl, made.dispatches.at(0).constants);
    };
    EXPECT_EQ(first("conv2d f32 1x32x16x512 64x1x1"), first("conv2d f32 1x16x16x1024 192x1x1"));
    EXPECT_EQ(first("conv2d i8 1x32x16x1024 64x1x1 rescale"), first("conv2d i8 1x16x16x2048 192x1x1 rescale"));
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    for (const char* line :
         {"conv2d f32 1x32x16x512 64x1x1", "conv2d f32 1x16x16x1024 192x1x1", "conv2d f32 2x9x7x512 68x1x1 clamp",
          "conv2d f16 1x16x15x512 60x1x1", "conv2d i8 1x16x16x2048 196x1x1 rescale"}) {
        Checker checker(used_, std::make_shared<const Graph>(load_problem(line)));
        const CheckReport report = checker.run(seed);
        EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
    }
}

/// The same of those in one piece, in tiles or in sums that invocations share, with all that follows them.
TEST_P(TileParts, OfOnePieceAreOnePipelineToo) {
    if (GetParam().direct) GTEST_SKIP() << "tiles in registers alone have their sizes";
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    for (const char* kernel : {"gemm_tiles", "gemm_split"}) {
        const bool in_tiles = kernel == std::string("gemm_tiles");
        const auto used = test::open_with([&](DevicePlan& plan) {
            plan = used_->plan();
            plan.least_tiles = in_tiles ? 1 : 1000;
            plan.tile_parts = 1;
            plan.busy_invocations = in_tiles ? 1 : 65536;
        });
        const auto first = [&](const char* line) {
            const Plan made = make_plan(load_problem(line), used->plan(), {});
            const Dispatch& product = test::first_of(made);
            EXPECT_EQ(product.kernel, kernel) << line;
            EXPECT_EQ(test::first_define(made, "FLAT"), 1) << line;
            return std::make_pair(product.glsl, product.constants);
        };
        EXPECT_TRUE(first("conv2d f32 1x32x16x64 64x1x1 clamp") == first("conv2d f32 1x16x16x128 128x1x1 clamp"));
        EXPECT_TRUE(first("conv2d i8 1x32x16x64 64x1x1 rescale") == first("conv2d i8 1x16x16x256 128x1x1 rescale"));
        for (const char* line : {"conv2d f32 1x32x16x64 64x1x1 clamp", "conv2d f32 2x9x7x96 68x1x1 clamp",
                                 "conv2d f16 1x16x15x48 60x1x1", "conv2d f32 1x5x5x20 12x1x1",
                                 "conv2d i8 1x16x16x256 196x1x1 rescale clamp", "conv2d i8 3x9x16x36 20x1x1 rescale"}) {
            const CheckReport report = Checker(used, std::make_shared<const Graph>(load_problem(line))).run(seed);
            EXPECT_TRUE(report.passed) << kernel << ", " << line << ", seed " << seed << "\n" << report.detail;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, TileParts,
                         ::testing::Values(Form{false, false}, Form{true, false}, Form{false, true}, Form{true, true}),
                         [](const auto& form) {
                             return std::string(form.param.direct ? "Direct" : "Tiles") +
                                    (form.param.dot4 ? "FourProductsAtOnce" : "Plain");
                         });

}  // namespace

// Tiles in registers alone that neither lines of pixels nor the rows of all pixels have a whole number of: the last one
// begins earlier. Of convolutions of one pixel one pipeline has all sizes but the inner one; taps of two or three
// elements become quads in a pass before.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "support/plan_labels.hpp"
#include "verify/checker.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

using namespace tosavk;

namespace {

struct Form {
    const char* name;
    int registers;           ///< of an invocation
    std::int64_t parts = 1;  ///< invocations of a tile, at most
};

class DirectLines : public test::GpuTestWith<Form> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        used_ = test::open_with([](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.subgroup_lanes = 1;
            plan.shared_rows = plan.shared_tiles = plan.product_tiles = plan.slow_storage = plan.dot4 = false;
            plan.texel_elements = 0;
            plan.fma_chains = true;
            plan.own_rows = 8;
            plan.registers = GetParam().registers;
            plan.tile_parts = GetParam().parts;
            plan.busy_invocations = GetParam().parts > 1 ? 1 << 20 : 1;
        });
    }

    /// The kernel's tile is one of so many rows.
    void check(const std::string& line, int rows, bool in_line) {
        const auto graph = std::make_shared<const Graph>(load_problem(line));
        const Plan plan = make_plan(*graph, used_->plan(), {});
        const Dispatch& product = test::first_of(plan);
        ASSERT_EQ(product.kernel, "gemm_direct") << line;
        for (const std::string& define :
             {fmt::format("#define TM {}\n", rows), fmt::format("#define LINE {:d}\n", in_line),
              fmt::format("#define FLAT {}\n", in_line ? 0 : 2)})
            EXPECT_NE(product.glsl.find(define), std::string::npos) << line << ": no " << define;
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        const CheckReport report = Checker(used_, graph).run(seed);
        EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
    }

    std::shared_ptr<Device> used_;
};

TEST_P(DirectLines, OfPixels) {
    const bool few = GetParam().registers <= 64;
    check("conv2d f32 1x9x20x16 12x3x3 p1", 7, true);
    check("conv2d f32 2x5x34x16 20x3x3 s1 p1 clamp", 7, true);
    if (!few) check("conv2d f32 2x5x31x16 20x3x3 s1 p1 clamp", 8, true);
    check("conv2d f32 1x9x81x16 16x5x3 s2 p2,2,1,1 clamp", 7, true);  // 41 pixels
    if (!few) check("conv2d f16 1x6x20x16 12x3x3 p1", 7, true);
    check("conv2d i8 2x5x20x16 36x3x3 p1 rescale clamp", 7, true);
    check("conv3d f32 1x4x5x20x8 12x3x3x3 p1 clamp", 7, true);
    if (GetParam().parts > 1) return;  // each phase has taps of its own
    check("transpose_conv2d f32 1x6x20x8 12x2x2 s2 clamp", 7, true);
    check("transpose_conv2d i8 2x5x20x16 12x4x4 s2 p-1 rescale", 7, true);
}

TEST_P(DirectLines, OfOnePixelWindows) {
    const bool few = GetParam().registers <= 64;
    check("conv2d f32 1x9x11x160 12x1x1 clamp", few ? 7 : 8, false);
    check("conv2d f32 3x7x7x160 40x1x1", few ? 7 : 8, false);
    check("conv2d f16 1x9x11x160 12x1x1", few ? 2 : 8, false);
    check("conv2d i8 1x9x11x160 12x1x1 rescale clamp", few ? 7 : 8, false);
    check("fully_connected f32 30x160 20", few ? 4 : 8, false);
    check("fully_connected i8 49x160 20 rescale", 7, false);
}

// Their pipelines differ by the number of inner elements alone.
TEST_P(DirectLines, OnePixelWindowsShareAPipeline) {
    std::vector<std::string> all;
    for (const char* line : {"conv2d f32 1x14x14x64 12x1x1 clamp", "conv2d f32 2x28x7x64 40x1x1 clamp",
                             "conv2d f32 1x7x14x64 16x1x1 clamp", "conv2d f32 1x14x14x32 12x1x1 clamp"}) {
        const Plan plan = make_plan(load_problem(line), used_->plan(), {});
        const Dispatch& product = test::first_of(plan);
        EXPECT_FALSE(product.pushed.empty()) << line;
        all.push_back(fmt::format("{}\n{}", fmt::join(product.constants, " "), product.glsl));
    }
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(all[0], all[2]);
    EXPECT_NE(all[0], all[3]);
}

TEST_P(DirectLines, OfFewChannels) {
    for (const auto& [line, passes] :
         {std::pair("conv2d f32 1x27x27x3 64x5x5 p2 clamp", 1u),
          std::pair("conv2d f32 2x25x29x2 64x7x5 s1,2 p3,1,2,0", 1u), std::pair("conv2d f16 1x27x27x3 64x5x5 p2", 1u),
          std::pair("conv2d i8 1x27x27x3 64x5x5 p2 rescale clamp", 1u),
          std::pair("conv2d i4 1x27x27x3 64x5x5 s2 p2 rescale", 1u),
          std::pair("conv3d f32 1x6x15x14x3 64x3x3x3 p1", 1u), std::pair("conv2d f32 1x33x35x3 64x5x5 p4 d2 clamp", 1u),
          std::pair("conv2d bf16 1x27x27x3 64x7x7 p3", 1u),
          std::pair("transpose_conv2d f32 1x15x15x3 64x6x6 s2 clamp", 1u),
          std::pair("conv2d f32 1x27x27x3 12x3x3 s2 p1", 0u),  // read too seldom
          std::pair("conv2d f32 1x27x27x1 64x5x5 p2", 0u)}) {  // would be four times as many
        const Graph graph = load_problem(line);
        EXPECT_EQ(test::widened(make_plan(graph, used_->plan(), {})), passes) << line;
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        const CheckReport report = Checker(used_, std::make_shared<const Graph>(graph)).run(seed);
        EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
    }
}

/// x [1, 12, w + 2, channels], of which `cut` takes [1, 10, w, channels], or padded by what it lacks.
Graph of_one_pixel_windows(std::int64_t w, std::int64_t channels, std::int64_t out, bool cut) {
    GraphBuilder b("pointwise");
    const Shape part{1, 10, w, channels};
    const ValueId x = b.input("x", DType::fp32, cut ? Shape{1, 12, w + 2, channels} : part);
    const ValueId moved =
        cut ? b.add1(Op::slice, {x, b.shape(Shape{0, 1, 2, 0}), b.shape(part)}, DType::fp32)
            : b.add1(Op::pad, {x, b.shape(Shape{0, 0, 1, 1, 0, 2, 0, 0}), b.scalar(DType::fp32, 0)}, DType::fp32);
    std::vector<double> weights;
    for (std::int64_t i = 0; i < out * channels; ++i) weights.push_back(static_cast<double>(i * 37 % 255) / 64 - 2);
    Attributes attrs;
    attrs.pad = {0, 0, 0, 0};
    attrs.stride = attrs.dilation = {1, 1};
    attrs.acc_type = DType::fp32;
    const ValueId zero = b.scalar(DType::fp32, 0);
    b.output(b.add1(Op::conv2d,
                    {moved, b.constant("w", DType::fp32, {out, 1, 1, channels}, encode_reals(DType::fp32, weights)),
                     b.scalar(DType::fp32, 0.5), zero, zero},
                    DType::fp32, attrs, "sums"));
    return b.finish();
}

// Sums have one order whatever is folded into the convolution: the checker compares bits with a run that folds nothing.
TEST_P(DirectLines, OfPartsOfAnInput) {
    if (GetParam().parts == 1) return;
    const auto device = test::open_with([&](DevicePlan& plan) {
        plan = used_->plan();
        plan.busy_invocations = 8192;
        plan.tile_parts = 16;
    });
    for (const auto& [w, channels, out] : {std::tuple{10, 512, 256}, std::tuple{10, 256, 512}, std::tuple{20, 256, 256},
                                           std::tuple{20, 128, 512}, std::tuple{14, 160, 96}}) {
        for (const bool cut : {true, false}) {
            const auto graph = std::make_shared<const Graph>(of_one_pixel_windows(w, channels, out, cut));
            const CheckReport report = Checker(device, graph).run(1);
            EXPECT_TRUE(report.passed) << w << ", " << channels << " to " << out << (cut ? ", cut" : ", padded") << "\n"
                                       << report.detail;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, DirectLines,
                         ::testing::Values(Form{.name = "Few", .registers = 64}, Form{.name = "Many", .registers = 96},
                                           Form{.name = "FewParts", .registers = 64, .parts = 4},
                                           Form{.name = "ManyParts", .registers = 96, .parts = 4}),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace

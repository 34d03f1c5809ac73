// Products through tiles whose inner dimension is no whole number of steps, or less than one, and the taps of windows
// that lie in the padding.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

#include <fmt/format.h>

#include <set>

using namespace tosavk;

namespace {

/// How a device is pretended: what its tiles multiply at once, and what shares the inner dimension.
struct Form {
    const char* name;
    bool dot4 = false, mixed = false;  ///< mixed: of signed by unsigned numbers
    std::int64_t parts = 1;            ///< workgroups of a tile, at most
    std::int64_t busy = 1;             ///< invocations; many make groups of a workgroup share the inner dimension
    std::uint32_t registers = 256;     ///< of an invocation
};

class TileSteps : public test::GpuTestWith<Form> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (GetParam().dot4 && !device_->caps().integer_dot_product)
            GTEST_SKIP() << "the device has no integer dot products";
        if (device_->plan().own_rows == 0) GTEST_SKIP() << "the driver takes minutes to compile large register tiles";
        used_ = test::open_with([](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.subgroup_lanes = 1;
            plan.shared_rows = false;
            plan.shared_tiles = true;
            plan.product_tiles = true;
            plan.own_rows = 0;
            plan.tile_quads = 2;
            plan.registers = GetParam().registers;
            plan.product_tile_bytes = 32768;
            plan.least_tiles = GetParam().parts > 1 ? 1000 : 1;
            plan.tile_parts = GetParam().parts;
            plan.busy_invocations = GetParam().busy;
            plan.dot4 = GetParam().dot4;
            plan.dot4_mixed = GetParam().mixed;
        });
    }

    void check(const std::string& line) { check(load_problem(line), line); }
    void check(Graph&& made, const std::string& line) {
        const auto graph = std::make_shared<const Graph>(std::move(made));
        const Plan plan = make_plan(*graph, used_->plan(), {});
        for (const auto& dispatch : plan.dispatches) kernels_.insert(dispatch.kernel);
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        const CheckReport report = Checker(used_, graph).run(seed);
        EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
    }

    std::shared_ptr<Device> used_;
    std::set<std::string> kernels_;
};

/// CONV2D of i8 with a zero point of its input and, of TOSA alone, one of its weights.
Graph with_zero_points(std::int64_t channels, std::int64_t of_weights) {
    GraphBuilder b("product", level_none);
    std::vector<std::int64_t> weights, bias;
    for (std::int64_t i = 0; i < 64 * 9 * channels; ++i) weights.push_back((i * 2654435761 >> 7) % 255 - 127);
    for (std::int64_t i = 0; i < 64; ++i) bias.push_back((i - 30) * 1001);
    Attributes attrs;
    attrs.pad = {1, 1, 1, 1};
    attrs.stride = attrs.dilation = {1, 1};
    attrs.acc_type = DType::i32;
    b.output(b.add1(
        Op::conv2d,
        {b.input("x", DType::i8, {1, 9, 11, channels}), b.constant_ints("w", DType::i8, {64, 3, 3, channels}, weights),
         b.constant_ints("bias", DType::i32, {64}, bias), b.scalar(DType::i8, -77),
         b.scalar(DType::i8, static_cast<double>(of_weights))},
        DType::i32, attrs, "sums"));
    return b.finish();
}

// Inner elements of a tap: whole steps, a block or more too many, too few, and ends within a block.
constexpr int inner_sizes[] = {3, 5, 25, 36, 100, 516};

TEST_P(TileSteps, OfConvolutions) {
    for (const int inner : inner_sizes) {
        if (GetParam().dot4) {
            check(fmt::format("conv2d i8 1x9x11x{} 64x3x3 p1 rescale clamp", inner));
            continue;
        }
        check(fmt::format("conv2d f32 1x9x11x{} 64x3x3 p1 clamp", inner));
        if (inner % 5 == 0) {
            check(fmt::format("conv2d i8 1x9x11x{} 64x3x3 p1 rescale clamp", inner));
            check(fmt::format("conv2d f16 2x7x9x{} 33x2x3 s1 p1", inner));
            check(fmt::format("conv2d 16x8 1x8x8x{} 64x3x3 p1 rescale", inner));
            check(fmt::format("conv3d f32 1x4x5x6x{} 64x2x3x2 p1", inner));
            check(fmt::format("transpose_conv2d f32 1x6x7x{} 64x3x3 s2", inner));
        }
    }
    EXPECT_TRUE(kernels_.contains("gemm_tiles"));
    if (GetParam().parts > 1) {
        EXPECT_TRUE(kernels_.contains("gemm_parts"));
    }
}

TEST_P(TileSteps, OfMatrices) {
    for (const int inner : inner_sizes) {
        check(fmt::format("matmul i8 2x128x{}x64 rescale", inner));
        if (GetParam().dot4) continue;
        check(fmt::format("matmul f32 2x128x{}x64", inner));
        if (inner % 5 != 0) continue;
        check(fmt::format("matmul f16 2x128x{}x64", inner));
        check(fmt::format("matmul i16 2x128x{}x64 rescale", inner));
    }
    EXPECT_TRUE(kernels_.contains("gemm_tiles"));
}

// A pass before makes words of the second operand's columns, and their sums, where that is worth a dispatch.
TEST_P(TileSteps, OfTurnedColumns) {
    if (!GetParam().dot4) GTEST_SKIP() << "words are for packed dot products";
    struct Case {
        std::int64_t inner, columns;
        double a_zp, b_zp;
    };
    for (const Case& c : {Case{1024, 256, -128, 127}, Case{1030, 258, 0, -5}, Case{517, 514, 77, 0}}) {
        GraphBuilder b("product", level_none);
        const ValueId x = b.input("x", DType::i8, {1, 518, c.inner}),
                      y = b.input("y", DType::i8, {1, c.inner, c.columns});
        b.output(b.add1(Op::matmul, {x, y, b.scalar(DType::i8, c.a_zp), b.scalar(DType::i8, c.b_zp)}, DType::i32, {},
                        "sums"));
        kernels_.clear();
        check(b.finish(), fmt::format("{} by {}, {}, {}", c.inner, c.columns, c.a_zp, c.b_zp));
        EXPECT_TRUE(kernels_.contains("turn_columns"));
        EXPECT_TRUE(kernels_.contains("gemm_tiles"));
        EXPECT_EQ(kernels_.contains("gemm_parts"), GetParam().parts > 1);
    }
}

TEST_P(TileSteps, OfZeroPoints) {
    for (const int inner : {3, 25, 36, 100}) {
        for (const int of_weights : {0, 5})
            check(with_zero_points(inner, of_weights), fmt::format("{} channels, zero point {}", inner, of_weights));
    }
}

TEST_P(TileSteps, TapsInThePadding) {
    // Padding beyond the window, strides, dilations, and windows of more taps than a word has bits.
    for (const char* line : {"conv2d f32 1x6x7x3 64x5x5 p4", "conv2d f32 1x13x12x3 64x7x7 s2 p3,3,3,4",
                             "conv2d i8 1x9x9x3 64x3x3 p2 d2 rescale", "conv2d f32 1x12x12x16 64x3x3 p3 d3",
                             "conv2d f32 1x5x40x1 64x1x33 p0,0,16,16", "conv2d f32 1x40x5x4 64x35x3 p17,17,1,1",
                             "conv2d i8 1x40x5x2 64x35x3 p17,17,1,1 rescale", "conv3d f32 1x5x6x5x2 64x3x3x3 p2",
                             "conv3d i8 1x5x6x5x3 64x3x3x3 p1 rescale", "transpose_conv2d f32 2x6x5x3 64x4x3 s2,3",
                             "transpose_conv2d i8 1x7x7x64 64x4x4 s2 p-1 rescale"})
        check(line);
}

INSTANTIATE_TEST_SUITE_P(All, TileSteps,
                         ::testing::Values(Form{.name = "Plain"}, Form{.name = "FourAtOnce", .dot4 = true},
                                           Form{.name = "MixedFourAtOnce", .dot4 = true, .mixed = true},
                                           Form{.name = "Parts", .parts = 8, .busy = 1 << 20},
                                           Form{.name = "PartsFourAtOnce", .dot4 = true, .parts = 8, .busy = 1 << 20},
                                           Form{.name = "Split", .busy = 1 << 20},
                                           Form{.name = "SplitFourAtOnce", .dot4 = true, .busy = 1 << 20},
                                           Form{.name = "FewRegisters", .dot4 = true, .registers = 128}),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace

// Convolutions and MATMUL of i8 by tiles in registers where four products are one instruction and registers hold words
// of several blocks: rows in loads of four words where they have whole ones, and two quads of columns, of which the
// last may be alone.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "support/plan_labels.hpp"
#include "verify/checker.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

using namespace tosavk;

namespace {

struct Form {
    const char* name;
    bool mixed = false;      ///< of signed by unsigned numbers
    std::int64_t parts = 1;  ///< invocations of a tile, at most
    int registers = 96;      ///< of an invocation
};

class DirectWords : public test::GpuTestWith<Form> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        if (!device_->caps().integer_dot_product) GTEST_SKIP() << "the device has no integer dot products";
        used_ = test::open_with([](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.subgroup_lanes = 1;
            plan.shared_rows = plan.shared_tiles = plan.product_tiles = plan.slow_storage = false;
            plan.texel_elements = 0;
            plan.own_rows = 8;
            plan.registers = GetParam().registers;
            plan.tile_parts = GetParam().parts;
            plan.busy_invocations = GetParam().parts > 1 ? 1 << 20 : 1;
            plan.dot4 = true;
            plan.dot4_mixed = GetParam().mixed;
        });
    }

    /// The defines that tell which form of the kernel it was, for expectations.
    void check(Graph&& made, const std::string& name, int quads, bool whole_loads, bool turns = false) {
        // Few registers hold no words of several blocks.
        if (GetParam().registers <= 64) quads = 1, whole_loads = false;
        const auto graph = std::make_shared<const Graph>(std::move(made));
        const Plan plan = make_plan(*graph, used_->plan(), {});
        const Dispatch& product = test::first_of(plan);
        ASSERT_EQ(product.kernel, "gemm_direct") << name;
        EXPECT_NE(product.glsl.find(fmt::format("#define TN {}\n", quads)), std::string::npos) << name;
        EXPECT_NE(product.glsl.find(fmt::format("#define ROW_BLOCKS {}\n", whole_loads ? 4 : 1)), std::string::npos)
            << name;
        EXPECT_EQ(product.glsl.find("#define TURNED 1\n") != std::string::npos, turns) << name;
        EXPECT_EQ(plan.dispatches.size(), (GetParam().parts > 1 ? 2u : 1u) + (turns ? 1 : 0) + test::widened(plan))
            << name;
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
        const CheckReport report = Checker(used_, graph).run(seed);
        EXPECT_TRUE(report.passed) << name << ", seed " << seed << "\n" << report.detail;
    }

    std::shared_ptr<Device> used_;
};

struct Line {
    const char* text;
    int quads;
    bool whole_loads;
};

TEST_P(DirectWords, OfConvolutions) {
    for (const Line& line : {
             Line{"conv2d i8 1x9x11x16 64x3x3 p1 rescale clamp", 2, true},
             Line{"conv2d i8 2x9x9x48 36x3x3 s2 p1 rescale", 2, true},  // nine quads
             Line{"conv2d i8 1x13x10x64 66x3x3 p2 d2 rescale clamp", 2, true},
             Line{"conv2d i8 1x9x11x20 72x3x3 p1 rescale clamp", 2, false},
             Line{"conv2d i8 1x9x11x27 64x3x3 s2 p1 rescale", 2, false},
             Line{"conv2d i8 1x9x11x32 12x3x3 p1 rescale", 1, true},  // of two pairs of quads one would be half
             Line{"conv2d i4 1x8x8x32 64x3x3 p1 rescale clamp", 2, true},
             Line{"conv2d i4 1x13x13x32 64x3x3 p1 rescale clamp", 2, true},  // so many rows that nibbles become bytes
             Line{"conv2d i8 1x27x27x3 64x7x5 p3,3,2,2 rescale clamp", 2,
                  false},  // a pass before makes quads of pixels
             Line{"conv2d i4 1x27x27x2 64x7x5 p3,3,2,2 rescale", 2, false},
             Line{"conv2d i8 1x9x7x64 64x1x1 rescale clamp", 2, true},
             Line{"conv2d i8 1x9x7x160 100x1x1 rescale", 2, true},
             Line{"conv3d i8 1x4x5x6x32 64x3x2x3 p1 rescale", 2, true},
             Line{"transpose_conv2d i8 1x7x6x32 64x4x4 s2 p-1 rescale", 2, true},
             Line{"transpose_conv2d i8 2x5x6x16 40x3x2 s2,3 p1,2,0,1 rescale", 2, true},
         }) {
        // So few blocks are not shared.
        const std::string_view text = line.text;
        if (GetParam().parts > 1 && (text.starts_with("transpose") || text.ends_with("64x1x1 rescale clamp"))) continue;
        check(load_problem(line.text), line.text, line.quads, line.whole_loads);
    }
}

// Weights of i8 have a zero point in TOSA, whatever quantizers write.
TEST_P(DirectWords, OfZeroPoints) {
    // Of three channels a pass makes four, of which the last counts for nothing.
    for (const std::int64_t channels : {48, 35, 3}) {
        if (channels == 3 && GetParam().parts > 1) continue;
        GraphBuilder b("product", level_none);
        const std::int64_t out = 68, height = channels == 3 ? 39 : 7;
        std::vector<std::int64_t> weights, bias;
        for (std::int64_t i = 0; i < out * 9 * channels; ++i) weights.push_back((i * 2654435761 >> 7) % 256 - 128);
        for (std::int64_t i = 0; i < out; ++i) bias.push_back((i - 30) * 1001);
        Attributes attrs;
        attrs.pad = {1, 1, 1, 1};
        attrs.stride = attrs.dilation = {1, 1};
        attrs.acc_type = DType::i32;
        b.output(
            b.add1(Op::conv2d,
                   {b.input("x", DType::i8, {1, height, 9, channels}),
                    b.constant_ints("w", DType::i8, {out, 3, 3, channels}, weights),
                    b.constant_ints("bias", DType::i32, {out}, bias), b.scalar(DType::i8, -77), b.scalar(DType::i8, 5)},
                   DType::i32, attrs, "sums"));
        check(b.finish(), fmt::format("{} channels", channels), 2, channels % 16 == 0);
    }
}

// The second operand of a MATMUL is turned by a pass, unless rows are few or there are several matrices.
TEST_P(DirectWords, OfMatrices) {
    for (const Line& line : {
             Line{"matmul i8 1x64x128x64 rescale", 2, true},
             Line{"matmul i8 1x67x160x68 rescale", 2, true},   // seventeen quads
             Line{"matmul i8 1x70x148x64 rescale", 2, false},  // the last inner elements are no four blocks
             Line{"matmul i8 1x96x149x72 rescale", 2, false},  // nor a block
             Line{"matmul i8 1x66x144x62 rescale", 2, true},   // nor the last columns a quad
             Line{"matmul i8 1x97x151x61", 2, false},
             Line{"matmul i8 1x300x512x10 rescale", 1, true},
             Line{"matmul i8 1x512x1024x4", 1, true},
         })
        check(load_problem(line.text), line.text, line.quads, line.whole_loads, true);
    if (GetParam().parts > 1) return;
    check(load_problem("matmul i8 1x16x128x64 rescale"), "few rows", 1, false);
    check(load_problem("matmul i8 2x64x128x64 rescale"), "two matrices", 1, false);
}

TEST_P(DirectWords, OfMatricesWithZeroPoints) {
    for (const auto& [a_zp, b_zp] : {std::pair{-128, 127}, std::pair{0, -5}, std::pair{77, 0}, std::pair{0, 0}}) {
        for (const auto& [rows, inner] : {std::pair{70, 144}, std::pair{70, 139}, std::pair{16, 144}}) {
            const bool turns = rows >= 64;
            if (!turns && GetParam().parts > 1) continue;
            GraphBuilder b("product", level_none);
            const ValueId x = b.input("x", DType::i8, {1, rows, inner}), y = b.input("y", DType::i8, {1, inner, 66});
            b.output(b.add1(Op::matmul, {x, y, b.scalar(DType::i8, a_zp), b.scalar(DType::i8, b_zp)}, DType::i32, {},
                            "sums"));
            check(b.finish(), fmt::format("{} by {}, {}, {}", rows, inner, a_zp, b_zp), turns ? 2 : 1,
                  turns && inner % 16 == 0, turns);
        }
    }
}

// The first operand's zero point, or the second operand itself, may be what the other is not.
TEST_P(DirectWords, OfMatricesHalfKnown) {
    for (const std::int64_t inner : {144, 139}) {
        std::vector<std::int64_t> values(inner * 66);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * 37 % 256) - 128;
        GraphBuilder known("known", level_none);
        known.output(known.add1(
            Op::matmul,
            {known.input("x", DType::i8, {1, 70, inner}), known.constant_ints("y", DType::i8, {1, inner, 66}, values),
             known.scalar(DType::i8, -128), known.scalar(DType::i8, 127)},
            DType::i32, {}, "sums"));
        check(known.finish(), fmt::format("known by {}", inner), 2, inner % 16 == 0, true);
        for (const bool turns : {true, false}) {
            if (!turns && GetParam().parts > 1) continue;
            GraphBuilder b("product", level_none);
            const ValueId x = b.input("x", DType::i8, {1, 70, inner}), y = b.input("y", DType::i8, {1, inner, 66});
            const ValueId late = b.input("zero point", DType::i8, {1}), zp = b.scalar(DType::i8, 5);
            b.output(b.add1(Op::matmul, {x, y, turns ? late : zp, turns ? zp : late}, DType::i32, {}, "sums"));
            check(b.finish(), fmt::format("{} by {}", turns ? "first" : "second", inner), turns ? 2 : 1,
                  turns && inner % 16 == 0, turns);
        }
    }
}

// What is made where it is read has no words in memory.
TEST_P(DirectWords, OfWhatIsMadeWhereItIsRead) {
    GraphBuilder b("product", level_none);
    std::vector<std::int64_t> weights(64 * 32);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::int64_t>(i * 37 % 255) - 127;
    Attributes attrs;
    attrs.pad = {0, 0, 0, 0};
    attrs.stride = attrs.dilation = {1, 1};
    attrs.acc_type = DType::i32;
    const ValueId x = b.input("x", DType::i8, {1, 9, 7, 32});
    const ValueId less =
        b.add1(Op::negate, {x, b.scalar(DType::i8, 3), b.scalar(DType::i8, -2)}, DType::i8, {}, "less");
    b.output(b.add1(Op::conv2d,
                    {less, b.constant_ints("w", DType::i8, {64, 1, 1, 32}, weights), b.scalar(DType::i32, 5),
                     b.scalar(DType::i8, 9), b.scalar(DType::i8, 0)},
                    DType::i32, attrs, "sums"));
    const auto graph = std::make_shared<const Graph>(b.finish());
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    const CheckReport report = Checker(used_, graph).run(seed);
    EXPECT_TRUE(report.passed) << "seed " << seed << "\n" << report.detail;
}

INSTANTIATE_TEST_SUITE_P(All, DirectWords,
                         ::testing::Values(Form{.name = "Signed"}, Form{.name = "Mixed", .mixed = true},
                                           Form{.name = "Parts", .parts = 4},
                                           Form{.name = "MixedParts", .mixed = true, .parts = 4},
                                           Form{.name = "FewRegisters", .mixed = true, .registers = 64},
                                           Form{.name = "FewRegistersParts", .parts = 4, .registers = 64}),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace

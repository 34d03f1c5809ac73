// The planner with a tuning table, and the table's text. No GPU.
#include "compile/plan/tuning.hpp"
#include "compile/rewrite/precision.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "ops/op.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace tosavk;
using tosavk::test::test_device;

namespace {

TuningTable table_for(const Graph& graph, const std::string& name) {
    TuningTable table;
    for (const KernelSite& site : kernel_sites(graph, test_device(), {})) table.choices[site.signature] = name;
    return table;
}

const char* const convolution = "conv2d f32 1x8x8x8 8x3x3 p1 clamp";

TEST(Tuning, ATableNamesTheCandidate) {
    const Graph graph = load_problem(convolution);
    const Plan plain = make_plan(graph, test_device(), {});
    ASSERT_EQ(plain.dispatches.size(), 1u);
    EXPECT_EQ(plain.dispatches[0].kernel, "conv");
    EXPECT_EQ(plain.tuning, "");
    for (const bool fuse : {true, false}) {
        PlanOptions options;
        options.fuse = fuse;
        const TuningTable table = table_for(graph, "direct");
        ASSERT_EQ(table.choices.size(), 1u);
        const Plan tuned = make_plan(graph, test_device(), options, &table);
        EXPECT_EQ(tuned.dispatches[0].kernel, "conv_direct");
        EXPECT_EQ(tuned.dispatches[0].note, "tuned: direct");
        EXPECT_EQ(tuned.dispatches[0].label, fuse ? "CONV2D+CLAMP" : "CONV2D") << "fusion is as before";
        EXPECT_EQ(tuned.tuning, write_tuning(table));
        EXPECT_NE(print_plan(graph, tuned).find("tuned: direct"), std::string::npos);
    }
}

TEST(Tuning, TheOwnChoiceIsMarkedToo) {
    const Graph graph = load_problem(convolution);
    const TuningTable table = table_for(graph, "implicit GEMM");
    const Plan tuned = make_plan(graph, test_device(), {}, &table);
    EXPECT_EQ(tuned.dispatches[0].kernel, "conv");
    EXPECT_EQ(tuned.dispatches[0].note.rfind("tuned: implicit GEMM; ", 0), 0u) << tuned.dispatches[0].note;
    EXPECT_EQ(tuned.dispatches[0].glsl, make_plan(graph, test_device(), {}).dispatches[0].glsl);
}

TEST(Tuning, VariantsAreTakenByNameAlone) {
    const Graph graph = load_problem(convolution);
    const std::vector<KernelSite> sites = kernel_sites(graph, test_device(), {});
    ASSERT_EQ(sites.size(), 1u);
    // 64 pixels are few: the rule gives each an invocation of its own, which the variant "1x4" then equals.
    EXPECT_EQ(sites[0].candidates, (std::vector<std::string>{"implicit GEMM", "implicit GEMM, 4x4", "direct"}));
    const TuningTable table = table_for(graph, "implicit GEMM, 4x4");
    const auto tile = [](const Plan& plan) {
        return plan.dispatches[0].glsl.find("#define TM 4\n") != std::string::npos;
    };
    EXPECT_FALSE(tile(make_plan(graph, test_device(), {})));
    EXPECT_TRUE(tile(make_plan(graph, test_device(), {}, &table)));
}

TEST(Tuning, WhatDoesNotFitIsIgnored) {
    const Graph graph = load_problem(convolution);
    const std::string wanted = print_plan(graph, make_plan(graph, test_device(), {}));
    // Unknown; one that declines on this device; another operator's.
    for (const char* name : {"magic", "shared rows", "shared rows, 8x4", "blocks"}) {
        const TuningTable table = table_for(graph, name);
        EXPECT_EQ(print_plan(graph, make_plan(graph, test_device(), {}, &table)), wanted) << name;
    }
    const TuningTable other = table_for(load_problem("conv2d f32 1x8x8x8 12x3x3 p1"), "direct");
    EXPECT_EQ(print_plan(graph, make_plan(graph, test_device(), {}, &other)), wanted);
    PlanOptions off;
    off.tuned = false;
    const TuningTable table = table_for(graph, "direct");
    EXPECT_EQ(make_plan(graph, test_device(), off, &table).dispatches[0].kernel, "conv");
}

TEST(Tuning, SignaturesTellShapesButNotValues) {
    const auto signature = [](const char* line) {
        return kernel_sites(load_problem(line), test_device(), {}).at(0).signature;
    };
    EXPECT_EQ(signature("conv2d i8 1x8x8x8 8x3x3 p1 rescale"), signature("conv2d i8 1x8x8x8 8x3x3 p1 seed5"));
    EXPECT_NE(signature("conv2d i8 1x8x8x8 8x3x3 p1"), signature("conv2d i8 1x8x8x8 8x3x3 p0"));
    EXPECT_NE(signature("conv2d i8 1x8x8x8 8x3x3 p1"), signature("conv2d f32 1x8x8x8 8x3x3 p1"));
    EXPECT_NE(signature("conv2d i8 1x16x16x8 8x3x3 s2 p1,0,1,0"), signature("conv2d i8 1x8x8x8 8x3x3 p1"));
    EXPECT_NE(signature("reduce_sum i32 4x16x8 axis0"), signature("reduce_sum i32 4x16x8 axis1"));
    EXPECT_NE(signature("reduce_sum i32 4x16x8 axis1"), signature("reduce_max i32 4x16x8 axis1"));
    EXPECT_EQ(signature("conv2d f32 1x8x8x8 8x3x3 p1"),
              "CONV2D fp32 const fp32[8x3x3x8] fp32[8] fp32[1] fp32[1] -> fp32[1x8x8x8] "
              "pad=[] stride=[1,1] dilation=[1,1] acc_type=fp32 local_bound=false");
}

TEST(Tuning, PrecisionFastHasChoicesOfItsOwn) {
    Graph graph = load_problem("matmul f16 1x8x8x8");
    const std::string exact = kernel_sites(graph, test_device(), {}).at(0).signature;
    make_fast(graph);
    EXPECT_EQ(kernel_sites(graph, test_device(), {}).at(0).signature, "fast " + exact);
}

/// The same node, whether the padding is its own or another operator's.
TEST(Tuning, FoldedPaddingIsNoOtherNode) {
    GraphBuilder b("padded");
    const ValueId x = b.input("x", DType::fp32, {1, 8, 8, 4});
    const std::vector<double> weights(8 * 9 * 4, 0.5), bias(8, 0);
    const std::vector<std::int64_t> pads{0, 0, 1, 1, 1, 1, 0, 0};
    const auto zero = b.constant("zero", DType::fp32, {1}, encode_reals(DType::fp32, std::vector<double>{0}));
    const ValueId padded =
        b.add1(Op::pad, {x, b.constant_ints("pads", DType::shape, {8}, pads), zero}, DType::fp32, {}, "pad");
    Attributes conv;
    conv.pad = {0, 0, 0, 0};
    conv.stride = conv.dilation = {1, 1};
    conv.acc_type = DType::fp32;
    b.output(b.add1(Op::conv2d,
                    {padded, b.constant("w", DType::fp32, {8, 3, 3, 4}, encode_reals(DType::fp32, weights)),
                     b.constant("b", DType::fp32, {8}, encode_reals(DType::fp32, bias)), zero, zero},
                    DType::fp32, conv, "conv"));
    const Graph graph = b.finish();
    PlanOptions unfused;
    unfused.fuse = false;
    const auto folded = kernel_sites(graph, test_device(), {}), apart = kernel_sites(graph, test_device(), unfused);
    ASSERT_EQ(folded.size(), 1u);
    ASSERT_EQ(apart.size(), 1u);
    EXPECT_EQ(make_plan(graph, test_device(), {}).dispatches.size(), 1u) << "PAD was folded";
    EXPECT_EQ(folded[0].signature, apart[0].signature);
}

TEST(Tuning, TheTextGoesThereAndBack) {
    TuningTable table;
    std::string why;
    EXPECT_TRUE(read_tuning(write_tuning(table), why)->choices.empty());
    table.choices = {{"CONV2D a", "shared rows, 8x4"}, {"MATMUL b", "register tile"}};
    const std::string text = write_tuning(table);
    ASSERT_TRUE(read_tuning(text, why)) << why;
    EXPECT_EQ(read_tuning(text, why)->choices, table.choices);
}

TEST(Tuning, OtherTextIsRefusedWithASentence) {
    const std::string good = write_tuning({{{"CONV2D a", "direct"}, {"MATMUL b", "register tile"}}});
    const std::string heading = good.substr(0, good.find('\n') + 1);
    for (const std::string& text :
         {std::string(), std::string("x"), heading.substr(0, 5), heading + "no tab\n", heading + "a\t\n",
          heading + "\tb\n", heading + "a\tb\tc\n", heading + "a\tb", heading + "a\tb\na\tc\n", heading + "a\t\x01\n",
          heading + std::string("a\0\tb\n", 5), "tosa-vk tuning 2\n" + good.substr(heading.size())}) {
        std::string why;
        EXPECT_FALSE(read_tuning(text, why)) << text;
        EXPECT_NE(why, "") << text;
    }
    for (std::size_t n = 0; n < good.size(); ++n) {  // cut off: refused, or whole lines are missing
        std::string why;
        const auto table = read_tuning(good.substr(0, n), why);
        EXPECT_EQ(table.has_value(), good[n == 0 ? 0 : n - 1] == '\n') << n;
    }
    std::mt19937 random(7);
    for (int k = 0; k < 2000; ++k) {
        std::string text = good, why;
        for (int change = 0; change < 3; ++change) text[random() % text.size()] = static_cast<char>(random());
        const auto table = read_tuning(text, why);
        EXPECT_TRUE(table ? table->choices.size() <= 5 : !why.empty());
    }
}

}  // namespace

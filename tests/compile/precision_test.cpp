// to_fp16: the same graph computing in fp16, its interface unchanged.
#include "compile/rewrite/precision.hpp"
#include "graph/host_tensor.hpp"
#include "ops/builder.hpp"
#include "ops/compare.hpp"
#include "ops/op.hpp"
#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tosavk {
namespace {

/// CLAMP(x * w + b), x [2,4] fp32; the weight has numbers that fp16 lacks.
Graph small_graph() {
    GraphBuilder builder("small");
    const ValueId x = builder.input("x", DType::fp32, {2, 4});
    const std::vector<float> weight = {0.1f, 1.0f, 1e6f, -2.0f}, bias = {0.5f};
    const ValueId w = builder.constant_floats("w", DType::fp32, {1, 4}, weight);
    const ValueId b = builder.constant_floats("b", DType::fp32, {1, 1}, bias);
    const ValueId shift = builder.scalar(DType::i8, 0);
    const ValueId product = builder.add1(Op::mul, {x, w, shift}, DType::fp32, {}, "product");
    const ValueId sum = builder.add1(Op::add, {product, b}, DType::fp32, {}, "sum");
    Attributes range;
    range.min_val = -3;
    range.max_val = 0x1p127;
    builder.output(builder.add1(Op::clamp, {sum}, DType::fp32, range, "result"));
    return builder.finish();
}

std::size_t count(const Graph& graph, Op op) {
    return static_cast<std::size_t>(
        std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.op == op; }));
}

TEST(Precision, TheInterfaceStays) {
    const Graph wide = small_graph(), half = to_fp16(wide);
    ASSERT_EQ(half.inputs.size(), 1u);
    ASSERT_EQ(half.outputs.size(), 1u);
    EXPECT_EQ(half.value(half.inputs[0]).type, DType::fp32);
    EXPECT_EQ(half.value(half.outputs[0]).type, DType::fp32);
    EXPECT_EQ(half.value(half.inputs[0]).name, "x");
    EXPECT_EQ(half.value(half.outputs[0]).name, "result");
    EXPECT_EQ(count(half, Op::cast), 2u);
    for (const Node& node : half.nodes) {
        const DType wanted = node.inputs[0] == half.inputs[0] || node.op != Op::cast ? DType::fp16 : DType::fp32;
        EXPECT_EQ(half.value(node.outputs[0]).type, wanted) << name_of(node.op);
    }
}

TEST(Precision, ResultsAreThoseOfFp16) {
    const Graph half = to_fp16(small_graph());
    const std::vector<double> x = {1, 2049, 1, 1, -40, 0, 0.01, 100};
    HostTensor input(DType::fp32, {2, 4});
    input.bytes = encode_reals(DType::fp32, x);
    const auto outputs = reference_run(half, std::span<const HostTensor>(&input, 1));
    const std::vector<double> got = decode_reals(DType::fp32, outputs.at(0).bytes);
    // 0.1 is 0.0999755859375; 2049 is 2048 (a tie, to even), and 2048.5 is 2048; 1e6 is infinity, which CLAMP takes to
    // the largest fp16.
    const std::vector<double> expected = {0.60009765625, 2048, 65504, -1.5, -3, 0.5, 65504, -3};
    EXPECT_EQ(got, expected);
}

TEST(Precision, WhatHasNoFp16StaysInFp32) {
    GraphBuilder builder("fft");
    const ValueId re = builder.input("re", DType::fp32, {1, 4, 4}), im = builder.input("im", DType::fp32, {1, 4, 4});
    const DType types[] = {DType::fp32, DType::fp32};
    const std::vector<ValueId> out = builder.add(Op::fft2d, {re, im}, {}, types, "fft");
    builder.output(builder.add1(Op::add, {out[0], out[1]}, DType::fp32, {}, "sum"));
    const Graph half = to_fp16(builder.finish());
    for (const Node& node : half.nodes) {
        if (node.op == Op::cast) continue;
        EXPECT_EQ(half.value(node.outputs[0]).type, node.op == Op::fft2d ? DType::fp32 : DType::fp16)
            << name_of(node.op);
    }
    EXPECT_EQ(half.value(half.outputs[0]).type, DType::fp32);
}

TEST(Precision, IntegerGraphsStayAsTheyAre) {
    GraphBuilder builder("ints");
    const ValueId a = builder.input("a", DType::i32, {3});
    builder.output(builder.add1(Op::add, {a, a}, DType::i32, {}, "sum"));
    const Graph graph = builder.finish();
    EXPECT_EQ(graph_difference(graph, to_fp16(graph)), "");
}

}  // namespace
}  // namespace tosavk

// Which graphs are attention in one dispatch. No GPU.
#include "compile/rewrite/precision.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

#include <functional>

using namespace tosavk;
using namespace tosavk::test;

namespace {

DevicePlan half_device() {
    DevicePlan device = test_device();
    device.has_fp16 = device.shared_tiles = true;
    device.busy_invocations = 8192;
    return device;
}

Graph fast(Graph graph) {
    make_fast(graph);
    return graph;
}

/// One layer's attention, with what a case changes.
struct Case {
    Shape mask = {1, 1, 24};
    bool outputs_scores = false;
    bool four_dimensions = false;
    std::int32_t axis = -1;
    Op between = Op::identity;
    Op operands = Op::identity;  ///< what makes Q, K and V of inputs; CAST of fp32
    bool outputs_keys = false;

    Graph build() const {
        GraphBuilder b("attention");
        const auto operand = [&](const char* name, const Shape& shape) {
            const ValueId x = b.input(name, operands == Op::cast ? DType::fp32 : DType::fp16, shape);
            return operands == Op::identity ? x : b.add1(operands, {x}, DType::fp16);
        };
        const ValueId q = operand("q", {6, 20, 16}), k = operand("k", {6, 16, 24}), v = operand("v", {6, 24, 8});
        if (outputs_keys) b.output(k);
        const auto product = [&](ValueId x, ValueId y) {
            const ValueId zero = b.scalar(DType::fp16, 0);
            return b.add1(Op::matmul, {x, y, zero, zero}, DType::fp16);
        };
        const auto reshaped = [&](ValueId x, const Shape& shape) {
            return b.add1(Op::reshape, {x, b.shape(shape)}, DType::fp16);
        };
        ValueId x = product(q, k);
        if (outputs_scores) b.output(x);
        if (four_dimensions) x = reshaped(x, {2, 3, 20, 24});
        if (between != Op::identity) x = b.add1(between, {x}, DType::fp16);
        ValueId mask_in = b.input("mask", DType::fp16, mask);
        x = b.add1(Op::add, {x, mask_in}, DType::fp16);
        const auto rank = static_cast<std::int32_t>(b.value(x).shape.size());
        const Attributes row = along(axis < 0 ? rank - 1 : axis);
        const ValueId e = b.add1(
            Op::exp, {b.add1(Op::sub, {x, b.add1(Op::reduce_max, {x}, DType::fp16, row)}, DType::fp16)}, DType::fp16);
        const ValueId share = b.add1(Op::reciprocal, {b.add1(Op::reduce_sum, {e}, DType::fp16, row)}, DType::fp16);
        x = b.add1(Op::mul, {e, share, b.scalar(DType::i8, 0)}, DType::fp16);
        if (four_dimensions) x = reshaped(x, {6, 20, 24});
        b.output(product(x, v));
        return b.finish();
    }
};

std::string note_of(const Plan& plan) { return plan.dispatches.back().note; }
Plan plan_of(const Case& made) { return make_plan(fast(made.build()), half_device(), {}); }

void declines(const Case& made, const std::string& reason) {
    const Plan plan = plan_of(made);
    EXPECT_GT(plan.dispatches.size(), 1u);
    EXPECT_NE(note_of(plan).find("no attention in one dispatch: " + reason), std::string::npos) << note_of(plan);
}

}  // namespace

TEST(Attention, IsOneDispatchOfPrecisionFast) {
    const Graph declared = load_problem("attention f16 12x64x64 mask", level_8k), graph = fast(declared);
    const DevicePlan device = half_device();
    const Plan plan = make_plan(graph, device, {});
    EXPECT_EQ(labels(plan), "MATMUL+CAST+MUL+ADD+REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL+MATMUL+CAST");
    EXPECT_EQ(plan.dispatches[0].kernel, "attention");
    EXPECT_EQ(plan.arena_bytes, 0u) << "no score is in memory";

    PlanOptions apart, kept;
    apart.fuse_attention = false;
    kept.keep_all = true;
    EXPECT_EQ(make_plan(graph, device, apart).dispatches.size(), 3u);
    EXPECT_EQ(make_plan(graph, device, kept).dispatches.size(), 3u) << "verify wants every value";
    EXPECT_EQ(make_plan(declared, device, {}).dispatches.size(), 3u) << "exact";
}

TEST(Attention, FollowersJoinIt) {
    const Plan plan = make_plan(fast(load_problem("attention f16 12x64x64 clamp", level_8k)), half_device(), {});
    EXPECT_EQ(labels(plan), "MATMUL+CAST+MUL+REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL+MATMUL+CAST+CLAMP");
}

// Q as it is rounded, V in another shape of that: somebody has to round it.
TEST(Attention, OperandsOfOneCast) {
    GraphBuilder b("attention");
    const DType type = DType::fp16;
    const ValueId zero = b.scalar(type, 0), c = b.add1(Op::cast, {b.input("x", DType::fp32, {2, 32, 16})}, type);
    const ValueId x = b.add1(Op::matmul, {c, b.input("k", type, {2, 16, 16}), zero, zero}, type);
    const ValueId e = b.add1(Op::exp, {b.add1(Op::sub, {x, b.add1(Op::reduce_max, {x}, type, along(2))}, type)}, type);
    const ValueId share = b.add1(Op::reciprocal, {b.add1(Op::reduce_sum, {e}, type, along(2))}, type);
    const ValueId weights = b.add1(Op::mul, {e, share, b.scalar(DType::i8, 0)}, type);
    const ValueId v = b.add1(Op::reshape, {c, b.shape(Shape{2, 16, 32})}, type);
    b.output(b.add1(Op::matmul, {weights, v, zero, zero}, type));
    const Plan plan = make_plan(fast(b.finish()), half_device(), {});
    EXPECT_EQ(labels(plan), "CAST | MATMUL+REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL+MATMUL");
}

// The weights times themselves, and the scores added to themselves: what attention never has in memory.
TEST(Attention, OperandsMadeOnTheWay) {
    const DType type = DType::fp16;
    for (const bool of_scores : {false, true}) {
        GraphBuilder b("attention");
        const ValueId zero = b.scalar(type, 0);
        ValueId x =
            b.add1(Op::matmul, {b.input("q", type, {2, 32, 16}), b.input("k", type, {2, 16, 32}), zero, zero}, type);
        if (of_scores) x = b.add1(Op::add, {x, x}, type);
        const ValueId e =
            b.add1(Op::exp, {b.add1(Op::sub, {x, b.add1(Op::reduce_max, {x}, type, along(2))}, type)}, type);
        const ValueId share = b.add1(Op::reciprocal, {b.add1(Op::reduce_sum, {e}, type, along(2))}, type);
        const ValueId weights = b.add1(Op::mul, {e, share, b.scalar(DType::i8, 0)}, type);
        const ValueId v = of_scores ? b.input("v", type, {2, 32, 8}) : weights;
        b.output(b.add1(Op::matmul, {weights, v, zero, zero}, type));
        const Plan plan = make_plan(fast(b.finish()), half_device(), {});
        EXPECT_GT(plan.dispatches.size(), 1u) << labels(plan);
    }
}

// Its operands have the size of its result: what makes them is no follower of it.
TEST(Attention, WhatMakesItsOperandsStaysApart) {
    const Plan plan = plan_of({.operands = Op::abs});
    EXPECT_EQ(labels(plan), "ABS | ABS | ABS | MATMUL+ADD+REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL+MATMUL");
}

TEST(Attention, RoundsWhatItReads) {
    const Plan plan = plan_of({.operands = Op::cast});
    EXPECT_EQ(labels(plan), "CAST+CAST+CAST+MATMUL+ADD+REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL+MATMUL");
    EXPECT_EQ(plan.arena_bytes, 0u);
    // What others read too is rounded once for all.
    const Plan shared = plan_of({.operands = Op::cast, .outputs_keys = true});
    EXPECT_EQ(labels(shared), "CAST | CAST+CAST+MATMUL+ADD+REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL+MATMUL");
    for (const char* line : {"attention f32 12x64x64 mask", "attention f32 1x32x32 keys32"}) {
        const Plan of_fp32 = make_plan(to_fp16(load_problem(line, level_8k), true), half_device(), {});
        EXPECT_EQ(of_fp32.dispatches.size(), 1u) << line << ": " << labels(of_fp32);
    }
}

TEST(Attention, MasksOfSeveralShapes) {
    for (const Shape& mask : {Shape{1, 1, 24}, {6, 1, 24}, {1, 20, 24}, {6, 20, 1}, {6, 20, 24}, {1, 1, 1}})
        EXPECT_EQ(plan_of({.mask = mask}).dispatches.size(), 1u) << to_string(mask);
    for (const Shape& mask : {Shape{2, 1, 1, 24}, {1, 3, 20, 24}, {2, 1, 20, 24}, {2, 3, 1, 24}})
        EXPECT_EQ(plan_of({.mask = mask, .four_dimensions = true}).dispatches.size(), 1u) << to_string(mask);
}

TEST(Attention, DeclinesWithASentence) {
    declines({.outputs_scores = true}, "'");
    EXPECT_EQ(plan_of({.axis = 1}).dispatches.back().kernel, plan_of({.outputs_scores = true}).dispatches.back().kernel)
        << "a softmax of columns is another thing";
    declines({.between = Op::tanh}, "its scores are no product of two tensors with a scale and a mask");
    const auto sizes = [](const char* line, const DevicePlan& device) {
        return note_of(make_plan(fast(load_problem(line, level_8k)), device, {}));
    };
    EXPECT_NE(sizes("attention f16 2x64x30", half_device()).find("no whole quads"), std::string::npos);
    EXPECT_NE(sizes("attention f16 2x2x64", half_device()).find("leave most of its tiles"), std::string::npos);
    DevicePlan cpu = half_device();
    cpu.shared_tiles = false;
    EXPECT_NE(sizes("attention f16 2x64x64", cpu).find("no use for scores in shared memory"), std::string::npos);
}

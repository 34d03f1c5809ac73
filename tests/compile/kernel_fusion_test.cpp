// What kernels compute beside their own operator: what they read (prologues) and what follows them. No GPU.
#include "compile/group/prologue.hpp"
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tosavk;
using namespace tosavk::test;

TEST(Prologues, ChainsAreComputedWhereAKernelReadsThem) {
    GraphBuilder b("chain");
    const ValueId x = b.input("x", DType::fp32, {6, 8}), row = b.input("row", DType::fp32, {1, 8});
    const ValueId sum = b.add1(Op::add, {x, row}, DType::fp32, {}, "sum"),
                  e = b.add1(Op::exp, {sum}, DType::fp32, {}, "e");
    b.output(b.add1(Op::argmax, {e}, DType::i32, along(0), "y"));
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "ADD+EXP+ARGMAX");
    EXPECT_EQ(plan_with(graph, &PlanOptions::fuse_prologues), "ADD+EXP | ARGMAX");
    EXPECT_EQ(plan_with(graph, &PlanOptions::fuse), "ADD | EXP | ARGMAX");
    PlanOptions all;
    all.keep_all = true;
    EXPECT_EQ(labels(make_plan(graph, test_device(), all)), "ADD+EXP | ARGMAX");
    const Plan plan = make_plan(graph, test_device(), {});
    EXPECT_EQ(plan.dispatches[0].bindings.size(), 3u);
    EXPECT_EQ(plan.placements[e].space, Space::none);
    EXPECT_NE(print_plan(graph, plan).find("in0 is made where it is read"), std::string::npos)
        << print_plan(graph, plan);
}

TEST(Prologues, OtherReadersKeepTheValueInMemory) {
    const auto plan = [](int reader) {
        GraphBuilder b("readers");
        const ValueId e = b.add1(Op::exp, {b.input("x", DType::fp32, {6, 8})}, DType::fp32, {}, "e");
        const std::int64_t flat[] = {48};
        const ValueId other_shape = b.add1(Op::reshape, {e, b.shape(flat)}, DType::fp32, {}, "flat");
        b.output(b.add1(Op::argmax, {e}, DType::i32, along(0), "y"));
        if (reader == 1) b.output(e);
        if (reader == 2) b.output(other_shape);
        if (reader == 3) b.output(b.add1(Op::argmax, {other_shape}, DType::i32, along(0), "z"));
        return plan_with(b.finish());
    };
    EXPECT_EQ(plan(0), "EXP+ARGMAX");
    EXPECT_EQ(plan(1), "EXP | ARGMAX");
    EXPECT_EQ(plan(2), "EXP | ARGMAX");
    EXPECT_EQ(plan(3), "EXP | ARGMAX | ARGMAX");
}

TEST(Prologues, MovesAndOtherShapesAreTakenToo) {
    GraphBuilder b("slice");
    const std::int64_t start[] = {1, 2}, size[] = {4, 5}, turned[] = {5, 4};
    const ValueId x = b.input("x", DType::i8, {6, 8});
    const ValueId part = b.add1(Op::slice, {x, b.shape(start), b.shape(size)}, DType::i8, {}, "part");
    b.output(b.add1(Op::argmax, {b.add1(Op::reshape, {part, b.shape(turned)}, DType::i8)}, DType::i32, along(0), "y"));
    EXPECT_EQ(plan_with(b.finish()), "SLICE+ARGMAX");
}

TEST(Prologues, TheFirstOfTwoPassesComputes) {
    GraphBuilder b("passes");
    const ValueId e = b.add1(Op::floor, {b.input("x", DType::fp32, {4096, 8})}, DType::fp32, {}, "e");
    b.output(b.add1(Op::reduce_max, {e}, DType::fp32, along(0), "y"));
    DevicePlan busy = test_device();
    busy.busy_invocations = 4096;
    const Plan plan = make_plan(b.finish(), busy, {});
    EXPECT_EQ(labels(plan), "FLOOR+REDUCE_MAX | REDUCE_MAX");
    EXPECT_EQ(plan.dispatches[0].bindings[0].label, "x");
}

TEST(Prologues, WhatTheyReadIsWaitedFor) {
    GraphBuilder b("waits");
    const ValueId x = b.input("x", DType::fp32, {6, 8});
    const ValueId most = b.add1(Op::reduce_max, {x}, DType::fp32, along(0), "most");
    b.output(b.add1(Op::argmax, {b.add1(Op::sub, {x, most}, DType::fp32, {}, "below")}, DType::i32, along(0), "y"));
    PlanOptions options;
    options.fuse_rows = false;
    const Plan plan = make_plan(b.finish(), test_device(), options);
    EXPECT_EQ(labels(plan), "REDUCE_MAX | SUB+ARGMAX");
    EXPECT_TRUE(plan.dispatches[1].barrier_before);
    const auto& bindings = plan.dispatches[1].bindings;
    EXPECT_TRUE(
        std::any_of(bindings.begin(), bindings.end(), [](const Binding& binding) { return binding.label == "most"; }));
}

TEST(Prologues, KernelsThatReadOftenLetAnotherComputeOnce) {
    const auto plan = [](Op op, std::int32_t kernel, std::int32_t stride) {
        GraphBuilder b("pool");
        const ValueId x = b.input("x", DType::fp32, {1, 12, 12, 4});
        Attributes pool;
        pool.kernel = {kernel, kernel};
        pool.stride = {stride, stride};
        pool.pad = {0, 0, 0, 0};
        b.output(b.add1(Op::max_pool2d, {b.add1(op, {x}, DType::fp32)}, DType::fp32, pool, "pool"));
        const Graph graph = b.finish();
        return std::pair(plan_with(graph), print_plan(graph, make_plan(graph, test_device(), {})));
    };
    EXPECT_EQ(plan(Op::exp, 2, 2).first, "EXP+MAX_POOL2D");
    EXPECT_EQ(plan(Op::abs, 2, 1).first, "ABS+MAX_POOL2D");
    const auto [labels, text] = plan(Op::exp, 3, 1);
    EXPECT_EQ(labels, "EXP | MAX_POOL2D");
    EXPECT_NE(text.find("in0 is made before: its kernel reads each element 6.2 times"), std::string::npos) << text;
}

// How often RESIZE reads an element depends on its mode and on how much larger the output is.
TEST(Prologues, ResizesComputeWhatTheyReadRarely) {
    const auto plan = [](ResizeMode mode, std::int64_t n, std::int64_t d) {
        GraphBuilder b("resize");
        const ValueId x = b.input("x", DType::fp32, {1, 9, 9, 4});
        const std::int64_t scale[] = {n, d, n, d}, none[] = {0, 0};
        Attributes resize;
        resize.mode = mode;
        const ValueId e = b.add1(Op::exp, {x}, DType::fp32);
        b.output(b.add1(Op::resize, {e, b.shape(scale), b.shape(none), b.shape(none)}, DType::fp32, resize, "y"));
        return plan_with(b.finish());
    };
    EXPECT_EQ(plan(ResizeMode::nearest, 1, 2), "EXP+RESIZE");
    EXPECT_EQ(plan(ResizeMode::nearest, 1, 1), "EXP+RESIZE");
    EXPECT_EQ(plan(ResizeMode::nearest, 2, 1), "EXP | RESIZE");
    EXPECT_EQ(plan(ResizeMode::bilinear, 1, 2), "EXP+RESIZE");
    EXPECT_EQ(plan(ResizeMode::bilinear, 1, 1), "EXP | RESIZE");
}

TEST(Prologues, BothTensorsOfAScatterAreComputed) {
    GraphBuilder b("scatter");
    const ValueId kept = b.add1(Op::abs, {b.input("kept", DType::i32, {1, 9, 8})}, DType::i32, {}, "a");
    const ValueId rows = b.add1(Op::abs, {b.input("rows", DType::i32, {1, 6, 8})}, DType::i32, {}, "b");
    b.output(b.add1(Op::scatter, {kept, b.input("at", DType::i32, {1, 6}), rows}, DType::i32, {}, "y"));
    EXPECT_EQ(plan_with(b.finish()), "SCATTER | SCATTER | ABS+ABS+SCATTER");
}

// Compilers of GPUs that give few registers spill a product of many rows whose operand is computed where it is read.
TEST(Prologues, ProductsOfManyRowsLeaveThemNoRegisters) {
    const auto plan = [](std::int64_t rows, std::uint32_t registers, std::uint32_t busy) {
        GraphBuilder b("gated");
        const ValueId x = b.input("x", DType::fp32, {1, rows, 1024}), gate = b.input("gate", DType::fp32, {1, 1, 1024}),
                      zero = b.scalar(DType::fp32, 0);
        const ValueId gated = b.add1(Op::mul, {x, gate, b.scalar(DType::i8, 0)}, DType::fp32, {}, "gated");
        b.output(b.add1(Op::matmul, {gated, b.input("w", DType::fp32, {1, 1024, 4}), zero, zero}, DType::fp32));
        DevicePlan device = test_device();
        device.int64 = device.fma_chains = device.shared_tiles = true;
        device.own_rows = 8;
        device.subgroup_lanes = 1;
        device.tile_parts = 16;
        device.registers = registers;
        device.busy_invocations = busy;
        std::string text;
        for (const Dispatch& d : make_plan(b.finish(), device, {}).dispatches)
            text += d.label + " by " + d.kernel + "; ";
        return text;
    };
    EXPECT_EQ(plan(64, 96, 1), "MUL+MATMUL by gemm_direct; ");
    EXPECT_EQ(plan(64, 64, 1), "MUL by elementwise; MATMUL by gemm_direct; ");
    EXPECT_EQ(plan(5, 64, 1), "MUL+MATMUL by gemm_direct; ");
    EXPECT_EQ(plan(64, 96, 64), "MUL+MATMUL by gemm_direct; MATMUL by gemm_parts; ");
    EXPECT_EQ(plan(64, 64, 64), "MUL by elementwise; MATMUL by gemm_direct; MATMUL by gemm_parts; ");
}

TEST(Prologues, TheDeviceMustBindWhatBothRead) {
    GraphBuilder b("bindings");
    const ValueId x = b.input("x", DType::fp32, {1, 6, 8}), y = b.input("y", DType::fp32, {1, 6, 8}),
                  rows = b.input("rows", DType::i32, {1, 3});
    b.output(b.add1(Op::gather, {b.add1(Op::add, {x, y}, DType::fp32), rows}, DType::fp32));
    const Graph graph = b.finish();
    DevicePlan narrow = test_device();
    narrow.max_buffers = 4;
    EXPECT_EQ(labels(make_plan(graph, narrow, {})), "ADD+GATHER");
    narrow.max_buffers = 3;
    EXPECT_EQ(labels(make_plan(graph, narrow, {})), "ADD | GATHER");
}

TEST(Prologues, PayWhereComputingCostsLessThanStoring) {
    const auto pays = [](const PrologueCost& cost, double reads, double invocations = 4096) {
        std::string why;
        const bool result = prologue_pays(cost, reads, invocations, 1 << 20, test_device(), why);
        EXPECT_EQ(result, why.empty()) << why;
        return result;
    };
    const PrologueCost cheap{1, 4, 4}, dear{20, 4, 4}, narrow{4, 1, 1};
    EXPECT_TRUE(pays(cheap, 1));
    EXPECT_TRUE(pays(dear, 1));
    EXPECT_TRUE(pays(narrow, 1));
    EXPECT_TRUE(pays(cheap, 4));
    EXPECT_FALSE(pays(dear, 2));
    EXPECT_FALSE(pays(narrow, 2));
    EXPECT_FALSE(pays(cheap, 0)) << "a kernel that does not say";
    EXPECT_TRUE(pays(cheap, 1, 0.5)) << "an idle device, but little to do";
    EXPECT_FALSE(pays(dear, 1, 0.5));
}

TEST(Epilogues, EveryKernelComputesWhatFollowsIt) {
    const std::pair<const char*, const char*> lines[] = {
        {"conv2d f32 1x8x8x8 8x3x3 p1 abs", "CONV2D+ABS"},
        {"conv3d f32 1x4x5x6x8 8x3x3x3 p1 abs", "CONV3D+ABS"},
        {"transpose_conv2d f32 1x5x6x8 8x3x3 s2 abs", "TRANSPOSE_CONV2D+ABS"},
        {"depthwise f32 1x8x8x8 1x3x3 p1 abs", "DEPTHWISE_CONV2D+ABS"},
        {"matmul f32 1x16x16x16 abs", "MATMUL+ABS"},
        {"fully_connected i8 1x64 10 rescale", "CONV2D+RESCALE"},
        {"max_pool2d f32 1x8x8x8 2x2 s2 abs", "MAX_POOL2D+ABS"},
        {"avg_pool2d f32 1x8x8x8 2x2 s2 abs", "AVG_POOL2D+ABS"},
        {"reduce_sum f32 1x8x8x8 axis2 abs", "REDUCE_SUM+ABS"},
        {"reduce_max f32 3x5x7 axis0 abs", "REDUCE_MAX+ABS"},
        {"resize f32 1x8x8x8 16x16 bilinear abs", "RESIZE+ABS"},
        {"resize i8 1x8x8x8 16x16 bilinear rescale clamp", "RESIZE+RESCALE+CLAMP"}};
    for (const auto& [line, wanted] : lines) {
        const Graph graph = load_problem(line);
        EXPECT_EQ(plan_with(graph), wanted) << line;
        EXPECT_EQ(std::ranges::count(plan_with(graph, &PlanOptions::fuse), '|'),
                  std::ranges::count(std::string(wanted), '+'))
            << line;
    }
    GraphBuilder b("rows");
    const ValueId x = b.input("x", DType::i32, {2, 6, 8}), y = b.input("y", DType::fp32, {6, 8}),
                  at = b.input("at", DType::i32, {2, 3});
    const ValueId made[] = {b.add1(Op::gather, {x, at}, DType::i32),
                            b.add1(Op::scatter, {x, at, b.input("rows", DType::i32, {2, 3, 8})}, DType::i32),
                            b.add1(Op::argmax, {y}, DType::i32, along(1))};
    for (const ValueId id : made) b.output(b.add1(Op::abs, {id}, DType::i32));
    EXPECT_EQ(plan_with(b.finish()), "GATHER+ABS | SCATTER | SCATTER | SCATTER+ABS | ARGMAX+ABS");
}

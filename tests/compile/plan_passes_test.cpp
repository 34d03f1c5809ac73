// The passes of the planner, each on and off: what the plan's text says of them. No GPU.
// Longer than 500 lines: one small case after another.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "reference/reference.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <limits>

using namespace tosavk;
using namespace tosavk::test;

namespace {

ValueId softmax(GraphBuilder& b, ValueId x, std::int32_t axis) {
    const ValueId most = b.add1(Op::reduce_max, {x}, DType::fp32, along(axis), "most");
    const ValueId e = b.add1(Op::exp, {b.add1(Op::sub, {x, most}, DType::fp32, {}, "below")}, DType::fp32, {}, "e");
    const ValueId sum = b.add1(Op::reduce_sum, {e}, DType::fp32, along(axis), "sum");
    const ValueId inverse = b.add1(Op::reciprocal, {sum}, DType::fp32, {}, "inverse");
    return b.add1(Op::mul, {e, inverse, b.scalar(DType::i8, 0)}, DType::fp32, {}, "y");
}

}  // namespace

// Each of the operands begins with a SLICE, which joins nobody.
TEST(Fusion, OperandsOfOneOperatorShareItsDispatch) {
    GraphBuilder b("gates");
    const ValueId x = b.input("x", DType::fp32, {1, 12});
    const auto gate = [&](std::int64_t start) {
        const std::int64_t begin[] = {0, start}, size[] = {1, 4};
        return b.add1(Op::sigmoid, {b.add1(Op::slice, {x, b.shape(begin), b.shape(size)}, DType::fp32)}, DType::fp32);
    };
    const ValueId a = gate(0), c = gate(4), d = gate(8);
    b.output(b.add1(Op::add, {b.add1(Op::sub, {a, c}, DType::fp32), d}, DType::fp32));
    EXPECT_EQ(plan_with(b.finish()), "SLICE+SIGMOID+SLICE+SIGMOID+SLICE+SIGMOID+SUB+ADD");
}

// The kernel reads what the group makes, so that it cannot run in the kernel's own shader.
TEST(Fusion, OperandsOfAKernelAreMadeBefore) {
    GraphBuilder b("kernel");
    const ValueId x = b.input("x", DType::fp32, {1, 4, 4});
    const ValueId zero = b.scalar(DType::fp32, 0), e = b.add1(Op::exp, {x}, DType::fp32);
    b.output(b.add1(Op::add, {b.add1(Op::matmul, {e, x, zero, zero}, DType::fp32), e}, DType::fp32));
    EXPECT_EQ(plan_with(b.finish()), "EXP | MATMUL+ADD");
}

TEST(RowFusion, SoftmaxAlongRowsIsOneDispatch) {
    GraphBuilder b("softmax");
    b.output(softmax(b, b.input("x", DType::fp32, {2, 3, 7}), 2));
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL");
    EXPECT_EQ(plan_with(graph, &PlanOptions::fuse_rows), "REDUCE_MAX | SUB+EXP | REDUCE_SUM+RECIPROCAL | MUL");
    const Plan plan = make_plan(graph, test_device(), {});
    EXPECT_EQ(plan.dispatches[0].bindings.size(), 2u);  // x, y: nothing between them is stored
    EXPECT_NE(print_plan(graph, plan).find("6 rows of 7, 1 lanes each"), std::string::npos) << print_plan(graph, plan);
}

TEST(RowFusion, SoftmaxAlongColumnsIsOneDispatch) {
    GraphBuilder b("softmax");
    b.output(softmax(b, b.input("x", DType::fp32, {2, 3, 7}), 1));
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL");
    EXPECT_EQ(plan_with(graph, &PlanOptions::fuse_rows), "REDUCE_MAX | SUB+EXP | REDUCE_SUM+RECIPROCAL | MUL");
    const Plan plan = make_plan(graph, test_device(), {});
    EXPECT_EQ(plan.dispatches[0].bindings.size(), 2u);
    EXPECT_NE(print_plan(graph, plan).find("14 columns of 3, 1 lanes each"), std::string::npos)
        << print_plan(graph, plan);
}

// Alone, a reduction along columns keeps its kernel, whatever stands before and behind it.
TEST(RowFusion, ColumnsWithoutABroadcastKeepTheirKernel) {
    GraphBuilder b("norm");
    const ValueId x = b.input("x", DType::fp32, {2, 3, 7});
    const ValueId squares = b.add1(Op::mul, {x, x, b.scalar(DType::i8, 0)}, DType::fp32, {}, "squares");
    b.output(
        b.add1(Op::rsqrt, {b.add1(Op::reduce_sum, {squares}, DType::fp32, along(1), "sum")}, DType::fp32, {}, "y"));
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "MUL+REDUCE_SUM+RSQRT");
    EXPECT_EQ(make_plan(graph, test_device(), {}).dispatches.front().kernel, "reduce_columns");
}

TEST(RowFusion, LongRowsAndFarColumnsStayApart) {
    DevicePlan device = test_device();
    const auto plan = [&](const Shape& shape, std::int32_t axis) {
        GraphBuilder b("softmax");
        b.output(softmax(b, b.input("x", DType::fp32, shape), axis));
        return labels(make_plan(b.finish(), device, {}));
    };
    const std::string apart = "REDUCE_MAX | SUB+EXP | REDUCE_SUM+RECIPROCAL | MUL",
                      together = "REDUCE_MAX+SUB+EXP+REDUCE_SUM+RECIPROCAL+MUL";
    EXPECT_EQ(plan({2, 70000}, 1), apart);
    EXPECT_EQ(plan({64, 70000}, 1), together);
    device.busy_invocations = 4096;  // alone, the maximum of few rows takes two passes
    EXPECT_EQ(plan({2, 60000}, 1), together);
    device.busy_invocations = 1;
    EXPECT_EQ(plan({64, 64, 1024}, 1), together);
    device.far_rows = 16;
    EXPECT_EQ(plan({64, 64, 1024}, 1), apart);
    EXPECT_EQ(plan({64, 64, 1020}, 1), together);
}

// A kernel between two passes over the rows must not end up on both sides of the group.
TEST(RowFusion, KernelsInBetweenSplitTheGroup) {
    GraphBuilder b("between");
    const ValueId x = b.input("x", DType::fp32, {1, 4, 4});
    const ValueId most = b.add1(Op::reduce_max, {x}, DType::fp32, along(2), "most");
    const ValueId below = b.add1(Op::sub, {x, most}, DType::fp32, {}, "below");
    const ValueId zero = b.scalar(DType::fp32, 0);
    const ValueId product = b.add1(Op::matmul, {below, below, zero, zero}, DType::fp32, {}, "product");
    b.output(b.add1(Op::add, {product, most}, DType::fp32, {}, "y"));
    EXPECT_EQ(plan_with(b.finish()), "REDUCE_MAX+SUB | MATMUL+ADD");
}

TEST(RowFusion, TransformerHasOneDispatchPerSoftmaxAndNorm) {
    const Graph graph = load_problem("network transformer f32 size9");
    const auto count = [&](const PlanOptions& options) {
        std::size_t rows = 0;
        for (const Dispatch& d : make_plan(graph, test_device(), options).dispatches) rows += d.kernel == "rows";
        return rows;
    };
    EXPECT_EQ(count({}), 3u);
    PlanOptions apart;
    apart.fuse_rows = false;
    EXPECT_EQ(count(apart), 5u);  // the float sums alone, in the same order
}

TEST(ConstantFolding, IntegersAndMovedDataAreFoldedAsFarAsTheyDoNotGrow) {
    GraphBuilder b("constants");
    const ValueId x = b.input("x", DType::i32, {64, 64});
    const std::vector<std::int64_t> numbers = {7, -3};
    const ValueId c = b.constant_ints("c", DType::i32, {2, 1}, numbers);
    const std::int64_t swapped[] = {1, 2}, many[] = {64, 32};
    const ValueId sum = b.add1(Op::add, {c, c}, DType::i32, {}, "sum");
    const ValueId row = b.add1(Op::reshape, {sum, b.shape(swapped)}, DType::i32, {}, "row");
    const ValueId tiled = b.add1(Op::tile, {row, b.shape(many)}, DType::i32, {}, "tiled");
    b.output(b.add1(Op::reduce_max, {b.add1(Op::bitwise_and, {x, tiled}, DType::i32, {}, "and")}, DType::i32, along(0),
                    "y"));
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "TILE+BITWISE_AND+REDUCE_MAX");  // 16 KiB from 8 bytes are not stored
    EXPECT_EQ(plan_with(graph, &PlanOptions::fold_constants), "ADD | TILE+BITWISE_AND+REDUCE_MAX");
}

TEST(ConstantFolding, FloatsOnlyWhereRoundingCannotDiffer) {
    const auto plan = [](Op op, float number, bool rte) {
        GraphBuilder b("floats");
        const float numbers[] = {number, 2};
        const ValueId c = b.constant_floats("c", DType::fp32, {2, 1}, numbers);
        const std::vector<ValueId> operands = op == Op::add ? std::vector<ValueId>{c, c} : std::vector<ValueId>{c};
        const ValueId made = b.add1(op, operands, DType::fp32, {}, "made");
        b.output(b.add1(Op::reduce_max, {made}, DType::fp32, along(0), "y"));
        DevicePlan device = test_device();
        device.rte = rte;
        return labels(make_plan(b.finish(), device, {}));
    };
    EXPECT_EQ(plan(Op::add, 1, true), "REDUCE_MAX");
    EXPECT_EQ(plan(Op::add, 1, false), "ADD+REDUCE_MAX");
    EXPECT_EQ(plan(Op::abs, std::numeric_limits<float>::infinity(), true), "REDUCE_MAX");
    EXPECT_EQ(plan(Op::add, 1e-40f, true), "ADD+REDUCE_MAX");
    EXPECT_EQ(plan(Op::exp, 1, true), "EXP+REDUCE_MAX");
}

TEST(EqualNodes, AreComputedOnce) {
    GraphBuilder b("equal");
    const ValueId x = b.input("x", DType::fp32, {5, 6});
    const auto max_of_exp = [&](const std::string& name, std::int32_t axis) {
        const ValueId two = b.constant_floats("two_" + name, DType::fp32, {1, 1}, std::vector<float>{2});
        const ValueId e = b.add1(Op::add, {x, two}, DType::fp32, {}, "e_" + name);
        return b.add1(Op::reduce_max, {e}, DType::fp32, along(axis), "m_" + name);
    };
    const ValueId a = max_of_exp("a", 0), c = max_of_exp("c", 0), d = max_of_exp("d", 1);
    b.output(b.add1(Op::add, {a, c}, DType::fp32, {}, "y"));
    b.output(d);
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "ADD+REDUCE_MAX | REDUCE_MAX+ADD");
    EXPECT_EQ(plan_with(graph, &PlanOptions::merge_equal), "ADD+REDUCE_MAX | ADD+REDUCE_MAX+ADD | ADD+REDUCE_MAX");
}

// Both results must be there, so that only what reads them can be shared.
TEST(EqualNodes, OutputsOfTheGraphStay) {
    GraphBuilder b("outputs");
    const ValueId x = b.input("x", DType::fp32, {5});
    const ValueId a = b.add1(Op::exp, {x}, DType::fp32, {}, "a"), c = b.add1(Op::exp, {x}, DType::fp32, {}, "c");
    b.output(a);
    b.output(c);
    const Graph graph = b.finish();
    const Plan plan = make_plan(graph, test_device(), {});
    EXPECT_EQ(labels(plan), "EXP | EXP");
    EXPECT_NE(plan.placements[a].offset, plan.placements[c].offset);
}

TEST(UnreadNodes, WholeChainsAreNotRun) {
    GraphBuilder b("unread");
    const ValueId x = b.input("x", DType::fp32, {4, 4});
    const ValueId m = b.add1(Op::reduce_max, {x}, DType::fp32, along(0), "m");
    b.add1(Op::reduce_max, {m}, DType::fp32, along(1), "unused");
    b.output(b.add1(Op::exp, {x}, DType::fp32, {}, "y"));
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "EXP");
    EXPECT_EQ(plan_with(graph, &PlanOptions::drop_unread), "REDUCE_MAX | EXP");
    PlanOptions all;
    all.keep_all = true;
    EXPECT_EQ(make_plan(graph, test_device(), all).placements[m].space, Space::arena);
}

// ---- SLICE without a copy

TEST(SliceAliases, ConsecutiveElementsStayWhereTheyAre) {
    const auto graph = [](std::int64_t first, bool is_output, std::int64_t columns = 64) {
        GraphBuilder b("slice");
        const ValueId x = b.input("x", DType::fp32, {8, columns});
        const ValueId most = b.add1(Op::exp, {x}, DType::fp32, {}, "e");
        const std::int64_t start[] = {first, 0}, size[] = {2, columns};
        const ValueId part = b.add1(Op::slice, {most, b.shape(start), b.shape(size)}, DType::fp32, {}, "part");
        b.output(b.add1(Op::reverse, {part}, DType::fp32, along(0), "y"));
        if (is_output) b.output(part);
        return b.finish();
    };
    const Graph inner = graph(3, false);
    EXPECT_EQ(plan_with(inner), "EXP | REVERSE");
    EXPECT_EQ(plan_with(inner, &PlanOptions::alias_slices), "EXP+SLICE | REVERSE");
    const Plan plan = make_plan(inner, test_device(), {});
    const Binding &written = plan.dispatches[0].bindings.back(), &read = plan.dispatches[1].bindings.front();
    EXPECT_EQ(read.label, "part");
    EXPECT_EQ(read.place.offset, written.place.offset + 3 * 64 * 4);
    EXPECT_EQ(read.place.size, 2u * 64 * 4);
    EXPECT_TRUE(plan.dispatches[1].barrier_before);
    // An output of a quarter would hold the whole to the end.
    EXPECT_EQ(plan_with(graph(3, true)), "EXP+SLICE | REVERSE");
    // 3 * 60 elements begin where no binding may.
    EXPECT_EQ(plan_with(graph(3, false, 60)), "EXP+SLICE | REVERSE");
}

TEST(SliceAliases, OutputsMayBePartsOfInputs) {
    GraphBuilder b("outputs");
    const ValueId x = b.input("x", DType::i8, {4, 256});
    for (std::int64_t k = 0; k < 4; ++k) {
        const std::int64_t start[] = {k, 0}, size[] = {1, 256};
        b.output(b.add1(Op::slice, {x, b.shape(start), b.shape(size)}, DType::i8));
    }
    const Graph graph = b.finish();
    const Plan plan = make_plan(graph, test_device(), {});
    EXPECT_EQ(plan.dispatches.size(), 0u);
    EXPECT_EQ(plan.arena_bytes, 0u);
    EXPECT_EQ(plan.external_bytes, 1024u);
    for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(plan.placements[graph.outputs[k]].offset, plan.placements[x].offset + 256 * k);
        EXPECT_EQ(plan.placements[graph.outputs[k]].size, 256u);
    }
    EXPECT_EQ(plan_with(graph, &PlanOptions::alias_slices), "SLICE | SLICE | SLICE | SLICE");
}

// The rows' sums and a part of the rows have as many elements, but are not the same.
TEST(SliceAliases, PartsAreNoVariablesOfTheGroupThatMakesTheWhole) {
    GraphBuilder b("rows");
    const ValueId x = b.input("x", DType::fp32, {64, 64});
    const ValueId e = b.add1(Op::exp, {x}, DType::fp32, {}, "e");
    const ValueId sum = b.add1(Op::reduce_sum, {e}, DType::fp32, along(1), "sum");
    const std::int64_t start[] = {2, 0}, size[] = {1, 64}, turned[] = {64, 1};
    const ValueId part = b.add1(Op::slice, {e, b.shape(start), b.shape(size)}, DType::fp32, {}, "part");
    b.output(b.add1(Op::add, {sum, b.add1(Op::reshape, {part, b.shape(turned)}, DType::fp32)}, DType::fp32, {}, "y"));
    EXPECT_EQ(plan_with(b.finish()), "EXP | REDUCE_SUM+ADD");
    GraphBuilder c("concat");
    const ValueId z = c.add1(Op::exp, {c.input("z", DType::fp32, {64, 64})}, DType::fp32, {}, "e");
    const ValueId lower = c.add1(Op::slice, {z, c.shape(start), c.shape(size)}, DType::fp32, {}, "lower");
    c.output(c.add1(Op::concat, {z, lower}, DType::fp32, along(0), "y"));
    EXPECT_EQ(plan_with(c.finish()), "EXP+CONCAT | CONCAT");
}

TEST(MappedStores, TransposesOfWholeQuadsAreStoredByTheirProducers) {
    const auto graph = [](std::vector<std::int32_t> perms, std::int64_t channels) {
        GraphBuilder b("transpose");
        const ValueId x = b.input("x", DType::fp32, {2, 3, channels});
        Attributes attrs;
        attrs.perms = std::move(perms);
        const ValueId e = b.add1(Op::exp, {x}, DType::fp32, {}, "e");
        const ValueId t = b.add1(Op::transpose, {e}, DType::fp32, attrs, "t");
        b.output(b.add1(Op::argmax, {t}, DType::i32, along(0), "y"));
        return b.finish();
    };
    EXPECT_EQ(plan_with(graph({1, 0, 2}, 8)), "EXP+TRANSPOSE | ARGMAX");
    EXPECT_EQ(plan_with(graph({1, 0, 2}, 8), &PlanOptions::store_in_place), "EXP | TRANSPOSE+ARGMAX");
    EXPECT_EQ(plan_with(graph({1, 0, 2}, 6)), "EXP | TRANSPOSE+ARGMAX");
    EXPECT_EQ(plan_with(graph({0, 2, 1}, 8)), "EXP+TRANSPOSE | ARGMAX");
    EXPECT_EQ(plan_with(graph({0, 2, 1}, 8), &PlanOptions::fuse_prologues), "EXP | TRANSPOSE | ARGMAX");
}

TEST(MappedStores, ConcatCopiesInputsOfOneSizeTogether) {
    GraphBuilder b("copies");
    std::vector<ValueId> inputs;
    for (const std::int64_t size : {4, 4, 2, 4}) {
        inputs.push_back(b.input("x" + std::to_string(inputs.size()), DType::fp32, {3, size}));
    }
    b.output(b.add1(Op::concat, inputs, DType::fp32, along(1), "y"));
    const Graph graph = b.finish();
    const Plan plan = make_plan(graph, test_device(), {});
    EXPECT_EQ(labels(plan), "CONCAT | CONCAT");
    EXPECT_EQ(plan.dispatches[0].bindings.size(), 4u);
    EXPECT_EQ(plan_with(graph, &PlanOptions::store_in_place), "CONCAT | CONCAT | CONCAT | CONCAT");
    DevicePlan narrow = test_device();
    narrow.max_buffers = 3;
    EXPECT_EQ(labels(make_plan(graph, narrow, {})), "CONCAT | CONCAT | CONCAT");
}

TEST(MappedStores, ProducersWriteIntoTheResultOfConcat) {
    GraphBuilder b("concat");
    const ValueId x = b.input("x", DType::fp32, {3, 8}), y = b.input("y", DType::fp32, {3, 2});
    const ValueId e = b.add1(Op::exp, {x}, DType::fp32, {}, "e"),
                  m = b.add1(Op::reduce_max, {x}, DType::fp32, along(1), "m");
    const ValueId joined = b.add1(Op::concat, {e, m, y}, DType::fp32, along(1), "joined");
    b.output(b.add1(Op::reduce_max, {joined}, DType::fp32, along(0), "r"));
    b.output(e);
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "EXP+CONCAT | REDUCE_MAX+CONCAT | CONCAT | REDUCE_MAX");
    EXPECT_EQ(plan_with(graph, &PlanOptions::store_in_place),
              "EXP | REDUCE_MAX | CONCAT | CONCAT | CONCAT | REDUCE_MAX");
    const Plan plan = make_plan(graph, test_device(), {});
    EXPECT_EQ(plan.dispatches[0].written, (std::vector<ValueId>{e, joined}));  // e is an output too
    EXPECT_EQ(plan.dispatches[1].written, (std::vector<ValueId>{joined}));
    EXPECT_EQ(plan.placements[m].space, Space::none);
}

TEST(Folding, MaximumPoolsTakePadsOfTheLowestValue) {
    const auto plan = [](double filler, std::int64_t amount) {
        GraphBuilder b("pool");
        const std::int64_t padding[] = {0, 0, amount, 1, 1, 1, 0, 0};
        const ValueId padded =
            b.add1(Op::pad, {b.input("x", DType::i8, {1, 8, 8, 4}), b.shape(padding), b.scalar(DType::i8, filler)},
                   DType::i8, {}, "padded");
        Attributes pool;
        pool.kernel = {3, 3};
        pool.stride = {1, 1};
        pool.pad = {0, 0, 0, 0};
        b.output(b.add1(Op::max_pool2d, {padded}, DType::i8, pool, "pool"));
        return b.finish();
    };
    EXPECT_EQ(plan_with(plan(-128, 2)), "MAX_POOL2D");
    EXPECT_EQ(plan_with(plan(-128, 2), &PlanOptions::fold_movement), "PAD | MAX_POOL2D");
    EXPECT_EQ(plan_with(plan(-127, 2)), "PAD | MAX_POOL2D");
    EXPECT_EQ(plan_with(plan(-128, 3)), "PAD | MAX_POOL2D");  // a window of padding alone
}

// What they add is counted, but not what the pool pads itself.
TEST(Folding, AveragesTakePadsOfTheirZeroPoint) {
    const auto graph = [](double filler, std::int64_t amount) {
        GraphBuilder b("pool");
        const std::int64_t padding[] = {0, 0, amount, 1, 1, 0, 0, 0};
        const ValueId padded =
            b.add1(Op::pad, {b.input("x", DType::i8, {1, 8, 8, 4}), b.shape(padding), b.scalar(DType::i8, filler)},
                   DType::i8, {}, "padded");
        Attributes pool;
        pool.kernel = {3, 3};
        pool.stride = {1, 1};
        pool.pad = {0, 1, 0, 0};
        b.output(
            b.add1(Op::avg_pool2d, {padded, b.scalar(DType::i8, -5), b.scalar(DType::i8, 7)}, DType::i8, pool, "pool"));
        return b.finish();
    };
    EXPECT_EQ(plan_with(graph(-5, 2)), "AVG_POOL2D");
    EXPECT_EQ(plan_with(graph(-5, 2), &PlanOptions::fold_movement), "PAD | AVG_POOL2D");
    EXPECT_EQ(plan_with(graph(-4, 2)), "PAD | AVG_POOL2D");
    EXPECT_EQ(plan_with(graph(-5, 3)), "PAD | AVG_POOL2D");
    const std::vector<std::int32_t> constants = make_plan(graph(-5, 2), test_device(), {}).dispatches.front().constants;
    const std::vector<std::int32_t> counted(constants.begin() + 16, constants.begin() + 20);
    EXPECT_EQ(counted, (std::vector<std::int32_t>{2, 1, 1, 0}));
}

TEST(Folding, VolumesAndTransposedConvolutionsTakePads) {
    const auto volume = [](bool cut) {
        GraphBuilder b("volume");
        const ValueId x = b.input("x", DType::i8, {1, 6, 7, 8, 4});
        const std::int64_t padding[] = {0, 0, 1, 2, 0, 1, 1, 0, 0, 0}, start[] = {0, 1, 0, 2, 0},
                           size[] = {1, 4, 7, 6, 4};
        const ValueId moved =
            cut ? b.add1(Op::slice, {x, b.shape(start), b.shape(size)}, DType::i8, {}, "cut")
                : b.add1(Op::pad, {x, b.shape(padding), b.scalar(DType::i8, 3)}, DType::i8, {}, "padded");
        const ValueId weight = b.constant_ints("w", DType::i8, {4, 2, 2, 2, 4}, std::vector<std::int64_t>(128, 1));
        Attributes attrs;
        attrs.stride = attrs.dilation = {1, 1, 1};
        attrs.pad = std::vector<std::int32_t>(6, 0);
        b.output(b.add1(Op::conv3d,
                        {moved, weight, b.scalar(DType::i32, 0), b.scalar(DType::i8, 3), b.scalar(DType::i8, 0)},
                        DType::i32, attrs, "y"));
        return b.finish();
    };
    EXPECT_EQ(plan_with(volume(false)), "CONV3D");
    EXPECT_EQ(plan_with(volume(true)), "CONV3D");
    EXPECT_EQ(plan_with(volume(false), &PlanOptions::fold_movement), "PAD | CONV3D");

    const auto transposed = [](float filler) {
        GraphBuilder b("transposed");
        const std::int64_t padding[] = {0, 0, 1, 2, 0, 1, 0, 0};
        const ValueId padded =
            b.add1(Op::pad, {b.input("x", DType::fp32, {1, 5, 6, 4}), b.shape(padding), b.scalar(DType::fp32, filler)},
                   DType::fp32, {}, "padded");
        const ValueId weight = b.constant_floats("w", DType::fp32, {4, 3, 3, 4}, std::vector<float>(144, 0.5f)),
                      zero = b.scalar(DType::fp32, 0);
        Attributes attrs;
        attrs.stride = {2, 3};
        attrs.pad = {-1, 0, 0, 2};
        attrs.acc_type = DType::fp32;
        b.output(b.add1(Op::transpose_conv2d, {padded, weight, zero, zero, zero}, DType::fp32, attrs, "y"));
        return b.finish();
    };
    EXPECT_EQ(plan_with(transposed(0)), "TRANSPOSE_CONV2D");
    EXPECT_EQ(plan_with(transposed(0), &PlanOptions::fold_movement), "PAD | TRANSPOSE_CONV2D");
    EXPECT_EQ(plan_with(transposed(1)), "PAD | TRANSPOSE_CONV2D");
}

// Where that costs less than storing it: whole quads, or simple operators.
TEST(Prologues, MovedValuesAreMadeWhereTheyAreRead) {
    const auto graph = [](Op op, bool quads, bool read_twice) {
        GraphBuilder b("moved");
        const ValueId x = b.input("x", DType::fp32, {5, 8}), y = b.input("y", DType::fp32, {7, 8});
        const ValueId made = b.add1(op, {x}, DType::fp32, {}, "made");
        const std::int64_t rows[] = {1, 1, 0, 0}, columns[] = {2, 0, 1, 2};
        const ValueId padded = b.add1(Op::pad, {made, b.shape(quads ? rows : columns), b.scalar(DType::fp32, 1)},
                                      DType::fp32, {}, "padded");
        if (quads) b.output(b.add1(Op::add, {padded, y}, DType::fp32, {}, "sum"));
        else b.output(b.add1(Op::ceil, {padded}, DType::fp32, {}, "sum"));
        if (read_twice) b.output(b.add1(Op::reverse, {made}, DType::fp32, along(0), "turned"));
        return b.finish();
    };
    EXPECT_EQ(plan_with(graph(Op::exp, true, false)), "EXP+PAD+ADD");
    EXPECT_EQ(plan_with(graph(Op::exp, true, false), &PlanOptions::fuse_moved), "EXP | PAD+ADD");
    EXPECT_EQ(plan_with(graph(Op::abs, false, false)), "ABS+PAD+CEIL");
    EXPECT_EQ(plan_with(graph(Op::exp, false, false)), "EXP | PAD+CEIL");
    EXPECT_EQ(plan_with(graph(Op::exp, true, true)), "EXP | PAD+ADD | REVERSE");
}

TEST(Prologues, MovesOfOneElement) {
    GraphBuilder b("one");
    const ValueId y = b.input("y", DType::fp32, {1, 1}), x = b.input("x", DType::fp32, {2, 3});
    const ValueId turned = b.add1(Op::reverse, {b.add1(Op::floor, {y}, DType::fp32)}, DType::fp32, along(0));
    b.output(turned);
    b.output(b.add1(Op::add, {turned, x}, DType::fp32));
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "FLOOR | ADD");
    EXPECT_EQ(plan_with(graph, &PlanOptions::fold_movement), "FLOOR+REVERSE | ADD");
    GraphBuilder corner("corner");
    const std::int64_t start[] = {1, 2}, one[] = {1, 1};
    const ValueId all = corner.add1(Op::floor, {corner.input("x", DType::fp32, {2, 3})}, DType::fp32);
    corner.output(corner.add1(Op::slice, {all, corner.shape(start), corner.shape(one)}, DType::fp32));
    EXPECT_EQ(plan_with(corner.finish(), &PlanOptions::alias_slices), "FLOOR+SLICE");
}

TEST(Folding, MovesOfNothingAreOtherNames) {
    GraphBuilder b("still");
    const ValueId x = b.input("x", DType::fp32, {1, 1, 1, 8});
    const std::int64_t once[] = {1, 1, 1, 1}, nowhere[] = {0, 0, 0, 0}, nothing[] = {0, 0, 0, 0, 0, 0, 0, 0},
                       whole[] = {1, 1, 8, 1};
    Attributes perms;
    perms.perms = {0, 1, 3, 2};
    ValueId y = b.add1(Op::transpose, {b.add1(Op::exp, {x}, DType::fp32)}, DType::fp32, perms);
    y = b.add1(Op::tile, {b.add1(Op::abs, {y}, DType::fp32), b.shape(once)}, DType::fp32);
    y = b.add1(Op::slice, {b.add1(Op::floor, {y}, DType::fp32), b.shape(nowhere), b.shape(whole)}, DType::fp32);
    y = b.add1(Op::pad,
               {b.add1(Op::negate, {y, b.scalar(DType::fp32, 0), b.scalar(DType::fp32, 0)}, DType::fp32),
                b.shape(nothing), b.scalar(DType::fp32, 1)},
               DType::fp32);
    y = b.add1(Op::reverse, {b.add1(Op::ceil, {y}, DType::fp32)}, DType::fp32, along(3));
    y = b.add1(Op::concat, {b.add1(Op::sin, {y}, DType::fp32)}, DType::fp32, along(0));
    b.output(b.add1(Op::cos, {y}, DType::fp32));
    const Graph graph = b.finish();
    const std::string plan = plan_with(graph);
    EXPECT_EQ(plan.find(" | "), std::string::npos) << plan;
    for (const char* move : {"TRANSPOSE", "TILE", "SLICE", "PAD", "REVERSE", "CONCAT"})
        EXPECT_EQ(plan.find(move), std::string::npos) << plan;
    EXPECT_NE(plan_with(graph, &PlanOptions::fold_movement).find(" | "), std::string::npos);
}

TEST(Folding, ConcatsOfConcatsAreOne) {
    const auto graph = [](bool read_twice, std::int32_t outer_axis) {
        GraphBuilder b("concats");
        std::vector<ValueId> parts;
        for (int k = 0; k < 4; ++k)
            parts.push_back(b.add1(Op::exp, {b.input("x" + std::to_string(k), DType::fp32, {3, 4})}, DType::fp32));
        const ValueId two = b.add1(Op::concat, {parts[0], parts[1]}, DType::fp32, along(1));
        const ValueId three = b.add1(Op::concat, {parts[2], two}, DType::fp32, along(1));
        if (outer_axis == 1) b.output(b.add1(Op::concat, {three, parts[3]}, DType::fp32, along(1)));
        else b.output(b.add1(Op::concat, {three, three}, DType::fp32, along(0)));
        if (read_twice) b.output(b.add1(Op::reduce_max, {two}, DType::fp32, along(1)));
        return b.finish();
    };
    EXPECT_EQ(plan_with(graph(false, 1)), "EXP+CONCAT | EXP+CONCAT | EXP+CONCAT | EXP+CONCAT");
    const auto dispatches = [&](bool read_twice, std::int32_t axis, bool PlanOptions::* pass = nullptr) {
        PlanOptions options;
        if (pass) options.*pass = false;
        return make_plan(graph(read_twice, axis), test_device(), options).dispatches.size();
    };
    EXPECT_LT(dispatches(false, 1), dispatches(false, 1, &PlanOptions::fold_movement));
    EXPECT_LT(dispatches(false, 1), dispatches(true, 1));
    EXPECT_GT(dispatches(false, 0), 1u);
}

TEST(Folding, MovesOfMovesReadTheFirstOnesInput) {
    GraphBuilder b("moves");
    const ValueId x = b.input("x", DType::fp32, {4, 6, 8});
    Attributes there, back;
    there.perms = {1, 2, 0};
    back.perms = {2, 0, 1};
    const ValueId same =
        b.add1(Op::transpose, {b.add1(Op::transpose, {b.add1(Op::exp, {x}, DType::fp32)}, DType::fp32, there)},
               DType::fp32, back);
    b.output(b.add1(Op::abs, {same}, DType::fp32));
    const auto slice = [&](ValueId of, const Shape& start, const Shape& size) {
        return b.add1(Op::slice, {of, b.shape(start), b.shape(size)}, DType::fp32);
    };
    b.output(b.add1(Op::negate,
                    {slice(slice(x, {1, 1, 1}, {3, 4, 6}), {0, 1, 2}, {2, 3, 3}), b.scalar(DType::fp32, 0),
                     b.scalar(DType::fp32, 0)},
                    DType::fp32));
    const Graph graph = b.finish();
    const std::string plan = plan_with(graph), apart = plan_with(graph, &PlanOptions::fold_movement);
    const auto count = [](const std::string& text, const std::string& what) {
        std::size_t found = 0;
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
        return found;
    };
    EXPECT_EQ(count(plan, "TRANSPOSE"), 0u) << plan;
    EXPECT_EQ(count(plan, "SLICE"), 1u) << plan;
    EXPECT_EQ(count(apart, "TRANSPOSE"), 2u) << apart;
    EXPECT_EQ(count(apart, "SLICE"), 2u) << apart;
}

TEST(ConstantFolding, WeightsAreTheSameConstantsUnderAllOptions) {
    GraphBuilder b("weights");
    const ValueId x = b.input("x", DType::fp32, {1, 6, 6, 8});
    const HostTensor numbers = random_tensor(DType::fp16, {8, 3, 3, 8}, 3);
    const ValueId half = b.constant("half", DType::fp16, numbers.shape, numbers.bytes);
    Attributes perms, conv;
    perms.perms = {3, 1, 2, 0};
    conv.stride = conv.dilation = {1, 1};
    conv.pad = {1, 1, 1, 1};
    conv.acc_type = DType::fp32;
    const ValueId weight = b.add1(Op::transpose, {b.add1(Op::cast, {half}, DType::fp32)}, DType::fp32, perms);
    const ValueId zero = b.scalar(DType::fp32, 0);
    b.output(b.add1(Op::conv2d, {x, weight, zero, zero, zero}, DType::fp32, conv));
    const Graph graph = b.finish();
    EXPECT_EQ(plan_with(graph), "CONV2D");
    const auto kernel = [&](const PlanOptions& options) {
        return make_plan(graph, test_device(), options).dispatches.back().kernel;
    };
    PlanOptions apart, unfused;
    apart.fold_constants = false;
    unfused.fuse = false;
    unfused.keep_all = true;
    EXPECT_EQ(kernel(apart), kernel({}));
    EXPECT_EQ(kernel(unfused), kernel({}));
    EXPECT_EQ(kernel(unfused).find("conv_direct"), std::string::npos) << kernel(unfused);
}

TEST(PlanOptions, TheEnvironmentTurnsPassesOff) {
    const std::pair<const char*, bool PlanOptions::*> switches[] = {
        {"TOSAVK_NO_FUSE", &PlanOptions::fuse},
        {"TOSAVK_NO_FOLD", &PlanOptions::fold_movement},
        {"TOSAVK_NO_CONSTANT_FOLDING", &PlanOptions::fold_constants},
        {"TOSAVK_NO_CSE", &PlanOptions::merge_equal},
        {"TOSAVK_NO_DEAD_NODES", &PlanOptions::drop_unread},
        {"TOSAVK_NO_JOINING", &PlanOptions::join_followers},
        {"TOSAVK_NO_MERGING", &PlanOptions::merge_groups},
        {"TOSAVK_NO_ROW_FUSION", &PlanOptions::fuse_rows},
        {"TOSAVK_NO_MAPPED_STORES", &PlanOptions::store_in_place},
        {"TOSAVK_NO_ATTENTION", &PlanOptions::fuse_attention},
        {"TOSAVK_NO_PROLOGUES", &PlanOptions::fuse_prologues},
        {"TOSAVK_NO_MOVED_PROLOGUES", &PlanOptions::fuse_moved},
        {"TOSAVK_NO_SLICE_ALIASES", &PlanOptions::alias_slices},
        {"TOSAVK_NO_LIST_ALIASES", &PlanOptions::alias_lists},
        {"TOSAVK_NO_COUNTED_TURNS", &PlanOptions::count_turns},
        {"TOSAVK_NO_GATED_TURNS", &PlanOptions::gate_turns},
        {"TOSAVK_NO_SWAPPED_TURNS", &PlanOptions::swap_turns},
        {"TOSAVK_NO_TUNING", &PlanOptions::tuned},
    };
    for (const auto& [name, pass] : switches) {
        EXPECT_TRUE(with_environment({}).*pass) << name << " is set";
        ASSERT_EQ(setenv(name, "1", 1), 0);
        for (const auto& [other, field] : switches)
            EXPECT_EQ(with_environment({}).*field, other != name) << name << " and " << other;
        unsetenv(name);
    }
}

// The planner without a GPU: fusion, memory, barriers and the plan's text.
// Longer than 500 lines: one small case after another.
#include "compile/plan/plan.hpp"
#include "compile/codegen/quad_access.hpp"
#include "compile/group/fuse.hpp"
#include "compile/memory/memory.hpp"
#include "frontends/problems/problem.hpp"
#include "graph/index_map.hpp"
#include "ops/builder.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace tosavk;

namespace {

DevicePlan test_device() {
    DevicePlan device;
    device.max_binding_bytes = 128 << 20;
    device.max_buffers = 12;
    return device;
}

std::string labels(const Plan& plan) {
    std::string text;
    for (const Dispatch& d : plan.dispatches) text += (text.empty() ? "" : " | ") + d.label;
    return text;
}

Plan plan_of(const Graph& graph, bool fused = true) { return make_plan(graph, test_device(), {fused, false}); }

/// An int8 CONV2D with per-channel RESCALE, as a quantizer would emit it.
ValueId quantized_conv(GraphBuilder& b, ValueId input, std::int64_t channels, const std::string& name,
                       std::int32_t pad = 1) {
    const std::int64_t in_channels = b.value(input).shape[3];
    const std::vector<std::int64_t> weights(static_cast<std::size_t>(channels * 9 * in_channels), 1);
    const std::vector<std::int64_t> bias(static_cast<std::size_t>(channels), 5),
        shift(static_cast<std::size_t>(channels), 40);
    const std::vector<std::int64_t> multiplier(static_cast<std::size_t>(channels), 1 << 30);
    Attributes conv;
    conv.pad = {pad, pad, pad, pad};
    conv.stride = {1, 1};
    conv.dilation = {1, 1};
    const ValueId acc = b.add1(
        Op::conv2d,
        {input, b.constant_ints(name + "_w", DType::i8, {channels, 3, 3, in_channels}, weights),
         b.constant_ints(name + "_b", DType::i32, {channels}, bias), b.scalar(DType::i8, 3), b.scalar(DType::i8, 0)},
        DType::i32, conv, name);
    Attributes rescale;
    rescale.per_channel = true;
    rescale.rounding = Rounding::double_round;
    return b.add1(
        Op::rescale,
        {acc, b.constant_ints(name + "_m", DType::i32, {channels}, multiplier),
         b.constant_ints(name + "_s", DType::i8, {channels}, shift), b.scalar(DType::i32, 0), b.scalar(DType::i8, -1)},
        DType::i8, rescale, name + "_rescale");
}

ValueId clamp(GraphBuilder& b, ValueId input, const std::string& name) {
    Attributes attrs;
    attrs.min_val = -20;
    attrs.max_val = 90;
    return b.add1(Op::clamp, {input}, DType::i8, attrs, name);
}

}  // namespace

TEST(Plan, ConvolutionTakesItsRescaleAndClamp) {
    GraphBuilder b("net");
    const ValueId x = b.input("x", DType::i8, {1, 8, 8, 4});
    b.output(clamp(b, quantized_conv(b, x, 8, "conv"), "relu"));
    const Graph graph = b.finish();
    EXPECT_EQ(labels(plan_of(graph)), "CONV2D+RESCALE+CLAMP");
    EXPECT_EQ(labels(plan_of(graph, false)), "CONV2D | RESCALE | CLAMP");
}

TEST(Plan, ChainOfElementwiseOperatorsIsOneDispatch) {
    GraphBuilder b("chain");
    const ValueId x = b.input("x", DType::fp32, {4, 5}), y = b.input("y", DType::fp32, {1, 5});
    ValueId v = b.add1(Op::add, {x, y}, DType::fp32, {}, "a");
    for (int i = 0; i < 20; ++i)
        v = b.add1(i % 2 ? Op::add : Op::sub, {v, x}, DType::fp32, {}, "n" + std::to_string(i));
    b.output(b.add1(Op::sigmoid, {v}, DType::fp32, {}, "s"));
    const Plan plan = plan_of(b.finish());
    EXPECT_EQ(plan.dispatches.size(), 1u);
    EXPECT_EQ(plan.dispatches[0].bindings.size(), 3u);  // x, y, result
}

TEST(Plan, SharedInnerValueIsWrittenToo) {
    GraphBuilder b("shared");
    const ValueId x = b.input("x", DType::fp32, {6});
    const ValueId a = b.add1(Op::exp, {x}, DType::fp32, {}, "a");
    const ValueId c = b.add1(Op::add, {a, a}, DType::fp32, {}, "c");
    b.output(a);
    b.output(c);
    const Plan plan = plan_of(b.finish());
    ASSERT_EQ(plan.dispatches.size(), 1u);
    EXPECT_EQ(plan.dispatches[0].written, (std::vector<ValueId>{a, c}));
}

// r depends on the group of a through a reduction, so a consumer of both must not join a's group.
TEST(Plan, JoinsThatWouldMakeACycleAreLeftOut) {
    GraphBuilder b("softmax");
    const ValueId x = b.input("x", DType::fp32, {3, 7});
    Attributes first;
    first.axis = 0;
    const ValueId e = b.add1(Op::exp, {x}, DType::fp32, {}, "e");
    const ValueId sum = b.add1(Op::reduce_sum, {e}, DType::fp32, first, "sum");
    const ValueId inverse = b.add1(Op::reciprocal, {sum}, DType::fp32, {}, "inverse");
    b.output(b.add1(Op::mul, {e, inverse, b.scalar(DType::i8, 0)}, DType::fp32, {}, "y"));
    PlanOptions options;
    options.fuse_rows = false;
    EXPECT_EQ(labels(make_plan(b.finish(), test_device(), options)), "EXP | REDUCE_SUM+RECIPROCAL | MUL");
}

// An operator that covers the same elements under another shape joins all the same.
TEST(Plan, ChainsGoThroughReshape) {
    GraphBuilder b("reshape");
    const ValueId x = b.input("x", DType::fp32, {2, 6}), bias = b.input("bias", DType::fp32, {1, 4});
    const std::int64_t shape[] = {3, 4};
    const ValueId a = b.add1(Op::exp, {x}, DType::fp32, {}, "a");
    const ValueId r = b.add1(Op::reshape, {a, b.shape(shape)}, DType::fp32, {}, "r");
    b.output(b.add1(Op::add, {r, bias}, DType::fp32, {}, "y"));
    const Graph graph = b.finish();
    EXPECT_EQ(labels(plan_of(graph)), "EXP+ADD");
    EXPECT_EQ(labels(plan_of(graph, false)), "EXP | ADD");
}

TEST(Plan, GatherFromOneListIsATable) {
    for (const std::int64_t channels : {1, 2}) {
        GraphBuilder b("gather");
        const ValueId x = b.input("x", DType::i32, {1, 6}), y = b.input("y", DType::i32, {1, 6});
        const std::vector<std::int64_t> values(static_cast<std::size_t>(5 * channels), 3);
        const ValueId list = b.constant_ints("list", DType::i32, {1, 5, channels}, values);
        const ValueId index = b.add1(Op::add, {x, y}, DType::i32, {}, "index");
        const ValueId found = b.add1(Op::gather, {list, index}, DType::i32, {}, "found");
        b.output(b.add1(Op::bitwise_not, {found}, DType::i32, {}, "y2"));
        EXPECT_EQ(labels(plan_of(b.finish())), channels == 1 ? "ADD+GATHER+BITWISE_NOT" : "ADD | GATHER+BITWISE_NOT");
    }
}

// What a SLICE cuts off, and a PAD adds, becomes the convolution's own padding.
TEST(Plan, ConvolutionsTakeSliceAndPad) {
    const auto net = [](std::int64_t start, std::int64_t size, std::int64_t filler) {
        GraphBuilder b("net");
        const ValueId x = b.input("x", DType::i8, {1, 9, 9, 4});
        const std::int64_t starts[] = {0, start, start, 0}, sizes[] = {1, size, size, 4},
                           padding[] = {0, 0, 1, 1, 1, 1, 0, 0};
        const ValueId cut = b.add1(Op::slice, {x, b.shape(starts), b.shape(sizes)}, DType::i8, {}, "cut");
        const ValueId padded =
            filler < 0 ? cut
                       : b.add1(Op::pad, {x, b.shape(padding), b.scalar(DType::i8, static_cast<double>(filler))},
                                DType::i8, {}, "padded");
        b.output(quantized_conv(b, padded, 8, "conv", filler < 0 ? 0 : 1));
        return labels(plan_of(b.finish()));
    };
    EXPECT_EQ(net(0, 8, -1), "CONV2D+RESCALE");
    EXPECT_EQ(net(2, 7, -1), "CONV2D+RESCALE");
    EXPECT_EQ(net(0, 9, 3), "CONV2D+RESCALE");
    EXPECT_EQ(net(0, 9, 5), "PAD | CONV2D+RESCALE");  // 5 is not the zero point
}

TEST(Plan, ReshapeIsAnAliasAndConcatWritesItsSlices) {
    GraphBuilder b("layout");
    const ValueId x = b.input("x", DType::fp32, {2, 6}), y = b.input("y", DType::fp32, {3, 4});
    const std::int64_t shape[] = {3, 4};
    const ValueId r = b.add1(Op::reshape, {x, b.shape(shape)}, DType::fp32, {}, "r");
    Attributes axis;
    axis.axis = 0;
    b.output(b.add1(Op::concat, {r, y}, DType::fp32, axis, "c"));
    const Graph graph = b.finish();
    const Plan plan = plan_of(graph);
    EXPECT_EQ(labels(plan), "CONCAT");  // inputs of one size are copied together
    EXPECT_EQ(labels(plan_of(graph, false)), "CONCAT | CONCAT");
    EXPECT_EQ(plan.placements[r].offset, plan.placements[x].offset);
    EXPECT_NE(print_plan(graph, plan).find("1 dispatches"), std::string::npos);
}

TEST(Plan, BarriersStandOnlyWhereDataFlows) {
    GraphBuilder b("barriers");
    const ValueId x = b.input("x", DType::i8, {1, 8, 8, 4});
    const ValueId p = quantized_conv(b, x, 4, "p"), q = quantized_conv(b, x, 4, "q");
    Attributes last;
    last.axis = 3;
    b.output(b.add1(Op::reduce_max, {p}, DType::i8, last, "pm"));
    b.output(b.add1(Op::reduce_max, {q}, DType::i8, last, "qm"));
    PlanOptions options;
    options.merge_equal = false;
    const Plan plan = make_plan(b.finish(), test_device(), options);
    ASSERT_EQ(plan.dispatches.size(), 4u);
    int barriers = 0;
    for (const Dispatch& d : plan.dispatches) barriers += d.barrier_before;
    EXPECT_FALSE(plan.dispatches[0].barrier_before);
    EXPECT_GE(barriers, 1);
    EXPECT_LE(barriers, 2);
}

TEST(Plan, UnreadNodesAreNotRun) {
    GraphBuilder b("dead");
    const ValueId x = b.input("x", DType::fp32, {8});
    b.add1(Op::exp, {x}, DType::fp32, {}, "unused");
    b.output(b.add1(Op::add, {x, x}, DType::fp32, {}, "y"));
    EXPECT_EQ(labels(plan_of(b.finish())), "ADD");
}

TEST(Plan, EqualStructureGivesEqualShaders) {
    const auto glsl = [](std::int64_t size, double lowest) {
        GraphBuilder b("same");
        const ValueId x = b.input("x", DType::fp32, {size, 3});
        Attributes attrs;
        attrs.min_val = lowest;
        attrs.max_val = 6;
        b.output(b.add1(Op::clamp, {x}, DType::fp32, attrs, "c"));
        return plan_of(b.finish()).dispatches.at(0).glsl;
    };
    EXPECT_EQ(glsl(4, 0), glsl(1000, -1));
}

TEST(Memory, BlocksAliveTogetherNeverOverlap) {
    const unsigned seed = 20261120;
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        std::vector<Interval> blocks(1 + random() % 40);
        for (Interval& block : blocks) {
            block.first = random() % 30;
            block.last = block.first + random() % 8;
            block.size = 16 * (1 + random() % 500);
        }
        const std::uint64_t total = assign_offsets(blocks, 256), bound = live_bytes_bound(blocks, 256);
        EXPECT_GE(total, bound);
        for (const Interval& a : blocks) {
            EXPECT_EQ(a.offset % 256, 0u);
            EXPECT_LE(a.offset + a.size, total);
            for (const Interval& c : blocks) {
                if (&a == &c || a.last < c.first || c.last < a.first) continue;
                EXPECT_TRUE(a.offset + a.size <= c.offset || c.offset + c.size <= a.offset)
                    << "seed " << seed << " round " << round;
            }
        }
    }
}

TEST(IndexMap, SimplifyKeepsEveryPosition) {
    const unsigned seed = 7;
    std::mt19937 random(seed);
    for (int round = 0; round < 2000; ++round) {
        IndexMap map;
        const std::size_t rank = 1 + random() % 5;
        for (std::size_t i = 0; i < rank; ++i) {
            map.dims.push_back(1 + random() % 4);
            map.strides.push_back(static_cast<std::int64_t>(random() % 5) - 1);
        }
        if (random() % 2) {  // make some neighbours joinable
            for (std::size_t i = rank - 1; i-- > 0;) {
                if (random() % 2) map.strides[i] = map.strides[i + 1] * map.dims[i + 1];
            }
        }
        if (random() % 3 == 0) {
            for (std::size_t i = 0; i < rank; ++i) {
                map.lo.push_back(random() % 2);
                map.hi.push_back(map.dims[i] - random() % 2);
            }
        }
        map.base = random() % 10;
        const IndexMap simple = simplify(map);
        for (std::int64_t e = 0; e < element_count(map.dims); ++e) {
            ASSERT_EQ(evaluate(map, e), evaluate(simple, e))
                << "seed " << seed << " round " << round << " element " << e;
        }
    }
}

// Quads counted from the start of each row are quads of a tensor whose rows begin with one.
TEST(IndexMap, QuadsOfRowsAreWholeWhereTheirTensorsRowsBeginWithOne) {
    const auto loads_quads = [](IndexMap map, std::int64_t row) {
        const auto text =
            read_function({"x0", map, false, row}, Param([](std::int64_t n, bool) { return std::to_string(n); }), "in0",
                          "vec4", "vec4");
        return text.find("in0_load4(") != std::string::npos;
    };
    const IndexMap channels = {{16, 62}, {0, 1}};
    EXPECT_TRUE(loads_quads(channels, 62));
    EXPECT_FALSE(loads_quads(channels, 0));
    EXPECT_FALSE(loads_quads(channels, 31));
    EXPECT_TRUE(loads_quads({{16, 62}, {72, 1}, 8}, 62));
    EXPECT_FALSE(loads_quads({{16, 62}, {72, 1}, 6}, 62));
    EXPECT_FALSE(loads_quads({{16, 62}, {70, 1}, 8}, 62));
    EXPECT_FALSE(loads_quads({{16, 62}, {72, -1}, 64}, 62));
    EXPECT_FALSE(loads_quads({{16, 62}, {72, 1}, -4, {0, 4}, {16, 62}}, 62));
}

TEST(IndexMap, PaddingAroundWholeRowsJoinsThem) {
    const IndexMap map = simplify({{4, 6, 3}, {12, 3, 1}, -15, {1, 1, 0}, {3, 5, 3}});
    EXPECT_EQ(map.dims, (Shape{4, 18}));
    EXPECT_EQ(map.lo, (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(map.hi, (std::vector<std::int64_t>{3, 15}));
}

TEST(IndexMap, BroadcastReadsRightAligned) {
    const IndexMap map = broadcast_map({3, 1}, {2, 3, 4});
    EXPECT_EQ(map.strides, (std::vector<std::int64_t>{0, 1, 0}));
    EXPECT_EQ(evaluate(map, 23), 2);
}

// Every inner value is a graph output: the group must be split where the device runs out of buffers.
TEST(Plan, GroupsKeepWithinTheDevicesBuffers) {
    for (const std::uint32_t buffers : {4u, 12u}) {
        GraphBuilder b("taps");
        const ValueId x = b.input("x", DType::fp32, {8});
        ValueId v = x;
        for (int i = 0; i < 40; ++i) b.output(v = b.add1(Op::add, {v, x}, DType::fp32, {}, "n" + std::to_string(i)));
        DevicePlan device = test_device();
        device.max_buffers = buffers;
        const Plan plan = make_plan(b.finish(), device, {true, false});
        EXPECT_LT(plan.dispatches.size(), 40u);
        for (const Dispatch& d : plan.dispatches) EXPECT_LE(d.bindings.size(), buffers);
    }
}

std::string kernels(const Plan& plan) {
    std::string text;
    for (const Dispatch& d : plan.dispatches) text += (text.empty() ? "" : " | ") + d.kernel;
    return text;
}

Plan plan_of_reduction(const DevicePlan& device, const Shape& shape, std::int32_t axis, Op op = Op::reduce_sum) {
    GraphBuilder b("reduction");
    Attributes attrs;
    attrs.axis = axis;
    b.output(b.add1(op, {b.input("x", DType::fp32, shape)}, op == Op::argmax ? DType::i32 : DType::fp32, attrs, "sum"));
    return make_plan(b.finish(), device, {true, false});
}

TEST(Plan, ReductionsOfFewResultsTakeTwoPasses) {
    DevicePlan device = test_device();
    const Plan rows = plan_of_reduction(device, {1, 70000}, 1);
    EXPECT_EQ(kernels(rows), "reduce_rows | reduce_rows");
    EXPECT_TRUE(rows.dispatches.back().barrier_before);
    EXPECT_EQ(kernels(plan_of_reduction(device, {20000, 64}, 1)), "rows");
    EXPECT_EQ(kernels(plan_of_reduction(device, {5000, 16}, 0)), "reduce_columns | reduce_columns");
    device.busy_invocations = 1;
    EXPECT_EQ(kernels(plan_of_reduction(device, {5000, 16}, 0)), "reduce_columns");
}

// On a driver that bounds the passes of loops, what stands in the loop of a kernel or of rows has none of its own.
TEST(Plan, ExpressionsHaveLoopsOnlyWhereTheyAreCounted) {
    const auto loops = [](const DevicePlan& device, bool alone) {
        GraphBuilder b("remainder");
        Attributes attrs;
        attrs.axis = 0;
        ValueId x = b.input("x", DType::fp32, {8000, 64});
        if (!alone) x = b.add1(Op::cumulate, {x}, DType::fp32, attrs);
        b.output(b.add1(Op::remainder, {x, b.input("y", DType::fp32, {1, 1})}, DType::fp32));
        const Plan plan = make_plan(b.finish(), device, {});
        return plan.dispatches.back().glsl.find("#define LIBRARY_LOOPS") != std::string::npos;
    };
    DevicePlan device = test_device();
    EXPECT_TRUE(loops(device, true));
    EXPECT_TRUE(loops(device, false));
    device.max_loop_passes = 60000;
    EXPECT_TRUE(loops(device, true));
    EXPECT_FALSE(loops(device, false));
}

// Lists of more keys than an int's powers of two; buffers between passes that are beyond what shaders count.
TEST(Plan, SortsOfGiantsArePlannedOrRefused) {
    const auto plan_of = [](const Shape& shape) {
        DevicePlan device = test_device();
        device.max_binding_bytes = std::uint64_t{1} << 40;
        GraphBuilder b("sort", level_none);
        Attributes attrs;
        attrs.axis = static_cast<std::int32_t>(shape.size()) - 1;
        b.output(b.add1(Op::sort, {b.input("x", DType::i8, shape)}, DType::i8, attrs));
        return make_plan(b.finish(), device, {});
    };
    for (const std::int64_t length : {1 << 29, (1 << 30) + 1, 0x7ffffff0})
        EXPECT_FALSE(plan_of({length}).dispatches.empty());
    try {
        plan_of({1 << 20, 1025});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
        EXPECT_NE(std::string(error.what()).find("shaders count to"), std::string::npos) << error.what();
    }
}

// Extremes of floats become keys in the first pass; the second folds keys.
TEST(Plan, KeysAreMadeOnce) {
    const Plan extremes = plan_of_reduction(test_device(), {1, 70000}, 1, Op::reduce_max);
    ASSERT_EQ(kernels(extremes), "reduce_rows | reduce_rows");
    EXPECT_NE(extremes.dispatches[0].glsl.find("#define TWO_QUADS 1"), std::string::npos);
    EXPECT_NE(extremes.dispatches[1].glsl.find("#define TWO_QUADS 0"), std::string::npos);
    const Plan sums = plan_of_reduction(test_device(), {1, 70000}, 1);
    for (const Dispatch& dispatch : sums.dispatches)
        EXPECT_NE(dispatch.glsl.find("#define TWO_QUADS 0"), std::string::npos);
}

TEST(Plan, FourProductsAtOnceWhereTheDeviceHasThem) {
    DevicePlan device = test_device();
    device.shared_tiles = device.product_tiles = true;
    device.product_tile_bytes = 32768;
    const auto uses = [&](const char* line, const char* kernel) {
        const Plan plan = make_plan(load_problem(line), device, {});
        EXPECT_EQ(plan.dispatches.front().kernel, kernel) << line;
        return plan.dispatches.front().glsl.find("#define DOT4 1") != std::string::npos;
    };
    const char *matmul = "matmul i8 1x128x64x128", *conv = "conv2d i8 1x12x12x64 64x3x3 p1 rescale",
               *floats = "conv2d f32 1x12x12x64 64x3x3 p1";
    for (const bool dot4 : {false, true}) {
        device.dot4 = dot4;
        device.busy_invocations = 1;
        matmul = "matmul i8 1x128x64x128", conv = "conv2d i8 1x12x12x64 64x3x3 p1 rescale";
        EXPECT_EQ(uses(matmul, "gemm_tiles"), dot4);
        EXPECT_EQ(uses(conv, "gemm_tiles"), dot4);
        EXPECT_FALSE(uses(floats, "gemm_tiles"));
        // Too few rows for a tile.
        device.busy_invocations = 1 << 20;
        matmul = "matmul i8 1x8x64x128", conv = "conv2d i8 1x3x3x64 64x3x3 p1 rescale";
        EXPECT_FALSE(uses(matmul, "gemm_split"));
        EXPECT_EQ(uses(conv, "gemm_split"), dot4);
    }
}

// A driver may bound the passes of all loops of an invocation together, and there may be one for each of its four rows.
TEST(Plan, PassesOfLongRowsStayBelowTheBound) {
    DevicePlan device = test_device();
    device.busy_invocations = 1;
    device.row_quads = 2;
    const auto passes = [&] {
        std::vector<std::int64_t> result;
        for (const Dispatch& dispatch : plan_of_reduction(device, {32, 80000}, 1).dispatches) {
            EXPECT_EQ(dispatch.kernel, "reduce_rows");
            const bool row_by_row = dispatch.glsl.find("#define ROW_BY_ROW 1") != std::string::npos;
            result.push_back((row_by_row ? 4 : 1) * std::int64_t{dispatch.constants.at(5)} / dispatch.constants.at(4));
        }
        return result;
    };
    EXPECT_EQ(passes(), std::vector<std::int64_t>{4 * 20000});
    device.max_loop_passes = 2000;
    const std::vector<std::int64_t> bounded = passes();
    EXPECT_EQ(bounded.size(), 2u);
    for (const std::int64_t count : bounded) EXPECT_LE(count, 2000);
}

TEST(Plan, FewColumnsOfFarRowsAreWalkedInParts) {
    DevicePlan device = test_device();
    device.busy_invocations = 512;
    EXPECT_EQ(kernels(plan_of_reduction(device, {64, 2048}, 0)), "reduce_columns");
    device.far_rows = 16;
    const Plan plan = plan_of_reduction(device, {64, 2044}, 0);
    EXPECT_EQ(kernels(plan), "reduce_columns | reduce_columns");
    EXPECT_EQ(plan.dispatches.front().bindings.back().place.size, 4u * 2044 * 4);    // four parts of 16 rows
    EXPECT_EQ(kernels(plan_of_reduction(device, {64, 2048}, 0)), "reduce_columns");  // 512 quads
    device.row_quads = 2;
    EXPECT_EQ(kernels(plan_of_reduction(device, {64, 2048}, 0)), "reduce_columns | reduce_columns");
    EXPECT_EQ(kernels(plan_of_reduction(device, {64, 4096}, 0)), "reduce_columns");
    device.slow_storage = device.int64 = true;  // many wait as well, unless they read texels
    EXPECT_EQ(kernels(plan_of_reduction(device, {64, 4096}, 0)), "reduce_columns | reduce_columns");
    device.texel_elements = 1 << 20;
    EXPECT_EQ(kernels(plan_of_reduction(device, {64, 4096}, 0)), "reduce_columns");
}

TEST(Plan, ColumnsAreWalkedDownSideBySide) {
    DevicePlan device = test_device();
    device.row_quads = 2;
    const auto side_by_side = [&](const Shape& shape) {
        const std::string glsl = plan_of_reduction(device, shape, 1).dispatches.front().glsl;
        return glsl.at(glsl.find("#define EACH ") + 13) - '0';
    };
    EXPECT_EQ(side_by_side({1000, 50, 64}), 2);
    EXPECT_EQ(side_by_side({1000, 50, 60}), 1);  // 15 quads
    EXPECT_EQ(side_by_side({1000, 50, 62}), 1);
    EXPECT_EQ(side_by_side({3, 50, 64}), 1);      // too few of them to share the work
    EXPECT_EQ(side_by_side({100, 64, 1024}), 4);  // many rows of whole pages
    EXPECT_EQ(side_by_side({100, 63, 1024}), 2);
    EXPECT_EQ(side_by_side({100, 64, 1020}), 1);
    EXPECT_EQ(side_by_side({100, 64, 1032}), 2);
    device.slow_storage = device.int64 = true;  // every load is a loop
    EXPECT_EQ(side_by_side({2000, 50, 64}), 4);
    EXPECT_EQ(side_by_side({100, 63, 1024}), 2);
    device.row_quads = 1;
    EXPECT_EQ(side_by_side({100, 64, 1024}), 1);
}

// While one quad waits for a result, the other goes on.
TEST(Plan, TwoQuadsOfAnInvocationAreMadeInTurn) {
    DevicePlan device = test_device();
    device.slow_storage = device.int64 = true;
    GraphBuilder b("chain");
    const ValueId x = b.input("x", DType::fp32, {4096});
    b.output(b.add1(Op::sigmoid, {b.add1(Op::add, {x, x}, DType::fp32, {}, "sum")}, DType::fp32, {}, "sigmoid"));
    const Graph graph = b.finish();
    const Plan plan = make_plan(graph, device, {true, false});
    ASSERT_EQ(plan.dispatches.size(), 1u);
    const std::string& glsl = plan.dispatches.front().glsl;
    std::size_t at = 0;
    for (const char* statement : {"in0_load8(e, x1_a, x1_b)", " = (x1_a + x1_a)", " = (x1_b + x1_b)",
                                  "tosa_sigmoid(v0_a)", "tosa_sigmoid(v0_b)", "_store8("}) {
        at = glsl.find(statement, at);
        ASSERT_NE(at, std::string::npos) << statement;
    }
    EXPECT_EQ(glsl.find("in0_load4(e"), std::string::npos);
    device.texel_elements = 65536;  // a texel is four elements
    EXPECT_NE(make_plan(graph, device, {true, false}).dispatches.front().glsl.find("in0_load4(e_a)"),
              std::string::npos);
}

// A pass over a row takes two quads, where rows are of whole eights and one invocation's.
TEST(Plan, RowsOfWholeEightsAreReadByEights) {
    DevicePlan device = test_device();
    device.slow_storage = device.int64 = true;
    const auto by_eights = [&](const Shape& shape, Op op) {
        const std::string glsl = plan_of_reduction(device, shape, 1, op).dispatches.front().glsl;
        return glsl.find("EIGHTS_fp32(in0") != std::string::npos;
    };
    for (const Op op : {Op::reduce_sum, Op::reduce_max, Op::argmax}) {
        EXPECT_TRUE(by_eights({20000, 64}, op));
        EXPECT_FALSE(by_eights({20000, 60}, op));
        EXPECT_FALSE(by_eights({20, 4096}, op));  // lanes share a row
    }
    device.busy_invocations = 1;
    device.max_loop_passes = 2000;  // parts of 1280
    EXPECT_TRUE(by_eights({32, 40960}, Op::reduce_max));
    EXPECT_FALSE(by_eights({32, 40920}, Op::reduce_max));  // the last one is shorter
    device.texel_elements = 1 << 20;
    EXPECT_FALSE(by_eights({20000, 64}, Op::reduce_sum));
    EXPECT_FALSE(by_eights({20000, 64}, Op::reduce_max));
    device.texel_elements = 0;
    device.slow_storage = false;
    EXPECT_FALSE(by_eights({20000, 64}, Op::reduce_sum));
    EXPECT_FALSE(by_eights({20000, 64}, Op::reduce_max));
}

// Prefetchers follow pages: where enough invocations stay busy, each walks through one.
TEST(Plan, ShortRowsOfAPageAreTakenInTurn) {
    DevicePlan device = test_device();
    device.busy_invocations = 512;
    const auto groups = [&](const Shape& shape, Op op) {
        const auto size = plan_of_reduction(device, shape, 1, op).dispatches.front().groups;
        return std::int64_t{size[0]} * size[1] * size[2] * device.workgroup_size;
    };
    const auto in_turn = [&](const Shape& shape, Op op) {
        device.walk_bytes = 0;
        const std::int64_t alone = groups(shape, op);
        device.walk_bytes = 4096;
        return alone / groups(shape, op);
    };
    EXPECT_EQ(in_turn({8192, 64}, Op::reduce_sum), 16);
    EXPECT_EQ(in_turn({8191, 64}, Op::reduce_sum), 1);  // 511 invocations
    EXPECT_EQ(in_turn({8192, 1024}, Op::reduce_sum), 1);
    EXPECT_EQ(in_turn({8192, 64}, Op::reduce_max), 4);  // of fours of rows
    EXPECT_EQ(in_turn({8192, 256}, Op::reduce_max), 1);
    EXPECT_EQ(in_turn({8192, 64}, Op::argmax), 1);
    EXPECT_EQ(in_turn({32768, 16}, Op::argmax), 16);
    device.slow_storage = device.int64 = true;  // loads are loops
    EXPECT_EQ(in_turn({8192, 64}, Op::argmax), 4);
}

TEST(Plan, EightsAreMadeInTurn) {
    DevicePlan device = test_device();
    device.busy_invocations = 512;
    device.walk_bytes = 4096;
    device.slow_storage = device.int64 = true;
    const auto in_turn = [&](std::int64_t elements, DType from, DType to) {
        GraphBuilder b("cast");
        b.output(b.add1(Op::cast, {b.input("x", from, {elements})}, to, {}, "cast"));
        const std::string glsl = make_plan(b.finish(), device, {true, false}).dispatches.front().glsl;
        return std::stoi(glsl.substr(glsl.rfind("k < ") + 4));
    };
    EXPECT_EQ(in_turn(524288, DType::i32, DType::fp32), 128);
    EXPECT_EQ(in_turn(524280, DType::i32, DType::fp32), 2);
    EXPECT_EQ(in_turn(2097152, DType::i8, DType::fp32), 512);  // a page of the smaller type
    EXPECT_EQ(in_turn(2097152, DType::i32, DType::fp16), 1);
    EXPECT_EQ(in_turn(8184, DType::i32, DType::fp32), 1);
    device.texel_elements = 1 << 20;
    EXPECT_EQ(in_turn(524288, DType::i32, DType::fp32), 2);
}

TEST(Plan, TransposesRunInBlocksWhereThatPays) {
    DevicePlan device = test_device();
    const auto planned = [&](DType type, const Shape& shape, std::vector<std::int32_t> perms) {
        GraphBuilder b("transpose");
        Attributes attrs;
        attrs.perms = std::move(perms);
        b.output(b.add1(Op::transpose, {b.input("x", type, shape)}, type, attrs, "t"));
        return make_plan(b.finish(), device, {true, false});
    };
    const auto kernel_of = [&](DType type, const Shape& shape, std::vector<std::int32_t> perms) {
        return kernels(planned(type, shape, std::move(perms)));
    };
    EXPECT_EQ(kernel_of(DType::fp32, {8, 12}, {1, 0}), "transpose");
    EXPECT_EQ(kernel_of(DType::i8, {2, 8, 12, 16}, {0, 3, 1, 2}), "transpose");
    EXPECT_EQ(kernel_of(DType::fp32, {7, 5}, {1, 0}), "transpose");
    EXPECT_EQ(kernel_of(DType::i8, {7, 5}, {1, 0}), "elementwise");            // bytes are not stored singly
    EXPECT_EQ(kernel_of(DType::fp32, {8, 12, 16}, {1, 0, 2}), "elementwise");  // rows stay rows

    // Blocks of eight, where loads and stores of eight elements pay.
    const auto block_of = [&](DType type, const Shape& shape) {
        const std::string glsl = planned(type, shape, {1, 0}).dispatches.front().glsl;
        return glsl.at(glsl.find("#define BLOCK ") + 14) - '0';
    };
    EXPECT_EQ(block_of(DType::fp32, {64, 128}), 4);
    device.slow_storage = device.int64 = true;
    EXPECT_EQ(block_of(DType::fp32, {64, 128}), 8);
    EXPECT_EQ(block_of(DType::i8, {64, 128}), 8);
    EXPECT_EQ(block_of(DType::fp32, {64, 132}), 4);
    EXPECT_EQ(block_of(DType::fp32, {60, 128}), 4);
    EXPECT_EQ(block_of(DType::fp32, {16, 16}), 4);  // too few invocations
}

TEST(Plan, SlowStoresMakeEightElements) {
    DevicePlan device = test_device();
    device.int64 = true;
    const auto first = [&](const char* line) { return make_plan(load_problem(line), device, {}).dispatches.at(0); };
    const auto has = [](const Dispatch& dispatch, const char* text) {
        return dispatch.glsl.find(text) != std::string::npos;
    };
    for (const bool slow : {false, true}) {
        device.slow_storage = slow;
        const Dispatch chain = first("chain f32 8192 add mul");
        EXPECT_EQ(has(chain, "out0_store8(e"), slow);
        EXPECT_EQ(chain.groups[0], 8192 / (slow ? 8 : 4) / device.workgroup_size);
        EXPECT_EQ(has(first("gather f32 1x90x24 200"), "out0_store8(e"), slow);
    }
    device.int64 = false;
    EXPECT_FALSE(has(first("chain f32 8192 add mul"), "out0_store8(e"));
    device.int64 = true;
    EXPECT_FALSE(has(first("chain f32 8196 add mul"), "out0_store8(e"));  // no whole eights
    EXPECT_FALSE(has(first("chain f32 512 add mul"), "out0_store8(e"));   // too few invocations
    EXPECT_FALSE(has(first("gather f32 1x90x20 200"), "out0_store8(e"));
    const Dispatch wide = first("resize i16 1x9x8x64 16x17 bilinear");  // i48: the kernel's eights become quads
    EXPECT_FALSE(has(wide, "out0_store8(e"));
    EXPECT_TRUE(has(wide, "void FUSED8("));
    device.max_binding_bytes = 16384;  // several bindings
    EXPECT_FALSE(has(first("chain f32 8192 add mul"), "out0_store8(e"));
}

TEST(Plan, LongChainsAreSplit) {
    GraphBuilder b("long");
    const ValueId x = b.input("x", DType::fp32, {8});
    ValueId v = x;
    for (int i = 0; i < 500; ++i) v = b.add1(Op::add, {v, x}, DType::fp32, {}, "n" + std::to_string(i));
    b.output(v);
    const Plan plan = plan_of(b.finish());
    EXPECT_GE(plan.dispatches.size(), 7u);
    EXPECT_LE(plan.dispatches.size(), 16u);
}

// A GPU's compiler spills what a shader of many long functions keeps.
TEST(Plan, LongFunctionsAreSplitByRegisters) {
    GraphBuilder b("quotients");
    const ValueId x = b.input("x", DType::fp32, {64}), y = b.input("y", DType::fp32, {64});
    ValueId v = x;
    for (int i = 0; i < 12; ++i) v = b.add1(Op::divide, {v, y}, DType::fp32, {}, "n" + std::to_string(i));
    b.output(v);
    const Graph graph = b.finish();
    const auto dispatches = [&](std::uint32_t registers) {
        DevicePlan device = test_device();
        device.registers = registers;
        return make_plan(graph, device, {}).dispatches.size();
    };
    EXPECT_EQ(dispatches(1024), 1u);
    EXPECT_EQ(dispatches(256), 3u);  // each is worth 60 operations
    EXPECT_EQ(dispatches(64), 6u);
}

// The operands of a residual ADD are rescaled where they are added, not written in i32 beside the i8 value.
TEST(Plan, CheapStepsAreComputedWhereTheyAreConsumed) {
    GraphBuilder b("residual");
    const ValueId x = b.input("x", DType::i8, {1, 8, 8, 4});
    const ValueId p = clamp(b, quantized_conv(b, x, 4, "p"), "pc"), q = quantized_conv(b, p, 4, "q");
    const auto widen = [&](ValueId v, const std::string& name) {
        return b.add1(Op::rescale,
                      {v, b.scalar(DType::i32, 1 << 30), b.scalar(DType::i8, 20), b.scalar(DType::i8, 0),
                       b.scalar(DType::i32, 0)},
                      DType::i32, {}, name);
    };
    b.output(b.add1(Op::add, {widen(p, "pw"), widen(q, "qw")}, DType::i32, {}, "sum"));
    EXPECT_EQ(labels(plan_of(b.finish())), "CONV2D+RESCALE+CLAMP | CONV2D+RESCALE+RESCALE+RESCALE+ADD");
}

// Kernels count quads from the begin of each row: what has one element per channel is read in whole quads, moved
// nowhere.
TEST(Plan, OperandsOfChannelsAreReadInWholeQuads) {
    GraphBuilder b("channels");
    const ValueId x = b.input("x", DType::i8, {1, 8, 8, 4});
    const ValueId scaled = quantized_conv(b, x, 62, "conv");
    b.output(b.add1(Op::bitwise_and, {scaled, b.input("y", DType::i8, {1, 8, 8, 62})}, DType::i8, {}, "both"));
    const Plan plan = plan_of(b.finish());
    ASSERT_EQ(labels(plan), "CONV2D+RESCALE+BITWISE_AND");
    const std::string& glsl = plan.dispatches.front().glsl;
    EXPECT_NE(glsl.find("in3_load4(x"), std::string::npos);
    EXPECT_NE(glsl.find("in4_load4(x"), std::string::npos);
    EXPECT_NE(glsl.find("in5_loadn(e, n)"), std::string::npos);  // rows of 62 lie anywhere in words
}

// ---- submits --------------------------------------------------------------------------------------------------------

TEST(Plan, LongGraphsAreSplitByEstimatedWork) {
    GraphBuilder b("long");
    ValueId v = b.input("x", DType::i8, {1, 8, 8, 4});
    for (int i = 0; i < 6; ++i) v = quantized_conv(b, v, 4, "conv" + std::to_string(i));
    b.output(v);
    const Graph graph = b.finish();
    const auto splits = [&](double work, double bytes) {
        DevicePlan device = test_device();
        device.submit_work = work;
        device.submit_bytes = bytes;
        const Plan plan = make_plan(graph, device, {});
        std::string text;
        for (const Dispatch& d : plan.dispatches) text += d.submit_before ? "|." : ".";
        std::size_t printed = 0;
        const std::string all = print_plan(graph, plan);
        for (std::size_t at = all.find("  submit\n"); at != std::string::npos; at = all.find("  submit\n", at + 1))
            ++printed;
        EXPECT_EQ(printed, static_cast<std::size_t>(std::count(text.begin(), text.end(), '|')));
        return text;
    };
    const Dispatch one = plan_of(graph).dispatches.at(1);
    EXPECT_EQ(splits(0, 0), "......");
    EXPECT_EQ(splits(one.work * 6, 0), "......");
    EXPECT_EQ(splits(one.work * 2.5, 0), "..|..|..");
    EXPECT_EQ(splits(0, one.bytes * 3), "...|...");
    EXPECT_EQ(splits(one.work * 6, one.bytes * 6), "...|...");  // both take their time
    EXPECT_EQ(splits(one.work / 2, 0), ".|.|.|.|.|.");          // one dispatch is never split
}

// ---- tensors larger than a binding ----------------------------------------------------------------------------------

/// The sum of `count` inputs of 600 fp32 elements: 2400 bytes, four bindings where one holds up to 1000 bytes (768, a
/// multiple of the alignment, and what is left).
Graph sum_of(int count) {
    GraphBuilder b("sum");
    ValueId v = b.input("x0", DType::fp32, {600});
    for (int i = 1; i < count; ++i) {
        const std::string n = std::to_string(i);
        v = b.add1(Op::add, {v, b.input("x" + n, DType::fp32, {600})}, DType::fp32, {}, "n" + n);
    }
    b.output(v);
    return b.finish();
}

TEST(Plan, LargeTensorsTakeSeveralBindings) {
    DevicePlan device = test_device();
    device.max_binding_bytes = 1000;
    const Graph graph = sum_of(2);
    const Plan plan = make_plan(graph, device, {});
    ASSERT_EQ(plan.dispatches.size(), 1u);
    const auto& bindings = plan.dispatches[0].bindings;
    ASSERT_EQ(bindings.size(), 12u);
    for (std::size_t k = 0; k < bindings.size(); ++k) {
        const std::string name = bindings[k / 4 * 4].label.substr(0, 2);
        const Placement& whole = plan.placements[name == "x0"   ? graph.inputs[0]
                                                 : name == "x1" ? graph.inputs[1]
                                                                : graph.outputs[0]];
        EXPECT_EQ(bindings[k].place.offset, whole.offset + k % 4 * 768);
        EXPECT_EQ(bindings[k].place.size, k % 4 == 3 ? 2400u - 3 * 768 : 768u);
        EXPECT_EQ(bindings[k].written, k >= 8);
    }
    EXPECT_EQ(bindings[1].label.substr(2), ", part 2 of 4");
    EXPECT_EQ(plan.dispatches[0].bytes, 3 * 2400.0);
    EXPECT_EQ(make_plan(graph, test_device(), {}).dispatches[0].bindings.size(), 3u);
}

TEST(Plan, LargeTensorsCountWhenFusing) {
    DevicePlan device = test_device();
    device.max_binding_bytes = 1000;
    EXPECT_EQ(make_plan(sum_of(4), device, {}).dispatches.size(), 3u);
    device.max_buffers = 16;
    EXPECT_EQ(make_plan(sum_of(4), device, {}).dispatches.size(), 2u);
    device.max_buffers = 20;
    EXPECT_EQ(make_plan(sum_of(4), device, {}).dispatches.size(), 1u);
    device.max_buffers = 11;
    try {
        make_plan(sum_of(2), device, {});
        ADD_FAILURE() << "was planned";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        EXPECT_NE(std::string(error.what()).find("needs 12 storage buffers"), std::string::npos) << error.what();
    }
    // Texel buffers have limits of their own.
    device.texel_elements = 65536;
    EXPECT_EQ(make_plan(sum_of(2), device, {}).dispatches[0].bindings.size(), 6u);
}

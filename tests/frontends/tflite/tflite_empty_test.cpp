// Tensors without elements in .tflite files: no operator computes them, and graphs do not have them.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

Options concat(TfliteBuilder& t, std::int32_t axis) {
    return {BuiltinOptions::ConcatenationOptions, CreateConcatenationOptions(t.fbb, axis, Act::NONE).Union()};
}

std::size_t count_of(const Graph& graph, Op op) {
    std::size_t count = 0;
    for (const Node& node : graph.nodes) count += node.op == op;
    return count;
}

TEST(TfliteEmpty, ConcatenationLeavesThemOut) {
    // A state without rows, as a file holds it; x[0:0], which slicing gives; and x.
    TfliteBuilder t;
    const int x = t.tensor(f32({2, 3})), state = t.tensor(f32({0, 3})), none = t.tensor(f32({0, 3}));
    const int y = t.tensor(f32({2, 3})), z = t.tensor(f32({2, 3}));
    t.op(B::SLICE, {x, t.indices({0, 0}), t.indices({0, 3})}, {none});
    const Options options = concat(t, 0);
    t.op(B::CONCATENATION, {state, x, none}, {y}, options.first, options.second);
    t.op(B::RELU, {y}, {z});
    const Bytes model = t.finish({x}, {z});
    const auto in = random_f32({2, 3});
    const auto out = run(model, {in}).at(0);
    EXPECT_EQ(out.shape, (Shape{2, 3}));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(out.as<float>()[i], std::max(in.as<float>()[i], 0.0f));
    EXPECT_EQ(import_tflite(model, {}).nodes.size(), 1u) << "only the RELU";
}

TEST(TfliteEmpty, WhatMovesThemMakesNoNode) {
    // x[:, 0:0] through RESHAPE, TRANSPOSE, PAD and SPLIT_V, an addition and a rescale, then behind x.
    TfliteBuilder t;
    const int x = t.tensor(i8({2, 4}, 0.5f)), a = t.tensor(i8({2, 0}, 0.5f)), b = t.tensor(i8({0, 2}, 0.5f));
    const int c = t.tensor(i8({0, 4}, 0.5f)), d = t.tensor(i8({0, 4}, 0.5f)), e = t.tensor(i8({0, 4}, 0.5f));
    const int f = t.tensor(i8({0, 4}, 0.25f)), whole = t.tensor(i8({2, 4}, 0.5f)), y = t.tensor(i8({2, 4}, 0.25f));
    t.op(B::SLICE, {x, t.indices({0, 1}), t.indices({2, 0})}, {a});
    t.op(B::TRANSPOSE, {a, t.indices({1, 0})}, {b});
    t.op(B::PAD, {b, t.constant_i32({2, 2}, {0, 0, 1, 1})}, {c});
    t.op(B::ADD, {c, c}, {d});
    const int sizes = t.indices({2, 0}), axis = t.indices({0});
    t.op(B::SPLIT_V, {x, sizes, axis}, {whole, e});
    t.op(B::RELU, {e}, {f});
    const Options options = concat(t, 0);
    t.op(B::CONCATENATION, {d, f, whole}, {y}, options.first, options.second);
    const Graph graph = import_tflite(t.finish({x}, {y}), {});
    EXPECT_EQ(graph.nodes.size(), 1u);
    EXPECT_EQ(count_of(graph, Op::rescale), 1u);
}

TEST(TfliteEmpty, TheShapeOfAScalarReshapesToAScalar) {
    TfliteBuilder t;
    const int x = t.tensor(f32({})), shape = t.tensor({{0}, TensorType::INT32, {}, {}}), v = t.tensor(f32({1}));
    const int y = t.tensor(f32({}));
    t.op(B::SHAPE, {x}, {shape});
    t.op(B::RESHAPE, {v, shape}, {y});
    EXPECT_EQ(run(t.finish({x, v}, {y}), {random_f32({}), random_f32({1})}).at(0).shape, Shape{});
}

TEST(TfliteEmpty, RefusalsNameThem) {
    const auto slice = [](TfliteBuilder& t, int x, int none) {
        t.op(B::SLICE, {x, t.indices({0, 0}), t.indices({0, 3})}, {none});
    };
    TfliteBuilder sum;
    int x = sum.tensor(i8({2, 3})), none = sum.tensor(i8({0, 3})), y = sum.tensor(i8({3}));
    slice(sum, x, none);
    sum.op(B::SUM, {none, sum.indices({0})}, {y});
    expect_error(sum.finish({x}, {y}), ErrorCode::unsupported, "SUM (node 1, 't2'): it reduces no elements of type");

    TfliteBuilder pad;
    x = pad.tensor(f32({2, 3})), none = pad.tensor(f32({0, 3})), y = pad.tensor(f32({1, 3}));
    slice(pad, x, none);
    pad.op(B::PAD, {none, pad.constant_i32({2, 2}, {0, 1, 0, 0})}, {y});
    expect_error(pad.finish({x}, {y}), ErrorCode::unsupported, "PAD of a tensor without elements is not supported");

    TfliteBuilder branch;
    const int bx = branch.tensor(f32({2, 3})), empty = branch.tensor(f32({0, 3}));
    slice(branch, bx, empty);
    const int region = branch.end_subgraph({bx}, {empty}, "region");
    const int c = branch.tensor({{1}, TensorType::BOOL, {}, {}});
    x = branch.tensor(f32({2, 3})), y = branch.tensor(f32({0, 3}));
    const auto options = CreateIfOptions(branch.fbb, region, region).Union();
    branch.op(B::IF, {c, x}, {y}, BuiltinOptions::IfOptions, options);
    expect_error(branch.finish({c, x}, {x}), ErrorCode::unsupported,
                 "TFLite subgraph 1's output 0: its shape 0x3 has no elements");
}

TEST(TfliteEmpty, EndsOfTheGraph) {
    // The batch is empty: what is added stays so, and the slice of x, which nothing reads further.
    TfliteBuilder t;
    const int batch = t.tensor({{0, 3}, TensorType::UINT8, {0.5f}, {7}}), x = t.tensor(f32({2, 3}));
    const int moved = t.tensor({{3, 0}, TensorType::UINT8, {0.5f}, {7}}), none = t.tensor(f32({2, 0}));
    const int y = t.tensor(f32({2, 3}));
    t.op(B::TRANSPOSE, {batch, t.indices({1, 0})}, {moved});
    t.op(B::SLICE, {x, t.indices({0, 0}), t.indices({2, 0})}, {none});
    t.op(B::RELU, {x}, {y});
    const Bytes model = t.finish({batch, x}, {moved, none, y});
    const auto out = run(model, {HostTensor(DType::i8, {0, 3}), random_f32({2, 3})});
    EXPECT_EQ(out.at(0).shape, (Shape{3, 0}));
    EXPECT_EQ(out.at(1).shape, (Shape{2, 0}));
    EXPECT_EQ(out.at(2).shape, (Shape{2, 3}));
    const Graph graph = import_tflite(model, {});
    EXPECT_EQ(graph.nodes.size(), 1u) << "only the RELU";
    EXPECT_EQ(graph.value(graph.outputs[0]).declared, HostKind::u8);
    EXPECT_EQ(graph.value(graph.outputs[0]).zero_point, 7);
}

/// What a reduction makes of none is a constant, which may say a shape.
TEST(TfliteEmpty, ReductionsOfNothing) {
    const auto of = [](B code, const TensorSpec& from, const TensorSpec& to) {
        TfliteBuilder t;
        const int x = t.tensor(from), y = t.tensor(to);
        t.op(code, {x, t.indices({0})}, {y});
        const Bytes model = t.finish({x}, {y});
        return run(model, {HostTensor(import_tflite(model, {}).value(0).type, {0, 2})}).at(0);
    };
    EXPECT_EQ(of(B::SUM, f32({0, 2}), f32({2})).as<float>()[1], 0);
    EXPECT_EQ(of(B::REDUCE_PROD, f32({0, 2}), f32({2})).as<float>()[1], 1);
    EXPECT_EQ(of(B::REDUCE_MAX, f32({0, 2}), f32({2})).as<float>()[1], -std::numeric_limits<float>::max());
    EXPECT_TRUE(std::isnan(of(B::MEAN, f32({0, 2}), f32({2})).as<float>()[1]));
    EXPECT_EQ(ints(of(B::REDUCE_MIN, i8({0, 2}), i8({2}))), (Ints{127, 127}));
    EXPECT_EQ(ints(of(B::MEAN, i8({0, 2}, 1, 5), i8({2}, 1, 5))), (Ints{0, 0})) << "not the zero point";
}

/// Sums over no axes leave everything as it is.
TEST(TfliteEmpty, ReductionsOverNoAxes) {
    TfliteBuilder t;
    const int x = t.tensor(f32({2, 3})), axes = t.tensor({{0}, TensorType::INT32, {}, {}}), y = t.tensor(f32({2, 3}));
    t.op(B::SUM, {x, axes}, {y});
    const auto in = random_f32({2, 3});
    EXPECT_EQ(run(t.finish({x}, {y}), {in}).at(0).bytes, in.bytes);
}

}  // namespace
}  // namespace tosavk

// Tensors without elements: what operators on them mean, and that finished graphs have no such operators.
#include "ops/empty.hpp"

#include "ops/builder.hpp"
#include "ops/print.hpp"
#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tosavk {
namespace {

const Level& may_be_empty = with_empty(level_8k);
constexpr double inf = std::numeric_limits<double>::infinity();

/// Inputs are zeros, or counted from 1.
std::vector<HostTensor> inputs_of(const Graph& graph) {
    std::vector<HostTensor> inputs;
    for (const ValueId id : graph.inputs) {
        HostTensor tensor(graph.value(id).type, graph.value(id).shape);
        std::vector<double> values(static_cast<std::size_t>(tensor.count()));
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k + 1);
        tensor.bytes = encode_reals(tensor.type, values);
        inputs.push_back(std::move(tensor));
    }
    return inputs;
}

/// The results of a graph that has lost what is empty, and holds together.
std::vector<std::vector<double>> results(const Graph& graph) {
    const Graph full = without_empty(graph);
    check_graph(full, may_be_empty);
    EXPECT_EQ(full.inputs.size(), graph.inputs.size());
    EXPECT_EQ(full.outputs.size(), graph.outputs.size());
    for (const Node& node : full.nodes)
        for (const auto* ids : {&node.inputs, &node.outputs})
            for (const ValueId id : *ids)
                EXPECT_TRUE(full.value(id).type == DType::shape || !has_no_elements(full.value(id).shape))
                    << print_graph(full);
    std::vector<std::vector<double>> all;
    for (const HostTensor& tensor : reference_run(full, inputs_of(full)))
        all.push_back(decode_reals(tensor.type, tensor.bytes));
    return all;
}

struct Built : GraphBuilder {
    Built() : GraphBuilder("empty", may_be_empty) {}
    ValueId in(DType type, const Shape& shape) {
        return input("in" + std::to_string(graph().inputs.size()), type, shape);
    }
    ValueId in(const Shape& shape) { return in(DType::fp32, shape); }
};

/// Results of a graph of one node on fp32 inputs of these shapes.
std::vector<double> result(Op op, const std::vector<Shape>& shapes, Attributes attrs = {}, DType type = DType::fp32) {
    Built b;
    std::vector<ValueId> inputs;
    for (const Shape& shape : shapes) inputs.push_back(b.in(type, shape));
    b.output(b.add1(op, inputs, type, std::move(attrs)));
    return results(b.finish()).at(0);
}

template <class F> std::string refused(F call) {
    try {
        call();
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_model) << e.what();
        return e.what();
    }
    ADD_FAILURE() << "not refused";
    return {};
}
#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

Attributes along(std::int32_t axis, NanMode nan_mode = NanMode::propagate) {
    Attributes attrs;
    attrs.axis = axis;
    attrs.nan_mode = nan_mode;
    return attrs;
}

using Numbers = std::vector<double>;

TEST(Empty, ElementwiseAndMovesDisappear) {
    Built b;
    const ValueId x = b.in({2, 0}), one = b.in({1, 1});
    const ValueId sum = b.add1(Op::add, {x, one}, DType::fp32);
    EXPECT_EQ(b.value(sum).shape, (Shape{2, 0})) << "1 is repeated no times";
    Attributes turned;
    turned.perms = {1, 0};
    const ValueId moved = b.add1(Op::transpose, {sum}, DType::fp32, turned);
    const ValueId seen = b.add1(Op::reshape, {moved, b.shape(Shape{0, 5})}, DType::fp32);
    b.output(b.add1(Op::exp, {seen}, DType::fp32));
    b.output(x);
    b.output(b.add1(Op::slice, {one, b.shape(Shape{1, 0}), b.shape(Shape{0, 1})}, DType::fp32));
    b.output(b.add1(Op::tile, {x, b.shape(Shape{3, 2})}, DType::fp32));
    b.output(b.add1(Op::argmax, {b.in({0, 3})}, DType::i32, along(1)));
    b.output(b.add1(Op::abs, {one}, DType::fp32));
    const Graph graph = b.finish(), full = without_empty(graph);
    EXPECT_EQ(full.nodes.size(), 1u) << print_graph(full);
    EXPECT_TRUE(has_empty_ends(full));
    EXPECT_EQ(full.outputs[1], full.inputs[0]);
    const auto all = results(graph);
    for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(all[k], Numbers{}) << k;
    EXPECT_EQ(all[5], Numbers{1});
    EXPECT_HAS(refused([&] { Built().add1(Op::add, {}, DType::fp32); }), "needs 2 inputs");
    Built other;
    EXPECT_HAS(refused([&] { other.add1(Op::add, {other.in({2, 0}), other.in({2, 3})}, DType::fp32); }), "2x0");
    EXPECT_HAS(refused([&] { other.add1(Op::reshape, {other.in({2, 0}), other.shape(Shape{1})}, DType::fp32); }),
               "0 elements");
    EXPECT_HAS(refused([&] { other.add1(Op::reshape, {other.in({2, 3}), other.shape(Shape{0})}, DType::fp32); }),
               "less than 1");
}

TEST(Empty, ReductionsOfNothing) {
    EXPECT_EQ(result(Op::reduce_sum, {{2, 0}}, along(1)), (Numbers{0, 0}));
    EXPECT_EQ(result(Op::reduce_sum, {{0}}, along(0), DType::i32), Numbers{0});
    EXPECT_EQ(result(Op::reduce_product, {{0, 2}}, along(0)), (Numbers{1, 1}));
    EXPECT_EQ(result(Op::reduce_all, {{0}}, along(0), DType::boolean), Numbers{1});
    EXPECT_EQ(result(Op::reduce_any, {{0}}, along(0), DType::boolean), Numbers{0});
    for (const NanMode mode : {NanMode::propagate, NanMode::ignore}) {
        EXPECT_EQ(result(Op::reduce_max, {{0}}, along(0, mode)), Numbers{-inf});
        EXPECT_EQ(result(Op::reduce_min, {{0}}, along(0, mode)), Numbers{inf});
    }
    EXPECT_EQ(result(Op::reduce_max, {{0, 1}}, along(0), DType::i8), Numbers{-128});
    EXPECT_EQ(result(Op::reduce_min, {{0, 1}}, along(0), DType::i16), Numbers{32767});
    EXPECT_EQ(result(Op::reduce_sum, {{0, 2}}, along(1)), Numbers{}) << "one for each of no rows";
    EXPECT_HAS(refused([] { result(Op::argmax, {{0, 2}}, along(0), DType::i8); }), "");
    Built b;
    EXPECT_HAS(refused([&] { b.add1(Op::argmax, {b.in({0, 2})}, DType::i32, along(0)); }),
               "'in0' of shape 0x2 has no elements, and its result needs some");
}

TEST(Empty, ProductsOfNothing) {
    const auto matmul = [](const Shape& a, const Shape& c, DType type, DType out) {
        Built b;
        const ValueId zero = b.scalar(type, 0);
        b.output(b.add1(Op::matmul, {b.in(type, a), b.in(type, c), zero, zero}, out));
        return results(b.finish()).at(0);
    };
    EXPECT_EQ(matmul({1, 2, 0}, {1, 0, 2}, DType::fp32, DType::fp32), (Numbers{0, 0, 0, 0}));
    EXPECT_EQ(matmul({1, 1, 0}, {1, 0, 2}, DType::i8, DType::i32), (Numbers{0, 0}));
    EXPECT_EQ(matmul({1, 1, 0}, {1, 0, 1}, DType::i16, DType::i48), Numbers{0});
    EXPECT_EQ(matmul({0, 1, 3}, {0, 3, 1}, DType::fp32, DType::fp32), Numbers{});
    {
        Built b;  // zero points of run time do not matter
        const ValueId a_zp = b.in(DType::i8, {1}), b_zp = b.in(DType::i8, {1});
        b.output(b.add1(Op::matmul, {b.in(DType::i8, {1, 2, 0}), b.in(DType::i8, {1, 0, 1}), a_zp, b_zp}, DType::i32));
        EXPECT_EQ(results(b.finish()).at(0), (Numbers{0, 0}));
    }
    Attributes conv;
    conv.pad = {0, 0, 0, 0};
    conv.stride = conv.dilation = {1, 1};
    conv.acc_type = DType::fp32;
    for (const bool constant : {true, false}) {
        for (const std::int64_t biases : {1, 2}) {
            Built b;
            const float values[] = {1, 2};
            const Shape shape{biases};
            const ValueId bias = constant ? b.constant_floats("bias", DType::fp32, shape,
                                                              std::span(values).first(static_cast<std::size_t>(biases)))
                                          : b.in(shape);
            const ValueId zero = b.scalar(DType::fp32, 0);
            b.output(b.add1(Op::conv2d, {b.in({1, 1, 2, 0}), b.in({2, 1, 1, 0}), bias, zero, zero}, DType::fp32, conv));
            EXPECT_EQ(results(b.finish()).at(0), biases == 1 ? (Numbers{1, 1, 1, 1}) : (Numbers{1, 2, 1, 2}));
        }
    }
    {
        Built b;
        const ValueId zero = b.scalar(DType::fp32, 0), bias = b.in({3});
        EXPECT_HAS(refused([&] {
                       b.add1(Op::conv2d, {b.in({1, 2, 2, 1}), b.in({3, 0, 1, 1}), bias, zero, zero}, DType::fp32,
                              conv);
                   }),
                   "the weight has no height");
        // No images: none come out.
        b.output(b.add1(Op::conv2d, {b.in({0, 2, 2, 1}), b.in({3, 1, 1, 1}), bias, zero, zero}, DType::fp32, conv));
        EXPECT_EQ(results(b.finish()).at(0), Numbers{});
    }
    {
        Built b;
        const ValueId zero = b.scalar(DType::i16, 0), bias = b.in(DType::i48, {1});
        conv.acc_type = DType::i48;
        EXPECT_HAS(refused([&] {
                       b.add1(Op::conv2d,
                              {b.in(DType::i16, {1, 1, 1, 0}), b.in(DType::i8, {1, 1, 1, 0}), bias, zero,
                               b.scalar(DType::i8, 0)},
                              DType::i48, conv);
                   }),
                   "a bias of i48");
    }
    Attributes pool;
    pool.kernel = {2, 1};
    pool.stride = {1, 1};
    pool.pad = {1, 1, 0, 0};
    Built b;
    EXPECT_HAS(refused([&] { b.add1(Op::max_pool2d, {b.in({1, 0, 1, 1})}, DType::fp32, pool); }), "needs some");
}

TEST(Empty, MovesWithNothing) {
    EXPECT_EQ(result(Op::concat, {{0, 2}, {1, 2}, {0, 2}, {2, 2}}, along(0)), (Numbers{1, 2, 1, 2, 3, 4}));
    EXPECT_EQ(result(Op::concat, {{0, 2}, {1, 2}}, along(0)), (Numbers{1, 2}));
    EXPECT_EQ(result(Op::concat, {{0, 2}, {0, 2}}, along(0)), Numbers{});
    for (const bool constant : {true, false}) {
        Built b;
        const ValueId value = constant ? b.scalar(DType::fp32, 1) : b.in({1});
        b.output(b.add1(Op::pad, {b.in({0, 2}), b.shape(Shape{1, 1, 0, 1}), value}, DType::fp32));
        EXPECT_EQ(results(b.finish()).at(0), (Numbers{1, 1, 1, 1, 1, 1}));
    }
    {
        Built b;
        const ValueId values = b.in({1, 2, 1}), indices = b.in(DType::i32, {1, 0});
        b.output(b.add1(Op::scatter, {values, indices, b.in({1, 0, 1})}, DType::fp32));
        b.output(b.add1(Op::gather, {values, indices}, DType::fp32));
        b.output(b.add1(Op::scatter_nd, {values, b.in(DType::i32, {0, 1}), b.in({0, 2, 1})}, DType::fp32));
        b.output(b.add1(Op::dynamic_update_slice, {values, b.in({1, 0, 1}), b.in(DType::i32, {3})}, DType::fp32));
        const auto all = results(b.finish());
        EXPECT_EQ(all[0], (Numbers{1, 2}));
        EXPECT_EQ(all[1], Numbers{});
        EXPECT_EQ(all[2], (Numbers{1, 2}));
        EXPECT_EQ(all[3], (Numbers{1, 2}));
        EXPECT_HAS(refused([&] {
                       Built g;
                       g.add1(Op::gather, {g.in({1, 0, 1}), g.in(DType::i32, {1, 2})}, DType::fp32);
                   }),
                   "'in0' of shape 1x0x1 has no elements");
        EXPECT_HAS(refused([&] {  // the whole tensor, updated by indices of no length: not nothing
                       Built g;
                       g.add1(Op::scatter_nd, {g.in({2}), g.in(DType::i32, {3, 0}), g.in({3, 2})}, DType::fp32);
                   }),
                   "needs some");
    }
    {
        Built b;
        Attributes segments;
        segments.segments = 2;
        segments.combiner = Combiner::add;
        b.output(b.add1(Op::segment_reduce, {b.in({0, 2}), b.in(DType::i32, {0})}, DType::fp32, segments));
        EXPECT_EQ(results(b.finish()).at(0), (Numbers{0, 0, 0, 0}));
    }
}

TEST(Empty, CustomOperators) {
    Built b;
    const ValueId x = b.in({0});
    const OutputType none{DType::fp32, {3, 0}}, some{DType::fp32, {1}}, both[] = {none, some};
    b.output(b.custom("a.test", "gone", "", {x}, std::span(&none, 1)).at(0));
    EXPECT_EQ(results(b.finish()).at(0), Numbers{}) << "nobody needs to know it";
    Built c;
    const ValueId y = c.in({0}), z = c.in({1});
    EXPECT_HAS(refused([&] { c.custom("a.test", "some", "", {y}, std::span(&some, 1)); }), "its result needs some");
    EXPECT_HAS(refused([&] { c.custom("a.test", "both", "", {z}, both); }), "another result has some");
}

TEST(Empty, ControlFlowAndVariables) {
    Built b;
    b.variable("none", DType::fp32, {0, 2});
    b.variable("some", DType::fp32, {1});
    const auto region = [&](bool condition, bool add) {
        Built r;
        r.variable(b.graph().variables[0]);
        const ValueId i = r.input("i", DType::i32, {1}), x = r.input("x", DType::fp32, {0, 2});
        if (condition) {
            r.output(r.add1(Op::greater, {r.scalar(DType::i32, 3), i}, DType::boolean));
            return r.finish_region();
        }
        r.output(add ? r.add1(Op::add, {i, r.scalar(DType::i32, 1)}, DType::i32) : i);
        r.variable_write("none", x);
        r.output(r.add1(Op::abs, {x}, DType::fp32));
        return r.finish_region();
    };
    const ValueId i = b.in(DType::i32, {1}), x = b.in({0, 2});
    const auto loop = b.while_loop({i, x}, region(true, false), region(false, true));
    const ValueId yes = b.add1(Op::equal, {i, i}, DType::boolean);
    const auto branch = b.cond_if(yes, {loop[0], loop[1]}, region(false, true), region(false, false));
    b.variable_write("none", branch[1]);
    b.output(b.variable_read("none"));
    for (const ValueId id : {loop[1], branch[0], branch[1]}) b.output(id);
    const Graph graph = b.finish(), full = without_empty(graph);
    EXPECT_EQ(full.variables.size(), 1u);
    for (const Node& node : full.nodes)
        for (const auto& inner : node.regions) {
            EXPECT_EQ(inner->inputs.size(), 1u);
            EXPECT_TRUE(inner->variables.empty());
        }
    const auto all = results(graph);
    EXPECT_EQ(all[0], Numbers{});
    EXPECT_EQ(all[1], Numbers{});
    EXPECT_EQ(all[2], Numbers{4});
    EXPECT_EQ(all[3], Numbers{});
}

TEST(Empty, OtherGraphsKnowNone) {
    GraphBuilder b("full");
    EXPECT_HAS(refused([&] { b.input("x", DType::fp32, {0}); }), "every dimension must be at least 1");
    EXPECT_HAS(refused([&] { b.variable("v", DType::fp32, {2, 0}); }), "every dimension must be at least 1");
    const ValueId x = b.input("x", DType::fp32, {2});
    EXPECT_HAS(refused([&] { b.add1(Op::slice, {x, b.shape(Shape{0}), b.shape(Shape{0})}, DType::fp32); }),
               "every dimension must be at least 1");
    b.output(b.add1(Op::abs, {x}, DType::fp32));
    const Graph graph = b.finish();
    EXPECT_FALSE(has_empty_ends(graph));
    EXPECT_EQ(print_graph(without_empty(graph)), print_graph(graph));
    Graph wrong = graph;
    wrong.values[wrong.inputs[0]].shape = {0};
    EXPECT_HAS(refused([&] { check_graph(wrong, level_8k); }), "every dimension must be at least 1");
}

}  // namespace
}  // namespace tosavk

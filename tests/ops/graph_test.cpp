// The builder, the registry and the checks that hold for every operator.
#include "graph/graph.hpp"
#include "graph/host_tensor.hpp"
#include "kernels/kernels.hpp"
#include "ops/builder.hpp"
#include "ops/op.hpp"
#include "ops/print.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

using namespace tosavk;

namespace {

// Runs `build` and expects an Error whose message has every one of `parts`.
void expect_error(const std::function<void()>& build, std::initializer_list<const char*> parts,
                  ErrorCode code = ErrorCode::bad_model) {
    try {
        build();
        ADD_FAILURE() << "no error; expected one with '" << *parts.begin() << "'";
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        for (const char* part : parts)
            EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << part << " in: " << e.what();
    }
}

Bytes floats(std::initializer_list<double> values) { return encode_reals(DType::fp32, std::vector<double>(values)); }

}  // namespace

TEST(Types, NamesSizesAndRanges) {
    EXPECT_EQ(name_of(DType::boolean), "bool");
    EXPECT_EQ(name_of(DType::fp8e5m2), "fp8e5m2");
    EXPECT_EQ(size_of(DType::i48), 8u);
    EXPECT_EQ(size_of(DType::i4), 1u);
    EXPECT_EQ(min_of(DType::i4), -7);
    EXPECT_EQ(max_of(DType::i32), 2147483647);
    EXPECT_THROW(min_of(DType::fp32), Error);
}

TEST(Types, Shapes) {
    EXPECT_EQ(element_count({}), 1);
    EXPECT_EQ(element_count({2, 3, 4}), 24);
    EXPECT_EQ(element_count({1 << 20, 1 << 20}), std::int64_t{1} << 40);
    EXPECT_EQ(element_count({5, 0}), 0);
    EXPECT_THROW(element_count({1 << 20, 1 << 20, 2}), Error);
    EXPECT_THROW(element_count({std::int64_t{1} << 62, 16}), Error);
    EXPECT_THROW(element_count({-1}), Error);
    EXPECT_EQ(to_string(Shape{1, 32, 3}), "1x32x3");
    EXPECT_EQ(to_string(Shape{}), "scalar");
    EXPECT_EQ(row_major_strides({2, 3, 4}), (std::vector<std::int64_t>{12, 4, 1}));
    Shape out;
    EXPECT_TRUE(broadcast_shape({2, 1, 4}, {1, 3, 4}, out));
    EXPECT_EQ(out, (Shape{2, 3, 4}));
    EXPECT_FALSE(broadcast_shape({2}, {3}, out));
    EXPECT_FALSE(broadcast_shape({2}, {1, 2}, out));  // no rank promotion
}

TEST(Registry, IsSortedAndWhole) {
    const std::span<const OpDef> all = registry();
    std::set<std::string> names;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const OpDef& def = all[i];
        if (i > 0) {
            EXPECT_LT(all[i - 1].op, def.op);
        }
        EXPECT_EQ(name_of(def.op), def.name);
        EXPECT_EQ(find_op(def.op), &def);
        EXPECT_EQ(find_op(std::string_view(def.name)), &def);
        EXPECT_TRUE(names.insert(def.name).second) << def.name;
        EXPECT_NE(def.infer, nullptr) << def.name;
        EXPECT_TRUE(def.reference != nullptr || def.structural) << def.name;
        EXPECT_FALSE(def.rows.empty()) << def.name;
        for (const TypeRow& row : def.rows) EXPECT_EQ(row.types.size(), def.type_vars.size()) << def.name;
        // A view may have kernels for nodes that begin a group; an expression, for the nodes that it does not serve.
        const int ways = def.view != nullptr
                           ? 1 + (def.expression != nullptr)
                           : (def.expression != nullptr && def.expression_if == nullptr) + !kernels_of(def.op).empty();
        EXPECT_LE(ways, def.structural ? 0 : 1)
            << def.name << " must not run on the GPU in two ways";  // 0: reference only
    }
    EXPECT_EQ(find_op(Op::unknown), nullptr);
    EXPECT_EQ(find_op(std::string_view("NO_SUCH")), nullptr);
    EXPECT_EQ(name_of(Op::greater_equal), "GREATER_EQUAL");
    EXPECT_EQ(name_of(Op::const_shape), "CONST_SHAPE");
    EXPECT_EQ(name_of(Op::rescale), "RESCALE");
    expect_error([] { op_def(Op::unknown); }, {"not supported"}, ErrorCode::unsupported);
}

TEST(Builder, InfersShapes) {
    GraphBuilder b("g");
    const ValueId x = b.input("x", DType::fp32, {2, 1, 4});
    const ValueId y = b.input("y", DType::fp32, {1, 3, 4});
    const ValueId sum = b.add1(Op::add, {x, y}, DType::fp32, {}, "sum");
    const ValueId mask = b.add1(Op::greater, {sum, y}, DType::boolean);
    const ValueId chosen = b.add1(Op::select, {mask, x, y}, DType::fp32);
    EXPECT_EQ(b.value(sum).shape, (Shape{2, 3, 4}));
    EXPECT_EQ(b.value(mask).shape, (Shape{2, 3, 4}));
    EXPECT_EQ(b.value(chosen).shape, (Shape{2, 3, 4}));
    b.output(chosen);
    const Graph g = b.finish();
    EXPECT_EQ(g.nodes.size(), 3u);
    EXPECT_EQ(g.value(sum).producer, 0u);
    EXPECT_EQ(NodeView(g, 0).title(), "ADD 'sum'");
    EXPECT_EQ(NodeView(g, 1).title(), "GREATER (node 1)");
}

TEST(Builder, ScalarsAndShapesAreShared) {
    GraphBuilder b;
    EXPECT_EQ(b.scalar(DType::i8, 3), b.scalar(DType::i8, 3));
    EXPECT_NE(b.scalar(DType::i8, 3), b.scalar(DType::i16, 3));
    EXPECT_NE(b.scalar(DType::fp32, 0.0), b.scalar(DType::fp32, -0.0));
    const std::vector<std::int64_t> one{1, 2}, two{2, 1};
    EXPECT_EQ(b.shape(one), b.shape(one));
    EXPECT_NE(b.shape(one), b.shape(two));
    EXPECT_EQ(b.value(b.scalar(DType::i8, 3)).shape, (Shape{1}));
    EXPECT_EQ(b.value(b.shape({})).shape, (Shape{0}));
    expect_error([&] { b.scalar(DType::i8, 128); }, {"128", "i8"});
    expect_error([&] { b.scalar(DType::i32, 0.5); }, {"0.5", "i32"});
}

TEST(Builder, ConstantsAreChecked) {
    GraphBuilder b;
    const std::vector<std::int64_t> values{1, 200};
    expect_error([&] { b.constant_ints("c", DType::i8, {2}, values); }, {"'c'", "200", "i8"});
    expect_error([&] { b.constant("c", DType::i32, {2}, Bytes(4)); }, {"'c'", "8 bytes", "has 4"});
    expect_error([&] { b.constant("c", DType::i32, {0}, {}); }, {"'c'", "at least 1"});
    expect_error([&] { b.input("x", DType::shape, {2}); }, {"'x'", "shape"});
}

TEST(Builder, ErrorsNameTheOperatorAndLeaveTheGraphAsItWas) {
    GraphBuilder b;
    const ValueId f = b.input("f", DType::fp32, {2, 3});
    const ValueId g = b.input("g", DType::fp32, {2, 4});
    const ValueId i = b.input("i", DType::i32, {2, 3});
    const ValueId h = b.input("h", DType::i8, {2, 3});
    const ValueId r1 = b.input("r1", DType::fp32, {3});
    const std::size_t values = b.graph().values.size();
    expect_error([&] { b.add1(Op::add, {f, g}, DType::fp32, {}, "a1"); }, {"ADD 'a1'", "2x3", "2x4"});
    expect_error([&] { b.add1(Op::add, {f, r1}, DType::fp32, {}, "a2"); }, {"ADD 'a2'", "2x3", "shapes"});
    expect_error([&] { b.add1(Op::add, {f, i}, DType::fp32, {}, "a3"); }, {"ADD 'a3'", "'input2'", "i32", "fp32"});
    expect_error([&] { b.add1(Op::add, {h, h}, DType::i8, {}, "a4"); }, {"ADD 'a4'", "in_out_t=i8"});
    expect_error([&] { b.add1(Op::add, {f}, DType::fp32, {}, "a5"); }, {"ADD 'a5'", "2 inputs", "has 1"});
    expect_error([&] { b.add1(Op::mul, {i, i, h}, DType::i32, {}, "m"); }, {"MUL 'm'", "'shift'", "rank"});
    expect_error([&] { b.add1(Op::select, {f, f, f}, DType::fp32, {}, "s"); }, {"SELECT 's'", "'input1'", "bool"});
    expect_error([&] { b.add1(Op::unknown, {f}, DType::fp32, {}, "c"); }, {"UNKNOWN 'c'", "not supported"},
                 ErrorCode::unsupported);
    expect_error([&] { b.add1(Op::abs, {99}, DType::fp32, {}, "z"); }, {"ABS 'z'", "99"}, ErrorCode::usage);
    EXPECT_EQ(b.graph().values.size(), values);
    EXPECT_TRUE(b.graph().nodes.empty());
    EXPECT_NO_THROW(b.add1(Op::abs, {f}, DType::fp32));
}

TEST(Builder, ConstantOperandsMayBeComputedAtRunTime) {
    GraphBuilder b;
    const ValueId x = b.input("x", DType::i32, {2, 3}), shift = b.input("shift", DType::i8, {1});
    b.output(b.add1(Op::mul, {x, x, shift}, DType::i32));
    EXPECT_NO_THROW(b.finish());
}

TEST(Builder, LevelLimits) {
    GraphBuilder b;
    const ValueId deep = b.input("deep", DType::fp32, {1, 1, 1, 1, 1, 1, 2});
    expect_error([&] { b.add1(Op::abs, {deep}, DType::fp32, {}, "n"); }, {"ABS 'n'", "rank 7", "0 to 6"});
    const ValueId large = b.input("large", DType::i32, {1 << 15, 1 << 14});
    expect_error([&] { b.add1(Op::abs, {large}, DType::i32, {}, "n"); }, {"ABS 'n'", "8K"});
    GraphBuilder free("g", level_none);
    const ValueId same = free.input("deep", DType::fp32, {1, 1, 1, 1, 1, 1, 2});
    EXPECT_NO_THROW(free.add1(Op::abs, {same}, DType::fp32));
}

TEST(Builder, NamesBecomeUniqueWhereNobodyAsksForThem) {
    GraphBuilder b;
    const ValueId x = b.input("x", DType::fp32, {1});
    const ValueId a = b.add1(Op::abs, {x}, DType::fp32, {}, "x");
    const ValueId c = b.add1(Op::negate, {a, b.scalar(DType::fp32, 0), b.scalar(DType::fp32, 0)}, DType::fp32, {}, "y");
    b.output(c);
    const Graph g = b.finish();
    EXPECT_EQ(g.value(x).name, "x");
    EXPECT_EQ(g.value(a).name, "x#2");
    EXPECT_EQ(g.value(c).name, "y");
}

TEST(Builder, FinishChecksTheWhole) {
    {
        GraphBuilder b("empty");
        b.input("x", DType::fp32, {1});
        expect_error([&] { b.finish(); }, {"'empty'", "no output"});
    }
    {
        GraphBuilder b;
        const ValueId x = b.input("x", DType::fp32, {1});
        b.output(b.add1(Op::abs, {b.input("x", DType::fp32, {1})}, DType::fp32));
        b.output(x);
        expect_error([&] { b.finish(); }, {"'x'", "two graph inputs"});
    }
    {
        GraphBuilder b;
        expect_error([&] { b.output(3); }, {"output 3"}, ErrorCode::usage);
    }
}

TEST(CheckGraph, FindsBrokenLinks) {
    GraphBuilder b;
    const ValueId x = b.input("x", DType::fp32, {2});
    const ValueId y = b.add1(Op::abs, {x}, DType::fp32, {}, "one");
    b.output(b.add1(Op::abs, {y}, DType::fp32, {}, "two"));
    const Graph good = b.finish();
    EXPECT_NO_THROW(check_graph(good, level_8k));

    Graph swapped = good;
    std::swap(swapped.nodes[0], swapped.nodes[1]);
    expect_error([&] { check_graph(swapped, level_8k); }, {"ABS 'two'", "not computed before"});
    Graph beyond = good;
    beyond.nodes[1].inputs[0] = 77;
    expect_error([&] { check_graph(beyond, level_8k); }, {"ABS 'two'", "77"});
    Graph shape = good;
    shape.values[y].shape = {3};
    expect_error([&] { check_graph(shape, level_8k); }, {"ABS 'one'", "shape 3", "must be 2"});
    Graph twice = good;
    twice.nodes[1].outputs[0] = y;
    expect_error([&] { check_graph(twice, level_8k); }, {"ABS 'two'", "already"});
    Graph bytes = good;
    bytes.values[x].data = std::make_shared<const Bytes>(4);
    expect_error([&] { check_graph(bytes, level_8k); }, {"'x'", "8 bytes"});
    Graph lost = good;
    lost.nodes.pop_back();
    expect_error([&] { check_graph(lost, level_8k); }, {"nothing computes it"});
    Graph zero = good;
    zero.values[x].shape = {0};
    expect_error([&] { check_graph(zero, level_8k); }, {"'x'", "at least 1"});
}

TEST(NodeView, ConstantIntsAndFail) {
    GraphBuilder b;
    const ValueId x = b.input("x", DType::i32, {2});
    const ValueId shift = b.scalar(DType::i8, 5);
    b.output(b.add1(Op::mul, {x, x, shift}, DType::i32, {}, "m"));
    const Graph g = b.finish();
    const NodeView view(g, 0);
    EXPECT_EQ(view.constant_ints(2), (std::vector<std::int64_t>{5}));
    expect_error([&] { view.constant_ints(0); }, {"MUL 'm'", "'x'", "constant"});
    try {
        view.fail("is wrong", "x");
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(), "MUL 'm': is wrong");
        EXPECT_EQ(e.node(), "m");
        EXPECT_EQ(e.operand(), "x");
    }
}

TEST(Print, ListsValuesAndNodes) {
    GraphBuilder b("picture");
    const ValueId x = b.input("x", DType::fp32, {1, 2});
    const ValueId c = b.constant("c", DType::fp32, {1, 2}, floats({1.5, -2}));
    Attributes clamp;
    clamp.min_val = 0;
    clamp.max_val = 6;
    const ValueId y =
        b.add1(Op::clamp, {b.add1(Op::add, {x, c}, DType::fp32, {}, "sum")}, DType::fp32, clamp, "relu6 \"q\"");
    b.output(y);
    const Graph g = b.finish();
    const std::string text = print_graph(g);
    EXPECT_NE(text.find("graph 'picture': TOSA 1.0, 2 nodes, 4 values"), std::string::npos) << text;
    EXPECT_NE(text.find("input %0 'x' fp32[1x2]"), std::string::npos) << text;
    EXPECT_NE(text.find("const %1 'c' fp32[1x2] {1.5, -2}"), std::string::npos) << text;
    EXPECT_NE(text.find("%2 fp32[1x2] = ADD(%0, %1) 'sum'"), std::string::npos) << text;
    EXPECT_NE(text.find("= CLAMP(%2) {min_val=0 max_val=6 nan_mode=PROPAGATE}"), std::string::npos) << text;
    EXPECT_NE(text.find("output %3"), std::string::npos) << text;
    const std::string dot = print_dot(g);
    EXPECT_EQ(dot.rfind("digraph \"picture\" {", 0), 0u) << dot;
    EXPECT_NE(dot.find("n0 -> n1"), std::string::npos) << dot;
    EXPECT_NE(dot.find("relu6 \\\"q\\\""), std::string::npos) << dot;
}

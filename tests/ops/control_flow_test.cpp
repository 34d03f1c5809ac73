// COND_IF, WHILE_LOOP, variables and CUSTOM: the reference against values worked out by hand, and what is refused.
#include "ops/builder.hpp"
#include "ops/compare.hpp"
#include "ops/custom.hpp"
#include "ops/print.hpp"
#include "support/control_graphs.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

using namespace testing;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

template <class F> std::string refused(F make, ErrorCode code = ErrorCode::bad_model) {
    try {
        make();
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), code) << e.what();
        return e.what();
    }
    return "nothing was refused";
}
#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

std::vector<HostTensor> run(const Graph& graph, std::vector<HostTensor> inputs, VariableState* state = nullptr) {
    return reference_run(graph, inputs, false, state);
}

TEST(ControlFlow, TakesTheBranchOfItsCondition) {
    const Graph graph = branch_graph();
    EXPECT_EQ(ints_of(run(graph, {boolean(true), i32s({1, 2, 3}), i32s({10, 20, 30})})[0]), (Ints{22, 44, 66}));
    EXPECT_EQ(ints_of(run(graph, {boolean(false), i32s({1, 2, 3}), i32s({10, 20, 30})})[0]), (Ints{-18, -36, -54}));
}

TEST(ControlFlow, LoopsWhileItsConditionHolds) {
    const Graph graph = fibonacci_graph();
    const Ints fibonacci{0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
    for (std::int64_t n = 0; n < 10; ++n) {
        const auto out = run(graph, {i32s({n})});
        EXPECT_EQ(ints_of(out[0]), Ints{fibonacci[static_cast<std::size_t>(n)]});
        EXPECT_EQ(ints_of(out[1]), Ints{n});
    }
    EXPECT_EQ(ints_of(run(graph, {i32s({-4})})[0]), Ints{0}) << "no iteration gives the inputs";
}

TEST(ControlFlow, Nests) {
    const Graph graph = nested_graph();
    for (const std::int64_t rows : {0, 1, 2, 7})
        EXPECT_EQ(ints_of(run(graph, {i32s({rows})})[0]), Ints{nested_result(rows)});
}

TEST(Variables, KeepTheirValueInTheCallersState) {
    const Graph graph = accumulator_graph({100, 0});
    VariableState state, other;
    auto out = run(graph, {f32s({1, 2})}, &state);
    EXPECT_EQ(reals_of(out[0]), (Reals{100, 0}));
    EXPECT_EQ(reals_of(out[1]), (Reals{101, 2}));
    out = run(graph, {f32s({4, 8})}, &state);
    EXPECT_EQ(reals_of(out[0]), (Reals{101, 2}));
    EXPECT_EQ(reals_of(out[1]), (Reals{105, 10}));
    EXPECT_EQ(reals_of(run(graph, {f32s({5, 5})}, &other)[1]), (Reals{105, 5}));
    EXPECT_EQ(reals_of(run(graph, {f32s({5, 5})})[1]), (Reals{105, 5})) << "without a state every run starts afresh";
}

TEST(Variables, AreSharedWithRegions) {
    const Graph graph = state_in_loop_graph();
    VariableState state;
    auto out = run(graph, {i32s({3})}, &state);
    EXPECT_EQ(reals_of(out[0]), (Reals{1, 2, 3, -0.5}));
    EXPECT_EQ(reals_of(out[2]), (Reals{8, 16, 24, -4}));
    EXPECT_EQ(reals_of(run(graph, {i32s({0})}, &state)[2]), (Reals{8, 16, 24, -4}));
}

// ---- what is refused ----------------------------------------------------------------------------------------------

Graph one_value(DType type, const Shape& shape) {
    GraphBuilder b("region");
    b.output(b.input("x", type, shape));
    return b.finish_region();
}

TEST(ControlFlow, RefusesRegionsThatDoNotFit) {
    GraphBuilder b("bad");
    const ValueId c = b.input("c", DType::boolean, {1}), many = b.input("many", DType::boolean, {2});
    const ValueId x = b.input("x", DType::i32, {3});
    const auto branch = [&](ValueId condition, Graph then_graph, Graph else_graph) {
        return refused([&] { b.cond_if(condition, {x}, std::move(then_graph), std::move(else_graph), "if"); });
    };
    EXPECT_SAYS(branch(many, one_value(DType::i32, {3}), one_value(DType::i32, {3})), "needs one element");
    EXPECT_SAYS(branch(x, one_value(DType::i32, {3}), one_value(DType::i32, {3})), "must have type bool");
    EXPECT_SAYS(branch(c, one_value(DType::i32, {4}), one_value(DType::i32, {3})), "input 0 of then_graph is i32 4");
    EXPECT_SAYS(branch(c, one_value(DType::i32, {3}), one_value(DType::fp32, {3})), "input 0 of else_graph is fp32 3");
    EXPECT_SAYS(branch(c, binary_region(Op::add, 3), one_value(DType::i32, {3})), "then_graph has 2 inputs");

    const auto loop = [&](Graph cond, Graph body) {
        return refused([&] { b.while_loop({c, x}, std::move(cond), std::move(body), "loop"); });
    };
    const auto region = [](const std::vector<std::size_t>& outputs) {
        GraphBuilder r("region");
        const std::vector<ValueId> in{r.input("c", DType::boolean, {1}), r.input("x", DType::i32, {3})};
        for (const std::size_t k : outputs) r.output(in[k]);
        return r.finish_region();
    };
    EXPECT_SAYS(loop(region({1}), region({0, 1})), "must give bool of one element");
    EXPECT_SAYS(loop(region({0, 1}), region({0, 1})), "cond_graph has 2 outputs");
    EXPECT_SAYS(loop(region({0}), region({0})), "body_graph has 1 outputs");
    EXPECT_SAYS(loop(region({0}), region({1, 0})), "output 0 of body_graph is i32 3");
    b.while_loop({c, x}, region({0}), region({0, 1}), "fine");
    EXPECT_EQ(b.graph().nodes.size(), 1u) << "what was refused left nothing behind";
}

TEST(ControlFlow, LimitsNesting) {
    const auto nest = [](int depth, const Level& level) {
        Graph inner = one_value(DType::boolean, {1});
        for (int d = 0; d < depth; ++d) {
            GraphBuilder b("level", level);
            const ValueId x = b.input("x", DType::boolean, {1});
            b.output(b.cond_if(x, {x}, inner, inner, "if").at(0));
            inner = b.finish_region();
        }
        return inner;
    };
    EXPECT_EQ(nest(6, level_8k).nodes.size(), 1u);
    EXPECT_SAYS(refused([&] { nest(7, level_8k); }), "nested 7 deep");
    EXPECT_EQ(nest(7, level_none).nodes.size(), 1u);
}

TEST(ControlFlow, CarriesMoreInProgramsThanInFiles) {
    const auto loop = [](std::size_t count, const Level& level) {
        const auto region = [&](std::size_t outputs) {
            GraphBuilder r("region", level);
            std::vector<ValueId> in;
            for (std::size_t k = 0; k < count; ++k) in.push_back(r.input("x" + std::to_string(k), DType::boolean, {1}));
            for (std::size_t k = 0; k < outputs; ++k) r.output(in[k]);
            return r.finish_region();
        };
        GraphBuilder b("loop", level);
        std::vector<ValueId> in;
        for (std::size_t k = 0; k < count; ++k) in.push_back(b.input("x" + std::to_string(k), DType::boolean, {1}));
        return b.while_loop(in, region(1), region(count), "loop").size();
    };
    EXPECT_EQ(loop(256, level_none), 256u);
    EXPECT_SAYS(refused([&] { loop(257, level_none); }), "has 257 tensors, but level none allows 256");
    EXPECT_EQ(loop(1000, with_empty(level_none)), 1000u);
    EXPECT_SAYS(refused([&] { loop(65, with_empty(level_8k)); }), "has 65 tensors, but level 8K allows 64");
}

TEST(Variables, RefusesWhatIsNotDeclaredOrDoesNotFit) {
    GraphBuilder b("bad");
    b.variable("v", DType::fp32, {2});
    EXPECT_SAYS(refused([&] { b.variable("v", DType::fp32, {2}); }), "declared twice");
    EXPECT_SAYS(refused([&] { b.variable_read("w"); }), "variable 'w' is not declared");
    EXPECT_SAYS(refused([&] { b.variable_write("v", b.input("x", DType::fp32, {3})); }), "declared as fp32 2");
    EXPECT_SAYS(refused([&] { b.variable_write("v", b.input("y", DType::i8, {2})); }), "declared as fp32 2");
    b.variable("i", DType::i48, {2});
    EXPECT_SAYS(refused([&] { b.variable_read("i"); }), "not supported") << "no row for i48";
    GraphBuilder body("body");
    body.variable("hidden", DType::fp32, {2});
    body.output(body.variable_read("hidden"));
    const Graph region = body.finish_region();
    EXPECT_SAYS(refused([&] { b.cond_if(b.input("c", DType::boolean, {1}), {}, region, region); }),
                "uses variable 'hidden', which is not declared");
}

TEST(Graphs, CompareAndPrintRegionsAndVariables) {
    const Graph a = state_in_loop_graph();
    EXPECT_EQ(graph_difference(a, state_in_loop_graph()), "");
    Graph b = state_in_loop_graph();
    b.variables[0].initial = {};
    EXPECT_SAYS(graph_difference(a, b), "variable 'v' has another initial value");
    EXPECT_SAYS(graph_difference(branch_graph(3),
                                 [] {
                                     Graph other = branch_graph(3);
                                     other.nodes[0].regions[1] = other.nodes[0].regions[0];
                                     return other;
                                 }()),
                "node 0 (COND_IF), region 1: node 0: SUB against ADD");
    const std::string text = print_graph(a);
    EXPECT_SAYS(text, "variable \"v\" fp32[4] {1, 2, 3, -0.5}");
    EXPECT_SAYS(text, "  body_graph:\n    graph 'body'");
    EXPECT_SAYS(text, "VARIABLE_WRITE(%");
    EXPECT_SAYS(print_dot(a), "subgraph cluster_n1r1");
}

// ---- CUSTOM -------------------------------------------------------------------------------------------------------

Graph custom_graph(const std::string& name, std::shared_ptr<const CustomSet> customs = {}) {
    GraphBuilder b("custom");
    b.use_customs(std::move(customs));
    const ValueId x = b.input("x", DType::i32, {3});
    const OutputType output{DType::i32, {3}};
    b.output(b.custom("test.domain", name, std::string("\x01\0", 2), {x}, std::span(&output, 1), "mine").at(0));
    return b.finish();
}

TEST(Custom, NeedsSomebodyWhoKnowsIt) {
    const Graph graph = custom_graph("nobody");
    EXPECT_SAYS(print_graph(graph), "operator_name=\"nobody\" domain_name=\"test.domain\"");
    const std::string message = refused([&] { run(graph, {i32s({1, 2, 3})}); }, ErrorCode::unsupported);
    EXPECT_SAYS(message, "'nobody' of domain 'test.domain'");
}

/// Adds `number` to every element.
CustomOperator adder(const std::string& name, std::int64_t number) {
    CustomOperator op;
    op.domain = "test.domain";
    op.name = name;
    op.reference = [number](RefContext& ctx) {
        auto values = ctx.ints(0);
        for (auto& v : values) v += number;
        ctx.set_ints(values);
    };
    return op;
}

TEST(Custom, RunsTheReferenceOfItsSet) {
    CustomOperator op;
    op.domain = "test.domain";
    op.name = "add_attr";
    CustomSet set;
    EXPECT_SAYS(refused([&] { set.add(op); }, ErrorCode::usage), "needs a reference");
    op.reference = [](RefContext& ctx) {
        auto values = ctx.ints(0);
        for (auto& v : values) v += ctx.attrs().implementation_attrs.at(0);
        ctx.set_ints(values);
    };
    op.check = [](const NodeView& view) {
        if (view.in(0).shape != Shape{3}) view.fail("takes three numbers");
    };
    set.add(op);
    EXPECT_SAYS(refused([&] { set.add(op); }, ErrorCode::usage), "the set has it already");
    EXPECT_EQ(set.find("test.domain", "other"), nullptr);
    const auto shared = std::make_shared<const CustomSet>(set);
    EXPECT_EQ(ints_of(run(custom_graph("add_attr", shared), {i32s({1, 2, 3})})[0]), (Ints{2, 3, 4}));

    GraphBuilder b("custom");
    b.use_customs(shared);
    const ValueId x = b.input("x", DType::i32, {2});
    const OutputType output{DType::i32, {2}};
    const auto add = [&] { b.custom("test.domain", "add_attr", "\x01", {x}, std::span(&output, 1), "mine"); };
    EXPECT_SAYS(refused(add, ErrorCode::bad_model), "CUSTOM 'mine': takes three numbers");
}

TEST(Custom, GraphsKeepTheirOwn) {
    CustomSet one, two;
    one.add(adder("add", 1));
    two.add(adder("add", 2));
    const Graph with_one = custom_graph("add", std::make_shared<const CustomSet>(one));
    const auto without = std::make_shared<const Graph>(custom_graph("add"));
    EXPECT_EQ(ints_of(run(with_one, {i32s({1, 2, 3})})[0]), (Ints{2, 3, 4}));
    EXPECT_EQ(ints_of(run(*with_customs(without, two), {i32s({1, 2, 3})})[0]), (Ints{3, 4, 5}));
    const auto kept = std::make_shared<const Graph>(with_one);
    EXPECT_EQ(with_customs(kept, two), kept) << "the graph goes before";
    EXPECT_EQ(with_customs(without, CustomSet()), without);
    EXPECT_TRUE(has_custom(*without));
    EXPECT_FALSE(has_custom(branch_graph(3)));
}

TEST(Custom, WithinRegions) {
    const auto passes = [](bool custom) {
        GraphBuilder b("region");
        const ValueId x = b.input("x", DType::i32, {3});
        const OutputType output{DType::i32, {3}};
        b.output(custom ? b.custom("test.domain", "add", "", {x}, std::span(&output, 1), "mine").at(0) : x);
        return b.finish_region();
    };
    GraphBuilder b("branches");
    const ValueId condition = b.input("condition", DType::boolean, {1}), x = b.input("x", DType::i32, {3});
    b.output(b.cond_if(condition, {x}, passes(false), passes(true), "branch").at(0));
    const auto graph = std::make_shared<const Graph>(b.finish());
    EXPECT_TRUE(has_custom(*graph));
    CustomSet set;
    set.add(adder("add", 5));
    const auto whole = with_customs(graph, set);
    EXPECT_NE(whole, graph);
    EXPECT_EQ(whole->nodes[0].regions[0], graph->nodes[0].regions[0]) << "nothing changes there";
    HostTensor no(DType::boolean, {1});
    no.bytes = {std::byte{0}};
    EXPECT_EQ(ints_of(run(*whole, {no, i32s({1, 2, 3})})[0]), (Ints{6, 7, 8}));
}

}  // namespace
}  // namespace tosavk

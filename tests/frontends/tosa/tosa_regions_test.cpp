// Regions, variables and CUSTOM in .tosa files: what is written is read again, and files as other tools write them.
#include "frontends/frontend.hpp"
#include "support/control_graphs.hpp"

#include "ops/builder.hpp"
#include "ops/compare.hpp"
#include "tosa_1_0_generated.h"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

using namespace testing;
namespace fb = tosa10;
using Ints = std::vector<std::int64_t>;

Graph read_again(const Graph& graph) { return import_model(write_tosa(graph), "written", {}); }

TEST(TosaRegions, RoundTripsKeepTheGraph) {
    for (const Graph& graph :
         {branch_graph(), fibonacci_graph(), nested_graph(), accumulator_graph({1, 2}), state_in_loop_graph()}) {
        const Graph again = read_again(graph);
        EXPECT_EQ(graph_difference(graph, again), "") << graph.name;
        EXPECT_EQ(graph_difference(again, read_again(again)), "") << graph.name;
    }
    EXPECT_EQ(ints_of(reference_run(read_again(nested_graph()), std::vector<HostTensor>{i32s({6})})[0]),
              Ints{nested_result(6)});
}

TEST(TosaRegions, CustomKeepsItsAttributes) {
    GraphBuilder b("custom");
    const OutputType output{DType::i32, {2}};
    b.output(b.custom("some.domain", "some_op", std::string("\0\xff\n\"", 4), {b.input("x", DType::fp32, {3})},
                      std::span(&output, 1), "c")
                 .at(0));
    const Graph graph = b.finish(), again = read_again(graph);
    EXPECT_EQ(graph_difference(graph, again), "");
    EXPECT_EQ(again.nodes[0].attrs, graph.nodes[0].attrs);
}

// ---- files made by hand -------------------------------------------------------------------------------------------

struct Tensor {
    std::string name;
    fb::DType type;
    std::vector<std::int32_t> shape;
    Bytes data = {};
    bool variable = false;
    std::string variable_name = {};
};
struct Operator {
    Op op;
    std::vector<std::string> inputs, outputs;
    std::vector<std::string> regions = {};
    int attribute = -1;  ///< another kind than the operator's
};
struct Region {
    std::string name;
    std::vector<Tensor> tensors;
    std::vector<Operator> operators;
    std::vector<std::string> inputs, outputs;
};

Bytes file_of(const std::vector<Region>& regions) {
    flatbuffers::FlatBufferBuilder b;
    std::vector<flatbuffers::Offset<fb::TosaRegion>> all;
    for (const Region& r : regions) {
        std::vector<flatbuffers::Offset<fb::TosaTensor>> tensors;
        for (const Tensor& t : r.tensors) {
            const auto name = b.CreateString(t.name), variable = b.CreateString(t.variable_name);
            const auto shape = b.CreateVector(t.shape);
            const auto data = b.CreateVector(reinterpret_cast<const std::uint8_t*>(t.data.data()), t.data.size());
            tensors.push_back(fb::CreateTosaTensor(b, name, shape, static_cast<std::uint32_t>(t.type), data, t.variable,
                                                   false, variable));
        }
        std::vector<flatbuffers::Offset<fb::TosaOperator>> ops;
        for (const Operator& op : r.operators) {
            const auto in = b.CreateVectorOfStrings(op.inputs), out = b.CreateVectorOfStrings(op.outputs);
            flatbuffers::Offset<void> attribute;
            if (op.op == Op::while_loop || op.op == Op::cond_if) {
                const auto one = b.CreateString(op.regions.at(0)), two = b.CreateString(op.regions.at(1));
                attribute = op.op == Op::while_loop ? fb::CreateWhileLoopAttribute(b, one, two).Union()
                                                    : fb::CreateCondIfAttribute(b, one, two).Union();
            } else {
                attribute = fb::CreateNoAttribute(b).Union();
            }
            const int kind = op.attribute < 0 ? static_cast<int>(op.op) : op.attribute;
            ops.push_back(fb::CreateTosaOperator(b, static_cast<std::uint32_t>(op.op), static_cast<fb::Attribute>(kind),
                                                 attribute, in, out));
        }
        const auto block_name = b.CreateString(r.name == "main" ? "main" : r.name + "_bb0");
        const auto op_list = b.CreateVector(ops);
        const auto tensor_list = b.CreateVector(tensors);
        const auto in = b.CreateVectorOfStrings(r.inputs), out = b.CreateVectorOfStrings(r.outputs);
        const auto block = fb::CreateTosaBasicBlock(b, block_name, op_list, tensor_list, in, out);
        const auto blocks = b.CreateVector(&block, 1);
        const auto name = b.CreateString(r.name);
        all.push_back(fb::CreateTosaRegion(b, name, blocks));
    }
    const auto version = fb::CreateVersion(b, 1, 1, 0, true);
    const auto list = b.CreateVector(all);
    fb::FinishTosaGraphBuffer(b, fb::CreateTosaGraph(b, version, list));
    const auto* begin = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
    return Bytes(begin, begin + b.GetSize());
}

constexpr auto i32 = fb::DType::INT32;
constexpr auto fp32 = fb::DType::FP32;

/// x doubled n times, plus n * twice: the regions use `one` (a constant) and `twice` and `n` (computed, an input) of
/// main; main's operators stand in an order that only the captures make impossible.
std::vector<Region> capturing_loop() {
    Region main{"main", {}, {}, {"x", "n"}, {"result"}};
    main.tensors = {{"x", i32, {1}},
                    {"n", i32, {1}},
                    {"twice", i32, {1}},
                    {"zero", i32, {1}, encode_ints(DType::i32, Ints{0})},
                    {"one", i32, {1}, encode_ints(DType::i32, Ints{1})},
                    {"count", i32, {1}},
                    {"result", i32, {1}}};
    main.operators = {{Op::constant, {}, {"zero"}},
                      {Op::while_loop, {"zero", "x"}, {"count", "result"}, {"cond", "body"}},
                      {Op::add, {"x", "x"}, {"twice"}},
                      {Op::constant, {}, {"one"}}};
    Region cond{"cond",
                {{"ci", i32, {1}}, {"cx", i32, {1}}, {"go", fb::DType::BOOL, {1}}},
                {{Op::greater, {"n", "ci"}, {"go"}}},
                {"ci", "cx"},
                {"go"}};
    Region body{"body",
                {{"bi", i32, {1}}, {"bx", i32, {1}}, {"bn", i32, {1}}, {"sum", i32, {1}}},
                {{Op::add, {"bi", "one"}, {"bn"}}, {Op::add, {"bx", "twice"}, {"sum"}}},
                {"bi", "bx"},
                {"bn", "sum"}};
    return {main, cond, body};
}

TEST(TosaRegions, CaptureValuesOfTheEnclosingBlock) {
    const Graph graph = import_model(file_of(capturing_loop()), "captures", {});
    EXPECT_EQ(ints_of(reference_run(graph, std::vector<HostTensor>{i32s({5}), i32s({3})})[0]), Ints{5 + 3 * 10});
    EXPECT_EQ(ints_of(reference_run(graph, std::vector<HostTensor>{i32s({5}), i32s({0})})[0]), Ints{5});
    EXPECT_EQ(graph_difference(graph, read_again(graph)), "");
}

TEST(TosaRegions, VariablesHiddenInIdentityOrDeclared) {
    const Bytes initial = encode_reals(DType::fp32, std::vector<double>{10, 20});
    for (const bool hidden : {true, false}) {
        const Tensor v{"v", fp32, {2}, initial, hidden, hidden ? "framework/name" : ""};
        Region main{"main", {v, {"x", fp32, {2}}, {"old", fp32, {2}}, {"sum", fp32, {2}}}, {}, {"x"}, {"sum"}};
        const int read = hidden ? 74 : -1, write = hidden ? 73 : -1;
        if (!hidden) main.operators.push_back({Op::variable, {}, {"v"}});
        main.operators.push_back({hidden ? Op::identity : Op::variable_read, {"v"}, {"old"}, {}, read});
        main.operators.push_back({Op::add, {"old", "x"}, {"sum"}});
        main.operators.push_back({hidden ? Op::identity : Op::variable_write, {"sum"}, {"v"}, {}, write});
        const Graph graph = import_model(file_of({main}), "variables", {});
        ASSERT_EQ(graph.variables.size(), 1u);
        EXPECT_EQ(graph.variables[0].name, hidden ? "framework/name" : "v");
        VariableState state;
        EXPECT_EQ(reals_of(reference_run(graph, std::vector<HostTensor>{f32s({1, 2})}, false, &state)[0]),
                  (std::vector<double>{11, 22}));
        EXPECT_EQ(reals_of(reference_run(graph, std::vector<HostTensor>{f32s({1, 2})}, false, &state)[0]),
                  (std::vector<double>{12, 24}));
        EXPECT_EQ(graph_difference(graph, read_again(graph)), "");
    }
}

TEST(TosaRegions, RefusesRegionsThatDoNotHold) {
    const auto refusal = [](const std::vector<Region>& regions) {
        try {
            import_model(file_of(regions), "f", {});
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::bad_model) << e.what();
            return std::string(e.what());
        }
        return std::string("imported");
    };
    const auto expect = [&](auto change, const std::string& part) {
        std::vector<Region> regions = capturing_loop();
        change(regions);
        const std::string message = refusal(regions);
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    using R = std::vector<Region>&;
    expect([](R r) { r[0].operators[1].regions[1] = "nowhere"; }, "there is no region 'nowhere'");
    expect([](R r) { r[2].operators.push_back({Op::while_loop, {"bi", "bx"}, {}, {"cond", "body"}}); },
           "contains itself");
    expect([](R r) { r[0].operators.erase(r[0].operators.begin() + 2); },
           "reads tensor 'twice', which nothing computes");
    expect([](R r) { r[1].outputs = {"ci"}; }, "must give bool of one element");
    expect([](R r) { r[2].outputs.pop_back(); }, "body_graph has");
    expect([](R r) { r[2].operators[1].inputs[0] = "go"; }, "nothing computes");
    expect([](R r) { r[2].tensors[0].name = "ci", r[2].inputs[0] = "ci"; }, "two tensors have the name 'ci'");
}

}  // namespace
}  // namespace tosavk

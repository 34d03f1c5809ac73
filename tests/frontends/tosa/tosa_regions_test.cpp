// Regions, variables and CUSTOM in .tosa files: what is written is read again, and files as other tools write them.
#include "frontends/frontend.hpp"
#include "support/control_graphs.hpp"

#include "ops/builder.hpp"
#include "ops/compare.hpp"
#include "tosa_1_0_generated.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// ---- names belong to their block ----------------------------------------------------------------------------------

/// x + k or x - k, where all three blocks have an "x", a "k" and a "y" of their own: main's k is 100.
std::vector<Region> branches_with_equal_names() {
    const auto block = [](const std::string& name, Op op, std::int64_t k) {
        return Region{name,
                      {{"x", i32, {1}}, {"k", i32, {1}, encode_ints(DType::i32, Ints{k})}, {"y", i32, {1}}},
                      {{Op::constant, {}, {"k"}}, {op, {"x", "k"}, {"y"}}},
                      {"x"},
                      {"y"}};
    };
    Region main = block("main", Op::add, 100);
    main.tensors.push_back({"c", fb::DType::BOOL, {1}});
    main.tensors.push_back({"z", i32, {1}});
    main.inputs.push_back("c");
    main.operators.push_back({Op::cond_if, {"c", "y"}, {"z"}, {"then", "else"}});
    main.outputs = {"z"};
    return {main, block("then", Op::add, 3), block("else", Op::sub, 5)};
}

/// Of every block of the file, each once.
std::vector<std::string> names_in(const Bytes& file) {
    std::vector<std::string> names;
    for (const auto* region : *fb::GetTosaGraph(file.data())->regions()) {
        for (const auto* tensor : *region->blocks()->Get(0)->tensors()) names.push_back(tensor->name()->str());
    }
    return names;
}

TEST(TosaRegions, NamesBelongToTheirBlock) {
    const Graph graph = import_model(file_of(branches_with_equal_names()), "branches", {});
    const auto run = [](const Graph& g, std::int64_t x, bool c) {
        return ints_of(reference_run(g, std::vector<HostTensor>{i32s({x}), boolean(c)})[0]);
    };
    EXPECT_EQ(run(graph, 7, true), Ints{110});
    EXPECT_EQ(run(graph, 7, false), Ints{102});
    // Readers that have one list of names for the whole file can read what is written.
    std::vector<std::string> names = names_in(write_tosa(graph));
    EXPECT_EQ(names.size(), 11u);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
    const Graph again = read_again(graph);
    EXPECT_EQ(run(again, 7, true), Ints{110});
    EXPECT_EQ(run(again, 7, false), Ints{102});
}

/// cond captures main's "n"; body has an "n" of its own, which is its second input and is handed on. One region may
/// stand in two places and take other tensors of the same name in each.
TEST(TosaRegions, CapturesBesideEqualNames) {
    std::vector<Region> loop = capturing_loop();
    loop[2].tensors[1].name = "n";
    loop[2].inputs[1] = loop[2].operators[1].inputs[0] = "n";
    const Graph graph = import_model(file_of(loop), "loop", {});
    EXPECT_EQ(ints_of(reference_run(graph, std::vector<HostTensor>{i32s({5}), i32s({3})})[0]), Ints{5 + 3 * 10});
    EXPECT_EQ(graph_difference(graph, read_again(graph)), "");

    std::vector<Region> twice = branches_with_equal_names();
    // else: y = the same branch once more, with its own k (5) in the place of main's (100), and x - k as it was.
    Region shared{"shared", {{"sy", i32, {1}}}, {{Op::mul, {"k", "k", "none"}, {"sy"}}}, {}, {"sy"}};
    twice[0].tensors.push_back({"none", fb::DType::INT8, {1}, Bytes(1)});
    twice[0].tensors.push_back({"square", i32, {1}});
    twice[0].operators.push_back({Op::constant, {}, {"none"}});
    twice[0].operators.push_back({Op::cond_if, {"c"}, {"square"}, {"shared", "shared"}});
    twice[0].outputs.push_back("square");
    twice[2].tensors.push_back({"c", fb::DType::BOOL, {1}, Bytes(1)});
    twice[2].tensors.push_back({"ky", i32, {1}});
    twice[2].operators.push_back({Op::constant, {}, {"c"}});
    twice[2].operators.push_back({Op::cond_if, {"c"}, {"ky"}, {"shared", "shared"}});
    twice[2].outputs = {"ky"};
    twice.push_back(shared);
    const Graph squares = import_model(file_of(twice), "squares", {});
    const auto out = reference_run(squares, std::vector<HostTensor>{i32s({7}), boolean(false)});
    EXPECT_EQ(ints_of(out[0]), Ints{25});
    EXPECT_EQ(ints_of(out[1]), Ints{10000});
}

/// Each region names the next one from two places of its own, so that the number of blocks doubles with the depth.
TEST(TosaRegions, RefusesRegionsThatMultiply) {
    const auto branch = [](int level, char which) { return std::string(1, which) + std::to_string(level); };
    std::vector<Region> all{{"main",
                             {{"c", fb::DType::BOOL, {1}}, {"y", i32, {1}}},
                             {{Op::cond_if, {"c"}, {"y"}, {"a0", "b0"}}},
                             {"c"},
                             {"y"}}};
    for (int level = 0; level < 30; ++level) {
        for (const char which : {'a', 'b'}) {
            all.push_back({branch(level, which),
                           {{"y", i32, {1}}},
                           {{Op::cond_if, {"c"}, {"y"}, {branch(level + 1, 'a'), branch(level + 1, 'b')}}},
                           {},
                           {"y"}});
        }
    }
    for (const char which : {'a', 'b'})
        all.push_back({branch(30, which), {{"y", i32, {1}}}, {{Op::identity, {"c"}, {"y"}}}, {}, {"y"}});
    try {
        import_model(file_of(all), "many", {});
        FAIL() << "imported";
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::unsupported);
        EXPECT_NE(std::string(e.what()).find("name more than 4096 regions"), std::string::npos) << e.what();
    }
}

TEST(TosaRegions, RefusesTypesOfTheDraftsByName) {
    const auto refusal = [](std::uint32_t number) {
        const auto type = static_cast<fb::DType>(number);
        Region main{"main", {{"x", type, {2}}, {"y", type, {2}}}, {{Op::identity, {"x"}, {"y"}}}, {"x"}, {"y"}};
        try {
            import_model(file_of({main}), "f", {});
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::unsupported) << e.what();
            return std::string(e.what());
        }
        return std::string("imported");
    };
    EXPECT_EQ(refusal(17),
              "f: TOSA file: graph input 0: tensor 'x': its type INT64, which the drafts of TOSA 1.1 add, "
              "is not supported");
    EXPECT_EQ(refusal(99), "f: TOSA file: graph input 0: tensor 'x': its type 99 is not known");
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
    expect([](R r) { r[2].operators[1].inputs[0] = "go"; }, "there is no tensor 'go'");
    expect([](R r) { r[0].operators[2].inputs[0] = "bi"; }, "there is no tensor 'bi'");
    expect([](R r) { r[2].tensors[1].name = "bi"; }, "region 'body_bb0': two tensors have the name 'bi'");
    expect([](R r) { r[2].tensors.push_back({"twice", i32, {1}}); }, "reads tensor 'twice', which nothing computes");
}

}  // namespace
}  // namespace tosavk

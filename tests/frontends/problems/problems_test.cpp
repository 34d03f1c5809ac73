// Problem lines: what they build, and the sentences for wrong ones.
#include "frontends/problems/problem.hpp"

#include "graph/host_tensor.hpp"
#include "kernels/kernels.hpp"
#include "ops/compare.hpp"
#include "ops/op.hpp"
#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

namespace tosavk {
namespace {

std::vector<Op> ops_of(const Graph& graph) {
    std::vector<Op> ops;
    for (const Node& node : graph.nodes) ops.push_back(node.op);
    return ops;
}

const Value& output_of(const Graph& graph) { return graph.value(graph.outputs.at(0)); }

TEST(Problems, ConvolutionWithItsFollowers) {
    const Graph graph = load_problem("conv2d i8 1x56x56x64 96x3x3 s1 p1 rescale clamp");
    EXPECT_EQ(ops_of(graph), (std::vector<Op>{Op::conv2d, Op::rescale, Op::clamp}));
    EXPECT_EQ(output_of(graph).shape, (Shape{1, 56, 56, 96}));
    EXPECT_EQ(output_of(graph).type, DType::i8);
    EXPECT_EQ(graph.value(graph.nodes[0].inputs[1]).shape, (Shape{96, 3, 3, 64}));
    EXPECT_EQ(graph.nodes[0].attrs.pad, (std::vector<std::int32_t>{1, 1, 1, 1}));
}

TEST(Problems, KeysPerAxis) {
    const Graph graph = load_problem("conv2d f32 2x9x11x3 4x3x2 s2x3 p0,2,1,1 d1x3");
    const Attributes& attrs = graph.nodes.at(0).attrs;
    EXPECT_EQ(attrs.stride, (std::vector<std::int32_t>{2, 3}));
    EXPECT_EQ(attrs.pad, (std::vector<std::int32_t>{0, 2, 1, 1}));
    EXPECT_EQ(attrs.dilation, (std::vector<std::int32_t>{1, 3}));
    EXPECT_EQ(output_of(graph).shape, (Shape{2, 5, 4, 4}));
}

TEST(Problems, SamePadsToTheInputOverTheStride) {
    const Graph graph = load_problem("depthwise f32 1x112x113x8 1x3x3 s2 same");
    EXPECT_EQ(graph.nodes.at(0).attrs.pad, (std::vector<std::int32_t>{0, 1, 1, 1}));
    EXPECT_EQ(output_of(graph).shape, (Shape{1, 56, 57, 8}));
}

TEST(Problems, TypesOfWeightsAndSums) {
    const Graph wide = load_problem("conv2d 16x8 1x4x4x5 6x3x3 p1 rescale");
    EXPECT_EQ(wide.value(wide.inputs[0]).type, DType::i16);
    EXPECT_EQ(wide.value(wide.nodes[0].inputs[1]).type, DType::i8);
    EXPECT_EQ(wide.value(wide.nodes[0].outputs[0]).type, DType::i48);
    EXPECT_EQ(output_of(wide).type, DType::i16);
    const Graph narrow = load_problem("conv2d i4 1x4x4x5 6x3x3 p1");
    EXPECT_EQ(narrow.value(narrow.inputs[0]).type, DType::i8);
    EXPECT_EQ(narrow.value(narrow.nodes[0].inputs[1]).type, DType::i4);
    EXPECT_EQ(load_problem("matmul f16 1x2x3x4").nodes[0].op, Op::matmul);
}

TEST(Problems, ChainsShareTheirSecondOperand) {
    const Graph graph = load_problem("chain f32 16 add*50");
    EXPECT_EQ(graph.nodes.size(), 50u);
    EXPECT_EQ(graph.inputs.size(), 2u);
    const Graph mixed = load_problem("chain f32 4x5 add mul sigmoid");
    EXPECT_EQ(ops_of(mixed), (std::vector<Op>{Op::add, Op::mul, Op::sigmoid}));
}

/// Requantized results must use their type: neither all the same nor mostly at its ends.
TEST(Problems, RescaledResultsUseTheRange) {
    for (const char* line : {"conv2d i8 1x9x9x64 32x3x3 p1 rescale", "conv2d i8 1x6x6x512 16x1x1 rescale",
                             "depthwise i8 1x17x17x16 1x3x3 p1 rescale", "conv2d 16x8 1x9x9x32 16x3x3 p1 rescale",
                             "matmul i8 1x32x200x32 rescale", "fully_connected i8 4x300 50 rescale",
                             "conv2d i4 1x9x9x64 16x3x3 p1 rescale", "network transformer i8 size9"}) {
        const Graph graph = load_problem(line);
        std::vector<HostTensor> inputs;
        for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
            const Value& value = graph.value(graph.inputs[k]);
            inputs.push_back(random_tensor(value.type, value.shape, k + 1));
        }
        const HostTensor result = reference_run(graph, inputs).at(0);
        const auto values = decode_ints(result.type, result.bytes);
        const auto least = min_of(result.type), most = max_of(result.type);
        double squares = 0;
        std::size_t saturated = 0;
        for (const std::int64_t v : values) {
            squares += static_cast<double>(v) * static_cast<double>(v);
            saturated += v == least || v == most;
        }
        const double share = std::sqrt(squares / static_cast<double>(values.size())) / static_cast<double>(most);
        EXPECT_GT(share, 0.15) << line;
        EXPECT_LT(share, 0.6) << line;
        EXPECT_LT(static_cast<double>(saturated) / static_cast<double>(values.size()), 0.05) << line;
    }
}

TEST(Problems, EveryOperatorHasALine) {
    std::set<std::string> known;
    for (const ProblemHelp& help : problem_help()) {
        known.insert(help.op);
        EXPECT_EQ(help.line.rfind(help.op + " ", 0), 0u) << help.line;
        EXPECT_EQ(help.form.rfind(help.op + " ", 0), 0u) << help.form;
        const Graph graph = load_problem(help.small);
        EXPECT_FALSE(graph.nodes.empty()) << help.small;
    }
    for (const OpDef& def : registry()) {
        if (!def.expression && !def.view && kernels_of(def.op).empty()) continue;
        std::string name(def.name);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        EXPECT_TRUE(known.count(name)) << name;
    }
}

/// The published sizes of these networks, which the shapes of all their layers make up.
TEST(Problems, NetworksHaveTheirPublishedSizes) {
    const auto count = [](const char* line) {
        const Graph graph = load_problem(line);
        std::int64_t parameters = 0, products = 0;
        for (const Node& node : graph.nodes) {
            if (node.op != Op::conv2d && node.op != Op::depthwise_conv2d) continue;
            const std::int64_t weights = element_count(graph.value(node.inputs[1]).shape);
            parameters += weights + element_count(graph.value(node.inputs[2]).shape);
            const Shape& out = graph.value(node.outputs[0]).shape;
            products += weights * out[0] * out[1] * out[2];
        }
        EXPECT_EQ(output_of(graph).shape.back(), 1000) << line;
        return std::pair(static_cast<double>(parameters) / 1e6, static_cast<double>(products) / 1e9);
    };
    struct Published {
        const char* line;
        double parameters, products;  // millions (batch normalization folded), 1e9
    };
    for (const Published& p :
         {Published{"network squeezenet f32", 1.24, 0.35}, Published{"network mobilenet_v1 f32", 4.22, 0.57},
          Published{"network mobilenet_v2 f32", 3.49, 0.30}, Published{"network resnet18 f32", 11.69, 1.81},
          Published{"network resnet50 f32", 25.53, 4.09}}) {
        const auto [parameters, products] = count(p.line);
        EXPECT_NEAR(parameters, p.parameters, 0.01 * p.parameters) << p.line;
        EXPECT_NEAR(products, p.products, 0.03 * p.products) << p.line;
    }
}

TEST(Problems, NetworksOfAllTypes) {
    for (const ProblemHelp& help : problem_help()) {
        if (help.op != "network") continue;
        for (const char* type : {"f16", "i8"}) {
            std::string line = help.small;
            line.replace(line.find("f32"), 3, type);
            const Graph graph = load_problem(line);
            const DType wanted = type[0] == 'i' ? DType::i8 : DType::fp16;
            EXPECT_EQ(graph.value(graph.inputs.at(0)).type, wanted) << line;
            EXPECT_EQ(output_of(graph).type, wanted) << line;
            const bool floats = std::any_of(graph.values.begin(), graph.values.end(),
                                            [](const Value& value) { return is_float(value.type); });
            EXPECT_EQ(floats, is_float(wanted)) << line;
        }
    }
}

TEST(Problems, TheSameLineIsTheSameGraph) {
    const char* line = "conv2d f32 1x5x5x3 4x3x3 p1 seed7";
    EXPECT_EQ(graph_difference(load_problem(line), load_problem(line)), "");
    EXPECT_NE(graph_difference(load_problem(line), load_problem("conv2d f32 1x5x5x3 4x3x3 p1 seed8")), "");
}

TEST(Problems, WrongLinesGetASentence) {
    const std::pair<const char*, const char*> wrong[] = {
        {"", "empty"},
        {"   ", "empty"},
        {"conv2d", "type after 'conv2d' is missing"},
        {"fly f32 4", "no operator 'fly'"},
        {"conv2d f33 1x4x4x4 4x1x1", "'f33' is no type"},
        {"conv2d f32", "input NxHxWxC is missing"},
        {"conv2d f32 1x4x4x4", "kernel is missing"},
        {"conv2d f32 4x4x4 4x1x1", "needs 4"},
        {"conv2d f32 1x4x4x4 4x1x1x1", "needs 3"},
        {"conv2d f32 1x4x4x4 4x1x1 s1x2x3", "s takes 1 or 2"},
        {"conv2d f32 1x4x4x4 4x1x1 s0", "stride"},
        {"conv2d f32 1x4x4x4 4x1x1 s0 same", "stride"},
        {"conv2d f32 1x4x4x4 4x3x3 s2 p1", "problem line"},
        {"conv2d f32 1x4x4x4 4x1x1 axis2", "'axis2' means nothing for conv2d"},
        {"conv2d f32 1x4x4x4 4x1x1 9x9", "'9x9' means nothing"},
        {"conv2d f32 1x4x4x4 4x1x1 jump", "'jump' is no follower"},
        {"conv2d f32 1x4x4x4 4x1x1 rescale", "rescale takes integers"},
        {"conv2d i8 1x4x0x4 4x1x1", "dimension of 0"},
        {"conv2d i8 1x4xtx4 4x1x1", "neither a shape"},
        {"conv2d i32 1x4x4x4 4x1x1", "problem line"},
        {"conv2d f32 1x99999999999x9999999999x4 4x1x1", "problem line"},
        {"conv2d f32 1x4x4x4 4x1x1 p99999999999", "32 bits"},
        {"conv2d f32 1x4x4x4 4x2147483647x1 d2147483647 same", "problem line"},
        {"add f32 99999999999999999999", "neither a shape"},
        {"add bool 4", "add does not take bool"},
        {"add f32 2x3 4x5", "problem line"},
        {"chain f32 16", "at least one operator"},
        {"chain f32 16 add*0", "add*0"},
        {"chain f32 16 add*99999", "add*99999"},
        {"transpose f32 3x4 1,0,2", "needs 2"},
        {"transpose f32 3x4 1,2", "names axis 2"},
        {"reduce_sum f32 3x4 axis2", "axis takes one number from 0 to 1"},
        {"scatter f32 1x4x4 5", "too many"},
        {"cast f32 4", "type to cast to is missing"},
        {"network", "name of the network is missing"},
        {"network alexnet f32", "no network 'alexnet'"},
        {"network unet i16", "f32, f16 or i8"},
        {"network unet f32 size3", "size takes one number"},
        {"network unet f32 clamp", "'clamp' means nothing"},
        {"network transformer f32 batch2", "one sequence"},
        {"add f32 4 seed-1", "seed takes one number"},
    };
    for (const auto& [line, part] : wrong) {
        try {
            load_problem(line);
            ADD_FAILURE() << line << ": was taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::usage) << line << ": " << error.what();
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << line << ": " << error.what();
        }
    }
}

}  // namespace
}  // namespace tosavk

// Graphs from calls: every operator rebuilt from its problem line, constants that are lent, refused nodes.
#include "api/handles.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/compare.hpp"
#include "ops/op.hpp"
#include "ops/print.hpp"
#include "support/builder_calls.hpp"
#include "tosavk/tools.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>

using namespace tosavk;
using namespace tosavk::test;

namespace {

/// Reads the printed form: "axis=1 pad=[0,1] nan_mode=PROPAGATE name=\"v\"".
void read_printed(const Node& node, AttributeList& list) {
    for (const char* name : find_op(node.op)->attributes) {
        const std::string_view field = name;
        if (field == "operator_name") list.text(name, node.attrs.operator_name);
        else if (field == "domain_name") list.text(name, node.attrs.domain_name);
        else if (field == "implementation_attrs") list.text(name, node.attrs.implementation_attrs);
        else if (field == "name") list.text(name, node.attrs.variable);
        else if (field == "min_val") list.real(name, node.attrs.min_val);
        else if (field == "sigma") list.real(name, node.attrs.sigma);
        else if (field == "max_val") list.real(name, node.attrs.max_val);
        else {
            const std::string all = " " + attributes_text(node) + " ";
            const std::size_t from = all.find(fmt::format(" {}=", name)) + field.size() + 2;
            const std::string value = all.substr(from, all.find(' ', from) - from);
            if (value == "true" || value == "false") list.integers(name, {value == "true"});
            else if (value[0] == '[') {
                const auto json = nlohmann::json::parse(value);
                list.integers(name, json.get<std::vector<std::int64_t>>());
            } else if (std::isdigit(static_cast<unsigned char>(value[0])) || value[0] == '-') {
                list.integers(name, {std::stoll(value)});
            } else list.text(name, value);
        }
    }
}

/// Says a graph again by calls.
void rebuild(const Graph& graph, tosavk_builder* builder, bool describe_outputs) {
    std::vector<std::uint32_t> numbers(graph.values.size(), 0xffffffffu);
    for (const ValueId id : graph.inputs) {
        const Value& value = graph.value(id);
        const tosavk_tensor_desc desc = desc_of(value.type, value.shape);
        succeed([&](tosavk_error** e) {
            return tosavk_builder_input(builder, value.name.c_str(), &desc, &numbers[id], e);
        });
    }
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const Value& value = graph.value(id);
        if (!value.is_constant()) continue;
        if (value.type == DType::shape) {
            const std::vector<std::int64_t> shape = decode_ints(value.type, *value.data);
            succeed([&](tosavk_error** e) {
                return tosavk_builder_shape(builder, value.name.c_str(), shape.data(), shape.size(), &numbers[id], e);
            });
        } else {
            const tosavk_tensor_desc desc = desc_of(value.type, value.shape);
            succeed([&](tosavk_error** e) {
                return tosavk_builder_constant(builder, value.name.c_str(), &desc, value.data->data(),
                                               value.data->size(), &numbers[id], e);
            });
        }
    }
    for (const Node& node : graph.nodes) {
        AttributeList attributes;
        read_printed(node, attributes);
        std::vector<std::uint32_t> inputs;
        for (const ValueId id : node.inputs) inputs.push_back(numbers[id]);
        std::vector<BuilderHandle> regions;
        std::vector<tosavk_builder*> region_list;
        for (const auto& region : node.regions) {
            tosavk_builder* made = nullptr;
            succeed([&](tosavk_error** e) { return tosavk_builder_region(builder, region->name.c_str(), &made, e); });
            rebuild(*region, made, describe_outputs);
            region_list.push_back(regions.emplace_back(made).get());
        }
        std::vector<tosavk_tensor_desc> outputs;
        for (const ValueId id : node.outputs) outputs.push_back(desc_of(graph.value(id).type, graph.value(id).shape));
        tosavk_node_desc desc{};
        desc.struct_size = sizeof desc;
        const std::string op = std::string(is_own(node.op) ? "tosavk." : "") + std::string(name_of(node.op));
        desc.op = op.c_str();
        desc.name = node.name.c_str();
        desc.inputs = inputs.data();
        desc.input_count = inputs.size();
        desc.attributes = attributes.list().data();
        desc.attribute_count = attributes.list().size();
        if (describe_outputs) {
            desc.outputs = outputs.data();
            desc.output_count = outputs.size();
        }
        desc.regions = region_list.data();
        desc.region_count = region_list.size();
        std::vector<std::uint32_t> made(node.outputs.size(), 0);
        std::size_t count = 0;
        succeed(
            [&](tosavk_error** e) { return tosavk_builder_node(builder, &desc, made.data(), made.size(), &count, e); });
        ASSERT_EQ(count, node.outputs.size()) << op;
        for (std::size_t k = 0; k < count; ++k) numbers[node.outputs[k]] = made[k];
    }
    for (const ValueId id : graph.outputs)
        succeed([&](tosavk_error** e) { return tosavk_builder_output(builder, numbers[id], e); });
}

TEST(Build, EveryOperatorComesBackFromCalls) {
    for (const ProblemHelp& help : problem_help()) {
        SCOPED_TRACE(help.small);
        const Graph wanted = load_problem(help.small);
        const BuilderHandle builder = make_builder();
        for (const Variable& variable : wanted.variables) {
            const tosavk_tensor_desc desc = desc_of(variable.type, variable.shape);
            succeed([&](tosavk_error** e) {
                return tosavk_builder_variable(builder.get(), variable.name.c_str(), &desc,
                                               variable.initial ? variable.initial->data() : nullptr,
                                               variable.initial ? variable.initial->size() : 0, e);
            });
        }
        rebuild(wanted, builder.get(), true);
        tosavk_graph* graph = nullptr;
        succeed([&](tosavk_error** e) { return tosavk_builder_finish(builder.get(), &graph, e); });
        const GraphHandle owner(graph);
        ASSERT_NE(graph, nullptr);
        EXPECT_EQ(graph_difference(wanted, *graph->graph), "");
    }
}

TEST(Build, TypesOfOutputsFollowWhereTheInputsLeaveOneChoice) {
    for (const char* line : {"add f32 2x3", "conv2d i8 1x5x5x3 4x3x3 p1", "matmul f32 1x4x5x6", "greater i32 7",
                             "reduce_sum f32 4x5 axis1", "argmax i8 4x5 axis1"}) {
        SCOPED_TRACE(line);
        const Graph wanted = load_problem(line);
        const BuilderHandle builder = make_builder();
        rebuild(wanted, builder.get(), false);
        tosavk_graph* graph = nullptr;
        succeed([&](tosavk_error** e) { return tosavk_builder_finish(builder.get(), &graph, e); });
        const GraphHandle owner(graph);
        ASSERT_NE(graph, nullptr);
        EXPECT_EQ(graph_difference(wanted, *graph->graph), "");
    }
}

/// A builder with an input x of fp32 [2,3].
struct Small {
    explicit Small(bool keep_refused = false) {
        tosavk_builder_options options{};
        options.struct_size = sizeof options;
        options.keep_refused = keep_refused ? 1 : 0;
        builder = make_builder(&options);
        const tosavk_tensor_desc desc = desc_of(DType::fp32, {2, 3});
        succeed([&](tosavk_error** e) { return tosavk_builder_input(builder.get(), "x", &desc, &x, e); });
    }
    /// The sentence of appending an operator to these inputs.
    std::string node(const char* op, const std::vector<std::uint32_t>& inputs, tosavk_status wanted,
                     const AttributeList& attributes = {}, const std::vector<tosavk_tensor_desc>& outputs = {}) {
        tosavk_node_desc desc{};
        desc.struct_size = sizeof desc;
        desc.op = op;
        desc.name = "n";
        desc.inputs = inputs.data();
        desc.input_count = inputs.size();
        desc.attributes = attributes.list().data();
        desc.attribute_count = attributes.list().size();
        desc.outputs = outputs.empty() ? nullptr : outputs.data();
        desc.output_count = outputs.size();
        return sentence_of(
            wanted, [&](tosavk_error** e) { return tosavk_builder_node(builder.get(), &desc, &last, 1, nullptr, e); });
    }
    BuilderHandle builder;
    std::uint32_t x = 0, last = 0;
};

TEST(Build, MistakesHaveASentenceAndLeaveTheBuilderAsItWas) {
    Small small;
    const auto has = [](const std::string& sentence, const char* part) {
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    };
    has(small.node("NONSENSE", {small.x}, TOSAVK_ERROR_UNSUPPORTED), "there is no operator 'NONSENSE'");
    has(small.node("tosavk.ABS", {small.x}, TOSAVK_ERROR_UNSUPPORTED), "there is no operator 'tosavk.ABS'");
    has(small.node("VARIABLE", {}, TOSAVK_ERROR_USAGE), "declare the variable");
    has(small.node("ABS", {}, TOSAVK_ERROR_BAD_MODEL), "needs 1 inputs, but has 0");
    has(small.node("ABS", {99}, TOSAVK_ERROR_USAGE), "input value 99 does not exist");
    has(small.node("REDUCE_SUM", {small.x}, TOSAVK_ERROR_BAD_MODEL), "its attribute axis is missing");
    has(small.node("CAST", {small.x}, TOSAVK_ERROR_BAD_MODEL), "leave a choice of types");
    has(small.node("CUSTOM", {small.x}, TOSAVK_ERROR_BAD_MODEL), "is missing");
    has(small.node("COND_IF", {small.x}, TOSAVK_ERROR_USAGE), "it needs two graphs");
    AttributeList wrong;
    wrong.text("axis", "one");
    has(small.node("REDUCE_SUM", {small.x}, TOSAVK_ERROR_BAD_MODEL, wrong), "must be one integer of 32 bits");
    AttributeList wide;
    wide.integers("axis", {std::int64_t{1} << 40});
    has(small.node("REDUCE_SUM", {small.x}, TOSAVK_ERROR_BAD_MODEL, wide), "must be one integer of 32 bits");
    AttributeList foreign;
    foreign.integers("stride", {1, 1});
    has(small.node("ABS", {small.x}, TOSAVK_ERROR_BAD_MODEL, foreign), "it has no attribute 'stride'");
    AttributeList twice;
    twice.integers("axis", {0});
    twice.integers("axis", {0});
    has(small.node("REDUCE_SUM", {small.x}, TOSAVK_ERROR_BAD_MODEL, twice), "axis is given twice");
    has(small.node("ABS", {small.x}, TOSAVK_ERROR_BAD_MODEL, {}, {desc_of(DType::fp32, {3, 2})}),
        "is described with shape");
    has(small.node("ABS", {small.x}, TOSAVK_ERROR_BAD_MODEL, {}, {desc_of(DType::i32, {2, 3})}), "has type");

    tosavk_error* error = nullptr;
    tosavk_graph* graph = nullptr;
    EXPECT_EQ(small.node("abs", {small.x}, TOSAVK_OK), "");
    EXPECT_EQ(tosavk_builder_output(small.builder.get(), small.last, &error), TOSAVK_OK);
    EXPECT_EQ(tosavk_builder_output(small.builder.get(), 1000, nullptr), TOSAVK_ERROR_USAGE);
    EXPECT_EQ(tosavk_builder_finish(small.builder.get(), &graph, &error), TOSAVK_OK) << tosavk_error_message(error);
    const GraphHandle owner(graph);
    ASSERT_NE(graph, nullptr);
    EXPECT_EQ(tosavk_graph_node_count(graph), 1u);
    // The builder is empty again: a graph without outputs.
    tosavk_graph* none = nullptr;
    EXPECT_EQ(tosavk_builder_finish(small.builder.get(), &none, nullptr), TOSAVK_ERROR_BAD_MODEL);
    EXPECT_EQ(none, nullptr);
}

/// A newer program's elements are longer, and end where their struct_size says.
TEST(Build, ElementsOfArraysHaveTheirOwnSize) {
    struct Newer {
        tosavk_attribute known;
        std::uint64_t later = 0;
    } attributes[2]{};
    struct NewerDesc {
        tosavk_tensor_desc known;
        std::uint64_t later = 0;
    } output{desc_of(DType::fp32, {2, 3})};
    const double bounds[] = {0, 1};
    const char* const names[] = {"min_val", "max_val"};
    for (std::size_t k = 0; k < 2; ++k)
        attributes[k].known = {sizeof(Newer), names[k], TOSAVK_ATTRIBUTE_REALS, 0, &bounds[k], 1};
    output.known.struct_size = sizeof output;
    Small small;
    tosavk_node_desc node{};
    node.struct_size = sizeof node;
    node.op = "CLAMP";
    node.inputs = &small.x;
    node.input_count = 1;
    node.attributes = &attributes[0].known;
    node.attribute_count = 2;
    node.outputs = &output.known;
    node.output_count = 1;
    const auto add = [&](tosavk_error** e) {
        return tosavk_builder_node(small.builder.get(), &node, nullptr, 0, nullptr, e);
    };
    succeed(add);
    attributes[1].known.struct_size = sizeof(tosavk_attribute);
    EXPECT_EQ(sentence_of(TOSAVK_ERROR_USAGE, add),
              "tosavk_attribute.struct_size differs between the elements of node->attributes");
    attributes[1].known.struct_size = sizeof(Newer);
    attributes[1].later = 1;
    EXPECT_EQ(sentence_of(TOSAVK_ERROR_USAGE, add),
              "tosavk_attribute sets a field that this version of tosa-vk does not know");
    attributes[1].later = 0;
    output.known.struct_size = 0;
    EXPECT_EQ(sentence_of(TOSAVK_ERROR_USAGE, add),
              "tosavk_tensor_desc.struct_size is 0; set it to sizeof(tosavk_tensor_desc)");
}

TEST(Build, LentConstantsAreGivenBackOnce) {
    static int released;
    released = 0;
    const auto release = [](void* user, const void* data) {
        EXPECT_EQ(user, &released);
        EXPECT_NE(data, nullptr);
        ++released;
    };
    Small small;
    alignas(8) unsigned char storage[25];
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    std::memcpy(storage + 1, numbers, sizeof numbers);  // no alignment is needed
    const tosavk_tensor_desc desc = desc_of(DType::fp32, {2, 3});
    std::uint32_t constant = 0;
    const auto lend = [&](std::size_t size, tosavk_error** e) {
        return tosavk_builder_constant_borrowed(small.builder.get(), "c", &desc, storage + 1, size, release, &released,
                                                &constant, e);
    };
    EXPECT_NE(sentence_of(TOSAVK_ERROR_BAD_INPUT, [&](tosavk_error** e) { return lend(23, e); }).find("24 bytes"),
              std::string::npos);
    EXPECT_EQ(released, 0);
    succeed([&](tosavk_error** e) { return lend(24, e); });
    EXPECT_EQ(small.node("ADD", {small.x, constant}, TOSAVK_OK), "");
    succeed([&](tosavk_error** e) { return tosavk_builder_output(small.builder.get(), small.last, e); });
    tosavk_graph* graph = nullptr;
    succeed([&](tosavk_error** e) { return tosavk_builder_finish(small.builder.get(), &graph, e); });
    GraphHandle owner(graph);
    small.builder.reset();
    EXPECT_EQ(released, 0);
    float sums[6] = {};
    const void* inputs[] = {numbers};
    void* outputs[] = {sums};
    succeed([&](tosavk_error** e) { return tosavk_reference_run(graph, inputs, outputs, e); });
    EXPECT_EQ(std::vector<float>(sums, sums + 6), (std::vector<float>{2, 4, 6, 8, 10, 12}));
    owner.reset();
    EXPECT_EQ(released, 1);
}

TEST(Build, ProbeKeepsWhatIsRefused) {
    Small small(true);
    const std::vector<tosavk_tensor_desc> described = {desc_of(DType::fp32, {2, 3})};
    EXPECT_EQ(small.node("ABS", {small.x}, TOSAVK_OK, {}, described), "");
    EXPECT_EQ(small.node("NONSENSE", {small.last}, TOSAVK_OK, {}, described), "");
    EXPECT_EQ(small.node("EXP", {small.last}, TOSAVK_OK, {}, described), "");
    EXPECT_NE(small.node("NONSENSE", {small.last}, TOSAVK_ERROR_UNSUPPORTED), "") << "its outputs are not described";
    tosavk_text* text = nullptr;
    succeed([&](tosavk_error** e) { return tosavk_builder_probe(small.builder.get(), &text, e); });
    ASSERT_NE(text, nullptr);
    const auto json = nlohmann::json::parse(tosavk_text_data(text));
    tosavk_text_release(text);
    EXPECT_EQ(json["format"], "builder");
    EXPECT_EQ(json["taken"], false);
    ASSERT_EQ(json["operators"].size(), 3u);
    EXPECT_EQ(json["operators"][0]["taken"], true);
    EXPECT_EQ(json["operators"][1]["taken"], false);
    EXPECT_EQ(json["operators"][1]["sentence"], "there is no operator 'NONSENSE'");
    EXPECT_EQ(json["operators"][2]["taken"], true);
    tosavk_graph* graph = nullptr;
    EXPECT_NE(sentence_of(TOSAVK_ERROR_BAD_MODEL,
                          [&](tosavk_error** e) { return tosavk_builder_finish(small.builder.get(), &graph, e); })
                  .find("there is no operator 'NONSENSE'"),
              std::string::npos);
}

TEST(Build, WhatIsNotGivenHasItsFirstName) {
    Small small;
    const auto integers = [&](DType type, const Shape& shape, std::vector<std::int64_t> values) {
        const tosavk_tensor_desc desc = desc_of(type, shape);
        const Bytes bytes = encode_ints(type, values);
        std::uint32_t value = 0;
        succeed([&](tosavk_error** e) {
            return tosavk_builder_constant(small.builder.get(), "", &desc, bytes.data(), bytes.size(), &value, e);
        });
        return value;
    };
    AttributeList attributes;
    attributes.integers("batch_dims", {0});
    const std::uint32_t indices = integers(DType::i32, {1, 1}, {1}), updates = integers(DType::i32, {1, 3}, {1, 2, 3});
    const std::uint32_t values = integers(DType::i32, {2, 3}, {0, 0, 0, 0, 0, 0});
    ASSERT_EQ(small.node("tosavk.SCATTER_ND", {values, indices, updates}, TOSAVK_OK, attributes), "");
    succeed([&](tosavk_error** e) { return tosavk_builder_output(small.builder.get(), small.last, e); });
    tosavk_graph* graph = nullptr;
    succeed([&](tosavk_error** e) { return tosavk_builder_finish(small.builder.get(), &graph, e); });
    const GraphHandle owner(graph);
    EXPECT_NE(print_graph(*graph->graph).find("combiner=SET"), std::string::npos) << print_graph(*graph->graph);
}

TEST(Build, ElementsAreOfTheirType) {
    Small small;
    const auto constant = [&](DType type, std::vector<std::uint8_t> bytes, std::int64_t count) {
        const tosavk_tensor_desc desc = desc_of(type, {count});
        std::uint32_t value = 0;
        return sentence_of(TOSAVK_ERROR_BAD_INPUT, [&](tosavk_error** e) {
            return tosavk_builder_constant(small.builder.get(), "c", &desc, bytes.data(), bytes.size(), &value, e);
        });
    };
    EXPECT_EQ(constant(DType::boolean, {1, 100}, 2), "element 1 of a constant is 100, which type bool does not hold");
    EXPECT_EQ(constant(DType::i4, {7, 8}, 2), "element 1 of a constant is 8, which type i4 does not hold");
    EXPECT_NE(constant(DType::i48, {0, 0, 0, 0, 0, 0, 0, 64}, 1).find("type i48 does not hold"), std::string::npos);
    EXPECT_NE(constant(DType::i32, {0, 0}, 1).find("has 4 bytes, not 2"), std::string::npos);
}

TEST(Build, NamesAndSizesAreCheckedAtOnce) {
    Small small;
    tosavk_builder* const builder = small.builder.get();
    tosavk_tensor_desc desc = desc_of(DType::fp32, {2});
    std::uint32_t value = 0, shape = 0;
    const auto input = [&](const char* name, tosavk_status wanted) {
        return sentence_of(wanted,
                           [&](tosavk_error** e) { return tosavk_builder_input(builder, name, &desc, &value, e); });
    };
    EXPECT_EQ(input("x", TOSAVK_ERROR_BAD_MODEL), "there is a graph input with the name 'x' already");
    EXPECT_EQ(input("input_2", TOSAVK_OK), "");
    EXPECT_EQ(input(nullptr, TOSAVK_OK), "") << "a name that is free";
    desc.dims[0] = -1;
    EXPECT_NE(input("y", TOSAVK_ERROR_BAD_MODEL).find("at least 0"), std::string::npos);
    desc = desc_of(DType::fp32, {1, 1, 1, 1, 1, 1, 1, 1});
    EXPECT_NE(input("y", TOSAVK_ERROR_BAD_MODEL).find("larger than level 8K"), std::string::npos);
    desc = desc_of(DType::fp32, {INT64_MAX, INT64_MAX});
    EXPECT_NE(input("y", TOSAVK_ERROR_BAD_MODEL), "");

    const std::int64_t numbers[] = {1};
    succeed([&](tosavk_error** e) { return tosavk_builder_shape(builder, "s", numbers, 1, &shape, e); });
    EXPECT_NE(sentence_of(TOSAVK_ERROR_USAGE,
                          [&](tosavk_error** e) {
                              return tosavk_builder_shape(builder, "s", numbers, SIZE_MAX / 8, &shape, e);
                          })
                  .find("more than"),
              std::string::npos);
    const auto output = [&](std::uint32_t id, tosavk_status wanted) {
        return sentence_of(wanted, [&](tosavk_error** e) { return tosavk_builder_output(builder, id, e); });
    };
    EXPECT_NE(output(shape, TOSAVK_ERROR_BAD_MODEL).find("cannot have type shape"), std::string::npos);
    ASSERT_EQ(small.node("ABS", {small.x}, TOSAVK_OK), "");
    EXPECT_EQ(output(small.last, TOSAVK_OK), "");
    EXPECT_EQ(output(small.last, TOSAVK_OK), "") << "twice the same value";
    ASSERT_EQ(small.node("CEIL", {small.x}, TOSAVK_OK), "");
    EXPECT_EQ(output(small.last, TOSAVK_ERROR_BAD_MODEL), "there is a graph output with the name 'n' already");
    EXPECT_NE(small.node("LOGICAL_NOT", {small.x}, TOSAVK_ERROR_BAD_MODEL), "");
    tosavk_graph* graph = nullptr;
    succeed([&](tosavk_error** e) { return tosavk_builder_finish(builder, &graph, e); });
    tosavk_graph_release(graph);

    tosavk_builder_options options{};
    options.struct_size = sizeof options;
    options.reserved = 7;
    tosavk_builder* none = nullptr;
    EXPECT_EQ(
        sentence_of(TOSAVK_ERROR_USAGE, [&](tosavk_error** e) { return tosavk_builder_create(&options, &none, e); }),
        "tosavk_builder_options.reserved is 7, but must be 0");
}

TEST(Build, ARefusedNodeLeavesNothingBehind) {
    Small small(true);
    tosavk_tensor_info info{};
    info.struct_size = sizeof info;
    const std::vector<tosavk_tensor_desc> half = {desc_of(DType::fp32, {2}), desc_of(DType::fp32, {-1})};
    EXPECT_NE(small.node("FOO", {small.x}, TOSAVK_ERROR_BAD_MODEL, {}, half), "");
    EXPECT_EQ(tosavk_builder_value(small.builder.get(), 1, &info, nullptr), TOSAVK_ERROR_USAGE);

    // In a region too, and whatever bytes its name has.
    tosavk_builder* raw = nullptr;
    succeed([&](tosavk_error** e) { return tosavk_builder_region(small.builder.get(), "r", &raw, e); });
    const BuilderHandle region(raw);
    const tosavk_tensor_desc desc = desc_of(DType::fp32, {2, 3});
    std::uint32_t x = 0, y = 0;
    succeed([&](tosavk_error** e) { return tosavk_builder_input(raw, "x", &desc, &x, e); });
    tosavk_node_desc node{};
    node.struct_size = sizeof node;
    node.op = "FOO\xff";
    node.inputs = &x;
    node.input_count = 1;
    node.outputs = &desc;
    node.output_count = 1;
    succeed([&](tosavk_error** e) { return tosavk_builder_node(raw, &node, &y, 1, nullptr, e); });
    succeed([&](tosavk_error** e) { return tosavk_builder_output(raw, y, e); });
    const std::uint32_t condition = [&] {
        const tosavk_tensor_desc bit = desc_of(DType::boolean, {1});
        std::uint32_t value = 0;
        succeed([&](tosavk_error** e) { return tosavk_builder_input(small.builder.get(), "c", &bit, &value, e); });
        return value;
    }();
    const std::uint32_t inputs[] = {condition, small.x};
    tosavk_builder* const regions[] = {raw, raw};
    node.op = "COND_IF";
    node.inputs = inputs;
    node.input_count = 2;
    node.regions = regions;
    node.region_count = 2;
    succeed([&](tosavk_error** e) { return tosavk_builder_node(small.builder.get(), &node, &y, 1, nullptr, e); });
    for (tosavk_builder* builder : {raw, small.builder.get()}) {
        tosavk_text* text = nullptr;
        succeed([&](tosavk_error** e) { return tosavk_builder_probe(builder, &text, e); });
        ASSERT_NE(text, nullptr);
        const auto json = nlohmann::json::parse(tosavk_text_data(text));
        tosavk_text_release(text);
        ASSERT_EQ(json["operators"].size(), 1u);
        EXPECT_EQ(json["operators"][0]["taken"], false);
        EXPECT_NE(json["operators"][0]["sentence"].get<std::string>().find("there is no operator"), std::string::npos);
    }
}

}  // namespace

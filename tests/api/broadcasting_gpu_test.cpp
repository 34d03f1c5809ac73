// Broadcasting is decided once sizes are known: every combination of known and open dimensions of the RFC on TOSA's
// elementwise operators, in one table. An open dimension is -1, as in the files.
#include "graph/host_tensor.hpp"
#include "support/driver.hpp"
#include "support/tflite_builder.hpp"
#include "support/validation.hpp"
#include "tosavk/tosavk.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

namespace {

using namespace tosavk;
namespace cpp = tosavk::cpp;
using B = tflite::BuiltinOperator;

struct Operand {
    std::vector<std::int32_t> in_file;
    cpp::Shape given;  ///< to the run
};

struct Case {
    const char* name;
    std::vector<Operand> operands;  ///< 1: ABS; 2: ADD; 3: SELECT_V2, whose first is of bool
    cpp::Shape result;
    const char* error = nullptr;  ///< what a sentence says instead
};

const Case cases[] = {
    // All is known.
    {"static equal", {{{3}, {3}}, {{3}, {3}}}, {3}},
    {"static 3x5 and 3x5", {{{3, 5}, {3, 5}}, {{3, 5}, {3, 5}}}, {3, 5}},
    {"static 1x5 and 3x5", {{{1, 5}, {1, 5}}, {{3, 5}, {3, 5}}}, {3, 5}},
    {"static 1 and 3", {{{1}, {1}}, {{3}, {3}}}, {3}},
    {"static both ways", {{{2, 1, 3}, {2, 1, 3}}, {{1, 4, 1}, {1, 4, 1}}}, {2, 4, 3}},
    {"static 2x3 and 4x3", {{{2, 3}, {2, 3}}, {{4, 3}, {4, 3}}}, {}, "dimension 0"},
    // One operand.
    {"unary open", {{{-1}, {7}}}, {7}},
    {"unary open of one", {{{-1}, {1}}}, {1}},
    {"unary 2x?", {{{2, -1}, {2, 6}}}, {2, 6}},
    // An open dimension becomes one that is known: of 5, or of 1.
    {"open to static, equal", {{{-1}, {5}}, {{5}, {5}}}, {5}},
    {"open to static, one", {{{-1}, {1}}, {{5}, {5}}}, {5}},
    {"open to static, neither", {{{-1}, {4}}, {{5}, {5}}}, {}, "dimension 0"},
    // One of 1 follows an open one, whatever that is.
    {"static to open", {{{1}, {1}}, {{-1}, {5}}}, {5}},
    {"static to open of one", {{{1}, {1}}, {{-1}, {1}}}, {1}},
    {"static to open, not one", {{{3}, {3}}, {{-1}, {5}}}, {}, "dimension 0"},
    // Both open.
    {"open, equal", {{{-1}, {6}}, {{-1}, {6}}}, {6}},
    {"open, first of one", {{{-1}, {1}}, {{-1}, {6}}}, {6}},
    {"open, second of one", {{{-1}, {6}}, {{-1}, {1}}}, {6}},
    {"open, both of one", {{{-1}, {1}}, {{-1}, {1}}}, {1}},
    {"open, unequal", {{{-1}, {6}}, {{-1}, {4}}}, {}, "dimension 0"},
    // Several dimensions.
    {"?x? and ?x?", {{{-1, -1}, {3, 4}}, {{-1, -1}, {3, 4}}}, {3, 4}},
    {"?x? and ?x?, first row", {{{-1, -1}, {1, 4}}, {{-1, -1}, {3, 4}}}, {3, 4}},
    {"?x? and ?x?, both ways", {{{-1, -1}, {3, 1}}, {{-1, -1}, {1, 4}}}, {3, 4}},
    {"?x? and ?x?, all of one", {{{-1, -1}, {3, 4}}, {{-1, -1}, {1, 1}}}, {3, 4}},
    {"?x? and ?x?, second unequal", {{{-1, -1}, {3, 4}}, {{-1, -1}, {3, 2}}}, {}, "dimension 1"},
    {"1x? and ?x?", {{{1, -1}, {1, 4}}, {{-1, -1}, {3, 4}}}, {3, 4}},
    {"1x? and ?x?, one column", {{{1, -1}, {1, 1}}, {{-1, -1}, {3, 4}}}, {3, 4}},
    {"2x? and ?x?", {{{2, -1}, {2, 5}}, {{-1, -1}, {2, 5}}}, {2, 5}},
    {"2x? and ?x?, one row", {{{2, -1}, {2, 5}}, {{-1, -1}, {1, 5}}}, {2, 5}},
    {"2x? and ?x?, both ways", {{{2, -1}, {2, 1}}, {{-1, -1}, {1, 5}}}, {2, 5}},
    {"2x2 and ?x?", {{{2, 2}, {2, 2}}, {{-1, -1}, {2, 2}}}, {2, 2}},
    {"2x2 and ?x?, a single one", {{{2, 2}, {2, 2}}, {{-1, -1}, {1, 1}}}, {2, 2}},
    {"?x2 and 2x?", {{{-1, 2}, {2, 2}}, {{2, -1}, {2, 2}}}, {2, 2}},
    {"?x2 and 2x?, of one", {{{-1, 2}, {1, 2}}, {{2, -1}, {2, 1}}}, {2, 2}},
    {"?x?x? in three ways", {{{-1, -1, -1}, {2, 1, 4}}, {{-1, -1, -1}, {1, 3, 4}}}, {2, 3, 4}},
    // Rank 0.
    {"scalars", {{{}, {}}, {{}, {}}}, {}},
    {"scalar and static", {{{}, {}}, {{3}, {3}}}, {3}},
    {"scalar and open", {{{}, {}}, {{-1, -1}, {2, 3}}}, {2, 3}},
    {"unary scalar", {{{}, {}}}, {}},
    // Unequal ranks.
    {"3x4 and 2x3x4", {{{3, 4}, {3, 4}}, {{2, 3, 4}, {2, 3, 4}}}, {2, 3, 4}},
    {"?x? and ?x?x?", {{{-1, -1}, {3, 4}}, {{-1, -1, -1}, {2, 3, 4}}}, {2, 3, 4}},
    {"? and ?x?x?, of one", {{{-1}, {1}}, {{-1, -1, -1}, {2, 3, 4}}}, {2, 3, 4}},
    {"?x?x? and ?, both ways", {{{-1, -1, -1}, {2, 3, 1}}, {{-1}, {4}}}, {2, 3, 4}},
    {"?x? and ?, unequal", {{{-1, -1}, {2, 3}}, {{-1}, {4}}}, {}, "dimension 1"},
    // Three operands.
    {"select, all equal", {{{-1, -1}, {2, 3}}, {{-1, -1}, {2, 3}}, {{-1, -1}, {2, 3}}}, {2, 3}},
    {"select, each its own way", {{{-1, 1}, {4, 1}}, {{1, -1}, {1, 3}}, {{-1, -1}, {4, 3}}}, {4, 3}},
    {"select, all of one but one", {{{-1, -1}, {1, 1}}, {{-1, -1}, {1, 1}}, {{-1, -1}, {5, 2}}}, {5, 2}},
    {"select, by the condition", {{{-1, -1}, {5, 2}}, {{-1, -1}, {1, 2}}, {{-1, -1}, {1, 1}}}, {5, 2}},
    {"select, unequal ranks", {{{-1}, {3}}, {{-1, -1}, {2, 3}}, {{}, {}}}, {2, 3}},
    {"select, unequal", {{{-1, -1}, {2, 3}}, {{-1, -1}, {2, 3}}, {{-1, -1}, {2, 4}}}, {}, "dimension 1"},
};

Bytes file_of(const Case& one) {
    test::TfliteBuilder builder;
    const auto tensor = [&](std::vector<std::int32_t> shape, bool is_bool) {
        test::TensorSpec spec{shape, is_bool ? tflite::TensorType::BOOL : tflite::TensorType::FLOAT32};
        spec.signature = shape;
        for (auto& dim : spec.shape) dim = std::max(dim, 1);
        return builder.tensor(spec);
    };
    std::vector<int> inputs;
    std::size_t rank = 0;
    for (const Operand& operand : one.operands) {
        inputs.push_back(tensor(operand.in_file, one.operands.size() == 3 && inputs.empty()));
        rank = std::max(rank, operand.in_file.size());
    }
    const int out = tensor(std::vector<std::int32_t>(rank, -1), false);
    if (inputs.size() == 2) {
        builder.op(B::ADD, inputs, {out}, tflite::BuiltinOptions::AddOptions,
                   tflite::CreateAddOptions(builder.fbb).Union());
    } else {
        builder.op(inputs.size() == 1 ? B::ABS : B::SELECT_V2, inputs, {out});
    }
    return builder.finish(inputs, {out});
}

/// Where an operand's element for element `at` of the result lies.
std::size_t element_of(const cpp::Shape& operand, const cpp::Shape& result, std::size_t at) {
    std::size_t place = 0, stride = 1;
    for (std::size_t k = 0; k < result.size(); ++k) {
        const auto dim = static_cast<std::size_t>(result[result.size() - 1 - k]);
        const std::size_t index = at % dim;
        at /= dim;
        if (k >= operand.size()) continue;
        const auto own = static_cast<std::size_t>(operand[operand.size() - 1 - k]);
        if (own > 1) place += index * stride;
        stride *= own;
    }
    return place;
}

std::size_t count_of(const cpp::Shape& shape) {
    std::size_t count = 1;
    for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
    return count;
}

/// Numbers that are told apart and added exactly.
float number(std::size_t operand, std::size_t k) {
    return operand % 2 == 0 ? -static_cast<float>(k) - 0.5f : 1000.0f * static_cast<float>(k + 1);
}
bool truth(std::size_t k) { return k % 3 != 1; }

std::vector<float> wanted(const Case& one) {
    std::vector<float> result(count_of(one.result));
    for (std::size_t at = 0; at < result.size(); ++at) {
        const auto of = [&](std::size_t k) { return element_of(one.operands[k].given, one.result, at); };
        switch (one.operands.size()) {
            case 1: result[at] = -number(0, of(0)); break;
            case 2: result[at] = number(0, of(0)) + number(1, of(1)); break;
            default: result[at] = truth(of(0)) ? number(1, of(1)) : number(2, of(2)); break;
        }
    }
    return result;
}

Bytes input_of(const Case& one, std::size_t k) {
    const std::size_t count = count_of(one.operands[k].given);
    if (one.operands.size() == 3 && k == 0) {
        Bytes bytes(count);
        for (std::size_t i = 0; i < count; ++i) bytes[i] = std::byte{truth(i)};
        return bytes;
    }
    Bytes bytes(4 * count);
    for (std::size_t i = 0; i < count; ++i) {
        const float value = number(k, i);
        std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
    return bytes;
}

TEST(BroadcastingGpu, IsDecidedOnceSizesAreKnown) {
    TOSAVK_NEEDS_DRIVER();
    const cpp::Device device;
    for (const Case& one : cases) {
        SCOPED_TRACE(one.name);
        const cpp::Model model = cpp::Model::open(file_of(one));
        cpp::Context context = model.context(device);
        cpp::Bindings bindings;
        std::vector<Bytes> inputs;
        for (std::uint32_t k = 0; k < one.operands.size(); ++k) {
            bindings.input_shapes.emplace_back(k, one.operands[k].given);
            context.set_input_shape(k, one.operands[k].given);
            inputs.push_back(input_of(one, k));
            context.set_input(k, inputs.back());
        }
        if (one.error) {
            for (const auto& call : {std::function<void()>([&] { model.graph(bindings); }),
                                     std::function<void()>([&] { context.run(); })}) {
                try {
                    call();
                    ADD_FAILURE() << "no error";
                } catch (const cpp::Error& e) {
                    EXPECT_EQ(e.status(), TOSAVK_ERROR_BAD_MODEL) << e.what();
                    EXPECT_NE(std::string(e.what()).find(one.error), std::string::npos) << e.what();
                }
            }
            continue;
        }
        const cpp::Graph graph = model.graph(bindings);
        EXPECT_EQ(cpp::shape_of(graph.output(0)), one.result);
        const std::vector<float> right = wanted(one);
        std::vector<float> reference(right.size()), got(right.size());
        const std::vector<Bytes> outputs = graph.reference_run(inputs);
        ASSERT_EQ(outputs[0].size(), 4 * right.size());
        std::memcpy(reference.data(), outputs[0].data(), outputs[0].size());
        EXPECT_EQ(reference, right);
        context.run();
        EXPECT_EQ(cpp::shape_of(context.output_info(0)), one.result);
        context.get_output(0, std::as_writable_bytes(std::span(got)));
        EXPECT_EQ(got, right);
    }
}

}  // namespace

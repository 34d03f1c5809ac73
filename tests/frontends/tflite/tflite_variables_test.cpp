// Resource variables: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and the subgraph of CALL_ONCE.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

TensorSpec resource() { return {{}, TensorType::RESOURCE}; }

void handle(TfliteBuilder& t, int tensor, const char* name) {
    t.op(B::VAR_HANDLE, {}, {tensor}, BuiltinOptions::VarHandleOptions,
         CreateVarHandleOptions(t.fbb, 0, t.fbb.CreateString(name)).Union());
}

void call_once(TfliteBuilder& t, int subgraph) {
    t.op(B::CALL_ONCE, {}, {}, BuiltinOptions::CallOnceOptions, CreateCallOnceOptions(t.fbb, subgraph).Union());
}

/// Two subgraphs of one variable: the first gives it `initial` + `initial`, the graph answers with what it holds and
/// adds its input.
Bytes accumulator(const TensorSpec& type, const Bytes& initial, const TensorSpec& read_as) {
    TfliteBuilder t;
    {
        const int name = t.tensor(resource()), value = t.constant(type, initial), twice = t.tensor(type);
        handle(t, name, "sum");
        t.op(B::ADD, {value, value}, {twice});
        t.op(B::ASSIGN_VARIABLE, {name, twice}, {});
    }
    const int once = t.end_subgraph({}, {}, "init");
    const int x = t.tensor(type), name = t.tensor(resource()), held = t.tensor(read_as), next = t.tensor(type);
    call_once(t, once);
    handle(t, name, "sum");
    t.op(B::READ_VARIABLE, {name}, {held});
    t.op(B::ADD, {held, x}, {next});
    t.op(B::ASSIGN_VARIABLE, {name, next}, {});
    return t.finish({x}, {held});
}

std::vector<Ints> steps(const Graph& graph, const std::vector<Ints>& inputs, DType type) {
    VariableState state;
    std::vector<Ints> results;
    for (const Ints& values : inputs) {
        HostTensor x(type, {static_cast<std::int64_t>(values.size())});
        x.bytes = encode_ints(type, values);
        results.push_back(ints(reference_run(graph, std::vector{x}, false, &state).at(0)));
    }
    return results;
}

TEST(TfliteVariables, KeepWhatIsAssigned) {
    const TensorSpec i32{{3}, TensorType::INT32};
    const Graph graph = import_tflite(accumulator(i32, encode_ints(DType::i32, Ints{1, 2, -3}), i32), ImportOptions{});
    ASSERT_EQ(graph.variables.size(), 1u);
    EXPECT_EQ(graph.variables[0].name, "sum");
    EXPECT_EQ(steps(graph, {{10, 20, 30}, {1, 1, 1}, {0, 0, 0}}, DType::i32),
              (std::vector<Ints>{{2, 4, -6}, {12, 24, 24}, {13, 25, 25}}));
    // A run of its own begins anew.
    EXPECT_EQ(steps(graph, {{5, 5, 5}}, DType::i32), (std::vector<Ints>{{2, 4, -6}}));
}

TEST(TfliteVariables, OfUnsignedBytes) {
    // Scale 1, zero point 100: stored numbers are 100 more than what they mean.
    const TensorSpec u8{{2}, TensorType::UINT8, {1}, {100}};
    Bytes initial{std::byte{101}, std::byte{200}};
    const Graph graph = import_tflite(accumulator(u8, initial, u8), ImportOptions{});
    EXPECT_EQ(graph.value(graph.inputs[0]).declared, HostKind::u8);
    EXPECT_EQ(graph.value(graph.outputs[0]).declared, HostKind::u8);
    const auto results = steps(graph, {{105, 90}, {100, 100}}, DType::i8);
    const auto unsigned_of = [](Ints v) {
        for (auto& x : v) x &= 255;
        return v;
    };
    EXPECT_EQ(unsigned_of(results[0]), (Ints{102, 255}));  // 2 * 1, and 2 * 100, which saturates
    EXPECT_EQ(unsigned_of(results[1]), (Ints{107, 245}));
}

TEST(TfliteVariables, MistakesAreTold) {
    const TensorSpec i32{{3}, TensorType::INT32};
    const Bytes initial = encode_ints(DType::i32, Ints{1, 2, 3});
    expect_error(accumulator(i32, initial, {{4}, TensorType::INT32}), ErrorCode::unsupported,
                 "the variable has shape 3, but its reader 4");
    expect_error(accumulator(i32, initial, {{3}, TensorType::INT8, {1}, {0}}), ErrorCode::unsupported,
                 "READ_VARIABLE (node 2");
    {
        TfliteBuilder t;
        const int name = t.tensor(resource()), held = t.tensor(i32);
        handle(t, name, "never");
        t.op(B::READ_VARIABLE, {name}, {held});
        expect_error(t.finish({}, {held}), ErrorCode::unsupported,
                     "variable 'never' is read, but nothing has given it a value before");
    }
    {
        TfliteBuilder t;
        const int name = t.tensor(resource()), held = t.tensor(i32);
        t.op(B::READ_VARIABLE, {name}, {held});
        expect_error(t.finish({}, {held}), ErrorCode::unsupported, "is no variable that VAR_HANDLE names");
    }
    {
        TfliteBuilder t;
        const int x = t.tensor(i32), y = t.tensor({{2}, TensorType::INT32}), name = t.tensor(resource());
        handle(t, name, "v");
        t.op(B::ASSIGN_VARIABLE, {name, x}, {});
        t.op(B::ASSIGN_VARIABLE, {name, y}, {});
        expect_error(t.finish({x, y}, {x}), ErrorCode::unsupported, "variable 'v' is i32 3, but is assigned i32 2");
    }
    {
        TfliteBuilder t;
        const int x = t.tensor(i32);
        call_once(t, 7);
        expect_error(t.finish({x}, {x}), ErrorCode::bad_model, "CALL_ONCE");
    }
    {
        TfliteBuilder t;
        t.tensor(resource());
        call_once(t, 1);  // its own subgraph
        const int once = t.end_subgraph({}, {}, "init");
        const int x = t.tensor(i32);
        call_once(t, once);
        expect_error(t.finish({x}, {x}), ErrorCode::unsupported, "within another subgraph it is not supported");
    }
}

TEST(TfliteInt64, WhatMayNeedMoreThan32BitsIsAPairOfWords) {
    const TensorSpec i64{{2}, TensorType::INT64};
    const Bytes big = encode_ints(DType::i48, Ints{1, (std::int64_t{1} << 33) + 7});
    const Bytes small = encode_ints(DType::i48, Ints{1, -2});
    for (const bool fits : {true, false}) {
        TfliteBuilder t;
        const int x = t.tensor(i64), k = t.constant(i64, fits ? small : big), y = t.tensor(i64);
        t.op(B::MAXIMUM, {x, k}, {y});
        const Graph graph = import_tflite(t.finish({x}, {y}), ImportOptions{});
        EXPECT_EQ(graph.value(graph.inputs[0]).declared, HostKind::i64);
        EXPECT_EQ(graph.value(graph.outputs[0]).declared, fits ? HostKind::i64 : HostKind::i64_words);
        EXPECT_EQ(steps(graph, {{-5, -7}}, DType::i32), (std::vector<Ints>{fits ? Ints{1, -2} : Ints{1, 0, 7, 2}}));
    }
    // Whatever has no arithmetic of such pairs says so, and so does what keeps them.
    const auto after = [&](B code, bool of_sum) {
        TfliteBuilder t;
        const int x = t.tensor(i64), sum = t.tensor(i64), y = t.tensor(i64);
        t.op(B::ADD, {x, x}, {sum});
        t.op(code, {of_sum ? sum : x, of_sum ? x : sum}, {y});
        return t.finish({x}, {y});
    };
    EXPECT_EQ(steps(import_tflite(after(B::SUB, true), ImportOptions{}), {{1 << 30, -(1 << 30)}}, DType::i32),
              (std::vector<Ints>{{1 << 30, 0, -(1 << 30), -1}}));
    expect_error(after(B::FLOOR_MOD, true), ErrorCode::unsupported, "may need more than 32 bits");
    expect_error(after(B::FLOOR_DIV, false), ErrorCode::unsupported, "its INT64 result may need more than 32 bits");
}

}  // namespace
}  // namespace tosavk

// WHILE, IF and the comparisons that make their conditions in .tflite models.
#include "frontends/frontend.hpp"
#include "ops/compare.hpp"
#include "reference/reference.hpp"
#include "support/tflite_builder.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tosavk {
namespace {

using test::TensorSpec;
using test::TfliteBuilder;
using B = tflite::BuiltinOperator;
using O = tflite::BuiltinOptions;
using T = tflite::TensorType;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

const TensorSpec number{{1}, T::INT32}, truth{{1}, T::BOOL}, pair{{1, 2}, T::FLOAT32};

HostTensor ints(DType type, const Shape& shape, const Ints& values) {
    HostTensor t(type, shape);
    t.bytes = encode_ints(type, values);
    return t;
}
HostTensor reals(const Shape& shape, const Reals& values) {
    HostTensor t(DType::fp32, shape);
    t.bytes = encode_reals(DType::fp32, values);
    return t;
}
Bytes float_bytes(const Reals& values) { return encode_reals(DType::fp32, values); }
Reals real_values(const HostTensor& t) { return decode_reals(t.type, t.bytes); }

void add_while(TfliteBuilder& m, const std::vector<int>& inputs, const std::vector<int>& outputs, int cond, int body) {
    m.op(B::WHILE, inputs, outputs, O::WhileOptions, tflite::CreateWhileOptions(m.fbb, cond, body).Union());
}
void add_if(TfliteBuilder& m, const std::vector<int>& inputs, const std::vector<int>& outputs, int then_graph,
            int else_graph) {
    m.op(B::IF, inputs, outputs, O::IfOptions, tflite::CreateIfOptions(m.fbb, then_graph, else_graph).Union());
}

/// i < n, of a list of (i, n, x, weight).
int add_less(TfliteBuilder& m) {
    const int i = m.tensor(number), n = m.tensor(number), x = m.tensor(pair), w = m.tensor({{2, 2}, T::FLOAT32});
    const int less = m.tensor(truth);
    m.op(B::LESS, {i, n}, {less});
    return m.end_subgraph({i, n, x, w}, {less}, "less");
}

/// x through FULLY_CONNECTED n times: the weights are a constant that the loop hands on.
Bytes dense_loop(bool hands_weight_on = true) {
    TfliteBuilder m;
    const int cond = add_less(m);
    const int i = m.tensor(number), n = m.tensor(number), x = m.tensor(pair), w = m.tensor({{2, 2}, T::FLOAT32});
    const int one = m.constant_i32({1}, {1}), next = m.tensor(number), y = m.tensor(pair),
              other = m.tensor({{2, 2}, T::FLOAT32});
    m.op(B::ADD, {i, one}, {next});
    m.op(B::FULLY_CONNECTED, {x, w, -1}, {y});
    if (!hands_weight_on) m.op(B::ADD, {w, w}, {other});
    const int body = m.end_subgraph({i, n, x, w}, {next, n, y, hands_weight_on ? w : other}, "body");
    const int zero = m.constant_i32({1}, {0}), times = m.tensor(number), start = m.tensor(pair);
    const int weight = m.constant({{2, 2}, T::FLOAT32}, float_bytes({0, 1, 2, 0}));
    const int end[] = {m.tensor(number), m.tensor(number), m.tensor(pair), m.tensor({{2, 2}, T::FLOAT32})};
    add_while(m, {zero, times, start, weight}, {end[0], end[1], end[2], end[3]}, cond, body);
    return m.finish({times, start}, {end[2], end[0]});
}

TEST(TfliteControl, ALoopWithConstantsThatItHandsOn) {
    const Graph graph = import_model(dense_loop(), "m.tflite", {});
    const Reals expected[] = {{3, 5}, {5, 6}, {6, 10}, {10, 12}};
    for (std::int64_t n = 0; n < 4; ++n) {
        const auto out =
            reference_run(graph, std::vector<HostTensor>{ints(DType::i32, {1}, {n}), reals({1, 2}, {3, 5})});
        EXPECT_EQ(real_values(out[0]), expected[n]);
        EXPECT_EQ(decode_ints(DType::i32, out[1].bytes), Ints{n});
    }
    EXPECT_EQ(graph_difference(graph, import_model(write_tosa(graph), "m.tosa", {})), "")
        << "the way through a .tosa file";
}

TEST(TfliteControl, WeightsThatChangeAreNoConstants) {
    const Graph graph = import_model(dense_loop(false), "m.tflite", {});
    const auto out = reference_run(graph, std::vector<HostTensor>{ints(DType::i32, {1}, {2}), reals({1, 2}, {3, 5})});
    // (3, 5) by (0 1; 2 0) is (5, 6); by twice that, (12, 20).
    EXPECT_EQ(real_values(out[0]), (Reals{12, 20}));
}

/// condition ? a + b : (other ? a * b : b), where `other` is a > b of the first elements' comparison inside.
TEST(TfliteControl, BranchesInBranches) {
    TfliteBuilder m;
    const auto region = [&](const std::function<int(int, int)>& result, const std::string& name) {
        const int a = m.tensor(pair), b = m.tensor(pair);
        const int r = result(a, b);
        return m.end_subgraph({a, b}, {r}, name);
    };
    const auto computed = [&](B code) {
        return [&m, code](int a, int b) {
            const int r = m.tensor(pair);
            m.op(code, {a, b}, {r});
            return r;
        };
    };
    const int sum = region(computed(B::ADD), "sum"), product = region(computed(B::MUL), "product");
    const int same = region([](int, int b) { return b; }, "same");
    const int chosen = region(
        [&](int a, int b) {
            const int greater = m.tensor({{1, 2}, T::BOOL}), top = m.tensor({{1, 1}, T::BOOL}), r = m.tensor(pair);
            m.op(B::GREATER, {a, b}, {greater});
            m.op(B::SLICE, {greater, m.indices({0, 0}), m.indices({1, 1})}, {top});
            add_if(m, {top, a, b}, {r}, product, same);
            return r;
        },
        "chosen");
    const int condition = m.tensor({{}, T::BOOL}), a = m.tensor(pair), b = m.tensor(pair), r = m.tensor(pair);
    add_if(m, {condition, a, b}, {r}, sum, chosen);
    const Graph graph = import_model(m.finish({condition, a, b}, {r}), "m.tflite", {});
    const auto run = [&](bool c, const Reals& x, const Reals& y) {
        return real_values(reference_run(
            graph, std::vector<HostTensor>{ints(DType::boolean, {}, {c}), reals({1, 2}, x), reals({1, 2}, y)})[0]);
    };
    EXPECT_EQ(run(true, {1, 2}, {5, 7}), (Reals{6, 9}));
    EXPECT_EQ(run(false, {6, 2}, {5, 7}), (Reals{30, 14}));
    EXPECT_EQ(run(false, {1, 2}, {5, 7}), (Reals{5, 7}));
}

TEST(TfliteControl, ComparisonsAndLogic) {
    const auto results = [](B code, const TensorSpec& spec, const HostTensor& x, const HostTensor& y) {
        TfliteBuilder m;
        const int a = m.tensor(spec), b = m.tensor(spec), r = m.tensor({spec.shape, T::BOOL});
        m.op(code, {a, b}, {r});
        const Graph graph = import_model(m.finish({a, b}, {r}), "m.tflite", {});
        const HostTensor out = reference_run(graph, std::vector<HostTensor>{x, y})[0];
        return decode_ints(out.type, out.bytes);
    };
    const std::pair<B, Ints> table[] = {{B::LESS, {1, 0, 0}},    {B::LESS_EQUAL, {1, 1, 0}},
                                        {B::GREATER, {0, 0, 1}}, {B::GREATER_EQUAL, {0, 1, 1}},
                                        {B::EQUAL, {0, 1, 0}},   {B::NOT_EQUAL, {1, 0, 1}}};
    for (const auto& [code, expected] : table) {
        SCOPED_TRACE(tflite::EnumNameBuiltinOperator(code));
        EXPECT_EQ(results(code, {{3}, T::INT32}, ints(DType::i32, {3}, {1, 2, 3}), ints(DType::i32, {3}, {2, 2, 2})),
                  expected);
        EXPECT_EQ(results(code, {{3}, T::FLOAT32}, reals({3}, {-1, 0.5, 3}), reals({3}, {0.5, 0.5, 0.5})), expected);
        EXPECT_EQ(results(code, {{3}, T::INT8, {0.5f}, {3}}, ints(DType::i8, {3}, {-9, 2, 3}),
                          ints(DType::i8, {3}, {2, 2, 2})),
                  expected);
    }
    const HostTensor x = ints(DType::boolean, {4}, {0, 0, 1, 1}), y = ints(DType::boolean, {4}, {0, 1, 0, 1});
    const TensorSpec logic{{4}, T::BOOL};
    EXPECT_EQ(results(B::LOGICAL_AND, logic, x, y), (Ints{0, 0, 0, 1}));
    EXPECT_EQ(results(B::LOGICAL_OR, logic, x, y), (Ints{0, 1, 1, 1}));
    EXPECT_EQ(results(B::EQUAL, logic, x, y), (Ints{1, 0, 0, 1}));
}

/// Files record some shape inside of a subgraph; what counts is what it is given.
TEST(TfliteControl, ShapesOfSubgraphsAreThoseOfTheOperands) {
    TfliteBuilder m;
    const TensorSpec recorded{{1, 1}, T::INT32};
    const int n0 = m.tensor(number), x0 = m.tensor(recorded), go = m.tensor(truth);
    m.op(B::GREATER, {n0, m.constant_i32({1}, {0})}, {go});
    const int cond = m.end_subgraph({n0, x0}, {go}, "cond");
    const int n1 = m.tensor(number), x1 = m.tensor(recorded), less = m.tensor(number), twice = m.tensor(recorded);
    m.op(B::SUB, {n1, m.constant_i32({1}, {1})}, {less});
    m.op(B::ADD, {x1, x1}, {twice});
    const int body = m.end_subgraph({n1, x1}, {less, twice}, "body");
    const int n = m.tensor(number), x = m.tensor({{2, 2}, T::INT32}), left = m.tensor(number),
              y = m.tensor({{2, 2}, T::INT32});
    add_while(m, {n, x}, {left, y}, cond, body);
    const HostTensor times = ints(DType::i32, {1}, {3}), from = ints(DType::i32, {2, 2}, {1, 2, 3, -4});
    const Graph graph = import_model(m.finish({n, x}, {y}), "m.tflite", {});
    const HostTensor got = reference_run(graph, std::vector<HostTensor>{times, from}).at(0);
    EXPECT_EQ(got.shape, (Shape{2, 2}));
    EXPECT_EQ(decode_ints(got.type, got.bytes), (Ints{8, 16, 24, -32}));
}

TEST(TfliteControl, RefusesSubgraphsThatDoNotFit) {
    const auto expect = [](const std::string& part, const std::function<Bytes(TfliteBuilder&)>& build) {
        TfliteBuilder m;
        try {
            import_model(build(m), "m.tflite", {});
            ADD_FAILURE() << "imported; expected: " << part;
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::bad_model) << e.what();
            EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
        }
    };
    const auto same = [](TfliteBuilder& m, const TensorSpec& spec, std::size_t count = 1) {
        std::vector<int> ids;
        for (std::size_t k = 0; k < count; ++k) ids.push_back(m.tensor(spec));
        return m.end_subgraph(ids, ids, "same");
    };
    const auto with_if = [](TfliteBuilder& m, int then_graph, int else_graph) {
        const int c = m.tensor(truth), x = m.tensor(number), y = m.tensor(number);
        add_if(m, {c, x}, {y}, then_graph, else_graph);
        return m.finish({c, x}, {y});
    };
    expect("names subgraph 7, but there are 2", [&](TfliteBuilder& m) { return with_if(m, same(m, number), 7); });
    expect("names subgraph 0", [&](TfliteBuilder& m) { return with_if(m, same(m, number), 0); });
    expect("names subgraph -1", [&](TfliteBuilder& m) { return with_if(m, -1, same(m, number)); });
    expect("subgraph 1 has 2 inputs, but the operator gives 1", [&](TfliteBuilder& m) {
        const int two = same(m, number, 2);
        return with_if(m, two, two);
    });
    expect("is FLOAT32, but the operator gives i32", [&](TfliteBuilder& m) {
        const int other = same(m, {{1}, T::FLOAT32});
        return with_if(m, other, other);
    });
    expect("nested", [&](TfliteBuilder& m) {
        const int c = m.tensor(truth), x = m.tensor(number), y = m.tensor(number);
        add_if(m, {c, c, x}, {y}, 1, 1);  // the subgraph itself
        m.end_subgraph({c, x}, {y}, "endless");
        const int c0 = m.tensor(truth), x0 = m.tensor(number), y0 = m.tensor(number);
        add_if(m, {c0, c0, x0}, {y0}, 1, 1);
        return m.finish({c0, x0}, {y0});
    });
    expect("must give bool of one element", [&](TfliteBuilder& m) {
        const int other = same(m, number);
        const int x = m.tensor(number), y = m.tensor(number);
        add_while(m, {x}, {y}, other, other);
        return m.finish({x}, {y});
    });
    expect("it lacks its options", [&](TfliteBuilder& m) {
        same(m, number);
        const int x = m.tensor(number), y = m.tensor(number);
        m.op(B::WHILE, {x}, {y});
        return m.finish({x}, {y});
    });
}

}  // namespace
}  // namespace tosavk

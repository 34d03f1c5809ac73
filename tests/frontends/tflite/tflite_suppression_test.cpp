// NON_MAX_SUPPRESSION_V4 and V5, and subgraphs that stand where CALL names them: small models run by the reference.
#include "support/tflite_operands.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

using Reals = std::vector<double>;

Operand number(float value) { return {f32({}), encode_reals(DType::fp32, Reals{static_cast<double>(value)})}; }

// Equal areas: halves of the first box, one that is far, and one whose corners are the other way round.
const HostTensor boxes = tensor_of({5, 4}, {0, 0, 2, 2, 0, 0, 2, 1, 0, 1, 2, 2, 9, 9, 8, 8, 0.5, 0, 2.5, 2});

std::vector<HostTensor> suppressed(const Reals& scores, std::int64_t room, float overlap, float least) {
    const Bytes model = model_of(B::NON_MAX_SUPPRESSION_V4,
                                 {{f32({5, 4})}, {f32({5})}, known_number(room), number(overlap), number(least)},
                                 {i32({room}), i32({})});
    return run(model, {boxes, tensor_of({5}, scores)});
}

TEST(TfliteSuppression, TakesTheBestThatDoesNotOverlap) {
    auto got = suppressed({0.9, 0.8, 0.7, 0.1, 0.85}, 4, 0.5f, 0);
    EXPECT_EQ(ints(got.at(0)), (Ints{0, 3, 0, 0}));  // an overlap of just the limit is too much
    EXPECT_EQ(ints(got.at(1)), Ints{2});
    got = suppressed({0.9, 0.8, 0.7, 0.1, 0.85}, 4, 0.55f, 0);
    EXPECT_EQ(ints(got.at(0)), (Ints{0, 1, 2, 3}));
    got = suppressed({0.5, 0.5, 0.25, 0.5, 0}, 2, 0.25f, 0.3f);
    EXPECT_EQ(ints(got.at(0)), (Ints{0, 3}));  // the first of equal ones
    got = suppressed({0.5, 0.5, 0.5, 0.5, 0.5}, 3, 0.25f, 0.5f);
    EXPECT_EQ(ints(got.at(0)), (Ints{0, 0, 0}));
    EXPECT_EQ(ints(got.at(1)), Ints{0});
}

TEST(TfliteSuppression, ScoresThatDecay) {
    const Bytes model = model_of(B::NON_MAX_SUPPRESSION_V5,
                                 {{f32({5, 4})}, {f32({5})}, known_number(5), number(1), number(0.2f), number(0.5f)},
                                 {i32({5}), f32({5}), i32({})});
    const auto got = run(model, {boxes, tensor_of({5}, {0.9, 0.8, 0.3, 0.4, 0})});
    // exp(-overlap^2 / (2 * 0.5)) of the first box' half is left of both halves.
    EXPECT_EQ(ints(got.at(0)), (Ints{0, 1, 3, 2, 0}));
    const Reals left = reals(got.at(1));
    EXPECT_NEAR(left.at(1), 0.8 * std::exp(-0.25), 1e-6);
    EXPECT_NEAR(left.at(3), 0.3 * std::exp(-0.25), 1e-6);
    EXPECT_EQ(left.at(4), 0);
    EXPECT_EQ(ints(got.at(2)), Ints{4});
}

TEST(TfliteSuppression, WhatIsRefused) {
    const auto model = [](const Operand& room, const Shape& scores) {
        return model_of(B::NON_MAX_SUPPRESSION_V4, {{f32({5, 4})}, {f32(dims(scores))}, room, number(0.5f), number(0)},
                        {i32({2}), i32({})});
    };
    expect_error(model({i32({})}, {5}), ErrorCode::unsupported, "must be a constant");
    expect_error(model(known_number(0), {5}), ErrorCode::unsupported, "to choose 0 boxes is not supported");
    expect_error(model(known_number(2), {4}), ErrorCode::bad_model, "boxes 5x4 and scores 4");
}

/// y = the subgraph of x, which is a + 2 * a.
Bytes calling(const Shape& inside, std::uint32_t subgraph = 1) {
    TfliteBuilder t;
    const int a = t.tensor(i32(inside)), twice = t.tensor(i32(inside)), sum = t.tensor(i32(inside));
    t.op(B::MUL, {a, t.constant_i32({}, {2})}, {twice});
    t.op(B::ADD, {a, twice}, {sum});
    t.end_subgraph({a}, {sum}, "sum");
    const int x = t.tensor(i32({3})), y = t.tensor(i32({3})), z = t.tensor(i32({3}));
    t.op(B::CALL, {x}, {y}, BuiltinOptions::CallOptions, CreateCallOptions(t.fbb, subgraph).Union());
    t.op(B::CALL, {y}, {z}, BuiltinOptions::CallOptions, CreateCallOptions(t.fbb, subgraph).Union());
    return t.finish({x}, {z});
}

TEST(TfliteCall, StandsWhereItIsCalled) {
    EXPECT_EQ(ints(run(calling({3}), {tensor_of(DType::i32, {3}, Ints{1, -2, 5})}).at(0)), (Ints{9, -18, 45}));
    EXPECT_EQ(ints(run(calling({1}), {tensor_of(DType::i32, {3}, Ints{1, -2, 5})}).at(0)), (Ints{9, -18, 45}))
        << "a subgraph's shapes are those that it is given";
    expect_error(calling({3}, 2), ErrorCode::bad_model, "names subgraph 2, but there are 2");
    TfliteBuilder t;  // a subgraph that calls itself
    const int a = t.tensor(i32({1})), b = t.tensor(i32({1}));
    t.op(B::CALL, {a}, {b}, BuiltinOptions::CallOptions, CreateCallOptions(t.fbb, 1).Union());
    t.end_subgraph({a}, {b}, "again");
    const int x = t.tensor(i32({1})), y = t.tensor(i32({1}));
    t.op(B::CALL, {x}, {y}, BuiltinOptions::CallOptions, CreateCallOptions(t.fbb, 1).Union());
    expect_error(t.finish({x}, {y}), ErrorCode::bad_model, "subgraphs are nested");
}

}  // namespace
}  // namespace tosavk

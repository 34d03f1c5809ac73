// What files hold that converters and microcontroller tools wrote, beyond what the format's description says.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

Options depthwise(TfliteBuilder& t) {
    return {BuiltinOptions::DepthwiseConv2DOptions,
            CreateDepthwiseConv2DOptions(t.fbb, Padding::VALID, 1, 1, 1, Act::NONE, 1, 1).Union()};
}

/// A depthwise convolution by 2 x 2 weights of three channels, with a bias whose quantization is `axis` and `scales`.
Bytes depthwise_model(std::int32_t axis, const std::vector<float>& scales) {
    TfliteBuilder t;
    const std::vector<float> weight_scale{0.5f, 0.25f, 0.125f};
    const TensorSpec x = i8({1, 4, 4, 3}, 0.5f, 3), y = i8({1, 3, 3, 3}, 2, -1);
    TensorSpec w{{1, 2, 2, 3}, TensorType::INT8, weight_scale, {0, 0, 0}, 3};
    TensorSpec b{{3}, TensorType::INT32, scales, std::vector<std::int64_t>(scales.size(), 0), axis};
    const int in = t.tensor(x), weight = t.constant(w, random_i8({1, 2, 2, 3}).bytes),
              bias = t.constant(b, encode_ints(DType::i32, Ints{100, -200, 300})), out = t.tensor(y);
    const Options options = depthwise(t);
    t.op(B::DEPTHWISE_CONV_2D, {in, weight, bias}, {out}, options.first, options.second);
    return t.finish({in}, {out});
}

TEST(TfliteRealFiles, TheQuantizationOfABiasMeansNothing) {
    const auto x = random_i8({1, 4, 4, 3});
    random_source().seed(5);
    const Ints plain = ints(run(depthwise_model(0, {0.25f, 0.125f, 0.0625f}), {x}).at(0));
    random_source().seed(5);
    EXPECT_EQ(ints(run(depthwise_model(3, {0.25f, 0.125f, 0.0625f}), {x}).at(0)), plain);
    random_source().seed(5);
    EXPECT_EQ(ints(run(depthwise_model(0, {0.25f, 0.125f}), {x}).at(0)), plain);
}

TEST(TfliteRealFiles, WhatIsUsedMustBeQuantizedRightly) {
    TensorSpec x{{2, 3}, TensorType::INT8, {1, 2, 3}, {0, 0, 0}, 5};
    expect_error(one_op(B::RELU, {x}, i8({2, 3})), ErrorCode::bad_model,
                 "RELU (node 0, 't1'): tensor 0 't0' is quantized along dimension 5, but has rank 2");
    x.axis = 0;
    expect_error(one_op(B::RELU, {x}, i8({2, 3})), ErrorCode::bad_model, "has 3 scales for 2 channels");
    x.scale = {1}, x.zero_point = {1, 2};
    expect_error(one_op(B::RELU, {x}, i8({2, 3})), ErrorCode::bad_model, "has 2 zero points and 1 scales");
}

TEST(TfliteRealFiles, ATensorIsWrittenTwice) {
    // u = x + x; v = u + x; u = v + u (from itself); w = u + x
    TfliteBuilder t;
    const int x = t.tensor(f32({3})), u = t.tensor(f32({3})), v = t.tensor(f32({3})), w = t.tensor(f32({3}));
    t.op(B::ADD, {x, x}, {u});
    t.op(B::ADD, {u, x}, {v});
    t.op(B::ADD, {v, u}, {u});
    t.op(B::ADD, {u, x}, {w});
    const Bytes model = t.finish({x}, {w, u, v});
    const auto in = random_f32({3});
    const auto out = run(model, {in});
    for (std::size_t i = 0; i < 3; ++i) {
        const double value = static_cast<double>(in.as<float>()[i]);
        EXPECT_NEAR(static_cast<double>(out[0].as<float>()[i]), 6 * value, 1e-5);
        EXPECT_NEAR(static_cast<double>(out[1].as<float>()[i]), 5 * value, 1e-5);
        EXPECT_NEAR(static_cast<double>(out[2].as<float>()[i]), 3 * value, 1e-5);
    }
    const Graph graph = import_tflite(model, {});
    EXPECT_EQ(graph.value(graph.outputs[1]).name, "t1");
}

TEST(TfliteRealFiles, AnInputIsWritten) {
    TfliteBuilder t;
    const int x = t.tensor(f32({3})), y = t.tensor(f32({3}));
    t.op(B::ADD, {x, x}, {x});
    t.op(B::ADD, {x, x}, {y});
    const auto in = random_f32({3});
    const auto out = run(t.finish({x}, {y}), {in});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(out[0].as<float>()[i], 4 * in.as<float>()[i]);
}

/// The body lists one tensor as its input and its output, and writes it in between: it is not handed on as it is.
TEST(TfliteRealFiles, ALoopWritesItsInput) {
    TfliteBuilder t;
    const TensorSpec number{{1}, TensorType::INT32, {}, {}};
    const int ci = t.tensor(number), cx = t.tensor(number), go = t.tensor({{1}, TensorType::BOOL, {}, {}});
    t.op(B::LESS, {ci, t.indices({5})}, {go});
    const int cond = t.end_subgraph({ci, cx}, {go}, "cond");
    const int bi = t.tensor(number), bx = t.tensor(number);
    t.op(B::ADD, {bi, t.indices({1})}, {bi});
    t.op(B::ADD, {bx, bx}, {bx});
    const int body = t.end_subgraph({bi, bx}, {bi, bx}, "body");
    const int zero = t.indices({0}), three = t.indices({3}), n = t.tensor(number), y = t.tensor(number);
    const auto options = CreateWhileOptions(t.fbb, cond, body).Union();
    t.op(B::WHILE, {zero, three}, {n, y}, BuiltinOptions::WhileOptions, options);
    const int x = t.tensor(number), sum = t.tensor(number);
    t.op(B::ADD, {x, y}, {sum});
    HostTensor in(DType::i32, {1});
    in.bytes = encode_ints(DType::i32, Ints{1000});
    EXPECT_EQ(ints(run(t.finish({x}, {sum}), {in}).at(0)), Ints{1000 + 3 * 32});
}

TEST(TfliteRealFiles, AConstantIsAnOutput) {
    TfliteBuilder t;
    const int x = t.tensor(i8({2}, 0.5f)), y = t.tensor(i8({2}, 0.5f));
    TensorSpec spec = i8({3}, 0.5f, 4);
    spec.name = "anchors";
    const int c = t.constant(spec, encode_ints(DType::i8, Ints{-1, 0, 7}));
    t.op(B::RELU, {x}, {y});
    const Bytes model = t.finish({x}, {c, y, c});
    const auto out = run(model, {random_i8({2})});
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(ints(out[0]), (Ints{-1, 0, 7}));
    EXPECT_EQ(ints(out[2]), (Ints{-1, 0, 7}));
    const Graph graph = import_tflite(model, {});
    const Value& v = graph.value(graph.outputs[0]);
    EXPECT_EQ(v.name, "anchors");
    EXPECT_EQ(v.scale, 0.5);
    EXPECT_EQ(v.zero_point, 4);

    TfliteBuilder wide;
    const int p = wide.tensor(f32({2})), q = wide.tensor(f32({2}));
    const int big = wide.constant({{1}, TensorType::FLOAT64, {}, {}}, Bytes(8));
    wide.op(B::RELU, {p}, {q});
    expect_error(wide.finish({p}, {q, big}), ErrorCode::unsupported, "TFLite graph output 1: type FLOAT64 of tensor 2");

    TfliteBuilder branch;
    const int kept = branch.constant({{1}, TensorType::FLOAT64, {}, {}}, Bytes(8));
    const int only = branch.end_subgraph({}, {kept}, "only");
    const int cond = branch.tensor({{1}, TensorType::BOOL, {}, {}}), made = branch.tensor(f32({1}));
    const auto options = CreateIfOptions(branch.fbb, only, only).Union();
    branch.op(B::IF, {cond}, {made}, BuiltinOptions::IfOptions, options);
    expect_error(branch.finish({cond}, {made}), ErrorCode::unsupported,
                 "TFLite subgraph 1's output 0: type FLOAT64 of tensor 0");
}

TEST(TfliteRealFiles, ReshapeByAShapeWithoutEntries) {
    const auto model = [](std::vector<std::int32_t> from, std::vector<std::int32_t> to,
                          std::vector<std::int32_t> signature = {}) {
        TfliteBuilder t;
        TensorSpec in = f32(std::move(from));
        in.signature = std::move(signature);
        const int x = t.tensor(in), shape = t.tensor({{0}, TensorType::INT32, {}, {}}),
                  y = t.tensor(f32(std::move(to)));
        t.op(B::RESHAPE, {x, shape}, {y});
        return t.finish({x}, {y});
    };
    EXPECT_EQ(run(model({1, 1}, {}), {random_f32({1, 1})}).at(0).shape, Shape{});
    EXPECT_EQ(run(model({1, 1}, {1}), {random_f32({1, 1})}).at(0).shape, Shape{});
    EXPECT_EQ(run(model({2, 3}, {6}), {random_f32({2, 3})}).at(0).shape, Shape{6});
    EXPECT_EQ(
        run(model({1, 3}, {1, 3, 1}, {-1, 3}), {random_f32({4, 3})}, TfliteRounding::tflite, {{0, {4, 3}}}).at(0).shape,
        (Shape{4, 3, 1}));
    expect_error(model({2, 3}, {5}), ErrorCode::bad_model, "cannot reshape 't0' from 2x3 to 5");
    // Of old converters: a single 0 among the options stands for no entries too.
    const Bytes legacy = one_op(B::RESHAPE, {f32({1})}, f32({}), [](TfliteBuilder& t) {
        const auto none = t.fbb.CreateVector(std::vector<std::int32_t>{0});
        return Options{BuiltinOptions::ReshapeOptions, CreateReshapeOptions(t.fbb, none).Union()};
    });
    EXPECT_EQ(run(legacy, {random_f32({1})}).at(0).shape, Shape{});
}

}  // namespace
}  // namespace tosavk

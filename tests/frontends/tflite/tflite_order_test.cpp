// ARG_MAX and its sisters, and operators that make data: small models run by the reference.
#include "support/tflite_operands.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

TEST(TfliteArgMax, FirstOfEqualsOnEveryAxis) {
    const std::pair<TensorType, DType> types[] = {
        {TensorType::INT32, DType::i32}, {TensorType::INT8, DType::i8}, {TensorType::BOOL, DType::boolean}};
    for (const auto& [type, held] : types) {
        for (const Shape& shape : {Shape{17}, Shape{3, 8}, Shape{2, 3, 4, 5}}) {
            for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                HostTensor x = random_ints(held, shape, 0, held == DType::boolean ? 1 : 3);
                if (held == DType::i8) x.bytes[0] = std::byte{0x80};  // whose negative is no int8
                Shape to = shape;
                to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
                for (const bool smallest : {false, true}) {
                    const auto negative = static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(shape.size());
                    const Bytes model = model_of(smallest ? B::ARG_MIN : B::ARG_MAX,
                                                 {{spec(type, shape)}, known_number(negative)}, {i32(to)});
                    const HostTensor got = run(model, {x}).at(0);
                    EXPECT_EQ(got.shape, to);
                    EXPECT_EQ(ints(got), by_place(to, [&](const Shape& p) {
                                  Shape from = p;
                                  from.insert(from.begin() + static_cast<std::ptrdiff_t>(axis), 0);
                                  std::int64_t best = 0, value = at(x, from);
                                  for (std::int64_t k = 1; k < shape[axis]; ++k) {
                                      from[axis] = k;
                                      const std::int64_t v = at(x, from);
                                      if (smallest ? v < value : v > value) best = k, value = v;
                                  }
                                  return best;
                              }));
                }
            }
        }
    }
}

TEST(TfliteArgMax, NaNIsNeverChosen) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const auto chosen = [](B code, const std::vector<double>& values) {
        const auto n = static_cast<std::int64_t>(values.size());
        return ints(run(model_of(code, {{f32({static_cast<std::int32_t>(n)})}, known_number(0)}, {i32({})}),
                        {tensor_of({n}, values)})
                        .at(0))
            .at(0);
    };
    EXPECT_EQ(chosen(B::ARG_MAX, {nan, 1, 2}), 2);
    EXPECT_EQ(chosen(B::ARG_MIN, {nan, 1, 2}), 1);
    EXPECT_EQ(chosen(B::ARG_MAX, {nan, nan}), 0);
    EXPECT_EQ(chosen(B::ARG_MAX, {nan, -inf, -inf}), 1);
    EXPECT_EQ(chosen(B::ARG_MIN, {-0.0, 0.0}), 0);
}

TEST(TfliteTopK, EqualOnesInTheirOrder) {
    const auto model = [](std::int64_t k) {
        return model_of(B::TOPK_V2, {{i32({2, 5})}, known_number(k)}, {i32({2, k}), i32({2, k})});
    };
    const auto got = run(model(3), {tensor_of(DType::i32, {2, 5}, Ints{1, 7, 7, 0, 7, -2, -3, -1, -3, -2})});
    EXPECT_EQ(ints(got.at(0)), (Ints{7, 7, 7, -1, -2, -2}));
    EXPECT_EQ(ints(got.at(1)), (Ints{1, 2, 4, 2, 0, 4}));
    expect_error(model(6), ErrorCode::bad_model, "it takes 6 of 5 elements");
}

TEST(TfliteCumsum, BothWaysWithAndWithoutItself) {
    const auto sums = [](bool exclusive, bool reverse) {
        const Bytes model =
            model_of(B::CUMSUM, {{i32({2, 3})}, known_number(-1)}, {i32({2, 3})}, [&](TfliteBuilder& t) {
                return Options{BuiltinOptions::CumsumOptions, CreateCumsumOptions(t.fbb, exclusive, reverse).Union()};
            });
        return ints(run(model, {tensor_of(DType::i32, {2, 3}, Ints{1, 2, 3, 10, 20, 30})}).at(0));
    };
    EXPECT_EQ(sums(false, false), (Ints{1, 3, 6, 10, 30, 60}));
    EXPECT_EQ(sums(true, false), (Ints{0, 1, 3, 0, 10, 30}));
    EXPECT_EQ(sums(false, true), (Ints{6, 5, 3, 60, 50, 30}));
    EXPECT_EQ(sums(true, true), (Ints{5, 3, 0, 50, 30, 0}));
}

TEST(TfliteMade, FromShapes) {
    const HostTensor x = counted({2, 3});
    EXPECT_EQ(ints(run(model_of(B::ZEROS_LIKE, {{i32({2, 3})}}, {i32({2, 3})}), {x}).at(0)), (Ints{0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(ints(run(model_of(B::RANK, {{i32({2, 3})}}, {i32({})}), {x}).at(0)), Ints{2});
    EXPECT_EQ(ints(run(model_of(B::SHAPE, {{i32({2, 3})}}, {i32({2})}), {x}).at(0)), (Ints{2, 3}));
    const Bytes fill = model_of(B::FILL, {known({2, 2}), {i32({})}}, {i32({2, 2})});
    EXPECT_EQ(ints(run(fill, {tensor_of(DType::i32, {}, Ints{-4})}).at(0)), (Ints{-4, -4, -4, -4}));
    expect_error(model_of(B::FILL, {known({2, -2}), {i32({})}}, {i32({2, 2})}), ErrorCode::bad_model,
                 "has a negative dimension");
    expect_error(model_of(B::FILL, {known({2147483647, 2147483647, 2147483647}), {i32({})}}, {i32({2, 2})}),
                 ErrorCode::bad_model, "");
    const Bytes args = model_of(B::BROADCAST_ARGS, {{i32({2})}, {i32({3})}}, {i32({3})});
    const HostTensor a = tensor_of(DType::i32, {2}, Ints{1, 5}), b = tensor_of(DType::i32, {3}, Ints{4, 3, 1});
    EXPECT_EQ(ints(run(args, {a, b}).at(0)), (Ints{4, 3, 5}));
}

TEST(TfliteMade, Ranges) {
    const auto range = [](std::int64_t start, std::int64_t limit, std::int64_t step, std::int64_t count) {
        TfliteBuilder t;
        const int x = t.tensor(i32({count})), made = t.tensor(i32({count})), sum = t.tensor(i32({count}));
        const std::vector<int> ends{t.constant_i32({}, {start}), t.constant_i32({}, {limit}),
                                    t.constant_i32({}, {step})};
        t.op(B::RANGE, ends, {made});
        t.op(B::ADD, {x, made}, {sum});
        return t.finish({x}, {sum});
    };
    const HostTensor zeros = tensor_of(DType::i32, {4}, Ints{0, 0, 0, 0});
    EXPECT_EQ(ints(run(range(0, 10, 3, 4), {zeros}).at(0)), (Ints{0, 3, 6, 9}));
    EXPECT_EQ(ints(run(range(10, -2, -3, 4), {zeros}).at(0)), (Ints{10, 7, 4, 1}));
    expect_error(range(0, 10, 0, 1), ErrorCode::bad_model, "no steps of 0 lead from 0 to 10");
    expect_error(range(0, 10, -1, 1), ErrorCode::bad_model, "no steps of -1 lead from 0 to 10");
    expect_error(range(0, 2147483647, 1, 1), ErrorCode::unsupported, "more than 2^24 elements");
}

TEST(TfliteBits, XorAndShifts) {
    const auto got = [](B code, TensorType type, DType held, const Ints& a, const Ints& b) {
        const auto n = static_cast<std::int64_t>(a.size());
        const Bytes model = model_of(code, {{spec(type, {n})}, {spec(type, {n})}}, {spec(type, {n})});
        return ints(run(model, {tensor_of(held, {n}, a), tensor_of(held, {n}, b)}).at(0));
    };
    EXPECT_EQ(got(B::BITWISE_XOR, TensorType::INT8, DType::i8, {-128, 5, 127}, {-1, 6, 0}), (Ints{127, 3, 127}));
    EXPECT_EQ(got(B::RIGHT_SHIFT, TensorType::INT16, DType::i16, {-7, 300, -32768, 9, 64}, {1, 2, 40, -3, 15}),
              (Ints{-4, 75, -1, 9, 0}));
    EXPECT_EQ(got(B::ADD_N, TensorType::INT32, DType::i32, {1, 2}, {10, 20}), (Ints{11, 22}));
}

TEST(TfliteBits, Bitcasts) {
    const auto got = [](TensorType from, TensorType to, const HostTensor& x, const Shape& shape) {
        return run(model_of(B::BITCAST, {{spec(from, x.shape)}}, {spec(to, shape)}), {x}).at(0);
    };
    const HostTensor one = tensor_of(DType::i32, {1}, Ints{0x3f800001});
    EXPECT_NEAR(reals(got(TensorType::INT32, TensorType::FLOAT32, one, {1})).at(0), 1, 1e-6);
    EXPECT_EQ(ints(got(TensorType::INT32, TensorType::INT8, one, {1, 4})), (Ints{1, 0, -128, 0x3f}));
    // What is UINT8 in a file has the same bits at the ends of a graph.
    EXPECT_EQ(ints(got(TensorType::INT32, TensorType::UINT8, one, {1, 4})), (Ints{1, 0, -128, 0x3f}));
    EXPECT_EQ(ints(got(TensorType::INT8, TensorType::INT16, tensor_of(DType::i8, {2, 2}, Ints{1, -1, 2, 1}), {2})),
              (Ints{-255, 258}));
    EXPECT_EQ(ints(got(TensorType::INT64, TensorType::INT32, tensor_of(DType::i32, {2}, Ints{-3, 4}), {2, 2})),
              (Ints{-3, -1, 4, 0}));
    expect_error(model_of(B::BITCAST, {{spec(TensorType::INT8, {3})}}, {spec(TensorType::INT32, {})}),
                 ErrorCode::bad_model, "3 of 1 bytes make no elements of 4");
    expect_error(model_of(B::BITCAST, {{spec(TensorType::INT32, {2})}}, {spec(TensorType::INT64, {})}),
                 ErrorCode::unsupported, "may need more than 32 bits");
    expect_error(model_of(B::BITCAST, {{spec(TensorType::INT32, {2})}}, {spec(TensorType::BOOL, {2, 4})}),
                 ErrorCode::unsupported, "types INT32 -> BOOL are not supported");
}

TEST(TfliteBits, Buckets) {
    const auto model = [](const std::vector<float>& boundaries) {
        return model_of(B::BUCKETIZE, {{f32({5})}}, {i32({5})}, [&](TfliteBuilder& b) {
            const auto list = b.fbb.CreateVector(boundaries);
            return Options{BuiltinOptions::BucketizeOptions, CreateBucketizeOptions(b.fbb, list).Union()};
        });
    };
    const HostTensor x = tensor_of({5}, {-1, 0, 0.5, 2, NAN});
    EXPECT_EQ(ints(run(model({0, 1, 2}), {x}).at(0)), (Ints{0, 1, 1, 3, 3}));
    EXPECT_EQ(ints(run(model({}), {x}).at(0)), (Ints{0, 0, 0, 0, 0}));
    expect_error(model({1, 0}), ErrorCode::bad_model, "its boundaries are not in order");
}

/// How large the numbers of INT64 tensors may get follows from constants and from what bounds them.
TEST(TfliteRanges, WhatIsKnownToFit) {
    const auto int64 = [](const Shape& shape) { return spec(TensorType::INT64, shape); };
    const auto wide = [](TfliteBuilder& t, const Ints& values) {
        const auto count = static_cast<std::int32_t>(values.size());
        return t.constant({{count}, TensorType::INT64}, encode_ints(DType::i48, values));
    };
    // Minus, modulo 7: -6..0. Minus what may be -2^31 needs two words.
    const auto negated = [&](bool bounded) {
        TfliteBuilder t;
        const int x = t.tensor(int64({3})), rest = t.tensor(int64({3})), y = t.tensor(int64({3}));
        t.op(B::FLOOR_MOD, {x, wide(t, {7})}, {rest});
        t.op(B::NEG, {bounded ? rest : x}, {y});
        return t.finish({x}, {y});
    };
    const HostTensor x = tensor_of(DType::i32, {3}, Ints{-1, 8, std::numeric_limits<std::int32_t>::min()});
    EXPECT_EQ(ints(run(negated(true), {x}).at(0)), (Ints{-6, -1, -5}));
    EXPECT_EQ(ints(run(negated(false), {x}).at(0)), (Ints{1, 0, -8, -1, std::numeric_limits<std::int32_t>::min(), 0}));
    // Updates add up where places that are known are named twice.
    const auto scattered = [&](const Ints& places) {
        TfliteBuilder t;
        const int updates = t.tensor(int64({2})), y = t.tensor(int64({3}));
        t.op(B::SCATTER_ND, {t.constant_i32({2, 1}, places), updates, t.constant_i32({1}, {3})}, {y});
        return t.finish({updates}, {y});
    };
    EXPECT_EQ(ints(run(scattered({2, 0}), {tensor_of(DType::i32, {2}, Ints{5, -6})}).at(0)), (Ints{-6, 0, 5}));
    expect_error(scattered({1, 1}), ErrorCode::unsupported, "its INT64 result may need more than 32 bits");
}

}  // namespace
}  // namespace tosavk

// GATHER and MIRROR_PAD: small models run by the reference, compared with their definitions.
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

std::vector<std::int32_t> dims(const Shape& shape) { return {shape.begin(), shape.end()}; }
TensorSpec i32(const Shape& shape) { return {dims(shape), TensorType::INT32}; }

HostTensor counted(const Shape& shape) {
    HostTensor t(DType::i32, shape);
    Ints values(static_cast<std::size_t>(t.count()));
    std::iota(values.begin(), values.end(), 100);
    t.bytes = encode_ints(DType::i32, values);
    return t;
}

std::int64_t size_of_part(const Shape& shape, std::size_t begin, std::size_t end) {
    std::int64_t n = 1;
    for (std::size_t d = begin; d < end; ++d) n *= shape[d];
    return n;
}

TEST(TfliteGather, EveryAxisAndBatch) {
    struct Case {
        Shape values, indices;
        int axis, batch;
    };
    for (const Case& c : {Case{{4, 3, 5}, {6}, 0, 0}, Case{{4, 3, 5}, {2, 3}, 1, 0}, Case{{4, 3, 5}, {7}, -1, 0},
                          Case{{4, 3, 5}, {}, 1, 0}, Case{{2, 3, 4, 5}, {2, 6}, 2, 1},
                          Case{{2, 3, 4, 5}, {2, 3, 2}, 3, 2}, Case{{2, 3, 4}, {2, 3}, 1, -1}, Case{{7}, {3}, 0, 0}}) {
        const std::size_t rank = c.values.size();
        const auto axis = static_cast<std::size_t>(c.axis < 0 ? c.axis + static_cast<int>(rank) : c.axis);
        const auto batch =
            static_cast<std::size_t>(c.batch < 0 ? c.batch + static_cast<int>(c.indices.size()) : c.batch);
        SCOPED_TRACE(to_string(c.values) + " by " + to_string(c.indices));
        const HostTensor x = counted(c.values);
        const HostTensor which = random_ints(DType::i32, c.indices, 0, c.values[axis] - 1);
        Shape expected_shape(c.values.begin(), c.values.begin() + static_cast<std::ptrdiff_t>(axis));
        expected_shape.insert(expected_shape.end(), c.indices.begin() + static_cast<std::ptrdiff_t>(batch),
                              c.indices.end());
        expected_shape.insert(expected_shape.end(), c.values.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                              c.values.end());
        const auto options = [&](TfliteBuilder& t) {
            return Options{BuiltinOptions::GatherOptions, CreateGatherOptions(t.fbb, c.axis, c.batch).Union()};
        };
        const HostTensor got =
            run(one_op(B::GATHER, {i32(c.values), i32(c.indices)}, i32(expected_shape), options), {x, which}).at(0);
        EXPECT_EQ(got.shape, expected_shape);
        const std::int64_t n = size_of_part(c.values, 0, batch), left = size_of_part(c.values, batch, axis),
                           k = c.values[axis], right = size_of_part(c.values, axis + 1, rank),
                           w = size_of_part(c.indices, batch, c.indices.size());
        Ints expected;
        for (std::int64_t b = 0; b < n; ++b)
            for (std::int64_t i = 0; i < left; ++i)
                for (std::int64_t j = 0; j < w; ++j)
                    for (std::int64_t r = 0; r < right; ++r) {
                        const std::int64_t index = ints(which)[static_cast<std::size_t>(b * w + j)];
                        expected.push_back(ints(x)[static_cast<std::size_t>(((b * left + i) * k + index) * right + r)]);
                    }
        EXPECT_EQ(ints(got), expected);
    }
}

TEST(TfliteGather, ConstantIndicesAreChecked) {
    const auto model = [](const Ints& indices) {
        return one_op_indices(B::GATHER, i32({4, 2}), {indices}, i32({2, 2}));
    };
    EXPECT_EQ(ints(run(model({3, 0}), {counted({4, 2})}).at(0)), (Ints{106, 107, 100, 101}));
    expect_error(model({0, 4}), ErrorCode::bad_model, "index 4 is not in 0..3");
    expect_error(model({-1, 0}), ErrorCode::bad_model, "index -1 is not in 0..3");
}

TEST(TfliteGather, ComputedIndicesHaveTheirOwnShape) {
    // The file was written with another one than [2, 1] + [1, 3] gives.
    TfliteBuilder b;
    const int x = b.tensor(i32({4})), column = b.constant_i32({2, 1}, {0, 1}), row = b.constant_i32({1, 3}, {0, 1, 2});
    const int sum = b.tensor(i32({1, 1})), y = b.tensor(i32({1, 1}));
    b.op(B::ADD, {column, row}, {sum});
    b.op(B::GATHER, {x, sum}, {y});
    const HostTensor got = run(b.finish({x}, {y}), {counted({4})}).at(0);
    EXPECT_EQ(got.shape, (Shape{2, 3}));
    EXPECT_EQ(ints(got), (Ints{100, 101, 102, 101, 102, 103}));
}

TEST(TfliteMirrorPad, ReflectsAndRepeats) {
    const auto got = [](MirrorPadMode mode, const Shape& shape, const Ints& padding, const Shape& to) {
        TfliteBuilder t;
        const int x = t.tensor(i32(shape));
        const int amounts = t.constant({{static_cast<std::int32_t>(shape.size()), 2}, TensorType::INT32},
                                       encode_ints(DType::i32, padding));
        const int out = t.tensor(i32(to));
        t.op(B::MIRROR_PAD, {x, amounts}, {out}, BuiltinOptions::MirrorPadOptions,
             CreateMirrorPadOptions(t.fbb, mode).Union());
        return ints(run(t.finish({x}, {out}), {counted(shape)}).at(0));
    };
    EXPECT_EQ(got(MirrorPadMode::REFLECT, {4}, {2, 3}, {9}), (Ints{102, 101, 100, 101, 102, 103, 102, 101, 100}));
    EXPECT_EQ(got(MirrorPadMode::SYMMETRIC, {3}, {2, 3}, {8}), (Ints{101, 100, 100, 101, 102, 102, 101, 100}));
    EXPECT_EQ(got(MirrorPadMode::REFLECT, {2, 2}, {0, 1, 1, 0}, {3, 3}),
              (Ints{101, 100, 101, 103, 102, 103, 101, 100, 101}));
}

}  // namespace
}  // namespace tosavk

// SLICE and STRIDED_SLICE at places that are known at run time; RESHAPE to a shape that is.
#include "support/tflite_operands.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

HostTensor numbers(const Ints& values) {
    return tensor_of(DType::i32, {static_cast<std::int64_t>(values.size())}, values);
}

const Shape whole{4, 5, 6};

TEST(TfliteSliceAtRunTime, SizesFromTheFile) {
    const HostTensor x = counted(whole);
    const auto got = [&](const Operand& size, const Shape& to, const Ints& start, const std::vector<HostTensor>& more) {
        std::vector<HostTensor> inputs{x, numbers(start)};
        inputs.insert(inputs.end(), more.begin(), more.end());
        const HostTensor y = run(model_of(B::SLICE, {{i32(whole)}, {i32({3})}, size}, {i32(to)}), inputs).at(0);
        EXPECT_EQ(y.shape, to);
        EXPECT_EQ(ints(y), by_place(to, [&](const Shape& p) {
                      return at(x, {p[0] + start[0], p[1] + start[1], p[2] + start[2]});
                  }));
    };
    got(known({2, 3, 6}), {2, 3, 6}, {1, 2, 0}, {});
    got(known({2, -1, 1}), {2, 3, 1}, {1, 2, 5}, {});
    got({i32({3})}, {1, 2, 3}, {3, 0, 3}, {numbers({1, 2, 3})});
    TensorSpec open = i32({2, 3, 1});
    open.signature = {2, -1, 1};
    expect_error(model_of(B::SLICE, {{i32(whole)}, {i32({3})}, known({2, -1, 1})}, {open}), ErrorCode::unsupported,
                 "the size of dimension 1 is known at run time only");
    expect_error(model_of(B::SLICE, {{i32(whole)}, {i32({3})}, known({5, 1, 1})}, {i32({5, 1, 1})}),
                 ErrorCode::bad_model, "cannot take 5 elements along dimension 0 of size 4");
    expect_error(model_of(B::SLICE, {{i32(whole)}, {i32({2})}, known({1, 1, 1})}, {i32({1, 1, 1})}),
                 ErrorCode::bad_model, "do not have the rank of the input");
}

TEST(TfliteSlice, OfAnOpenBatchTakesWhatItSays) {
    // The file was written with a batch of 1; the first of three is still the first one alone.
    TfliteBuilder t;
    TensorSpec open = i32({1, 2});
    open.signature = {-1, 2};
    const int x = t.tensor(open), first = t.tensor(i32({1, 2})), also = t.tensor(i32({1, 2}));
    t.op(B::SLICE, {x, t.indices({0, 0}), t.indices({1, 2})}, {first});
    t.op(B::STRIDED_SLICE, {x, t.indices({0, 0}), t.indices({1, 2}), t.indices({1, 1})}, {also},
         BuiltinOptions::StridedSliceOptions, CreateStridedSliceOptions(t.fbb).Union());
    const HostTensor three = counted({3, 2});
    for (const HostTensor& got : run(t.finish({x}, {first, also}), {three}, TfliteRounding::tflite, {{0, {3, 2}}})) {
        EXPECT_EQ(got.shape, (Shape{1, 2}));
        EXPECT_EQ(ints(got), (Ints{ints(three)[0], ints(three)[1]}));
    }
}

struct Bits {
    int begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

Bytes strided(const Operand& begin, const Operand& end, const Ints& strides, const Shape& to, const Bits& bits) {
    return model_of(B::STRIDED_SLICE, {{i32(whole)}, begin, end, known(strides)}, {i32(to)}, [&](TfliteBuilder& t) {
        return Options{
            BuiltinOptions::StridedSliceOptions,
            CreateStridedSliceOptions(t.fbb, bits.begin, bits.end, bits.ellipsis, bits.new_axis, bits.shrink).Union()};
    });
}

TEST(TfliteSliceAtRunTime, StridedOnesToo) {
    const HostTensor x = counted(whole);
    const Operand three{i32({3})};
    const HostTensor row =
        run(strided(three, three, {1, 1, 1}, {4, 6}, {5, 5, 0, 0, 2}), {x, numbers({0, -2, 0}), numbers({0, 0, 0})})
            .at(0);
    EXPECT_EQ(row.shape, (Shape{4, 6}));
    EXPECT_EQ(ints(row), by_place({4, 6}, [&](const Shape& p) { return at(x, {p[0], 3, p[1]}); }));
    const HostTensor part =
        run(strided(known({1, 2, -3}), three, {1, 1, 1}, {2, 3, 2}, {}), {x, numbers({3, 5, -1})}).at(0);
    EXPECT_EQ(ints(part), by_place({2, 3, 2}, [&](const Shape& p) { return at(x, {p[0] + 1, p[1] + 2, p[2] + 3}); }));
    const HostTensor more =
        run(strided({i32({2})}, {i32({2})}, {1, 1}, {1, 2, 5, 6}, {0, 0, 0, 1}), {x, numbers({0, 1}), numbers({0, 3})})
            .at(0);
    EXPECT_EQ(ints(more), by_place({1, 2, 5, 6}, [&](const Shape& p) { return at(x, {p[1] + 1, p[2], p[3]}); }));
    expect_error(strided(three, three, {1, 2, 1}, {4, 3, 6}, {}), ErrorCode::unsupported, "strides other than 1");
    expect_error(strided(three, three, {1, 1, 1}, {4, 3, 6}, {0, 0, 2}), ErrorCode::unsupported, "an ellipsis");
    expect_error(strided(three, three, {1, 1, 1}, {4, 3}, {}), ErrorCode::unsupported, "known at run time only");
}

TEST(TfliteReshapeAtRunTime, TheRecordedShape) {
    const HostTensor x = counted({4, 6});
    const auto model = [](const TensorSpec& to) { return model_of(B::RESHAPE, {{i32({4, 6})}, {i32({2})}}, {to}); };
    EXPECT_EQ(run(model(i32({8, 3})), {x, numbers({8, 3})}).at(0).shape, (Shape{8, 3}));
    TensorSpec open = i32({1, 2});
    open.signature = {-1, 2};
    EXPECT_EQ(run(model(open), {x, numbers({12, 2})}).at(0).shape, (Shape{12, 2}));
    expect_error(model(i32({5, 5})), ErrorCode::unsupported, "the recorded one, [5, 5], does not fit 4x6");
    open.signature = {-1, -1};
    expect_error(model(open), ErrorCode::unsupported, "the recorded one, [-1, -1], does not fit 4x6");
}

}  // namespace
}  // namespace tosavk

// What front ends write their graphs with, apart from any format of files.
#include "frontends/common/emitter.hpp"
#include "graph/host_tensor.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tosavk {
namespace {

using Ints = std::vector<std::int64_t>;

struct Scratch {
    GraphBuilder builder{"scratch"};
    Emitter emit{&builder};

    Scratch() { emit.scope("layer", "layer", /*numbered=*/true); }
    std::size_t nodes() const { return builder.graph().nodes.size(); }
    Ints ints(ValueId id) const { return decode_ints(emit.type(id), *emit.graph_value(id).data); }
};

std::string refusal(const std::function<void()>& step) {
    try {
        step();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing thrown";
}

TEST(Emitter, ZeroPointsStayInTheirRange) {
    Scratch s;
    EXPECT_EQ(s.ints(s.emit.zero_point(DType::i8, -128)), Ints{-128});
    EXPECT_EQ(s.ints(s.emit.zero_point(DType::i8, 255, /*is_unsigned=*/true)), Ints{-1});
    EXPECT_EQ(s.ints(s.emit.zero_point(DType::i16, 32768, true)), Ints{-32768});
    EXPECT_EQ(s.emit.type(s.emit.zero_point(DType::fp32, 0)), DType::fp32);
    EXPECT_EQ(refusal([&] { s.emit.zero_point(DType::i8, 128); }), "'layer': zero point 128 is not in -128..127");
    EXPECT_EQ(refusal([&] { s.emit.zero_point(DType::i8, -1, true, "input_zp"); }),
              "'layer': input_zp -1 is not in 0..255");
    EXPECT_EQ(refusal([&] { s.emit.zero_point(DType::fp16, 1); }), "'layer': zero point 1 is not in 0..0");
}

TEST(Emitter, ConstantsAreMovedHere) {
    Scratch s;
    const ValueId c = s.emit.constant_ints("c", DType::i32, {2, 3}, Ints{0, 1, 2, 3, 4, 5});
    EXPECT_EQ(s.emit.graph_value(c).name, "layer/c");
    EXPECT_EQ(s.ints(s.emit.slice(c, Ints{0, 1}, {2, 2})), (Ints{1, 2, 4, 5}));
    EXPECT_EQ(s.ints(s.emit.slice_axis(c, 0, 1, 1)), (Ints{3, 4, 5}));
    const ValueId reshaped = s.emit.reshape(c, {6});
    EXPECT_EQ(s.emit.graph_value(reshaped).data, s.emit.graph_value(c).data) << "the bytes are shared";
    const std::vector<double> halves{0.5, -1.5};
    const ValueId h = s.emit.constant("h", DType::fp16, {2}, encode_reals(DType::fp16, halves));
    EXPECT_EQ(decode_reals(DType::fp32, *s.emit.graph_value(s.emit.cast(h, DType::fp32)).data), halves);
    EXPECT_EQ(s.emit.reshape(c, {2, 3}), c);
    EXPECT_EQ(s.emit.cast(c, DType::i32), c);
    EXPECT_EQ(s.nodes(), 0u);
    EXPECT_NE(refusal([&] { s.emit.slice(c, Ints{0, 2}, {2, 2}); }).find("cannot take 2 elements from 2"),
              std::string::npos);
}

TEST(Emitter, ConcatSplitsLongListsAndDropsWhatIsEmpty) {
    Scratch s;
    const auto most = static_cast<std::size_t>(s.emit.level().max_list);
    const ValueId x = s.builder.input("x", DType::i8, {1, 2}), none = s.emit.empty(DType::i8, {0, 2});
    std::vector<ValueId> parts(most + 1, x);
    parts.push_back(none);
    EXPECT_EQ(s.emit.shape(s.emit.concat(parts, 0)), (Shape{static_cast<std::int64_t>(most) + 1, 2}));
    EXPECT_EQ(s.nodes(), 2u);
    EXPECT_EQ(s.builder.graph().nodes[0].name, "layer");
    EXPECT_EQ(s.builder.graph().nodes[1].name, "layer#2");
    EXPECT_EQ(s.emit.concat({none, x}, 0), x);
    const ValueId joined = s.emit.concat({none, s.emit.slice_axis(x, 0, 0, 0)}, 0);
    EXPECT_TRUE(s.emit.is_empty(joined));
    EXPECT_EQ(s.emit.shape(joined), (Shape{0, 2}));
    EXPECT_EQ(s.nodes(), 2u);
}

TEST(Emitter, WhatIsEmptyMakesNoNode) {
    Scratch s;
    const ValueId x = s.builder.input("x", DType::i8, {2, 1}), none = s.emit.empty(DType::i8, {2, 0});
    Scaling scaling;
    scaling.multiplier = {1 << 30};
    scaling.shift = {30};
    const ValueId wide = s.emit.rescale(none, DType::i32, scaling);
    EXPECT_TRUE(s.emit.is_empty(wide));
    EXPECT_EQ(s.emit.type(wide), DType::i32);
    EXPECT_EQ(s.emit.shape(s.emit.add(Op::maximum, {s.emit.cast(none, DType::i32), wide}, DType::i32)), (Shape{2, 0}));
    EXPECT_EQ(s.nodes(), 0u);
    Attributes axis;
    axis.axis = 1;
    EXPECT_NE(refusal([&] {
                  s.emit.add(Op::reduce_sum, {wide}, DType::i32, axis);
              }).find("REDUCE_SUM of a tensor without elements is not supported"),
              std::string::npos);
    EXPECT_FALSE(s.emit.is_empty(x));
}

TEST(Emitter, RescaleByOneFactorOrMany) {
    Scratch s;
    const ValueId x = s.builder.input("x", DType::i8, {2, 3});
    Scaling scaling;
    scaling.multiplier = {1 << 30, 1 << 29, 1 << 28};
    scaling.shift = {30, 30, 30};
    scaling.per_channel = true;
    scaling.input_zp = 3;
    scaling.output_zp = 200;
    scaling.output_unsigned = true;
    s.emit.rescale(x, DType::i8, scaling);
    const Node& node = s.builder.graph().nodes.at(0);
    EXPECT_EQ(s.ints(node.inputs[1]), scaling.multiplier);
    EXPECT_EQ(s.ints(node.inputs[2]), scaling.shift);
    EXPECT_EQ(s.ints(node.inputs[3]), Ints{3});
    EXPECT_EQ(s.ints(node.inputs[4]), Ints{200 - 256});
    EXPECT_TRUE(node.attrs.per_channel && node.attrs.output_unsigned && !node.attrs.input_unsigned);
}

TEST(Emitter, MatchesRanks) {
    Scratch s;
    ValueId a = s.builder.input("a", DType::fp32, {2, 3, 4}), b = s.builder.input("b", DType::fp32, {4});
    s.emit.match_ranks(a, b);
    EXPECT_EQ(s.emit.shape(b), (Shape{1, 1, 4}));
    EXPECT_EQ(s.emit.splat(a, DType::fp32, 2), s.emit.splat(b, DType::fp32, 2));
    EXPECT_EQ(s.nodes(), 1u);
}

}  // namespace
}  // namespace tosavk

// SORT, GATHER_ND, SCATTER_ND, DYNAMIC_SLICE, DYNAMIC_UPDATE_SLICE and SEGMENT_REDUCE by the reference: results written
// out by hand, and what is refused.
#include "support/one_node.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstring>
#include <limits>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

using Ints = std::vector<std::int64_t>;

Attributes rule(OutOfRange out_of_range, std::int32_t batch_dims = 0) {
    Attributes attrs;
    attrs.out_of_range = out_of_range;
    attrs.batch_dims = batch_dims;
    return attrs;
}

Attributes combining(Combiner combiner, OutOfRange out_of_range = OutOfRange::skip, std::int32_t segments = 0) {
    Attributes attrs = rule(out_of_range);
    attrs.combiner = combiner;
    attrs.segments = segments;
    return attrs;
}

Attributes sorting(std::int32_t axis, bool descending = false, bool total_order = false) {
    Attributes attrs;
    attrs.axis = axis;
    attrs.descending = descending;
    attrs.total_order = total_order;
    return attrs;
}

HostTensor i32s(Shape shape, const Ints& values) { return ints(DType::i32, std::move(shape), values); }

/// The outputs of SORT of keys with values.
std::vector<HostTensor> sorted(const std::vector<HostTensor>& operands, const Attributes& attrs) {
    GraphBuilder builder("sort");
    std::vector<ValueId> ids;
    std::vector<DType> types;
    std::vector<const HostTensor*> pointers;
    for (const HostTensor& t : operands) {
        ids.push_back(builder.input("in" + std::to_string(ids.size()), t.type, t.shape));
        types.push_back(t.type);
        pointers.push_back(&t);
    }
    for (const ValueId id : builder.add(Op::sort, ids, attrs, types, "node")) builder.output(id);
    const Graph graph = builder.finish();
    return reference_node(NodeView(graph, 0), pointers);
}

}  // namespace

TEST(OwnIndexed, DynamicSliceClampsItsStart) {
    const HostTensor values = ints(DType::i8, {2, 5}, {0, 1, 2, 3, 4, 10, 11, 12, 13, 14});
    const auto slice = [&](const Ints& start, const Ints& size) {
        return int_values(run_op(Op::dynamic_slice, {values, i32s({2}, start), shape_values(size)}, DType::i8));
    };
    EXPECT_EQ(slice({0, 1}, {2, 3}), (Ints{1, 2, 3, 11, 12, 13}));
    EXPECT_EQ(slice({1, 4}, {2, 3}), (Ints{2, 3, 4, 12, 13, 14}));
    EXPECT_EQ(slice({INT_MIN, INT_MAX}, {1, 2}), (Ints{3, 4}));
    EXPECT_EQ(slice({INT_MAX, -1}, {1, 2}), (Ints{10, 11}));
}

TEST(OwnIndexed, DynamicUpdateSliceClampsItsStart) {
    const HostTensor values = ints(DType::i8, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
    const HostTensor update = ints(DType::i8, {1, 2}, {-1, -2});
    const auto updated = [&](const Ints& start) {
        return int_values(run_op(Op::dynamic_update_slice, {values, update, i32s({2}, start)}, DType::i8));
    };
    EXPECT_EQ(updated({0, 1}), (Ints{0, -1, -2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(updated({5, 3}), (Ints{0, 1, 2, 3, 4, 5, -1, -2}));
    EXPECT_EQ(updated({INT_MIN, -7}), (Ints{-1, -2, 2, 3, 4, 5, 6, 7}));
}

TEST(OwnIndexed, PartialSortHasAnOrderOfEqualValues) {
    const auto places = [](const Shape& shape, const std::vector<double>& values, std::int32_t most) {
        Attributes attrs;
        attrs.most = most;
        return int_values(run_op(Op::partial_sort, {floats(shape, values)}, DType::i32, attrs));
    };
    EXPECT_EQ(places({1, 6}, {1, 1, 1, 1, 1, 1}, 3), (Ints{0, 1, 2}));
    EXPECT_EQ(places({1, 6}, {2, 5, 5, 1, 5, 3}, 4), (Ints{4, 1, 2, 5}));
    EXPECT_EQ(places({2, 3}, {1, 3, 2, 0.5, 0.25, 0}, 1), (Ints{1, 0}));
    EXPECT_EQ(places({2, 3}, {1, 3, 2, 0.5, 0.25, 0}, 3), (Ints{1, 2, 0, 0, 1, 2}));
}

TEST(OwnIndexed, BitcastKeepsEveryBit) {
    const HostTensor words = i32s({2}, {0x3f800000, -2});
    const auto cast = [&](const HostTensor& x, DType to) { return run_op(Op::bitcast, {x}, to); };
    EXPECT_EQ(real_values(cast(i32s({1}, {0x3f800000}), DType::fp32)), std::vector<double>{1});
    const HostTensor halves = cast(words, DType::i16), bytes = cast(words, DType::i8);
    EXPECT_EQ(halves.shape, (Shape{2, 2}));
    EXPECT_EQ(int_values(halves), (Ints{0, 0x3f80, -2, -1}));
    EXPECT_EQ(bytes.shape, (Shape{2, 4}));
    EXPECT_EQ(int_values(bytes), (Ints{0, 0, -128, 0x3f, -2, -1, -1, -1}));
    EXPECT_EQ(cast(bytes, DType::i32).bytes, words.bytes);
    EXPECT_EQ(cast(halves, DType::i32).shape, Shape{2});
    EXPECT_NE(rejection(Op::bitcast, {i32s({2}, {1, 2})}, DType::i32), "");
    EXPECT_NE(
        rejection(Op::bitcast, {ints(DType::i8, {2, 3}, {1, 2, 3, 4, 5, 6})}, DType::i32).find("4 of i8 make one"),
        std::string::npos);
}

TEST(OwnIndexed, GatherNdTakesRowsAndElements) {
    const HostTensor values = i32s({2, 3, 2}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
    const auto gather = [&](const Shape& shape, const Ints& indices, const Attributes& attrs) {
        return run_op(Op::gather_nd, {values, i32s(shape, indices)}, DType::i32, attrs);
    };
    const HostTensor rows = gather({2, 2}, {1, 2, 0, 0}, rule(OutOfRange::clamp));
    EXPECT_EQ(rows.shape, (Shape{2, 2}));
    EXPECT_EQ(int_values(rows), (Ints{14, 15, 0, 1}));
    const HostTensor element = gather({3}, {1, 0, 1}, rule(OutOfRange::clamp));
    EXPECT_EQ(element.shape, Shape{});
    EXPECT_EQ(int_values(element), (Ints{11}));
    const HostTensor batched = gather({2, 1, 1}, {2, 1}, rule(OutOfRange::clamp, 1));
    EXPECT_EQ(batched.shape, (Shape{2, 1, 2}));
    EXPECT_EQ(int_values(batched), (Ints{4, 5, 12, 13}));
    EXPECT_EQ(int_values(gather({2, 2}, {-1, 9, INT_MAX, INT_MIN}, rule(OutOfRange::clamp))), (Ints{4, 5, 10, 11}));
    EXPECT_EQ(int_values(gather({2, 2}, {1, 3, 1, 2}, rule(OutOfRange::zero))), (Ints{0, 0, 14, 15}));
}

TEST(OwnIndexed, ScatterNdCombinesInOrder) {
    const HostTensor values = ints(DType::i8, {4}, {100, 2, 3, 4});
    const HostTensor indices = i32s({5, 1}, {0, 2, 0, 7, 2}), updates = ints(DType::i8, {5}, {50, -5, 7, 1, 6});
    const auto scatter = [&](Combiner combiner, OutOfRange out_of_range = OutOfRange::skip) {
        return int_values(
            run_op(Op::scatter_nd, {values, indices, updates}, DType::i8, combining(combiner, out_of_range)));
    };
    EXPECT_EQ(scatter(Combiner::set), (Ints{7, 2, 6, 4}));
    EXPECT_EQ(scatter(Combiner::add), (Ints{-99, 2, 4, 4})) << "sums of i8 wrap";
    EXPECT_EQ(scatter(Combiner::multiply), (Ints{-72, 2, -90, 4})) << "so do products";
    EXPECT_EQ(scatter(Combiner::minimum), (Ints{7, 2, -5, 4}));
    EXPECT_EQ(scatter(Combiner::maximum), (Ints{100, 2, 6, 4}));
    EXPECT_EQ(scatter(Combiner::set, OutOfRange::clamp), (Ints{7, 2, 6, 1}));
}

TEST(OwnIndexed, ScatterNdReplacesRowsOfABatch) {
    const HostTensor values = i32s({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    const HostTensor out = run_op(Op::scatter_nd, {values, i32s({2, 1, 1}, {1, 0}), i32s({2, 1, 2}, {-1, -2, -3, -4})},
                                  DType::i32, rule(OutOfRange::skip, 1));
    // The default combiner adds.
    EXPECT_EQ(int_values(out), (Ints{0, 1, 1, 1, 1, 1, 6, 7}));
}

TEST(OwnIndexed, NanBeatsEveryNumber) {
    const double nan = std::nan("");
    const auto reduced = [&](Combiner combiner) {
        return real_values(run_op(Op::segment_reduce, {floats({5}, {1, nan, -3, 5, 2}), i32s({5}, {0, 1, 1, 0, -1})},
                                  DType::fp32, combining(combiner, OutOfRange::skip, 3)));
    };
    const std::vector<double> least = reduced(Combiner::minimum), most = reduced(Combiner::maximum);
    EXPECT_EQ(least[0], 1);
    EXPECT_EQ(most[0], 5);
    EXPECT_TRUE(std::isnan(least[1]) && std::isnan(most[1]));
    EXPECT_EQ(least[2], std::numeric_limits<double>::infinity());
    EXPECT_EQ(most[2], -std::numeric_limits<double>::infinity());
}

TEST(OwnIndexed, EmptySegmentsAreNeutral) {
    const auto reduced = [](DType type, Combiner combiner) {
        return int_values(run_op(Op::segment_reduce, {ints(type, {3, 1}, {2, 3, 4}), i32s({3}, {2, 5, 2})}, type,
                                 combining(combiner, OutOfRange::skip, 3)));
    };
    EXPECT_EQ(reduced(DType::i16, Combiner::add), (Ints{0, 0, 6}));
    EXPECT_EQ(reduced(DType::i16, Combiner::multiply), (Ints{1, 1, 8}));
    EXPECT_EQ(reduced(DType::i16, Combiner::minimum), (Ints{32767, 32767, 2}));
    EXPECT_EQ(reduced(DType::i16, Combiner::maximum), (Ints{-32768, -32768, 4}));
    EXPECT_EQ(reduced(DType::i32, Combiner::maximum), (Ints{INT_MIN, INT_MIN, 4}));
    const HostTensor truths = ints(DType::boolean, {1}, {1});
    EXPECT_EQ(int_values(run_op(Op::segment_reduce, {truths, i32s({1}, {9})}, DType::boolean,
                                combining(Combiner::minimum, OutOfRange::skip, 2))),
              (Ints{1, 1}));
}

TEST(OwnIndexed, SortIsStableAlongAnyAxis) {
    const HostTensor keys = i32s({3, 2}, {3, 1, 1, 5, 3, 1}), order = ints(DType::i8, {3, 2}, {0, 10, 1, 11, 2, 12});
    const std::vector<HostTensor> down = sorted({keys, order}, sorting(0));
    EXPECT_EQ(int_values(down[0]), (Ints{1, 1, 3, 1, 3, 5}));
    EXPECT_EQ(int_values(down[1]), (Ints{1, 10, 0, 12, 2, 11}));
    const std::vector<HostTensor> descending = sorted({keys, order}, sorting(0, true));
    EXPECT_EQ(int_values(descending[1]), (Ints{0, 11, 2, 10, 1, 12})) << "equal keys keep their order";
    EXPECT_EQ(int_values(sorted({keys}, sorting(1))[0]), (Ints{1, 3, 1, 5, 1, 3}));
}

TEST(OwnIndexed, SortOrdersNanAndZeros) {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    HostTensor keys = floats({7}, {0.0, nan, -0.0, inf, -nan, -inf, -1});
    const HostTensor order = i32s({7}, {0, 1, 2, 3, 4, 5, 6});
    const std::uint32_t negative_nan = 0xffc00000u;
    std::memcpy(keys.bytes.data() + 16, &negative_nan, 4);
    const auto places = [&](bool descending, bool total_order) {
        return int_values(sorted({keys, order}, sorting(0, descending, total_order))[1]);
    };
    EXPECT_EQ(places(false, false), (Ints{5, 6, 0, 2, 3, 1, 4}));
    EXPECT_EQ(places(true, false), (Ints{1, 4, 3, 0, 2, 6, 5}));
    EXPECT_EQ(places(false, true), (Ints{4, 5, 6, 2, 0, 3, 1}));
    EXPECT_EQ(places(true, true), (Ints{1, 3, 0, 2, 6, 5, 4}));
}

TEST(OwnIndexed, SortReadsUnsignedKeys) {
    Attributes attrs = sorting(0);
    attrs.is_unsigned = true;
    EXPECT_EQ(int_values(sorted({ints(DType::i8, {4}, {-1, 1, -128, 127})}, attrs)[0]), (Ints{1, 127, -128, -1}));
}

TEST(OwnIndexed, Errors) {
    const HostTensor values = i32s({2, 3}, {0, 1, 2, 3, 4, 5}), start = i32s({2}, {0, 0});
    const auto message = [](Op op, const std::vector<HostTensor>& operands, const Attributes& attrs = {}) {
        return rejection(op, operands, operands[0].type, attrs);
    };
    EXPECT_REJECTED(message(Op::dynamic_slice, {values, i32s({1}, {0}), shape_values({1, 1})}), "start has 1 values");
    EXPECT_REJECTED(message(Op::dynamic_slice, {values, start, shape_values({1, 4})}), "size 4 of axis 1");
    EXPECT_REJECTED(message(Op::dynamic_slice, {values, start, shape_values({0, 1})}), "at least 1");
    EXPECT_REJECTED(message(Op::dynamic_slice, {values, start, shape_values({1})}), "size has 1 dimensions");
    EXPECT_REJECTED(message(Op::dynamic_update_slice, {values, i32s({1, 4}, {0, 0, 0, 0}), start}), "update 4");
    EXPECT_REJECTED(message(Op::gather_nd, {values, i32s({1, 3}, {0, 0, 0})}), "tuples of 3");
    EXPECT_REJECTED(message(Op::gather_nd, {values, i32s({1, 1}, {0})}, rule(OutOfRange::clamp, 2)), "batch_dims is 2");
    EXPECT_REJECTED(message(Op::gather_nd, {values, i32s({1, 1}, {0})}, rule(OutOfRange::clamp, 1)), "batch dimension");
    EXPECT_REJECTED(message(Op::gather_nd, {values, i32s({1, 1}, {0})}, rule(OutOfRange::skip)), "CLAMP or ZERO");
    EXPECT_REJECTED(message(Op::scatter_nd, {values, i32s({1, 1}, {0}), i32s({1, 2}, {0, 0})}), "updates have shape");
    EXPECT_REJECTED(message(Op::scatter_nd, {values, i32s({1, 2}, {0, 0}), i32s({1}, {0})}, rule(OutOfRange::zero)),
                    "CLAMP or SKIP");
    const HostTensor truths = ints(DType::boolean, {2}, {0, 1});
    EXPECT_REJECTED(
        message(Op::scatter_nd, {truths, i32s({1, 1}, {0}), ints(DType::boolean, {1}, {1})}, combining(Combiner::add)),
        "no sum");
    EXPECT_REJECTED(message(Op::segment_reduce, {values, start}, combining(Combiner::set, OutOfRange::skip, 1)), "SET");
    EXPECT_REJECTED(message(Op::segment_reduce, {values, start}, combining(Combiner::add)), "segments is 0");
    EXPECT_REJECTED(
        message(Op::segment_reduce, {values, i32s({3}, {0, 0, 0})}, combining(Combiner::add, OutOfRange::skip, 1)),
        "3 ids");
    EXPECT_REJECTED(message(Op::sort, {values}, sorting(2)), "axis 2");
    EXPECT_REJECTED(message(Op::sort, {values, values}, sorting(0)), "2 inputs, but 1 outputs");
}

// SUPPRESS and SUPPRESS_QUEUED by the reference: results written out by hand, ties above all.
#include "support/one_node.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

using Ints = std::vector<std::int64_t>;

/// Unit squares whose lower corners lie on a line, at these places.
HostTensor squares(const std::vector<double>& places) {
    std::vector<double> corners;
    for (const double at : places) corners.insert(corners.end(), {0, at, 1, at + 1});
    return floats({static_cast<std::int64_t>(places.size()), 4}, corners);
}

HostTensor row(const std::vector<double>& values) { return floats({static_cast<std::int64_t>(values.size())}, values); }

std::vector<HostTensor> results(Op op, const std::vector<HostTensor>& operands, const Attributes& attrs,
                                const std::vector<DType>& types) {
    GraphBuilder builder("node");
    std::vector<ValueId> ids;
    std::vector<const HostTensor*> pointers;
    for (const HostTensor& t : operands) {
        ids.push_back(builder.input("in" + std::to_string(ids.size()), t.type, t.shape));
        pointers.push_back(&t);
    }
    for (const ValueId id : builder.add(op, ids, attrs, types, "node")) builder.output(id);
    const Graph graph = builder.finish();
    return reference_node(NodeView(graph, 0), pointers);
}

struct Found {
    Ints boxes;
    std::vector<double> scores;
    Ints number;
};

Found queued(const HostTensor& boxes, const std::vector<double>& scores, double overlap, double score,
             std::int32_t most, double sigma = 0) {
    Attributes attrs;
    attrs.most = most;
    attrs.sigma = sigma;
    const auto all = results(Op::suppress_queued, {boxes, row(scores), row({overlap}), row({score})}, attrs,
                             {DType::i32, DType::fp32, DType::i32});
    return {decode_ints(DType::i32, all[0].bytes), decode_reals(DType::fp32, all[1].bytes),
            decode_ints(DType::i32, all[2].bytes)};
}

}  // namespace

TEST(Suppress, TakesInTheOrderGiven) {
    // Neighbours share a third of what they cover, the next but one nothing.
    Attributes attrs;
    attrs.most = 3;
    const HostTensor boxes = squares({0, 0.5, 1, 1.5, 2});
    const auto all = results(Op::suppress,
                             {boxes, ints(DType::i32, {3, 5}, Ints{0, 1, 2, 3, 4, 3, 4, 2, 1, 0, -7, 1, 9, 3, 2}),
                              ints(DType::i32, {3}, Ints{9, 3, 4}), row({0.3})},
                             attrs, {DType::i32, DType::i32});
    EXPECT_EQ(decode_ints(DType::i32, all[0].bytes), (Ints{0, 2, 4, 3, 0, 0, 0, 4, 0}));
    EXPECT_EQ(decode_ints(DType::i32, all[1].bytes), (Ints{3, 1, 2}));
}

TEST(Suppress, LeavesBoxesThatOverlapByTheLimit) {
    Attributes attrs;
    attrs.most = 4;
    // The second box is half of the first, its corners the other way round; the third has no area.
    const HostTensor boxes = floats({3, 4}, {0, 0, 1, 1, 1, 1, 0, 0.5, 0, 0, 1, 0});
    for (const double limit : {0.5, 0.4375}) {
        const auto all =
            results(Op::suppress,
                    {boxes, ints(DType::i32, {1, 3}, Ints{0, 1, 2}), ints(DType::i32, {1}, Ints{3}), row({limit})},
                    attrs, {DType::i32, DType::i32});
        EXPECT_EQ(decode_ints(DType::i32, all[0].bytes), limit == 0.5 ? (Ints{0, 1, 2, 0}) : (Ints{0, 2, 0, 0}));
    }
}

TEST(SuppressQueued, TakesTheHighestScores) {
    const HostTensor boxes = squares({0, 0.5, 1, 1.5, 2});
    const Found all = queued(boxes, {0.5, 0.75, 0.25, 0.625, 0.125}, 0.3, 0.2, 4);
    EXPECT_EQ(all.boxes, (Ints{1, 3, 0, 0}));
    EXPECT_EQ(all.scores, (std::vector<double>{0.75, 0.625, 0, 0}));
    EXPECT_EQ(all.number, Ints{2});
}

TEST(SuppressQueued, OrdersEqualScoresAsAHeap) {
    // Far apart, so that all are taken. Each goes back into the queue, and is thrown away when it comes again.
    const HostTensor boxes = squares({0, 10, 20, 30, 40, 50});
    const Found all = queued(boxes, {1, 1, 1, 1, 1, 1}, 0.5, 0, 6);
    EXPECT_EQ(all.number, Ints{6});
    EXPECT_EQ(all.boxes, (Ints{0, 2, 5, 4, 1, 3}));
}

TEST(SuppressQueued, TakesABoxWithoutAreaAgain) {
    const Found all = queued(floats({2, 4}, {0, 0, 0, 1, 0, 0, 1, 1}), {1, 0.5}, 0.5, 0, 5);
    EXPECT_EQ(all.boxes, (Ints{0, 0, 0, 0, 0}));
    EXPECT_EQ(all.number, Ints{2});  // as many as there were at first
}

TEST(SuppressQueued, LowersScoresOfWhatOverlaps) {
    const HostTensor boxes = squares({0, 0.5, 10});
    const Found all = queued(boxes, {1, 0.75, 0.7}, 0.5, 0.1, 3, 0.5);
    EXPECT_EQ(all.boxes, (Ints{0, 2, 1}));
    EXPECT_NEAR(all.scores[2], 0.75 * std::exp(-1.0 / 9), 1e-6);
    EXPECT_EQ(queued(boxes, {1, 0.75, 0.7}, 0.5, 0.68, 3, 0.5).number, Ints{2});
}

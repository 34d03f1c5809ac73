// How often a loop turns, as the graph says it, against how often the reference turns.
#include "ops/trips.hpp"
#include "support/control_graphs.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace tosavk {
namespace {

using namespace testing;

/// A loop over (counter, bound, turns), whose answer is `op` of the first two, in this order or the other.
struct Case {
    Op op;
    bool counter_first, negated;
    std::int64_t begin, bound, step;
    bool subtracts = false, bound_in_list = false;
};

std::string name_of_case(const Case& c) {
    return fmt::format("{} {} {} from {} by {}{}{}{}", name_of(c.op), c.counter_first ? "counter," : "bound,", c.bound,
                       c.begin, c.step, c.negated ? ", negated" : "", c.subtracts ? ", subtracts" : "",
                       c.bound_in_list ? ", in the list" : "");
}

Graph loop_of(const Case& c) {
    GraphBuilder asks("asks");
    const ValueId i = asks.input("i", DType::i32, {1}), limit = asks.input("limit", DType::i32, {1});
    asks.input("turns", DType::i32, {1});
    const ValueId bound = c.bound_in_list ? limit : asks.scalar(DType::i32, c.bound);
    ValueId answer = c.counter_first ? asks.add1(c.op, {i, bound}, DType::boolean, {}, "answer")
                                     : asks.add1(c.op, {bound, i}, DType::boolean, {}, "answer");
    if (c.negated) answer = asks.add1(Op::logical_not, {answer}, DType::boolean, {}, "not");
    asks.output(answer);
    GraphBuilder body("body");
    const ValueId now = body.input("i", DType::i32, {1}), same = body.input("limit", DType::i32, {1});
    const ValueId turns = body.input("turns", DType::i32, {1});
    body.output(
        body.add1(c.subtracts ? Op::sub : Op::add, {now, body.scalar(DType::i32, c.step)}, DType::i32, {}, "next"));
    body.output(same);
    body.output(body.add1(Op::add, {turns, body.scalar(DType::i32, 1)}, DType::i32, {}, "more"));
    GraphBuilder b("loop");
    const ValueId begin = b.scalar(DType::i32, c.begin), last = b.scalar(DType::i32, c.bound);
    b.output(
        b.while_loop({begin, last, b.scalar(DType::i32, 0)}, asks.finish_region(), body.finish_region(), "loop")[2]);
    return b.finish();
}

NodeId loop_in(const Graph& graph) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        if (graph.node(id).op == Op::while_loop) return id;
    }
    return no_id;
}

TEST(Trips, AsTheReferenceTurns) {
    std::size_t known = 0;
    for (const Op op : {Op::greater, Op::greater_equal}) {
        for (int flags = 0; flags < 16; ++flags) {
            for (const auto& [begin, bound] : std::initializer_list<std::pair<int, int>>{{0, 7}, {7, 0}, {-3, -3}}) {
                for (const std::int64_t step : {-2, -1, 1, 3}) {
                    const Case c{op,   (flags & 1) != 0, (flags & 2) != 0, begin, bound,
                                 step, (flags & 4) != 0, (flags & 8) != 0};
                    const Graph graph = loop_of(c);
                    const auto turns = trip_count(graph, loop_in(graph));
                    // What runs away from its bound ends nowhere; the others are known.
                    const bool below = c.counter_first == c.negated;
                    const std::int64_t moves = c.subtracts ? -step : step;
                    const bool holds = op == Op::greater ? (c.counter_first ? begin > bound : bound > begin)
                                                         : (c.counter_first ? begin >= bound : bound >= begin);
                    if (holds != c.negated && below == (moves < 0)) {
                        EXPECT_EQ(turns, std::nullopt) << name_of_case(c);
                        continue;
                    }
                    ++known;
                    ASSERT_TRUE(turns.has_value()) << name_of_case(c);
                    EXPECT_EQ(*turns, ints_of(reference_run(graph, {}).at(0)).at(0)) << name_of_case(c);
                }
            }
        }
    }
    EXPECT_GT(known, 200u);
}

TEST(Trips, NotWhereTheCounterWouldLeaveItsType) {
    constexpr std::int64_t most = INT32_MAX, least = INT32_MIN;
    const auto turns = [](const Case& c) {
        const Graph graph = loop_of(c);
        return trip_count(graph, loop_in(graph));
    };
    EXPECT_EQ(turns({Op::greater, false, false, most - 3, most, 1}), 3);
    EXPECT_EQ(turns({Op::greater, false, false, most - 3, most, 2}), std::nullopt);
    EXPECT_EQ(turns({Op::greater_equal, false, false, 0, most, 1}), std::nullopt) << "it goes on for ever";
    EXPECT_EQ(turns({Op::greater, true, false, least + 4, least, -2}), 2);
    EXPECT_EQ(turns({Op::greater, true, false, least + 3, least, -2}), std::nullopt);
    EXPECT_EQ(turns({Op::greater, false, false, least, most, 1}), most - least);
}

TEST(Trips, NotWhereSomethingElseDecides) {
    const Graph given = fibonacci_graph();  // its bound is an input
    EXPECT_EQ(trip_count(given, loop_in(given)), std::nullopt);

    // The counter is another number each turn.
    GraphBuilder body("body");
    const ValueId i = body.input("i", DType::i32, {1}), n = body.input("n", DType::i32, {1});
    body.output(body.add1(Op::add, {i, i}, DType::i32, {}, "twice"));
    body.output(n);
    GraphBuilder b("twice");
    b.output(b.while_loop({b.scalar(DType::i32, 1), b.scalar(DType::i32, 9)}, less_region(), body.finish_region(),
                          "loop")[0]);
    const Graph twice = b.finish();
    EXPECT_EQ(trip_count(twice, loop_in(twice)), std::nullopt);

    // The bound moves.
    GraphBuilder moves("body");
    const ValueId j = moves.input("i", DType::i32, {1}), m = moves.input("n", DType::i32, {1});
    const ValueId one = moves.scalar(DType::i32, 1);
    moves.output(moves.add1(Op::add, {j, one}, DType::i32, {}, "next"));
    moves.output(moves.add1(Op::sub, {m, one}, DType::i32, {}, "nearer"));
    GraphBuilder c("meet");
    c.output(c.while_loop({c.scalar(DType::i32, 0), c.scalar(DType::i32, 9)}, less_region(), moves.finish_region(),
                          "loop")[0]);
    const Graph meet = c.finish();
    EXPECT_EQ(trip_count(meet, loop_in(meet)), std::nullopt);
}

/// i < 9, and as many other conditions as `parts` says; i begins at `begin`.
Graph loop_of_parts(std::int64_t begin, const std::vector<std::string>& parts) {
    GraphBuilder asks("asks");
    const ValueId i = asks.input("i", DType::i32, {1}), given = asks.input("given", DType::boolean, {1});
    ValueId answer = asks.add1(Op::greater, {asks.scalar(DType::i32, 9), i}, DType::boolean, {}, "less");
    for (const std::string& part : parts) {
        const ValueId more = part == "given" ? given
                           : part == "same"
                               ? answer
                               : asks.add1(Op::greater_equal, {asks.scalar(DType::i32, std::stoi(part)), i},
                                           DType::boolean, {}, "less/" + part);
        answer = asks.add1(Op::logical_and, {more, answer}, DType::boolean, {}, "and/" + part);
    }
    asks.output(answer);
    GraphBuilder body("body");
    const ValueId now = body.input("i", DType::i32, {1}), same = body.input("given", DType::boolean, {1});
    body.output(body.add1(Op::add, {now, body.scalar(DType::i32, 2)}, DType::i32, {}, "next"));
    body.output(body.add1(Op::logical_not, {same}, DType::boolean, {}, "other"));
    GraphBuilder b("parts");
    const ValueId first = b.input("given", DType::boolean, {1});
    b.output(b.while_loop({b.scalar(DType::i32, begin), first}, asks.finish_region(), body.finish_region(), "loop")[0]);
    return b.finish();
}

TEST(Trips, AtMostTheLeastOfTheConditions) {
    const auto bound = [](std::int64_t begin, const std::vector<std::string>& parts) {
        const Graph graph = loop_of_parts(begin, parts);
        EXPECT_EQ(trip_count(graph, loop_in(graph)).has_value(), parts.empty());
        return trip_bound(graph, loop_in(graph));
    };
    EXPECT_EQ(bound(0, {}), 5);
    EXPECT_EQ(bound(0, {"given"}), 5);
    EXPECT_EQ(bound(0, {"4"}), 3);
    EXPECT_EQ(bound(0, {"4", "given", "2"}), 2);
    EXPECT_EQ(bound(0, {"given", "100"}), 5);
    EXPECT_EQ(bound(9, {"given"}), 0);
    EXPECT_EQ(bound(0, {"-1", "given"}), 0);
    EXPECT_EQ(bound(0, std::vector<std::string>(60, "same")), 5) << "each condition is looked at once";

    // What the reference turns, with either number first, is never more.
    for (const std::int64_t begin : {-4, 0, 1, 8}) {
        for (const auto& parts : std::vector<std::vector<std::string>>{{}, {"given"}, {"3"}, {"5", "given"}}) {
            for (const bool given : {false, true}) {
                const std::vector<HostTensor> inputs{boolean(given)};
                const std::int64_t end = ints_of(reference_run(loop_of_parts(begin, parts), inputs).at(0))[0];
                EXPECT_LE((end - begin) / 2, bound(begin, parts)) << begin;
            }
        }
    }
    const Graph open = fibonacci_graph();
    EXPECT_EQ(trip_bound(open, loop_in(open)), std::nullopt);
}

}  // namespace
}  // namespace tosavk

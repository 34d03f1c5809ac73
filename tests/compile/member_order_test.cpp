// The order in which a shader makes the values of a group. No GPU.
#include "compile/group/member_order.hpp"
#include "compile/codegen/source.hpp"
#include "compile/group/fuse.hpp"
#include "ops/builder.hpp"
#include "ops/storage.hpp"
#include "support/environment.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <set>

using namespace tosavk;

namespace {

/// The most values that are made already and will still be read, at any member.
std::size_t most_waiting(const Graph& graph, const std::vector<NodeId>& order) {
    std::set<ValueId> waiting;
    std::size_t most = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        for (const ValueId read : graph.node(order[k]).inputs) {
            const ValueId value = storage_of(graph, read);
            const bool again =
                std::any_of(order.begin() + static_cast<std::ptrdiff_t>(k) + 1, order.end(), [&](NodeId n) {
                    const auto& inputs = graph.node(n).inputs;
                    return std::any_of(inputs.begin(), inputs.end(),
                                       [&](ValueId other) { return storage_of(graph, other) == value; });
                });
            if (!again) waiting.erase(value);
        }
        waiting.insert(graph.node(order[k]).outputs.front());
        most = std::max(most, waiting.size());
    }
    return most;
}

std::vector<NodeId> all_of(const Graph& graph) {
    std::vector<NodeId> all(graph.nodes.size());
    for (NodeId n = 0; n < all.size(); ++n) all[n] = n;
    return all;
}

void expect_order(const Graph& graph, const std::vector<NodeId>& members, const std::vector<NodeId>& order) {
    std::set<ValueId> made;
    for (const NodeId n : order) {
        for (const ValueId read : graph.node(n).inputs) {
            const ValueId value = storage_of(graph, read);
            const bool of_members = std::any_of(members.begin(), members.end(), [&](NodeId other) {
                return graph.node(other).outputs.front() == value;
            });
            EXPECT_TRUE(!of_members || made.contains(value)) << "node " << n << " comes before what it reads";
        }
        EXPECT_TRUE(made.insert(graph.node(n).outputs.front()).second) << "node " << n << " comes twice";
    }
    EXPECT_EQ(order.size(), members.size());
}

}  // namespace

TEST(MemberOrder, GatesOfAnLstmDoNotWaitForEachOther) {
    GraphBuilder b("cell");
    std::vector<ValueId> x;
    for (const char* name : {"i", "f", "g", "o", "c"}) x.push_back(b.input(name, DType::fp32, {8}));
    const auto one = [&](Op op, ValueId a) { return b.add1(op, {a}, DType::fp32); };
    const ValueId i = one(Op::sigmoid, x[0]), f = one(Op::sigmoid, x[1]), g = one(Op::tanh, x[2]),
                  o = one(Op::sigmoid, x[3]);
    const ValueId fresh = b.add1(Op::maximum, {i, g}, DType::fp32), kept = b.add1(Op::sub, {f, x[4]}, DType::fp32);
    const ValueId cell = b.add1(Op::add, {kept, fresh}, DType::fp32);
    b.output(cell);
    b.output(b.add1(Op::add, {o, one(Op::tanh, cell)}, DType::fp32));
    const Graph graph = b.finish();
    const std::vector<NodeId> members = all_of(graph), order = with_few_waiting(graph, members);
    expect_order(graph, members, order);
    EXPECT_EQ(most_waiting(graph, members), 4u);
    EXPECT_EQ(most_waiting(graph, order), 3u);
    // The shader follows: the last gate is opened when the cell is there.
    const DevicePlan device = test::test_device();
    const std::vector<Group> groups = fuse(graph, device, {});
    ASSERT_EQ(groups.size(), 1u);
    const std::string glsl = build_source(graph, groups[0], device).glsl;
    EXPECT_GT(glsl.rfind("tosa_sigmoid("), glsl.rfind("tosa_tanh(")) << glsl;
}

// What is near reads what is near, as in formulas, or what is anywhere.
TEST(MemberOrder, RandomGraphsKeepWhatTheyReadBeforeThem) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    std::cout << "seed " << seed << "\n";
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::size_t before = 0, after = 0;
    for (int k = 0; k < 400; ++k) {
        GraphBuilder b("random");
        const std::size_t window = k % 4 == 0 ? 1000 : 2 + below(8);
        std::vector<ValueId> values = {b.input("x", DType::fp32, {8}), b.input("y", DType::fp32, {8})};
        const auto one = [&] { return values[values.size() - 1 - below(std::min(window, values.size()))]; };
        for (std::size_t n = 1 + below(30); n > 0; --n) {
            if (below(8) == 0) values.push_back(b.add1(Op::identity, {one()}, DType::fp32));
            else values.push_back(b.add1(Op::add, {one(), one()}, DType::fp32));
        }
        b.output(values.back());
        const Graph graph = b.finish();
        std::vector<NodeId> members;
        for (NodeId n = 0; n < graph.nodes.size(); ++n) {
            if (graph.node(n).op == Op::add) members.push_back(n);
        }
        if (k % 2 == 1)
            members.erase(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(members.size() / 3));
        const std::vector<NodeId> order = with_few_waiting(graph, members);
        expect_order(graph, members, order);
        EXPECT_LE(most_waiting(graph, order), most_waiting(graph, members)) << k;
        before += most_waiting(graph, members);
        after += most_waiting(graph, order);
    }
    EXPECT_LT(after, before);
}

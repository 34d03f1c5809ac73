// What groups read, as data: buffers and their numbers, bindings, members, registers. No GPU.
#include "compile/group/leaves.hpp"
#include "compile/codegen/source.hpp"
#include "compile/group/fuse.hpp"
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/builder.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

using namespace tosavk;
using namespace tosavk::test;

namespace {

/// An elementwise group of all nodes of a graph.
Group all_nodes(const Graph& graph) {
    Group group;
    group.kind = Group::Kind::elementwise;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) group.members.push_back(id);
    group.space = graph.value(graph.outputs.front()).shape;
    group.outputs = graph.outputs;
    return group;
}

GroupLeaves leaves(const Graph& graph, const DevicePlan& device = test_device()) {
    return leaves_of(graph, all_nodes(graph), device, Outputs::known);
}

}  // namespace

TEST(Leaves, EachTensorIsReadThroughOneBuffer) {
    GraphBuilder b("sum");
    const ValueId x = b.input("x", DType::fp32, {6, 8}), row = b.input("row", DType::fp32, {1, 8});
    const ValueId sum = b.add1(Op::add, {x, row}, DType::fp32), twice = b.add1(Op::add, {sum, x}, DType::fp32);
    b.output(b.add1(Op::add, {twice, row}, DType::fp32));
    const GroupLeaves found = leaves(b.finish());
    ASSERT_EQ(found.reads.size(), 2u);
    EXPECT_EQ(found.numbers.at(x) + found.numbers.at(row), 1u);
    for (const GroupLeaves::Read& read : found.reads) {
        EXPECT_EQ(found.numbers.at(read.operand.value), read.number);
        EXPECT_EQ(read.operand.reads, read.operand.value == row ? 6 : 1);
    }
    EXPECT_EQ(found.bindings, 2u);
    EXPECT_EQ(found.members, 3u);
    EXPECT_TRUE(found.made.empty());
}

TEST(Leaves, LargeTensorsTakeSeveralBindings) {
    GraphBuilder b("large");
    b.output(b.add1(Op::abs, {b.input("x", DType::fp32, {16, 64})}, DType::fp32));
    const Graph graph = b.finish();
    DevicePlan device = test_device();
    device.texel_elements = 0;
    EXPECT_EQ(leaves(graph, device).bindings, 1u);
    device.max_binding_bytes = 1024;
    EXPECT_EQ(leaves(graph, device).bindings, 4u);
}

TEST(Leaves, KnownNumbersAreNone) {
    GraphBuilder b("shift");
    const ValueId x = b.input("x", DType::i32, {5}), y = b.input("y", DType::i32, {5});
    const std::int64_t three[] = {3};
    b.output(b.add1(Op::mul, {x, y, b.constant_ints("shift", DType::i8, {1}, three)}, DType::i32));
    EXPECT_EQ(leaves(b.finish()).reads.size(), 2u);
}

TEST(Leaves, RegistersAreThoseOfValuesThatLiveTogether) {
    // A chain needs its operand and its result, a sum of many little more in the right order; what is read again once
    // the sum is there has to wait for it.
    const auto of_chain = [](std::size_t length) {
        GraphBuilder b("chain");
        ValueId x = b.input("x", DType::fp32, {64});
        for (std::size_t k = 0; k < length; ++k) x = b.add1(Op::abs, {x}, DType::fp32);
        b.output(x);
        return leaves(b.finish()).registers;
    };
    const auto of_sum = [](std::size_t terms, bool again) {
        GraphBuilder b("terms");
        std::vector<ValueId> waiting;
        const ValueId x = b.input("x", DType::fp32, {64});
        for (std::size_t k = 0; k < terms; ++k) waiting.push_back(b.add1(Op::abs, {x}, DType::fp32));
        ValueId sum = waiting.back();
        for (std::size_t k = waiting.size() - 1; k-- > 0;) sum = b.add1(Op::add, {sum, waiting[k]}, DType::fp32);
        for (std::size_t k = 0; again && k < waiting.size(); ++k)
            sum = b.add1(Op::maximum, {sum, waiting[k]}, DType::fp32);
        b.output(sum);
        return leaves(b.finish()).registers;
    };
    EXPECT_EQ(of_chain(1), of_chain(20));
    EXPECT_EQ(of_sum(20, false), of_sum(10, false));
    EXPECT_GE(of_sum(20, true), of_sum(10, true) + 4 * 10);
}

TEST(Leaves, OfAKernelBeginWithItsOperands) {
    const Graph graph = load_problem("conv2d f32 1x8x8x16 16x3x3 s1 p1 add", level_none);
    std::vector<Group> groups = fuse(graph, test_device(), {});
    ASSERT_EQ(groups.size(), 1u);
    ASSERT_TRUE(groups[0].choice);
    const GroupLeaves found = leaves_of(graph, groups[0], test_device(), Outputs::known);
    const auto& operands = groups[0].choice->operands;
    ASSERT_GT(found.reads.size(), operands.size());
    for (std::size_t k = 0; k < found.reads.size(); ++k) EXPECT_EQ(found.reads[k].number, k);
    for (std::size_t k = 0; k < operands.size(); ++k) EXPECT_EQ(found.reads[k].operand.value, operands[k].value);
}

TEST(Leaves, APrologueIsMadeAndItsOwnOperandsAreRead) {
    GraphBuilder b("chain");
    const ValueId x = b.input("x", DType::fp32, {6, 8}), row = b.input("row", DType::fp32, {1, 8});
    const ValueId sum = b.add1(Op::add, {x, row}, DType::fp32);
    b.output(b.add1(Op::argmax, {sum}, DType::i32, along(0)));
    const Graph graph = b.finish();
    const std::vector<Group> groups = fuse(graph, test_device(), {});
    ASSERT_EQ(groups.size(), 1u);
    const GroupLeaves found = leaves_of(graph, groups[0], test_device(), Outputs::known);
    EXPECT_EQ(found.made, (std::set<std::size_t>{0}));
    EXPECT_EQ(found.numbers.count(sum), 0u);
    EXPECT_EQ(found.reads.size(), 2u);
    EXPECT_EQ(found.members, 1u);
}

/// Every buffer that a shader declares is one that its text reads: the data name no more than the generator needs.
TEST(Leaves, AreWhatTheShadersRead) {
    for (const ProblemHelp& help : problem_help()) {
        if (help.op == "custom") continue;
        const Graph graph = load_problem(help.small, level_none);
        for (const Group& group : fuse(graph, test_device(), {})) {
            if (group.kind == Group::Kind::structural) continue;
            const GroupSource source = build_source(graph, group, test_device());
            const GroupLeaves found = leaves_of(graph, group, test_device(), Outputs::known);
            ASSERT_EQ(found.reads.size(), source.reads.size()) << help.small;
            for (std::size_t k = 0; k < found.reads.size(); ++k) {
                const std::size_t number = found.reads[k].number;
                if (group.choice && number < group.choice->operands.size()) continue;
                EXPECT_NE(source.glsl.find("in" + std::to_string(number) + "_load"), std::string::npos) << help.small;
            }
            const GroupLeaves open = leaves_of(graph, group, test_device(), Outputs::open);
            EXPECT_GE(open.bindings, found.bindings) << help.small;
        }
    }
}

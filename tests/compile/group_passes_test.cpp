// The passes of fusion, each alone: groups before and after, as data. No GPU.
#include "compile/group/order.hpp"
#include "compile/group/passes.hpp"
#include "compile/group/place.hpp"
#include "ops/builder.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

using namespace tosavk;
using namespace tosavk::test;

namespace {

/// The groups as text: kind, operators (prologues in braces, stores in brackets), and what they need by index.
std::string text_of(const GroupGraph& fusion) {
    const char* const kinds[] = {"none", "elementwise", "kernel", "rows", "copy", "structural"};
    const auto name = [&](NodeId id) { return std::string(name_of(fusion.graph.node(id).op)); };
    std::string text;
    for (std::size_t g = 0; g < fusion.groups.size(); ++g) {
        const Group& group = fusion.groups[g];
        text += (g == 0 ? "" : "; ") + std::string(kinds[static_cast<std::size_t>(group.kind)]);
        for (const Group::Prologue& prologue : group.prologues) {
            text += " {";
            for (const NodeId id : prologue.members) text += name(id) + (id == prologue.members.back() ? "}" : " ");
        }
        if (group.anchor != no_id) text += " " + name(group.anchor);
        for (const NodeId id : group.members) text += " " + name(id);
        for (const Group::Store& store : group.stores) text += " [" + name(store.node) + "]";
        for (const std::size_t before : fusion.needs[g]) text += " <" + std::to_string(before);
    }
    return text;
}

/// One graph with the groups that its nodes got.
struct Fusion {
    const Graph graph;
    const DevicePlan device = test_device();
    const PlanOptions options;
    GroupGraph groups;

    explicit Fusion(Graph of, const PlanOptions& with = {})
        : graph(std::move(of)), options(with), groups(graph, device, options) {
        place_nodes(groups);
    }
    std::string text() const { return text_of(groups); }
    std::string after(void (*pass)(GroupGraph&)) {
        pass(groups);
        return text();
    }
};

PlanOptions without(bool PlanOptions::* pass) {
    PlanOptions options;
    options.*pass = false;
    return options;
}

/// x -> EXP -> ABS -> FLOOR
Graph chain() {
    GraphBuilder b("chain");
    ValueId x = b.input("x", DType::fp32, {6, 8});
    for (const Op op : {Op::exp, Op::abs, Op::floor}) x = b.add1(op, {x}, DType::fp32);
    b.output(x);
    return b.finish();
}

}  // namespace

TEST(JoinFollowers, ElementwiseNodesJoinTheGroupOfTheirProducer) {
    EXPECT_EQ(Fusion(chain()).text(), "elementwise EXP ABS FLOOR");
    const char* const apart = "elementwise EXP; elementwise ABS <0; elementwise FLOOR <1";
    EXPECT_EQ(Fusion(chain(), without(&PlanOptions::join_followers)).text(), apart);
    EXPECT_EQ(Fusion(chain(), without(&PlanOptions::fuse)).text(), apart);
}

// Both operands of the ADD are written anyway: ABS and FLOOR are computed where they are added.
TEST(JoinFollowers, CheapStepsWaitForTheirConsumer) {
    GraphBuilder b("residual");
    const ValueId x = b.input("x", DType::fp32, {6, 8});
    const ValueId left = b.add1(Op::exp, {x}, DType::fp32), right = b.add1(Op::ceil, {left}, DType::fp32);
    b.output(left);
    b.output(right);
    const ValueId a = b.add1(Op::abs, {left}, DType::fp32), c = b.add1(Op::floor, {right}, DType::fp32);
    b.output(b.add1(Op::add, {a, c}, DType::fp32));
    const Graph graph = b.finish();
    const DevicePlan device = test_device();
    const PlanOptions options;
    GroupGraph groups(graph, device, options);
    const NodeId abs = graph.value(a).producer, add = groups.consumers[a].front();
    EXPECT_TRUE(waits_for_its_consumer(groups, NodeView(graph, abs)));
    EXPECT_FALSE(waits_for_its_consumer(groups, NodeView(graph, graph.value(left).producer)));
    EXPECT_EQ(with_waiting(groups, add), std::vector{add});
    groups.waiting[abs] = true;
    EXPECT_EQ(with_waiting(groups, add), (std::vector{abs, add}));
    place_nodes(groups);
    EXPECT_EQ(text_of(groups), "elementwise EXP CEIL ABS FLOOR ADD");
    EXPECT_EQ(groups.waiting, std::vector<bool>(5, false));
}

// All results of a group are kept until they are stored.
TEST(JoinFollowers, ResultsFitIntoTheRegisters) {
    GraphBuilder b("results");
    ValueId x = b.input("x", DType::fp32, {6, 8});
    for (int i = 0; i < 14; ++i) b.output(x = b.add1(i % 2 == 0 ? Op::abs : Op::floor, {x}, DType::fp32));
    const Graph graph = b.finish();
    const PlanOptions options;
    const auto first_group = [&](std::uint32_t registers) {
        DevicePlan device = test_device();
        device.registers = registers;
        device.max_buffers = 16;
        GroupGraph groups(graph, device, options);
        place_nodes(groups);
        return groups.groups.front().members.size();
    };
    EXPECT_EQ(first_group(1024), 14u);
    EXPECT_EQ(first_group(256), 14u);
    EXPECT_EQ(first_group(128), 14u);
    EXPECT_EQ(first_group(64), 11u);  // three quarters of them less what is at work, each result four
}

TEST(StoreInPlace, ConcatIsStoredByTheGroupsThatMakeItsInputs) {
    const auto graph = [] {
        GraphBuilder b("concat");
        const ValueId x = b.input("x", DType::fp32, {6, 8}), y = b.input("y", DType::fp32, {6, 4});
        const ValueId e = b.add1(Op::exp, {x}, DType::fp32);
        b.output(b.add1(Op::concat, {e, y, y}, DType::fp32, along(1)));
        return b.finish();
    };
    EXPECT_EQ(Fusion(graph()).text(), "elementwise EXP [CONCAT]; copy [CONCAT] [CONCAT]; none <0 <1");
    EXPECT_EQ(Fusion(graph(), without(&PlanOptions::store_in_place)).text(),
              "elementwise EXP; copy [CONCAT] <0; copy [CONCAT]; copy [CONCAT]; none <1 <2 <3");
}

TEST(StoreInPlace, TransposeOfWholeQuads) {
    const auto graph = [] {
        GraphBuilder b("transpose");
        Attributes attrs;
        attrs.perms = {1, 0, 2};
        const ValueId e = b.add1(Op::exp, {b.input("x", DType::fp32, {2, 3, 8})}, DType::fp32);
        b.output(b.add1(Op::transpose, {e}, DType::fp32, attrs));
        return b.finish();
    };
    EXPECT_EQ(Fusion(graph()).text(), "elementwise EXP [TRANSPOSE]; none <0");
    EXPECT_EQ(Fusion(graph(), without(&PlanOptions::store_in_place)).text(),
              "elementwise EXP; elementwise TRANSPOSE <0");
}

// SLICE joins nobody, so that the second operand of ADD has a group of its own after the nodes are placed.
TEST(MergeElementwise, OperandsComeAlong) {
    GraphBuilder b("operands");
    const ValueId x = b.input("x", DType::fp32, {1, 12});
    const auto half = [&](std::int64_t start) {
        const std::int64_t begin[] = {0, start}, size[] = {1, 5};
        const ValueId part = b.add1(Op::slice, {x, b.shape(begin), b.shape(size)}, DType::fp32);
        return b.add1(Op::exp, {part}, DType::fp32);
    };
    const ValueId first = half(1);
    b.output(b.add1(Op::add, {first, half(6)}, DType::fp32));
    Fusion fusion(b.finish());
    EXPECT_EQ(fusion.text(), "elementwise SLICE EXP; elementwise SLICE EXP ADD <0");
    EXPECT_EQ(fusion.after(merge_elementwise), "none; elementwise SLICE EXP SLICE EXP ADD");
    EXPECT_EQ(fusion.after(merge_elementwise), "none; elementwise SLICE EXP SLICE EXP ADD");
}

TEST(MergeElementwise, AKernelDoesNotTakeWhatItReads) {
    GraphBuilder b("kernel");
    const ValueId x = b.input("x", DType::fp32, {1, 4, 4});
    const ValueId zero = b.scalar(DType::fp32, 0), e = b.add1(Op::exp, {x}, DType::fp32);
    b.output(b.add1(Op::add, {b.add1(Op::matmul, {e, x, zero, zero}, DType::fp32), e}, DType::fp32));
    Fusion fusion(b.finish());
    const std::string placed = fusion.text();
    EXPECT_EQ(placed, "elementwise EXP; kernel MATMUL ADD <0");
    EXPECT_EQ(fusion.after(merge_elementwise), placed);
}

TEST(FuseRows, ReductionsTakeTheirNeighbours) {
    GraphBuilder b("norm");
    const ValueId x = b.input("x", DType::fp32, {5, 8});
    const ValueId most = b.add1(Op::reduce_max, {x}, DType::fp32, along(1));
    const ValueId below = b.add1(Op::sub, {x, most}, DType::fp32);
    b.output(b.add1(Op::reduce_sum, {below}, DType::fp32, along(1)));
    Fusion fusion(b.finish());
    EXPECT_EQ(fusion.text(), "kernel REDUCE_MAX; elementwise SUB <0; rows REDUCE_SUM <1");
    EXPECT_EQ(fusion.after(fuse_rows), "rows REDUCE_MAX SUB REDUCE_SUM; none; none");
}

TEST(FuseRows, OtherRowsStayApart) {
    GraphBuilder b("rows");
    const ValueId x = b.input("x", DType::fp32, {5, 8}), y = b.input("y", DType::fp32, {5, 4});
    b.output(b.add1(Op::reduce_sum, {b.add1(Op::exp, {x}, DType::fp32)}, DType::fp32, along(1)));
    b.output(b.add1(Op::reduce_sum, {y}, DType::fp32, along(1)));
    EXPECT_EQ(Fusion(b.finish()).after(fuse_rows), "none; rows EXP REDUCE_SUM; rows REDUCE_SUM");
}

TEST(FusePrologues, AKernelMakesWhatItAloneReads) {
    const auto graph = [](bool is_output) {
        GraphBuilder b("prologue");
        const ValueId e = b.add1(Op::abs, {b.input("x", DType::fp32, {5, 8})}, DType::fp32);
        if (is_output) b.output(e);
        b.output(b.add1(Op::argmax, {e}, DType::i32, along(1)));
        return b.finish();
    };
    Fusion alone(graph(false)), written(graph(true));
    EXPECT_EQ(alone.text(), "elementwise ABS; kernel ARGMAX <0");
    EXPECT_EQ(alone.after(fuse_prologues), "none; kernel {ABS} ARGMAX");
    EXPECT_NE(alone.groups.groups[1].choice->note.find("in0 is made where it is read"), std::string::npos)
        << alone.groups.groups[1].choice->note;
    EXPECT_EQ(written.after(fuse_prologues), "elementwise ABS; kernel ARGMAX <0");
}

TEST(FuseMoved, WhatIsOnlyMovedIsMadeWhereItIsRead) {
    const auto graph = [](bool read_twice) {
        GraphBuilder b("moved");
        const ValueId x = b.input("x", DType::fp32, {5, 8});
        const std::int64_t rows[] = {1, 1, 0, 0};
        const ValueId e = b.add1(Op::exp, {x}, DType::fp32);
        const ValueId padded = b.add1(Op::pad, {e, b.shape(rows), b.scalar(DType::fp32, 1)}, DType::fp32);
        b.output(b.add1(Op::ceil, {padded}, DType::fp32));
        if (read_twice) b.output(b.add1(Op::reverse, {e}, DType::fp32, along(0)));
        return b.finish();
    };
    Fusion once(graph(false)), twice(graph(true));
    EXPECT_EQ(once.text(), "elementwise EXP; elementwise PAD CEIL <0");
    EXPECT_EQ(once.after(fuse_prologues), "elementwise EXP; elementwise PAD CEIL <0");
    EXPECT_EQ(once.after(fuse_moved), "none; elementwise {EXP} PAD CEIL");
    const std::string placed = twice.text();
    EXPECT_EQ(twice.after(fuse_moved), placed);
}

// Two groups that would wait for each other never become one.
TEST(GroupGraph, CyclesAreSeen) {
    Fusion fusion(chain(), without(&PlanOptions::join_followers));
    EXPECT_TRUE(reaches(fusion.groups, 0, 2));
    EXPECT_FALSE(reaches(fusion.groups, 2, 0));
    EXPECT_FALSE(joint_needs(fusion.groups, 0, 2));
    EXPECT_EQ(joint_needs(fusion.groups, 1, 2), std::set<std::size_t>{0});
}

TEST(Order, GroupsThatNobodyReadsDoNotRun) {
    GraphBuilder b("unread");
    const ValueId x = b.input("x", DType::fp32, {5, 8});
    b.add1(Op::argmax, {x}, DType::i32, along(1));
    b.output(b.add1(Op::exp, {x}, DType::fp32));
    Fusion fusion(b.finish());
    find_outputs(fusion.groups);
    EXPECT_TRUE(fusion.groups.groups[0].outputs.empty());
    const std::vector<Group> order = in_order(fusion.groups);
    ASSERT_EQ(order.size(), 1u);
    EXPECT_EQ(order.front().outputs, fusion.graph.outputs);
}

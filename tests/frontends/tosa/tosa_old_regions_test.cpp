// Control flow in .tosa files before 1.0: regions of 0.80, its blocks in one region, and blocks of 0.30. Regions use
// values of the blocks around them without naming them as inputs, and their operators are upgraded like all others.
#include "frontends/frontend.hpp"
#include "ops/compare.hpp"
#include "reference/reference.hpp"
#include "support/tosa_builder.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tosavk {
namespace {

using test::OldFile;
using Ints = std::vector<std::int64_t>;

enum class Form { regions, blocks_in_a_region, blocks };

class TosaOldRegions : public ::testing::TestWithParam<Form> {
protected:
    static OldFile file() {
        OldFile f(GetParam() != Form::blocks);
        if (GetParam() == Form::blocks_in_a_region) f.in_main_region().version(0, 60);
        return f;
    }
    /// The graph, which must not change on its way through a file of 1.0.
    static Graph import(const OldFile& f) {
        const Graph graph = import_model(f.bytes(), "old", {});
        EXPECT_EQ(graph_difference(graph, import_model(write_tosa(graph), "written", {})), "");
        return graph;
    }
    static std::string refusal(const OldFile& f) {
        try {
            import_model(f.bytes(), "old", {});
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::bad_model) << e.what();
            return e.what();
        }
        return "imported";
    }
};

INSTANTIATE_TEST_SUITE_P(Generations, TosaOldRegions,
                         ::testing::Values(Form::regions, Form::blocks_in_a_region, Form::blocks),
                         [](const auto& form) {
                             return form.param == Form::regions ? "regions"
                                  : form.param == Form::blocks  ? "blocks"
                                                                : "blocks_in_a_region";
                         });

/// x + n * 2x in a loop. cond uses main's input n; body main's constant `one` and its sum `twice`, which stands behind
/// the loop in the file.
void add_loop(OldFile& f, const std::string& body_name = "body") {
    f.tensor("x", "INT32", {1}).tensor("n", "INT32", {1}).input("x").input("n");
    f.tensor("twice", "INT32", {1}).tensor("count", "INT32", {1}).tensor("result", "INT32", {1}).output("result");
    f.constant("zero", "INT32", {1}, {0});
    f.add({"WHILE_LOOP", {"zero", "x"}, {"count", "result"}, f.while_loop("cond", body_name), {}});
    f.add({"ADD", {"x", "x"}, {"twice"}, {}, {}});
    f.constant("one", "INT32", {1}, {1});
    f.block("cond").tensor("ci", "INT32", {1}).tensor("cx", "INT32", {1}).tensor("go", "BOOL", {1});
    f.input("ci").input("cx").output("go").add({"GREATER", {"n", "ci"}, {"go"}, {}, {}});
    f.block("body")
        .tensor("bi", "INT32", {1})
        .tensor("bx", "INT32", {1})
        .tensor("bn", "INT32", {1})
        .tensor("sum", "INT32", {1});
    f.input("bi").input("bx").output("bn").output("sum");
    f.add({"ADD", {"bi", "one"}, {"bn"}, {}, {}}).add({"ADD", {"bx", "twice"}, {"sum"}, {}, {}});
}

TEST_P(TosaOldRegions, LoopsCaptureConstantsInputsAndResults) {
    OldFile f = file();
    add_loop(f);
    const Graph graph = import(f);
    for (const std::int64_t n : {0, 1, 4}) EXPECT_EQ(test::run_ints(graph, {{5}, {n}}), Ints{5 + n * 10});
}

/// A branch in a branch. The inner one takes main's weight (a constant) and main's `wide`, a result, through a region
/// that names neither.
TEST_P(TosaOldRegions, BranchesInBranchesUpgradeTheirOperators) {
    OldFile f = file();
    f.tensor("outer", "BOOL", {1}).tensor("inner", "BOOL", {1}).tensor("x", "INT8", {1, 2});
    f.input("outer").input("inner").input("x").tensor("wide", "INT32", {1, 2}).tensor("y", "INT32", {1, 2}).output("y");
    f.constant("weight", "INT8", {2, 2}, {1, 2, 3, 4}).constant("bias", "INT32", {2}, {10, 20});
    f.add({"RESCALE", {"x"}, {"wide"}, f.rescale(1, 0, {1 << 30}, {30}, true, false, false), {}});
    f.add({"COND_IF", {"outer", "x"}, {"y"}, f.cond_if("then", "else"), {}});
    f.block("then").tensor("tx", "INT8", {1, 2}).tensor("ty", "INT32", {1, 2}).input("tx").output("ty");
    f.add({"COND_IF", {"inner", "tx"}, {"ty"}, f.cond_if("dense", "clamped"), {}});
    f.block("else").tensor("ex", "INT8", {1, 2}).tensor("ey", "INT32", {1, 2}).input("ex").output("ey");
    f.add({"NEGATE", {"wide"}, {"ey"}, f.negate(0, 0), {}});
    f.block("dense").tensor("dx", "INT8", {1, 2}).tensor("dy", "INT32", {1, 2}).input("dx").output("dy");
    f.add({"FULLY_CONNECTED", {"dx", "weight", "bias"}, {"dy"}, f.fully_connected(1, 0), {}});
    f.block("clamped").tensor("kx", "INT8", {1, 2}).tensor("low", "INT8", {1, 2}).tensor("cast", "INT32", {1, 2});
    f.tensor("ky", "INT32", {1, 2}).input("kx").output("ky");
    f.add({"CLAMP", {"kx"}, {"low"}, f.clamp(-3, 3, 0, 0), {}}).add({"CAST", {"low"}, {"cast"}, {}, {}});
    f.add({"MUL", {"cast", "wide"}, {"ky"}, f.mul(0), {}});
    const Graph graph = import(f);
    // wide is x - 1.
    EXPECT_EQ(test::run_ints(graph, {{1}, {1}, {5, 7}}), (Ints{10 + 4 + 12, 20 + 12 + 24}));
    EXPECT_EQ(test::run_ints(graph, {{1}, {0}, {5, -7}}), (Ints{3 * 4, -3 * -8}));
    EXPECT_EQ(test::run_ints(graph, {{0}, {1}, {5, -7}}), (Ints{-4, 8}));
}

/// All three blocks have an "x", a "k" and a "y" of their own.
TEST_P(TosaOldRegions, NamesBelongToTheirBlock) {
    OldFile f = file();
    const auto fill = [&](const char* op, std::int64_t k) {
        f.tensor("x", "INT32", {1}).tensor("y", "INT32", {1}).constant("k", "INT32", {1}, {k});
        f.input("x").add({op, {"x", "k"}, {"y"}, {}, {}});
    };
    fill("ADD", 100);
    f.tensor("c", "BOOL", {1}).tensor("z", "INT32", {1}).input("c").output("z");
    f.add({"COND_IF", {"c", "y"}, {"z"}, f.cond_if("then", "else"), {}});
    f.block("then");
    fill("ADD", 3);
    f.output("y").block("else");
    fill("SUB", 5);
    f.output("y");
    const Graph graph = import_model(f.bytes(), "old", {});
    const Graph again = import_model(write_tosa(graph), "written", {});
    for (const Graph* g : {&graph, &again}) {
        EXPECT_EQ(test::run_ints(*g, {{7}, {1}}), Ints{110});
        EXPECT_EQ(test::run_ints(*g, {{7}, {0}}), Ints{102});
    }
}

/// Unsigned tensors cross into regions and out of them.
TEST_P(TosaOldRegions, UnsignedTensorsInRegions) {
    OldFile f = file();
    f.tensor("c", "BOOL", {})
        .tensor("x", "UINT8", {3})
        .input("c")
        .input("x")
        .tensor("y", "UINT8", {3})
        .tensor("z", "INT8", {3});
    f.output("z").add({"COND_IF", {"c", "x"}, {"y"}, f.cond_if("turned", "same"), {}});
    f.add({"RESCALE", {"y"}, {"z"}, f.rescale(128, 0, {1 << 30}, {30}, true, false, false), {}});
    f.block("turned").tensor("tx", "UINT8", {3}).tensor("ty", "UINT8", {3}).input("tx").output("ty");
    f.add({"REVERSE", {"tx"}, {"ty"}, f.axis(0), {}});
    f.block("same").tensor("sx", "UINT8", {3}).input("sx").output("sx");
    const Graph graph = import(f);
    EXPECT_EQ(test::run_ints(graph, {{1}, {0, 127, -1}}), (Ints{127, -1, -128})) << "the bits 0, 127 and 255";
    EXPECT_EQ(test::run_ints(graph, {{0}, {0, 127, -1}}), (Ints{-128, -1, 127}));
}

TEST_P(TosaOldRegions, RefusalsNameTheRegion) {
    OldFile nowhere = file();
    add_loop(nowhere, "nowhere");
    EXPECT_NE(refusal(nowhere).find("WHILE_LOOP (number 1 in the file): there is no region 'nowhere'"),
              std::string::npos);
    OldFile itself = file();
    add_loop(itself);
    itself.tensor("i2", "INT32", {1}).tensor("x2", "INT32", {1});
    itself.add({"WHILE_LOOP", {"bi", "bx"}, {"i2", "x2"}, itself.while_loop("cond", "body"), {}});
    EXPECT_NE(refusal(itself).find("contains itself"), std::string::npos);
    OldFile stranger = file();
    add_loop(stranger);
    stranger.block("stranger").tensor("far", "INT32", {1});
    stranger.block("other").tensor("ox", "INT32", {1}).input("ox").output("far");
    EXPECT_EQ(refusal(stranger), "imported") << "blocks that nothing reaches are not read";
    OldFile bare = file();
    bare.tensor("x", "INT32", {1})
        .input("x")
        .tensor("y", "INT32", {1})
        .output("y")
        .add({"COND_IF", {"x"}, {"y"}, {}, {}});
    EXPECT_NE(refusal(bare).find("COND_IF (number 0 in the file) lacks its attributes"), std::string::npos);
}

}  // namespace
}  // namespace tosavk

// The sweep without a device: the reference plays the device, at times with a wrong result, which must be found.
#include "ops/compare.hpp"
#include "reference/reference.hpp"
#include "support/corpus.hpp"
#include "support/require.hpp"
#include "verify/conformance/dot_product_data.hpp"
#include "verify/conformance/error_graphs.hpp"
#include "verify/conformance/sweep.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

namespace tosavk::conformance {
namespace {

using Tamper = std::function<void(HostTensor&)>;

/// Runs the graph on the reference, lets `tamper` change each node's result, and compares that as a device's.
CaseReport judge_reference(const RandomCase& made, const Tamper& tamper) {
    std::vector<HostTensor> values = reference_run(made.graph, made.inputs, true);
    CaseReport report;
    for (NodeId id = 0; id < made.graph.nodes.size(); ++id) {
        const NodeView view(made.graph, id);
        std::vector<const HostTensor*> operands;
        for (const ValueId input : view.node().inputs) operands.push_back(&values[input]);
        for (std::size_t k = 0; k < view.output_count(); ++k) {
            HostTensor actual = values[view.node().outputs[k]];
            if (tamper) tamper(actual);
            const CheckResult result = check_node_result(view, operands, k, actual);
            report.nodes.push_back({view.node().op, result.worst, result.variance, result.bias, result.rule});
            if (!result.passed && report.passed) report = {false, "wrong: " + result.rule, report.nodes};
        }
    }
    return report;
}

Judge reference_judge(Tamper tamper = nullptr) {
    return [tamper](const RandomCase& made) { return judge_reference(made, tamper); };
}

SweepRow row_of(std::string_view op, std::string_view type) { return find_rows(op, type, "1.0").at(0); }

// ---- the data sets ------------------------------------------------------------------------------------------------

TEST(DotProductData, TheSpecificationsSequence) {
    const std::map<std::uint32_t, std::array<double, 3>> expected = {
        {0, {0.87775785, 0.73023987, -0.0083687585}}, {1, {-0.8998206, -0.950864, 0.7068308}},
        {2, {0.92188334, 0.28918639, 0.7364634}},     {3, {-0.94394606, -0.74520707, -0.5092420}},
        {15, {0.2086989, 0.39791852, 0.7070080}},
    };
    for (const auto& [set, values] : expected) {
        for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_NEAR(generated(set, i), values[i], 1e-7) << "set " << set << ", element " << i;
    }
}

TEST(DotProductData, EachSetFollowsItsFormula) {
    using Element = DotProductElement;
    constexpr auto input = Element::Operand::input, weight = Element::Operand::weight, bias = Element::Operand::bias;
    const double large = 1000;
    const auto value = [&](int set, Element::Operand operand, std::int64_t k, std::int64_t i) {
        return dot_product_value(set, {operand, 9, k, i}, large);
    };
    // Set 0: input and weight of one index are never both other than zero.
    EXPECT_NEAR(value(0, input, 0, 0), -0.8998206, 1e-6);
    EXPECT_EQ(value(0, weight, 0, 0), 0);
    EXPECT_EQ(value(0, input, 2, 2), 0);
    EXPECT_NEAR(value(0, weight, 2, 2), 0.7068308, 1e-6);
    // Set 1: the sign of one number with three quarters, the next one with a quarter; the only set with a bias.
    EXPECT_NEAR(value(1, input, 0, 0), 1000 / std::sqrt(10.0) * (-0.75 + 0.25 * -0.74520707), 1e-3);
    EXPECT_NEAR(value(1, bias, 0, 0), 1e5 * (std::copysign(0.75, generated(5, 0)) + 0.25 * generated(5, 1)), 1e-2);
    for (const int set : {0, 2, 3, 4, 5}) EXPECT_EQ(value(set, bias, 0, 3), 0);
    // Sets 2 and 3: something large first.
    EXPECT_EQ(value(2, input, 0, 9), 1);
    EXPECT_EQ(value(2, weight, 0, 9), 1);
    EXPECT_NEAR(value(2, weight, 3, 1), generated(7, 1) / 3, 1e-12);
    EXPECT_EQ(std::fabs(value(3, input, 0, 4)), 16);
    EXPECT_NEAR(value(3, weight, 1, 4), std::exp(2 * generated(10, 8)) * generated(10, 9), 1e-12);
    // Set 4: one half in the middle of the sum; elsewhere one factor is zero.
    EXPECT_EQ(value(4, input, 4, 4), -value(4, weight, 4, 4));
    EXPECT_EQ(std::fabs(value(4, input, 4, 4)), 0.5);
    EXPECT_EQ(value(4, input, 1, 7) * value(4, weight, 1, 7), 0);
    EXPECT_NE(value(4, input, 1, 7) + value(4, weight, 1, 7), 0);
    // Set 5: all different.
    EXPECT_NEAR(value(5, input, 3, 2), large / 3 * 0.7070080, 1e-4);
    EXPECT_NEAR(value(5, weight, 3, 2), large / 3 * generated(16, 2), 1e-9);
}

TEST(DotProductData, EverySetHasAThousandResults) {
    std::size_t rows = 0;
    for (const SweepRow& row : find_rows("", "", "")) {
        if (!row.data_set) continue;
        ++rows;
        for (int set = 0; set < dot_product_sets; ++set) {
            for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                std::mt19937_64 random(seed);
                const RandomCase made = row.data_set(set, random);
                for (const ValueId id : made.graph.outputs)
                    EXPECT_GE(element_count(made.graph.value(id).shape), 1000) << row.op << ", set " << set;
            }
        }
    }
    EXPECT_GE(rows, 7u);
}

// ---- rows and seeds -----------------------------------------------------------------------------------------------

TEST(Sweep, CoversTheRegistryOnce) {
    std::set<std::string> seen;
    std::size_t expected = 0;
    for (const OpDef& def : registry()) expected += def.rows.size();
    const std::vector<SweepRow> rows = registry_rows();
    EXPECT_EQ(rows.size(), expected);
    for (const SweepRow& row : rows) {
        EXPECT_TRUE(seen.insert(row.op + " " + row.types_text()).second) << row.op << " " << row.types_text();
        EXPECT_NE(row.bound, "the operator's bound") << row.op << " has no text for its bound";
    }
}

TEST(Sweep, CoversTosa030Once) {
    std::set<std::string> seen;
    for (const SweepRow& row : find_rows("", "", "0.30")) {
        EXPECT_EQ(row.spec, "0.30");
        EXPECT_TRUE(seen.insert(row.op + " " + row.types_text()).second) << row.op << " " << row.types_text();
    }
    EXPECT_GE(seen.size(), 316u);
    const SweepRow row = find_rows("FULLY_CONNECTED", "", "").at(0);
    const RowResult result = run_row(row, 1, 4, reference_judge());
    EXPECT_TRUE(result.passed()) << result.detail;
    EXPECT_NE(repro_command(row, result).find(" --spec 0.30 "), std::string::npos) << repro_command(row, result);
}

TEST(Sweep, ChoosesRows) {
    EXPECT_EQ(row_of("CONV2D", "i8_t,i8_t,i32_t,i32_t").types_text(), "i8_t,i8_t,i32_t,i32_t");
    EXPECT_EQ(row_of("CONV2D", "i8, i8, i32, i32").types_text(), "i8_t,i8_t,i32_t,i32_t");
    EXPECT_FALSE(same_types("i8_t", "i16_t"));
    EXPECT_FALSE(same_types("i8_t,i8_t", "i8_t"));
    for (const auto& [op, type] : std::vector<std::pair<const char*, const char*>>{{"CONV9D", ""}, {"ADD", "bool_t"}}) {
        try {
            find_rows(op, type, "");
            ADD_FAILURE() << op << " " << type;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::usage);
            EXPECT_NE(std::string(error.what()).find(*type ? type : op), std::string::npos) << error.what();
        }
    }
}

TEST(Sweep, ACaseDependsOnItsSeedAndRowAlone) {
    const SweepRow row = row_of("ADD", "i32_t"), other = row_of("ADD", "fp32_t");
    std::set<std::string> graphs;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        const RandomCase first = make_case(row, seed), again = make_case(row, seed);
        EXPECT_EQ(graph_difference(first.graph, again.graph), "");
        ASSERT_EQ(first.inputs.size(), again.inputs.size());
        for (std::size_t k = 0; k < first.inputs.size(); ++k) EXPECT_EQ(first.inputs[k].bytes, again.inputs[k].bytes);
        graphs.insert(describe(first));
        graphs.insert(describe(make_case(other, seed)));
    }
    EXPECT_GE(graphs.size(), 30u) << "graphs of rank 0 may coincide";
}

// ---- what the sweep finds -----------------------------------------------------------------------------------------

TEST(Sweep, TheReferencePassesItself) {
    for (const auto& [op, type] : std::vector<std::pair<const char*, const char*>>{{"ADD", "i32_t"},
                                                                                   {"ADD", "fp32_t"},
                                                                                   {"CONCAT", "fp16_t"},
                                                                                   {"EXP", "fp32_t"},
                                                                                   {"RESCALE", "i32_t,i8_t"},
                                                                                   {"MATMUL", "fp32_t,fp32_t"}}) {
        const SweepRow row = row_of(op, type);
        const RowResult result = run_row(row, 1, 8, reference_judge());
        EXPECT_TRUE(result.passed()) << op << ": " << result.detail;
        EXPECT_EQ(result.cases, row.data_set ? 14u : 8u);
        EXPECT_LE(result.worst, 1);
    }
}

TEST(Sweep, FindsAWrongBit) {
    const Judge judge = reference_judge([](HostTensor& result) { result.bytes.back() ^= std::byte{4}; });
    for (const auto& [op, type] : std::vector<std::pair<const char*, const char*>>{
             {"ADD", "i32_t"}, {"CONCAT", "fp16_t"}, {"RESCALE", "i32_t,i8_t"}, {"MATMUL", "fp32_t,fp32_t"}}) {
        const SweepRow row = row_of(op, type);
        const RowResult result = run_row(row, 1, 4, judge);
        EXPECT_FALSE(result.passed()) << op;
        EXPECT_NE(result.detail.find(op), std::string::npos) << "the graph must be told: " << result.detail;
    }
}

TEST(Sweep, FindsErrorsThatAreLargeInSum) {
    // Half of the allowed error of every element is far too much when all elements have it.
    const SweepRow row = row_of("MATMUL", "fp32_t,fp32_t");
    const RowResult shifted = run_row(row, 1, 0, [](const RandomCase& made) {
        return judge_reference(made, [](HostTensor& result) {
            for (float& v : result.as<float>()) v *= 1 + 0x1p-17f;
        });
    });
    EXPECT_FALSE(shifted.passed());
    // A sum of errors beyond its bound fails sets 3 to 5 alone.
    const RowResult biased = run_row(row, 1, 4, [](const RandomCase&) {
        CaseReport report;
        report.nodes.push_back({Op::matmul, 0.1, 0.1, 1.5, "biased"});
        return report;
    });
    EXPECT_EQ(biased.cases, 10u);
    EXPECT_EQ(biased.failures, 3u);
    EXPECT_TRUE(biased.data_set);
}

TEST(Sweep, ReproRepeatsTheFailure) {
    const SweepRow row = row_of("MAXIMUM", "i32_t");
    const std::string bad = describe(make_case(row, 6));
    const Judge judge = [&](const RandomCase& made) {
        CaseReport report = judge_reference(made, nullptr);
        if (describe(made) == bad) report.passed = false, report.detail = "seed 6";
        return report;
    };
    const RowResult all = run_row(row, 1, 10, judge);
    EXPECT_EQ(all.failures, 1u);
    EXPECT_EQ(all.seed, 6u);
    EXPECT_EQ(repro_command(row, all), "tosa-vk conformance --op MAXIMUM --type i32_t --seed 6 --cases 1");
    EXPECT_EQ(run_row(row, all.seed, 1, judge).failures, 1u);
    EXPECT_EQ(run_row(row, all.seed + 1, 1, judge).failures, 0u);
}

TEST(Sweep, AnExceptionIsAFailure) {
    const RowResult result = run_row(row_of("ABS", "i32_t"), 1, 3, [](const RandomCase&) -> CaseReport {
        throw Error(ErrorCode::device, "the device said no");
    });
    EXPECT_EQ(result.failures, 3u);
    EXPECT_NE(result.detail.find("the device said no"), std::string::npos);
}

TEST(Sweep, WhatFollowsDoesNotCountAsTheRowsError) {
    const RowResult result = run_row(row_of("EXP", "fp32_t"), 1, 2, [](const RandomCase&) {
        CaseReport report;
        report.nodes.push_back({Op::exp, 0.25, 0, 0, "exp"});
        report.nodes.push_back({Op::add, 1, 0, 0, "add"});
        return report;
    });
    EXPECT_TRUE(result.passed());
    EXPECT_EQ(result.worst, 0.25);
    EXPECT_EQ(result.detail, "exp");
}

// ---- error graphs -------------------------------------------------------------------------------------------------

TEST(ErrorGraphs, AreRefusedWithASentence) {
    for (const ErrorGraph& entry : error_graphs()) {
        const ErrorResult result = run_error_graph(entry, 1);
        EXPECT_GT(result.cases, 0u) << name_of(entry.op) << ": " << entry.error_if;
        EXPECT_EQ(result.failures, 0u) << result.detail;
    }
}

TEST(ErrorGraphs, ALegalGraphIsNotRefused) {
    std::mt19937_64 random(1);
    const OpDef& def = op_def(Op::conv2d);
    EXPECT_EQ(refusal_fault(random_case(def, def.rows[0], random).graph, def.name), "the graph was accepted");
    const ErrorGraph nothing{Op::conv2d, ErrorGraph::Kind::condition, "nothing", nullptr,
                             [](Graph&, std::mt19937_64&) { return true; }};
    EXPECT_EQ(run_error_graph(nothing, 1).failures, run_error_graph(nothing, 1).cases);
    const ErrorGraph never{Op::conv2d, ErrorGraph::Kind::condition, "never", nullptr,
                           [](Graph&, std::mt19937_64&) { return false; }};
    EXPECT_GT(run_error_graph(never, 1).failures, 0u);
}

TEST(ErrorGraphs, OnePerConditionOfTheSpecification) {
    const auto path = test::corpus() / "spec" / "tosa-operators.json";
    TOSAVK_NEEDS_CORPUS(test::corpus());
    std::ifstream file(path);
    const auto spec = nlohmann::json::parse(file);
    std::map<std::string, std::size_t> entries;
    for (const ErrorGraph& entry : error_graphs())
        if (entry.kind == ErrorGraph::Kind::condition) ++entries[std::string(name_of(entry.op))];
    for (const auto& op : spec.at("operators")) {
        const auto name = op.at("name").get<std::string>();
        const OpDef* def = find_op(std::string_view(name));
        if (!def || !op.contains("must")) continue;
        // Conditions about types that the registry has no row for cannot be broken.
        std::size_t unbreakable = 0;
        for (const auto& must : op.at("must")) {
            const auto text = must.get<std::string>();
            const auto absent = [&](const char* word, DType type) {
                return text.find(word) != std::string::npos &&
                       std::none_of(def->rows.begin(), def->rows.end(), [&](const TypeRow& row) {
                           return std::find(row.types.begin(), row.types.end(), type) != row.types.end();
                       });
            };
            unbreakable += absent("i48", DType::i48) ? 1 : 0;
        }
        EXPECT_EQ(entries[name], op.at("must").size() - unbreakable) << name;
    }
}

}  // namespace
}  // namespace tosavk::conformance

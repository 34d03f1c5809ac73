// What front ends say of files operator by operator: all reasons, not the first one only.
#include "base/files.hpp"
#include "frontends/frontend.hpp"
#include "frontends/stablehlo/stablehlo_reader.hpp"
#include "support/corpus.hpp"
#include "support/environment.hpp"
#include "support/tflite_models.hpp"
#include "support/tosa_builder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace tosavk {
namespace {

using namespace tosavk::tflite;
using namespace tosavk::test;

/// "0 ADD yes", "subgraph 1 2 MUL no", ...
std::vector<std::string> lines(const ProbeReport& report) {
    std::vector<std::string> all;
    for (const ProbedOperator& op : report.operators) {
        EXPECT_EQ(op.taken, op.sentence.empty());
        all.push_back((op.region.empty() ? "" : op.region + " ") + std::to_string(op.index) + " " + op.name +
                      (op.taken ? " yes" : " no"));
    }
    return all;
}

bool loads(const Bytes& file) {
    try {
        import_model(file, "f", {});
    } catch (const Error&) {
        return false;
    }
    return true;
}

using Lines = std::vector<std::string>;

TEST(Probe, TheRegistryKnowsEachFormat) {
    const Bytes tflite = one_op(B::RELU, {f32({4})}, f32({4}));
    const Bytes tosa = write_tosa(import_model(tflite, "f", {}));
    const std::string text =
        "module {\n  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
        "    %0 = stablehlo.abs %arg0 : tensor<4xf32>\n    return %0 : tensor<4xf32>\n  }\n}\n";
    const auto program = std::as_bytes(std::span(text));
    const Bytes stablehlo(program.begin(), program.end());
    ASSERT_EQ(frontends().size(), 3u);
    for (const Frontend& frontend : frontends()) {
        EXPECT_EQ(frontend.recognises(tflite), frontend.name == "tflite");
        EXPECT_EQ(frontend.recognises(tosa), frontend.name == "tosa");
        EXPECT_EQ(frontend.recognises(stablehlo), frontend.name == "stablehlo");
        EXPECT_FALSE(frontend.recognises({}));
        const ProbeReport report = frontend.probe(frontend.name == "tosa"     ? tosa
                                                  : frontend.name == "tflite" ? tflite
                                                                              : stablehlo,
                                                  {});
        EXPECT_EQ(report.format, frontend.name);
        EXPECT_TRUE(report.taken());
        EXPECT_EQ(report.operators.size(), 1u);
    }
    EXPECT_THROW(probe_model({}, "nothing", {}), Error);
}

TEST(Probe, GoesOnAfterRefusals) {
    // A refused operator, one that reads it, one of a type that nothing takes, a code that is not known, one that
    // needs a constant where a refused one computes it, and one that is all right.
    TfliteBuilder t;
    const int x = t.tensor(f32({2, 3})), a = t.tensor(f32({2, 3})), b = t.tensor(f32({2, 3}));
    const int wide = t.tensor({{2, 3}, TensorType::FLOAT64, {}, {}}), c = t.tensor(f32({2, 3}));
    const int shape = t.tensor({{2}, TensorType::INT32, {}, {}}), d = t.tensor(f32({3, 2}));
    const int e = t.tensor(f32({2, 3})), f = t.tensor(f32({2, 3}));
    t.op(B::LSH_PROJECTION, {x}, {a});
    t.op(B::ADD, {a, x}, {b});
    t.op(B::CAST, {b}, {wide});
    t.op(B::RELU, {wide}, {c});
    t.op(static_cast<B>(5000), {x}, {shape});
    t.op(B::TRANSPOSE, {x, shape}, {d});
    t.op(B::RELU, {x}, {e});
    t.op(B::CUSTOM, {e}, {f});
    const Bytes model = t.finish({x}, {b, c, d, f, e});
    const ProbeReport report = probe_model(model, "f", {});
    EXPECT_EQ(lines(report), (Lines{"0 LSH_PROJECTION no", "1 ADD yes", "2 CAST no", "3 RELU no", "4 5000 no",
                                    "5 TRANSPOSE no", "6 RELU yes", "7 CUSTOM '' no"}));
    EXPECT_EQ(report.graph, Lines{});
    EXPECT_FALSE(report.taken());
    const auto has = [&](std::size_t k, const char* part) {
        EXPECT_NE(report.operators[k].sentence.find(part), std::string::npos) << report.operators[k].sentence;
    };
    has(0, "TFLite operator LSH_PROJECTION (node 0) is not supported");
    has(3, "RELU (node 3, 't4'): types FLOAT64 -> FLOAT32 are not supported");
    has(4, "TFLite operator 5000 (node 4) is not known");
    has(5, "tensor 5 't5' must be a constant, and what makes it is refused");
}

TEST(Probe, InputsAndOutputsAreJudgedToo) {
    TfliteBuilder t;
    const TensorSpec bytes{{4}, TensorType::FLOAT64, {}, {}};
    const int x = t.tensor(bytes), y = t.tensor(f32({4})), z = t.tensor(f32({4})), u = t.tensor(f32({4}));
    const int never = t.tensor(f32({4}));
    t.op(B::RELU, {x}, {z});
    t.op(B::RELU, {y}, {u});
    const Bytes model = t.finish({x, y}, {z, u, never});
    const ProbeReport report = probe_model(model, "f", {});
    EXPECT_EQ(lines(report), (Lines{"0 RELU no", "1 RELU yes"}));
    ASSERT_EQ(report.graph.size(), 2u);
    EXPECT_NE(report.graph[0].find("graph input 0 (tensor 0 't0'): type FLOAT64 is not supported"), std::string::npos);
    EXPECT_NE(report.graph[1].find("graph output 2 (tensor 4 't4') is never computed"), std::string::npos);
    // All operators are taken, but not the graph.
    const TensorSpec complex{{1, 5}, TensorType::COMPLEX64, {}, {}};
    const ProbeReport whole = probe_model(one_op_indices(B::RFFT2D, f32({1, 8}), {{1, 8}}, complex), "f", {});
    EXPECT_TRUE(whole.operators_taken());
    EXPECT_FALSE(whole.taken());
}

/// What fails while constants are computed leaves the rest of the graph as it was.
TEST(Probe, RefusalsWhileFolding) {
    TfliteBuilder t;
    const int x = t.tensor(f32({4})), made = t.tensor({{3}, TensorType::INT32, {}, {}}), y = t.tensor(f32({4}));
    t.op(B::ADD, {t.indices({1, 2, 3}), t.indices({1, 2})}, {made});
    t.op(B::RELU, {x}, {y});
    const ProbeReport report = probe_model(t.finish({x}, {y, made}), "f", {});
    EXPECT_EQ(lines(report), (Lines{"0 ADD no", "1 RELU yes"}));
}

TEST(Probe, SubgraphsAreListedOnce) {
    TfliteBuilder t;
    const int bx = t.tensor(f32({2})), by = t.tensor(f32({2})), bz = t.tensor(f32({2}));
    t.op(B::RELU, {bx}, {by});
    t.op(B::LSH_PROJECTION, {by}, {bz});
    const int bad = t.end_subgraph({bx}, {bz}, "bad");
    const int gx = t.tensor(f32({2})), gy = t.tensor(f32({2}));
    t.op(B::RELU6, {gx}, {gy});
    const int good = t.end_subgraph({gx}, {gy}, "good");
    const int c = t.tensor({{1}, TensorType::BOOL, {}, {}}), x = t.tensor(f32({2}));
    std::vector<int> made;
    for (const auto& [first, second] : {std::pair(bad, good), std::pair(good, good), std::pair(good, bad)}) {
        made.push_back(t.tensor(f32({2})));
        const auto options = CreateIfOptions(t.fbb, first, second).Union();
        t.op(B::IF, {c, x}, {made.back()}, BuiltinOptions::IfOptions, options);
    }
    const ProbeReport report = probe_model(t.finish({c, x}, made), "f", {});
    EXPECT_EQ(lines(report), (Lines{"0 IF no", "1 IF yes", "2 IF no", "subgraph 1 0 RELU yes",
                                    "subgraph 1 1 LSH_PROJECTION no", "subgraph 2 0 RELU6 yes"}));
    EXPECT_NE(report.operators[0].sentence.find("its subgraph 1 has operators that are refused"), std::string::npos);
}

TEST(Probe, TosaFiles) {
    for (const bool regions : {true, false}) {
        OldFile f(regions);
        f.tensor("x", "INT32", {2}).tensor("a", "INT32", {2}).tensor("b", "INT32", {2}).tensor("y", "INT32", {2});
        f.tensor("c", "BOOL", {1}).tensor("z", "INT32", {2}).input("x").input("c").output("y").output("z");
        f.add({"ABS", {"x"}, {"a"}, {}, {}}).add({"DIM", {"a"}, {"b"}, {}, {}}).add({"ADD", {"b", "a"}, {"y"}, {}, {}});
        f.add({"COND_IF", {"c", "x"}, {"z"}, f.cond_if("then", "else"), {}});
        f.block("then").tensor("x", "INT32", {2}).tensor("p", "INT32", {2}).tensor("q", "INT32", {2});
        f.input("x").output("q").add({"77", {"x"}, {"p"}, {}, {}}).add({"NEGATE", {"p"}, {"q"}, f.negate(0, 0), {}});
        f.block("else").tensor("x", "INT32", {2}).tensor("q", "INT32", {2}).input("x").output("q");
        f.add({"DIM", {"x"}, {"q"}, {}, {}});
        const ProbeReport report = probe_model(f.bytes(), "f", {});
        const std::string end = regions ? "_bb0' " : "' ";
        EXPECT_EQ(lines(report),
                  (Lines{"0 ABS yes", "1 DIM no", "2 ADD yes", "3 COND_IF no", "region 'else" + end + "0 DIM no",
                         "region 'then" + end + "0 77 no", "region 'then" + end + "1 NEGATE yes"}));
        EXPECT_EQ(report.graph, Lines{});
        EXPECT_NE(report.operators[1].sentence.find("operator DIM (number 1 in the file) is not supported"),
                  std::string::npos);
        EXPECT_FALSE(loads(f.bytes()));
    }
    OldFile types(true);
    types.tensor("x", "FP32", {2}).tensor("s", "SHAPE", {2}).tensor("y", "FP32", {2}).tensor("z", "FP32", {2});
    types.input("x").input("s").output("y").output("z");
    types.add({"ABS", {"s"}, {"y"}, {}, {}}).add({"ABS", {"x"}, {"z"}, {}, {}});
    const ProbeReport report = probe_model(types.bytes(), "f", {});
    EXPECT_EQ(lines(report), (Lines{"0 ABS no", "1 ABS yes"}));
    ASSERT_EQ(report.graph.size(), 1u);
    EXPECT_NE(report.graph[0].find("graph input 1"), std::string::npos);
}

/// Whatever the file, the report says "taken" if and only if it loads, and every operator stands in it.
TEST(Probe, AgreesWithLoading) {
    const auto root = corpus();
    if (root.empty()) GTEST_SKIP() << "the corpus is not there; set TOSAVK_CORPUS to its folder";
    std::vector<std::filesystem::path> files;
    for (const auto& folder : {root / "networks", root / "tosa-files"}) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
            const auto ending = entry.path().extension();
            if (ending == ".tflite" || ending == ".tosa") files.push_back(entry.path());
        }
    }
    EXPECT_GT(files.size(), 20u);
    for (const auto& path : files) {
        SCOPED_TRACE(path.string());
        const Bytes file = read_file(path);
        const ProbeReport report = probe_model(file, "f", {});
        EXPECT_EQ(report.taken(), loads(file));
        EXPECT_FALSE(report.operators.empty());
    }
}

TEST(Probe, DamagedFilesAreProbedOrRefused) {
    const auto root = corpus();
    if (root.empty()) GTEST_SKIP() << "the corpus is not there; set TOSAVK_CORPUS to its folder";
    const auto seed = static_cast<unsigned>(number_from_environment("TOSAVK_TEST_SEED", 20260917));
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Bytes tflite = read_file(root / "tflite-ops" / "seanet_strided_slice0" / "model.tflite");
    const Bytes tosa = write_tosa(import_model(tflite, "f", {}));
    int probed = 0, refused = 0;
    for (int round = 0; round < 3000; ++round) {
        Bytes copy = round % 2 ? tflite : tosa;
        for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
            copy[random() % copy.size()] = static_cast<std::byte>(random());
        try {
            const ProbeReport report = probe_model(copy, "f", {});
            ++probed;
            refused += !report.taken();
        } catch (const Error& e) {
            EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
        }
    }
    EXPECT_GT(probed, 100);
    EXPECT_GT(refused, 10);
}

Bytes bytes_of(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

TEST(Probe, StableHloOperationByOperation) {
    const Bytes file = bytes_of(R"(module {
  func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<i32>) {
    %a = stablehlo.custom_call @nobody_knows(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = stablehlo.add %a, %x : tensor<4xf32>
    %w = stablehlo.convert %b : (tensor<4xf32>) -> tensor<4xf64>
    %v = stablehlo.abs %w : tensor<4xf64>
    %c = func.call @inner(%b) : (tensor<4xf32>) -> tensor<4xf32>
    %d = func.call @fine(%b) : (tensor<4xf32>) -> tensor<4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %l:2 = stablehlo.while(%i = %n, %y = %c) : tensor<i32>, tensor<4xf32>
     cond {
      %k = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %o = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %o : tensor<i32>
      %q = stablehlo.custom_call @nobody_knows(%y) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %j, %q : tensor<i32>, tensor<4xf32>
    }
    %e = stablehlo.negate %l#1 : tensor<4xf32>
    return %e, %l#0 : tensor<4xf32>, tensor<i32>
  }
  func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = stablehlo.custom_call @nobody_knows(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %a : tensor<4xf32>
  }
  func.func private @fine(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = stablehlo.abs %x : tensor<4xf32>
    return %a : tensor<4xf32>
  }
}
)");
    const ProbeReport report = probe_model(file, "f", {});
    EXPECT_FALSE(report.taken());
    EXPECT_TRUE(report.graph.empty());
    const Lines wanted = {"0 stablehlo.custom_call no",
                          "1 stablehlo.add yes",
                          "2 stablehlo.convert no",
                          "3 stablehlo.abs no",
                          "4 stablehlo.call no",
                          "5 stablehlo.call yes",
                          "6 stablehlo.constant yes",
                          "7 stablehlo.reduce yes",
                          "8 stablehlo.while no",
                          "9 stablehlo.negate yes",
                          "function 'fine' 0 stablehlo.abs yes",
                          "function 'inner' 0 stablehlo.custom_call no",
                          "operation 8 (while), region 0 0 stablehlo.constant yes",
                          "operation 8 (while), region 0 1 stablehlo.compare yes",
                          "operation 8 (while), region 1 0 stablehlo.constant yes",
                          "operation 8 (while), region 1 1 stablehlo.add yes",
                          "operation 8 (while), region 1 2 stablehlo.custom_call no"};
    EXPECT_EQ(lines(report), wanted);
    EXPECT_NE(report.operators.at(0).sentence.find("nobody_knows"), std::string::npos) << report.operators[0].sentence;
    EXPECT_NE(report.operators.at(8).sentence.find("operations that are refused"), std::string::npos);
}

/// Each function calls the next one twice; the last one has `operation`.
Bytes doubling(std::size_t functions, const std::string& operation) {
    std::string text = "module {\n";
    for (std::size_t k = 0; k < functions; ++k) {
        const bool last = k + 1 == functions;
        const std::string call = fmt::format("func.call @f{}", k + 1), type = " : (tensor<4xf32>) -> tensor<4xf32>\n";
        text += fmt::format("  func.func {} @{}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n",
                            k == 0 ? "public" : "private", k == 0 ? "main" : fmt::format("f{}", k));
        text += "    %a = " + (last ? operation : call) + "(%x)" + type;
        text += "    %b = " + (last ? operation : call) + "(%a)" + type;
        text += "    return %b : tensor<4xf32>\n  }\n";
    }
    return bytes_of(text + "}\n");
}

TEST(Probe, StableHloCallsOfCallsEnd) {
    ProbeReport report = probe_model(doubling(60, "stablehlo.custom_call @nobody_knows"), "f", {});
    EXPECT_FALSE(report.taken());
    EXPECT_EQ(report.operators.size(), 120u);
    // A function that calls itself.
    report = probe_model(doubling(2, "func.call @f1"), "f", {});
    EXPECT_FALSE(report.taken());
    // Nothing is refused, and the calls in place of the functions would be without end.
    EXPECT_FALSE(loads(doubling(60, "\"stablehlo.abs\"")));
    EXPECT_FALSE(probe_model(doubling(60, "\"stablehlo.abs\""), "f", {}).taken());
    EXPECT_TRUE(probe_model(doubling(6, "\"stablehlo.abs\""), "f", {}).taken());
}

TEST(Probe, StableHloArgumentsThatAreRefused) {
    const Bytes file = bytes_of(R"(module {
  func.func @main(%x: tensor<4xf64>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %a = stablehlo.abs %x : tensor<4xf64>
    %b = stablehlo.abs %y : tensor<4xf32>
    return %b : tensor<4xf32>
  }
}
)");
    const ProbeReport report = probe_model(file, "f", {});
    EXPECT_EQ(report.graph.size(), 1u);
    EXPECT_EQ(lines(report), (Lines{"0 stablehlo.abs no", "1 stablehlo.abs yes"}));
    ImportOptions options;
    options.f64_as_f32 = true;
    EXPECT_TRUE(probe_model(file, "f", options).taken());
}

TEST(Probe, StableHloIsTakenWhereItLoads) {
    std::size_t files = 0, taken = 0;
    for (const std::filesystem::path& path : stablehlo_files()) {
        const Bytes file = read_file(path);
        const ProbeReport report = probe_model(file, "f", {});
        EXPECT_EQ(report.taken(), loads(file)) << path;
        EXPECT_FALSE(report.operators.empty()) << path;
        ++files, taken += report.taken();
    }
    EXPECT_GT(files, 5u);
    EXPECT_GT(taken, 2u);
}

}  // namespace
}  // namespace tosavk

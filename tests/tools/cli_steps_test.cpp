// Networks that keep variables: run --steps, and sequences of recorded cases; the corpus of real networks.
#include "support/cli.hpp"
#include "support/corpus.hpp"
#include "support/require.hpp"
#include "support/tflite_models.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tosavk {
namespace {

namespace fs = std::filesystem;
using test::Cli;
using test::Spawned;

/// y = held + x, which is held from then on; fp32 [2], beginning with {10, 20}.
Bytes running_sum() {
    using namespace tosavk::tflite;
    using namespace tosavk::test;
    TfliteBuilder t;
    const TensorSpec type = f32({2}), resource{{}, TensorType::RESOURCE};
    const auto handle = [&](int tensor) {
        t.op(B::VAR_HANDLE, {}, {tensor}, BuiltinOptions::VarHandleOptions,
             CreateVarHandleOptions(t.fbb, 0, t.fbb.CreateString("sum")).Union());
    };
    const int name = t.tensor(resource), begin = t.constant(type, encode_reals(DType::fp32, std::vector{10.0, 20.0}));
    handle(name);
    t.op(B::ASSIGN_VARIABLE, {name, begin}, {});
    const int once = t.end_subgraph({}, {}, "init");
    const int x = t.tensor(type), again = t.tensor(resource), held = t.tensor(type), y = t.tensor(type);
    t.op(B::CALL_ONCE, {}, {}, BuiltinOptions::CallOnceOptions, CreateCallOnceOptions(t.fbb, once).Union());
    handle(again);
    t.op(B::READ_VARIABLE, {again}, {held});
    t.op(B::ADD, {held, x}, {y});
    t.op(B::ASSIGN_VARIABLE, {again, y}, {});
    return t.finish({x}, {y});
}

TEST_F(Cli, StepsKeepVariables) {
    TOSAVK_NEEDS_DRIVER();
    const std::string model = write("sum.tflite", running_sum());
    const std::string x = array("x.npy", DType::fp32, {3, 2}, {1, 2, 3, 4, 5, 6});
    const std::vector<double> expected{11, 22, 14, 26, 19, 32};
    for (const bool reference : {false, true}) {
        std::vector<std::string> arguments{"run",     model,    "--steps",      "3",
                                           "--input", "0=" + x, "--output-dir", path("o")};
        if (reference) arguments.push_back("--reference");
        const Spawned run = spawn(arguments);
        ASSERT_EQ(run.exit_code, 0) << run.err;
        const HostTensor y = load_npy(fs::path(path("o")) / "output_0.npy");
        EXPECT_EQ(y.shape, (Shape{3, 2}));
        EXPECT_EQ(decode_reals(y.type, y.bytes), expected) << (reference ? "reference" : "device");
    }
    // One step has its axis too; without --steps there is none.
    const Spawned one = spawn({"run", model, "--steps", "1", "--json"});
    ASSERT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(nlohmann::json::parse(one.out)["outputs"][0]["shape"], nlohmann::json({1, 2}));
    const Spawned plain = spawn({"run", model, "--json"});
    ASSERT_EQ(plain.exit_code, 0) << plain.err;
    EXPECT_EQ(nlohmann::json::parse(plain.out)["outputs"][0]["shape"], nlohmann::json({2}));
    expect_error(spawn({"run", model, "--steps", "4", "--input", "0=" + x}), 3, "4 steps take arrays");
    expect_error(spawn({"run", model, "--input", "0=" + x}), 3, "holds float32 3x2");
    expect_error(spawn({"run", model, "--steps", "0"}), 2, "--steps");
}

TEST_F(Cli, SequencesAndCasesOfFreshRuns) {
    TOSAVK_NEEDS_DRIVER();
    const std::string model = write("sum.tflite", running_sum());
    array("x.npy", DType::fp32, {2}, {1, 2});
    array("y.npy", DType::fp32, {2}, {11, 22});
    array("xs.npy", DType::fp32, {2, 2}, {1, 2, 3, 4});
    array("ys.npy", DType::fp32, {2, 2}, {11, 22, 14, 26});
    const char* one = R"({"inputs": ["x.npy"], "expected": {"reference": ["y.npy"]}})";
    const auto cases = [&](const std::string& sequence) {
        write("cases.json", std::string("{\"cases\": [") + one + ", " + one + "], \"sequences\": [" + sequence + "]}");
        return spawn({"verify", model, "--cases", folder_.string()});
    };
    const Spawned right = cases(R"({"steps": 2, "inputs": ["xs.npy"], "expected": ["ys.npy"]})");
    EXPECT_EQ(right.exit_code, 0) << right.out << right.err;
    EXPECT_NE(right.out.find("3 recorded cases"), std::string::npos) << right.out;
    const Spawned wrong = cases(R"({"steps": 2, "inputs": ["xs.npy"], "expected": ["xs.npy"]})");
    EXPECT_EQ(wrong.exit_code, 1) << wrong.out << wrong.err;
    expect_error(cases(R"({"steps": 0, "inputs": ["xs.npy"], "expected": ["ys.npy"]})"), 3, "has no steps");
    expect_error(cases(R"({"inputs": ["xs.npy"], "expected": ["ys.npy"]})"), 3, "is not a list of cases");
}

TEST_F(Cli, RealNetworksOfTheCorpus) {
    TOSAVK_NEEDS_DRIVER();
    TOSAVK_NEEDS_CORPUS(test::corpus());
    std::size_t networks = 0;
    for (const fs::path& network : test::case_folders(test::corpus() / "networks")) {
        ++networks;
        const Spawned run = spawn({"verify", (network / "model.tflite").string(), "--cases", network.string()});
        EXPECT_EQ(run.exit_code, 0) << network.filename() << "\n" << run.out << run.err;
    }
    EXPECT_GE(networks, 13u);
}

}  // namespace
}  // namespace tosavk

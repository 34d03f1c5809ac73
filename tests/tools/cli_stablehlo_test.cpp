// Programs of JAX in every form that files of them have: run, verify, dump, compile, probe and the benchmark's program.
#include "base/files.hpp"
#include "frontends/stablehlo/jax_export.hpp"
#include "support/cli.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tosavk {
namespace {

namespace fs = std::filesystem;
using test::Cli;
using test::Spawned;

class CliStablehlo : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        TOSAVK_NEEDS_VARIABLE("TOSAVK_SOURCE");
        programs_ = fs::path(std::getenv("TOSAVK_SOURCE")) / "tests/frontends/stablehlo/programs";
    }
    std::string file(const char* name) const { return (programs_ / name).string(); }

    /// What the command prints; it must succeed.
    std::string said(const std::vector<std::string>& arguments) {
        const Spawned done = spawn(arguments);
        EXPECT_EQ(done.exit_code, 0) << arguments.at(0) << " " << arguments.at(1) << "\n" << done.err;
        return done.out;
    }

    fs::path programs_;
};

TEST_F(CliStablehlo, EveryFormOfAProgram) {
    TOSAVK_NEEDS_DRIVER();
    const Bytes exported = read_file(file("convolution.jaxexport"));
    const auto artifact = stablehlo::read_jax_export(exported);
    ASSERT_TRUE(artifact);
    const std::string bytecode = write("main.mlirbc", Bytes(artifact->module.begin(), artifact->module.end()));
    for (const std::string& program : {file("convolution.mlir"), file("convolution.jaxexport"), bytecode}) {
        SCOPED_TRACE(program);
        const std::string package = path("p.tvk");
        const auto run = nlohmann::json::parse(said({"run", program, "--json"}));
        const auto reference = nlohmann::json::parse(said({"run", program, "--reference", "--json"}));
        ASSERT_FALSE(run["outputs"].empty());
        ASSERT_EQ(run["outputs"].size(), reference["outputs"].size());
        for (std::size_t k = 0; k < run["outputs"].size(); ++k)
            EXPECT_EQ(run["outputs"][k]["shape"], reference["outputs"][k]["shape"]) << k;
        EXPECT_NE(said({"verify", program}).find("passed"), std::string::npos);
        EXPECT_NE(said({"dump", program}).find("output"), std::string::npos);
        said({"probe", program});
        said({"compile", program, "--output", package});
        const auto packed = nlohmann::json::parse(said({"run", package, "--json"}));
        EXPECT_EQ(packed["outputs"].size(), run["outputs"].size());
    }
    // The text and what JAX exports of one program give one graph.
    EXPECT_EQ(said({"dump", file("convolution.mlir")}), said({"dump", file("convolution.jaxexport")}));
}

TEST_F(CliStablehlo, QuantizedProgramsOnTheDevice) {
    TOSAVK_NEEDS_DRIVER();
    std::ofstream(path("quantized.mlir")) << R"(module @quantized {
  func.func public @main(%x: tensor<5x16x!quant.uniform<i8:f32, 0.25:-3>>, %y: tensor<5x16xf32>) -> (tensor<5x16x!quant.uniform<u8:f32, 0.125:128>>, tensor<5x16xf32>) {
    %0 = stablehlo.uniform_quantize %y : (tensor<5x16xf32>) -> tensor<5x16x!quant.uniform<u8:f32, 0.0625:100>>
    %1 = stablehlo.add %x, %0 : (tensor<5x16x!quant.uniform<i8:f32, 0.25:-3>>, tensor<5x16x!quant.uniform<u8:f32, 0.0625:100>>) -> tensor<5x16x!quant.uniform<u8:f32, 0.125:128>>
    %2 = stablehlo.uniform_dequantize %0 : (tensor<5x16x!quant.uniform<u8:f32, 0.0625:100>>) -> tensor<5x16xf32>
    return %1, %2 : tensor<5x16x!quant.uniform<u8:f32, 0.125:128>>, tensor<5x16xf32>
  }
})";
    const std::string text = said({"verify", path("quantized.mlir")});
    EXPECT_NE(text.find("passed"), std::string::npos) << text;
}

TEST_F(CliStablehlo, ProgramsAreMeasured) {
    TOSAVK_NEEDS_DRIVER();
    TOSAVK_NEEDS_PROGRAM("tosa-vk-bench");
    for (const std::string& program : {file("convolution.mlir"), file("convolution.jaxexport")}) {
        const Spawned run = spawn({program, "--no-limits", "--min-time", "0.001", "--json", "-"}, {}, "tosa-vk-bench");
        ASSERT_EQ(run.exit_code, 0) << run.err;
        const auto problems = nlohmann::json::parse(run.out).at("problems");
        ASSERT_EQ(problems.size(), 1u);
        EXPECT_GT(problems[0].at("dispatches"), 0);
        EXPECT_EQ(problems[0].at("checked"), true);
    }
}

TEST_F(CliStablehlo, NumbersOf64BitsAreToldAsSuch) {
    const std::string program = write("wide.mlir",
                                      "module {\nfunc.func @main() -> (tensor<3xi64>, tensor<1xui64>) {\n"
                                      "%0 = stablehlo.constant dense<[5, -6, 8589934592]> : tensor<3xi64>\n"
                                      "%1 = stablehlo.constant dense<18446744073709551615> : tensor<1xui64>\n"
                                      "return %0, %1 : tensor<3xi64>, tensor<1xui64>\n}\n}\n");
    const auto run = nlohmann::json::parse(said({"run", program, "--reference", "--json"}));
    const auto& first = run["outputs"][0];
    EXPECT_EQ(first["shape"], nlohmann::json({3}));
    EXPECT_EQ(first["min"], -6);
    EXPECT_EQ(first["max"], 8589934592.0);
    EXPECT_EQ(first["top"][0]["index"], 2);
    EXPECT_EQ(run["outputs"][1]["max"], 18446744073709551616.0);
}

TEST_F(CliStablehlo, DoublesAreRefusedOrRounded) {
    const std::string text = R"(module @halve {
  func.func public @main(%arg0: tensor<3xf64>) -> tensor<3xf64> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<3xf64>
    return %0 : tensor<3xf64>
  }
})";
    std::ofstream(path("halve.mlir")) << text;
    const Spawned refused = spawn({"run", path("halve.mlir"), "--reference"});
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_NE(refused.err.find("--f64-as-f32"), std::string::npos) << refused.err;
    const auto run = nlohmann::json::parse(said({"run", path("halve.mlir"), "--reference", "--f64-as-f32", "--json"}));
    EXPECT_EQ(run["outputs"][0]["shape"], nlohmann::json({3}));
}

}  // namespace
}  // namespace tosavk

// Devices that only compile: RADV of Debian's mesa-vulkan-drivers compiles for GPUs that are not there.
#include "support/cli.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tosavk {
namespace {

using nlohmann::json;
using test::Spawned;

constexpr const char* radv = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";

class CompileOnly : public test::Cli {
protected:
    void SetUp() override {
        test::Cli::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        if (!std::filesystem::exists(radv))
            TOSAVK_MISSING("radv", "there is no " + std::string(radv) + " (Debian's mesa-vulkan-drivers for amd64)");
    }
    Spawned on(const std::string& family, const std::vector<std::string>& arguments) const {
        return spawn(arguments, {{"VK_DRIVER_FILES", radv},
                                 {"VK_ICD_FILENAMES", radv},
                                 {"RADV_FORCE_FAMILY", family},
                                 {"TOSAVK_CACHE_DIR", path("cache")}});
    }
};

TEST_F(CompileOnly, PlansAndPipelines) {
    for (const std::string family : {"NAVI21", "POLARIS10"}) {
        const Spawned plan = on(family, {"dump", int8_model_, "--plan", "--compile-only"});
        EXPECT_EQ(plan.exit_code, 0) << plan.err;
        EXPECT_NE(plan.out.find("dispatches"), std::string::npos) << plan.out;
        const Spawned text = on(family, {"dump", int8_model_, "--pipelines", "--assembly", "--compile-only"});
        EXPECT_EQ(text.exit_code, 0) << text.err;
        EXPECT_NE(text.out.find("registers"), std::string::npos) << text.out;
        EXPECT_NE(text.out.find("s_endpgm"), std::string::npos) << text.out;
        const Spawned product =
            on(family, {"dump", "matmul f32 1x512x512x512", "--pipelines", "--json", "--compile-only"});
        ASSERT_EQ(product.exit_code, 0) << product.err;
        const json one = json::parse(product.out).at("dispatches").at(0);
        EXPECT_EQ(one.at("pipeline"), 0);
        const json compiler = one.at("compiler");
        EXPECT_EQ(compiler.at("name"), "ACO");
        EXPECT_GT(compiler.at("registers"), 8);
        EXPECT_EQ(compiler.at("spills"), 0);
        EXPECT_GT(compiler.at("hot_multiply_adds"), 8);
        EXPECT_LT(compiler.at("hot_multiply_adds"), compiler.at("hot_instructions"));
        EXPECT_LT(compiler.at("hot_instructions"), compiler.at("instructions"));
        EXPECT_GT(one.at("statistics").at("SGPRs"), 0);
        EXPECT_FALSE(one.contains("assembly"));
    }
}

TEST_F(CompileOnly, PackagesForElsewhere) {
    const std::string package = path("navi.tvk");
    ASSERT_EQ(on("NAVI21", {"compile", int8_model_, "-o", package, "--compile-only"}).exit_code, 0);
    EXPECT_EQ(on("NAVI21", {"dump", package, "--plan", "--compile-only"}).exit_code, 0);
    // Workgroups of 256, and what else the kernels of discrete GPUs are made of.
    for (const char* precision : {"exact", "fast"}) {
        for (const char* line :
             {"matmul f32 1x512x512x512", "conv2d f32 1x14x14x128 128x3x3 p1", "softmax f32 64x1000"}) {
            const Spawned made =
                on("NAVI21", {"compile", line, "-o", path("line.tvk"), "--compile-only", "--precision", precision});
            ASSERT_EQ(made.exit_code, 0) << made.err;
            const Spawned read = on("NAVI21", {"dump", path("line.tvk"), "--pipelines", "--json", "--compile-only"});
            EXPECT_EQ(read.exit_code, 0) << line << ", " << precision << ": " << read.err;
        }
    }
    // Here it is another device's: its model is compiled.
    const Spawned run = spawn({"run", package, "--json"}), direct = spawn({"run", int8_model_, "--json"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ASSERT_EQ(direct.exit_code, 0) << direct.err;
    EXPECT_EQ(json::parse(run.out).at("outputs"), json::parse(direct.out).at("outputs"));
}

TEST_F(CompileOnly, RunningSaysThatItCannot) {
    const std::string sentence = "was opened to compile only: nothing runs on it";
    expect_error(on("NAVI21", {"run", int8_model_, "--compile-only"}), 2, sentence);
    expect_error(on("NAVI21", {"verify", int8_model_, "--compile-only"}), 2, sentence);
    // A device that could run does not either.
    expect_error(spawn({"run", int8_model_, "--compile-only"}), 2, sentence);
    expect_error(spawn({"run", int8_model_, "--reference", "--compile-only"}), 2, "--reference");
    expect_error(spawn({"dump", int8_model_, "--assembly"}), 2, "goes with --pipelines");
}

TEST_F(CompileOnly, ADriverThatTellsNothing) {
    const Spawned dump = spawn({"dump", int8_model_, "--pipelines"});
    EXPECT_EQ(dump.exit_code, 0) << dump.err;
    EXPECT_NE(dump.out.find("tells nothing of its pipelines"), std::string::npos) << dump.out;
}

/// Each row's graphs by every kernel that may be chosen for them, those of fp16 with precision fast too. The operators
/// of 0.30 have kernels of 1.0. Both families have the same graphs: what their plans have in common is one shader.
TEST_F(CompileOnly, NoKernelSpillsOnAmd) {
    for (const std::string spec : {"1.0", "tosavk"}) {
        for (const std::string family : {"NAVI21", "POLARIS10"}) {
            const Spawned sweep = on(family, {"conformance", "--compile-only", "--candidates", "--cases", "1", "--jobs",
                                              "2", "--spec", spec, "--seed", "1"});
            EXPECT_EQ(sweep.exit_code, 0) << sweep.out << sweep.err;
        }
    }
}

}  // namespace
}  // namespace tosavk

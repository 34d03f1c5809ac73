// Every problem line of the help, in its small size, on the device against the reference.
#include "api/checker.hpp"
#include "problems/problem.hpp"
#include "support/gpu_test.hpp"

namespace tosavk {
namespace {

class ProblemsOnDevice : public test::GpuTest {
protected:
    void verify(const std::string& line, std::uint64_t seeds = 2) {
        api::Checker checker(device_, std::make_shared<const Graph>(load_problem(line)));
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            const api::CheckReport report = checker.run(seed);
            EXPECT_TRUE(report.passed) << "tosa-vk verify --op '" << line << "' --seed " << seed << "\n"
                                       << report.detail;
            EXPECT_GT(report.values_checked, 0u);
        }
    }
};

TEST_F(ProblemsOnDevice, EveryLineOfTheHelpAgreesWithTheReference) {
    for (const ProblemHelp& help : problem_help()) {
        // ResNet-50 has the layers of ResNet-18, and twice its weights: too many for every driver variant.
        if (help.small.find("resnet50") == std::string::npos) verify(help.small, help.op == "network" ? 1 : 2);
    }
}

TEST_F(ProblemsOnDevice, LinesOfOtherTypes) {
    for (const char* line :
         {"conv2d 16x8 1x5x6x7 5x3x3 p1 rescale", "conv2d i4 1x5x6x7 5x3x3 p1 rescale clamp",
          "conv2d f16 1x5x6x7 5x3x3 p1 clamp", "conv2d bf16 1x5x6x7 5x3x3 p1", "matmul i16 1x5x9x7 rescale",
          "conv2d e4m3 1x5x6x7 5x3x3 p1", "conv2d f32 1x5x6x7 5x3x3 p1 add relu sigmoid",
          "depthwise f32 1x9x7x6 2x3x3 s2 same relu6", "mul i32 70", "add i32 70", "sub i32 3x70 1x70",
          "reduce_sum i32 3x70", "abs i32 70", "negate i8 70", "select i8 3x7", "pow f16 70",
          "resize i16 1x4x5x3 8x7 bilinear", "resize f32 1x4x5x3 8x7 nearest", "cast i8 70 f32"})
        verify(line);
}

TEST_F(ProblemsOnDevice, NetworksOfOtherTypes) {
    for (const char* line : {"network mobilenet_v2 i8 size32", "network unet i8 size16", "network unet f16 size16",
                             "network transformer i8 size9", "network lstm i8 size20"})
        verify(line, 1);
}

}  // namespace
}  // namespace tosavk

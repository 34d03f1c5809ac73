// Every problem line of the help, in its small size, and lines that kernels choose by, on the device against the
// reference.
#include "frontends/problems/problem.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

namespace tosavk {
namespace {

class ProblemsOnDevice : public test::GpuTest {
protected:
    /// Driver variants share the lines (TOSAVK_TEST_PART).
    void verify(const std::string& line, std::uint64_t seeds = 2) {
        if (test::in_this_part(lines_++)) verify_on(device_, line, seeds);
    }
    void verify_on(const std::shared_ptr<Device>& device, const std::string& line, std::uint64_t seeds) {
        Checker checker(device, std::make_shared<const Graph>(load_problem(line)));
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            const CheckReport report = checker.run(seed);
            EXPECT_TRUE(report.passed) << "tosa-vk verify --op '" << line << "' --seed " << seed << "\n"
                                       << report.detail;
            EXPECT_GT(report.values_checked, 0u);
        }
    }

private:
    std::size_t lines_ = 0;
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

// Sizes that take reductions through two passes, along rows and columns, whole quads or not, or through many rows in
// one.
TEST_F(ProblemsOnDevice, LongReductions) {
    for (const char* line :
         {"reduce_sum f32 1x70000 axis1",   "reduce_max f32 3x50001 axis1",   "reduce_sum i32 9x40003 axis1",
          "reduce_sum f32 300x1024 axis0",  "reduce_max f16 40x4100 axis0",   "reduce_sum i32 2x33x1027 axis1",
          "reduce_max i8 2x50x4099 axis1",  "reduce_sum bf16 67x5x9 axis0",   "reduce_max f32 2x600x3 axis1",
          "reduce_max f32 2050x515 axis1",  "reduce_sum i32 2049x512 axis1",  "reduce_sum f32 1x300001 axis1",
          "reduce_max i8 16x70001 axis1",   "reduce_sum f32 2x31x4096 axis1", "reduce_sum f32 3x50x56x48 axis1",
          "reduce_max i8 65x4x1032 axis0",  "argmax f32 5x4099 axis1",        "reduce_max f32 8x65x1024 axis1",
          "reduce_sum i32 9x64x1040 axis1", "reduce_min f32 301x101 axis1",   "reduce_max f16 301x64 axis1",
          "reduce_max f32 2050x103 axis1"})
        verify(line);
}

// Rows of 8- and 16-bit elements that end inside a word, which two invocations share: neighbours of a subgroup or not.
TEST_F(ProblemsOnDevice, RowsThatEndInsideAWord) {
    for (const char* line :
         {"conv2d i8 2x9x7x62 62x1x1 rescale", "conv2d i8 2x9x7x63 61x3x3 p1 rescale",
          "conv2d i8 1x5x5x8 1x1x1 rescale", "conv2d i8 1x9x5x8 5x1x1 rescale",
          "depthwise i8 1x13x13x62 1x3x3 s2 p1 rescale", "depthwise i8 1x13x13x63 1x3x3 s1 p1 rescale",
          "depthwise i8 1x6x7x3 1x3x3 p1 rescale", "matmul i8 2x33x41x63 rescale", "conv2d f16 1x9x9x13 63x3x3 p1",
          "conv2d bf16 1x9x9x13 5x3x3 p1", "depthwise f16 1x9x9x63 1x3x3 p1"})
        verify(line);
}

// Index maps whose rows are whole quads, are not, or are shorter than one.
TEST_F(ProblemsOnDevice, MovementOfAnyAlignment) {
    for (const char* line : {"transpose f32 36x40 1,0",
                             "transpose i8 3x20x24 0,2,1",
                             "transpose f16 2x8x12x16 3,1,2,0",
                             "transpose i32 2x4x8x12x4 4,0,3,1,2",
                             "transpose f32 5x7x3 2,0,1",
                             "pad f32 2x5x7 0,0,1,2,3,1",
                             "pad i8 2x5x8 0,0,1,2,4,8",
                             "pad f32 1x5x7x3 0,0,1,1,1,1,0,0",
                             "pad i8 6x3 0,0,1,1",
                             "concat i8 2x3x5 2x3x4 axis2",
                             "concat f32 2x3x8 2x3x4 axis2",
                             "concat f32 1 1 axis0",
                             "reverse i8 3x5x8 axis2",
                             "reverse f32 3x5x7 axis2",
                             "slice f32 3x5x7 0,1,2 3x4x4",
                             "slice i8 3x5x9 0,1,1 2x4x8",
                             "tile i8 2x3x5 1x2x3",
                             "tile f32 2x3x4 2x2x1",
                             "scatter f32 2x9x5 4",
                             "scatter i8 3x7x8 6"})
        verify(line);
}

// Runs of elements of 8 and 16 bits that begin anywhere in a word, beside those of other invocations.
TEST_F(ProblemsOnDevice, RowsThatShareWords) {
    for (const char* line :
         {"matmul i16 2x63x12x259 rescale", "matmul i8 1x33x9x257 rescale", "matmul i8 1x33x9x253 rescale",
          "matmul f16 1x31x8x255", "matmul f16 1x31x8x257", "avg_pool2d f16 1x9x17x5 3x3", "max_pool2d i8 1x9x17x7 3x3",
          "conv2d i8 1x7x9x3 5x3x3 p1 rescale"})
        verify(line);
}

// Large enough that devices whose stores are slow make eight elements an invocation.
TEST_F(ProblemsOnDevice, EightElementsAtOnce) {
    for (const char* line : {"chain f32 4096 add mul sigmoid",
                             "chain i32 4104 add mul",
                             "chain f32 33x72 add mul",
                             "clamp i8 4096",
                             "clamp f16 4096",
                             "clamp bf16 4096",
                             "cast f32 4096 i8",
                             "cast f32 4096 i16",
                             "cast i8 4096 f16",
                             "cast f32 4096 e4m3",
                             "table i8 4096",
                             "table i16 2048",
                             "greater f32 4096",
                             "logical_and bool 4096",
                             "select f32 2048",
                             "rescale i32 1x8x8x64 i8 per_channel",
                             "gather f32 1x90x24 200",
                             "gather i8 2x33x40 70",
                             "gather i16 1x90x16 131",
                             "gather f32 1x90x20 200",
                             "resize f32 1x9x8x24 16x17 bilinear",
                             "resize i8 1x9x8x16 16x17 bilinear",
                             "resize i8 1x9x8x16 16x17 bilinear rescale",
                             "resize i16 1x9x8x16 16x17 bilinear",
                             "resize f16 1x9x8x16 16x17 nearest",
                             "resize f16 1x9x8x16 16x17 bilinear",
                             "pad f32 1x9x8x32 0,0,1,1,1,1,0,0",
                             "reverse i8 1x16x8x32 axis2",
                             "concat f32 1x16x8x32 1x16x8x32 axis3",
                             "slice i16 1x18x8x32 0,1,1,0 1x16x6x32",
                             "depthwise i8 1x16x17x24 1x3x3 p1 rescale clamp",
                             "depthwise i8 1x12x13x24 1x5x5 p2 rescale"})
        verify(line);
}

// Sizes of whole eights, which are loaded as one where storage buffers are slow, and sizes beside them; in rows and
// columns of reductions, blocks of transposes, and chains.
TEST_F(ProblemsOnDevice, EightElementsInOneLoad) {
    std::shared_ptr<Device> no_texels;
    if (device_->plan().texel_elements != 0)
        no_texels = test::open_with([](DevicePlan& plan) { plan.texel_elements = 0; });
    for (const char* line : {"transpose f32 72x136 1,0",
                             "transpose i8 2x64x72 0,2,1",
                             "transpose f16 2x24x16x32 3,1,2,0",
                             "transpose i32 2x8x8x16x24 4,0,3,1,2",
                             "transpose f32 72x132 1,0",
                             "transpose bool 64x520 1,0",
                             "transpose f32 2x1048x8 0,2,1 sigmoid",
                             "reduce_sum f32 600x16 axis1",
                             "reduce_sum f32 600x64 axis1 sigmoid",
                             "reduce_product f32 600x24 axis1",
                             "reduce_max f32 2100x16 axis1",
                             "reduce_max f32 2100x20 axis1",
                             "reduce_min i8 2100x24 axis1",
                             "reduce_sum i32 2100x40 axis1",
                             "reduce_max f16 2100x24 axis1",
                             "reduce_max f32 5x1032 axis1",
                             "reduce_max f32 2050x520 axis1",
                             "reduce_sum i32 2050x1048 axis1",
                             "reduce_sum f32 600x7x16 axis1",
                             "reduce_sum f32 600x7x20 axis1",
                             "reduce_max i8 600x7x24 axis1",
                             "reduce_max f32 3x130x1024 axis1",
                             "reduce_max bf16 600x7x16 axis1",
                             "chain f32 8x64x72 add mul sigmoid",
                             "mul i8 8192",
                             "add i32 8192",
                             "chain f16 8192 add mul",
                             "select i8 64x72"}) {
        verify(line, 1);
        if (no_texels) verify_on(no_texels, line, 1);
    }
}

// Invocations that take several rows, fours of rows or eights one after the other; the last ones have fewer.
TEST_F(ProblemsOnDevice, PiecesInTurn) {
    const auto with = [](bool texels) {
        return test::open_with([texels](DevicePlan& plan) {
            plan.busy_invocations = 1;  // small problems are cut like large ones
            plan.walk_bytes = 1024;
            plan.max_groups_x = 3;
            if (!texels) plan.texel_elements = 0;
        });
    };
    for (const bool texels : {true, false}) {
        if (texels && device_->plan().texel_elements == 0) continue;
        const auto device = with(texels);
        for (const char* line :
             {"reduce_sum f32 1100x16 axis1", "reduce_sum f32 1101x10 axis1 sigmoid", "reduce_sum f16 1027x24 axis1",
              "reduce_sum i32 1101x40 axis1", "reduce_max f32 2101x16 axis1", "reduce_min i8 2102x24 axis1",
              "reduce_max f32 2103x7 axis1", "reduce_max bf16 1101x20 axis1", "reduce_all bool 1101x5 axis1",
              "argmax f32 1101x16 axis1", "argmax i8 2101x24 axis1", "argmax f32 1102x10 axis1",
              "chain f32 9x8x136 add mul sigmoid", "mul i8 16392", "add i32 8200", "chain bf16 9x1032 add mul",
              "select i8 65x72"}) {
            verify_on(device, line, 1);
        }
    }
    std::shared_ptr<Device> no_texels;
    if (device_->plan().texel_elements != 0)
        no_texels = test::open_with([](DevicePlan& plan) { plan.texel_elements = 0; });
    for (const char* line : {"reduce_sum f32 8197x64 axis1", "reduce_max f32 32789x16 axis1",
                             "argmax i8 16389x64 axis1", "add f32 524808"}) {
        verify(line, 1);
        if (no_texels) verify_on(no_texels, line, 1);
    }
}

TEST_F(ProblemsOnDevice, DepthwiseWindows) {
    for (const char* line : {"depthwise f32 2x9x11x6 1x3x3 s2 same", "depthwise i8 1x9x7x8 1x5x5 p4 d2 rescale",
                             "depthwise f32 1x12x9x5 1x2x4 p1", "depthwise i8 1x33x17x12 1x3x3 p1 rescale clamp",
                             "depthwise f32 3x20x6x4 1x3x3 p3 d3", "depthwise f32 1x9x9x4 1x1x1 s2"})
        verify(line);
}

TEST_F(ProblemsOnDevice, TransformsInQuads) {
    for (const char* line : {"fft2d f32 2x16x32", "fft2d f32 1x32x16 inverse", "rfft2d f32 3x8x64", "rfft2d f32 1x2x16",
                             "fft2d f32 1x4x256"})
        verify(line);
}

// Lines of one to four passes, with a first radix of 2, 4 and 8; fewer lines than a workgroup holds, and one axis
// alone.
TEST_F(ProblemsOnDevice, TransformsInSharedMemory) {
    for (const std::uint32_t size : {64u, 256u}) {
        if (size > device_->caps().max_workgroup_invocations) continue;
        const auto used = test::open_with([&](DevicePlan& plan) {
            plan.workgroup_size = size;
            plan.subgroup_lanes = 1;
            plan.shared_tiles = true;
            plan.max_groups_x = 3;
        });
        std::vector<const char*> lines = {"fft2d f32 3x16x32", "fft2d f32 1x128x64 inverse", "rfft2d f32 3x8x256",
                                          "rfft2d f32 2x2x16", "rfft2d f32 1x256x8",         "fft2d f32 1x1x512",
                                          "rfft2d f32 3x1x4",  "fft2d f32 5x4x1 inverse",    "rfft2d f32 2x64x1",
                                          "rfft2d f32 2x2x2",  "fft2d f32 1x2x1024",         "rfft2d f32 1x512x4"};
        if (size == 256) lines.insert(lines.end(), {"fft2d f32 1x1x2048", "rfft2d f32 1x1024x2"});
        for (const char* line : lines) {
            SCOPED_TRACE(size);
            verify_on(used, line, 1);
            const Graph graph = load_problem(line);
            EXPECT_EQ(make_plan(graph, used->plan(), {}).dispatches.front().kernel, "fft_lines") << line;
        }
    }
}

TEST_F(ProblemsOnDevice, NetworksOfOtherTypes) {
    for (const char* line : {"network mobilenet_v2 i8 size32", "network unet i8 size16", "network unet f16 size16",
                             "network transformer i8 size9", "network lstm i8 size20"})
        verify(line, 1);
}

}  // namespace
}  // namespace tosavk

// PlanOptions::late_sizes: plans that differ in an outermost size need the same pipelines. No GPU.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "spirv/glslang.hpp"
#include "support/plan_labels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

using namespace tosavk;
using tosavk::test::test_device;

namespace {

/// Whether one pipeline has all numbers of rows at any rate.
bool is_flat(const Dispatch& dispatch) { return dispatch.glsl.find("#define FLAT 2\n") != std::string::npos; }

/// What pipelines are found by (vk/core/pipeline.hpp).
std::vector<std::string> pipelines_of(const Graph& graph, const DevicePlan& device, bool late_sizes) {
    PlanOptions options;
    options.late_sizes = late_sizes;
    std::vector<std::string> all;
    for_each_dispatch(make_plan(graph, device, options), [&](const Dispatch& dispatch) {
        EXPECT_EQ(dispatch.pushed.empty(), dispatch.glsl.find("uniform pushed") == std::string::npos) << dispatch.glsl;
        EXPECT_LE(dispatch.pushed.size(), 32u);
        const bool has_any_size = dispatch.kernel == "gemm_parts" || dispatch.kernel == "widen" ||
                                  dispatch.kernel == "turn_columns" || is_flat(dispatch);
        if (!late_sizes && !has_any_size) {
            EXPECT_TRUE(dispatch.pushed.empty());
        }
        all.push_back(fmt::format("{} {} {} {}\n{}", dispatch.label, fmt::join(dispatch.constants, " "),
                                  dispatch.invocations, dispatch.bindings.size(), dispatch.glsl));
    });
    return all;
}

/// {} stands for the outermost size.
const char* const lines[] = {
    // Elementwise groups, broadcasts of both sides, moves.
    "chain f32 {}x5x7 add mul sigmoid",
    "add i32 {}x3x4 1x3x1",
    "mul f32 {}x3x4 {}x1x4",
    "select f32 {}x30",
    "transpose f32 {}x5x7x8 0,2,1,3",
    "reverse f32 {}x5x7 axis1",
    "reverse f32 {}x5x7 axis0",
    "pad f32 {}x5x7 0,0,1,2,0,0",
    "slice f32 {}x5x7 0,1,2 {}x3x4",
    "concat f32 {}x5x3 {}x5x4 axis2",
    "tile f32 {}x5x3 1x2x1",
    "cast f32 {}x9 i8",
    // Products.
    "conv2d i8 {}x8x8x16 16x3x3 p1 rescale clamp",
    "conv2d f32 {}x8x8x16 16x3x3 s2 same clamp",
    "conv2d f32 {}x7x5x3 5x3x3 p1",
    "conv3d f32 {}x4x6x6x4 8x3x3x3 p1",
    "depthwise f32 {}x8x8x16 1x3x3 p1 clamp",
    "depthwise i8 {}x8x8x16 1x3x3 s2 same rescale",
    "transpose_conv2d f32 {}x6x6x8 8x2x2 s2",
    "fully_connected i8 {}x64 40 rescale",
    "fully_connected f32 {}x64 40",
    "matmul f32 {}x16x12x24",
    "matmul i8 {}x16x12x24",
    // Of which operands become fp32 before.
    "conv2d f16 {}x16x16x16 64x3x3 p1",
    "conv2d i8 {}x16x16x16 128x3x3 p1 rescale",
    "matmul f16 {}x64x64x128",
    "matmul i8 {}x128x64x128",
    // Pools, reductions, rows, what looks up.
    "avg_pool2d f32 {}x8x8x16 3x3 s2 same",
    "max_pool2d i8 {}x8x8x16 3x3 s2 same",
    "reduce_sum f32 {}x6x10x12 axis2",
    "reduce_max i32 {}x6x10 axis2",
    "reduce_product f32 {}x6x10 axis1",
    "argmax f32 {}x6x10 axis2",
    "softmax f32 {}x6x10 axis2",
    "gather f32 {}x20x8 12",
    "scatter f32 {}x20x8 12",
    "resize f32 {}x6x6x8 12x12 bilinear",
    "cumulate f32 {}x6x10 axis2",
};

std::string with_size(std::string line, int size) {
    for (std::size_t at = line.find("{}"); at != std::string::npos; at = line.find("{}"))
        line.replace(at, 2, std::to_string(size));
    return line;
}

/// One with other kernels for products.
DevicePlan desktop() {
    DevicePlan device = test_device();
    device.int64 = device.shared_tiles = device.dot4 = true;
    device.subgroup_lanes = 8;
    device.subgroup_size = 32;
    device.workgroup_size = 256;
    return device;
}

/// One without packed dot products, whose tiles are in registers alone.
DevicePlan phone() {
    DevicePlan device = test_device();
    device.int64 = device.fma_chains = device.shared_tiles = true;
    device.own_rows = 8;
    device.registers = 64;
    device.subgroup_lanes = 1;
    return device;
}

/// One with them, and registers for words of several blocks.
DevicePlan phone_of_words() {
    DevicePlan device = phone();
    device.dot4 = device.dot4_mixed = true;
    device.registers = 96;
    return device;
}

TEST(LateSizes, PhonesWidenOperands) {
    PlanOptions options;
    options.late_sizes = true;
    for (const auto& [line, passes] :
         {std::pair("conv2d f16 4x16x16x16 64x3x3 p1", 1u), std::pair("conv2d i8 4x16x16x16 128x3x3 p1 rescale", 1u),
          std::pair("matmul f16 1x64x64x128", 2u), std::pair("matmul i8 1x128x64x128", 2u)})
        EXPECT_EQ(test::widened(make_plan(load_problem(line), phone(), options)), passes) << line;
}

TEST(LateSizes, AnotherOutermostSizeNeedsNoOtherPipeline) {
    for (const DevicePlan& device : {test_device(), desktop(), phone()}) {
        for (const char* line : lines) {
            SCOPED_TRACE(line);
            const auto pipelines = [&](int size, bool late) {
                return pipelines_of(load_problem(with_size(line, size)), device, late);
            };
            // Sizes of one divisibility; few enough for the same choices.
            const auto first = pipelines(4, true);
            EXPECT_EQ(pipelines(8, true), first);
            EXPECT_EQ(pipelines(12, true), first);
            if (std::string_view(line).starts_with("fully_connected") && device.own_rows > 0) continue;
            EXPECT_NE(pipelines(8, false), pipelines(4, false)) << "it would need none anyway";
        }
    }
}

TEST(LateSizes, PartsOfProductsOfAnySizeAreSummedByOnePipeline) {
    DevicePlan device = desktop();
    device.product_tiles = true;
    device.product_tile_bytes = 32768;
    device.busy_invocations = 65536;
    device.least_tiles = 64;
    device.tile_parts = 16;
    std::set<std::string> pipelines, sizes;
    for (const char* line : {"conv2d f32 1x16x16x512 64x1x1 clamp", "conv2d f32 1x7x7x960 160x1x1 clamp",
                             "conv2d f32 1x16x16x1024 32x1x1 clamp"}) {
        for_each_dispatch(make_plan(load_problem(line), device, {}), [&](const Dispatch& dispatch) {
            if (dispatch.kernel != "gemm_parts") return;
            pipelines.insert(fmt::format("{}\n{}", fmt::join(dispatch.constants, " "), dispatch.glsl));
            sizes.insert(fmt::format("{}", fmt::join(dispatch.pushed, " ")));
            EXPECT_NO_THROW(compile_glsl(dispatch.glsl, dispatch.kernel)) << dispatch.glsl;
        });
    }
    EXPECT_EQ(sizes.size(), 3u);
    EXPECT_EQ(pipelines.size(), 1u);
}

TEST(LateSizes, ShadersCompileWithThem) {
    for (const DevicePlan& device : {test_device(), desktop(), phone(), phone_of_words()}) {
        std::set<std::string> seen;
        PlanOptions options;
        options.late_sizes = true;
        for (const char* line : lines) {
            SCOPED_TRACE(line);
            for_each_dispatch(make_plan(load_problem(with_size(line, 4)), device, options),
                              [&](const Dispatch& dispatch) {
                                  if (!seen.insert(dispatch.glsl).second) return;
                                  EXPECT_FALSE(dispatch.pushed.empty()) << dispatch.glsl;
                                  EXPECT_NO_THROW(compile_glsl(dispatch.glsl, dispatch.kernel)) << dispatch.glsl;
                              });
        }
    }
}

}  // namespace

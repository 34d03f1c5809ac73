// The types of cooperative matrices in SPIR-V, which are put together after compilation.
#include "spirv/cooperative_types.hpp"
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "spirv/glslang.hpp"
#include "spirv/words.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

using namespace tosavk;

namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t type_int = 21, type_float = 22, op_constant = 43, type_matrix = 4456;

/// The module's cooperative types as "component m x n use", each operand checked to be declared before.
std::vector<std::string> matrices_of(const Words& words) {
    std::map<std::uint32_t, std::string> types;
    std::map<std::uint32_t, std::uint32_t> constants;
    std::vector<std::string> found;
    for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
        const std::uint32_t opcode = words[at] & 0xffff;
        std::string type;
        if (opcode == type_int) type = (words[at + 3] != 0 ? "i" : "u") + std::to_string(words[at + 2]);
        if (opcode == type_float) type = "f" + std::to_string(words[at + 2]);
        if (!type.empty()) {
            for (const auto& [id, other] : types) EXPECT_NE(other, type) << "it is declared twice";
            EXPECT_LT(words[at + 1], words[3]) << "an id beyond the bound";
            types[words[at + 1]] = type;
        }
        if (opcode == op_constant) constants[words[at + 2]] = words[at + 3];
        if (opcode != type_matrix) continue;
        EXPECT_TRUE(types.count(words[at + 2])) << "the component type is not declared before";
        std::string text = types[words[at + 2]];
        for (std::size_t k = 3; k < 7; ++k) {
            EXPECT_TRUE(constants.count(words[at + k])) << "operand " << k << " is not declared before";
            text += " " + std::to_string(constants[words[at + k]]);
        }
        found.push_back(text);
    }
    return found;
}

Words module(std::initializer_list<std::initializer_list<std::uint32_t>> instructions, std::uint32_t bound) {
    Words words = {0x07230203, 0x00010300, 0, bound, 0};
    for (const auto& instruction : instructions) {
        words.push_back(static_cast<std::uint32_t>(instruction.size()) << 16 | *instruction.begin());
        words.insert(words.end(), instruction.begin() + 1, instruction.end());
    }
    return words;
}

TEST(CooperativeTypes, LiteralsBecomeIds) {
    Words words = module({{type_int, 1, 32, 1},
                          {op_constant, 1, 2, 7},
                          {type_matrix, 3, 8, 3, 16, 16, 0},
                          {type_matrix, 4, 32, 3, 16, 16, 2}},
                         5);
    set_cooperative_types(words);
    EXPECT_EQ(matrices_of(words), (std::vector<std::string>{"i8 3 16 16 0", "i32 3 16 16 2"}));
}

TEST(CooperativeTypes, ATypeThatComesTooLateMoves) {
    const std::uint32_t half = 0x41800000, single = 0x42000000;  // 16.0 and 32.0
    Words words = module({{type_matrix, 1, half, 3, 8, 16, 0},
                          {type_float, 2, 32},
                          {type_matrix, 3, single, 3, 8, 8, 2},
                          {type_int, 4, 32, 0}},
                         5);
    set_cooperative_types(words);
    EXPECT_EQ(matrices_of(words), (std::vector<std::string>{"f16 3 8 16 0", "f32 3 8 8 2"}));
}

TEST(CooperativeTypes, OtherModulesStay) {
    const Words before = module({{type_int, 1, 32, 1}, {op_constant, 1, 2, 7}, {type_float, 3, 32}}, 4);
    Words words = before;
    set_cooperative_types(words);
    EXPECT_EQ(words, before);
}

/// A GPU as such devices are: subgroups of `subgroup`.
DevicePlan gpu(std::uint32_t subgroup) {
    DevicePlan plan;
    plan.max_binding_bytes = 1 << 27;
    plan.max_buffers = 16;
    plan.native_fp16 = true;
    plan.cooperative_i8 = {16, 16, 32};
    plan.cooperative_fp16 = {16, 16, 16};
    plan.cooperative_fp32_sums = true;
    plan.subgroup_size = subgroup;
    plan.busy_invocations = 1;
    return plan;
}

TEST(CooperativeTypes, KernelsOfEveryFormCompile) {
    for (const std::uint32_t subgroup : {8u, 16u, 32u, 64u}) {
        for (const char* line : {"matmul f16 1x200x133x100", "matmul f16 1x64x133x64", "matmul i8 2x120x70x90 rescale",
                                 "matmul i8 1x60x70x60", "conv2d f16 2x23x19x9 70x3x3 s2 p1 d2 clamp",
                                 "conv2d i8 1x12x11x20 70x3x3 s1 p1 rescale clamp"}) {
            const DevicePlan device = gpu(subgroup);
            const Plan plan = make_plan(load_problem(line), device, {});
            ASSERT_EQ(plan.dispatches.size(), 1u) << line;
            const Dispatch& dispatch = plan.dispatches[0];
            EXPECT_EQ(dispatch.kernel, "gemm_cooperative") << line;
            EXPECT_GT(dispatch.invocations, 0u) << line;
            EXPECT_EQ(dispatch.invocations % subgroup, 0u) << line;
            EXPECT_LE(dispatch.invocations, max_invocations) << line;
            const Words words = compile_glsl(dispatch.glsl, dispatch.kernel);
            EXPECT_TRUE(is_whole_module(words)) << line;
            EXPECT_EQ(matrices_of(words).size(), 3u) << line;
        }
    }
}

// Other types, rows that fill no tile, and products too small to keep the device busy go to other kernels.
TEST(CooperativeTypes, WhatTheyAreNotFor) {
    DevicePlan device = gpu(32);
    const auto kernel = [&](const char* line) {
        return make_plan(load_problem(line), device, {}).dispatches[0].kernel;
    };
    EXPECT_EQ(kernel("matmul i8 1x128x128x128"), "gemm_cooperative");
    EXPECT_NE(kernel("matmul f32 1x128x128x128"), "gemm_cooperative");
    EXPECT_NE(kernel("matmul bf16 1x128x128x128"), "gemm_cooperative");
    EXPECT_NE(kernel("matmul i8 64x1x128x128"), "gemm_cooperative") << "most of every tile would be empty";
    device.busy_invocations = 1 << 20;
    EXPECT_NE(kernel("matmul i8 1x128x128x128"), "gemm_cooperative");
    EXPECT_EQ(kernel("matmul i8 1x4096x128x4096"), "gemm_cooperative");
}

}  // namespace

// What is read out of the words of drivers' compilers, here of AMD's, and the search for the hottest loop; the programs
// are made up in their form.
#include "device/compilers/figures.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

Block block(const std::string& name, std::size_t multiply_adds, std::size_t others,
            std::vector<std::string> targets = {}) {
    Block made{name, {}, std::move(targets)};
    for (std::size_t k = 0; k < multiply_adds; ++k) made.instructions.push_back({"fma", 1, 1});
    for (std::size_t k = 0; k < others; ++k) made.instructions.push_back({"mov", 1, 0});
    return made;
}

void expect_hot(const Listing& listing, std::size_t multiply_adds, std::size_t instructions) {
    const Hotspot hot = hottest(listing);
    EXPECT_EQ(hot.multiply_adds, multiply_adds);
    EXPECT_EQ(hot.instructions, instructions);
}

TEST(Listing, TheHottestLoopIsTheInnermostAroundMostProducts) {
    expect_hot({}, 0, 0);
    expect_hot({block("a", 0, 5)}, 0, 0);
    expect_hot({block("a", 3, 5), block("b", 4, 1)}, 4, 5);  // no loop: the block alone
    // The loop's other blocks count: those before the products, and those behind.
    expect_hot(
        {block("a", 0, 9), block("head", 0, 2), block("hot", 8, 1), block("tail", 1, 3, {"head"}), block("end", 2, 0)},
        9, 15);
    // Loops within loops, and a loop beside the hot one.
    expect_hot({block("other", 5, 1, {"other"}), block("outer", 0, 4), block("inner", 7, 1, {"inner"}),
                block("next", 0, 6, {"outer"})},
               7, 8);
    // A jump ahead, and one to a block that is not there, are no loops.
    expect_hot({block("a", 6, 2, {"b", "nowhere"}), block("b", 0, 1)}, 6, 8);
}

TEST(Listing, WhatRepeatsCountsAsOften) {
    Listing listing{block("a", 0, 1)};
    listing[0].instructions.push_back({"(rpt3)mad", 4, 1});
    listing[0].instructions.push_back({"dual", 1, 2});
    expect_hot(listing, 6, 6);
    EXPECT_EQ(instruction_count(listing), 6u);
}

DeviceCaps radv(std::uint32_t device_id) {
    DeviceCaps caps;
    caps.driver_id = 3;
    caps.device_id = device_id;
    return caps;
}

CompiledProgram program() {
    CompiledProgram made;
    made.name = "Compute Shader";
    made.subgroup_size = 64;
    made.statistics = {{"VGPRs", 40},     {"Spilled VGPRs", 0},       {"Scratch size", 0},
                       {"LDS size", 512}, {"Subgroups per SIMD", 24}, {"Instructions", 12}};
    made.texts = {{"NIR Shader(s)", "BB7: not this one"},
                  {"Assembly",
                   "BB0:\n"
                   "\tv_mov_b32_e32 v1, 0                    ; 7e020280\n"
                   "BB1:\n"
                   "\tbuffer_load_dword v3, v1, s[4:7], 0 offen ; e0301000 80010301\n"
                   "\tv_fmac_f32_e32 v2, v3, v3              ; 56040703\n"
                   "\tv_fmac_f32_e32 v4, v3, v3              ; 56080703\n"
                   "\tv_dual_fmac_f32 v5, v3, v3 :: v_dual_mul_f32 v6, v3, v3 ; c8\n"
                   "\tv_dual_fmac_f32 v5, v3, v3 :: v_dual_fmac_f32 v6, v3, v3 ; c8\n"
                   "\ts_cbranch_scc0 BB1                      ; bf84fff9\n"
                   "BB2:\n"
                   "\ts_endpgm                                ; bf810000\n"}};
    return made;
}

TEST(Compilers, AcoOfRadv) {
    const auto figures = figures_of(radv(0x73a0), {{program()}});
    ASSERT_TRUE(figures);
    EXPECT_EQ(figures->compiler, "ACO");
    EXPECT_EQ(figures->subgroup_size, 64u);
    EXPECT_EQ(figures->registers, 40u);
    EXPECT_EQ(figures->half_registers, std::nullopt);
    EXPECT_EQ(figures->spills, 0u);
    EXPECT_EQ(figures->fills, 0u);
    EXPECT_EQ(figures->shared_bytes, 512u);
    EXPECT_EQ(figures->occupancy, 24u);
    EXPECT_EQ(figures->full_occupancy, 32u);
    EXPECT_EQ(figures->instructions, 12u);
    ASSERT_TRUE(figures->hot);
    EXPECT_EQ(figures->hot->multiply_adds, 6u);  // the pairs have two, and a product of its own is one
    EXPECT_EQ(figures->hot->instructions, 6u);
    EXPECT_EQ(figures_of(radv(0x67df), {{program()}})->full_occupancy, 8u);
    EXPECT_EQ(figures_of(radv(0x687f), {{program()}})->full_occupancy, 10u);
    EXPECT_EQ(figures_of(radv(0x7310), {{program()}})->full_occupancy, 40u);
}

TEST(Compilers, AcoWithScratch) {
    CompiledProgram spilling = program();
    spilling.statistics[1].value = 3;
    // Before RDNA 3 loads of scratch look like others.
    EXPECT_EQ(figures_of(radv(0x73a0), {{spilling}})->spills, 3u);
    EXPECT_EQ(figures_of(radv(0x73a0), {{spilling}})->fills, std::nullopt);
    spilling.texts[1].text += "\tscratch_load_b32 v9, off, off offset:4\n\tscratch_load_b32 v9, off, off\n";
    EXPECT_EQ(figures_of(radv(0x744c), {{spilling}})->fills, 2u);
}

TEST(Compilers, WhatIsNotToldIsAbsent) {
    EXPECT_FALSE(figures_of(radv(0x73a0), {}));
    DeviceCaps unknown = radv(0x73a0);
    unknown.driver_id = 13;
    EXPECT_FALSE(figures_of(unknown, {{program()}}));
    const auto figures = figures_of(radv(0x73a0), {{CompiledProgram{"x", 0, {{"VGPRs", -1}}, {}}}});
    ASSERT_TRUE(figures);
    EXPECT_EQ(figures->registers, std::nullopt);
    EXPECT_EQ(figures->instructions, std::nullopt);
    EXPECT_FALSE(figures->hot);
}

}  // namespace
}  // namespace tosavk

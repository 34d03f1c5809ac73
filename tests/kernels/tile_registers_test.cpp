// Tiles of gemm_tiles where registers are few: how many blocks lie in shared memory at a time, and how many rows an
// invocation makes (docs/gpu-compilers.md). No GPU.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "support/plan_labels.hpp"

#include <gtest/gtest.h>

using namespace tosavk;
using namespace tosavk::test;

namespace {

struct Tile {
    int depth, rows, columns, split;
    bool by_taps;
    bool operator==(const Tile&) const = default;
};

void PrintTo(const Tile& t, std::ostream* out) {
    *out << "depth " << t.depth << ", " << t.rows << " rows by " << t.columns << ", split " << t.split
         << (t.by_taps ? " by taps" : "");
}

Tile tile(const std::string& line, std::uint32_t registers) {
    DevicePlan device = test_device();
    device.int64 = device.fma_chains = device.shared_tiles = device.product_tiles = device.dot4 = true;
    device.product_tile_bytes = 32768;
    device.tile_quads = 1;
    device.subgroup_lanes = 8;
    device.subgroup_size = 16;
    device.workgroup_size = 128;
    device.busy_invocations = 20000;
    device.least_tiles = 1;
    device.registers = registers;
    const Plan plan = make_plan(load_problem(line), device, {});
    EXPECT_EQ(first_of(plan).kernel, "gemm_tiles") << line;
    const auto value = [&](const char* name) { return first_define(plan, name); };
    return {value("DEPTH"), value("TM"), value("TX"), value("SPLIT"), value("TAP_SPLIT") != 0};
}

}  // namespace

TEST(TileRegisters, RowsOfConvolutionsAreFourLoadsAtMost) {
    EXPECT_EQ(tile("conv2d f32 1x34x16x48 48x1x3 same", 256), (Tile{4, 8, 4, 3, true}));
    EXPECT_EQ(tile("conv2d f32 1x34x16x48 48x1x3 same", 128), (Tile{2, 8, 4, 3, true}));
    EXPECT_EQ(tile("conv2d f32 1x128x128x24 20x3x3 p1", 256), (Tile{2, 8, 2, 3, true}));
    EXPECT_EQ(tile("conv2d f32 1x128x128x24 20x3x3 p1", 128), (Tile{1, 8, 2, 2, false}));
    EXPECT_EQ(tile("matmul f32 1x544x144x48", 128), (Tile{2, 8, 4, 4, false}));
}

TEST(TileRegisters, TwoTapsAreMultipliedAtOnce) {
    EXPECT_EQ(tile("conv2d f32 1x63x63x16 56x2x2 p1", 256), (Tile{4, 8, 8, 2, true}));
    EXPECT_EQ(tile("conv2d f32 1x63x63x16 56x2x2 p1", 128), (Tile{2, 8, 8, 2, false}));
    EXPECT_EQ(tile("conv2d f32 1x128x127x16 56x2x1", 256), (Tile{4, 8, 8, 1, false}));
    EXPECT_EQ(tile("conv2d f32 1x128x127x16 56x2x1", 128), (Tile{4, 4, 8, 1, false}));
}

TEST(TileRegisters, VolumesFindNoTapsOfSeveralLoads) {
    EXPECT_EQ(tile("conv3d f32 1x8x7x7x24 32x2x2x2 same", 256), (Tile{2, 8, 8, 4, true}));
    EXPECT_EQ(tile("conv3d f32 1x8x7x7x24 32x2x2x2 same", 128), (Tile{1, 8, 8, 4, false}));
    EXPECT_EQ(tile("conv3d bf16 1x4x8x8x3 128x3x3x3 same", 128), (Tile{2, 4, 8, 2, false}));
}

// Rows of words that are no whole quads, where neighbouring invocations' words are one access, as the plans of GPUs
// say: an invocation makes one element of them.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

using namespace tosavk;

namespace {

class OddRows : public test::GpuTest {
protected:
    static std::uint32_t invocations(const Dispatch& dispatch) {
        return dispatch.groups[0] * dispatch.groups[1] * dispatch.groups[2];
    }
};

TEST_F(OddRows, AgreeWithTheReference) {
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    const bool has_large_workgroups = device_->caps().max_workgroup_invocations >= 256;
    const char* lines[] = {
        "reduce_sum f16 3x3000x7 axis1",
        "softmax f32 300x197",
        "chain f32 7x63 add mul sigmoid",
        "avg_pool2d f32 1x9x9x63 3x3 s1 p1",
        "max_pool2d f32 2x8x8x62 2x2 s2 p0",
        "max_pool2d i8 1x8x8x63 2x2 s2 p0",
        "resize f32 1x5x6x63 10x12 bilinear",
        "resize i8 1x5x6x7 10x12 nearest",
        "softmax f32 3x1001",
        "softmax f32 7x257",
        "softmax f16 7x257",
        "reduce_sum f32 5x257 axis1",
        "reduce_max i32 3x65x63 axis1",
        "reduce_sum f32 3x3000x7 axis1",
        "argmax f32 9x1001 axis1",
        "concat f32 1x6x6x31 1x6x6x33 axis3",
        "concat i8 1x6x6x31 1x6x6x33 axis3",
        "transpose f32 255x129 1,0",
        "transpose f32 1x33x31x3 0,3,1,2",
        "transpose i32 7x5x129 2,1,0",
        "transpose f32 3x1001 1,0",
        "transpose f32 1001x3 1,0",
        "transpose f32 3x4x5x6 3,1,2,0",
        "slice f32 1x17x17x63 0,1,1,1 1x15x15x61",
        "slice f32 1x9x9x64 0,1,1,1 1x5x5x60",
        "tile f32 1x5x5x63 1x2x1x3",
        "reverse f32 1x5x5x63 axis3",
        "reverse f32 64x64 axis1",
        "pad f32 1x5x5x63 0,0,1,1,1,1,2,1",
        "gather f32 1x255x63 255",
        "gather f32 2x25x3 7",
        "gather i32 2x25x1 7",
    };
    for (const bool large : {false, true}) {
        if (large && !has_large_workgroups) continue;
        const auto used = test::open_with([large](DevicePlan& plan) {
            plan.workgroup_size = 64;
            plan.lanes_together = 32;
            plan.shared_tiles = true;
            plan.product_tiles = large;
            plan.busy_invocations = large ? 65536 : 4096;
        });
        for (const char* line : lines) {
            const auto graph = std::make_shared<const Graph>(load_problem(line));
            const CheckReport report = Checker(used, graph).run(seed);
            EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
        }
    }
}

/// Whole quads stay together, and halves.
TEST_F(OddRows, AreMadeOneByOne) {
    const auto groups = [](const char* line, std::uint32_t lanes) {
        const auto device = test::open_with([lanes](DevicePlan& plan) {
            plan.workgroup_size = 64;
            plan.lanes_together = lanes;
        });
        const Graph graph = load_problem(line);
        return invocations(make_plan(graph, device->plan(), {}).dispatches.at(0));
    };
    for (const char* odd : {"max_pool2d f32 1x32x32x62 2x2 s2 p0", "reverse f32 1x14x64x31 axis2",
                            "gather f32 1x64x63 64", "reduce_sum f32 31x5x127 axis1"})
        EXPECT_GT(groups(odd, 32), 3 * groups(odd, 1)) << odd;
    for (const char* whole : {"max_pool2d f32 1x32x32x64 2x2 s2 p0", "reverse f32 1x14x64x32 axis1",
                              "gather f32 1x64x64 64", "max_pool2d f16 1x32x32x62 2x2 s2 p0"})
        EXPECT_EQ(groups(whole, 32), groups(whole, 1)) << whole;
}

}  // namespace

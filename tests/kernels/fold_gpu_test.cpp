// Rows whose lanes fold their results in whole subgroups, by shuffles: as the plans of GPUs say, here of any driver
// that makes whole subgroups of its size.
#include "compile/plan/plan.hpp"
#include "frontends/problems/problem.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

using namespace tosavk;

namespace {

class Fold : public test::GpuTest {
protected:
    std::shared_ptr<Device> with_lanes(std::uint32_t lanes, bool shuffles) {
        return test::open_with([=](DevicePlan& plan) {
            plan.workgroup_size = 64;
            plan.lanes_together = lanes;
            plan.busy_invocations = 1;
            plan.fold_lanes = shuffles ? plan.subgroup_lanes : 0;
        });
    }
};

TEST_F(Fold, AgreesWithTheReference) {
    const DeviceCaps& caps = device_->caps();
    const std::uint32_t size = device_->plan().subgroup_lanes;
    if (!caps.subgroup_size_control || size < 8 || size > 64)
        GTEST_SKIP() << "the driver makes no whole subgroups of 8 to 64";
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    for (const std::uint32_t lanes : {4u, 8u, 16u, 64u}) {
        for (const bool shuffles : {false, true}) {
            const std::shared_ptr<Device> used = with_lanes(lanes, shuffles);
            for (const char* line :
                 {"reduce_sum f32 37x1024 axis1", "reduce_max f32 5x999 axis1", "reduce_min i8 9x4096 axis1",
                  "reduce_product f32 3x512 axis1", "reduce_sum i32 65x300 axis1", "reduce_any bool 7x1000 axis1",
                  "argmax f32 33x1000 axis1", "argmax i8 6x4096 axis1", "softmax f32 19x1000", "softmax f16 7x512"}) {
                const auto graph = std::make_shared<const Graph>(load_problem(line));
                const Plan plan = make_plan(*graph, used->plan(), {});
                int folds = 0;
                for (const Dispatch& dispatch : plan.dispatches) folds += dispatch.subgroup_size == size ? 1 : 0;
                EXPECT_EQ(folds > 0, shuffles) << line << ", " << lanes << " lanes";
                Checker checker(used, graph);
                const CheckReport report = checker.run(seed);
                EXPECT_TRUE(report.passed) << line << ", " << lanes << " lanes, seed " << seed << "\n" << report.detail;
            }
        }
    }
}

TEST_F(Fold, FewRowsHaveLargeWorkgroups) {
    const DeviceCaps& caps = device_->caps();
    if (caps.max_workgroup_invocations < 256) GTEST_SKIP() << "the device has no workgroups that large";
    const std::uint32_t size = device_->plan().subgroup_lanes;
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    for (const bool shuffles : {false, true}) {
        if (shuffles && (!caps.subgroup_size_control || size < 8 || size > 64)) continue;
        const auto used = test::open_with([=](DevicePlan& plan) {
            plan.workgroup_size = 64;
            plan.product_tiles = true;
            plan.busy_invocations = 65536;
            plan.fold_lanes = shuffles ? plan.subgroup_lanes : 0;
        });
        for (const char* line : {"softmax f32 1x32768", "softmax f32 3x9999", "softmax f16 2x5000"}) {
            const auto graph = std::make_shared<const Graph>(load_problem(line));
            const Plan plan = make_plan(*graph, used->plan(), {});
            EXPECT_EQ(plan.dispatches.at(0).kernel, "rows") << line;
            EXPECT_EQ(plan.dispatches.at(0).invocations, 256u) << line;
            const CheckReport report = Checker(used, graph).run(seed);
            EXPECT_TRUE(report.passed) << line << ", seed " << seed << "\n" << report.detail;
        }
    }
}

}  // namespace

// Convolutions whose weights are an input of the graph, by every kernel that reads packed ones.
#include "support/one_node.hpp"

#include "compile/plan/plan.hpp"
#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

#include <fmt/format.h>

#include <set>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

struct Convolution {
    Op op;
    DType type;
    Shape input, weight;
    std::int32_t stride = 1;
    bool packs = true;  ///< by a dispatch of its own
};

Graph graph_of(const Convolution& c) {
    GraphBuilder b("convolution", level_none);
    const bool volume = c.op == Op::conv3d, depthwise = c.op == Op::depthwise_conv2d;
    const std::int64_t channels = depthwise ? c.weight[2] * c.weight[3] : c.weight[0];
    Attributes attrs;
    attrs.pad.assign(volume ? 6 : 4, 1);
    attrs.stride.assign(volume ? 3 : 2, c.stride);
    attrs.dilation.assign(volume ? 3 : 2, 1);
    attrs.acc_type = DType::fp32;
    const ValueId x = b.input("x", c.type, c.input), w = b.input("w", c.type, c.weight),
                  bias = b.input("bias", c.type, {channels});
    b.output(b.add1(c.op, {x, w, bias, b.scalar(c.type, 0), b.scalar(c.type, 0)}, c.type, attrs, "sums"));
    return b.finish();
}

const Convolution convolutions[] = {
    {Op::conv2d, DType::fp32, {1, 12, 11, 20}, {70, 3, 3, 20}},
    {Op::conv2d, DType::fp32, {2, 17, 13, 9}, {33, 3, 3, 9}, 2},
    {Op::conv2d, DType::fp32, {1, 16, 16, 64}, {64, 3, 3, 64}},
    {Op::conv2d, DType::fp16, {1, 16, 16, 32}, {32, 3, 3, 32}},
    {Op::conv2d, DType::bf16, {1, 9, 9, 40}, {66, 3, 3, 40}},
    {Op::conv2d, DType::fp32, {1, 14, 14, 96}, {48, 1, 1, 96}},
    {Op::conv3d, DType::fp32, {1, 5, 6, 7, 9}, {70, 3, 3, 2, 9}},
    {Op::conv3d, DType::fp16, {1, 4, 6, 7, 12}, {19, 2, 3, 3, 12}},
    {Op::depthwise_conv2d, DType::fp32, {1, 12, 11, 20}, {3, 3, 20, 1}, 1, false},
    {Op::depthwise_conv2d, DType::fp16, {2, 9, 9, 6}, {3, 3, 6, 2}, 2, false},
    {Op::depthwise_conv2d, DType::fp32, {1, 9, 8, 7}, {3, 3, 7, 1}, 1, false},
};

void check(const std::shared_ptr<Device>& device, const Convolution& c, std::set<std::string>& kernels) {
    const std::string name = fmt::format("{} {} {}", name_of(c.op), name_of(c.type), to_string(c.weight));
    const auto graph = std::make_shared<const Graph>(graph_of(c));
    const Plan plan = make_plan(*graph, device->plan(), {});
    EXPECT_EQ(plan.dispatches.at(0).kernel == "pack_weights", c.packs) << name;
    kernels.insert(plan.dispatches.back().kernel);
    const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 0);
    const CheckReport report = Checker(device, graph).run(seed);
    EXPECT_TRUE(report.passed) << name << ", seed " << seed << "\n" << report.detail;
}

class RunTimeWeights : public test::GpuTest {};

TEST_F(RunTimeWeights, AsTheDeviceChooses) {
    std::set<std::string> kernels;
    for (const Convolution& c : convolutions) check(device_, c, kernels);
}

TEST_F(RunTimeWeights, ByEveryProduct) {
    if (device_->plan().own_rows == 0) GTEST_SKIP() << "the driver takes minutes to compile large register tiles";
    const auto open = [&](bool tiles, bool shared, std::int64_t parts) {
        return test::open_with([=](DevicePlan& plan) {
            test::without_matrices(plan);
            plan.subgroup_lanes = 1;
            plan.shared_rows = false;
            plan.shared_tiles = shared;
            plan.product_tiles = tiles;
            plan.product_tile_bytes = 32768;
            plan.least_tiles = parts > 1 ? 1000 : 1;
            plan.tile_parts = parts;
            plan.own_rows = shared ? 0 : 8;
            plan.slow_storage = plan.slow_storage && shared;
            plan.dot4 = false;
            plan.busy_invocations = parts > 1 ? 1 << 20 : 1;
        });
    };
    std::set<std::string> kernels;
    for (const auto& device : {open(true, true, 1), open(true, true, 8), open(false, true, 1), open(false, false, 1)}) {
        for (const Convolution& c : convolutions) check(device, c, kernels);
    }
    for (const char* kernel : {"gemm_tiles", "gemm_parts", "gemm_split", "gemm_direct"})
        EXPECT_TRUE(kernels.contains(kernel)) << kernel;
}

TEST_F(RunTimeWeights, OfLittleWorkAreReadAsTheyAre) {
    const auto first = [&](Shape input, Shape weight) {
        const Graph graph = graph_of({Op::conv2d, DType::fp32, std::move(input), std::move(weight)});
        return make_plan(graph, device_->plan(), {}).dispatches.at(0).kernel;
    };
    EXPECT_EQ(first({1, 1, 7, 32}, {64, 3, 3, 32}), "conv_direct");
    EXPECT_EQ(first({1, 2, 4, 32}, {64, 3, 3, 32}), "pack_weights");
    EXPECT_EQ(first({1, 8, 8, 8}, {8, 3, 3, 8}), "conv_direct");
}

}  // namespace

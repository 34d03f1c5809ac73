// SUPPRESS and SUPPRESS_QUEUED on the device where they take several dispatches, by a workgroup and by one invocation.
#include "support/gpu_test.hpp"
#include "support/one_node.hpp"
#include "verify/checker.hpp"

#include "compile/plan/plan.hpp"
#include "ops/builder.hpp"

#include <iostream>
#include <random>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

class SuppressGpu : public test::GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
        std::cout << "seed " << seed << "\n";
        random_.seed(seed);
    }

    HostTensor numbers(const Shape& shape, std::uint64_t levels) {
        std::vector<double> values;
        for (std::int64_t k = 0; k < element_count(shape); ++k)
            values.push_back(static_cast<double>(random_() % levels) / static_cast<double>(levels));
        return floats(shape, values);
    }

    /// Checks the node and answers how many dispatches it takes.
    std::size_t check(const std::shared_ptr<Device>& device, Op op, const Attributes& attrs,
                      const std::vector<HostTensor>& inputs, const std::vector<DType>& types) {
        GraphBuilder b("suppress", level_none);
        std::vector<ValueId> operands;
        for (const HostTensor& t : inputs)
            operands.push_back(b.input("in" + std::to_string(operands.size()), t.type, t.shape));
        for (const ValueId id : b.add(op, operands, attrs, types)) b.output(id);
        const auto graph = std::make_shared<const Graph>(b.finish());
        Checker checker(device, graph);
        const CheckReport report = checker.run(inputs);
        EXPECT_TRUE(report.passed) << report.detail;
        return make_plan(*graph, device->plan(), {}).dispatches.size();
    }

    std::mt19937_64 random_;
};

}  // namespace

TEST_F(SuppressGpu, GoesOnWhereADispatchEnded) {
    const auto bound = [](std::int64_t passes) {
        return test::open_with([=](DevicePlan& plan) { plan.max_loop_passes = passes; });
    };
    const std::int64_t count = 700;
    for (const std::int32_t most : {5, 60}) {
        for (const double sigma : {0.0, 0.3}) {
            Attributes attrs;
            attrs.most = most;
            attrs.sigma = sigma;
            const std::vector<HostTensor> inputs{numbers({count, 4}, 1 << 20),
                                                 numbers({count}, most == 5 ? 7 : 1 << 20), floats({1}, {0.4}),
                                                 floats({1}, {0.1})};
            EXPECT_GT(check(bound(sigma > 0 ? 5000 : 2000), Op::suppress_queued, attrs, inputs,
                            {DType::i32, DType::fp32, DType::i32}),
                      5u);
        }
        Attributes attrs;
        attrs.most = most;
        std::vector<std::int64_t> order;
        for (std::int64_t k = 0; k < 3 * count; ++k) order.push_back(static_cast<std::int64_t>(random_() % count));
        const std::vector<HostTensor> inputs{numbers({count, 4}, 1 << 20), ints(DType::i32, {3, count}, order),
                                             ints(DType::i32, {3}, std::vector<std::int64_t>{count, 300, 0}),
                                             floats({1}, {0.4})};
        EXPECT_GT(check(bound(400), Op::suppress, attrs, inputs, {DType::i32, DType::i32}), 3u);
        EXPECT_EQ(check(device_, Op::suppress, attrs, inputs, {DType::i32, DType::i32}), 3u);
    }
}

TEST_F(SuppressGpu, TakesMoreThanAWorkgroupShares) {
    const std::int64_t count = 1500;
    Attributes attrs;
    attrs.most = 1200;
    // Small boxes, so that most of them are taken.
    HostTensor boxes = numbers({count, 4}, 1 << 20);
    std::vector<double> corners = decode_reals(DType::fp32, boxes.bytes);
    for (std::size_t k = 0; k < corners.size(); k += 4) {
        corners[k + 2] = corners[k] + corners[k + 2] / 32;
        corners[k + 3] = corners[k + 1] + corners[k + 3] / 32;
    }
    boxes = floats({count, 4}, corners);
    check(device_, Op::suppress_queued, attrs, {boxes, numbers({count}, 50), floats({1}, {0.4}), floats({1}, {0.0})},
          {DType::i32, DType::fp32, DType::i32});
}

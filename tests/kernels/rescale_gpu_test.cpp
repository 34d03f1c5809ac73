// RESCALE on the device where only the high words of its products are kept (all shifts above 32) and where they are
// not, with 64-bit integers and with 32-bit words in the shader: values and multipliers at the ends of their types,
// ties.
#include "support/one_node.hpp"

#include "ops/builder.hpp"
#include "support/gpu_test.hpp"
#include "verify/checker.hpp"

#include <iostream>
#include <random>
#include <tuple>

using namespace tosavk;
using namespace tosavk::testing;

namespace {

class RescaleGpu : public test::GpuTestWith<std::tuple<bool, Rounding>> {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped()) return;
        used_ = std::get<0>(GetParam()) ? device_ : test::open_with([](DevicePlan& plan) { plan.int64 = false; });
    }

    /// Every value with every pair of a multiplier and a shift, one pair a channel.
    void check(const std::vector<std::int64_t>& values, const std::vector<std::int64_t>& multipliers,
               const std::vector<std::int64_t>& shifts) {
        std::vector<std::int64_t> all, m, s;
        for (const std::int64_t multiplier : multipliers) {
            for (const std::int64_t shift : shifts) {
                m.push_back(multiplier);
                s.push_back(shift);
            }
        }
        for (const std::int64_t value : values) all.insert(all.end(), m.size(), value);
        const auto rows = static_cast<std::int64_t>(values.size()), channels = static_cast<std::int64_t>(m.size());

        GraphBuilder b("rescale", level_none);
        Attributes attrs;
        attrs.scale32 = true;
        attrs.per_channel = true;
        attrs.rounding = std::get<1>(GetParam());
        const ValueId x = b.input("x", DType::i32, {rows, channels});
        b.output(
            b.add1(Op::rescale,
                   {x, b.constant_ints("m", DType::i32, {channels}, m), b.constant_ints("s", DType::i8, {channels}, s),
                    b.scalar(DType::i32, 0), b.scalar(DType::i32, 0)},
                   DType::i32, attrs, "scaled"));
        const auto graph = std::make_shared<const Graph>(b.finish());
        Checker checker(used_, graph);
        HostTensor tensor(DType::i32, {rows, channels});
        tensor.bytes = encode_ints(DType::i32, all);
        const std::vector<HostTensor> inputs = {tensor};
        const CheckReport report = checker.run(inputs);
        EXPECT_TRUE(report.passed) << report.detail;
    }

    static std::vector<std::int64_t> values() {
        std::vector<std::int64_t> all = {INT32_MIN, INT32_MIN + 1, -(1 << 30),    -3,       -2, -1, 0, 1, 2,
                                         3,         1 << 30,       INT32_MAX - 1, INT32_MAX};
        const std::uint64_t seed = test::number_from_environment("TOSAVK_TEST_SEED", 1);
        std::cout << "seed " << seed << "\n";
        std::mt19937_64 random(seed);
        for (int i = 0; i < 50; ++i) all.push_back(static_cast<std::int32_t>(random()));
        return all;
    }
    static std::vector<std::int64_t> multipliers() {
        return {0, 1, 2, 1 << 30, (1 << 30) + 1, 0x55555555, INT32_MAX - 1, INT32_MAX};
    }

    std::shared_ptr<Device> used_;
};

TEST_P(RescaleGpu, HighWordsOnly) { check(values(), multipliers(), {33, 34, 35, 47, 61, 62}); }
TEST_P(RescaleGpu, WholeProducts) { check(values(), multipliers(), {32, 33, 34, 62}); }

INSTANTIATE_TEST_SUITE_P(Forms, RescaleGpu,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Rounding::single_round, Rounding::double_round)));

}  // namespace

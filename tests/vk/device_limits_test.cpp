// The device's measured limits: what is stored of them, and the rates that not every device has. No rate is judged.
#include "vk/measure/limits.hpp"

#include "support/gpu_test.hpp"

#include <cstring>
#include <limits>

namespace tosavk {
namespace {

constexpr DeviceLimits some{10, 150, 300, 140, 120, 900, 1800, 5, 20, false};

TEST(StoredLimits, ComeBack) {
    const auto back = limits_from_bytes(limits_to_bytes(some));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->copy_gbytes_per_s, some.copy_gbytes_per_s);
    EXPECT_EQ(back->fp32_gflops, some.fp32_gflops);
    EXPECT_EQ(back->fp16_gflops, some.fp16_gflops);
    EXPECT_EQ(back->int32_gops, some.int32_gops);
    EXPECT_EQ(back->int8_gops, some.int8_gops);
    EXPECT_EQ(back->matrix_fp16_gflops, some.matrix_fp16_gflops);
    EXPECT_EQ(back->matrix_int8_gops, some.matrix_int8_gops);
    EXPECT_EQ(back->dispatch_us, some.dispatch_us);
    EXPECT_EQ(back->submit_us, some.submit_us);
    DeviceLimits without = some;
    without.fp16_gflops = 0;
    ASSERT_TRUE(limits_from_bytes(limits_to_bytes(without)));
    EXPECT_EQ(limits_from_bytes(limits_to_bytes(without))->fp16_gflops, 0);
}

TEST(StoredLimits, OtherBytesAreNone) {
    std::vector<std::byte> bytes = limits_to_bytes(some);
    EXPECT_FALSE(limits_from_bytes({}));
    EXPECT_FALSE(limits_from_bytes(std::span(bytes).first(bytes.size() - 1)));
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(limits_from_bytes(bytes));
    bytes.pop_back();
    for (const double wrong :
         {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        std::vector<std::byte> changed = bytes;
        std::memcpy(changed.data(), &wrong, sizeof wrong);  // the copy rate
        EXPECT_FALSE(limits_from_bytes(changed)) << wrong;
    }
}

using DeviceLimitsTest = test::GpuTest;

/// Packed dot products are another way to the same rate; matrices are measured where the plan has them.
TEST_F(DeviceLimitsTest, DotProductsAndMatricesWherePlanned) {
    const DeviceCaps& caps = device_->caps();
    if (!caps.integer_dot_product) GTEST_SKIP() << "the device has no integer dot products";
    for (const bool mixed : {false, true}) {
        const auto used = test::open_with([mixed](DevicePlan& plan) { plan.dot4 = true, plan.dot4_mixed = mixed; });
        const DeviceLimits limits = measure_limits(used, true);
        EXPECT_GT(limits.int8_gops, 0);
        EXPECT_EQ(limits.matrix_fp16_gflops > 0, bool(used->plan().cooperative_fp16));
        EXPECT_EQ(limits.matrix_int8_gops > 0, bool(used->plan().cooperative_i8));
    }
}

/// Each rate is measured; fp16 where the plan has it and nowhere else.
TEST_F(DeviceLimitsTest, Fp16WherePlanned) {
    const DeviceCaps& caps = device_->caps();
    for (const bool native : {false, true}) {
        if (native && !caps.fp16) GTEST_SKIP() << "the device has no fp16 arithmetic";
        const auto used = test::open_with([native](DevicePlan& plan) { plan.has_fp16 = native; });
        const DeviceLimits limits = measure_limits(used, true);
        EXPECT_EQ(limits.fp16_gflops > 0, native);
        EXPECT_TRUE(limits_from_bytes(limits_to_bytes(limits)));
        EXPECT_FALSE(limits.stored);
        const DeviceLimits again = measure_limits(used);
        EXPECT_EQ(again.int8_gops, limits.int8_gops) << "measured once a process";
    }
}

}  // namespace
}  // namespace tosavk

// What tests on a device share: the device itself, opened once per suite; without a driver the tests are skipped.
#pragma once

#include "support/environment.hpp"
#include "support/require.hpp"
#include "support/validation.hpp"
#include "vk/core/device.hpp"
#include "vk/core/device_state.hpp"
#include "vk/measure/open_device.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace tosavk::test {

/// Does this run do the item of that index? TOSAVK_TEST_PART=K/N shares what takes long and depends little on the
/// driver among its variants: each does every Nth item, the Kth (from 0) first. Without the variable a run does all.
inline bool in_this_part(std::size_t index) {
    const char* text = std::getenv("TOSAVK_TEST_PART");
    if (!text || !*text) return true;
    std::size_t part = 0, parts = 0;
    if (std::sscanf(text, "%zu/%zu", &part, &parts) != 2 || part >= parts)
        throw Error(ErrorCode::usage, "TOSAVK_TEST_PART is not K/N with K below N");
    return index % parts == part;
}

class GpuTest : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        try {
            device_ = open_device("");
        } catch (const Error& error) {
            if (error.code() != ErrorCode::no_device) throw;
        }
    }
    static void TearDownTestSuite() { device_.reset(); }
    void SetUp() override {
        if (!device_) TOSAVK_MISSING("driver", "there is no Vulkan driver");
    }

    inline static std::shared_ptr<Device> device_;
};

template <class Param> class GpuTestWith : public GpuTest, public ::testing::WithParamInterface<Param> {};

/// A plan's other kernels of products, which a device with units for matrices leaves to others.
inline void without_matrices(DevicePlan& plan) {
    plan.cooperative_i8 = plan.cooperative_fp16 = {};
    plan.subgroup_size = 0;
}

/// The best physical device, opened with a device plan of the test's own making.
inline std::shared_ptr<Device> open_with(const std::function<void(DevicePlan&)>& change) {
    std::shared_ptr<Instance> instance = Instance::get();
    const std::vector<PhysicalDevice> devices = usable_devices(*instance);
    if (devices.empty()) throw Error(ErrorCode::no_device, "there is no Vulkan device");
    const PhysicalDevice& physical = devices.front();
    DevicePlan plan = device_plan(physical.caps);
    change(plan);
    return std::make_shared<Device>(
        std::make_unique<DeviceState>(std::move(instance), physical, physical.caps, plan, DeviceOptions()));
}

}  // namespace tosavk::test

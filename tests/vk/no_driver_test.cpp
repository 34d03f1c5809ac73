// Without a driver. A process of its own: while an instance lives, the loader keeps the drivers that it has found.
#include "support/environment.hpp"
#include "vk/core/device.hpp"
#include "vk/measure/open_device.hpp"

#include <gtest/gtest.h>

namespace tosavk {
namespace {

TEST(NoDriver, IsASentence) {
    const test::ScopedEnv files("VK_DRIVER_FILES", "/nonexistent"), old_files("VK_ICD_FILENAMES", "/nonexistent");
    const auto expect = [](auto call) {
        try {
            call();
            ADD_FAILURE() << "no error";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::no_device) << error.what();
            EXPECT_NE(std::string(error.what()).find("install"), std::string::npos) << error.what();
        }
    };
    expect([] { Device::enumerate(); });
    expect([] { open_device("cpu"); });
}

}  // namespace
}  // namespace tosavk

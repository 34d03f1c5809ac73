// Whether there is a driver at all, asked through the C ABI.
#pragma once

#include "support/require.hpp"
#include "tosavk/tosavk.h"

namespace tosavk::test {

inline bool has_driver() {
    std::uint32_t count = 0;
    return tosavk_device_count(&count, nullptr) != TOSAVK_ERROR_NO_DEVICE;
}

}  // namespace tosavk::test

#define TOSAVK_NEEDS_DRIVER() \
    if (!::tosavk::test::has_driver()) TOSAVK_MISSING("driver", "there is no Vulkan driver")

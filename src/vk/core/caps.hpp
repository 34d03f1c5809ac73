// Takes the DeviceCaps snapshot of a physical device, and restricts a snapshot by one read from a file.
#pragma once

#include "device/caps.hpp"
#include "vk/core/instance.hpp"

#include <vector>

namespace tosavk {

/// A physical device that this library can use: Vulkan 1.1 or later with a compute queue.
struct PhysicalDevice {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    std::uint32_t queue_family = 0;
    std::vector<std::string> extensions;
    DeviceCaps caps;

    bool has_extension(const char* name) const;
};

/// Best first: discrete, integrated, virtual, cpu, other; the driver's order within a type. May be empty.
std::vector<PhysicalDevice> usable_devices(const Instance& instance);

}  // namespace tosavk

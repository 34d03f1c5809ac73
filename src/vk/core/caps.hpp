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
    bool update_after_bind = false;  ///< asked for by others, see BindingLayout

    bool has_extension(const char* name) const;
};

/// The device of others whose VkDevice was made with `made_with`: its caps have only what was enabled there, and its
/// extensions are those. `api_version` is that of the instance (VkApplicationInfo). Error(no_device) where it is below
/// Vulkan 1.1 or the queue family does not compute.
PhysicalDevice adopted_device(const Instance& instance, VkPhysicalDevice handle, const VkDeviceCreateInfo& made_with,
                              std::uint32_t api_version, std::uint32_t queue_family);

/// Best first: discrete, integrated, virtual, cpu, other; the driver's order within a type. May be empty.
std::vector<PhysicalDevice> usable_devices(const Instance& instance);

}  // namespace tosavk

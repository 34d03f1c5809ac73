// A Vulkan device that others have made and lend to the library.
#pragma once

#include <volk.h>

#include <cstdint>
#include <functional>

namespace tosavk {

/// Device memory from the caller's allocator.
struct LentMemory {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::uint64_t offset = 0;
    void* mapped = nullptr;  ///< of `offset`; null where the host does not see it
    void* cookie = nullptr;  ///< the caller's own
};

struct MemoryLender {
    /// Memory of that type for a buffer with these requirements, mapped if asked. VK_SUCCESS or an error.
    std::function<VkResult(const VkMemoryRequirements& requirements, std::uint32_t memory_type, bool mapped,
                           LentMemory& memory)>
        allocate;
    std::function<void(const LentMemory& memory)> release;
};

struct AdoptedDevice {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
    PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;
    std::uint32_t api_version = 0;                  ///< VkApplicationInfo::apiVersion
    const VkDeviceCreateInfo* made_with = nullptr;  ///< read once
    std::uint32_t queue_family = 0;
    VkQueue queue = VK_NULL_HANDLE;  ///< null: nothing is submitted
    void* queue_user = nullptr;
    void (*lock_queue)(void* user) = nullptr;  ///< null: nobody else uses the queue
    void (*unlock_queue)(void* user) = nullptr;
    MemoryLender memory;  ///< no functions: vkAllocateMemory
};

}  // namespace tosavk

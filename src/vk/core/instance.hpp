// The VkInstance and its functions. One instance lives as long as somebody uses it; there are no global function
// pointers, so threads may open and close devices as they like.
#pragma once

#include "base/forks.hpp"
#include "vk/core/cooperative_matrix.hpp"

#include <volk.h>
#include <memory>
#include <string>
#include <vector>

namespace tosavk {

class Instance {
public:
    /// The instance in use, or a new one. Error(no_device) when there is no loader or no driver.
    static std::shared_ptr<Instance> get();

    /// Somebody else's, whose functions come from `get_address`: the loader is not asked. Error(no_device) where one is
    /// missing.
    static std::shared_ptr<Instance> adopt(VkInstance instance, PFN_vkGetInstanceProcAddr get_address);

    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    /// Whether this process was forked off since: a driver's threads stay with the parent, and who waits for one waits
    /// forever. Such an instance, and a device of it, is neither used nor destroyed.
    bool is_inherited() const { return birthplace_.is_left(); }

    /// Keeps the driver loaded until the process ends.
    static void keep(std::shared_ptr<Instance> instance);

    /// Whether this process was forked off after the library had made an instance: a driver may not start anew here.
    static bool was_left_behind();

    std::vector<VkPhysicalDevice> physical_devices() const;
    std::vector<std::string> extensions_of(VkPhysicalDevice device) const;

    PFN_vkGetPhysicalDeviceProperties2 get_properties = nullptr;
    PFN_vkGetPhysicalDeviceFeatures2 get_features = nullptr;
    PFN_vkGetPhysicalDeviceMemoryProperties2 get_memory_properties = nullptr;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties2 get_queue_families = nullptr;
    khr::GetCooperativeMatrixProperties get_cooperative_matrices = nullptr;  ///< null without a driver that has them
    PFN_vkGetPhysicalDeviceExternalSemaphoreProperties get_external_semaphores = nullptr;
    PFN_vkCreateDevice create_device = nullptr;
    PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;

private:
    Instance() = default;
    /// Null without a function of Vulkan 1.1 that is needed.
    bool load_functions(PFN_vkGetInstanceProcAddr get_address);
    void create();
    void destroy();

    Birthplace birthplace_;
    VkInstance handle_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    PFN_vkDestroyInstance destroy_instance_ = nullptr;
    PFN_vkEnumeratePhysicalDevices enumerate_physical_devices_ = nullptr;
    PFN_vkEnumerateDeviceExtensionProperties enumerate_device_extensions_ = nullptr;
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger_ = nullptr;
};

}  // namespace tosavk

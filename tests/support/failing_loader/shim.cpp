// Stands where Vulkan's loader is looked for, and is the real one but for one call: the n-th of those that the library
// makes of instances and physical devices, or to ask what a compiler made of its pipelines, and that may fail. The test
// that loads it says which. A device without cooperative matrices gets one of a size that no kernel has a use for.
#include <vulkan/vulkan.h>

#define VOLK_H_  // whose vkGetInstanceProcAddr is a variable; here it is the function that this library is about
#include "vk/core/cooperative_matrix.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <mutex>

namespace {

using namespace tosavk;

std::atomic<int> until_fault{0};  ///< 0: no call fails
std::atomic<const char*> failed{""};
std::atomic<int> alive{0};  ///< instances and devices

bool take(const char* name) {
    if (until_fault == 0 || --until_fault > 0) return false;
    failed = name;
    return true;
}

PFN_vkGetInstanceProcAddr real_loader() {
    static const auto found = [] {
        void* library = dlopen(TOSAVK_REAL_LOADER, RTLD_NOW | RTLD_LOCAL);
        return library ? reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr")) : nullptr;
    }();
    return found;
}

template <class F> struct Wrapper;
template <class... A> struct Wrapper<VkResult(VKAPI_PTR*)(A...)> {
    template <const char* Name> static VkResult(VKAPI_PTR* real)(A...);
    template <const char* Name> static VKAPI_ATTR VkResult VKAPI_CALL call(A... arguments) {
        if (take(Name)) return VK_ERROR_OUT_OF_HOST_MEMORY;
        const VkResult result = real<Name>(arguments...);
        if (result == VK_SUCCESS && (!std::strcmp(Name, "vkCreateInstance") || !std::strcmp(Name, "vkCreateDevice")))
            ++alive;
        return result;
    }
};
template <class... A> template <const char* Name> VkResult(VKAPI_PTR* Wrapper<VkResult(VKAPI_PTR*)(A...)>::real)(A...);

// clang-format off
#define NAMES(X) \
    X(vkEnumerateInstanceVersion) X(vkCreateInstance) X(vkEnumerateInstanceExtensionProperties) \
    X(vkEnumerateInstanceLayerProperties) X(vkEnumeratePhysicalDevices) X(vkEnumerateDeviceExtensionProperties) \
    X(vkEnumerateDeviceLayerProperties) X(vkCreateDevice) X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)
#define DEVICE_NAMES(X) \
    X(vkGetPipelineExecutablePropertiesKHR) X(vkGetPipelineExecutableStatisticsKHR) \
    X(vkGetPipelineExecutableInternalRepresentationsKHR)
// clang-format on
#define NAME(name) constexpr char name_of_##name[] = #name;
NAMES(NAME)
DEVICE_NAMES(NAME)

/// Vulkan's headers may not have it.
using PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR = khr::GetCooperativeMatrixProperties;

VKAPI_ATTR VkResult VKAPI_CALL one_small_matrix(VkPhysicalDevice, std::uint32_t* count,
                                                khr::CooperativeMatrixProperties* found) {
    if (found && *count > 0) found->MSize = found->NSize = found->KSize = 1;
    *count = 1;
    return VK_SUCCESS;
}
PFN_vkEnumerateDeviceExtensionProperties real_extensions;
VKAPI_ATTR VkResult VKAPI_CALL with_matrices(VkPhysicalDevice device, const char* layer, std::uint32_t* count,
                                             VkExtensionProperties* found) {
    const std::uint32_t room = *count;
    const VkResult result = real_extensions(device, layer, count, found);
    if (result != VK_SUCCESS || layer) return result;
    for (std::uint32_t k = 0; found && k < *count; ++k) {
        if (!std::strcmp(found[k].extensionName, khr::cooperative_matrix_extension)) return result;
    }
    if (found && *count == room) return VK_INCOMPLETE;
    if (found) std::strcpy(found[*count].extensionName, khr::cooperative_matrix_extension);
    ++*count;
    return result;
}
PFN_vkGetPhysicalDeviceFeatures2 real_features;
VKAPI_ATTR void VKAPI_CALL with_matrix_feature(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
    real_features(device, features);
    for (auto* next = static_cast<VkBaseOutStructure*>(features->pNext); next; next = next->pNext) {
        if (next->sType == khr::CooperativeMatrixFeatures().sType)
            reinterpret_cast<khr::CooperativeMatrixFeatures*>(next)->cooperativeMatrix = VK_TRUE;
    }
}

#define LOOK(function)                                                                                  \
    if (!std::strcmp(name, #function)) {                                                                \
        Wrapper<PFN_##function>::real<name_of_##function> = reinterpret_cast<PFN_##function>(found);    \
        return reinterpret_cast<PFN_vkVoidFunction>(Wrapper<PFN_##function>::call<name_of_##function>); \
    }

PFN_vkDestroyInstance real_destroy_instance;
VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* callbacks) {
    if (instance) --alive;
    real_destroy_instance(instance, callbacks);
}
PFN_vkDestroyDevice real_destroy_device;
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks* callbacks) {
    if (device) --alive;
    real_destroy_device(device, callbacks);
}
PFN_vkGetDeviceProcAddr real_get_device_proc_addr;
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char* name) {
    const PFN_vkVoidFunction found = real_get_device_proc_addr(device, name);
    if (!found) return nullptr;
    DEVICE_NAMES(LOOK)
    if (std::strcmp(name, "vkDestroyDevice") != 0) return found;
    real_destroy_device = reinterpret_cast<PFN_vkDestroyDevice>(found);
    return reinterpret_cast<PFN_vkVoidFunction>(destroy_device);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
    if (!real_loader()) return nullptr;
    PFN_vkVoidFunction found = real_loader()(instance, name);
    if (!found && !std::strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"))
        found = reinterpret_cast<PFN_vkVoidFunction>(one_small_matrix);
    if (!found) return nullptr;
    if (!std::strcmp(name, "vkEnumerateDeviceExtensionProperties")) {
        real_extensions = reinterpret_cast<PFN_vkEnumerateDeviceExtensionProperties>(found);
        found = reinterpret_cast<PFN_vkVoidFunction>(with_matrices);
    }
    if (!std::strcmp(name, "vkGetPhysicalDeviceFeatures2")) {
        real_features = reinterpret_cast<PFN_vkGetPhysicalDeviceFeatures2>(found);
        return reinterpret_cast<PFN_vkVoidFunction>(with_matrix_feature);
    }
    NAMES(LOOK)
    if (!std::strcmp(name, "vkGetInstanceProcAddr")) return reinterpret_cast<PFN_vkVoidFunction>(vkGetInstanceProcAddr);
    if (!std::strcmp(name, "vkDestroyInstance")) {
        real_destroy_instance = reinterpret_cast<PFN_vkDestroyInstance>(found);
        return reinterpret_cast<PFN_vkVoidFunction>(destroy_instance);
    }
    if (!std::strcmp(name, "vkDestroyDevice")) {
        real_destroy_device = reinterpret_cast<PFN_vkDestroyDevice>(found);
        return reinterpret_cast<PFN_vkVoidFunction>(destroy_device);
    }
    if (!std::strcmp(name, "vkGetDeviceProcAddr")) {
        real_get_device_proc_addr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
        return reinterpret_cast<PFN_vkVoidFunction>(get_device_proc_addr);
    }
    return found;
}

/// The n-th call from now fails; 0: none does.
__attribute__((visibility("default"))) void failing_loader_set(int n) {
    failed = "";
    until_fault = n;
}
/// The call that has failed, or "".
__attribute__((visibility("default"))) const char* failing_loader_failed() { return failed; }
/// Instances and devices that were made and are not destroyed.
__attribute__((visibility("default"))) int failing_loader_alive() { return alive; }
}

// Creates the VkInstance: Vulkan 1.1, no layers or extensions but those that validation or portability drivers need.
#include "vk/core/instance.hpp"

#include "vk/core/check.hpp"
#include "vk/core/unique_handle.hpp"
#include "vk/core/validation.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

namespace tosavk {

namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

std::atomic<std::uint64_t> validation_messages{0};

/// One after another: no driver is unloaded while it is loaded again. Who fails to make one destroys it under the lock.
std::recursive_mutex lifecycle;
std::optional<Birthplace> first_made;  ///< written under the lock, and read by who has come out of it

VKAPI_ATTR VkBool32 VKAPI_CALL on_validation_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                     VkDebugUtilsMessageTypeFlagsEXT,
                                                     const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
    validation_messages.fetch_add(1, std::memory_order_relaxed);
    std::fprintf(stderr, "validation %s: %s\n",
                 severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? "error" : "warning", data->pMessage);
    return VK_FALSE;
}

/// Loads libvulkan once per process.
void require_loader() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    static bool loaded = false;
    if (!loaded && volkInitialize() != VK_SUCCESS) {
        throw Error(ErrorCode::no_device,
                    "no Vulkan loader (libvulkan.so.1) was found; install the package libvulkan1 and a Vulkan driver");
    }
    loaded = true;
    if (volkGetInstanceVersion() < VK_API_VERSION_1_1) {
        throw Error(ErrorCode::no_device, "the Vulkan loader (libvulkan.so.1) is older than Vulkan 1.1; update it");
    }
}

template <class Item, class Enumerate> std::vector<Item> enumerate_all(const char* name, Enumerate enumerate) {
    for (;;) {
        std::uint32_t count = 0;
        call(name, enumerate, &count, static_cast<Item*>(nullptr));
        std::vector<Item> items(count);
        const VkResult result = try_call(enumerate, &count, items.data());
        if (result < VK_SUCCESS) {
            throw_result(result, name);
        }
        if (result != VK_INCOMPLETE) {
            items.resize(count);
            return items;
        }
    }
}

bool contains_layer(const std::vector<VkLayerProperties>& layers, const char* name) {
    return std::any_of(layers.begin(), layers.end(),
                       [name](const VkLayerProperties& layer) { return std::strcmp(layer.layerName, name) == 0; });
}

bool contains_extension(const std::vector<VkExtensionProperties>& extensions, const char* name) {
    return std::any_of(extensions.begin(), extensions.end(), [name](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, name) == 0;
    });
}

}  // namespace

bool validation_requested() {
    const char* value = std::getenv("TOSAVK_VALIDATION");
    return value != nullptr && value[0] != '\0' && std::strcmp(value, "0") != 0;
}

std::uint64_t validation_message_count() { return validation_messages.load(std::memory_order_relaxed); }

std::shared_ptr<Instance> Instance::get() {
    static std::weak_ptr<Instance> current;
    const std::lock_guard lock(lifecycle);
    std::shared_ptr<Instance> instance = current.lock();
    if (!instance || instance->is_inherited()) {
        require_loader();
        instance.reset(new Instance());
        instance->create();
        if (!first_made) first_made.emplace();
        current = instance;
    }
    return instance;
}

void Instance::keep(std::shared_ptr<Instance> instance) {
    // Of the threads and libraries that go at the end some still use it: nobody destroys it.
    static auto* const kept = new std::shared_ptr<Instance>();
    const std::lock_guard lock(lifecycle);
    if (!*kept || (*kept)->is_inherited()) *kept = std::move(instance);
}

bool Instance::was_left_behind() { return first_made && first_made->is_left(); }

std::shared_ptr<Instance> Instance::adopt(VkInstance handle, PFN_vkGetInstanceProcAddr get_address) {
    std::shared_ptr<Instance> instance(new Instance());
    instance->handle_ = handle;
    const bool complete = instance->load_functions(get_address);
    instance->destroy_instance_ = nullptr;
    if (!complete)
        throw Error(ErrorCode::no_device,
                    "get_instance_proc_addr lacks functions of Vulkan 1.1; the instance must be of that version");
    return instance;
}

Instance::~Instance() { destroy(); }

void Instance::destroy() {
    if (is_inherited() || handle_ == VK_NULL_HANDLE || !destroy_instance_) return;
    const std::lock_guard lock(lifecycle);
    if (messenger_ != VK_NULL_HANDLE) {
        destroy_messenger_(handle_, messenger_, nullptr);
    }
    destroy_instance_(handle_, nullptr);
}

bool Instance::load_functions(PFN_vkGetInstanceProcAddr get_address) {
    const auto load = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get_address(handle_, name));
        return function != nullptr;
    };
    load(get_cooperative_matrices, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    return load(destroy_instance_, "vkDestroyInstance") &&
           load(enumerate_physical_devices_, "vkEnumeratePhysicalDevices") &&
           load(enumerate_device_extensions_, "vkEnumerateDeviceExtensionProperties") &&
           load(get_properties, "vkGetPhysicalDeviceProperties2") &&
           load(get_features, "vkGetPhysicalDeviceFeatures2") &&
           load(get_memory_properties, "vkGetPhysicalDeviceMemoryProperties2") &&
           load(get_queue_families, "vkGetPhysicalDeviceQueueFamilyProperties2") &&
           load(get_external_semaphores, "vkGetPhysicalDeviceExternalSemaphoreProperties") &&
           load(create_device, "vkCreateDevice") && load(get_device_proc_addr, "vkGetDeviceProcAddr");
}

void Instance::create() {
    VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.pApplicationName = "tosa-vk";
    application.pEngineName = "tosa-vk";
    application.apiVersion = VK_API_VERSION_1_1;

    std::vector<const char*> layers, extensions;
    VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = &application;

    const auto offered = enumerate_all<VkExtensionProperties>(
        "vkEnumerateInstanceExtensionProperties", [](std::uint32_t* count, VkExtensionProperties* items) {
            return vkEnumerateInstanceExtensionProperties(nullptr, count, items);
        });
    if (contains_extension(offered, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }

    VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messenger.messageType =
        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    messenger.pfnUserCallback = on_validation_message;
    const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = enabled;

    const bool validate = validation_requested();
    if (validate) {
        const auto present = enumerate_all<VkLayerProperties>(
            "vkEnumerateInstanceLayerProperties", [](std::uint32_t* count, VkLayerProperties* items) {
                return vkEnumerateInstanceLayerProperties(count, items);
            });
        if (!contains_layer(present, validation_layer)) {
            throw Error(ErrorCode::device,
                        "TOSAVK_VALIDATION is set, but VK_LAYER_KHRONOS_validation is not installed (package "
                        "vulkan-validationlayers)");
        }
        layers.push_back(validation_layer);
        extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
        extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
        messenger.pNext = &features;
        info.pNext = &messenger;  // covers vkCreateInstance and vkDestroyInstance themselves
    }
    info.enabledLayerCount = static_cast<std::uint32_t>(layers.size());
    info.ppEnabledLayerNames = layers.data();
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();

    const VkResult result = try_call(vkCreateInstance, &info, nullptr, &handle_);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        throw Error(
            ErrorCode::no_device,
            "no Vulkan driver was found; install one (mesa-vulkan-drivers has a software driver that needs no GPU)");
    }
    if (result < VK_SUCCESS) {
        throw_result(result, "vkCreateInstance");
    }

    const bool complete = load_functions(vkGetInstanceProcAddr);
    if (!complete) {
        throw Error(ErrorCode::no_device, "the Vulkan loader lacks functions of Vulkan 1.1; update it");
    }
    if (validate) {
        const VkInstance instance = handle_;
        const auto load = [instance](auto& function, const char* name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(vkGetInstanceProcAddr(instance, name));
            return function != nullptr;
        };
        PFN_vkCreateDebugUtilsMessengerEXT create_messenger = nullptr;
        if (load(create_messenger, "vkCreateDebugUtilsMessengerEXT") &&
            load(destroy_messenger_, "vkDestroyDebugUtilsMessengerEXT")) {
            messenger.pNext = nullptr;
            call("vkCreateDebugUtilsMessengerEXT", create_messenger, instance, &messenger, nullptr, &messenger_);
        }
    }
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
    return enumerate_all<VkPhysicalDevice>(
        "vkEnumeratePhysicalDevices", [this](std::uint32_t* count, VkPhysicalDevice* items) {
            const VkResult result = enumerate_physical_devices_(handle_, count, items);
            // The loader says this when no driver could be started.
            if (result == VK_ERROR_INITIALIZATION_FAILED) {
                *count = 0;
                return VK_SUCCESS;
            }
            return result;
        });
}

std::vector<std::string> Instance::extensions_of(VkPhysicalDevice device) const {
    const auto properties = enumerate_all<VkExtensionProperties>(
        "vkEnumerateDeviceExtensionProperties", [this, device](std::uint32_t* count, VkExtensionProperties* items) {
            return enumerate_device_extensions_(device, nullptr, count, items);
        });
    std::vector<std::string> names;
    names.reserve(properties.size());
    for (const VkExtensionProperties& property : properties) {
        names.emplace_back(property.extensionName);
    }
    return names;
}

}  // namespace tosavk

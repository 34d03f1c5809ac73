// A Vulkan application's own instance, device and queue, made without the library.
#pragma once

#include <volk.h>  // before tosavk/vulkan.h: it does without Vulkan's prototypes

#include "support/require.hpp"
#include "tosavk/vulkan.hpp"
#include "vk/core/validation.hpp"
#include "vk/core/volk_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <vector>

namespace tosavk::test {

inline void require(VkResult result, const char* what) {
    if (result < VK_SUCCESS) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(result));
}

class OwnVulkan {
public:
    /// With every feature that the library has a use for, or with none.
    explicit OwnVulkan(bool all_features = true) {
        require(volkInitialize(), "volkInitialize");
        make_instance();
        make_device(all_features);
    }
    ~OwnVulkan() {
        table.vkDestroyCommandPool(device, pool, nullptr);
        table.vkDestroyDevice(device, nullptr);
        if (messenger_) destroy_messenger_(instance, messenger_, nullptr);
        functions_.vkDestroyInstance(instance, nullptr);
    }
    OwnVulkan(const OwnVulkan&) = delete;
    OwnVulkan& operator=(const OwnVulkan&) = delete;

    /// What tosavk_device_adopt wants to know. The queue is locked, which is counted.
    tosavk_vulkan_device lent() {
        tosavk_vulkan_device result{};
        result.struct_size = sizeof result;
        result.instance = instance;
        result.physical_device = physical;
        result.device = device;
        result.get_instance_proc_addr = vkGetInstanceProcAddr;
        result.get_device_proc_addr = functions_.vkGetDeviceProcAddr;
        result.create_info = &create_info_;
        result.api_version = VK_API_VERSION_1_2;
        result.queue_family = family;
        result.queue = queue;
        result.lock_queue = [](void* self) { static_cast<OwnVulkan*>(self)->queue_mutex.lock(); };
        result.unlock_queue = [](void* self) {
            ++static_cast<OwnVulkan*>(self)->queue_uses;
            static_cast<OwnVulkan*>(self)->queue_mutex.unlock();
        };
        result.user = this;
        return result;
    }

    /// A buffer of all usages in host-visible memory, filled with a byte.
    struct Memory {
        OwnVulkan* owner = nullptr;
        VkBuffer buffer = VK_NULL_HANDLE;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        std::span<std::byte> bytes;

        Memory(OwnVulkan& vulkan, std::uint64_t size, std::byte value = {}) : owner(&vulkan) {
            const VolkDeviceTable& vk = vulkan.table;
            VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
            info.size = size;
            info.usage = usage;
            require(vk.vkCreateBuffer(vulkan.device, &info, nullptr, &buffer), "vkCreateBuffer");
            VkMemoryRequirements needs{};
            vk.vkGetBufferMemoryRequirements(vulkan.device, buffer, &needs);
            VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
            allocate.allocationSize = needs.size;
            allocate.memoryTypeIndex = vulkan.visible_type(needs.memoryTypeBits);
            require(vk.vkAllocateMemory(vulkan.device, &allocate, nullptr, &memory), "vkAllocateMemory");
            require(vk.vkBindBufferMemory(vulkan.device, buffer, memory, 0), "vkBindBufferMemory");
            void* mapped = nullptr;
            require(vk.vkMapMemory(vulkan.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
            bytes = {static_cast<std::byte*>(mapped), static_cast<std::size_t>(size)};
            std::fill(bytes.begin(), bytes.end(), value);
        }
        ~Memory() {
            if (!owner) return;
            owner->table.vkDestroyBuffer(owner->device, buffer, nullptr);
            owner->table.vkFreeMemory(owner->device, memory, nullptr);
        }
        Memory(Memory&& other) noexcept
            : owner(std::exchange(other.owner, nullptr)),
              buffer(other.buffer),
              memory(other.memory),
              bytes(other.bytes) {}

        static constexpr VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                                                    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        tosavk_vulkan_range range(std::uint64_t offset, std::uint64_t size, std::uint32_t flags = 0) const {
            return {sizeof(tosavk_vulkan_range), buffer, offset, size, usage, flags, nullptr};
        }
        tosavk_vulkan_range range() const { return range(0, bytes.size()); }
    };

    /// Records, submits and waits. The host's writes are visible to what is recorded, and the other way round.
    void run(const std::function<void(VkCommandBuffer)>& record) {
        VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
        allocate.commandPool = pool;
        allocate.commandBufferCount = 1;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        require(table.vkAllocateCommandBuffers(device, &allocate, &commands), "vkAllocateCommandBuffers");
        VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        require(table.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
        record(commands);
        barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                VK_ACCESS_HOST_READ_BIT);
        require(table.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
        submit(commands);
        table.vkFreeCommandBuffers(device, pool, 1, &commands);
    }
    void submit(VkCommandBuffer commands) {
        VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands;
        const std::lock_guard lock(queue_mutex);
        require(table.vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
        require(table.vkQueueWaitIdle(queue), "vkQueueWaitIdle");
    }
    void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags made, VkPipelineStageFlags to,
                 VkAccessFlags used) const {
        VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
        memory.srcAccessMask = made;
        memory.dstAccessMask = used;
        table.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
    }
    std::uint32_t visible_type(std::uint32_t bits) const {
        VkPhysicalDeviceMemoryProperties properties{};
        functions_.vkGetPhysicalDeviceMemoryProperties(physical, &properties);
        constexpr VkMemoryPropertyFlags wanted =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        for (std::uint32_t t = 0; t < properties.memoryTypeCount; ++t) {
            if ((bits >> t & 1u) != 0 && (properties.memoryTypes[t].propertyFlags & wanted) == wanted) return t;
        }
        throw std::runtime_error("no memory type is visible and coherent");
    }

    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    VolkDeviceTable table{};
    std::mutex queue_mutex;
    std::atomic<int> queue_uses{0};  ///< by the library
    std::atomic<int> messages{0};    ///< of the validation layers

private:
    struct Functions {
        PFN_vkDestroyInstance vkDestroyInstance;
        PFN_vkEnumeratePhysicalDevices vkEnumeratePhysicalDevices;
        PFN_vkGetPhysicalDeviceQueueFamilyProperties vkGetPhysicalDeviceQueueFamilyProperties;
        PFN_vkGetPhysicalDeviceMemoryProperties vkGetPhysicalDeviceMemoryProperties;
        PFN_vkGetPhysicalDeviceProperties vkGetPhysicalDeviceProperties;
        PFN_vkGetPhysicalDeviceFeatures2 vkGetPhysicalDeviceFeatures2;
        PFN_vkEnumerateDeviceExtensionProperties vkEnumerateDeviceExtensionProperties;
        PFN_vkCreateDevice vkCreateDevice;
        PFN_vkGetDeviceProcAddr vkGetDeviceProcAddr;
    };

    template <class F> void load(F& function, const char* name) {
        function = reinterpret_cast<F>(vkGetInstanceProcAddr(instance, name));
    }

    static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                     VkDebugUtilsMessageTypeFlagsEXT,
                                                     const VkDebugUtilsMessengerCallbackDataEXT* data, void* self) {
        ++static_cast<OwnVulkan*>(self)->messages;
        std::fprintf(stderr, "validation (own device): %s\n", data->pMessage);
        return VK_FALSE;
    }

    void make_instance() {
        VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
        application.apiVersion = VK_API_VERSION_1_2;
        VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
        info.pApplicationInfo = &application;
        const char* layer = "VK_LAYER_KHRONOS_validation";
        const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
        const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
        VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
        features.enabledValidationFeatureCount = 1;
        features.pEnabledValidationFeatures = enabled;
        if (validation_requested()) {
            info.pNext = &features;
            info.enabledLayerCount = 1;
            info.ppEnabledLayerNames = &layer;
            info.enabledExtensionCount = 2;
            info.ppEnabledExtensionNames = extensions;
        }
        require(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
        load(functions_.vkDestroyInstance, "vkDestroyInstance");
        load(functions_.vkEnumeratePhysicalDevices, "vkEnumeratePhysicalDevices");
        load(functions_.vkGetPhysicalDeviceQueueFamilyProperties, "vkGetPhysicalDeviceQueueFamilyProperties");
        load(functions_.vkGetPhysicalDeviceMemoryProperties, "vkGetPhysicalDeviceMemoryProperties");
        load(functions_.vkGetPhysicalDeviceProperties, "vkGetPhysicalDeviceProperties");
        load(functions_.vkGetPhysicalDeviceFeatures2, "vkGetPhysicalDeviceFeatures2");
        load(functions_.vkEnumerateDeviceExtensionProperties, "vkEnumerateDeviceExtensionProperties");
        load(functions_.vkCreateDevice, "vkCreateDevice");
        load(functions_.vkGetDeviceProcAddr, "vkGetDeviceProcAddr");
        if (!validation_requested()) return;
        PFN_vkCreateDebugUtilsMessengerEXT create = nullptr;
        load(create, "vkCreateDebugUtilsMessengerEXT");
        load(destroy_messenger_, "vkDestroyDebugUtilsMessengerEXT");
        VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
        messenger.messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
        messenger.messageType =
            VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
        messenger.pfnUserCallback = on_message;
        messenger.pUserData = this;
        require(create(instance, &messenger, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
    }

    void make_device(bool all_features) {
        std::uint32_t count = 1;
        require(functions_.vkEnumeratePhysicalDevices(instance, &count, &physical), "vkEnumeratePhysicalDevices");
        if (count == 0) throw std::runtime_error("no device");
        functions_.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        functions_.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
        while (family < count && (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family;
        std::uint32_t extension_count = 0;
        functions_.vkEnumerateDeviceExtensionProperties(physical, nullptr, &extension_count, nullptr);
        std::vector<VkExtensionProperties> offered(extension_count);
        functions_.vkEnumerateDeviceExtensionProperties(physical, nullptr, &extension_count, offered.data());
        const auto has = [&](const char* name) {
            return std::any_of(offered.begin(), offered.end(), [&](const VkExtensionProperties& one) {
                return std::string_view(one.extensionName) == name;
            });
        };
        const auto enable = [&](auto& feature, const char* extension) {
            if (!has(extension)) return;
            feature.pNext = features_.pNext;
            features_.pNext = &feature;
            extensions_.push_back(extension);
        };
        VkPhysicalDeviceProperties properties{};
        functions_.vkGetPhysicalDeviceProperties(physical, &properties);
        if (all_features) {
            // Vulkan 1.2 has these itself: their extensions need no name there.
            if (properties.apiVersion >= VK_API_VERSION_1_2) features_.pNext = &v12_;
            else enable(timeline_, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
            if (properties.apiVersion < VK_API_VERSION_1_2 && has(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME))
                extensions_.push_back(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
            enable(dot_, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
            enable(sizes_, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
            for (const char* name :
                 {VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                  VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME}) {
                if (has(name)) extensions_.push_back(name);
            }
            functions_.vkGetPhysicalDeviceFeatures2(physical, &features_);
            features_.features.robustBufferAccess = VK_FALSE;
        }
        const float priority = 1;
        VkDeviceQueueCreateInfo queues{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
        queues.queueFamilyIndex = family;
        queues.queueCount = 1;
        queues.pQueuePriorities = &priority;
        create_info_.pNext = all_features ? &features_ : nullptr;
        create_info_.queueCreateInfoCount = 1;
        create_info_.pQueueCreateInfos = &queues;
        create_info_.enabledExtensionCount = static_cast<std::uint32_t>(extensions_.size());
        create_info_.ppEnabledExtensionNames = extensions_.data();
        require(functions_.vkCreateDevice(physical, &create_info_, nullptr, &device), "vkCreateDevice");
        create_info_.pQueueCreateInfos = nullptr;
        create_info_.queueCreateInfoCount = 0;
        load_device_table(table, device, functions_.vkGetDeviceProcAddr);
        table.vkGetDeviceQueue(device, family, 0, &queue);
        VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
        info.queueFamilyIndex = family;
        info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
        require(table.vkCreateCommandPool(device, &info, nullptr, &pool), "vkCreateCommandPool");
    }

    Functions functions_{};
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger_ = nullptr;
    VkDeviceCreateInfo create_info_{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    VkPhysicalDeviceFeatures2 features_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDeviceVulkan12Features v12_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot_{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes_{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    std::vector<const char*> extensions_;
};

}  // namespace tosavk::test

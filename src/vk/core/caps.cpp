// The DeviceCaps snapshot: asks a physical device for properties, features, memory and queues.
#include "vk/core/caps.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>

namespace tosavk {

namespace {

const char* type_name(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
        default: return "other";
    }
}

int rank_of(const std::string& type) {
    const char* order[] = {"discrete", "integrated", "virtual", "cpu"};
    return static_cast<int>(std::find(std::begin(order), std::end(order), type) - std::begin(order));
}

/// Appends structures to a pNext chain.
class Chain {
public:
    explicit Chain(void* first) : last_(static_cast<VkBaseOutStructure*>(first)) {}
    void add(void* next) {
        last_->pNext = static_cast<VkBaseOutStructure*>(next);
        last_ = last_->pNext;
    }

private:
    VkBaseOutStructure* last_;
};

void read_properties(const Instance& instance, const PhysicalDevice& device, DeviceCaps& caps) {
    VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceFloatControlsProperties floats{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    VkPhysicalDeviceShaderIntegerDotProductProperties dot{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
    VkPhysicalDeviceSubgroupSizeControlProperties sizes{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    Chain chain(&properties);
    chain.add(&subgroup);
    if (device.has_extension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
        chain.add(&sizes);
    }
    if (device.has_extension(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) {
        chain.add(&driver);
    }
    if (device.has_extension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME)) {
        chain.add(&floats);
    }
    if (device.has_extension(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME)) {
        chain.add(&dot);
    }
    VkPhysicalDeviceIDProperties ids{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    chain.add(&ids);
    instance.get_properties(device.handle, &properties);

    caps.uuid = hexadecimal(std::as_bytes(std::span(ids.deviceUUID)));
    if (ids.deviceLUIDValid != VK_FALSE) caps.luid = hexadecimal(std::as_bytes(std::span(ids.deviceLUID)));
    const VkPhysicalDeviceProperties& core = properties.properties;
    const VkPhysicalDeviceLimits& limits = core.limits;
    caps.name = core.deviceName;
    caps.driver_name = driver.driverName;
    caps.driver_info = driver.driverInfo;
    caps.driver_id = driver.driverID;
    caps.vendor_id = core.vendorID;
    caps.device_id = core.deviceID;
    caps.driver_version = core.driverVersion;
    caps.api_version = core.apiVersion;
    caps.type = type_name(core.deviceType);
    caps.pipeline_cache_uuid = hexadecimal(std::as_bytes(std::span(core.pipelineCacheUUID)));
    caps.signed_zero_inf_nan_preserve32 = floats.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE;
    caps.rounding_rte32 = floats.shaderRoundingModeRTEFloat32 != VK_FALSE;
    caps.denorm_preserve32 = floats.shaderDenormPreserveFloat32 != VK_FALSE;
    caps.signed_zero_inf_nan_preserve16 = floats.shaderSignedZeroInfNanPreserveFloat16 != VK_FALSE;
    caps.rounding_rte16 = floats.shaderRoundingModeRTEFloat16 != VK_FALSE;
    caps.denorm_preserve16 = floats.shaderDenormPreserveFloat16 != VK_FALSE;
    // Without the extension the structure is all zero, which would read as 32_BIT_ONLY.
    const bool has_controls = device.has_extension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
    caps.rounding_independence32 =
        has_controls && floats.roundingModeIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    caps.denorm_independence32 =
        has_controls && floats.denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    caps.dot_4x8_accelerated = dot.integerDotProduct4x8BitPackedSignedAccelerated != VK_FALSE;
    caps.dot_4x8_mixed_accelerated = dot.integerDotProduct4x8BitPackedMixedSignednessAccelerated != VK_FALSE;
    caps.subgroup_size = subgroup.subgroupSize;
    constexpr VkSubgroupFeatureFlags exchange = VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
    caps.subgroup_shuffle = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                            (subgroup.supportedOperations & exchange) == exchange;
    // No kernel's workgroups have more than 256 invocations.
    const std::uint32_t most_subgroups = 256 / std::max(sizes.minSubgroupSize, 1u);
    caps.subgroup_size_control = sizes.maxComputeWorkgroupSubgroups >= most_subgroups &&
                                 (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                 subgroup.subgroupSize >= sizes.minSubgroupSize &&
                                 subgroup.subgroupSize <= sizes.maxSubgroupSize;
    caps.min_subgroup_size = sizes.minSubgroupSize;
    caps.max_subgroup_size = sizes.maxSubgroupSize;
    caps.max_storage_buffer_range = limits.maxStorageBufferRange;
    caps.min_storage_buffer_offset_alignment = limits.minStorageBufferOffsetAlignment;
    caps.min_texel_buffer_offset_alignment = limits.minTexelBufferOffsetAlignment;
    caps.max_storage_buffers_per_stage = std::min({limits.maxPerStageDescriptorStorageBuffers,
                                                   limits.maxDescriptorSetStorageBuffers, limits.maxPerStageResources});
    caps.max_texel_buffer_elements = limits.maxTexelBufferElements;
    caps.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
    caps.max_workgroup_size_x = limits.maxComputeWorkGroupSize[0];
    caps.max_shared_memory = limits.maxComputeSharedMemorySize;
    caps.max_workgroup_count_x = limits.maxComputeWorkGroupCount[0];
    caps.max_workgroup_count_y = limits.maxComputeWorkGroupCount[1];
    caps.max_push_constants = limits.maxPushConstantsSize;
    caps.timestamp_period_ns = static_cast<double>(limits.timestampPeriod);
}

/// The largest of the products that the kernels can use.
void read_cooperative_matrices(const Instance& instance, VkPhysicalDevice device, DeviceCaps& caps) {
    using khr::ComponentType;
    std::uint32_t count = 0;
    if (!instance.get_cooperative_matrices || instance.get_cooperative_matrices(device, &count, nullptr) != VK_SUCCESS)
        return;
    std::vector<khr::CooperativeMatrixProperties> found(count);
    if (instance.get_cooperative_matrices(device, &count, found.data()) < VK_SUCCESS) return;
    found.resize(count);
    const auto take = [](MatrixShape& best, const khr::CooperativeMatrixProperties& p, ComponentType factors,
                         ComponentType sums) {
        if (p.AType != factors || p.BType != factors || p.CType != sums || p.ResultType != sums) return;
        // Powers of two that divide the kernels' tiles.
        for (const auto& [size, most] : {std::pair{p.MSize, 16u}, std::pair{p.NSize, 16u}, std::pair{p.KSize, 32u}}) {
            if (!std::has_single_bit(size) || size < 8 || size > most) return;
        }
        if (p.MSize * p.NSize * p.KSize > best.m * best.n * best.k) best = {p.MSize, p.NSize, p.KSize};
    };
    for (const khr::CooperativeMatrixProperties& p : found) {
        if (p.scope != khr::Scope::subgroup || p.saturatingAccumulation != VK_FALSE) continue;
        take(caps.cooperative_i8, p, ComponentType::sint8, ComponentType::sint32);
        take(caps.cooperative_fp16, p, ComponentType::float16, ComponentType::float32);
    }
}

void read_features(const Instance& instance, const PhysicalDevice& device, DeviceCaps& caps) {
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDevice16BitStorageFeatures storage16{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDevice8BitStorageFeatures storage8{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
    VkPhysicalDeviceShaderFloat16Int8Features small{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    khr::CooperativeMatrixFeatures matrix;
    Chain chain(&features);
    chain.add(&storage16);
    const auto add_if = [&](const char* extension, void* structure) {
        if (device.has_extension(extension)) {
            chain.add(structure);
        }
    };
    add_if(VK_KHR_8BIT_STORAGE_EXTENSION_NAME, &storage8);
    add_if(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, &small);
    add_if(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, &timeline);
    add_if(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, &dot);
    add_if(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, &sizes);
    add_if(VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, &memory_model);
    add_if(khr::cooperative_matrix_extension, &matrix);
    instance.get_features(device.handle, &features);

    caps.int64 = features.features.shaderInt64 != VK_FALSE;
    caps.int16 = features.features.shaderInt16 != VK_FALSE;
    caps.fp64 = features.features.shaderFloat64 != VK_FALSE;
    caps.int8 = small.shaderInt8 != VK_FALSE;
    caps.fp16 = small.shaderFloat16 != VK_FALSE;
    caps.storage8 = storage8.storageBuffer8BitAccess != VK_FALSE;
    caps.storage16 = storage16.storageBuffer16BitAccess != VK_FALSE;
    caps.push_descriptors = device.has_extension(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
    caps.timeline_semaphores = timeline.timelineSemaphore != VK_FALSE;
    caps.integer_dot_product = dot.shaderIntegerDotProduct != VK_FALSE;
    caps.subgroup_size_control &= sizes.subgroupSizeControl != VK_FALSE && sizes.computeFullSubgroups != VK_FALSE;
    // Atomic steps and barriers of storage buffers have the device's scope.
    caps.vulkan_memory_model = memory_model.vulkanMemoryModel && memory_model.vulkanMemoryModelDeviceScope;
    if (matrix.cooperativeMatrix != VK_FALSE) read_cooperative_matrices(instance, device.handle, caps);
}

void read_memory(const Instance& instance, VkPhysicalDevice device, DeviceCaps& caps) {
    VkPhysicalDeviceMemoryProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    instance.get_memory_properties(device, &properties);
    const VkPhysicalDeviceMemoryProperties& memory = properties.memoryProperties;
    std::uint32_t largest = VK_MAX_MEMORY_HEAPS;
    for (std::uint32_t h = 0; h < memory.memoryHeapCount; ++h) {
        const bool local = (memory.memoryHeaps[h].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
        if (local &&
            (largest == VK_MAX_MEMORY_HEAPS || memory.memoryHeaps[h].size > memory.memoryHeaps[largest].size)) {
            largest = h;
        }
    }
    if (largest == VK_MAX_MEMORY_HEAPS) {
        return;
    }
    caps.device_memory_bytes = memory.memoryHeaps[largest].size;
    for (std::uint32_t t = 0; t < memory.memoryTypeCount; ++t) {
        const VkMemoryType& type = memory.memoryTypes[t];
        const VkMemoryPropertyFlags both = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
        caps.unified_memory |= type.heapIndex == largest && (type.propertyFlags & both) == both;
    }
}

/// The first family with compute; among those, one with timestamps is preferred. False when there is none.
bool read_queues(const Instance& instance, PhysicalDevice& device) {
    std::uint32_t count = 0;
    instance.get_queue_families(device.handle, &count, nullptr);
    std::vector<VkQueueFamilyProperties2> families(count, {VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2});
    instance.get_queue_families(device.handle, &count, families.data());
    bool found = false;
    for (std::uint32_t f = 0; f < count; ++f) {
        const VkQueueFamilyProperties& family = families[f].queueFamilyProperties;
        const bool compute = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && family.queueCount > 0;
        if (compute && (!found || (device.caps.timestamp_valid_bits == 0 && family.timestampValidBits > 0))) {
            found = true;
            device.queue_family = f;
            device.caps.timestamp_valid_bits = family.timestampValidBits;
        }
    }
    return found;
}

}  // namespace

bool PhysicalDevice::has_extension(const char* name) const {
    return std::find(extensions.begin(), extensions.end(), name) != extensions.end();
}

namespace {

/// The structure of that kind in a chain of features; null without one.
template <class T> const T* find_in(const void* chain, VkStructureType type) {
    for (auto next = static_cast<const VkBaseInStructure*>(chain); next != nullptr; next = next->pNext) {
        if (next->sType == type) return reinterpret_cast<const T*>(next);
    }
    return nullptr;
}

/// Takes from the caps what a device was made without.
void keep_enabled(DeviceCaps& caps, const VkDeviceCreateInfo& made_with, std::uint32_t api_version) {
    const void* chain = made_with.pNext;
    const auto has = [&](const char* extension, std::uint32_t in_core) {
        const char* const* names = made_with.ppEnabledExtensionNames;
        return api_version >= in_core ||
               std::any_of(names, names + made_with.enabledExtensionCount,
                           [&](const char* name) { return std::string_view(name) == extension; });
    };
    constexpr std::uint32_t never = UINT32_MAX;
    VkPhysicalDeviceFeatures core{};
    if (made_with.pEnabledFeatures) core = *made_with.pEnabledFeatures;
    if (const auto* all = find_in<VkPhysicalDeviceFeatures2>(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2))
        core = all->features;
    const auto* v11 =
        find_in<VkPhysicalDeviceVulkan11Features>(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    const auto* v12 =
        find_in<VkPhysicalDeviceVulkan12Features>(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const auto* v13 =
        find_in<VkPhysicalDeviceVulkan13Features>(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    const auto keep = [](bool& cap, bool enabled) { cap = cap && enabled; };

    keep(caps.int64, core.shaderInt64 != VK_FALSE);
    keep(caps.int16, core.shaderInt16 != VK_FALSE);
    keep(caps.fp64, core.shaderFloat64 != VK_FALSE);
    const auto* small = find_in<VkPhysicalDeviceShaderFloat16Int8Features>(
        chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
    keep(caps.int8, (small && small->shaderInt8 != VK_FALSE) || (v12 && v12->shaderInt8 != VK_FALSE));
    keep(caps.fp16, (small && small->shaderFloat16 != VK_FALSE) || (v12 && v12->shaderFloat16 != VK_FALSE));
    const auto* storage8 =
        find_in<VkPhysicalDevice8BitStorageFeatures>(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
    keep(caps.storage8, (storage8 && storage8->storageBuffer8BitAccess != VK_FALSE) ||
                            (v12 && v12->storageBuffer8BitAccess != VK_FALSE));
    const auto* storage16 =
        find_in<VkPhysicalDevice16BitStorageFeatures>(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
    keep(caps.storage16, (storage16 && storage16->storageBuffer16BitAccess != VK_FALSE) ||
                             (v11 && v11->storageBuffer16BitAccess != VK_FALSE));
    keep(caps.push_descriptors, has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, never));

    const auto* timeline = find_in<VkPhysicalDeviceTimelineSemaphoreFeatures>(
        chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    keep(caps.timeline_semaphores,
         has(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, VK_API_VERSION_1_2) &&
             ((timeline && timeline->timelineSemaphore != VK_FALSE) || (v12 && v12->timelineSemaphore != VK_FALSE)));
    if (!has(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, VK_API_VERSION_1_2)) {
        caps.signed_zero_inf_nan_preserve32 = caps.rounding_rte32 = caps.denorm_preserve32 = false;
        caps.signed_zero_inf_nan_preserve16 = caps.rounding_rte16 = caps.denorm_preserve16 = false;
        caps.rounding_independence32 = caps.denorm_independence32 = false;
    }
    const auto* dot = find_in<VkPhysicalDeviceShaderIntegerDotProductFeatures>(
        chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
    keep(caps.integer_dot_product,
         has(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, VK_API_VERSION_1_3) &&
             ((dot && dot->shaderIntegerDotProduct != VK_FALSE) || (v13 && v13->shaderIntegerDotProduct != VK_FALSE)));
    keep(caps.dot_4x8_accelerated, caps.integer_dot_product);
    keep(caps.dot_4x8_mixed_accelerated, caps.integer_dot_product);
    const auto* sizes = find_in<VkPhysicalDeviceSubgroupSizeControlFeatures>(
        chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    keep(caps.subgroup_size_control,
         has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_API_VERSION_1_3) &&
             ((sizes && sizes->subgroupSizeControl != VK_FALSE && sizes->computeFullSubgroups != VK_FALSE) ||
              (v13 && v13->subgroupSizeControl != VK_FALSE && v13->computeFullSubgroups != VK_FALSE)));
    const auto* model = find_in<VkPhysicalDeviceVulkanMemoryModelFeatures>(
        chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
    keep(caps.vulkan_memory_model, has(VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_API_VERSION_1_2) &&
                                       ((model && model->vulkanMemoryModel && model->vulkanMemoryModelDeviceScope) ||
                                        (v12 && v12->vulkanMemoryModel && v12->vulkanMemoryModelDeviceScope)));
    const auto* matrix = find_in<khr::CooperativeMatrixFeatures>(chain, khr::cooperative_matrix_features_type);
    if (!matrix || matrix->cooperativeMatrix == VK_FALSE || !has(khr::cooperative_matrix_extension, never))
        caps.cooperative_i8 = caps.cooperative_fp16 = {};
}

/// May descriptor sets of storage buffers and uniform texel buffers be rewritten after they were bound?
bool updates_after_bind(const VkDeviceCreateInfo& made_with) {
    const auto* indexing = find_in<VkPhysicalDeviceDescriptorIndexingFeatures>(
        made_with.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_FEATURES);
    const auto* v12 = find_in<VkPhysicalDeviceVulkan12Features>(made_with.pNext,
                                                                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    return (indexing && indexing->descriptorBindingStorageBufferUpdateAfterBind != VK_FALSE &&
            indexing->descriptorBindingUniformTexelBufferUpdateAfterBind != VK_FALSE) ||
           (v12 && v12->descriptorBindingStorageBufferUpdateAfterBind != VK_FALSE &&
            v12->descriptorBindingUniformTexelBufferUpdateAfterBind != VK_FALSE);
}

}  // namespace

PhysicalDevice adopted_device(const Instance& instance, VkPhysicalDevice handle, const VkDeviceCreateInfo& made_with,
                              std::uint32_t api_version, std::uint32_t queue_family) {
    PhysicalDevice device;
    device.handle = handle;
    VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    instance.get_properties(handle, &properties);
    api_version = std::min(api_version, properties.properties.apiVersion);
    if (api_version < VK_API_VERSION_1_1)
        throw Error(ErrorCode::no_device, "the instance or the device is older than Vulkan 1.1");
    std::uint32_t count = 0;
    instance.get_queue_families(handle, &count, nullptr);
    std::vector<VkQueueFamilyProperties2> families(count, {VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2});
    instance.get_queue_families(handle, &count, families.data());
    if (queue_family >= count || (families[queue_family].queueFamilyProperties.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0)
        throw Error(ErrorCode::no_device, fmt::format("queue family {} of the device does not compute", queue_family));
    device.queue_family = queue_family;
    device.caps.timestamp_valid_bits = families[queue_family].queueFamilyProperties.timestampValidBits;
    device.extensions = instance.extensions_of(handle);
    read_properties(instance, device, device.caps);
    read_features(instance, device, device.caps);
    read_memory(instance, handle, device.caps);
    keep_enabled(device.caps, made_with, api_version);
    device.update_after_bind = updates_after_bind(made_with);
    device.extensions.assign(made_with.ppEnabledExtensionNames,
                             made_with.ppEnabledExtensionNames + made_with.enabledExtensionCount);
    return device;
}

std::vector<PhysicalDevice> usable_devices(const Instance& instance) {
    std::vector<PhysicalDevice> devices;
    for (const VkPhysicalDevice handle : instance.physical_devices()) {
        VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
        instance.get_properties(handle, &properties);
        if (properties.properties.apiVersion < VK_API_VERSION_1_1) {
            continue;
        }
        PhysicalDevice device;
        device.handle = handle;
        if (!read_queues(instance, device)) {
            continue;
        }
        device.extensions = instance.extensions_of(handle);
        read_properties(instance, device, device.caps);
        read_features(instance, device, device.caps);
        read_memory(instance, handle, device.caps);
        const auto worse = std::find_if(devices.begin(), devices.end(), [&device](const PhysicalDevice& other) {
            return rank_of(device.caps.type) < rank_of(other.caps.type);
        });
        devices.insert(worse, std::move(device));
    }
    return devices;
}

}  // namespace tosavk

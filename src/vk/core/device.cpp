// Device creation.
#include "vk/core/device.hpp"

#include "base/files.hpp"
#include "base/log.hpp"
#include "compile/plan/tuning.hpp"
#include "store/package.hpp"
#include "vk/core/device_choice.hpp"
#include "vk/core/device_state.hpp"
#include "vk/core/parallel.hpp"
#include "vk/core/transfer.hpp"
#include "vk/core/volk_table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>

namespace tosavk {

namespace {

/// The caps after TOSAVK_CAPS, and the sentence that says so.
DeviceCaps effective_caps(const DeviceCaps& real, std::string& reason) {
    const char* path = std::getenv("TOSAVK_CAPS");
    if (path == nullptr || path[0] == '\0') {
        return real;
    }
    reason = fmt::format("capabilities are restricted by TOSAVK_CAPS={}", path);
    try {
        const Bytes file = read_file(path);
        const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
        return restrict_caps(real, caps_from_json(text, real));
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("TOSAVK_CAPS={}: {}", path, error.what()));
    }
}

/// Tables of the disk cache are for one device plan and set of kernels; how much a submit takes makes no difference.
Digest tuning_key(const DevicePlan& plan) {
    DevicePlan planned = plan;
    planned.submit_work = planned.submit_bytes = 0;
    return package_target(planned, {});
}

TuningTable parse_tuning(const std::string& text) {
    if (text.empty()) return {};
    std::string why;
    std::optional<TuningTable> table = read_tuning(text, why);
    if (!table) say("tuning", fmt::format("the table in the cache is ignored: {}", why));
    return table ? std::move(*table) : TuningTable();
}

}  // namespace

LogicalDevice::LogicalDevice(std::shared_ptr<Instance> instance_, const PhysicalDevice& physical,
                             const DevicePlan& plan, const DeviceOptions& options)
    : instance(std::move(instance_)) {
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = physical.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;

    // Nothing is enabled that the plan does not use.
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    features.features.shaderInt64 = plan.int64 ? VK_TRUE : VK_FALSE;
    VkPhysicalDeviceShaderFloat16Int8Features small{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    std::vector<const char*> extensions;
    if (plan.nan_preserve || plan.rte || plan.native_fp16) {
        extensions.push_back(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
    }
    const auto enable = [&](auto& structure, const char* extension) {
        structure.pNext = features.pNext;
        features.pNext = &structure;
        extensions.push_back(extension);
    };
    if (plan.has_fp16 || plan.cooperative_i8 || plan.cooperative_fp16) {
        small.shaderFloat16 = plan.has_fp16 || plan.cooperative_fp16 ? VK_TRUE : VK_FALSE;
        small.shaderInt8 = plan.cooperative_i8 ? VK_TRUE : VK_FALSE;
        enable(small, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
    }
    VkPhysicalDevice16BitStorageFeatures storage16{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    if (plan.storage16) {
        storage16.storageBuffer16BitAccess = VK_TRUE;
        enable(storage16, VK_KHR_16BIT_STORAGE_EXTENSION_NAME);
    }
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    if (plan.dot4) {
        dot.shaderIntegerDotProduct = VK_TRUE;
        enable(dot, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    }
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    khr::CooperativeMatrixFeatures matrix;
    if (plan.subgroup_size != 0 || plan.fold_lanes != 0) {
        sizes.subgroupSizeControl = sizes.computeFullSubgroups = VK_TRUE;
        enable(sizes, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    }
    if (plan.cooperative_i8 || plan.cooperative_fp16) {
        memory_model.vulkanMemoryModel = memory_model.vulkanMemoryModelDeviceScope = VK_TRUE;
        enable(memory_model, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME);
        matrix.cooperativeMatrix = VK_TRUE;
        enable(matrix, khr::cooperative_matrix_extension);
    }
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    if (plan.timeline_semaphores) {
        timeline.timelineSemaphore = VK_TRUE;
        enable(timeline, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
    }
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR telling{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
    tells_of_pipelines =
        options.inspect && physical.has_extension(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    if (tells_of_pipelines) {
        telling.pipelineExecutableInfo = VK_TRUE;
        enable(telling, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    }
    // Only who imports or exports memory uses these.
    if ((has_host_pointers = physical.has_extension(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)))
        extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    if ((has_external_fd = physical.has_extension(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)))
        extensions.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    if ((has_semaphore_fd = physical.has_extension(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME)))
        extensions.push_back(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    if (physical.has_extension("VK_KHR_portability_subset")) {
        extensions.push_back("VK_KHR_portability_subset");  // must be enabled where it exists
    }

    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.pNext = &features;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const VkResult made = try_call(instance->create_device, physical.handle, &info, nullptr, &handle);
    if (made == VK_ERROR_INITIALIZATION_FAILED && Instance::was_left_behind()) throw_left_behind(physical);
    if (made < VK_SUCCESS) throw_result(made, "vkCreateDevice");

    load_device_table(vk, handle, instance->get_device_proc_addr);
    complete_table();
}

LogicalDevice::LogicalDevice(std::shared_ptr<Instance> instance_, const AdoptedDevice& adopted,
                             const PhysicalDevice& physical)
    : instance(std::move(instance_)), handle(adopted.device), is_ours_(false) {
    has_host_pointers = physical.has_extension(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    has_external_fd = physical.has_extension(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    has_semaphore_fd = physical.has_extension(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    load_device_table(vk, handle, adopted.get_device_proc_addr);
    complete_table();
    if (!vk.vkCreateBuffer || !vk.vkCreateComputePipelines || !vk.vkQueueSubmit || !vk.vkCmdDispatch)
        throw Error(ErrorCode::no_device, "get_device_proc_addr lacks functions of Vulkan 1.1");
}

/// Functions that became part of Vulkan itself may be there under one name only.
void LogicalDevice::complete_table() {
    if (!vk.vkWaitSemaphoresKHR) vk.vkWaitSemaphoresKHR = vk.vkWaitSemaphores;
    if (!vk.vkGetSemaphoreCounterValueKHR) vk.vkGetSemaphoreCounterValueKHR = vk.vkGetSemaphoreCounterValue;
    if (!vk.vkSignalSemaphoreKHR) vk.vkSignalSemaphoreKHR = vk.vkSignalSemaphore;
}

LogicalDevice::~LogicalDevice() {
    if (is_ours_ && handle != VK_NULL_HANDLE && !instance->is_inherited()) vk.vkDestroyDevice(handle, nullptr);
}

DeviceState::DeviceState(std::shared_ptr<Instance> instance, const PhysicalDevice& physical, const DeviceCaps& caps_,
                         const DevicePlan& plan_, const DeviceOptions& options, const AdoptedDevice* adopted)
    : caps(caps_),
      open_driver(physical.caps),
      plan(plan_),
      threads(options.threads > 0 ? options.threads : default_threads()),
      compile_only(options.compile_only),
      device(adopted ? LogicalDevice(std::move(instance), *adopted, physical)
                     : LogicalDevice(std::move(instance), physical, plan_, options)),
      vk(device.vk),
      queue_family(physical.queue_family),
      pipelines(device.handle, device.vk, physical, options.cache.value_or(cache_settings()), threads,
                device.tells_of_pipelines) {
    if (adopted) {
        is_lent = true;
        queue = adopted->queue;
        queue_mutex.share(*adopted);
        lender = adopted->memory;
    } else if (!compile_only) {
        vk.vkGetDeviceQueue(device.handle, queue_family, 0, &queue);
    }

    physical_device = physical.handle;
    update_after_bind = physical.update_after_bind;
    has_memory_budget = physical.has_extension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    VkPhysicalDeviceMemoryProperties2 memory_properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    device.instance->get_memory_properties(physical.handle, &memory_properties);
    memory = memory_properties.memoryProperties;

    VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkPhysicalDeviceMaintenance3Properties allocation{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    properties.pNext = &allocation;
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    if (device.has_host_pointers) allocation.pNext = &host;
    device.instance->get_properties(physical.handle, &properties);
    host_pointer_alignment = host.minImportedHostPointerAlignment;
    has_external_fd = device.has_external_fd;
    non_coherent_atom = std::max<VkDeviceSize>(1, properties.properties.limits.nonCoherentAtomSize);
    max_allocation = allocation.maxMemoryAllocationSize;

    if (!plan.timeline_semaphores || compile_only) return;
    timeline = {device.handle, vk.vkDestroySemaphore};
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo semaphore{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    semaphore.pNext = &type;
    call("vkCreateSemaphore", vk.vkCreateSemaphore, device.handle, &semaphore, nullptr, timeline.put());
}

DeviceState::~DeviceState() {
    // See retire(). What is queued on a lent queue may be long, and of others.
    if (device.instance->is_inherited()) return;
    if (timeline_value > 0 && timeline.get() != VK_NULL_HANDLE && (!is_lent || is_driver(caps, "llvmpipe"))) {
        const std::lock_guard lock(queue_mutex);
        vk.vkQueueWaitIdle(queue);
    }
}

void DeviceState::retire(UniqueHandle<VkSemaphore> semaphore) noexcept {
    const std::lock_guard lock(queue_mutex);
    std::uint64_t done = 0;
    if (timeline.get() != VK_NULL_HANDLE &&
        vk.vkGetSemaphoreCounterValueKHR(device.handle, timeline.get(), &done) == VK_SUCCESS)
        std::erase_if(retired, [&](const auto& one) { return one.second <= done; });
    try {
        retired.emplace_back(std::move(semaphore), timeline_value + 1);
    } catch (const std::bad_alloc&) {  // then it goes now
    }
}

void DeviceState::require_runs() const {
    const char* forked = "was opened before this process was forked; open it again here";
    const char* why = compile_only                    ? "was opened to compile only: nothing runs on it"
                    : device.instance->is_inherited() ? forked
                                                      : nullptr;
    if (why) throw Error(compile_only ? ErrorCode::usage : ErrorCode::device, fmt::format("'{}' {}", caps.name, why));
}

std::uint64_t DeviceState::submit(std::span<const VkCommandBuffer> commands, VkFence fence, const RunOrder& order) {
    std::vector<VkSemaphore> waits, signals;
    std::vector<std::uint64_t> wait_values, signal_values;
    for (const SemaphorePoint& point : order.waits) {
        waits.push_back(point.semaphore->handle());
        wait_values.push_back(point.value);
    }
    for (const SemaphorePoint& point : order.signals) {
        signals.push_back(point.semaphore->handle());
        signal_values.push_back(point.value);
    }
    const std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    require_runs();
    if (queue == VK_NULL_HANDLE)
        throw Error(ErrorCode::usage, "the device was lent without a queue: nothing can be submitted, only recorded");
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = static_cast<std::uint32_t>(commands.size());
    info.pCommandBuffers = commands.data();
    VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
    const std::lock_guard lock(queue_mutex);
    const std::uint64_t next = timeline_value + 1;
    if (timeline.get() != VK_NULL_HANDLE) {
        signals.push_back(timeline.get());
        signal_values.push_back(next);
        info.pNext = &values;
    }
    values.waitSemaphoreValueCount = info.waitSemaphoreCount = static_cast<std::uint32_t>(waits.size());
    values.signalSemaphoreValueCount = info.signalSemaphoreCount = static_cast<std::uint32_t>(signals.size());
    values.pWaitSemaphoreValues = wait_values.data();
    values.pSignalSemaphoreValues = signal_values.data();
    info.pWaitSemaphores = waits.data();
    info.pWaitDstStageMask = stages.data();
    info.pSignalSemaphores = signals.data();
    call("vkQueueSubmit", vk.vkQueueSubmit, queue, 1u, &info, fence);
    for (const SemaphorePoint& point : order.waits) point.semaphore->note_use();
    for (const SemaphorePoint& point : order.signals) point.semaphore->note_signal(point.value);
    return timeline_value = next;
}

bool DeviceState::finish(std::uint64_t number, std::uint64_t timeout_ns) {
    if (number == 0) return true;
    const VkSemaphore semaphore = timeline.get();
    if (semaphore == VK_NULL_HANDLE) {
        const std::lock_guard lock(queue_mutex);
        call("vkQueueWaitIdle", vk.vkQueueWaitIdle, queue);
        return true;
    }
    VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &number;
    VkResult result = VK_TIMEOUT;
    do {
        result = try_call(vk.vkWaitSemaphoresKHR, device.handle, &info, timeout_ns);
    } while (result == VK_TIMEOUT && timeout_ns == UINT64_MAX);
    if (result < VK_SUCCESS) throw_result(result, "vkWaitSemaphores");
    return result == VK_SUCCESS;
}

std::shared_ptr<Turns> DeviceState::turns_of(VkBuffer foreign) {
    const std::lock_guard lock(ticket_mutex);
    std::erase_if(foreign_turns, [](const auto& known) { return known.second.expired(); });
    std::weak_ptr<Turns>& known = foreign_turns[foreign];
    std::shared_ptr<Turns> turns = known.lock();
    if (!turns) known = turns = std::make_shared<Turns>();
    return turns;
}

namespace {

/// The devices of the instance in use. NVIDIA's driver stays loaded: that can be done some fifty times in a process,
/// and hangs at times where several threads open and close devices. Others go with the last device, so that a process
/// that is forked off with none open has a driver of its own.
std::vector<PhysicalDevice> found_devices(const std::shared_ptr<Instance>& instance) {
    std::vector<PhysicalDevice> devices = require_devices(*instance);
    const auto stays = [](const PhysicalDevice& d) { return d.caps.driver_id == VK_DRIVER_ID_NVIDIA_PROPRIETARY; };
    if (std::any_of(devices.begin(), devices.end(), stays)) Instance::keep(instance);
    return devices;
}

}  // namespace

std::vector<DeviceCaps> Device::enumerate() {
    const std::shared_ptr<Instance> instance = Instance::get();
    std::vector<DeviceCaps> caps;
    for (const PhysicalDevice& device : found_devices(instance)) {
        std::string reason;
        caps.push_back(effective_caps(device.caps, reason));
    }
    return caps;
}

namespace {

/// Where nothing runs, cooperative matrices count as accurate: a device that a package is used on is judged itself.
void trust_cooperative_sums(DevicePlan& plan) {
    if (!plan.cooperative_fp16) return;
    plan.cooperative_fp32_sums = true;
    plan.reasons.push_back(
        "cooperative matrices of fp16 make fp16 and fp32, unchecked: the device was opened to compile only");
}

/// `make` makes a device of a plan; the judge may change the plan, and then the device.
template <class Make>
std::shared_ptr<Device> judged(DevicePlan& plan, bool can_submit, CooperativeJudge judge, const Make& make) {
    if (!can_submit) plan.cooperative_fp16 = {};  // nothing can be run to judge it
    auto device = make();
    if (!plan.cooperative_fp16) return device;
    CooperativeSums sums;
    try {
        sums = judge(device);
    } catch (const Error& error) {
        // A driver that cannot run this kernel may still run all others, but no longer as this logical device.
        plan.reasons.push_back(fmt::format("the check of cooperative matrices failed: {}", error.what()));
        if (error.code() == ErrorCode::device_lost) plan.cooperative_i8 = {};
    }
    apply_cooperative_sums(plan, sums);
    if (!sums.fp16) return make();
    device->state().plan = plan;
    return device;
}

}  // namespace

std::shared_ptr<Device> Device::open(const DeviceOptions& options, CooperativeJudge judge) {
    std::shared_ptr<Instance> instance = Instance::get();
    const std::vector<PhysicalDevice> devices = found_devices(instance);
    const PhysicalDevice& physical = select(devices, options);
    require_threads(physical);
    std::string reason;
    const DeviceCaps caps = effective_caps(physical.caps, reason);
    DevicePlan plan = device_plan(caps);
    apply_environment(plan, options.submit_ms);
    if (!reason.empty()) {
        plan.reasons.push_back(std::move(reason));
    }
    const auto make = [&] {
        return std::make_shared<Device>(std::make_unique<DeviceState>(instance, physical, caps, plan, options));
    };
    if (!options.compile_only) return judged(plan, true, judge, make);
    trust_cooperative_sums(plan);
    return make();
}

std::shared_ptr<Device> Device::adopt(const AdoptedDevice& adopted, const DeviceOptions& options,
                                      CooperativeJudge judge) {
    std::shared_ptr<Instance> instance = Instance::adopt(adopted.instance, adopted.get_instance_proc_addr);
    const PhysicalDevice physical = adopted_device(*instance, adopted.physical_device, *adopted.made_with,
                                                   adopted.api_version, adopted.queue_family);
    std::string reason;
    const DeviceCaps caps = effective_caps(physical.caps, reason);
    DevicePlan plan = device_plan(caps);
    apply_environment(plan, options.submit_ms);
    plan.reasons.push_back("the device is lent: only what it was made with is used");
    if (!reason.empty()) plan.reasons.push_back(std::move(reason));
    const bool can_submit = adopted.queue != VK_NULL_HANDLE;
    if (!can_submit) plan.map_in_place = true;  // constants reach memory that the host sees, or none
    return judged(plan, can_submit, judge, [&] {
        return std::make_shared<Device>(
            std::make_unique<DeviceState>(instance, physical, caps, plan, options, &adopted));
    });
}

Device::Device(std::unique_ptr<DeviceState> state) : state_(std::move(state)) {}

Device::~Device() = default;

Device::MemoryReport Device::memory_report() const {
    MemoryReport report;
    {
        const std::lock_guard lock(state_->memory_mutex);
        report.in_use = state_->memory_in_use;
        report.peak = state_->memory_peak;
        report.allocations = state_->memory_allocations;
    }
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    if (state_->has_memory_budget) memory.pNext = &budget;
    state_->device.instance->get_memory_properties(state_->physical_device, &memory);
    for (std::uint32_t h = 0; h < memory.memoryProperties.memoryHeapCount; ++h) {
        const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[h];
        if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0 || heap.size <= report.heap) continue;
        report.heap = heap.size;
        report.budget = budget.heapBudget[h];
        report.used = budget.heapUsage[h];
    }
    return report;
}

const DeviceCaps& Device::caps() const { return state_->caps; }

const DevicePlan& Device::plan() const { return state_->plan; }

bool Device::runs() const { return !state_->compile_only; }

void Device::require_runs() const { state_->require_runs(); }

std::shared_ptr<const TuningTable> Device::tuning() {
    const std::lock_guard lock(state_->tuning_mutex);
    if (!state_->tuning) {
        auto table =
            std::make_shared<TuningTable>(parse_tuning(state_->pipelines.stored_tuning(tuning_key(state_->plan))));
        if (!table->choices.empty())
            say("tuning", fmt::format("the cache has measured choices for {} kernels", table->choices.size()));
        state_->tuning = std::move(table);
    }
    return state_->tuning;
}

void Device::set_tuning(std::shared_ptr<const TuningTable> table) {
    const std::lock_guard lock(state_->tuning_mutex);
    state_->tuning = std::move(table);
}

bool Device::save_tuning(const TuningTable& choices) {
    return state_->pipelines.store_tuning(tuning_key(state_->plan), [&](const std::string& old) {
        TuningTable table = choices;
        table.choices.merge(parse_tuning(old).choices);
        return write_tuning(table);
    });
}

}  // namespace tosavk

// Devices, buffers and command buffers of others.
#include "api/device_options.hpp"
#include "api/handles.hpp"
#include "vk/measure/open_device.hpp"
#include "vk/record/host_bindings.hpp"

#include "tosavk/vulkan.h"  // after volk, which does without prototypes

#include <fmt/format.h>

using namespace tosavk;
using namespace tosavk::api;

struct tosavk_binding_set {
    explicit tosavk_binding_set(std::shared_ptr<Executable> executable) : bindings(std::move(executable)) {}
    HostBindings bindings;
};

namespace {

constexpr VkBufferUsageFlags all_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

AdoptedDevice adopted_of(const Call& call, const tosavk_vulkan_device& lent) {
    call.require(lent.instance, "lent->instance");
    call.require(lent.physical_device, "lent->physical_device");
    call.require(lent.device, "lent->device");
    call.require(reinterpret_cast<const void*>(lent.get_instance_proc_addr), "lent->get_instance_proc_addr");
    call.require(reinterpret_cast<const void*>(lent.get_device_proc_addr), "lent->get_device_proc_addr");
    call.require(lent.create_info, "lent->create_info");
    if ((lent.lock_queue == nullptr) != (lent.unlock_queue == nullptr))
        throw Error(ErrorCode::usage, "lock_queue and unlock_queue go together");
    if ((lent.allocate == nullptr) != (lent.release == nullptr))
        throw Error(ErrorCode::usage, "allocate and release go together");
    AdoptedDevice adopted;
    adopted.instance = lent.instance;
    adopted.physical_device = lent.physical_device;
    adopted.device = lent.device;
    adopted.get_instance_proc_addr = lent.get_instance_proc_addr;
    adopted.get_device_proc_addr = lent.get_device_proc_addr;
    adopted.api_version = lent.api_version;
    adopted.made_with = lent.create_info;
    adopted.queue_family = lent.queue_family;
    adopted.queue = lent.queue;
    adopted.queue_user = lent.user;
    adopted.lock_queue = lent.lock_queue;
    adopted.unlock_queue = lent.unlock_queue;
    if (!lent.allocate) return adopted;
    void* const user = lent.user;
    adopted.memory.allocate = [user, allocate = lent.allocate](const VkMemoryRequirements& requirements,
                                                               std::uint32_t type, bool mapped, LentMemory& memory) {
        tosavk_vulkan_memory given{};
        given.struct_size = sizeof given;
        const VkResult result = allocate(user, &requirements, type, mapped ? 1 : 0, &given);
        if (result >= VK_SUCCESS) memory = {given.memory, given.offset, given.mapped, given.cookie};
        return result;
    };
    adopted.memory.release = [user, release = lent.release](const LentMemory& memory) {
        const tosavk_vulkan_memory given{sizeof given, memory.memory, memory.offset, memory.mapped, memory.cookie};
        release(user, &given);
    };
    return adopted;
}

void require_range(const tosavk_vulkan_range& range, const char* what) {
    if (range.buffer == VK_NULL_HANDLE || range.size == 0)
        throw Error(ErrorCode::usage, fmt::format("{} has no buffer, or no bytes", what));
    if (range.size > UINT64_MAX - range.offset)
        throw Error(ErrorCode::usage, fmt::format("{} goes past the end of memory", what));
}

/// `rank`: of the tensor, for its strides.
BufferRange range_of(const tosavk_vulkan_range& given, const std::string& what, std::size_t rank = 0) {
    if ((given.flags & ~static_cast<std::uint32_t>(TOSAVK_BIND_PADDED)) != 0)
        throw Error(ErrorCode::usage, fmt::format("{}: {:#x} are no tosavk_bind_flags", what, given.flags));
    require_range(given, what.c_str());
    BufferRange range{number_of(given.buffer), given.offset, given.size};
    set_usage(range, given.usage);
    range.padded = (given.flags & TOSAVK_BIND_PADDED) != 0;
    if (given.strides) range.strides.assign(given.strides, given.strides + rank);
    return range;
}

std::vector<BufferRange> ranges_of(const Call& call, const Graph& graph, const std::vector<ValueId>& ids,
                                   const tosavk_vulkan_range* given, std::size_t count, const char* what) {
    if (count != ids.size())
        throw Error(ErrorCode::usage, fmt::format("{} {}s were bound; the graph has {}", count, what, ids.size()));
    if (count > 0) call.require(given, what);
    const std::vector<tosavk_vulkan_range> read = read_structs(given, count, what, "tosavk_vulkan_range");
    std::vector<BufferRange> ranges;
    for (std::size_t k = 0; k < count; ++k) {
        const Shape& shape = graph.value(ids[k]).shape;
        ranges.push_back(has_no_elements(shape) ? BufferRange()
                                                : range_of(read[k], fmt::format("{} {}", what, k), shape.size()));
    }
    return ranges;
}

}  // namespace

tosavk_status tosavk_device_adopt(const tosavk_vulkan_device* lent, const tosavk_device_options* options,
                                  tosavk_device** device, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(lent, "lent");
        call.require(device, "device");
        const tosavk_vulkan_device given = read_struct(lent, "tosavk_vulkan_device");
        const DeviceOptions wanted = device_options(read_struct(options, "tosavk_device_options"));
        if (wanted.compile_only)
            throw Error(ErrorCode::usage, "compile_only is for devices that are opened; lend this one without a queue");
        if (!wanted.name.empty() || !wanted.uuid.empty() || !wanted.luid.empty() || !wanted.type.empty() ||
            wanted.vendor_id != 0 || wanted.ordinal != 0)
            throw Error(ErrorCode::usage, "a lent device is not chosen by name, UUID, LUID, type, vendor or ordinal");
        *device = make_device(adopt_device(adopted_of(call, given), wanted), {});
    });
}

tosavk_status tosavk_buffer_adopt(tosavk_device* device, const tosavk_vulkan_range* range, tosavk_buffer** buffer,
                                  tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(range, "range");
        call.require(buffer, "buffer");
        const tosavk_vulkan_range given = read_struct(range, "tosavk_vulkan_range");
        require_range(given, "range");
        if (given.flags != 0 || given.strides)
            throw Error(ErrorCode::usage, "flags and strides are of tensors, not of buffers");
        auto made = std::make_unique<tosavk_buffer>();
        made->buffer = {
            std::make_shared<BufferMemory>(device->device, given.buffer, given.offset + given.size, given.usage),
            given.offset, given.size};
        *buffer = made.release();
    });
}

tosavk_status tosavk_buffer_vulkan(const tosavk_buffer* buffer, tosavk_vulkan_range* range, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(buffer, "buffer");
        call.require(range, "range");
        const BufferMemory& memory = *buffer->buffer.memory;
        tosavk_vulkan_range result{};
        result.buffer = memory.buffer().handle();
        result.offset = buffer->buffer.offset;
        result.size = buffer->buffer.size;
        result.usage = memory.usage() | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        write_struct(range, result, "tosavk_vulkan_range");
    });
}

tosavk_status tosavk_semaphore_adopt(tosavk_device* device, VkSemaphore vulkan, tosavk_semaphore** semaphore,
                                     tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(vulkan, "vulkan");
        call.require(semaphore, "semaphore");
        *semaphore = new tosavk_semaphore{std::make_shared<Semaphore>(device->device, vulkan)};
    });
}

tosavk_status tosavk_semaphore_vulkan(const tosavk_semaphore* semaphore, VkSemaphore* vulkan, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(semaphore, "semaphore");
        call.require(vulkan, "vulkan");
        *vulkan = semaphore->semaphore->handle();
    });
}

tosavk_status tosavk_executable_vulkan_memory(const tosavk_executable* executable, tosavk_vulkan_memory_needs* needs,
                                              tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(executable, "executable");
        call.require(needs, "needs");
        const ExecutableState& state = executable->executable->state();
        const HostMemoryNeeds wanted = host_memory_needs(state);
        tosavk_vulkan_memory_needs result{};
        result.arena_bytes = wanted.arena;
        result.arena_bytes_with_copies = wanted.with_copies;
        result.alignment = wanted.alignment;
        result.constant_bytes = wanted.constants;
        result.constants = state.constants.handle();
        result.usage = all_usage;
        write_struct(needs, result, "tosavk_vulkan_memory_needs");
    });
}

tosavk_status tosavk_binding_set_create(tosavk_executable* executable, tosavk_binding_set** set, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(executable, "executable");
        call.require(set, "set");
        *set = new tosavk_binding_set(executable->executable);
    });
}

tosavk_status tosavk_binding_set_write(tosavk_binding_set* set, const tosavk_vulkan_bindings* bindings,
                                       tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(set, "set");
        call.require(bindings, "bindings");
        const tosavk_vulkan_bindings given = read_struct(bindings, "tosavk_vulkan_bindings");
        HostTensors tensors;
        const auto one = [](const tosavk_vulkan_range* range, const char* what) {
            return range_of(read_struct(range, "tosavk_vulkan_range"), what);
        };
        if (given.arena) tensors.arena = one(given.arena, "the arena");
        if (given.constants) tensors.constants = one(given.constants, "the constants");
        const Graph& graph = set->bindings.executable().graph();
        tensors.inputs = ranges_of(call, graph, graph.inputs, given.inputs, given.input_count, "input");
        tensors.outputs = ranges_of(call, graph, graph.outputs, given.outputs, given.output_count, "output");
        set->bindings.write(tensors);
    });
}

tosavk_status tosavk_binding_set_access(const tosavk_binding_set* set, tosavk_vulkan_access* access,
                                        tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(set, "set");
        call.require(access, "access");
        const HostAccess found = set->bindings.access();
        tosavk_vulkan_access result{};
        result.first_stages = found.first_stages;
        result.first_access = found.first_access;
        result.last_stages = found.last_stages;
        result.last_access = found.last_access;
        result.copies = found.copies;
        write_struct(access, result, "tosavk_vulkan_access");
    });
}

tosavk_status tosavk_binding_set_record(tosavk_binding_set* set, VkCommandBuffer commands, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(set, "set");
        call.require(commands, "commands");
        set->bindings.record(commands);
    });
}

void tosavk_binding_set_release(tosavk_binding_set* set) { delete set; }

namespace {

const tosavk_vulkan_api vulkan_table = {
    .struct_size = sizeof(tosavk_vulkan_api),
    .api_version = TOSAVK_API_VERSION,
    .reserved = 0,
    .device_adopt = tosavk_device_adopt,
    .buffer_adopt = tosavk_buffer_adopt,
    .buffer_vulkan = tosavk_buffer_vulkan,
    .semaphore_adopt = tosavk_semaphore_adopt,
    .semaphore_vulkan = tosavk_semaphore_vulkan,
    .executable_vulkan_memory = tosavk_executable_vulkan_memory,
    .binding_set_create = tosavk_binding_set_create,
    .binding_set_write = tosavk_binding_set_write,
    .binding_set_access = tosavk_binding_set_access,
    .binding_set_record = tosavk_binding_set_record,
    .binding_set_release = tosavk_binding_set_release,
};

}  // namespace

const tosavk_vulkan_api* tosavk_get_vulkan_api(uint32_t version) {
    return version == TOSAVK_API_VERSION ? &vulkan_table : nullptr;
}

// Clients, devices, memories.
#include "hosts/pjrt/calls.hpp"

#include <unistd.h>

namespace tosavk::pjrt {

namespace {

constexpr std::string_view platform = "tosavk", memory_kind = "device";
constexpr Text platform_text{platform.data(), platform.size()}, kind_text{memory_kind.data(), memory_kind.size()};

void client_create(ClientCreate& args) {
    auto client = std::make_shared<Client>(parse_options(args.options));
    client->open_devices();
    client->handle = client;
    args.client = client.get();
}

void client_destroy(Only<Client>& args) {
    args.self->finish();
    const std::shared_ptr<Client> last = std::move(args.self->handle);
}

void platform_name(Ask<Client, Text>& args) { args.value = platform_text; }
void process_index(Ask<Client, std::int32_t>& args) { args.value = 0; }
void platform_version(Ask<Client, Text>& args) { args.value = text_of(args.self->platform_version); }
void devices(Ask<Client, List<Device* const>>& args) { args.value = list_of(args.self->device_list); }
void memories(Ask<Client, List<Memory* const>>& args) { args.value = list_of(args.self->memory_list); }
void lookup(Lookup<Client, Device*>& args) { args.value = &args.self->device_of(args.number); }

void default_assignment(DefaultAssignment& args) {
    const auto wanted = std::int64_t{args.replicas} * args.partitions;
    if (args.replicas < 1 || args.partitions < 1 || static_cast<std::uint64_t>(wanted) > args.size)
        throw Failure(Code::invalid_argument, "the assignment has no room for " + std::to_string(wanted) + " devices");
    for (std::int64_t k = 0; k < wanted; ++k) {
        const auto count = static_cast<std::int64_t>(args.client->devices.size());
        args.assignment[k] = static_cast<std::int32_t>(k % count);
    }
}

// ---- devices, and their descriptions, which are the same ------------------------------------------------------------

void device_id(Ask<Device, std::int32_t>& args) { args.value = args.self->id; }
void device_process(Ask<Device, std::int32_t>& args) { args.value = 0; }
void device_attributes(DeviceAttributes& args) {
    args.count = 1;
    args.values = args.device->attributes;
}
void device_kind(Ask<Device, Text>& args) { args.value = text_of(args.self->kind); }
void device_debug_text(Ask<Device, Text>& args) { args.value = text_of(args.self->debug_text); }
void device_text(Ask<Device, Text>& args) { args.value = text_of(args.self->text); }
void description(Ask<Device, Device*>& args) { args.value = args.self; }
void is_addressable(Ask<Device, bool>& args) { args.value = true; }
void device_memories(Ask<Device, List<Memory* const>>& args) { args.value = {args.self->memories, 1}; }
void default_memory(Ask<Device, Memory*>& args) { args.value = &args.self->memory; }

void memory_statistics(MemoryStatistics& args) {
    Device& device = *args.device;
    const tosavk_memory_info info = device.device.memory();
    const auto number = [](std::uint64_t value) { return OptionalNumber{static_cast<std::int64_t>(value), true}; };
    const OptionalNumber none{0, false};
    args.in_use = device.in_use;
    args.peak = {device.peak, true};
    args.allocations = {device.arrays, true};
    args.largest_allocation = {device.largest, true};
    args.limit = number(info.budget != 0 ? info.budget : info.heap);
    args.reserved = number(info.in_use);
    args.peak_reserved = number(info.peak);
    args.reservable = none;
    args.largest_free = none;
    args.pool = number(device.pool.bytes());
    args.peak_pool = none;
    if (reaches(args.head, offsetof(MemoryStatistics, peak_allocated) + 9)) args.peak_allocated.is_set = false;
}

// ---- memories -------------------------------------------------------------------------------------------------------

void memory_id(Ask<Memory, std::int32_t>& args) { args.value = args.self->id; }
void memory_kind_text(Ask<Memory, Text>& args) { args.value = kind_text; }
void memory_kind_id(Ask<Memory, std::int32_t>& args) { args.value = 0; }
void memory_debug_text(Ask<Memory, Text>& args) { args.value = text_of(args.self->debug_text); }
void memory_text(Ask<Memory, Text>& args) { args.value = text_of(args.self->text); }
void memory_devices(Ask<Memory, List<Device* const>>& args) { args.value = {args.self->device->self, 1}; }

}  // namespace

void set_client_calls(Api& api) {
    set<client_create>(api, 10);
    set<client_destroy>(api, 11);
    set<platform_name>(api, 12);
    set<process_index>(api, 13);
    set<platform_version>(api, 14);
    set<devices>(api, 15);
    set<devices>(api, 16);
    set<lookup>(api, 17);
    set<lookup>(api, 18);
    set<memories>(api, 19);
    set<default_assignment>(api, 21);
    set<device_id>(api, 23);
    set<device_process>(api, 24);
    set<device_attributes>(api, 25);
    set<device_kind>(api, 26);
    set<device_debug_text>(api, 27);
    set<device_text>(api, 28);
    set<description>(api, 29);
    set<is_addressable>(api, 30);
    set<device_id>(api, 31);
    set<device_memories>(api, 32);
    set<default_memory>(api, 33);
    set<memory_statistics>(api, 34);
    set<memory_id>(api, 35);
    set<memory_kind_text>(api, 36);
    set<memory_debug_text>(api, 37);
    set<memory_text>(api, 38);
    set<memory_devices>(api, 39);
    set<memory_kind_id>(api, 97);
}

}  // namespace tosavk::pjrt

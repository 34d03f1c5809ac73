#include "vk/core/device_choice.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <cctype>

#include <pthread.h>

namespace tosavk {

namespace {

constexpr const char* shares_threads = "SwiftShader";
std::atomic<int> open_devices{0};  // of that driver
std::atomic<bool> left_behind{false};
[[maybe_unused]] const int counts_forks = ::pthread_atfork(nullptr, nullptr, [] {
    if (open_devices.exchange(0) > 0) left_behind = true;
});

std::string list_of(const std::vector<PhysicalDevice>& devices) {
    std::string list;
    for (std::size_t d = 0; d < devices.size(); ++d)
        list += fmt::format("{}{} '{}' ({})", d == 0 ? "" : ", ", d, devices[d].caps.name, devices[d].caps.type);
    return list;
}

/// Those that have this name, best first: the one of an index, the software drivers, or those with a part of the name.
std::vector<const PhysicalDevice*> named(const std::vector<PhysicalDevice>& devices, std::string_view name) {
    const bool digits = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!name.empty() && digits && name.size() <= 6) {
        const std::size_t index = std::stoul(std::string(name));
        if (index < devices.size()) return {&devices[index]};
    }
    const std::string wanted = lower(name);
    std::vector<const PhysicalDevice*> found;
    for (const PhysicalDevice& device : devices)
        if (wanted == "cpu" && device.caps.type == "cpu") found.push_back(&device);
    if (!found.empty()) return found;
    for (const PhysicalDevice& device : devices)
        if (lower(device.caps.name).find(wanted) != std::string::npos) found.push_back(&device);
    return found;
}

}  // namespace

std::vector<PhysicalDevice> require_devices(const Instance& instance) {
    std::vector<PhysicalDevice> devices = usable_devices(instance);
    if (devices.empty()) {
        throw Error(ErrorCode::no_device,
                    "no Vulkan device was found (Vulkan 1.1 with a compute queue is needed); install a driver "
                    "(mesa-vulkan-drivers has a software driver that needs no GPU)");
    }
    return devices;
}

const PhysicalDevice& select(const std::vector<PhysicalDevice>& devices, const DeviceOptions& options) {
    std::vector<const PhysicalDevice*> found = named(devices, options.name);
    std::erase_if(found, [&](const PhysicalDevice* device) {
        const DeviceCaps& caps = device->caps;
        return (!options.uuid.empty() && caps.uuid != options.uuid) ||
               (!options.luid.empty() && caps.luid != options.luid) ||
               (!options.type.empty() && caps.type != options.type) ||
               (options.vendor_id != 0 && caps.vendor_id != options.vendor_id);
    });
    if (options.ordinal < found.size()) return *found[options.ordinal];
    std::string wanted = fmt::format("'{}'", options.name);
    if (!options.uuid.empty()) wanted += fmt::format(", UUID {}", options.uuid);
    if (!options.luid.empty()) wanted += fmt::format(", LUID {}", options.luid);
    if (!options.type.empty()) wanted += fmt::format(", type {}", options.type);
    if (options.vendor_id != 0) wanted += fmt::format(", vendor {:#06x}", options.vendor_id);
    if (options.ordinal > 0) wanted += fmt::format(", number {} of these", options.ordinal);
    throw Error(ErrorCode::no_device,
                fmt::format("no Vulkan device matches {}; there are: {}", wanted, list_of(devices)));
}

OpenDriver::OpenDriver(const DeviceCaps& caps) : is_counted_(is_driver(caps, shares_threads)) {
    if (is_counted_) ++open_devices;
}

OpenDriver::~OpenDriver() {
    if (is_counted_ && !birthplace_.is_left()) --open_devices;
}

void require_threads(const PhysicalDevice& device) {
    if (left_behind && is_driver(device.caps, shares_threads)) throw_left_behind(device);
}

void throw_left_behind(const PhysicalDevice& device) {
    throw Error(ErrorCode::device,
                fmt::format("'{}' was in use when this process was forked, and its threads stayed with the parent; "
                            "fork before devices are listed or opened, or start another program",
                            device.caps.name));
}

}  // namespace tosavk

// Which of the machine's devices is opened.
#pragma once

#include "base/forks.hpp"
#include "vk/core/caps.hpp"
#include "vk/core/device.hpp"

#include <vector>

namespace tosavk {

/// Best first, at least one. Error(no_device).
std::vector<PhysicalDevice> require_devices(const Instance& instance);

/// The one that fulfils all conditions. Error(no_device) with a list of all.
const PhysicalDevice& select(const std::vector<PhysicalDevice>& devices, const DeviceOptions& options);

/// Lives as long as a device is open: what a process that is forked off meanwhile knows of it.
class OpenDriver {
public:
    explicit OpenDriver(const DeviceCaps& caps);
    ~OpenDriver();
    OpenDriver(const OpenDriver&) = delete;
    OpenDriver& operator=(const OpenDriver&) = delete;

private:
    const bool is_counted_;
    Birthplace birthplace_;
};

/// Error(device) where the driver can run nothing any more: SwiftShader's threads are the process's, shared by all of
/// its devices, and a process that is forked off while one is open has none.
void require_threads(const PhysicalDevice& device);
/// The Error(device) that says so.
[[noreturn]] void throw_left_behind(const PhysicalDevice& device);

}  // namespace tosavk

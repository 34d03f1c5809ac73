// The way to open a device.
#pragma once

#include "vk/core/device.hpp"

namespace tosavk {

/// Device::open() with check_cooperative_sums() as its judge.
std::shared_ptr<Device> open_device(const DeviceOptions& options);

/// The same of Device::adopt().
std::shared_ptr<Device> adopt_device(const AdoptedDevice& adopted, const DeviceOptions& options);

}  // namespace tosavk

// What tosavk_device_options say, and the handle of an open device.
#pragma once

#include "api/handles.hpp"

namespace tosavk::api {

/// Throws Error(usage) for values that mean nothing.
DeviceOptions device_options(const tosavk_device_options& given);
/// `opened_with`: what opens the same device again; none where it was lent.
tosavk_device* make_device(std::shared_ptr<Device> device, std::optional<DeviceOptions> opened_with);

}  // namespace tosavk::api

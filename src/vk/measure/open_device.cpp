#include "vk/measure/open_device.hpp"

#include "vk/measure/cooperative_check.hpp"

namespace tosavk {

std::shared_ptr<Device> open_device(const DeviceOptions& options) {
    return Device::open(options, check_cooperative_sums);
}

}  // namespace tosavk

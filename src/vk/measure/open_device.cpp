#include "vk/measure/open_device.hpp"

#include "vk/measure/cooperative_check.hpp"

namespace tosavk {

std::shared_ptr<Device> open_device(const DeviceOptions& options) {
    return Device::open(options, check_cooperative_sums);
}

std::shared_ptr<Device> adopt_device(const AdoptedDevice& adopted, const DeviceOptions& options) {
    return Device::adopt(adopted, options, check_cooperative_sums);
}

}  // namespace tosavk

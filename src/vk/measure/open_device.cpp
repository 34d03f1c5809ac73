#include "vk/measure/open_device.hpp"

#include "vk/measure/cooperative_check.hpp"

namespace tosavk {

std::shared_ptr<Device> open_device(std::string_view name) { return Device::open(name, check_cooperative_sums); }

}  // namespace tosavk

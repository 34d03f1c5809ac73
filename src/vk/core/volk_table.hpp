// Fills the function table of one VkDevice without touching volk's global pointers.
#pragma once

#include <volk.h>

namespace tosavk {

void load_device_table(VolkDeviceTable& table, VkDevice device, PFN_vkGetDeviceProcAddr get_device_proc_addr);

}  // namespace tosavk

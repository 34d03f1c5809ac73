// The one place that compiles volk, which loads libvulkan at run time: the library starts without a Vulkan loader.
#define VOLK_IMPLEMENTATION
#include "vk/core/volk_table.hpp"

namespace tosavk {

namespace {
struct DeviceLoader {
    VkDevice device;
    PFN_vkGetDeviceProcAddr get;
};
}  // namespace

void load_device_table(VolkDeviceTable& table, VkDevice device, PFN_vkGetDeviceProcAddr get_device_proc_addr) {
    // volkLoadDeviceTable() reads a global that volkLoadInstance() writes; threads may open devices at the same time.
    DeviceLoader loader{device, get_device_proc_addr};
    volkGenLoadDeviceTable(&table, &loader, [](void* context, const char* name) {
        const auto* self = static_cast<const DeviceLoader*>(context);
        return self->get(self->device, name);
    });
}

}  // namespace tosavk

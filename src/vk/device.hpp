// An open Vulkan device. Thread-safe; lives as long as an Executable or the caller holds it.
#pragma once

#include "graph/error.hpp"
#include "vk/device_plan.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace tosavk {

struct DeviceState;

class Device {
public:
    /// Every usable device (Vulkan 1.1, a compute queue), best first; an index of open() counts in this order.
    /// Error(no_device) when there is no loader, driver or device.
    static std::vector<DeviceCaps> enumerate();

    /// "" opens the best device (discrete, integrated, virtual, cpu); else an index, "cpu" or a part of the name in
    /// any case. TOSAVK_CAPS=file.json restricts what the device is taken to offer. Error(no_device) lists what exists.
    static std::shared_ptr<Device> open(std::string_view name);

    explicit Device(std::unique_ptr<DeviceState> state);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const DeviceCaps& caps() const;
    const DevicePlan& plan() const;

    DeviceState& state() { return *state_; }  ///< Vulkan handles, for this room only

private:
    std::unique_ptr<DeviceState> state_;
};

}  // namespace tosavk

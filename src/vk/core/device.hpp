// An open Vulkan device. Thread-safe; lives as long as an Executable or the caller holds it.
#pragma once

#include "base/error.hpp"
#include "device/device_plan.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace tosavk {

struct DeviceState;
struct TuningTable;

class Device;
/// Tells for which results a device's cooperative matrices add fp16 accurately enough.
using CooperativeJudge = CooperativeSums (*)(const std::shared_ptr<Device>& device);

class Device {
public:
    /// Every usable device (Vulkan 1.1, a compute queue), best first; an index of open() counts in this order.
    /// Error(no_device) when there is no loader, driver or device.
    static std::vector<DeviceCaps> enumerate();

    /// "" opens the best device (discrete, integrated, virtual, cpu); else an index, "cpu" or a part of the name in
    /// any case. TOSAVK_CAPS=file.json restricts what the device is taken to offer. Error(no_device) lists what exists.
    /// `judge` is asked once where the device has cooperative matrices of fp16. Callers want open_device() of
    /// vk/measure/open_device.hpp, which knows the judge.
    static std::shared_ptr<Device> open(std::string_view name, CooperativeJudge judge);

    explicit Device(std::unique_ptr<DeviceState> state);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const DeviceCaps& caps() const;
    const DevicePlan& plan() const;

    /// The choices that were measured on this device, for make_plan(): read from the disk cache at the first call. They
    /// are for one device, driver, device plan and set of kernels. A table that cannot be read is as good as none.
    std::shared_ptr<const TuningTable> tuning();
    /// Another table, until the device is closed.
    void set_tuning(std::shared_ptr<const TuningTable> table);
    /// Puts choices on disk, beside those that are there. False where nothing can be kept (TOSAVK_NO_CACHE=1).
    bool save_tuning(const TuningTable& choices);

    DeviceState& state() { return *state_; }  ///< Vulkan handles, for this room only

private:
    std::unique_ptr<DeviceState> state_;
};

}  // namespace tosavk

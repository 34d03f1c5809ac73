// An open Vulkan device. Thread-safe; lives as long as an Executable or the caller holds it.
#pragma once

#include "base/error.hpp"
#include "device/device_plan.hpp"
#include "store/disk_cache.hpp"

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk {

struct DeviceState;
struct TuningTable;

/// Which device, and what it is given. What is left empty is as the environment says, else as the library chooses.
struct DeviceOptions {
    DeviceOptions() = default;
    template <std::convertible_to<std::string_view> Text>
    DeviceOptions(const Text& device_name) : name(std::string_view(device_name)) {}

    /// "": the best device; else an index, "cpu" or a part of the name in any case.
    std::string name;
    std::string uuid, luid, type;  ///< as in DeviceCaps; empty: any
    std::uint32_t vendor_id = 0;   ///< 0: any
    std::size_t ordinal = 0;       ///< among those that all of this fits, best first
    std::optional<CacheSettings> cache;
    std::optional<double> submit_ms;  ///< see apply_environment
    std::size_t threads = 0;          ///< of the host; 0: its processors, at most 16
    bool compile_only = false;        ///< neither queue nor memory nor semaphores are used: nothing can run
    bool inspect = false;             ///< the driver is asked what it made of each pipeline, see Pipeline::report
};

struct AdoptedDevice;

class Device;
/// Tells for which results a device's cooperative matrices add fp16 accurately enough.
using CooperativeJudge = CooperativeSums (*)(const std::shared_ptr<Device>& device);

class Device {
public:
    /// Every usable device (Vulkan 1.1, a compute queue), best first; an index of open() counts in this order.
    /// Error(no_device) when there is no loader, driver or device.
    static std::vector<DeviceCaps> enumerate();

    /// The best is discrete before integrated, virtual and cpu. TOSAVK_CAPS=file.json restricts what the device is
    /// taken to offer. Error(no_device) lists what exists.
    /// `judge` is asked once where the device has cooperative matrices of fp16. Callers want open_device() of
    /// vk/measure/open_device.hpp, which knows the judge.
    static std::shared_ptr<Device> open(const DeviceOptions& options, CooperativeJudge judge);

    /// The VkDevice of others (vk/core/adopted.hpp), which must outlive this; `options` without what selects a device.
    static std::shared_ptr<Device> adopt(const AdoptedDevice& adopted, const DeviceOptions& options,
                                         CooperativeJudge judge);

    explicit Device(std::unique_ptr<DeviceState> state);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    struct MemoryReport {
        std::uint64_t in_use = 0, peak = 0, allocations = 0;  ///< by this object
        std::uint64_t heap = 0;                               ///< size of the largest device-local one
        std::uint64_t budget = 0, used = 0;  ///< of this process there, as the driver says; 0: it does not
    };
    MemoryReport memory_report() const;

    const DeviceCaps& caps() const;
    const DevicePlan& plan() const;
    /// False where it was opened to compile only.
    bool runs() const;
    /// Error(usage) unless it runs, Error(device) in a process that was forked off after it was opened.
    void require_runs() const;

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

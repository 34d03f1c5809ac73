// What interpreters of a process share: opened devices, and partitions compiled for them.
#pragma once

#include "hosts/tflite_delegate/options.hpp"

#include <atomic>
#include <memory>
#include <optional>

namespace tosavk::delegate {

struct OpenDevice {
    explicit OpenDevice(const tosavk_device_options& options);

    cpp::Device device;
    const int process;
    std::atomic<bool> failed{false};  ///< it is lost; who comes later opens another one

    /// A process that was forked off has the handles, but nobody behind them: a driver's threads stay with the parent.
    bool is_inherited() const;
    /// Throws cpp::Error where it is inherited.
    void require_own() const;
};

/// The device of these options, shared with all that have it open. Throws cpp::Error.
std::shared_ptr<OpenDevice> open_device(const DelegateOptions& options);

struct Compiled {
    std::shared_ptr<OpenDevice> device;
    cpp::Graph graph;
    /// Missing where the device failed to compile what loads: the reference runs it.
    std::optional<cpp::Executable> executable;
};

/// Loads and compiles, or finds what another partition of the same bytes, device and options has. Throws cpp::Error.
std::shared_ptr<const Compiled> compile(const std::shared_ptr<OpenDevice>& device, std::span<const std::byte> file,
                                        const cpp::LoadOptions& load);

/// Arithmetic operations of a run, about. Throws cpp::Error.
double work_of(const Compiled& compiled);

/// Whether the device, or the memory that it has, is to blame, and not what was asked for.
bool is_device_failure(const cpp::Error& error);

}  // namespace tosavk::delegate

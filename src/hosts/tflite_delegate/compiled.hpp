// What interpreters of a process share: opened devices, and partitions compiled for them.
#pragma once

#include "hosts/tflite_delegate/options.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tosavk::delegate {

struct OpenDevice {
    explicit OpenDevice(const tosavk_device_options& options);

    cpp::Device device;
    const int process;
    std::atomic<bool> failed{false};  ///< it is lost; who comes later opens another one

    /// A process that was forked off has the handles, but nobody behind them: a driver's threads stay with the parent.
    bool is_inherited() const;
};

/// The device of these options, shared with all that have it open. Throws cpp::Error.
std::shared_ptr<OpenDevice> open_device(const DelegateOptions& options);

/// What making an executable has cost.
struct Cost {
    std::uint64_t shaders = 0, pipelines = 0, weight_bytes = 0;
};

/// A file that leaves sizes open. Its executables share their constants, and their pipelines where only an outermost
/// size differs.
class OpenFile {
public:
    explicit OpenFile(cpp::Model opened) : model(std::move(opened)) {}
    const cpp::Model model;
    /// Since the last call; interpreters may share a file.
    Cost take_cost() const;

private:
    mutable std::mutex mutex_;
    mutable Cost told_;
};

struct Compiled {
    Compiled(std::shared_ptr<OpenDevice> on, cpp::Graph of) : device(std::move(on)), graph(std::move(of)) {}

    std::shared_ptr<OpenDevice> device;
    cpp::Graph graph;
    std::shared_ptr<const OpenFile> file;  ///< null: of a file with all sizes
    /// Missing where the device failed to compile what loads: the reference runs it.
    std::optional<cpp::Executable> executable;
    mutable std::atomic<bool> is_counted{false};

    /// Of what nobody was told of yet. `context` is one of the executable.
    Cost take_cost(const cpp::Context& context) const;
};

/// Loads and compiles, or finds what another partition of the same bytes, device and options has. Throws cpp::Error.
std::shared_ptr<const Compiled> compile(const std::shared_ptr<OpenDevice>& device, std::span<const std::byte> file,
                                        const cpp::LoadOptions& load);
/// The same of a file that leaves all sizes of its inputs open, for these shapes.
std::shared_ptr<const Compiled> specialize(const std::shared_ptr<OpenDevice>& device, std::span<const std::byte> file,
                                           const cpp::LoadOptions& load,
                                           const std::vector<std::vector<std::int64_t>>& shapes);
/// Executables that are kept for one partition, each for other sizes.
inline constexpr std::size_t most_sizes = 8;

/// Arithmetic operations of a run, about. Throws cpp::Error.
double work_of(const Compiled& compiled);

/// Whether the device, or the memory that it has, is to blame, and not what was asked for.
bool is_device_failure(const cpp::Error& error);

}  // namespace tosavk::delegate

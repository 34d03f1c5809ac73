// A plan on a device: pipelines and constants in device memory. Immutable after creation, thread-safe to share; every
// concurrent run needs a Context of its own.
#pragma once

#include "base/progress.hpp"
#include "compile/plan/plan.hpp"
#include "device/compilers/report.hpp"
#include "vk/core/device.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tosavk {

struct ExecutableCounters {
    std::uint64_t allocations = 0;          ///< of device memory
    std::uint64_t pipelines_created = 0;    ///< pipelines shared with another Executable do not count
    std::uint64_t weight_bytes_copied = 0;  ///< constants copied to the device
    std::uint64_t shaders_compiled = 0;     ///< from GLSL
    std::uint64_t shaders_loaded = 0;       ///< from the disk cache, the seed or a package instead
};

/// Of one dispatch.
struct MadePipeline {
    std::size_t number = 0;                  ///< equal ones are one pipeline; no_id: a copy, without one
    const PipelineReport* report = nullptr;  ///< lives as long as the executable; null: see Pipeline::report
};

struct ExecutableState;
class SharedConstants;

class Executable {
public:
    /// Error(internal) when the plan asks for something that the device cannot bind or dispatch.
    static std::shared_ptr<Executable> create(std::shared_ptr<Device> device, std::shared_ptr<const Graph> graph,
                                              Plan plan);
    /// The same; Error(cancelled) where the listener says so. `shared`: of the device, where the constants are looked
    /// for and put; null: the executable has its own.
    static std::shared_ptr<Executable> create(std::shared_ptr<Device> device, std::shared_ptr<const Graph> graph,
                                              Plan plan, Progress& progress, SharedConstants* shared = nullptr);

    explicit Executable(std::unique_ptr<ExecutableState> state);
    ~Executable();
    Executable(const Executable&) = delete;
    Executable& operator=(const Executable&) = delete;

    const Graph& graph() const;
    const Plan& plan() const;
    Device& device() const;
    std::shared_ptr<const Graph> shared_graph() const;
    std::shared_ptr<Device> shared_device() const;
    ExecutableCounters counters() const;
    /// In the order of for_each_dispatch.
    std::vector<MadePipeline> pipelines() const;

    const ExecutableState& state() const { return *state_; }  ///< for this room only

private:
    std::unique_ptr<ExecutableState> state_;
};

}  // namespace tosavk

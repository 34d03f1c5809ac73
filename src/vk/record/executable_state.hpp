// The Vulkan side of an Executable. Only vk/ includes this.
#pragma once

#include "vk/core/device_state.hpp"
#include "vk/core/memory.hpp"
#include "vk/record/executable.hpp"
#include "vk/record/shared_constants.hpp"

namespace tosavk {

struct ExecutableState {
    std::shared_ptr<Device> device;  // outlives everything below
    std::shared_ptr<const Graph> graph;
    Plan plan;
    Buffer constants;                                        ///< empty where there are pieces
    std::vector<ConstantPiece> pieces;                       ///< of constants that other executables share
    std::vector<std::shared_ptr<const Pipeline>> pipelines;  ///< in the order of for_each_dispatch; null for copies
    ExecutableCounters counters;
};

}  // namespace tosavk

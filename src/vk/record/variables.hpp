// The initial values of a graph's variables.
#pragma once

#include "compile/plan/plan.hpp"
#include "vk/core/memory.hpp"

namespace tosavk {

/// Zeros where a variable has none. Blocking.
void upload_initial_values(DeviceState& device, const Graph& graph, const Plan& plan, Buffer& state);

}  // namespace tosavk

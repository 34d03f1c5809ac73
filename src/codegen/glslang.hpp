// GLSL to SPIR-V in process. The only user of glslang; initialised at the first call.
#pragma once

#include "vk/device_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tosavk {

/// Throws Error(internal) with the compiler's log and the offending lines. Thread-safe.
std::vector<std::uint32_t> compile_glsl(const std::string& glsl, const std::string& name, const DevicePlan& device);

}  // namespace tosavk

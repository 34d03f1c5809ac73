// Types of cooperative matrices, which GLSL cannot write for glslang 12.
#pragma once

#include <cstdint>
#include <vector>

namespace tosavk {

/// GL_EXT_spirv_intrinsics of glslang 12 takes numbers as parameters of a type and makes them literal words, where
/// OpTypeCooperativeMatrixKHR wants the ids of a component type and of four constants. This puts ids there. Kernels
/// write the component type as its width: 16.0 for a float of 16 bits, 8 for a signed integer of 8. A module without
/// such types stays as it is.
void set_cooperative_types(std::vector<std::uint32_t>& words);

}  // namespace tosavk

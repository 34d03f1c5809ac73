// GLSL to SPIR-V in process. The only user of glslang; initialised at the first call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tosavk {

/// Throws Error(internal) with the compiler's log and the offending lines. Thread-safe.
std::vector<std::uint32_t> compile_glsl(const std::string& glsl, const std::string& name);
/// Names everything but the source that SPIR-V depends on: the compiler's version and its settings. Needs no
/// initialisation.
std::string glslang_identity();
/// True once compile_glsl has initialised the compiler in this process.
bool glslang_initialised();

}  // namespace tosavk

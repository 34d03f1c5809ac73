// What the build's own program makes (src/tools/seed); no part of the C ABI.
#pragma once

#include <string>
#include <vector>

namespace tosavk {

/// Writes to `output` the shaders of the graphs that the file `list` names (problem lines, and paths of .tflite files
/// beside it; # begins a comment) for the devices of `profiles` (files as TOSAVK_CAPS takes them). Shaders that
/// `output` has already are taken over. Prints one line. Throws Error.
void make_seed(const std::string& list, const std::vector<std::string>& profiles, const std::string& output);

}  // namespace tosavk

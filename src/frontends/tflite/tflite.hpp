// TensorFlow Lite files.
#pragma once

#include "frontends/common/options.hpp"
#include "frontends/common/probe.hpp"

#include <span>

namespace tosavk {

Graph import_tflite(std::span<const std::byte> file, const ImportOptions& options);
/// Throws Error for a file that cannot be read at all.
ProbeReport probe_tflite(std::span<const std::byte> file, const ImportOptions& options);

}  // namespace tosavk

// TensorFlow Lite files.
#pragma once

#include "frontends/common/options.hpp"

#include <span>

namespace tosavk {

Graph import_tflite(std::span<const std::byte> file, const ImportOptions& options);

}  // namespace tosavk

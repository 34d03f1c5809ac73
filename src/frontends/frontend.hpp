// Files in, graphs out: finds the front end that a file is for.
#pragma once

#include "frontends/common/options.hpp"
#include "frontends/tflite/tflite.hpp"
#include "frontends/tosa/tosa.hpp"

#include <filesystem>
#include <span>

namespace tosavk {

/// By content: "TFL3" or "TOSA" at byte 4, or the structure of an early .tosa file. `origin` stands in messages.
Graph import_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options);
Graph import_file(const std::filesystem::path& path, const ImportOptions& options);

}  // namespace tosavk

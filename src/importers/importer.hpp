// Files in, graphs out. Nothing in a file is trusted: every offset, count, type, shape and buffer size is checked
// before use, and what is wrong is said in one sentence (Error: io, bad_model or unsupported).
#pragma once

#include "graph/graph.hpp"

#include <filesystem>
#include <map>
#include <span>

namespace tosavk {

struct ImportOptions {
    Rounding rounding = Rounding::double_round;  ///< requantization of the TFLite importer: double or single
    const Level* level = &level_8k;
    /// Shapes for graph inputs with dynamic dimensions, by input index; a dimension without one is taken as 1.
    std::map<std::size_t, Shape> input_shapes;
};

Graph import_tflite(std::span<const std::byte> file, const ImportOptions& options);
/// By content: "TFL3" or "TOSA" at byte 4. `origin` stands in messages.
Graph import_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options);
Graph import_file(const std::filesystem::path& path, const ImportOptions& options);
Bytes read_file(const std::filesystem::path& path);

}  // namespace tosavk

// Files in, graphs out. Nothing in a file is trusted: every offset, count, type, shape and buffer size is checked
// before use, and what is wrong is said in one sentence (Error: io, bad_model or unsupported).
#pragma once

#include "graph/graph.hpp"

#include <filesystem>
#include <map>
#include <span>

namespace tosavk {

/// The layout of a .tosa file, for files whose version table is empty and whose structure does not tell.
enum class TosaSpec : std::uint8_t { recognise, v0_30, v0_80, v1_0 };

struct ImportOptions {
    Rounding rounding = Rounding::double_round;  ///< requantization of the TFLite importer: double or single
    const Level* level = &level_8k;
    /// Shapes for graph inputs with dynamic dimensions, by input index; a dimension without one is taken as 1.
    std::map<std::size_t, Shape> input_shapes;
    TosaSpec spec = TosaSpec::recognise;  ///< .tosa files only
};

Graph import_tflite(std::span<const std::byte> file, const ImportOptions& options);
/// Every generation that tosa_file.hpp names, upgraded to TOSA 1.0.
Graph import_tosa(std::span<const std::byte> file, const ImportOptions& options);
/// By content: "TFL3" or "TOSA" at byte 4, or the structure of an early .tosa file. `origin` stands in messages.
Graph import_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options);
Graph import_file(const std::filesystem::path& path, const ImportOptions& options);
constexpr std::size_t most_file_bytes = std::size_t{1} << 31;  ///< of read_file(): flatbuffers address no more
Bytes read_file(const std::filesystem::path& path);

/// The graph as a TOSA 1.0 flatbuffer. Quantization scales, which TOSA does not know, are left out.
Bytes write_tosa(const Graph& graph);
/// Writes to a temporary file beside `path` and renames it, so that no half-written file is left.
void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace tosavk

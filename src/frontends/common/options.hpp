// How files become graphs, for every front end. Nothing in a file is trusted: every offset, count, type, shape and
// buffer size is checked before use, and what is wrong is said in one sentence (Error: io, bad_model or unsupported).
#pragma once

#include "graph/graph.hpp"

#include <filesystem>
#include <map>
#include <memory>

namespace tosavk {

class CustomSet;

/// The layout of a .tosa file, for files whose version table is empty and whose structure does not tell.
enum class TosaSpec : std::uint8_t { recognise, v0_30, v0_80, v1_0 };

/// How the quantized operators of .tflite files scale their sums: operator by operator as the reference kernels of
/// ai-edge-litert 2.3.0; all with double rounding, as those of TFLite 2.14 and before; or all with single rounding.
enum class TfliteRounding : std::uint8_t { tflite, double_round, single_round };

/// What becomes of float activations that meet int8 weights in .tflite files: they are quantized at run time as
/// TFLite's kernels do, or the weights are made floats.
enum class TfliteHybrid : std::uint8_t { exact, dequantize };

struct ImportOptions {
    TfliteRounding rounding = TfliteRounding::tflite;
    TfliteHybrid hybrid = TfliteHybrid::exact;
    const Level* level = &level_8k;
    /// Shapes for graph inputs with dynamic dimensions, by input index; a dimension without one is taken as 1.
    std::map<std::size_t, Shape> input_shapes;
    TosaSpec spec = TosaSpec::recognise;       ///< .tosa files only
    std::string signature;                     ///< .tflite files only: which one is the graph; empty: the main subgraph
    std::filesystem::path folder;              ///< where the file lies, for files beside it; empty: unknown
    std::shared_ptr<const CustomSet> customs;  ///< what carries out CUSTOM nodes; may be null
    bool f64_as_f32 = false;                   ///< StableHLO only: f64 and complex<f64> are computed as f32
};

}  // namespace tosavk

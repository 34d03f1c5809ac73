// How files become graphs, for every front end. Nothing in a file is trusted: every offset, count, type, shape and
// buffer size is checked before use, and what is wrong is said in one sentence (Error: io, bad_model or unsupported).
#pragma once

#include "graph/graph.hpp"

#include <map>
#include <memory>

namespace tosavk {

class CustomSet;

/// The layout of a .tosa file, for files whose version table is empty and whose structure does not tell.
enum class TosaSpec : std::uint8_t { recognise, v0_30, v0_80, v1_0 };

struct ImportOptions {
    Rounding rounding = Rounding::double_round;  ///< requantization of the TFLite importer: double or single
    const Level* level = &level_8k;
    /// Shapes for graph inputs with dynamic dimensions, by input index; a dimension without one is taken as 1.
    std::map<std::size_t, Shape> input_shapes;
    TosaSpec spec = TosaSpec::recognise;       ///< .tosa files only
    std::shared_ptr<const CustomSet> customs;  ///< what carries out CUSTOM nodes; may be null
};

}  // namespace tosavk

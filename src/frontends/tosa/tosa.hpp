// .tosa files.
#pragma once

#include "frontends/common/options.hpp"
#include "frontends/common/probe.hpp"

#include <span>

namespace tosavk {

/// Every generation that file.hpp names, upgraded to TOSA 1.0.
Graph import_tosa(std::span<const std::byte> file, const ImportOptions& options);
/// Throws Error for a file that cannot be read at all.
ProbeReport probe_tosa(std::span<const std::byte> file, const ImportOptions& options);
/// The graph as a TOSA 1.0 flatbuffer. Quantization scales, which TOSA does not know, are left out. Throws
/// Error(unsupported) for inputs and outputs without elements, which TOSA does not know either, unless they
/// `may_be_empty`: what is made then is read at a level with_empty() alone.
Bytes write_tosa(const Graph& graph, bool may_be_empty = false);

}  // namespace tosavk

// TensorFlow Lite files.
#pragma once

#include "frontends/common/facts.hpp"
#include "frontends/common/options.hpp"
#include "frontends/common/probe.hpp"
#include "frontends/common/signature.hpp"

#include <span>

namespace tosavk {

Graph import_tflite(std::span<const std::byte> file, const ImportOptions& options);
/// Throws Error for a file that cannot be read at all.
ProbeReport probe_tflite(std::span<const std::byte> file, const ImportOptions& options);
/// Dimensions are open where shape or shape_signature has -1 and `options` no shape.
Signature tflite_signature(std::span<const std::byte> file, const ImportOptions& options);
/// Throws like import_tflite().
FileFacts tflite_facts(std::span<const std::byte> file);

}  // namespace tosavk

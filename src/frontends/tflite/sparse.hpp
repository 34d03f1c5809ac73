// Sparse constants (SparsityParameters) become dense ones.
#pragma once

#include "frontends/tflite/file.hpp"

#include <string>

namespace tosavk {

/// The elements of `tensor`, which is sparse, with zeros in between, each of `element` bytes. What is wrong with the
/// description is said in `error`; then nothing is returned.
Bytes densify(const TfliteTensor& tensor, std::size_t element, std::string& error);

}  // namespace tosavk

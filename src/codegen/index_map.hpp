// Index maps made smaller, so that generated code divides as little as possible.
#pragma once

#include "ops/op.hpp"

namespace tosavk {

/// The map that reads a value of shape `from` right-aligned and broadcast into the index space `space`.
IndexMap broadcast_map(const Shape& from, const Shape& space);

/// An equal map with dimensions of size 1 dropped and adjacent dimensions joined where one stride describes both.
/// Unpadded dimensions get lo and hi removed when no dimension is padded.
IndexMap simplify(const IndexMap& map);

bool is_padded(const IndexMap& map);

/// Whether every four elements that begin at a multiple of four in the index space do so in the tensor, one behind the
/// other.
bool keeps_quads(const IndexMap& map);

/// Position of element `e` (row-major in the index space), or -1 where there is none. The host's version of the
/// generated code, for tests and constant folding.
std::int64_t evaluate(const IndexMap& map, std::int64_t e);

}  // namespace tosavk

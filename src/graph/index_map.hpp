// Index maps made smaller, so that generated code divides as little as possible.
#pragma once

#include "graph/types.hpp"

namespace tosavk {

/// Where the elements of an index space lie in a tensor: base + sum(c[i] * strides[i]). With `lo` and `hi` set (PAD),
/// coordinates outside lo[i] <= c[i] < hi[i] have no element. The product of dims is the number of elements; dims may
/// factor a shape more finely than the value does (TILE), as long as row-major order agrees.
struct IndexMap {
    Shape dims;
    std::vector<std::int64_t> strides;
    std::int64_t base = 0;
    std::vector<std::int64_t> lo, hi;

    bool operator==(const IndexMap&) const = default;
};

/// The map that reads a value of shape `from` right-aligned and broadcast into the index space `space`.
IndexMap broadcast_map(const Shape& from, const Shape& space);

/// An equal map with dimensions of size 1 dropped and adjacent dimensions joined where one stride describes both.
/// Unpadded dimensions get lo and hi removed when no dimension is padded.
IndexMap simplify(const IndexMap& map);

bool is_padded(const IndexMap& map);

/// Whether the map leaves out elements along dimension i.
bool pads(const IndexMap& map, std::size_t i);
/// Whether every row (all of the last dimension) begins at a multiple of four in the tensor.
bool rows_begin_with_quads(const IndexMap& map);
/// Whether every row consists of whole quads of the tensor, in order, each of them there or not as a whole.
bool has_rows_of_quads(const IndexMap& map);

/// Whether every four elements that begin at a multiple of four in the index space do so in the tensor, one behind the
/// other.
bool keeps_quads(const IndexMap& map);

/// Position of element `e` (row-major in the index space), or -1 where there is none. The host's version of the
/// generated code, for tests and constant folding.
std::int64_t evaluate(const IndexMap& map, std::int64_t e);

}  // namespace tosavk

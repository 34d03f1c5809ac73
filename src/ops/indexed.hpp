// What the operators with indices that are known at run time only share: GATHER_ND, SCATTER_ND, SEGMENT_REDUCE.
#pragma once

#include "graph/graph.hpp"

#include <optional>
#include <span>

namespace tosavk {

/// A tensor seen as [batches, slots, row], and the tuples of indices that name its slots as [batches, tuples, depth].
struct IndexedSizes {
    std::int64_t batches = 1, slots = 1, row = 1, tuples = 1;
    std::vector<std::int64_t> dims;  ///< the dimensions that a tuple indexes; their product is `slots`

    std::int64_t all_slots() const { return batches * slots; }
    std::int64_t all_tuples() const { return batches * tuples; }
};

/// Throws view.fail() where the shapes do not fit each other.
IndexedSizes indexed_sizes(const NodeView& view);

/// The slot that tuple number `tuple` names, counted over all batches; nothing where one of its indices is outside and
/// the node does not clamp them.
std::optional<std::int64_t> slot_of(const IndexedSizes& sizes, std::span<const std::int64_t> indices,
                                    std::int64_t tuple, OutOfRange rule);

}  // namespace tosavk

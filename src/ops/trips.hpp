// How often a loop turns, where the graph alone says it.
#pragma once

#include "graph/graph.hpp"

#include <cstdint>
#include <optional>

namespace tosavk {

/// The turns of a WHILE_LOOP that goes on while an i32 counter of its list is below (or above) a bound: the counter
/// begins with a constant and each turn adds one; the bound is a constant, or in the list, handed on unchanged. None
/// where anything else decides, or where the counter would leave i32 before the loop ends.
std::optional<std::int64_t> trip_count(const Graph& graph, NodeId loop);

/// How often it turns at most, where such a counter is one of several conditions that must all hold.
std::optional<std::int64_t> trip_bound(const Graph& graph, NodeId loop);

/// Whether the body of a WHILE_LOOP hands input number `k` of its list on unchanged.
bool is_invariant(const Node& loop, std::size_t k);

}  // namespace tosavk

// Whether two graphs are the same, whatever the numbers of their values.
#pragma once

#include "graph/graph.hpp"

namespace tosavk {

/// Empty when both graphs are the same: the same inputs and outputs, by name; the same nodes in the same order, with
/// the same attributes (those that the operator uses), names, types, shapes and bytes of what they read and write. Free
/// are the numbering of values, constants that nothing reads, the graph's and the nodes' names, and scales, which only
/// explain; inside regions all names. Else a sentence with the first difference.
std::string graph_difference(const Graph& a, const Graph& b);
}  // namespace tosavk

// In which order a shader makes the values of a group.
#pragma once

#include "graph/graph.hpp"

#include <vector>

namespace tosavk {

/// `members`, nodes of one output each behind those whose results they read, in an order that keeps few values waiting:
/// of what a node reads the part that needs most registers comes first (Sethi and Ullman, The Generation of Optimal
/// Code for Arithmetic Expressions). Values read twice make it a guess: where it keeps no fewer waiting, the order
/// stays as it is. Compilers do not move code across loops, of which long functions have some, so that the order of the
/// text is theirs.
std::vector<NodeId> with_few_waiting(const Graph& graph, const std::vector<NodeId>& members);

}  // namespace tosavk

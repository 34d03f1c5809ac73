// Nodes get their groups, one after another.
#pragma once

#include "compile/group/group_graph.hpp"

namespace tosavk {

/// Every node that needs a dispatch is in exactly one group afterwards. Throws Error(unsupported) when no kernel
/// candidate takes a node, with every candidate's reason.
void place_nodes(GroupGraph& fusion);

}  // namespace tosavk

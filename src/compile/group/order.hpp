// The last steps of fusion: what each group must write, and the order in which they run.
#pragma once

#include "compile/group/group_graph.hpp"

namespace tosavk {

/// Fills in Group::outputs.
void find_outputs(GroupGraph& fusion);

/// The groups that run, each behind those that it needs. One whose results nobody reads does not run, unless it has an
/// effect: writes of variables, and regions (which may hold some, or never end).
std::vector<Group> in_order(const GroupGraph& fusion);

}  // namespace tosavk

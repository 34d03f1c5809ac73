// Fusion: which nodes share a dispatch.
#pragma once

#include "compile/group/group.hpp"
#include "compile/options.hpp"

#include <vector>

namespace tosavk {

/// Groups in execution order; every node that needs a dispatch is in exactly one (what lies in another value's memory
/// needs none: homes.hpp). With `options.fuse` the passes that it allows (passes.hpp) put several nodes into one.
/// Throws Error(unsupported) when no kernel candidate takes a node, with every candidate's reason.
std::vector<Group> fuse(const Graph& graph, const DevicePlan& device, const PlanOptions& options);

}  // namespace tosavk

#include "compile/group/fuse.hpp"

#include "compile/group/order.hpp"
#include "compile/group/passes.hpp"
#include "compile/group/place.hpp"

namespace tosavk {

namespace {

/// A pass over the groups, once all nodes have theirs.
struct GroupPass {
    bool PlanOptions::* enabled;
    bool loses_values;  ///< computes some more than once and stores them nowhere
    void (*run)(GroupGraph&);
};

constexpr GroupPass passes[] = {
    {&PlanOptions::merge_groups, false, merge_elementwise},
    {&PlanOptions::fuse_rows, false, fuse_rows},
    {&PlanOptions::fuse_prologues, true, fuse_prologues},
    {&PlanOptions::fuse_moved, true, fuse_moved},
};

}  // namespace

std::vector<Group> fuse(const Graph& graph, const DevicePlan& device, const PlanOptions& options) {
    GroupGraph fusion(graph, device, options);
    place_nodes(fusion);
    for (const GroupPass& pass : passes) {
        const bool allowed = options.fuse && !(pass.loses_values && options.keep_all);
        if (allowed && options.*pass.enabled) pass.run(fusion);
    }
    find_outputs(fusion);
    return in_order(fusion);
}

}  // namespace tosavk

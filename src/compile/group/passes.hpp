// The ways of fusing. Each has a file and a switch of PlanOptions; fuse.cpp has them in their order.
//
// The first two are asked while nodes get their groups (place.hpp), since a node's place depends on the places of those
// before it. The others go over the groups that came of this, one index after another.
#pragma once

#include "compile/group/group_graph.hpp"

namespace tosavk {

struct ViewDef;

// ---- while nodes get their groups

/// CONCAT: each input that the group which makes it can store in its place is stored there, the others are copied,
/// those of one size by one dispatch. The value belongs to a group that does nothing but wait for these. Without the
/// pass (PlanOptions::store_in_place) each input is copied by a dispatch of its own.
void place_concat(GroupGraph& fusion, const NodeView& view, const ViewDef& move);
/// TRANSPOSE: true where the group that makes the operand now stores it transposed, in whole quads.
bool store_transposed(GroupGraph& fusion, const NodeView& view);

/// A cheap step between a value that is written anyway and one elementwise consumer is better computed where it is
/// consumed (the operands of a residual ADD): else its result would be written beside its operand.
bool waits_for_its_consumer(const GroupGraph& fusion, const NodeView& view);
/// The node behind the waiting nodes that feed it, in execution order.
std::vector<NodeId> with_waiting(const GroupGraph& fusion, NodeId id);
/// Adds elementwise nodes to the group of one of their producers, where it covers the same index space (`space`), no
/// cycle arises and it still fits. PlanOptions::join_followers.
bool join_producer(GroupGraph& fusion, const std::vector<NodeId>& bundle, const Shape& space);
/// Says that the group runs the elementwise node.
void settle(GroupGraph& fusion, NodeId member, std::size_t group);

// ---- over the groups

/// Takes elementwise groups into those that read their values element by element: the operands of an operator that
/// joined the group of another. PlanOptions::merge_groups.
void merge_elementwise(GroupGraph& fusion);
/// Takes the neighbours of groups with row reductions into them, as far as they fit. PlanOptions::fuse_rows.
void fuse_rows(GroupGraph& fusion);
/// Lets kernels make what they read instead of the elementwise groups before them. PlanOptions::fuse_prologues; not
/// with keep_all, which wants those values.
void fuse_prologues(GroupGraph& fusion);
/// Lets elementwise groups make what their SLICE, PAD, REVERSE, TILE or TRANSPOSE reads instead of the groups before
/// them. PlanOptions::fuse_moved; not with keep_all.
void fuse_moved(GroupGraph& fusion);

}  // namespace tosavk

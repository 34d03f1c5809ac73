// Groups under construction and the edges between them: the plain data that the passes of fusion change, and what each
// of them asks of it.
#pragma once

#include "compile/group/group.hpp"
#include "compile/group/homes.hpp"

#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tosavk {

/// Index of no group.
inline constexpr std::size_t no_group = static_cast<std::size_t>(-1);

struct GroupGraph {
    GroupGraph(const Graph& graph, const DevicePlan& device, const PlanOptions& options);

    // What the passes read.
    const Graph& graph;
    const DevicePlan& device;
    const PlanOptions& options;
    const std::vector<Home> homes;               ///< by ValueId
    std::vector<std::vector<NodeId>> consumers;  ///< by ValueId; one that reads a value twice stands there twice
    std::vector<bool> is_output;                 ///< by ValueId

    // What they change. A group that was taken into another stays, with Group::Kind::none.
    std::vector<Group> groups;
    std::vector<std::set<std::size_t>> needs;         ///< by group: those that must run before it
    std::vector<std::size_t> group_of;                ///< by ValueId: the group that makes it; no_group for none
    std::vector<bool> waiting;                        ///< by NodeId: has no group until its consumer has one
    std::vector<bool> absorbed;                       ///< by NodeId: a group's kernel computes it (Group::absorbed)
    std::set<std::pair<NodeId, std::size_t>> stored;  ///< inputs (of CONCAT, TRANSPOSE) that the groups which make
                                                      ///< them store in their place

    // Of reaches() alone: it is asked for every pair that may become one, and its searches share a list of visits.
    mutable std::vector<std::uint32_t> seen;  ///< by group: the last search that came by
    mutable std::uint32_t search = 0;
};

// ---- values

/// Group that computes the memory behind a value; no_group for inputs and constants.
std::size_t producer(const GroupGraph& fusion, ValueId id);
/// Those of all inputs.
std::set<std::size_t> producers(const GroupGraph& fusion, const Node& node);
std::set<std::size_t> producers(const GroupGraph& fusion, const std::vector<NodeId>& nodes);
/// Whether the value is a part of another: it has that one's memory, but is no variable where that one is.
bool is_part(const GroupGraph& fusion, ValueId id);
/// Whether every operand of the node made by `target` has the elements of that group's index space in its order, under
/// whatever shape, and so is a variable there.
bool reads_in_register(const GroupGraph& fusion, const Node& node, std::size_t target);

// ---- groups

/// Whether elementwise nodes, or stores, may join the group.
bool takes_followers(const Group& group);
/// Whether one dispatch can be the group: members, what they compute, registers, and buffers with what it must write,
/// which are graph outputs and values with a consumer outside. A consumer that joins later only makes these fewer, so a
/// group that fits once always will.
bool fits(const GroupGraph& fusion, const Group& group);
/// The new group's index.
std::size_t add_group(GroupGraph& fusion, Group group, std::set<std::size_t> needs);

// ---- two groups

/// Whether `to` must run after `from`.
bool reaches(const GroupGraph& fusion, std::size_t from, std::size_t to);
/// What the two would need as one; nothing where that would be a cycle.
std::optional<std::set<std::size_t>> joint_needs(const GroupGraph& fusion, std::size_t g, std::size_t h);
/// `larger`, which is both, replaces g; nothing is left of h.
void merge(GroupGraph& fusion, std::size_t g, Group larger, std::size_t h, std::set<std::size_t> needs);
/// Adds members and stores of another group to it, in execution order.
void take_members(Group& group, const Group& taken);

}  // namespace tosavk

// The state of fuse(): groups under construction, with the edges between them. What it does stands in several files:
// nodes to groups in fuse.cpp, CONCAT and TRANSPOSE as stores in fuse_moves.cpp, groups that become one, outputs and
// order in fuse_groups.cpp, row groups in fuse_rows.cpp, prologues in fuse_prologues.cpp.
#pragma once

#include "compile/group/fuse.hpp"
#include "compile/group/homes.hpp"
#include "ops/op.hpp"
#include "ops/storage.hpp"

#include <map>
#include <set>

namespace tosavk {

class Fuser {
public:
    Fuser(const Graph& graph, const DevicePlan& device, const PlanOptions& options);
    std::vector<Group> run();

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    /// Group that computes the memory behind a value; none for inputs and constants.
    std::size_t producer(ValueId id) const { return group_of_[homes_[id].owner]; }
    /// Whether the value is a part of another: it has that one's memory, but is no variable where that one is.
    bool is_part(ValueId id) const { return homes_[id].owner != storage_of(graph_, id); }
    /// Whether elementwise nodes, or stores, may join the group.
    static bool takes_followers(const Group& group) {
        return group.kind == Group::Kind::elementwise || group.kind == Group::Kind::rows ||
               (group.kind == Group::Kind::kernel && group.choice->fuses_followers);
    }

    // ---- nodes to groups: fuse.cpp

    std::set<std::size_t> producers(const Node& node) const;
    std::set<std::size_t> producers(const std::vector<NodeId>& nodes) const;
    std::size_t new_group(Group group, std::set<std::size_t> needs);
    void place(NodeId id);
    void place_anchor(const NodeView& view, KernelChoice choice);
    /// Reads and writes of a variable keep the order of the nodes.
    void place_structural(const NodeView& view);
    static void find_accesses(const Node& node, std::set<std::string>& reads, std::set<std::string>& writes);
    void place_alone(const std::vector<NodeId>& bundle);
    void settle(NodeId member, std::size_t group);
    /// A cheap step between a value that is written anyway and one elementwise consumer is better computed where it is
    /// consumed (the operands of a residual ADD): else its result would be written beside its operand.
    bool waits_for_its_consumer(const NodeView& view) const;
    /// The node behind the waiting nodes that feed it, in execution order.
    std::vector<NodeId> with_pending(NodeId id) const;
    /// Values of the group that must be written: graph outputs, and those with a consumer outside. A consumer that
    /// joins later only makes them fewer, so a group that fits once always will.
    std::size_t count_outputs(const Group& group) const;
    std::size_t bindings_of(ValueId id) const;
    bool fits(const Group& group) const;
    /// Adds the nodes to the group of one of their producers.
    bool join(const std::vector<NodeId>& bundle, const Shape& space);
    /// Whether every operand made by `target` has the elements of the group's index space in its order, under whatever
    /// shape, and so is a variable there.
    bool reads_in_register(const Node& node, std::size_t target) const;

    // ---- nodes that only move elements: fuse_moves.cpp

    /// Whether the value reaches this consumer by the stores of its own group.
    bool is_stored(ValueId value, NodeId consumer) const;
    /// CONCAT: each input is stored in its place by the group that makes it, or copied. The value belongs to a group
    /// that does nothing but wait for these.
    void place_concat(const NodeView& view, const ViewDef& move);
    /// TRANSPOSE, where the group that makes the operand can store it transposed in whole quads.
    bool place_transpose(const NodeView& view);
    /// Lets the group that makes the input store it; false where that group cannot.
    bool store_part(const Group::Store& part);

    // ---- whole groups: fuse_groups.cpp

    bool reaches(std::size_t from, std::size_t to) const;
    /// What the two would need as one; nothing where that would be a cycle.
    std::optional<std::set<std::size_t>> joint_needs(std::size_t g, std::size_t h) const;
    void merge(std::size_t g, Group larger, std::size_t h, std::set<std::size_t> needs);
    /// Takes an elementwise group into one that reads its values element by element, if there is such a one: the
    /// operands of an operator that joined the group of another.
    bool grow_elementwise(std::size_t g);
    bool take_elementwise(std::size_t g, std::size_t h);
    void collect_outputs();
    /// Writes of variables and regions (which may hold some, or never end) run whether their results are read or not.
    bool has_effect(const Group& group) const;
    std::vector<Group> schedule();
    void emit(std::size_t root, std::vector<bool>& done, std::vector<Group>& order);

    // ---- row groups: fuse_rows.cpp

    void place_rows(const NodeView& view, const Rows& rows);
    /// The group as a row group, if it is one or its anchor reduces rows.
    std::optional<Group> as_rows(const Group& group) const;
    /// Takes one neighbour of a group with row reductions into it, if there is one that fits.
    bool grow_rows(std::size_t g);
    bool take_rows(std::size_t g, const Group& group, std::size_t h);
    /// Whether the group broadcasts a value of the rows from the group g over their elements.
    bool spreads_rows_of(std::size_t g, const Group& reader, const Rows& rows) const;
    /// Whether a row group may run the node, whose operands from the groups g and h are then variables there.
    bool reads_in_rows(const Node& node, const Value& out, const Rows& rows, std::size_t g, std::size_t h) const;

    // ---- what kernels compute where they read it: fuse_prologues.cpp

    struct Read {
        NodeId node;  ///< no_id: a graph output
        std::size_t input;
    };
    /// Reads of a value under whatever shape, by nodes that are more than another name.
    void find_reads(ValueId id, std::vector<Read>& reads) const;
    /// The one value of an elementwise group that anything outside reads, if none but these do.
    std::optional<ValueId> value_for(const Group& elementwise, const std::set<NodeId>& readers) const;
    static bool may_be_prologue(const Group& group);
    /// Lets a kernel make what it reads instead of the group h.
    void take_prologue(std::size_t g, std::size_t h);
    /// Lets an elementwise group make what its SLICE, PAD, REVERSE, TILE or TRANSPOSE reads instead of the group h.
    void take_moved(std::size_t g, std::size_t h);

    const Graph& graph_;
    const DevicePlan& device_;
    const PlanOptions& options_;
    const std::vector<Home> homes_;
    std::vector<std::size_t> group_of_;           ///< by ValueId
    std::vector<std::vector<NodeId>> consumers_;  ///< by ValueId
    std::vector<bool> is_output_;                 ///< by ValueId
    std::vector<bool> pending_;                   ///< by NodeId: computed where its consumer is
    std::vector<Group> groups_;
    std::vector<std::set<std::size_t>> needs_;
    std::vector<bool> dead_;
    mutable std::vector<std::uint32_t> seen_;  ///< by group: the last search of reaches() that came by
    mutable std::uint32_t search_ = 0;
    struct Accesses {
        std::size_t written = none;     ///< the last group that writes it
        std::vector<std::size_t> read;  ///< those that read it since
    };
    std::map<std::string, Accesses> accesses_;         ///< by variable
    std::set<std::pair<NodeId, std::size_t>> stored_;  ///< inputs that their own groups store in their place
};

}  // namespace tosavk

// Reductions along a row: those whose axis is the last one, but for axes of size 1. A row group (Group::rows) runs them
// together with what is elementwise over the rows' elements, and reads a row once per reduction instead of storing it.
// Those along other axes have columns for rows.
#pragma once

#include "compile/group/group.hpp"

#include <map>
#include <optional>

namespace tosavk {

/// How a row group would run the node; nothing for other operators, other axes, and rows so long and few that they keep
/// only a small part of a device busy. A function of node and device alone: it fixes the order of a float sum.
std::optional<Rows> row_reduction(const NodeView& view, const DevicePlan& device);

/// The same for other axes. A float sum has the order here that its kernel gives it, so that it needs no group of its
/// own.
std::optional<Rows> column_reduction(const NodeView& view, const DevicePlan& device);

/// Whether the reduction's bits depend on the order. Such a reduction, if it is one along a row, is always run by a row
/// group, so that it has the same bits alone as beside others; one along columns always by the same candidate of its
/// kernel.
bool order_matters(const NodeView& reduction);

/// Loops over its row that one group may have: row_reduction() counts on no more.
inline constexpr std::size_t max_row_loops = 6;

/// Whether a value of shape `from`, one element per row, is broadcast over the rows by a node whose result has shape
/// `to`.
bool spreads_over_rows(const Shape& from, const Shape& to, const Rows& rows);

/// What a row group computes before, and in, one of its passes over the rows.
struct RowPass {
    std::vector<NodeId> of_rows;        ///< members that make the rows' own values, before the pass
    std::vector<NodeId> over_elements;  ///< members over the rows' elements: what the rest needs, computed anew
    std::vector<NodeId> reductions;     ///< of the pass, in execution order
    bool has_loop = false;              ///< false: nothing needs the pass
};

/// The passes of a row group, one for each number of reductions that lie one behind the other.
struct RowPasses {
    std::vector<RowPass> passes;
    std::map<ValueId, std::size_t> depths;  ///< by value that the group makes: reductions before it; the index of the
                                            ///< pass that can compute it
};
RowPasses row_passes(const Graph& graph, const Group& group, Outputs outputs);

/// The value that the group stores as this part.
ValueId stored_by(const Graph& graph, const Group::Store& part);

}  // namespace tosavk

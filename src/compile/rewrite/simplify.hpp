// Rewrites of the graph before fusion that leave less to compute. Each works on a copy of the graph that has the same
// values and nodes as the original, by number: a node that is taken out becomes one of Op::unknown without operands,
// new constants come after all values. Outputs of the graph stay the results of nodes. Regions are planned, and so
// rewritten, as graphs of their own.
#pragma once

#include "compile/options.hpp"
#include "device/device_plan.hpp"
#include "graph/graph.hpp"

namespace tosavk {

/// Makes constants of the results of nodes whose inputs are all constant, where the reference gives the device's bits:
/// for integers, for moved data, and for float operators that cannot round differently. Results may take four times the
/// bytes of the inputs, or 4 KiB.
void fold_constants(Graph& graph, const DevicePlan& device);

/// Without fold_constants: lets convolutions read float weights that it would make constants as such, while the nodes
/// that compute them stay. Kernels that read weights at run time add in another order, and no option may change a
/// result.
void settle_weights(Graph& graph, const DevicePlan& device);

/// Lets a TRANSPOSE of a TRANSPOSE, and a SLICE of a SLICE, read what the first one reads, and a CONCAT what CONCATs
/// read that nobody else needs.
void join_moves(Graph& graph);

/// Makes RESHAPEs, which cost nothing, of moves that move nothing.
void drop_still_moves(Graph& graph);

/// Lets the consumers of a node that equals an earlier one (operator, attributes, inputs) read the earlier one's
/// results. Small constants of the same type, shape and bytes are one.
void merge_equal(Graph& graph);

/// Takes out nodes that no output of the graph needs. Control flow and writes of variables stay.
void drop_unread(Graph& graph);

/// The graph after these rewrites and those of fold.hpp, as far as the options allow them.
Graph rewritten(const Graph& graph, const DevicePlan& device, const PlanOptions& options);

}  // namespace tosavk

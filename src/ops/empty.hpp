// Tensors without elements, which TOSA does not know and programs have: a batch that is empty, what a filter left. They
// may stand in a graph that is being built (Level::empty_tensors); a graph that is finished has them as inputs and
// outputs alone, so that neither the reference nor the planner ever sees an operator on one.
#pragma once

#include "ops/op.hpp"

namespace tosavk {

/// Throws view.fail() for a node that reads no elements where its result would need some: an ARGMAX of none, a GATHER
/// from nothing. What is left means something: nodes whose results are empty too; sums, products and extremes of none
/// (0, 1, the lowest and the highest, infinities of floats), matrix products and convolutions over no channels (zero,
/// and the bias), PAD around nothing, CONCAT with nothing, and updates by nothing.
void check_empty(const NodeView& view);

/// Whether an input or output of the graph, not of its regions, has no elements.
bool has_empty_ends(const Graph& graph);

/// The graph, checked with Level::empty_tensors, without nodes on tensors that have no elements. Its inputs and outputs
/// stay as they are; an empty output is a constant or an input. Lists of control flow lose what is empty.
Graph without_empty(const Graph& graph);

}  // namespace tosavk

// Rewrites before fusion: data movement that a convolution or a pool can do by itself.
#pragma once

#include "graph/graph.hpp"

namespace tosavk {

/// A copy of the graph with the same values and nodes, in which
/// - a convolution of a SLICE that keeps batch and channels reads the whole tensor, its padding shrunk by what the
/// slice cut off
///   (to negative padding, which no file may have, but which kernels take; TRANSPOSE_CONV2D keeps its SLICE);
/// - a convolution or AVG_POOL2D of a PAD with the value that stands for zero pads by itself (the pool then counts that
/// padding);
/// - a MAX_POOL2D of a PAD with the lowest value pads by itself.
/// Nodes that nobody reads any more stay. Regions are not touched.
Graph fold(const Graph& graph);

}  // namespace tosavk

// Rewrites before fusion: data movement that a convolution or a pool can do by itself.
#pragma once

#include "graph/graph.hpp"

namespace tosavk {

/// A copy of the graph with the same values and nodes, in which
/// - a convolution of a SLICE along height and width reads the whole tensor, its padding shrunk by what the slice cut off
///   (to negative padding, which no file may have, but which kernels take);
/// - a convolution of a PAD with the value that stands for zero pads by itself;
/// - a MAX_POOL2D of a PAD with the lowest value pads by itself.
/// Nodes that nobody reads any more stay. Regions are not touched.
Graph fold(const Graph& graph);

}  // namespace tosavk

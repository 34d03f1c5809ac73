// The same graph in another precision.
#pragma once

#include "graph/graph.hpp"

namespace tosavk {

/// A graph that computes in fp16 what `graph` computes in fp32. Inputs, outputs, variables and what control flow and
/// CUSTOM touch keep their types; CASTs stand between. Constants are rounded to nearest even, limits of CLAMP to the
/// nearest finite fp16; sums of products stay in fp32 where TOSA has that row. Operators without an fp16 row (FFT2D)
/// stay in fp32. `fast` sets Graph::fast_fp16. Throws Error when the graph is not valid.
Graph to_fp16(const Graph& graph, bool fast = false);

/// Sets Graph::fast_fp16 of the graph and of its regions.
void make_fast(Graph& graph, bool fast = true);

}  // namespace tosavk

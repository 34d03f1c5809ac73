// The graph as text and as a Graphviz picture.
#pragma once

#include "graph/graph.hpp"

namespace tosavk {

/// The attributes that the node's operator uses: "axis=1 nan_mode=PROPAGATE". Equal text means equal values.
std::string attributes_text(const Node& node);

/// Human-readable listing, one line per value and node.
std::string print_graph(const Graph& graph);
std::string print_dot(const Graph& graph);

}  // namespace tosavk

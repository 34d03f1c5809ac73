// The graph as text and as a Graphviz picture.
#pragma once

#include "graph/graph.hpp"

#include <string_view>

namespace tosavk {

struct OpDef;

/// The attributes that the node's operator uses: "axis=1 nan_mode=PROPAGATE". Equal text means equal values.
std::string attributes_text(const Node& node);
/// The inverse, for an operator of our own: every attribute once, in any order. Empty, or what is wrong with the text
/// (from a file) as the end of a sentence; what was read until then stays in `attrs`.
std::string read_attributes(const OpDef& def, std::string_view text, Attributes& attrs);
/// In quotes, with escapes. Equal text means equal bytes.
std::string in_quotes(const std::string& text);

/// Human-readable listing, one line per value and node.
std::string print_graph(const Graph& graph);
std::string print_dot(const Graph& graph);

}  // namespace tosavk

// The graph as text and as a Graphviz picture.
#pragma once

#include "graph/graph.hpp"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tosavk {

struct OpDef;

/// An attribute as a program gives it: numbers (a bool as 0 or 1), or the name of a value, a name or bytes.
struct AttributeValue {
    std::string_view name;
    std::variant<std::vector<std::int64_t>, std::vector<double>, std::string> value;
};

/// The attributes that the node's operator uses: "axis=1 nan_mode=PROPAGATE". Equal text means equal values.
std::string attributes_text(const Node& node);
/// The inverse, for an operator of our own: every attribute once, in any order. Empty, or what is wrong with the text
/// (from a file) as the end of a sentence; what was read until then stays in `attrs`.
std::string read_attributes(const OpDef& def, std::string_view text, Attributes& attrs);
/// The same for any operator, from a program: bools that are not given are false, values with names the first one, and
/// all else must be given.
std::string set_attributes(const OpDef& def, std::span<const AttributeValue> values, Attributes& attrs);
/// In quotes, with escapes. Equal text means equal bytes.
std::string in_quotes(const std::string& text);

/// Human-readable listing, one line per value and node.
std::string print_graph(const Graph& graph);
std::string print_dot(const Graph& graph);

}  // namespace tosavk

// The graph as text and as a Graphviz picture.
#include "ops/print.hpp"

#include "graph/host_tensor.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

std::string type_and_shape(const Value& v) { return fmt::format("{}[{}]", name_of(v.type), to_string(v.shape)); }

// The first elements of a constant.
std::string preview(const Value& v) {
    constexpr std::int64_t shown = 8;
    const std::int64_t count = element_count(v.shape);
    const std::size_t bytes = static_cast<std::size_t>(std::min(count, shown)) * size_of(v.type);
    const std::span<const std::byte> head(v.data->data(), std::min(bytes, v.data->size()));
    const std::string list = is_float(v.type) ? fmt::format("{:.7g}", fmt::join(decode_reals(v.type, head), ", "))
                                              : fmt::format("{}", fmt::join(decode_ints(v.type, head), ", "));
    return "{" + list + (count > shown ? fmt::format(", ... {} in all", count) : "") + "}";
}

const char* region_name(const Node& node, std::size_t r) {
    if (node.op == Op::cond_if) return r == 0 ? "then_graph" : "else_graph";
    return r == 0 ? "cond_graph" : "body_graph";
}

/// Lines of a region, set in.
std::string indented(const std::string& text) {
    std::string out = "    ";
    for (std::size_t k = 0; k < text.size(); ++k) {
        out += text[k];
        if (text[k] == '\n' && k + 1 < text.size()) out += "    ";
    }
    return out;
}

}  // namespace

std::string print_graph(const Graph& graph) {
    std::string text = fmt::format("graph '{}': TOSA {}, {} nodes, {} values{}\n", graph.name,
                                   graph.version == SpecVersion::v1_0 ? "1.0" : "0.30", graph.nodes.size(),
                                   graph.values.size(), graph.fast_fp16 ? ", precision fast" : "");
    const auto value_line = [&](const char* kind, ValueId id, const std::string& more) {
        const Value& v = graph.value(id);
        std::string line = fmt::format("{} %{} '{}' {}", kind, id, v.name, type_and_shape(v));
        if (v.scale != 0) line += fmt::format(" scale={:.9g} zero_point={}", v.scale, v.zero_point);
        if (!more.empty()) line += " " + more;
        text += line + "\n";
    };
    for (const ValueId id : graph.inputs) value_line("input", id, "");
    for (const Variable& v : graph.variables) {
        Value shown;
        shown.type = v.type;
        shown.shape = v.shape;
        shown.data = v.initial;
        text += fmt::format("variable {} {} {}\n", in_quotes(v.name), type_and_shape(shown),
                            v.initial ? preview(shown) : "zeros");
    }
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        if (graph.values[id].is_constant()) value_line("const", id, preview(graph.values[id]));
    }
    for (const Node& node : graph.nodes) {
        std::string line;
        for (const ValueId id : node.outputs) {
            line += fmt::format("{}%{} {}", line.empty() ? "" : ", ", id, type_and_shape(graph.value(id)));
        }
        line += fmt::format("{}{}(", line.empty() ? "" : " = ", name_of(node.op));
        for (std::size_t k = 0; k < node.inputs.size(); ++k)
            line += fmt::format("{}%{}", k == 0 ? "" : ", ", node.inputs[k]);
        line += ")";
        const std::string attributes = attributes_text(node);
        if (!attributes.empty()) line += " {" + attributes + "}";
        if (!node.name.empty()) line += fmt::format(" '{}'", node.name);
        text += line + "\n";
        for (std::size_t r = 0; r < node.regions.size(); ++r) {
            text += fmt::format("  {}:\n{}", region_name(node, r), indented(print_graph(*node.regions[r])));
        }
    }
    for (const ValueId id : graph.outputs) value_line("output", id, "");
    return text;
}

namespace {

/// Names begin with `prefix`, so that regions (clusters) and their graph stay apart.
std::string dot_body(const Graph& graph, const std::string& prefix) {
    std::string text;
    for (const ValueId id : graph.inputs) {
        const Value& v = graph.value(id);
        text += fmt::format("  {}v{} [shape=ellipse, label={}];\n", prefix, id,
                            in_quotes(v.name + "\n" + type_and_shape(v)));
    }
    for (NodeId n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        std::string label(name_of(node.op));
        if (!node.name.empty()) label += "\n" + node.name;
        const std::string attributes = attributes_text(node);
        if (!attributes.empty()) label += "\n" + attributes;
        for (const ValueId id : node.inputs) {
            const Value& v = graph.value(id);
            // Constants are part of the node's label: as nodes of their own they would hide the graph.
            if (v.is_constant()) label += "\n" + v.name + " " + type_and_shape(v);
        }
        text += fmt::format("  {}n{} [label={}];\n", prefix, n, in_quotes(label));
        for (const ValueId id : node.inputs) {
            const Value& v = graph.value(id);
            if (v.is_constant()) continue;
            const std::string from =
                fmt::format("{}{}{}", prefix, v.producer == no_id ? "v" : "n", v.producer == no_id ? id : v.producer);
            text += fmt::format("  {} -> {}n{} [label={}];\n", from, prefix, n, in_quotes(type_and_shape(v)));
        }
    }
    for (NodeId n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        for (std::size_t r = 0; r < node.regions.size(); ++r) {
            const std::string inner = fmt::format("{}n{}r{}", prefix, n, r);
            text += fmt::format("  subgraph cluster_{} {{\n  label={};\n  {}entry [shape=point];\n{}  }}\n", inner,
                                in_quotes(fmt::format("{} {}", name_of(node.op), region_name(node, r))), inner,
                                dot_body(*node.regions[r], inner));
            text += fmt::format("  {}n{} -> {}entry [style=dashed];\n", prefix, n, inner);
        }
    }
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
        const ValueId id = graph.outputs[k];
        const Value& v = graph.value(id);
        text += fmt::format("  {}o{} [shape=ellipse, label={}];\n", prefix, k,
                            in_quotes(v.name + "\n" + type_and_shape(v)));
        if (v.producer != no_id) text += fmt::format("  {0}n{1} -> {0}o{2};\n", prefix, v.producer, k);
        else if (!v.is_constant()) text += fmt::format("  {0}v{1} -> {0}o{2};\n", prefix, id, k);
    }
    return text;
}

}  // namespace

std::string print_dot(const Graph& graph) {
    return fmt::format("digraph {} {{\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n{}}}\n",
                       in_quotes(graph.name.empty() ? "graph" : graph.name), dot_body(graph, ""));
}

}  // namespace tosavk

// Whether two graphs are the same, whatever the numbers of their values.
#include "ops/compare.hpp"

#include "ops/op.hpp"
#include "ops/print.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

std::string describe(const Value& v) {
    return fmt::format("'{}' {} {}{}", v.name, name_of(v.type), to_string(v.shape), v.is_constant() ? " constant" : "");
}

std::string value_difference(const Value& a, const Value& b, bool by_name) {
    if ((by_name && a.name != b.name) || a.type != b.type || a.shape != b.shape || a.is_constant() != b.is_constant()) {
        return fmt::format("{} against {}", describe(a), describe(b));
    }
    if (a.is_constant() && a.data != b.data) return fmt::format("{} has other bytes", describe(a));
    return {};
}

/// Of the value in `b` that stands for each value of `a`: the first meeting decides, all others must agree.
using Partners = std::vector<ValueId>;

std::string list_difference(const Graph& a, const std::vector<ValueId>& in_a, const Graph& b,
                            const std::vector<ValueId>& in_b, const std::string& what, Partners& partners,
                            bool by_name) {
    if (in_a.size() != in_b.size()) return fmt::format("{} {}s against {}", in_a.size(), what, in_b.size());
    for (std::size_t k = 0; k < in_a.size(); ++k) {
        ValueId& partner = partners.at(in_a[k]);
        if (partner == in_b[k]) continue;
        if (partner != no_id) return fmt::format("{} {} '{}' is another value", what, k, a.value(in_a[k]).name);
        partner = in_b[k];
        const std::string found = value_difference(a.value(in_a[k]), b.value(in_b[k]), by_name);
        if (!found.empty()) return fmt::format("{} {}: {}", what, k, found);
    }
    return {};
}

std::string difference(const Graph& a, const Graph& b, bool by_name) {
    if (a.version != b.version) return "the versions differ";
    if (a.nodes.size() != b.nodes.size()) return fmt::format("{} nodes against {}", a.nodes.size(), b.nodes.size());
    if (a.variables.size() != b.variables.size()) {
        return fmt::format("{} variables against {}", a.variables.size(), b.variables.size());
    }
    for (const Variable& v : a.variables) {
        const Variable* other = b.find_variable(v.name);
        if (!other) return fmt::format("variable '{}' is missing", v.name);
        if (v.type != other->type || v.shape != other->shape)
            return fmt::format("variable '{}' differs in type or shape", v.name);
        if (!by_name) continue;  // a region's variables begin where those of its graph do
        if (v.initial != other->initial) {
            return fmt::format("variable '{}' has another initial value", v.name);
        }
    }
    Partners partners(a.values.size(), no_id);
    std::string found = list_difference(a, a.inputs, b, b.inputs, "graph input", partners, by_name);
    for (NodeId n = 0; found.empty() && n < a.nodes.size(); ++n) {
        const Node &x = a.node(n), &y = b.node(n);
        const std::string where = fmt::format("node {}", n);
        if (x.op != y.op) return fmt::format("{}: {} against {}", where, name_of(x.op), name_of(y.op));
        const std::string attrs_x = attributes_text(x), attrs_y = attributes_text(y);
        if (attrs_x != attrs_y) return fmt::format("{} ({}): {} against {}", where, name_of(x.op), attrs_x, attrs_y);
        if (x.regions.size() != y.regions.size()) return where + ": another number of regions";
        for (std::size_t r = 0; r < x.regions.size(); ++r) {
            const std::string inner = difference(*x.regions[r], *y.regions[r], false);
            if (!inner.empty()) return fmt::format("{} ({}), region {}: {}", where, name_of(x.op), r, inner);
        }
        found = list_difference(a, x.inputs, b, y.inputs, where + " input", partners, by_name);
        if (found.empty()) found = list_difference(a, x.outputs, b, y.outputs, where + " output", partners, by_name);
    }
    return found.empty() ? list_difference(a, a.outputs, b, b.outputs, "graph output", partners, by_name) : found;
}

}  // namespace

std::string graph_difference(const Graph& a, const Graph& b) { return difference(a, b, true); }

}  // namespace tosavk

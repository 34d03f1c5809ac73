// Graph and NodeView.
#include "graph/graph.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

namespace tosavk {

const Variable* Graph::find_variable(std::string_view variable) const {
    for (const Variable& v : variables) {
        if (v.name == variable) return &v;
    }
    return nullptr;
}

std::vector<std::int64_t> NodeView::constant_ints(std::size_t k) const {
    const Value& v = in(k);
    if (!v.is_constant()) fail(fmt::format("input '{}' must be a constant", v.name), v.name);
    if (is_float(v.type)) fail(fmt::format("input '{}' must hold integers, not {}", v.name, name_of(v.type)), v.name);
    return decode_ints(v.type, *v.data);
}

std::string NodeView::title() const {
    const std::string_view op = name_of(node().op);
    return node().name.empty() ? fmt::format("{} (node {})", op, id_) : fmt::format("{} '{}'", op, node().name);
}

void NodeView::fail(const std::string& what, const std::string& operand) const {
    throw Error(ErrorCode::bad_model, title() + ": " + what, node().name, operand);
}

}  // namespace tosavk

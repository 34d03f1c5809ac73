// NodeView and GraphBuilder.
#include "graph/graph.hpp"

#include "graph/host_tensor.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <cctype>
#include <unordered_set>

namespace tosavk {

// ---- NodeView -----------------------------------------------------------------------------------------------------

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

// ---- GraphBuilder -------------------------------------------------------------------------------------------------

namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

// Pool entries are found by type, shape and bytes, so that -0 and 0 stay apart.
std::string pool_key(DType type, const Shape& shape, const Bytes& bytes) {
    std::string key = fmt::format("{} {} ", name_of(type), to_string(shape));
    for (const std::byte b : bytes) key += fmt::format("{:02x}", static_cast<unsigned>(b));
    return key;
}

void check_dimensions(const std::string& name, DType type, const Shape& shape) {
    for (const std::int64_t d : shape) {
        // A shape value of length 0 is the shape of a scalar; no other tensor may be empty.
        if (d < 0 || (d == 0 && type != DType::shape)) {
            throw Error(
                ErrorCode::bad_model,
                fmt::format("tensor '{}' has shape {}, but every dimension must be at least 1", name, to_string(shape)),
                {}, name);
        }
    }
    element_count(shape);
}

ValueId push_value(Graph& graph, Value value) {
    graph.values.push_back(std::move(value));
    return static_cast<ValueId>(graph.values.size() - 1);
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, const Level& level) : level_(&level) { graph_.name = std::move(name); }

ValueId GraphBuilder::input(const std::string& name, DType type, const Shape& shape) {
    check_dimensions(name, type, shape);
    if (type == DType::shape) {
        throw Error(ErrorCode::bad_model, fmt::format("graph input '{}' cannot have type shape", name), {}, name);
    }
    Value value;
    value.name = name.empty() ? fmt::format("input_{}", graph_.inputs.size()) : name;
    value.type = type;
    value.shape = shape;
    const ValueId id = push_value(graph_, std::move(value));
    graph_.inputs.push_back(id);
    return id;
}

ValueId GraphBuilder::constant(const std::string& name, DType type, const Shape& shape, Bytes bytes) {
    check_dimensions(name, type, shape);
    const std::size_t expected = static_cast<std::size_t>(element_count(shape)) * size_of(type);
    if (bytes.size() != expected) {
        throw Error(ErrorCode::bad_model,
                    fmt::format("constant '{}' of type {} and shape {} needs {} bytes, but has {}", name, name_of(type),
                                to_string(shape), expected, bytes.size()),
                    {}, name);
    }
    Value value;
    value.name = name.empty() ? fmt::format("constant_{}", graph_.values.size()) : name;
    value.type = type;
    value.shape = shape;
    value.data = std::make_shared<const Bytes>(std::move(bytes));
    return push_value(graph_, std::move(value));
}

ValueId GraphBuilder::constant_ints(const std::string& name, DType type, const Shape& shape,
                                    std::span<const std::int64_t> values) {
    if (is_float(type)) {
        throw Error(ErrorCode::usage,
                    fmt::format("constant '{}' of type {} cannot be made from integers", name, name_of(type)));
    }
    for (const std::int64_t v : values) {
        if (v < min_of(type) || v > max_of(type)) {
            throw Error(ErrorCode::bad_model,
                        fmt::format("constant '{}': value {} does not fit type {}", name, v, name_of(type)), {}, name);
        }
    }
    return constant(name, type, shape, encode_ints(type, values));
}

ValueId GraphBuilder::constant_floats(const std::string& name, DType type, const Shape& shape,
                                      std::span<const float> values) {
    if (!is_float(type)) {
        throw Error(ErrorCode::usage,
                    fmt::format("constant '{}' of type {} cannot be made from floats", name, name_of(type)));
    }
    const std::vector<double> wide(values.begin(), values.end());
    return constant(name, type, shape, encode_reals(type, wide));
}

ValueId GraphBuilder::scalar(DType type, double value) {
    if (!is_float(type)) {
        const auto whole = value >= static_cast<double>(min_of(type)) && value <= static_cast<double>(max_of(type))
                               ? static_cast<std::int64_t>(value)
                               : std::int64_t{0};
        if (static_cast<double>(whole) != value) {
            throw Error(ErrorCode::bad_model, fmt::format("constant {} does not fit type {}", value, name_of(type)));
        }
    }
    Bytes bytes = encode_reals(type, std::span<const double>(&value, 1));
    const std::string key = pool_key(type, {1}, bytes);
    for (const auto& [k, id] : pool_) {
        if (k == key) return id;
    }
    const ValueId id = constant(fmt::format("{}({})", name_of(type), value), type, {1}, std::move(bytes));
    pool_.emplace_back(key, id);
    return id;
}

ValueId GraphBuilder::shape(std::span<const std::int64_t> values) {
    const Shape length{static_cast<std::int64_t>(values.size())};
    Bytes bytes = encode_ints(DType::shape, values);
    const std::string key = pool_key(DType::shape, length, bytes);
    for (const auto& [k, id] : pool_) {
        if (k == key) return id;
    }
    const ValueId id =
        constant(fmt::format("shape({})", fmt::join(values, ",")), DType::shape, length, std::move(bytes));
    pool_.emplace_back(key, id);
    return id;
}

std::vector<ValueId> GraphBuilder::add(Op op, std::vector<ValueId> inputs, Attributes attrs,
                                       std::span<const DType> output_types, const std::string& name) {
    for (const ValueId id : inputs) {
        if (id >= graph_.values.size()) {
            throw Error(ErrorCode::usage, fmt::format("{} '{}': input value {} does not exist", name_of(op), name, id),
                        name);
        }
    }
    const std::size_t values_before = graph_.values.size();
    const NodeId node_id = static_cast<NodeId>(graph_.nodes.size());
    Node node;
    node.op = op;
    node.name = name;
    node.inputs = std::move(inputs);
    node.attrs = std::move(attrs);
    for (std::size_t k = 0; k < output_types.size(); ++k) {
        Value value;
        value.name = name.empty() ? fmt::format("{}_{}", lower(name_of(op)), node_id) : name;
        if (k > 0) value.name += fmt::format(":{}", k);
        value.type = output_types[k];
        value.producer = node_id;
        node.outputs.push_back(push_value(graph_, std::move(value)));
    }
    graph_.nodes.push_back(std::move(node));
    try {
        const NodeView view(graph_, node_id);
        const std::vector<Shape> shapes = infer_node(view, *level_);
        for (std::size_t k = 0; k < shapes.size(); ++k) graph_.values[view.node().outputs[k]].shape = shapes[k];
        check_node(view, *level_);
    } catch (...) {
        // Leave the graph as it was, so that a caller may try something else.
        graph_.nodes.pop_back();
        graph_.values.resize(values_before);
        throw;
    }
    return graph_.nodes.back().outputs;
}

ValueId GraphBuilder::add1(Op op, std::vector<ValueId> inputs, DType output_type, Attributes attrs,
                           const std::string& name) {
    return add(op, std::move(inputs), std::move(attrs), std::span<const DType>(&output_type, 1), name).at(0);
}

void GraphBuilder::output(ValueId id) {
    if (id >= graph_.values.size()) throw Error(ErrorCode::usage, fmt::format("graph output {} does not exist", id));
    graph_.outputs.push_back(id);
}

Graph GraphBuilder::finish() {
    // Inputs and outputs keep the names that the user knows; the names of other values give way where they collide.
    std::unordered_set<std::string> used;
    std::vector<bool> fixed(graph_.values.size(), false);
    for (const auto* list : {&graph_.inputs, &graph_.outputs}) {
        for (const ValueId id : *list) {
            used.insert(graph_.values[id].name);
            fixed[id] = true;
        }
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
        if (fixed[id]) continue;
        const std::string wanted = graph_.values[id].name;
        std::string& name = graph_.values[id].name;
        for (int n = 2; !used.insert(name).second; ++n) name = fmt::format("{}#{}", wanted, n);
    }
    check_graph(graph_, *level_);
    Graph done = std::move(graph_);
    graph_ = Graph{};
    pool_.clear();
    return done;
}

}  // namespace tosavk

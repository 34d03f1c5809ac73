#include "ops/builder.hpp"

#include "base/progress.hpp"
#include "base/text.hpp"
#include "graph/host_tensor.hpp"
#include "ops/custom.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

// Pool entries are found by type, shape and bytes, so that -0 and 0 stay apart.
std::string pool_key(DType type, const Shape& shape, const Bytes& bytes) {
    return fmt::format("{} {} {}", name_of(type), to_string(shape), hexadecimal(bytes));
}

void check_dimensions(const std::string& name, DType type, const Shape& shape, const Level& level) {
    for (const std::int64_t d : shape) {
        // A shape value of length 0 is the shape of a scalar.
        if (d < 0 || (d == 0 && type != DType::shape && !level.empty_tensors)) {
            throw Error(ErrorCode::bad_model,
                        fmt::format("tensor '{}' has shape {}, but every dimension must be at least {}", name,
                                    to_string(shape), level.empty_tensors ? 0 : 1),
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
    check_dimensions(name, type, shape, *level_);
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

ValueId GraphBuilder::constant(const std::string& name, DType type, const Shape& shape, SharedBytes bytes) {
    check_dimensions(name, type, shape, *level_);
    const std::size_t expected = static_cast<std::size_t>(element_count(shape)) * size_of(type);
    if (bytes->size() != expected) {
        throw Error(ErrorCode::bad_model,
                    fmt::format("constant '{}' of type {} and shape {} needs {} bytes, but has {}", name, name_of(type),
                                to_string(shape), expected, bytes->size()),
                    {}, name);
    }
    Value value;
    value.name = name.empty() ? fmt::format("constant_{}", graph_.values.size()) : name;
    value.type = type;
    value.shape = shape;
    value.data = std::move(bytes);
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
    Node node;
    node.op = op;
    node.name = name;
    node.inputs = std::move(inputs);
    node.attrs = std::move(attrs);
    std::vector<OutputType> outputs;
    for (const DType type : output_types) outputs.push_back({type, {}});
    return add_node(std::move(node), outputs);
}

std::vector<ValueId> GraphBuilder::add_node(Node node, std::span<const OutputType> outputs) {
    turn_of_loop();
    for (const ValueId id : node.inputs) {
        if (id >= graph_.values.size()) {
            throw Error(ErrorCode::usage,
                        fmt::format("{} '{}': input value {} does not exist", name_of(node.op), node.name, id),
                        node.name);
        }
    }
    if (node.op == Op::custom && !node.custom && customs_)
        node.custom = customs_->find(node.attrs.domain_name, node.attrs.operator_name);
    const NodeId node_id = static_cast<NodeId>(graph_.nodes.size());
    node.outputs.clear();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        Value value;
        value.name = node.name.empty() ? fmt::format("{}_{}", lower(name_of(node.op)), node_id) : node.name;
        if (k > 0) value.name += fmt::format(":{}", k);
        value.type = outputs[k].type;
        value.shape = outputs[k].shape;
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
        take_back();  // so that a caller may try something else
        throw;
    }
    return graph_.nodes.back().outputs;
}

void GraphBuilder::take_back() {
    graph_.values.resize(graph_.values.size() - graph_.nodes.back().outputs.size());
    graph_.nodes.pop_back();
}

std::vector<ValueId> GraphBuilder::stand_ins(const std::string& name, std::span<const OutputType> outputs) {
    for (const OutputType& output : outputs) check_dimensions(name, output.type, output.shape, *level_);
    std::vector<ValueId> made;
    for (const OutputType& output : outputs) {
        Value value;
        value.name = name;
        value.type = output.type;
        value.shape = output.shape;
        made.push_back(push_value(graph_, std::move(value)));
    }
    return made;
}

ValueId GraphBuilder::add1(Op op, std::vector<ValueId> inputs, DType output_type, Attributes attrs,
                           const std::string& name) {
    return add(op, std::move(inputs), std::move(attrs), std::span<const DType>(&output_type, 1), name).at(0);
}

void GraphBuilder::output(ValueId id) {
    if (id >= graph_.values.size()) throw Error(ErrorCode::usage, fmt::format("graph output {} does not exist", id));
    graph_.outputs.push_back(id);
}

void GraphBuilder::make_names_unique() {
    // Inputs and outputs keep the names that the user knows; the names of other values give way where they collide.
    UniqueNames used;
    std::vector<bool> fixed(graph_.values.size(), false);
    for (const auto* list : {&graph_.inputs, &graph_.outputs}) {
        for (const ValueId id : *list) {
            used.give(graph_.values[id].name);
            fixed[id] = true;
        }
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
        if (!fixed[id]) graph_.values[id].name = used.give(graph_.values[id].name);
    }
}

Graph GraphBuilder::take() {
    Graph done = std::move(graph_);
    graph_ = Graph{};
    pool_.clear();
    return done;
}

Graph GraphBuilder::finish() {
    make_names_unique();
    check_graph(graph_, *level_);
    return take();
}

Graph GraphBuilder::finish_region() {
    make_names_unique();
    check_region(graph_, *level_);
    return take();
}

// ---- control flow and state ---------------------------------------------------------------------------------------

void GraphBuilder::variable(const std::string& name, DType type, const Shape& shape, Bytes initial) {
    check_dimensions(name, type, shape, *level_);
    Variable declared{name, type, shape, {}};
    if (!initial.empty()) declared.initial = std::move(initial);
    if (graph_.find_variable(name)) {
        throw Error(ErrorCode::bad_model, fmt::format("variable '{}' is declared twice", name), {}, name);
    }
    graph_.variables.push_back(std::move(declared));
}

void GraphBuilder::variable(const Variable& declared) {
    if (!graph_.find_variable(declared.name)) graph_.variables.push_back(declared);
}

ValueId GraphBuilder::variable_read(const std::string& variable, const std::string& name) {
    Node node;
    node.op = Op::variable_read;
    node.name = name;
    node.attrs.variable = variable;
    const Variable* declared = graph_.find_variable(variable);
    const OutputType output{declared ? declared->type : DType::fp32, {}};
    return add_node(std::move(node), std::span<const OutputType>(&output, 1)).at(0);
}

void GraphBuilder::variable_write(const std::string& variable, ValueId value, const std::string& name) {
    Node node;
    node.op = Op::variable_write;
    node.name = name;
    node.attrs.variable = variable;
    node.inputs = {value};
    add_node(std::move(node), {});
}

std::vector<ValueId> GraphBuilder::cond_if(ValueId condition, std::vector<ValueId> inputs, Graph then_graph,
                                           Graph else_graph, const std::string& name) {
    Node node;
    node.op = Op::cond_if;
    node.name = name;
    node.inputs = std::move(inputs);
    node.inputs.insert(node.inputs.begin(), condition);
    std::vector<OutputType> outputs;
    for (const ValueId id : then_graph.outputs) outputs.push_back({then_graph.value(id).type, {}});
    node.regions = {std::make_shared<const Graph>(std::move(then_graph)),
                    std::make_shared<const Graph>(std::move(else_graph))};
    return add_node(std::move(node), outputs);
}

std::vector<ValueId> GraphBuilder::while_loop(std::vector<ValueId> inputs, Graph cond_graph, Graph body_graph,
                                              const std::string& name) {
    Node node;
    node.op = Op::while_loop;
    node.name = name;
    node.inputs = std::move(inputs);
    std::vector<OutputType> outputs;
    for (const ValueId id : node.inputs) {
        if (id < graph_.values.size()) outputs.push_back({graph_.value(id).type, {}});
    }
    node.regions = {std::make_shared<const Graph>(std::move(cond_graph)),
                    std::make_shared<const Graph>(std::move(body_graph))};
    return add_node(std::move(node), outputs);
}

std::vector<ValueId> GraphBuilder::custom(const std::string& domain, const std::string& op, const std::string& attrs,
                                          std::vector<ValueId> inputs, std::span<const OutputType> outputs,
                                          const std::string& name) {
    Node node;
    node.op = Op::custom;
    node.name = name;
    node.inputs = std::move(inputs);
    node.attrs.domain_name = domain;
    node.attrs.operator_name = op;
    node.attrs.implementation_attrs = attrs;
    return add_node(std::move(node), outputs);
}

}  // namespace tosavk

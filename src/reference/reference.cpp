// Runs nodes and graphs with the reference functions of their operators, in declared types.
#include "reference/reference.hpp"

#include "base/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

void require_tensor(const Value& value, const HostTensor& tensor, const char* what) {
    if (tensor.type != value.type || tensor.shape != value.shape)
        throw Error(
            ErrorCode::bad_input,
            fmt::format("{} '{}' needs {} of shape {}, but was given {} of shape {}", what, value.name,
                        name_of(value.type), to_string(value.shape), name_of(tensor.type), to_string(tensor.shape)),
            {}, value.name);
    const std::size_t bytes = static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type);
    if (tensor.bytes.size() != bytes)
        throw Error(
            ErrorCode::bad_input,
            fmt::format("{} '{}' needs {} bytes, but was given {}", what, value.name, bytes, tensor.bytes.size()), {},
            value.name);
}

}  // namespace

HostTensor& variable_value(VariableState& state, const Variable& variable) {
    const auto [it, fresh] = state.try_emplace(variable.name);
    if (fresh) {
        it->second = HostTensor(variable.type, variable.shape);
        if (variable.initial) it->second.bytes = variable.initial.copy();
    }
    return it->second;
}

namespace {

/// COND_IF, WHILE_LOOP and the variables: what the interpreter does itself.
std::vector<HostTensor> run_structural(const NodeView& view, std::span<const HostTensor* const> inputs,
                                       VariableState& state) {
    const Node& node = view.node();
    const auto truth = [](const HostTensor& condition) { return condition.bytes.at(0) != std::byte{0}; };
    const auto copies = [&](std::size_t from) {
        std::vector<HostTensor> list;
        for (std::size_t k = from; k < inputs.size(); ++k) list.push_back(*inputs[k]);
        return list;
    };
    switch (node.op) {
        case Op::cond_if: return reference_run(*node.regions.at(truth(*inputs[0]) ? 0 : 1), copies(1), false, &state);
        case Op::while_loop: {
            std::vector<HostTensor> list = copies(0);
            while (truth(reference_run(*node.regions.at(0), list, false, &state).at(0))) {
                list = reference_run(*node.regions.at(1), list, false, &state);
            }
            return list;
        }
        case Op::variable_read:
        case Op::variable_write: {
            const Variable* variable = view.graph().find_variable(node.attrs.variable);
            if (!variable) view.fail(fmt::format("variable '{}' is not declared", node.attrs.variable));
            HostTensor& value = variable_value(state, *variable);
            if (node.op == Op::variable_read) return {value};
            value = *inputs[0];
            return {};
        }
        default: throw Error(ErrorCode::internal, view.title() + ": nobody runs this operator", node.name);
    }
}

}  // namespace

std::vector<HostTensor> reference_node(const NodeView& view, std::span<const HostTensor* const> inputs,
                                       VariableState* state) {
    const OpDef& def = op_def(view.node().op);
    if (inputs.size() != view.input_count())
        throw Error(
            ErrorCode::bad_input,
            fmt::format("{}: {} inputs are needed, but {} were given", view.title(), view.input_count(), inputs.size()),
            view.node().name);
    for (std::size_t k = 0; k < inputs.size(); ++k) require_tensor(view.in(k), *inputs[k], "input");
    VariableState fresh;
    if (!def.reference) return run_structural(view, inputs, state ? *state : fresh);
    RefContext ctx(view, inputs, false);
    def.reference(ctx);
    return std::move(ctx.outputs);
}

std::vector<HostTensor> reference_run(const Graph& graph, std::span<const HostTensor> inputs, bool keep_all,
                                      VariableState* state) {
    VariableState fresh;
    if (!state) state = &fresh;
    if (inputs.size() != graph.inputs.size())
        throw Error(ErrorCode::bad_input, fmt::format("graph '{}' has {} inputs, but {} tensors were given", graph.name,
                                                      graph.inputs.size(), inputs.size()));
    std::vector<HostTensor> values(graph.values.size());
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const Value& value = graph.values[id];
        if (!value.is_constant()) continue;
        values[id].type = value.type;
        values[id].shape = value.shape;
        values[id].bytes = value.data.copy();
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        require_tensor(graph.value(graph.inputs[k]), inputs[k], "input");
        values[graph.inputs[k]] = inputs[k];
    }
    // The last node that reads a value frees it; graph outputs stay.
    std::vector<NodeId> last_use(graph.values.size(), no_id);
    for (NodeId n = 0; n < graph.nodes.size(); ++n)
        for (const ValueId id : graph.nodes[n].inputs) last_use[id] = n;
    for (const ValueId id : graph.outputs) last_use[id] = no_id;

    Progress& progress = ProgressScope::of_thread();
    progress.expect(graph.nodes.size());
    std::vector<const HostTensor*> operands;
    for (NodeId n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        operands.clear();
        for (const ValueId id : node.inputs) operands.push_back(&values[id]);
        std::vector<HostTensor> results = reference_node(NodeView(graph, n), operands, state);
        for (std::size_t k = 0; k < results.size(); ++k) values[node.outputs[k]] = std::move(results[k]);
        progress.step();
        if (keep_all) continue;
        for (const ValueId id : node.inputs)
            if (last_use[id] == n) values[id].bytes = Bytes();
    }
    if (keep_all) return values;
    std::vector<HostTensor> outputs;
    for (const ValueId id : graph.outputs) outputs.push_back(values[id]);
    return outputs;
}

}  // namespace tosavk

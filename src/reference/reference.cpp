// Runs nodes and graphs with the reference functions of their operators, in declared types.
#include "reference/reference.hpp"

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

std::vector<HostTensor> reference_node(const NodeView& view, std::span<const HostTensor* const> inputs) {
    const OpDef& def = op_def(view.node().op);
    if (inputs.size() != view.input_count())
        throw Error(
            ErrorCode::bad_input,
            fmt::format("{}: {} inputs are needed, but {} were given", view.title(), view.input_count(), inputs.size()),
            view.node().name);
    for (std::size_t k = 0; k < inputs.size(); ++k) require_tensor(view.in(k), *inputs[k], "input");
    RefContext ctx(view, inputs, false);
    def.reference(ctx);
    return std::move(ctx.outputs);
}

std::vector<HostTensor> reference_run(const Graph& graph, std::span<const HostTensor> inputs, bool keep_all) {
    if (inputs.size() != graph.inputs.size())
        throw Error(ErrorCode::bad_input, fmt::format("graph '{}' has {} inputs, but {} tensors were given", graph.name,
                                                      graph.inputs.size(), inputs.size()));
    std::vector<HostTensor> values(graph.values.size());
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const Value& value = graph.values[id];
        if (!value.is_constant()) continue;
        values[id].type = value.type;
        values[id].shape = value.shape;
        values[id].bytes = *value.data;
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

    std::vector<const HostTensor*> operands;
    for (NodeId n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        operands.clear();
        for (const ValueId id : node.inputs) operands.push_back(&values[id]);
        std::vector<HostTensor> results = reference_node(NodeView(graph, n), operands);
        for (std::size_t k = 0; k < results.size(); ++k) values[node.outputs[k]] = std::move(results[k]);
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

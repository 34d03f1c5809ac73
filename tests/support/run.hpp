// Runs of a graph on a device, whole tensors in and out.
#pragma once

#include "reference/reference.hpp"
#include "vk/run/context.hpp"

#include <memory>
#include <vector>

namespace tosavk::test {

/// The outputs of one run.
inline std::vector<HostTensor> run(Context& context, const Graph& graph, const std::vector<HostTensor>& inputs) {
    for (std::size_t k = 0; k < inputs.size(); ++k) context.set_input(k, inputs[k].bytes);
    context.submit();
    context.wait();
    std::vector<HostTensor> outputs;
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
        const Value& value = graph.value(graph.outputs[k]);
        context.get_output(k, outputs.emplace_back(value.type, value.shape).bytes);
    }
    return outputs;
}

/// The same on random inputs, the same ones for every plan.
inline std::vector<HostTensor> run(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                                   Plan plan) {
    Context context(Executable::create(device, graph, std::move(plan)), false);
    std::vector<HostTensor> inputs;
    for (const ValueId id : graph->inputs)
        inputs.push_back(random_tensor(graph->value(id).type, graph->value(id).shape, 100 + inputs.size()));
    return run(context, *graph, inputs);
}

}  // namespace tosavk::test

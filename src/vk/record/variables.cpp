#include "vk/record/variables.hpp"

#include "vk/core/transfer.hpp"

#include <algorithm>

namespace tosavk {

void upload_initial_values(DeviceState& device, const Graph& graph, const Plan& plan, Buffer& state) {
    if (graph.variables.empty()) return;
    Bytes bytes(state.size());
    for (std::size_t v = 0; v < graph.variables.size(); ++v) {
        if (const auto& initial = graph.variables[v].initial) {
            std::copy(initial->begin(), initial->end(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(plan.variables[v].offset));
        }
    }
    upload(device, state, 0, bytes);
}

}  // namespace tosavk

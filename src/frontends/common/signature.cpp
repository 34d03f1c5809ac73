#include "frontends/common/signature.hpp"

namespace tosavk {

Signature signature_of(const Graph& graph) {
    Signature signature;
    for (const ValueId id : graph.inputs) {
        const Value& value = graph.value(id);
        signature.inputs.push_back({value.name, value.type, value.shape, std::vector<bool>(value.shape.size(), false),
                                    value.scale, value.zero_point, value.declared});
    }
    signature.output_count = graph.outputs.size();
    return signature;
}

}  // namespace tosavk

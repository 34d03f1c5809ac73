#include "ops/storage.hpp"

namespace tosavk {

ValueId storage_of(const Graph& graph, ValueId id) {
    while (graph.value(id).producer != no_id) {
        const NodeView view(graph, graph.value(id).producer);
        const OpDef& def = op_def(view.node().op);
        if (!def.view || def.view(view).kind != ViewDef::Kind::alias) break;
        id = view.node().inputs.front();
    }
    return id;
}

}  // namespace tosavk

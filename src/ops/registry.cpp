// The one list of operators, gathered from the family files.
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

std::vector<OpDef> gather_families() {
    std::vector<OpDef> all;
    for (std::vector<OpDef> (*family)() :
         {activation_ops,     elementwise_ops,   comparison_ops, conv_ops,         matmul_ops,     fft_ops,
          pool_ops,           reduce_ops,        rescale_ops,    cast_ops,         table_ops,      data_layout_ops,
          gather_scatter_ops, resize_ops,        custom_ops,     control_flow_ops, variable_ops,   own_elementwise_ops,
          cumulate_ops,       dynamic_slice_ops, indexed_ops,    sort_ops,         scale_fp64_ops, suppress_ops,
          bitcast_ops,        own_function_ops}) {
        for (OpDef& def : family()) {
            def.name = name_of(def.op).data();
            all.push_back(std::move(def));
        }
    }
    std::sort(all.begin(), all.end(), [](const OpDef& a, const OpDef& b) { return a.op < b.op; });
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i].op == all[i - 1].op) {
            throw Error(ErrorCode::internal, fmt::format("operator {} is registered twice", all[i].name));
        }
    }
    return all;
}

}  // namespace

std::span<const OpDef> registry() {
    static const std::vector<OpDef> all = gather_families();
    return all;
}

const OpDef* find_op(Op op) {
    const std::span<const OpDef> all = registry();
    const auto it =
        std::lower_bound(all.begin(), all.end(), op, [](const OpDef& def, Op wanted) { return def.op < wanted; });
    return it != all.end() && it->op == op ? &*it : nullptr;
}

const OpDef* find_op(std::string_view name) {
    for (const OpDef& def : registry()) {
        if (def.name == name) return &def;
    }
    return nullptr;
}

const OpDef& op_def(Op op) {
    const OpDef* def = find_op(op);
    if (def == nullptr) throw Error(ErrorCode::unsupported, fmt::format("operator {} is not supported", name_of(op)));
    return *def;
}

}  // namespace tosavk

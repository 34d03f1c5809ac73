// The one list of operators, gathered from the family files.
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tosavk {

namespace {

// In the order of Op.
constexpr std::array<std::string_view, 76> op_names{
    "UNKNOWN",
    "ARGMAX",
    "AVG_POOL2D",
    "CONV2D",
    "CONV3D",
    "DEPTHWISE_CONV2D",
    "FFT2D",
    "MATMUL",
    "MAX_POOL2D",
    "RFFT2D",
    "TRANSPOSE_CONV2D",
    "CLAMP",
    "ERF",
    "SIGMOID",
    "TANH",
    "ADD",
    "ARITHMETIC_RIGHT_SHIFT",
    "BITWISE_AND",
    "BITWISE_OR",
    "BITWISE_XOR",
    "INTDIV",
    "LOGICAL_AND",
    "LOGICAL_LEFT_SHIFT",
    "LOGICAL_RIGHT_SHIFT",
    "LOGICAL_OR",
    "LOGICAL_XOR",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "POW",
    "SUB",
    "TABLE",
    "ABS",
    "BITWISE_NOT",
    "CEIL",
    "CLZ",
    "COS",
    "EXP",
    "FLOOR",
    "LOG",
    "LOGICAL_NOT",
    "NEGATE",
    "RECIPROCAL",
    "RSQRT",
    "SIN",
    "SELECT",
    "EQUAL",
    "GREATER",
    "GREATER_EQUAL",
    "REDUCE_ALL",
    "REDUCE_ANY",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PRODUCT",
    "REDUCE_SUM",
    "CONCAT",
    "PAD",
    "RESHAPE",
    "REVERSE",
    "SLICE",
    "TILE",
    "TRANSPOSE",
    "GATHER",
    "SCATTER",
    "RESIZE",
    "CAST",
    "RESCALE",
    "CONST",
    "IDENTITY",
    "CUSTOM",
    "COND_IF",
    "WHILE_LOOP",
    "VARIABLE",
    "VARIABLE_WRITE",
    "VARIABLE_READ",
    "CONST_SHAPE",
};
static_assert(static_cast<std::size_t>(Op::const_shape) + 1 == op_names.size());

std::vector<OpDef> gather_families() {
    std::vector<OpDef> all;
    for (std::vector<OpDef> (*family)() :
         {activation_ops, elementwise_ops, comparison_ops, conv_ops, matmul_ops, fft_ops, pool_ops, reduce_ops,
          rescale_ops, cast_ops, table_ops, data_layout_ops, gather_scatter_ops, resize_ops, custom_ops,
          control_flow_ops, variable_ops}) {
        for (OpDef& def : family()) all.push_back(std::move(def));
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

std::string_view name_of(Op op) {
    const auto index = static_cast<std::size_t>(op);
    return index < op_names.size() ? op_names[index] : op_names[0];
}

}  // namespace tosavk

// Graphs of 0.30 built step by step: type rows are those of 0.30, the nodes those of 1.0.
#include "frontends/tosa/v0_30.hpp"

#include "graph/host_tensor.hpp"
#include "ops/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tosavk::v0_30 {

namespace {

[[noreturn]] void fail(Op op, const std::string& name, const std::string& what) {
    throw Error(ErrorCode::bad_model, fmt::format("{} '{}': {}", op_name(op), name, what), name);
}

/// Finds the row that the operands' types make; throws Error naming them when there is none.
void check_row(const OpInfo& info, const std::string& name, const std::vector<std::pair<std::string_view, Type>>& bound,
               const Attributes& attributes) {
    const auto fits = [&](const Row& row) {
        for (const auto& [variable, type] : bound) {
            for (std::size_t v = 0; v < info.type_vars.size(); ++v) {
                if (info.type_vars[v] == variable && row.types[v] != type) return false;
            }
        }
        if (attributes.acc_type && std::strcmp(info.type_vars.back(), "acc_t") == 0) {
            return row.types.back().type == *attributes.acc_type;
        }
        return true;
    };
    if (std::any_of(info.rows.begin(), info.rows.end(), fits)) return;
    std::string types;
    for (const auto& [variable, type] : bound) {
        const std::string one = fmt::format("{}={}", variable, type_name(type));
        if (types.find(one) == std::string::npos) types += (types.empty() ? "" : ", ") + one;
    }
    fail(info.op, name, fmt::format("TOSA 0.30 has no combination of types {}", types));
}

/// The ends of a region against the values outside, as far as 1.0 cannot see: their sign.
void check_signs(Op op, const std::string& name, const char* region, const char* kind, const std::vector<Type>& inner,
                 const std::vector<Type>& outer) {
    for (std::size_t k = 0; k < inner.size() && k < outer.size(); ++k) {
        if (inner[k].is_unsigned == outer[k].is_unsigned) continue;
        fail(op, name,
             fmt::format("{} {} of {} is {}, but the operator's is {}", kind, k, region, type_name(inner[k]),
                         type_name(outer[k])));
    }
}

}  // namespace

ValueId Builder::input(const std::string& name, Type type, const Shape& shape) {
    const ValueId id = builder_.input(name, type.type, shape);
    if (type.is_unsigned) unsigned_[id] = true;
    return id;
}

ValueId Builder::constant(const std::string& name, Type type, const Shape& shape, Bytes bytes) {
    const ValueId id = builder_.constant(name, type.type, shape, std::move(bytes));
    if (type.is_unsigned) unsigned_[id] = true;
    return id;
}

std::vector<ValueId> Builder::add(Op op, const std::vector<ValueId>& inputs, const Attributes& attributes,
                                  std::span<const Result> results, const std::string& name) {
    const OpInfo* info = find_info(op);
    if (info == nullptr) {
        throw Error(ErrorCode::unsupported, fmt::format("TOSA 0.30 has no operator {}", op_name(op)), name);
    }
    if (op == Op::cond_if || op == Op::while_loop || op == Op::custom) {
        fail(op, name, "it needs more than operands: Builder has a function for it");
    }
    if (info->op == Op::constant) fail(op, name, "constants are made by constant()");
    std::vector<Operand> operands;
    std::vector<std::pair<std::string_view, Type>> bound;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k] >= builder_.graph().values.size())
            fail(op, name, fmt::format("input {} does not exist", inputs[k]));
        operands.push_back({inputs[k], unsigned_.contains(inputs[k])});
        // Beyond the listed operands lie those that are attributes but in profile MT: their types are 1.0's to check.
        if (k < info->inputs.size()) bound.emplace_back(info->inputs[k], type(inputs[k]));
        else if (info->list) bound.emplace_back(info->inputs.back(), type(inputs[k]));
    }
    if (inputs.size() < info->inputs.size()) {
        fail(op, name, fmt::format("needs {} inputs, but has {}", info->inputs.size(), inputs.size()));
    }
    if (results.size() != info->outputs.size()) {
        fail(op, name, fmt::format("needs {} outputs, but has {}", info->outputs.size(), results.size()));
    }
    for (std::size_t k = 0; k < results.size(); ++k) bound.emplace_back(info->outputs[k], results[k].type);
    check_row(*info, name, bound, attributes);
    const bool biased = std::strcmp(info->type_vars.front(), "in_t") == 0 && info->inputs.size() == 3;
    if (biased && value(inputs[0]).shape.size() >= 2 && value(inputs[1]).shape.size() >= 2) {
        const Shape& w = value(inputs[1]).shape;
        const std::int64_t channels = op == Op::depthwise_conv2d ? w[w.size() - 2] * w.back() : w.front();
        if (value(inputs[2]).shape != Shape{channels}) {
            fail(op, name, fmt::format("bias has shape {}, but needs {}", to_string(value(inputs[2]).shape), channels));
        }
    }
    const std::vector<ValueId> ids = upgrade(builder_, op, operands, attributes, results, name);
    for (std::size_t k = 0; k < ids.size(); ++k) {
        if (results[k].shape && value(ids[k]).shape != *results[k].shape) {
            fail(op, name,
                 fmt::format("output has shape {}, but the operator computes {}", to_string(*results[k].shape),
                             to_string(value(ids[k]).shape)));
        }
        if (results[k].type.is_unsigned) unsigned_[ids[k]] = true;
    }
    return ids;
}

ValueId Builder::add1(Op op, const std::vector<ValueId>& inputs, Type type, const Attributes& attributes,
                      const std::string& name, std::optional<Shape> shape) {
    const Result result{name.empty() ? std::string(op_name(op)) : name, type, std::move(shape)};
    return add(op, inputs, attributes, std::span(&result, 1), name).at(0);
}

std::vector<Type> Builder::types(const std::vector<ValueId>& ids, Op op, const std::string& name) const {
    std::vector<Type> all;
    for (const ValueId id : ids) {
        if (id >= builder_.graph().values.size()) fail(op, name, fmt::format("input {} does not exist", id));
        all.push_back(type(id));
    }
    return all;
}

std::vector<ValueId> Builder::mark(std::vector<ValueId> ids, const std::vector<Type>& types) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
        if (types[k].is_unsigned) unsigned_[ids[k]] = true;
    }
    return ids;
}

std::vector<ValueId> Builder::cond_if(const std::vector<ValueId>& input_list, ValueId condition, Region then_graph,
                                      Region else_graph, const std::string& name) {
    const std::vector<Type> list = types(input_list, Op::cond_if, name);
    types({condition}, Op::cond_if, name);
    check_signs(Op::cond_if, name, "then_graph", "input", then_graph.inputs, list);
    check_signs(Op::cond_if, name, "else_graph", "input", else_graph.inputs, list);
    check_signs(Op::cond_if, name, "else_graph", "output", else_graph.outputs, then_graph.outputs);
    return mark(builder_.cond_if(condition, input_list, std::move(then_graph.graph), std::move(else_graph.graph), name),
                then_graph.outputs);
}

std::vector<ValueId> Builder::while_loop(const std::vector<ValueId>& input_list, Region cond_graph, Region body_graph,
                                         const std::string& name) {
    const std::vector<Type> list = types(input_list, Op::while_loop, name);
    check_signs(Op::while_loop, name, "cond_graph", "input", cond_graph.inputs, list);
    check_signs(Op::while_loop, name, "body_graph", "input", body_graph.inputs, list);
    check_signs(Op::while_loop, name, "body_graph", "output", body_graph.outputs, list);
    return mark(builder_.while_loop(input_list, std::move(cond_graph.graph), std::move(body_graph.graph), name), list);
}

std::vector<ValueId> Builder::custom(const std::string& domain, const std::string& op, const std::string& attrs,
                                     const std::vector<ValueId>& inputs, std::span<const Result> results,
                                     const std::string& name) {
    types(inputs, Op::custom, name);
    std::vector<OutputType> outputs;
    std::vector<Type> result_types;
    for (const Result& result : results) {
        if (!result.shape) fail(Op::custom, name, fmt::format("output '{}' needs a shape", result.name));
        outputs.push_back({result.type.type, *result.shape});
        result_types.push_back(result.type);
    }
    const std::vector<ValueId> ids = mark(builder_.custom(domain, op, attrs, inputs, outputs, name), result_types);
    for (std::size_t k = 0; k < ids.size(); ++k) {
        if (!results[k].name.empty()) builder_.value(ids[k]).name = results[k].name;
    }
    return ids;
}

Region Builder::finish_region() {
    Region region;
    for (const ValueId id : builder_.graph().inputs) region.inputs.push_back(type(id));
    for (const ValueId id : builder_.graph().outputs) region.outputs.push_back(type(id));
    unsigned_.clear();
    region.graph = builder_.finish_region();
    return region;
}

Graph Builder::finish() {
    unsigned_.clear();
    return builder_.finish();
}

}  // namespace tosavk::v0_30

// CALL and STABLEHLO_COMPOSITE: what their subgraph computes stands where they stood.
#include "frontends/tflite/lowering.hpp"

#include <fmt/format.h>

#include <utility>

namespace tosavk {

void Lowering::call(std::int32_t subgraph) {
    check_subgraph(subgraph);
    // A subgraph that reaches itself ends here too.
    if (depth_ >= level().max_nesting)
        fail(fmt::format("subgraphs are nested {} deep, but level {} allows {}", depth_ + 1, level().name,
                         level().max_nesting));
    if (++regions_read_ > max_regions)
        unsupported(fmt::format("the operators name more than {} subgraphs", max_regions));
    const TfliteSubgraph graph = file_.read_subgraph(static_cast<std::size_t>(subgraph));
    if (graph.inputs.size() != input_count() || graph.outputs.size() != output_count())
        fail(fmt::format("subgraph {} has {} inputs and {} outputs, but the operator {} and {}", subgraph,
                         graph.inputs.size(), graph.outputs.size(), input_count(), output_count()));
    Lowering inner(*this, graph, "call");
    for (std::size_t k = 0; k < input_count(); ++k) {
        const TfliteTensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[k])];
        const bool is_pair = is_wide(k);
        const std::array<ValueId, 2> both = is_pair ? words(k) : std::array{value(k), no_id};
        const ValueId given = both[0];
        const Shape dims = shape(given);
        // Its shape is what the operator gives, as in TFLite, whatever the file records.
        if (tensor.type != in(k).type || tensor.is_constant || inner.produced_[tensor.index])
            fail(fmt::format("input {} of subgraph {} ({}) is not what the operator gives", k, subgraph,
                             tensor.title()));
        inner.produced_[tensor.index] = true;
        if (is_pair) inner.wide_[tensor.index] = both;
        else inner.values_[tensor.index] = is_empty(given) ? inner.empty(type(given), dims) : given;
        if (tensor.type == tflite::TensorType::INT64) inner.ranges_[tensor.index] = range_of(in(k));
    }
    inner.region_ = fmt::format("subgraph {}", subgraph);
    std::vector<std::array<ValueId, 2>> results;  // the words of wide INT64, or a value and none
    // It writes into this graph.
    std::swap(inner.builder_, builder_);
    try {
        inner.lower_operators();
        if (inner.refused_operators_ > 0)
            unsupported(fmt::format("its subgraph {} has operators that are refused", subgraph));
        for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
            const TfliteTensor& tensor = graph.tensors[static_cast<std::size_t>(graph.outputs[k])];
            ValueId id = inner.values_[tensor.index];
            if (const auto both = inner.wide_.find(tensor.index);
                both != inner.wide_.end() && out(k).type == tensor.type) {
                ranges_[out(k).index] = any_number;
                results.push_back(both->second);
                continue;
            }
            if (id == no_id && !tensor.is_constant)
                fail(fmt::format("output {} of subgraph {} ({}) is never computed", k, subgraph, tensor.title()));
            if (tensor.type != out(k).type)
                fail(fmt::format("output {} of subgraph {} ({}) is {}, but the operator's {}", k, subgraph,
                                 tensor.title(), name_of(tensor.type), name_of(out(k).type)));
            if (id == no_id) id = inner.constant_value(tensor);
            if (tensor.type == tflite::TensorType::INT64) ranges_[out(k).index] = inner.range_of(tensor);
            results.push_back({inner.is_empty(id) ? empty(inner.type(id), inner.shape(id)) : id, no_id});
        }
    } catch (...) {
        std::swap(inner.builder_, builder_);
        throw;
    }
    std::swap(inner.builder_, builder_);
    for (std::size_t k = 0; k < results.size(); ++k) {
        if (results[k][1] != no_id) set_words(results[k], k);
        else set(results[k][0], k);
    }
}

namespace {

void lower_call(Lowering& l) {
    const auto* options = l.options<tflite::CallOptions>();
    if (!options) l.fail("it lacks its options");
    l.call(static_cast<std::int32_t>(options->subgraph()));
}

void lower_composite(Lowering& l) {
    const auto* options = l.op().table->builtin_options_2_as_StableHLOCompositeOptions();
    if (!options) l.fail("it lacks its options");
    l.call(options->decomposition_subgraph_index());
}

}  // namespace

OperatorRows call_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::CALL, lower_call, has_regions},
        {B::STABLEHLO_COMPOSITE, lower_composite, has_regions},
    };
    return rows;
}

}  // namespace tosavk

#include "api/graph_options.hpp"

#include "api/handles.hpp"
#include "compile/rewrite/precision.hpp"

#include <fmt/format.h>

namespace tosavk::api {

const Level& level_of(std::int32_t level) {
    switch (level) {
        case TOSAVK_LEVEL_8K: return level_8k;
        case TOSAVK_LEVEL_NONE: return level_none;
        default: throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_level", level));
    }
}

std::int32_t checked_precision(std::int32_t precision) {
    if (precision < TOSAVK_PRECISION_DECLARED || precision > TOSAVK_PRECISION_FAST)
        throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_precision", precision));
    return precision;
}

Graph in_precision(const Graph& graph, std::int32_t precision) {
    return precision == TOSAVK_PRECISION_DECLARED ? graph : to_fp16(graph, precision == TOSAVK_PRECISION_FAST);
}

ImportOptions import_options(const tosavk_load_options* given) {
    const tosavk_load_options options = read_struct(given, "tosavk_load_options");
    ImportOptions result;
    switch (options.rounding) {
        case TOSAVK_ROUNDING_TFLITE: result.rounding = TfliteRounding::tflite; break;
        case TOSAVK_ROUNDING_DOUBLE: result.rounding = TfliteRounding::double_round; break;
        case TOSAVK_ROUNDING_SINGLE: result.rounding = TfliteRounding::single_round; break;
        default: throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_rounding", options.rounding));
    }
    switch (options.hybrid) {
        case TOSAVK_HYBRID_EXACT: result.hybrid = TfliteHybrid::exact; break;
        case TOSAVK_HYBRID_DEQUANTIZE: result.hybrid = TfliteHybrid::dequantize; break;
        default: throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_hybrid", options.hybrid));
    }
    if (options.f64_as_f32 != 0 && options.f64_as_f32 != 1)
        throw Error(ErrorCode::usage, "tosavk_load_options.f64_as_f32 must be 0 or 1");
    result.f64_as_f32 = options.f64_as_f32 == 1;
    result.level = &level_of(options.level);
    switch (options.spec) {
        case TOSAVK_SPEC_RECOGNISE: result.spec = TosaSpec::recognise; break;
        case TOSAVK_SPEC_0_30: result.spec = TosaSpec::v0_30; break;
        case TOSAVK_SPEC_0_80: result.spec = TosaSpec::v0_80; break;
        case TOSAVK_SPEC_1_0: result.spec = TosaSpec::v1_0; break;
        default: throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_spec", options.spec));
    }
    result.customs = customs_of(options.customs);
    if (options.signature) result.signature = options.signature;
    for (const tosavk_input_shape& shape : read_structs(options.input_shapes, options.input_shape_count,
                                                        "tosavk_load_options.input_shapes", "tosavk_input_shape")) {
        if (shape.rank > TOSAVK_MAX_RANK) {
            throw Error(ErrorCode::usage, fmt::format("the shape for input {} has rank {}, more than {}", shape.index,
                                                      shape.rank, TOSAVK_MAX_RANK));
        }
        Shape dims(shape.dims, shape.dims + shape.rank);
        for (const std::int64_t dim : dims) {
            if (dim < 1)
                throw Error(ErrorCode::bad_input,
                            fmt::format("the shape for input {} has a dimension of {}", shape.index, dim));
        }
        if (!result.input_shapes.emplace(shape.index, std::move(dims)).second) {
            throw Error(ErrorCode::usage, fmt::format("input_shapes names input {} twice", shape.index));
        }
    }
    return result;
}

std::int32_t precision_of(const tosavk_load_options* given) {
    return checked_precision(read_struct(given, "tosavk_load_options").precision);
}

void apply_options(LoadedModel& model, const ImportOptions& options, std::int32_t precision) {
    Graph& graph = model.graph;
    for (const auto& [index, shape] : options.input_shapes) {
        if (index >= graph.inputs.size()) {
            throw Error(ErrorCode::bad_input,
                        fmt::format("a shape was given for input {}, but the number of inputs is {}", index,
                                    graph.inputs.size()));
        }
        const Value& value = graph.value(graph.inputs[index]);
        Shape of_elements = value.shape;
        if (value.declared == HostKind::i64_words || value.declared == HostKind::u64_words) of_elements.pop_back();
        if (of_elements != shape) {
            throw Error(ErrorCode::bad_input, fmt::format("input {} '{}' has shape {} and cannot take shape {}", index,
                                                          value.name, to_string(value.shape), to_string(shape)));
        }
    }
    if (precision != TOSAVK_PRECISION_DECLARED) {
        graph = in_precision(graph, precision);
        model.package = {};  // made for the graph as it was
    }
}

}  // namespace tosavk::api

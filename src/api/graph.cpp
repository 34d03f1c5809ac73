// Graphs of the C ABI: loading, inspecting, printing, the reference run and random inputs.
#include "api/graph_options.hpp"
#include "api/handles.hpp"
#include "api/package.hpp"
#include "api/streams.hpp"
#include "base/files.hpp"
#include "compile/rewrite/precision.hpp"
#include "frontends/frontend.hpp"
#include "frontends/problems/problem.hpp"
#include "ops/print.hpp"
#include "reference/reference.hpp"
#include "verify/checker.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>

using namespace tosavk;
using namespace tosavk::api;

namespace tosavk::api {

std::vector<HostTensor> host_inputs(const Call& call, const Graph& graph, const void* const* inputs) {
    if (!graph.inputs.empty()) call.require(inputs, "inputs");
    std::vector<HostTensor> tensors;
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
        const Value& value = graph.value(graph.inputs[k]);
        HostTensor& tensor = tensors.emplace_back(value.type, value.shape);
        if (tensor.bytes.empty()) continue;
        call.require(inputs[k], fmt::format("inputs[{}]", k).c_str());
        std::memcpy(tensor.bytes.data(), inputs[k], tensor.bytes.size());
    }
    return tensors;
}

const Value& end_value(const Graph& graph, const std::vector<ValueId>& ends, std::uint32_t index, const char* what) {
    if (index >= ends.size())
        throw Error(ErrorCode::usage, fmt::format("there is no {} {}; the graph has {}", what, index, ends.size()));
    return graph.value(ends[index]);
}

}  // namespace tosavk::api

namespace {

tosavk_graph* finish(LoadedModel model, const ImportOptions& options, std::int32_t precision) {
    apply_options(model, options, precision);
    return new tosavk_graph{std::make_shared<const Graph>(std::move(model.graph)), std::move(model.package)};
}

void describe_value(const Value& value, tosavk_tensor_info* info) {
    tosavk_tensor_info result = describe_tensor(value.name.c_str(), value.type, value.shape);
    result.scale = value.scale;
    result.zero_point = value.zero_point;
    result.declared_type = declared_type(value.type, value.declared);
    write_struct(info, result, "tosavk_tensor_info");
}

std::size_t bytes_of(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    return static_cast<std::size_t>(element_count(value.shape)) * size_of(value.type);
}

/// Inputs and outputs of all steps, behind one another.
void run_reference(const Call& call, const tosavk_graph* handle, std::uint32_t steps, const void* const* inputs,
                   void* const* outputs) {
    call.require(handle, "graph");
    const Graph& graph = *handle->graph;
    host_inputs(call, graph, inputs);  // checks the pointers
    if (!graph.outputs.empty()) call.require(outputs, "outputs");
    for (std::size_t k = 0; k < graph.outputs.size(); ++k)
        if (!has_no_elements(graph.value(graph.outputs[k]).shape))
            call.require(outputs[k], fmt::format("outputs[{}]", k).c_str());
    const auto at_step = [&](auto* base, ValueId id, std::uint32_t step) {
        using From = std::remove_pointer_t<decltype(base)>;
        using Byte = std::conditional_t<std::is_const_v<From>, const std::byte, std::byte>;
        return base ? static_cast<Byte*>(base) + step * bytes_of(graph, id) : nullptr;
    };
    VariableState state;
    for (std::uint32_t step = 0; step < steps; ++step) {
        std::vector<const void*> now;
        for (std::size_t k = 0; k < graph.inputs.size(); ++k) now.push_back(at_step(inputs[k], graph.inputs[k], step));
        const std::vector<HostTensor> results =
            reference_run(graph, host_inputs(call, graph, now.data()), /*keep_all=*/false, &state);
        for (std::size_t k = 0; k < results.size(); ++k) {
            const Bytes& bytes = results[k].bytes;
            if (!bytes.empty()) std::memcpy(at_step(outputs[k], graph.outputs[k], step), bytes.data(), bytes.size());
        }
    }
}

tosavk::Bytes tosa_file(const Graph& graph) {
    if (graph.fast_fp16)
        throw Error(
            ErrorCode::unsupported,
            "a .tosa file cannot say precision fast; write the graph in fp16, and load that with precision fast");
    return write_tosa(graph);
}

}  // namespace

tosavk_status tosavk_graph_load_file(const char* path, const tosavk_load_options* options, tosavk_graph** graph,
                                     tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(path, "path");
        call.require(graph, "graph");
        ImportOptions import = import_options(options);
        import.folder = folder_of(path);
        *graph = finish(load_model(read_file(path), path, import), import, precision_of(options));
    });
}

tosavk_status tosavk_graph_load_memory(const void* data, size_t size_bytes, const tosavk_load_options* options,
                                       tosavk_graph** graph, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(data, "data");
        call.require(graph, "graph");
        const ImportOptions import = import_options(options);
        *graph = finish(load_model({static_cast<const std::byte*>(data), size_bytes}, "the model in memory", import),
                        import, precision_of(options));
    });
}

tosavk_status tosavk_graph_load_stream(tosavk_read_callback read, void* user, const tosavk_load_options* options,
                                       tosavk_graph** graph, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        if (!read) throw Error(ErrorCode::usage, "tosavk_graph_load_stream: read is NULL");
        call.require(graph, "graph");
        const ImportOptions import = import_options(options);
        const std::int32_t precision = precision_of(options);
        *graph = finish(load_model(read_stream(read, user), "the model in the stream", import), import, precision);
    });
}

tosavk_status tosavk_graph_load_problem(const char* line, const tosavk_load_options* options, tosavk_graph** graph,
                                        tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(line, "line");
        call.require(graph, "graph");
        const ImportOptions import = import_options(options);
        *graph = finish({load_problem(line, *import.level), nullptr}, import, precision_of(options));
    });
}

tosavk_status tosavk_problems_describe(tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(json, "json");
        auto result = nlohmann::ordered_json::array();
        for (const ProblemHelp& help : problem_help())
            result.push_back({{"op", help.op}, {"form", help.form}, {"line", help.line}, {"small", help.small}});
        *json = make_text(result.dump(2));
    });
}

uint32_t tosavk_graph_input_count(const tosavk_graph* graph) {
    return graph ? static_cast<uint32_t>(graph->graph->inputs.size()) : 0;
}
uint32_t tosavk_graph_output_count(const tosavk_graph* graph) {
    return graph ? static_cast<uint32_t>(graph->graph->outputs.size()) : 0;
}
uint32_t tosavk_graph_node_count(const tosavk_graph* graph) {
    return graph ? static_cast<uint32_t>(graph->graph->nodes.size()) : 0;
}

uint32_t tosavk_graph_variable_count(const tosavk_graph* graph) {
    return graph ? static_cast<uint32_t>(graph->graph->variables.size()) : 0;
}

tosavk_status tosavk_graph_input(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                 tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(graph, "graph");
        call.require(info, "info");
        describe_value(end_value(*graph->graph, graph->graph->inputs, index, "input"), info);
    });
}

tosavk_status tosavk_graph_output(const tosavk_graph* graph, uint32_t index, tosavk_tensor_info* info,
                                  tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(graph, "graph");
        call.require(info, "info");
        describe_value(end_value(*graph->graph, graph->graph->outputs, index, "output"), info);
    });
}

tosavk_status tosavk_graph_print(const tosavk_graph* graph, int32_t kind, tosavk_text** text, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(graph, "graph");
        call.require(text, "text");
        switch (kind) {
            case TOSAVK_GRAPH_LISTING: *text = make_text(print_graph(*graph->graph)); return;
            case TOSAVK_GRAPH_DOT: *text = make_text(print_dot(*graph->graph)); return;
            default: throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_graph_text", kind));
        }
    });
}

tosavk_status tosavk_graph_save_file(const tosavk_graph* graph, const char* path, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(graph, "graph");
        call.require(path, "path");
        const tosavk::Bytes bytes = tosa_file(*graph->graph);
        const std::span<const std::byte> pieces[] = {bytes};
        write_file(path, pieces);
    });
}

tosavk_status tosavk_graph_save_memory(const tosavk_graph* graph, tosavk_bytes** file, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(graph, "graph");
        call.require(file, "file");
        *file = new tosavk_bytes{tosa_file(*graph->graph)};
    });
}

tosavk_status tosavk_graph_save_stream(const tosavk_graph* graph, tosavk_write_callback write, void* user,
                                       tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(graph, "graph");
        if (!write) throw Error(ErrorCode::usage, "tosavk_graph_save_stream: write is NULL");
        write_stream(write, user, tosa_file(*graph->graph));
    });
}

void tosavk_graph_release(tosavk_graph* graph) { delete graph; }

tosavk_status tosavk_reference_run(const tosavk_graph* graph, const void* const* inputs, void* const* outputs,
                                   tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) { run_reference(call, graph, 1, inputs, outputs); });
}

tosavk_status tosavk_reference_run_with(const tosavk_graph* graph, const tosavk_reference_options* options,
                                        const void* const* inputs, void* const* outputs, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        const tosavk_reference_options given = read_struct(options, "tosavk_reference_options");
        require_zero(static_cast<std::int32_t>(given.reserved), "tosavk_reference_options.reserved");
        Progress progress(progress_listener(given.progress, given.user));
        const ProgressScope scope(progress);
        const std::uint32_t steps = given.steps == 0 ? 1 : given.steps;
        run_reference(call, graph, steps, inputs, outputs);
    });
}

tosavk_status tosavk_graph_with_precision(const tosavk_graph* graph, int32_t precision, tosavk_graph** converted,
                                          tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(graph, "graph");
        call.require(converted, "converted");
        const bool same = checked_precision(precision) == TOSAVK_PRECISION_DECLARED;
        *converted = new tosavk_graph{
            same ? graph->graph : std::make_shared<const Graph>(in_precision(*graph->graph, precision)), nullptr};
    });
}

tosavk_status tosavk_random_input(const tosavk_graph* graph, uint32_t index, uint64_t seed, void* data,
                                  size_t size_bytes, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(graph, "graph");
        if (size_bytes > 0) call.require(data, "data");
        end_value(*graph->graph, graph->graph->inputs, index, "input");
        const HostTensor tensor = random_input(*graph->graph, index, seed);
        if (size_bytes != tensor.bytes.size()) {
            throw Error(ErrorCode::bad_input,
                        fmt::format("input {} takes {} bytes, not {}", index, tensor.bytes.size(), size_bytes));
        }
        if (size_bytes > 0) std::memcpy(data, tensor.bytes.data(), size_bytes);
    });
}

// Open models of the C ABI: opening, symbols, specializing, contexts that follow their inputs' shapes.
#include "api/graph_options.hpp"
#include "api/open_model.hpp"
#include "base/files.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace tosavk;
using namespace tosavk::api;

namespace {

constexpr std::uint32_t default_executables = 16;

/// `folder`: where the file lies; empty: unknown.
tosavk_model* open_model(tosavk::Bytes file, const std::string& origin, const std::filesystem::path& folder,
                         const tosavk_load_options* load, const tosavk_model_options* options) {
    const tosavk_model_options given = read_struct(options, "tosavk_model_options");
    require_zero(static_cast<std::int32_t>(given.reserved), "tosavk_model_options.reserved");
    const std::size_t limit = given.max_executables == 0 ? default_executables : given.max_executables;
    ImportOptions import = import_options(load);
    import.folder = folder;
    return new tosavk_model{
        std::make_shared<OpenModel>(std::move(file), origin, std::move(import), precision_of(load), limit)};
}

Shape shape_of(const tosavk_input_shape& given) {
    if (given.rank > TOSAVK_MAX_RANK) {
        throw Error(ErrorCode::usage, fmt::format("the shape for input {} has rank {}, more than {}", given.index,
                                                  given.rank, TOSAVK_MAX_RANK));
    }
    return Shape(given.dims, given.dims + given.rank);
}

Sizes sizes_of(const OpenModel& model, const tosavk_bindings* bindings) {
    const tosavk_bindings given = read_struct(bindings, "tosavk_bindings");
    Sizes sizes(model.symbols().size(), 0);
    for (const tosavk_symbol_value& one :
         read_structs(given.symbols, given.symbol_count, "tosavk_bindings.symbols", "tosavk_symbol_value")) {
        require_zero(static_cast<std::int32_t>(one.reserved), "tosavk_symbol_value.reserved");
        if (one.symbol >= sizes.size()) {
            throw Error(ErrorCode::usage,
                        fmt::format("there is no symbol {}; the model has {}", one.symbol, sizes.size()));
        }
        model.bind(sizes, one.symbol, one.value);
    }
    for (const tosavk_input_shape& one : read_structs(given.input_shapes, given.input_shape_count,
                                                      "tosavk_bindings.input_shapes", "tosavk_input_shape"))
        model.bind_shape(sizes, one.index, shape_of(one));
    model.require_all(sizes);
    return sizes;
}

}  // namespace

tosavk_status tosavk_model_open_file(const char* path, const tosavk_load_options* load,
                                     const tosavk_model_options* options, tosavk_model** model, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(path, "path");
        call.require(model, "model");
        *model = open_model(read_file(path), path, folder_of(path), load, options);
    });
}

tosavk_status tosavk_model_open_memory(const void* data, size_t size_bytes, const tosavk_load_options* load,
                                       const tosavk_model_options* options, tosavk_model** model,
                                       tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(data, "data");
        call.require(model, "model");
        const auto* begin = static_cast<const std::byte*>(data);
        *model = open_model({begin, begin + size_bytes}, "the model in memory", {}, load, options);
    });
}

tosavk_status tosavk_model_file(const tosavk_model* model, tosavk_bytes** file, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(model, "model");
        call.require(file, "file");
        *file = new tosavk_bytes{model->model->file()};
    });
}

uint32_t tosavk_model_input_count(const tosavk_model* model) {
    return model ? static_cast<uint32_t>(model->model->signature().inputs.size()) : 0;
}

uint32_t tosavk_model_output_count(const tosavk_model* model) {
    return model ? static_cast<uint32_t>(model->model->signature().output_count) : 0;
}

uint32_t tosavk_model_symbol_count(const tosavk_model* model) {
    return model ? static_cast<uint32_t>(model->model->symbols().size()) : 0;
}

tosavk_status tosavk_model_input(const tosavk_model* model, uint32_t index, tosavk_open_tensor_info* info,
                                 tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(model, "model");
        call.require(info, "info");
        const std::vector<InputSignature>& inputs = model->model->signature().inputs;
        if (index >= inputs.size())
            throw Error(ErrorCode::usage, fmt::format("there is no input {}; the model has {}", index, inputs.size()));
        const InputSignature& input = inputs[index];
        tosavk_open_tensor_info result{};
        result.name = input.name.c_str();
        result.type = static_cast<std::int32_t>(describe_tensor("", input.type, {}).type);
        result.rank = static_cast<std::uint32_t>(input.shape.size());
        std::fill(std::begin(result.symbols), std::end(result.symbols), TOSAVK_NO_SYMBOL);
        for (std::size_t d = 0; d < input.shape.size(); ++d) {
            const auto symbol = model->model->symbol_of(index, d);
            result.dims[d] = symbol ? TOSAVK_OPEN_DIMENSION : input.shape[d];
            if (symbol) result.symbols[d] = static_cast<std::int32_t>(*symbol);
        }
        result.scale = input.scale;
        result.zero_point = input.zero_point;
        result.declared_type = declared_type(input.type, input.declared);
        write_struct(info, result, "tosavk_open_tensor_info");
    });
}

tosavk_status tosavk_model_symbol(const tosavk_model* model, uint32_t index, tosavk_symbol_info* info,
                                  tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(model, "model");
        call.require(info, "info");
        const std::vector<Symbol>& symbols = model->model->symbols();
        if (index >= symbols.size())
            throw Error(ErrorCode::usage,
                        fmt::format("there is no symbol {}; the model has {}", index, symbols.size()));
        tosavk_symbol_info result{};
        result.name = symbols[index].name.c_str();
        result.input = static_cast<std::uint32_t>(symbols[index].input);
        result.dimension = static_cast<std::uint32_t>(symbols[index].dimension);
        write_struct(info, result, "tosavk_symbol_info");
    });
}

tosavk_status tosavk_model_graph(tosavk_model* model, const tosavk_bindings* bindings, tosavk_graph** graph,
                                 tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(model, "model");
        call.require(graph, "graph");
        *graph = new tosavk_graph{model->model->graph(sizes_of(*model->model, bindings)), nullptr};
    });
}

tosavk_status tosavk_specialize(tosavk_model* model, tosavk_device* device, const tosavk_bindings* bindings,
                                const tosavk_compile_options* options, tosavk_executable** executable,
                                tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(model, "model");
        call.require(device, "device");
        call.require(executable, "executable");
        const Sizes sizes = sizes_of(*model->model, bindings);
        Progress progress(progress_listener(options));
        const ProgressScope scope(progress);
        auto made =
            model->model->executable(device->device, device->customs.get(), plan_options(options), sizes, progress);
        *executable = new tosavk_executable{std::move(made), 0};
    });
}

tosavk_status tosavk_model_context_create(tosavk_model* model, tosavk_device* device,
                                          const tosavk_compile_options* compile, const tosavk_context_options* options,
                                          tosavk_context** context, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(model, "model");
        call.require(device, "device");
        call.require(context, "context");
        const tosavk_context_options given = read_struct(options, "tosavk_context_options");
        require_zero(given.reserved, "tosavk_context_options.reserved");
        *context = new tosavk_context(
            std::make_unique<OpenContext>(model->model, device->device, device->customs.get(), plan_options(compile),
                                          is_set(given.profile, "profile"), progress_listener(compile)));
    });
}

tosavk_status tosavk_context_set_input_shape(tosavk_context* context, uint32_t index, uint32_t rank,
                                             const int64_t* dims, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        if (rank > 0) call.require(dims, "dims");
        if (rank > TOSAVK_MAX_RANK)
            throw Error(ErrorCode::usage, fmt::format("rank {} is more than {}", rank, TOSAVK_MAX_RANK));
        require_idle(*context, "telling an input's shape");
        const Shape shape = rank > 0 ? Shape(dims, dims + rank) : Shape();
        if (context->open) {
            context->open->set_shape(index, shape);
            return;
        }
        const Value value = input_value(*context, index);
        if (value.shape != shape) {
            throw Error(ErrorCode::bad_input, fmt::format("input {} '{}' has shape {} and cannot take shape {}", index,
                                                          value.name, to_string(value.shape), to_string(shape)));
        }
    });
}

tosavk_status tosavk_context_output_info(tosavk_context* context, uint32_t index, tosavk_tensor_info* info,
                                         tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(context, "context");
        call.require(info, "info");
        require_idle(*context, "asking for an output's shape");
        if (context->open) context->open->prepare(*context);
        const Graph& graph = context->executable->graph();
        if (index >= graph.outputs.size()) {
            throw Error(ErrorCode::usage,
                        fmt::format("there is no output {}; the graph has {}", index, graph.outputs.size()));
        }
        const Value& value = graph.value(graph.outputs[index]);
        tosavk_tensor_info result = describe_tensor(value.name.c_str(), value.type, value.shape);
        result.scale = value.scale;
        result.zero_point = value.zero_point;
        result.declared_type = declared_type(value.type, value.declared);
        write_struct(info, result, "tosavk_tensor_info");
    });
}

tosavk_status tosavk_model_count(const tosavk_model* model, tosavk_model_counters* counters, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(model, "model");
        call.require(counters, "counters");
        write_struct(counters, model->model->counters(), "tosavk_model_counters");
    });
}

void tosavk_model_release(tosavk_model* model) { delete model; }

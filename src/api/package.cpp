#include "api/package.hpp"

#include "api/streams.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "compile/rewrite/precision.hpp"
#include "graph/host_values.hpp"
#include "ops/custom.hpp"
#include "ops/empty.hpp"
#include "vk/core/device_state.hpp"

#include <fmt/format.h>

#include <set>

using namespace tosavk;
using namespace tosavk::api;

namespace tosavk::api {

namespace {

/// The graph of a package as both its maker and its users read it. Its ends may have no elements, and nothing between
/// them, whoever wrote the bytes.
Graph read_graph(std::span<const std::byte> tosa, const Level& level) {
    ImportOptions options;
    options.level = &with_empty(level);
    options.spec = TosaSpec::v1_0;
    return without_empty(import_tosa(tosa, options));
}

void set_scales(Graph& graph, const std::vector<ValueId>& ends, const std::vector<PackagedScale>& scales) {
    for (std::size_t k = 0; k < ends.size() && k < scales.size(); ++k) {
        graph.values[ends[k]].scale = scales[k].scale;
        graph.values[ends[k]].zero_point = scales[k].zero_point;
        Value& value = graph.values[ends[k]];
        value.declared = scales[k].declared;
        if (!may_declare(value.type, value.declared))
            throw Error(ErrorCode::bad_model, "the package is damaged: an end has another type than its tensor");
    }
}

std::vector<PackagedScale> scales_of(const Graph& graph, const std::vector<ValueId>& ends) {
    std::vector<PackagedScale> scales;
    for (const ValueId id : ends) {
        const Value& value = graph.value(id);
        scales.push_back({value.scale, value.zero_point, value.declared});
    }
    return scales;
}

LoadedModel load_package(std::span<const std::byte> file, const ImportOptions& options) {
    auto package = std::make_shared<Package>(read_package(file));
    LoadedModel model;
    try {
        model.graph = read_graph(package->tosa, *options.level);
    } catch (const Error& e) {
        if (e.code() != ErrorCode::usage) throw;  // nobody asked for a version but this function
        throw Error(ErrorCode::bad_model, fmt::format("the package is damaged: {}", e.what()), e.node(), e.operand());
    }
    package->tosa = {};
    if (package->fast_fp16) make_fast(model.graph);
    if (graph_numbering(model.graph) != package->numbering) {
        // Another version of the library reads the graph in another order: the plan means nothing to this one.
        package->target = {};
        package->plan = {};
    } else {
        check_package(*package, model.graph);
    }
    set_scales(model.graph, model.graph.inputs, package->inputs);
    set_scales(model.graph, model.graph.outputs, package->outputs);
    model.package = std::move(package);
    return model;
}

Bytes make_package(Device& device, const Graph& graph, const PlanOptions& options, Progress& progress) {
    if (has_custom(graph)) throw Error(ErrorCode::unsupported, "a package cannot hold kernels of CUSTOM operators");
    Package package;
    package.tosa = write_tosa(graph, true);
    package.inputs = scales_of(graph, graph.inputs);
    package.outputs = scales_of(graph, graph.outputs);
    Graph numbered = read_graph(package.tosa, level_none);
    package.fast_fp16 = graph.fast_fp16;
    if (package.fast_fp16) make_fast(numbered);
    package.numbering = graph_numbering(numbered);
    package.target = package_target(device_for(graph, device.plan()), options);
    package.plan = make_plan(numbered, device.plan(), options, device.tuning().get());
    std::set<std::string_view> seen;
    std::vector<const Dispatch*> shaders;
    for_each_dispatch(package.plan, [&](const Dispatch& dispatch) {
        if (!dispatch.glsl.empty() && seen.insert(dispatch.glsl).second) shaders.push_back(&dispatch);
    });
    progress.expect(shaders.size());
    for (const Dispatch* dispatch : shaders) {
        package.shaders.push_back({dispatch->glsl, device.state().pipelines.spirv(*dispatch)});
        progress.step();
    }
    return write_package(std::move(package));
}

}  // namespace

LoadedModel load_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options) {
    if (!is_package(file)) return {import_model(file, origin, options), nullptr};
    try {
        return load_package(file, options);
    } catch (const Error& e) {
        throw Error(e.code(), fmt::format("{}: {}", origin, e.what()), e.node(), e.operand());
    }
}

std::shared_ptr<Executable> make_executable(const tosavk_device& target, const tosavk_graph& graph,
                                            const PlanOptions& options, PackageUse& use, Progress& progress) {
    const std::shared_ptr<Device>& device = target.device;
    use = PackageUse::none;
    if (graph.package) {
        if (graph.package->target == package_target(device_for(*graph.graph, device->plan()), options)) {
            use = PackageUse::used;
            for (const PackagedShader& shader : graph.package->shaders) {
                device->state().pipelines.offer(shader.glsl, shader.spirv);
            }
            try {
                return Executable::create(device, graph.graph, graph.package->plan, progress);
            } catch (const Error& e) {
                // What the library would never plan can only come from the file.
                if (e.code() != ErrorCode::internal) throw;
                throw Error(ErrorCode::bad_model, fmt::format("the package is damaged: {}", e.what()), e.node(),
                            e.operand());
            }
        }
        use = PackageUse::did_not_fit;
        say("package", "it was made for another device, library or option; the graph is compiled");
    }
    const auto whole = graph_for(target, graph);
    return Executable::create(device, whole, make_plan(*whole, device->plan(), options, device->tuning().get()),
                              progress);
}

}  // namespace tosavk::api

namespace {

Bytes saved(const Call& call, tosavk_device* device, const tosavk_graph* graph, const tosavk_compile_options* options) {
    call.require(device, "device");
    call.require(graph, "graph");
    Progress progress(progress_listener(options));
    const ProgressScope scope(progress);
    Bytes bytes = make_package(*device->device, *graph->graph, plan_options(options), progress);
    if (bytes.size() > most_file_bytes) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("the package would have {} bytes, and files above 2 GiB are not read", bytes.size()));
    }
    return bytes;
}

}  // namespace

tosavk_status tosavk_package_save(tosavk_device* device, const tosavk_graph* graph,
                                  const tosavk_compile_options* options, const char* path, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(path, "path");
        const tosavk::Bytes bytes = saved(call, device, graph, options);
        const std::span<const std::byte> pieces[] = {bytes};
        write_file(path, pieces);
    });
}

tosavk_status tosavk_package_save_memory(tosavk_device* device, const tosavk_graph* graph,
                                         const tosavk_compile_options* options, tosavk_bytes** file,
                                         tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(file, "file");
        *file = new tosavk_bytes{saved(call, device, graph, options)};
    });
}

tosavk_status tosavk_package_save_stream(tosavk_device* device, const tosavk_graph* graph,
                                         const tosavk_compile_options* options, tosavk_write_callback write, void* user,
                                         tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        if (!write) throw Error(ErrorCode::usage, "tosavk_package_save_stream: write is NULL");
        write_stream(write, user, saved(call, device, graph, options));
    });
}

// What the front ends take of a file, as JSON.
#include "api/probe.hpp"
#include "api/graph_options.hpp"
#include "api/handles.hpp"
#include "api/package.hpp"
#include "base/files.hpp"
#include "frontends/frontend.hpp"
#include "store/package.hpp"

#include <nlohmann/json.hpp>

using namespace tosavk;
using namespace tosavk::api;

namespace {

tosavk_text* probe(std::span<const std::byte> file, const std::string& origin, const tosavk_load_options* options,
                   const std::filesystem::path& folder) {
    ImportOptions import = import_options(options);
    import.folder = folder;
    const std::int32_t precision = precision_of(options);
    if (is_package(file)) {
        throw Error(ErrorCode::unsupported,
                    origin + ": this is a package, which loads as a whole; a probe looks at .tflite and .tosa files");
    }
    ProbeReport report = probe_model(file, origin, import);
    if (report.taken() && (precision != TOSAVK_PRECISION_DECLARED || !import.input_shapes.empty())) {
        try {
            LoadedModel model = load_model(file, origin, import);
            apply_options(model, import, precision);
        } catch (const Error& e) {
            report.graph.emplace_back(e.what());
        }
    }
    return make_text(probe_json(report));
}

nlohmann::ordered_json ends_json(const std::vector<FileFacts::End>& ends) {
    auto list = nlohmann::ordered_json::array();
    for (const FileFacts::End& end : ends) list.push_back({{"name", end.name}, {"tensor", end.tensor}});
    return list;
}

nlohmann::ordered_json values_json(const std::vector<FileFacts::Value>& values) {
    auto list = nlohmann::ordered_json::array();
    for (const FileFacts::Value& value : values) {
        list.push_back({{"type", value.type}, {"shape", value.shape}});
        if (value.alias) list.back()["alias"] = *value.alias;
        if (value.donated) list.back()["donated"] = true;
    }
    return list;
}

tosavk_text* describe(std::span<const std::byte> file, const std::string& origin) {
    if (is_package(file)) throw Error(ErrorCode::unsupported, origin + ": this is a package, which says nothing else");
    const FileFacts facts = model_facts(file, origin);
    nlohmann::ordered_json result{
        {"format", facts.format}, {"description", facts.description}, {"subgraphs", facts.subgraphs}};
    auto& signatures = result["signatures"] = nlohmann::ordered_json::array();
    for (const FileFacts::EntryPoint& signature : facts.signatures) {
        signatures.push_back({{"key", signature.key},
                              {"subgraph", signature.subgraph},
                              {"inputs", ends_json(signature.inputs)},
                              {"outputs", ends_json(signature.outputs)}});
    }
    auto& metadata = result["metadata"] = nlohmann::ordered_json::array();
    for (const FileFacts::Metadata& one : facts.metadata) {
        metadata.push_back({{"name", one.name}, {"size_bytes", one.size_bytes}});
        if (!one.text.empty()) metadata.back()["text"] = one.text;
    }
    result["external_files"] = facts.external_files;
    if (facts.format == "stablehlo") {
        result["name"] = facts.name;
        result["arguments"] = values_json(facts.arguments);
        result["results"] = values_json(facts.results);
    }
    return make_text(result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

tosavk_status tosavk_describe_file(const char* path, tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(path, "path");
        call.require(json, "json");
        *json = describe(read_file(path), path);
    });
}

tosavk_status tosavk_describe_memory(const void* data, size_t size_bytes, tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(data, "data");
        call.require(json, "json");
        *json = describe({static_cast<const std::byte*>(data), size_bytes}, "the model in memory");
    });
}

std::string tosavk::api::probe_json(const ProbeReport& report) {
    nlohmann::ordered_json result;
    result["format"] = report.format;
    result["taken"] = report.taken();
    auto& operators = result["operators"] = nlohmann::ordered_json::array();
    for (const ProbedOperator& op : report.operators) {
        nlohmann::ordered_json entry{
            {"region", op.region}, {"index", op.index}, {"name", op.name}, {"taken", op.taken}};
        if (!op.taken) entry["sentence"] = op.sentence;
        if (!op.needs.empty()) entry["needs"] = op.needs;
        operators.push_back(std::move(entry));
    }
    result["graph"] = report.graph;
    // Names come from files and programs: bytes that are no UTF-8 are replaced rather than thrown over.
    return result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

tosavk_status tosavk_probe_file(const char* path, const tosavk_load_options* options, tosavk_text** json,
                                tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(path, "path");
        call.require(json, "json");
        *json = probe(read_file(path), path, options, folder_of(path));
    });
}

tosavk_status tosavk_probe_memory(const void* data, size_t size_bytes, const tosavk_load_options* options,
                                  tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(data, "data");
        call.require(json, "json");
        *json = probe({static_cast<const std::byte*>(data), size_bytes}, "the model in memory", options, {});
    });
}

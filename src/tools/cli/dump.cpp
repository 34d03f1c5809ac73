// tosa-vk dump: the graph, the plan, the shaders, a picture.
#include "tools/cli/commands.hpp"

#include <fmt/format.h>

#include <memory>

namespace tosavk::cli {

namespace {

struct DumpOptions {
    ModelOptions model;
    std::string device;
    bool plan = false, glsl = false, dot = false, no_fuse = false;
};

/// What a .tflite file says of itself, a line each; empty for other files.
std::string facts_text(const std::string& path) {
    Json facts;
    try {
        facts = Json::parse(cpp::describe(path));
    } catch (const cpp::Error& e) {
        if (e.status() != TOSAVK_ERROR_UNSUPPORTED) throw;  // a package
        return {};
    }
    if (facts.at("format") != "tflite") return {};
    std::string text;
    const auto word = [](const Json& value) { return value.get<std::string>(); };
    if (!word(facts.at("description")).empty())
        text += fmt::format("file: description '{}'\n", word(facts.at("description")));
    if (facts.at("subgraphs").size() > 1)
        text += fmt::format("file: {} subgraphs\n", facts.at("subgraphs").size());
    const auto ends = [&](const Json& list) {
        std::string all;
        for (const Json& end : list)
            all += fmt::format("{}'{}' ('{}')", all.empty() ? "" : ", ", word(end.at("name")), word(end.at("tensor")));
        return all.empty() ? std::string("nothing") : all;
    };
    for (const Json& signature : facts.at("signatures")) {
        text += fmt::format("file: signature '{}' of subgraph {}: {} -> {}\n", word(signature.at("key")),
                            signature.at("subgraph").get<std::uint64_t>(), ends(signature.at("inputs")),
                            ends(signature.at("outputs")));
    }
    for (const Json& one : facts.at("metadata")) {
        const std::string shown = one.contains("text") ? fmt::format(": {}", word(one.at("text"))) : "";
        text += fmt::format("file: metadata '{}', {} bytes{}\n", word(one.at("name")),
                            one.at("size_bytes").get<std::uint64_t>(), shown);
    }
    for (const Json& name : facts.at("external_files")) text += fmt::format("file: constants in '{}'\n", word(name));
    return text;
}

int dump(const DumpOptions& options) {
    const cpp::Graph graph = load_model(options.model);
    if (options.plan || options.glsl) {
        const cpp::Device device(options.device);
        const cpp::Executable executable(device, graph, !options.no_fuse);
        print(executable.print(options.plan ? TOSAVK_EXECUTABLE_PLAN : TOSAVK_EXECUTABLE_GLSL));
    } else {
        print(graph.print(options.dot ? TOSAVK_GRAPH_DOT : TOSAVK_GRAPH_LISTING));
        if (!options.dot && options.model.problem.empty() && !is_problem_line(options.model.path))
            print(facts_text(options.model.path));
    }
    return exit_done;
}

}  // namespace

Action add_dump(CLI::App& app) {
    auto options = std::make_shared<DumpOptions>();
    CLI::App* command = app.add_subcommand("dump", "Prints the TOSA graph of a model, or what becomes of it");
    add_model_options(*command, options->model);
    add_device_option(*command, options->device);
    CLI::Option* plan = command->add_flag("--plan", options->plan, "the dispatches, memory and constants of the plan");
    CLI::Option* glsl = command->add_flag("--glsl", options->glsl, "the generated shaders");
    CLI::Option* dot = command->add_flag("--dot", options->dot, "the graph as a picture in Graphviz' language");
    plan->excludes(glsl)->excludes(dot);
    glsl->excludes(dot);
    command->add_flag("--no-fuse", options->no_fuse, "plan one dispatch per operator");
    command->footer("Example: tosa-vk dump model.tflite --plan");
    return [options] { return dump(*options); };
}

}  // namespace tosavk::cli

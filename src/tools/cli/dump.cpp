// tosa-vk dump: the graph, the plan, the shaders, a picture.
#include "tools/cli/commands.hpp"

#include <fmt/format.h>

#include <memory>

namespace tosavk::cli {

namespace {

struct DumpOptions {
    ModelOptions model;
    DeviceChoice device;
    bool plan = false, glsl = false, dot = false, no_fuse = false;
    bool pipelines = false, assembly = false, access = false, json = false;
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
    if (facts.at("subgraphs").size() > 1) text += fmt::format("file: {} subgraphs\n", facts.at("subgraphs").size());
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

std::string count_text(const Json& value) { return value.is_number() ? value.dump() : "-"; }

/// A line a dispatch, in the same columns for all compilers.
std::string pipelines_text(const Json& dispatches) {
    std::vector<std::vector<std::string>> rows{{"", "kernel", "groups", "threads", "subgroup", "registers", "spills",
                                                "fills", "shared", "occupancy", "instructions", "hot", "of", "matrix",
                                                "loads", "conversions", "scratch", "waits"}};
    std::string listings;
    bool told = false;
    for (const Json& one : dispatches) {
        const std::string number = one.at("dispatch").dump();
        const Json compiler = one.value("compiler", Json::object());
        told = told || one.contains("statistics");
        const auto figure = [&](const char* name) { return count_text(compiler.value(name, Json(nullptr))); };
        std::string groups;
        for (const Json& n : one.at("groups")) groups += (groups.empty() ? "" : "x") + n.dump();
        const std::string half = figure("half_registers"), most = figure("full_occupancy");
        rows.push_back({number, one.at("kernel").get<std::string>(), groups, one.at("invocations").dump(),
                        figure("subgroup_size"), figure("registers") + (half == "-" ? "" : " + " + half + " half"),
                        figure("spills"), figure("fills"), figure("shared_bytes"),
                        figure("occupancy") + (most == "-" ? "" : "/" + most), figure("instructions"),
                        figure("hot_multiply_adds"), figure("hot_instructions"), figure("hot_matrix"),
                        figure("hot_loads") + "+" + figure("hot_shared_loads"), figure("hot_conversions"),
                        figure("hot_scratch"), figure("hot_waits")});
        if (one.contains("assembly"))
            listings += fmt::format("\ndispatch {}: {} [{}]\n{}\n", number, one.at("label").get<std::string>(),
                                    one.at("kernel").get<std::string>(), one.at("assembly").get<std::string>());
    }
    std::vector<bool> is_number(rows.front().size(), true);
    is_number[1] = false;
    std::string text = table_text(rows, is_number);
    if (!told) text += "the driver tells nothing of its pipelines (VK_KHR_pipeline_executable_properties)\n";
    return text + listings;
}

/// A line for each buffer or shared array of a dispatch, loads and stores apart.
std::string accesses_text(const Json& dispatches) {
    std::vector<std::vector<std::string>> rows{
        {"", "kernel", "memory", "name", "", "subgroup", "accesses", "segments", "fewest", "excess", "idle"}};
    std::string lost;
    for (const Json& one : dispatches) {
        for (const Json& place : one.at("places")) {
            const bool shared = place.at("memory") == "shared";
            const auto lanes = place.at("lanes").get<double>(), idle = place.at("idle").get<double>();
            rows.push_back({one.at("dispatch").dump(), one.at("kernel").get<std::string>(),
                            shared ? "shared" : "buffer",
                            shared ? "array " + place.at("number").dump() : place.at("name").get<std::string>(),
                            place.at("stored").get<bool>() ? "stores" : "loads", place.at("subgroup_size").dump(),
                            place.at("accesses").dump(), place.at("segments").dump(), place.at("fewest").dump(),
                            fmt::format("{:.2f}", place.at("excess").get<double>()),
                            fmt::format("{:.0f}%", 100 * idle / (lanes + idle))});
        }
        if (one.at("lost") != 0) {
            lost += fmt::format("dispatch {}: {} further accesses were not looked at\n", one.at("dispatch").dump(),
                                one.at("lost").dump());
        }
    }
    std::vector<bool> is_number(rows.front().size(), true);
    for (const std::size_t text : {1, 2, 3, 4}) is_number[text] = false;
    return table_text(rows, is_number) + lost;
}

/// What the library tells of the dispatches, as it is with --json, else as `text` says it.
std::string report(const DumpOptions& options, const cpp::Graph& graph, std::int32_t kind,
                   std::string (*text)(const Json& dispatches)) {
    const cpp::Device device = open_device(options.device, /*inspect=*/options.pipelines);
    const cpp::Executable executable(device, graph, !options.no_fuse);
    const Json dispatches = Json::parse(executable.print(kind));
    if (!options.json) return text(dispatches);
    Json whole;
    whole["device"] = device.name();
    whole["driver"] = device.driver();
    whole["dispatches"] = dispatches;
    return json_text(whole);
}

int dump(const DumpOptions& options) {
    if (options.assembly && !options.pipelines) throw Failure(exit_usage, "--assembly goes with --pipelines");
    if (options.json && !options.pipelines && !options.access)
        throw Failure(exit_usage, "--json goes with --pipelines or --access");
    const cpp::Graph graph = load_model(options.model);
    if (options.pipelines) {
        print(report(options, graph, options.assembly ? TOSAVK_EXECUTABLE_ASSEMBLY : TOSAVK_EXECUTABLE_PIPELINES,
                     pipelines_text));
    } else if (options.access) {
        print(report(options, graph, TOSAVK_EXECUTABLE_ACCESSES, accesses_text));
    } else if (options.plan || options.glsl) {
        const cpp::Device device = open_device(options.device);
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
    add_device_options(*command, options->device);
    CLI::Option* plan = command->add_flag("--plan", options->plan, "the dispatches, memory and constants of the plan");
    CLI::Option* glsl = command->add_flag("--glsl", options->glsl, "the generated shaders");
    CLI::Option* dot = command->add_flag("--dot", options->dot, "the graph as a picture in Graphviz' language");
    CLI::Option* pipelines = command->add_flag("--pipelines", options->pipelines,
                                               "what the driver's compiler made of each dispatch: registers, spills, "
                                               "instructions, and the hottest loop's multiply-adds");
    command->add_flag("--assembly", options->assembly, "with --pipelines: the programs too");
    CLI::Option* access = command->add_flag("--access", options->access,
                                            "how the kernels touch memory, as subgroups of 16, 32 and 64 would: "
                                            "segments of 64 bytes, of shared memory turns of its banks, against the "
                                            "fewest possible");
    command->add_flag("--json", options->json, "with --pipelines or --access: print JSON");
    plan->excludes(glsl)->excludes(dot)->excludes(pipelines)->excludes(access);
    glsl->excludes(dot)->excludes(pipelines)->excludes(access);
    dot->excludes(pipelines)->excludes(access);
    pipelines->excludes(access);
    command->add_flag("--no-fuse", options->no_fuse, "plan one dispatch per operator");
    command->footer(
        "Example: tosa-vk dump model.tflite --plan\n"
        "A GPU's compiler without the GPU, here of RADV: RADV_FORCE_FAMILY=NAVI21 \\\n"
        "  tosa-vk dump model.tflite --pipelines --compile-only --device NAVI21");
    return [options] { return dump(*options); };
}

}  // namespace tosavk::cli

// tosa-vk dump: the graph, the plan, the shaders, a picture.
#include "tools/cli/commands.hpp"

#include <memory>

namespace tosavk::cli {

namespace {

struct DumpOptions {
    ModelOptions model;
    std::string device;
    bool plan = false, glsl = false, dot = false, no_fuse = false;
};

int dump(const DumpOptions& options) {
    const cpp::Graph graph = load_model(options.model);
    if (options.plan || options.glsl) {
        const cpp::Device device(options.device);
        const cpp::Executable executable(device, graph, !options.no_fuse);
        print(executable.print(options.plan ? TOSAVK_EXECUTABLE_PLAN : TOSAVK_EXECUTABLE_GLSL));
    } else {
        print(graph.print(options.dot ? TOSAVK_GRAPH_DOT : TOSAVK_GRAPH_LISTING));
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

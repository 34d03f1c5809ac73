// tosa-vk compile: a model as a package, compiled ahead of time.
#include "tools/cli/commands.hpp"

#include <cstdio>
#include <memory>

namespace tosavk::cli {

namespace {

struct CompileOptions {
    ModelOptions model;
    DeviceChoice device;
    std::string out;
    bool no_fuse = false;
};

int compile(const CompileOptions& options) {
    if (is_stdout(options.out)) throw Failure(exit_usage, "--output takes a file, not standard output");
    const cpp::Graph graph = load_model(options.model);
    const cpp::Device device = open_device(options.device);
    cpp::save_package(device, graph, options.out, !options.no_fuse);
    if (!options.model.is_exact()) {
        std::fprintf(stderr,
                     "note: the package computes in fp16 what the model declares as fp32; tosa-vk run MODEL "
                     "--precision %s reports the difference\n",
                     options.model.precision.c_str());
    }
    return exit_done;
}

}  // namespace

Action add_compile(CLI::App& app) {
    auto options = std::make_shared<CompileOptions>();
    CLI::App* command = app.add_subcommand("compile",
                                           "Writes a model with its plan, shaders and packed weights to a package, "
                                           "which starts without the GLSL compiler");
    add_model_options(*command, options->model);
    command->add_option("-o,--output", options->out, "the package to write")->required()->check(output_path());
    add_device_options(*command, options->device);
    command->add_flag("--no-fuse", options->no_fuse, "one dispatch per operator");
    command->footer(
        "A package runs wherever its model does; on another kind of device it is compiled as the model would be.\n"
        "It holds programs for the device: load only those that you would run.\n"
        "Example: tosa-vk compile model.tflite -o model.tvk && tosa-vk run model.tvk");
    return [options] { return compile(*options); };
}

}  // namespace tosavk::cli

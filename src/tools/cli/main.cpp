// tosa-vk: everything that the library does, from the shell. Uses only the C ABI.
#include "tools/cli/commands.hpp"

#include <utility>

using namespace tosavk::cli;

int main(int argc, char** argv) {
    CLI::App app("Runs TOSA graphs on any Vulkan device", "tosa-vk");
    app.set_version_flag("--version", "tosa-vk " + tosavk::cpp::version());
    app.require_subcommand(0, 1);  // none is reported below, so that an unknown one is named by its own message
    app.footer(
        "Exit codes: 0 done; 1 a comparison failed, or probe found what is not taken; 2 wrong usage; 3 the model, an "
        "input or an output path is bad;\n"
        "4 the device failed, is missing or is out of memory.\n"
        "Example: tosa-vk run model.tflite --input 0=picture.npy --top 3");
    const std::pair<const char*, Action> actions[] = {
        {"run", add_run(app)},         {"verify", add_verify(app)},   {"info", add_info(app)},
        {"ops", add_ops(app)},         {"probe", add_probe(app)},     {"dump", add_dump(app)},
        {"convert", add_convert(app)}, {"compile", add_compile(app)}, {"conformance", add_conformance(app)},
    };
    return run_program(app, argc, argv, [&] {
        for (const auto& [name, action] : actions) {
            if (app.got_subcommand(name)) return action();
        }
        throw Failure(exit_usage, "no command was given; see tosa-vk --help");
    });
}

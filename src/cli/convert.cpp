// tosa-vk convert: a model as a TOSA 1.0 flatbuffer.
#include "cli/commands.hpp"

#include <memory>

namespace tosavk::cli {

namespace {

struct Options {
    ModelOptions model;
    std::string out;
};

int convert(const Options& options) {
    const std::string ending = ".tosa";
    const bool fits = options.out.size() > ending.size() &&
                      options.out.compare(options.out.size() - ending.size(), ending.size(), ending) == 0;
    if (!fits) throw Failure(exit_usage, options.out + ": only .tosa files can be written");
    load_model(options.model).save(options.out);
    return exit_done;
}

}  // namespace

Action add_convert(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("convert", "Writes the TOSA graph of a model to a .tosa file (TOSA 1.0)");
    add_model_options(*command, options->model);
    command->add_option("OUT", options->out, "the file to write, which must end in .tosa")->required();
    command->footer("Example: tosa-vk convert model.tflite model.tosa");
    return [options] { return convert(*options); };
}

}  // namespace tosavk::cli

// tosa-vk convert: a model as a TOSA 1.0 flatbuffer.
#include "tools/cli/commands.hpp"

#include <memory>

namespace tosavk::cli {

namespace {

struct ConvertOptions {
    ModelOptions model;
    std::string out, named_out;
};

int convert(const ConvertOptions& options) {
    const std::string& to = options.named_out.empty() ? options.out : options.named_out;
    if (to.empty()) throw Failure(exit_usage, "OUT is missing: the .tosa file to write");
    const std::string ending = ".tosa";
    if (to.size() <= ending.size() || !to.ends_with(ending))
        throw Failure(exit_usage, to + ": only .tosa files can be written");
    load_model(options.model).save(to);
    return exit_done;
}

}  // namespace

Action add_convert(CLI::App& app) {
    auto options = std::make_shared<ConvertOptions>();
    CLI::App* command = app.add_subcommand("convert", "Writes the TOSA graph of a model to a .tosa file (TOSA 1.0)");
    add_model_options(*command, options->model);
    CLI::Option* out = command->add_option("OUT", options->out, "the file to write, which must end in .tosa");
    CLI::Option* named =
        command->add_option("-o,--output", options->named_out, "the same, for use with --op")->check(output_path());
    named->excludes(out);
    command->footer(
        "Example: tosa-vk convert model.tflite model.tosa\n"
        "Example: tosa-vk convert --op 'matmul f32 1x64x64x64' -o product.tosa");
    return [options] { return convert(*options); };
}

}  // namespace tosavk::cli

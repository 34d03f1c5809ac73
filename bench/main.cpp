// tosa-vk-bench: how long models take on a device, dispatch by dispatch.
#include "measure.hpp"

#include <fmt/format.h>

using namespace tosavk;
using namespace tosavk::cli;

namespace {

struct Options {
    std::vector<std::string> models;
    ModelOptions model;
    bench::MeasureOptions measure;
    std::string device, json;
    bool no_check = false;
};

int run(Options options) {
    if (!(options.measure.min_time_s >= 0 && options.measure.min_time_s <= 3600))
        throw Failure(exit_usage, "--min-time takes 0 to 3600 seconds");
    options.measure.check = !options.no_check;
    // All models are looked at before the first is measured, which may take minutes.
    for (const std::string& path : options.models) {
        options.model.path = path;
        load_model(options.model);
    }
    const cpp::Device device(options.device);
    const bool to_stdout = options.json == "-";
    auto problems = Json::array();
    std::string text = fmt::format("device: {} ({})\n", device.name(), device.driver());
    int code = exit_done;
    Progress progress("bench", options.models.size());
    for (const std::string& path : options.models) {
        options.model.path = path;
        const bench::Measurement measurement = bench::measure(device, options.model, options.measure);
        if (measurement.check && !measurement.check->passed) code = exit_different;
        problems.push_back(bench::to_json(measurement));
        text += "\n" + bench::to_text(measurement);
        progress.step();
    }
    Json result;
    result["device"] = {{"name", device.name()}, {"driver", device.driver()}};
    result["limits"] = Json::object();
    result["problems"] = std::move(problems);
    if (!options.json.empty() && !to_stdout) write_file(options.json, json_text(result));
    print(to_stdout ? json_text(result) : text);
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app("Measures models on a Vulkan device", "tosa-vk-bench");
    app.set_version_flag("--version", "tosa-vk-bench " + cpp::version());
    app.add_option("MODEL", options.models, "one or more models")->required();
    add_model_options(app, options.model, false);
    add_device_option(app, options.device);
    app.add_option("--json", options.json, "file for the results as JSON; - for standard output");
    app.add_option("--min-time", options.measure.min_time_s, "seconds to repeat at least (default 0.5)");
    app.add_option("--seed", options.measure.seed, "seed of the random inputs (default 0)")->check(whole_number());
    app.add_flag("--no-check", options.no_check, "do not compare with the reference first");
    app.footer("Exit codes: 0 done; 1 a result differs from the reference; 2 wrong usage; 3 a file is bad;\n"
               "4 the device failed, is missing or is out of memory.\n"
               "Example: tosa-vk-bench model.tflite --device cpu --json result.json");
    return run_program(app, argc, argv, [&] { return run(options); });
}

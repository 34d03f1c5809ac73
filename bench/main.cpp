// tosa-vk-bench: how long models and single operators take on a device, dispatch by dispatch.
#include "measure.hpp"

#include <fmt/format.h>

using namespace tosavk;
using namespace tosavk::cli;

namespace {

struct Options {
    std::vector<std::string> models, problems;
    ModelOptions model;
    bench::MeasureOptions measure;
    std::string device, json;
    bool no_check = false, help_problems = false;
};

std::string help_text() {
    std::vector<std::vector<std::string>> rows = {{"a line to measure", "what can be written"}};
    for (const Json& entry : Json::parse(cpp::problems()))
        rows.push_back({entry["line"].get<std::string>(), entry["form"].get<std::string>()});
    return table_text(rows, {false, false}) +
           "\nTYPE: f32 f16 bf16 i8 i16 i32 bool e4m3 e5m2; with weights also 16x8 and i4. SHAPE: 1x56x56x64.\n"
           "sS: stride (s2, s2x1); pP: padding (p1, p0,1,0,1), or same; dD: dilation. seedN draws other weights.\n"
           "FOLLOWER: rescale clamp relu relu6 and the elementwise operators, in order; add*50 repeats one.\n";
}

int run(Options options) {
    if (options.help_problems) {
        print(help_text());
        return exit_done;
    }
    if (options.models.empty() && options.problems.empty())
        throw Failure(exit_usage, "nothing to measure: name a MODEL, or --op with a problem line");
    if (!(options.measure.min_time_s >= 0 && options.measure.min_time_s <= 3600))
        throw Failure(exit_usage, "--min-time takes 0 to 3600 seconds");
    options.measure.check = !options.no_check;
    // All models are looked at before the first is measured, which may take minutes.
    std::vector<ModelOptions> all;
    for (const std::string& path : options.models) {
        all.push_back(options.model);
        all.back().path = path;
    }
    for (const std::string& line : options.problems) {
        all.push_back(options.model);
        all.back().problem = line;
    }
    for (const ModelOptions& one : all) load_model(one);
    const cpp::Device device(options.device);
    const bool to_stdout = options.json == "-";
    auto problems = Json::array();
    std::string text = fmt::format("device: {} ({})\n", device.name(), device.driver());
    int code = exit_done;
    Progress progress("bench", all.size());
    for (const ModelOptions& one : all) {
        const bench::Measurement measurement = bench::measure(device, one, options.measure);
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
    app.add_option("MODEL", options.models, "one or more models or problem lines");
    app.add_option("--op", options.problems, "a problem line, such as 'conv2d i8 1x56x56x64 64x3x3 s1 p1 rescale'; may be repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--help-problems", options.help_problems, "list a problem line for every operator");
    add_model_options(app, options.model, false);
    add_device_option(app, options.device);
    app.add_option("--json", options.json, "file for the results as JSON; - for standard output");
    app.add_option("--min-time", options.measure.min_time_s, "seconds to repeat at least (default 0.5)");
    app.add_option("--seed", options.measure.seed, "seed of the random inputs (default 0)")->check(whole_number());
    app.add_flag("--no-check", options.no_check, "do not compare with the reference first");
    app.footer("Exit codes: 0 done; 1 a result differs from the reference; 2 wrong usage; 3 a file is bad;\n"
               "4 the device failed, is missing or is out of memory.\n"
               "Example: tosa-vk-bench model.tflite --device cpu --json result.json\n"
               "Example: tosa-vk-bench --op 'matmul f32 1x512x512x512'");
    return run_program(app, argc, argv, [&] { return run(options); });
}

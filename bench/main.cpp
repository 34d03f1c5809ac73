// tosa-vk-bench: how long models and single operators take on a device, dispatch by dispatch.
#include "report.hpp"
#include "suite.hpp"
#include "tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

using namespace tosavk;
using namespace tosavk::cli;

namespace {

struct Options {
    std::vector<std::string> models, problems, suites;
    ModelOptions model;
    bench::MeasureOptions measure;
    std::string device, json, compare, trace, html;
    double threshold = 10;
    bool no_check = false, help_problems = false, details = false, no_limits = false, measure_limits = false,
         tune = false;
    bool start = false, start_once = false;
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

/// The models and lines to measure, in the order of the command line: models, --op, --suite. Those of suites are
/// checked.
std::vector<ModelOptions> problems_of(const Options& options) {
    std::vector<ModelOptions> all;
    const auto add = [&](const std::string& text, bool is_line) {
        all.push_back(options.model);
        (is_line ? all.back().problem : all.back().path) = text;
    };
    for (const std::string& path : options.models) add(path, false);
    for (const std::string& line : options.problems) add(line, true);
    // All models and files are looked at before the first is measured, which may take minutes.
    for (const ModelOptions& one : all) load_model(one);
    for (const std::string& suite : options.suites) {
        for (const bench::SuiteLine& line : bench::read_suite(suite)) {
            add(line.text, true);
            try {
                load_model(all.back());
            } catch (const cpp::Error& e) {
                throw Failure(exit_file, fmt::format("{}:{}: {}", suite, line.number, e.what()));
            }
        }
    }
    return all;
}

/// The device once more, to ask its compiler; nothing where the driver does not answer, and all would be compiled twice
/// for nothing.
std::optional<cpp::Device> telling_device(const std::string& name) {
    cpp::Device device = open_device({name, /*compile_only=*/true}, /*inspect=*/true);
    const cpp::Executable smallest(device, cpp::Graph::problem("add f32 4"));
    const Json dispatches = Json::parse(smallest.print(TOSAVK_EXECUTABLE_PIPELINES));
    if (!dispatches.at(0).contains("compiler")) return std::nullopt;
    return device;
}

int run(Options options) {
    if (options.help_problems) {
        print(help_text());
        return exit_done;
    }
    if (!(options.measure.min_time_s >= 0 && options.measure.min_time_s <= 3600))
        throw Failure(exit_usage, "--min-time takes 0 to 3600 seconds");
    if (!(options.threshold >= 0 && options.threshold <= 1000))
        throw Failure(exit_usage, "--threshold takes 0 to 1000 percent");
    if (options.no_limits && !options.html.empty())
        throw Failure(exit_usage, "--html draws the limits and does not go with --no-limits");
    const std::string* outputs[] = {&options.json, &options.trace, &options.html};
    const auto to_stdout =
        std::count_if(std::begin(outputs), std::end(outputs), [](auto* path) { return is_stdout(*path); });
    if (to_stdout > 1) throw Failure(exit_usage, "only one of --json, --trace and --html can write to standard output");
    for (std::size_t k = 0; k < 3; ++k)
        for (std::size_t other = 0; other < k; ++other)
            if (!outputs[k]->empty() && *outputs[k] == *outputs[other])
                throw Failure(exit_usage, "two of --json, --trace and --html name " + *outputs[k]);
    const std::vector<ModelOptions> all = problems_of(options);
    if (all.empty())
        throw Failure(exit_usage, "nothing to measure: name a MODEL, --op with a problem line, or a --suite");
    options.measure.check = !options.no_check;
    if (options.start_once) {
        if (all.size() != 1) throw Failure(exit_usage, "--start-once takes one problem");
        return bench::start_once(options.device, all.front(), options.measure.seed);
    }
    std::optional<bench::EarlierReport> earlier;
    if (!options.compare.empty()) earlier = bench::read_report(options.compare);
    for (const std::string* path : outputs)
        if (!path->empty()) check_writable(*path);
    const cpp::Device device(options.device);
    const std::string precision = options.model.is_exact() ? "declared" : options.model.precision;
    bench::Report report{device.name(), device.driver(), precision, {}, {}};
    if (!options.no_limits) report.limits = bench::limits_of(device, options.measure_limits);
    std::optional<cpp::Device> inspected;
    if (!options.json.empty() || !options.html.empty()) inspected = telling_device(options.device);
    int code = exit_done;
    Progress progress("bench", all.size());
    for (const ModelOptions& one : all) {
        bench::Row& row = report.rows.emplace_back();
        row.name = one.name();
        try {
            bench::MeasureOptions measure = options.measure;
            if (options.tune) {
                row.tuning = bench::tune(device, one, options.measure);
                // What was kept has been compared with the reference.
                const Json& checked = row.tuning->at("checked");
                if (checked == false) code = exit_different;
                measure.check = measure.check && checked != true;
            }
            // Opened anew after tuning: it plans by the table that the device has by then.
            if (options.tune && inspected) inspected = telling_device(options.device);
            measure.inspected = inspected ? &*inspected : nullptr;
            row.measurement = bench::measure(device, one, measure);
            if (row.tuning && row.tuning->at("checked") == true) {
                row.measurement->check.emplace();
                row.measurement->check->passed = true;
                row.measurement->check->detail = row.tuning->at("detail").get<std::string>();
            }
            if (options.start) row.measurement->start = bench::measure_start(options.device, one, options.measure.seed);
            if (row.measurement->check && !row.measurement->check->passed) code = exit_different;
        } catch (const std::runtime_error& e) {
            // One problem that a device cannot do should not lose the others.
            if (all.size() == 1) throw;
            row.measurement.reset();
            row.error = e.what();
            code = exit_device;
        }
        progress.step();
    }
    Json result = to_json(report);
    std::string text = to_text(report, options.suites.empty() || options.details);
    if (earlier) {
        const bench::Comparison comparison = bench::compare(report, *earlier, options.threshold / 100);
        if (!comparison.passed() && code == exit_done) code = exit_different;
        result["comparison"] = to_json(comparison);
        text += to_text(comparison);
    }
    // First, so that a disk that is full by now does not cost the results.
    if (to_stdout == 0) print(text);
    else if (code != exit_done && !is_stdout(options.json)) std::fputs(text.c_str(), stderr);  // it says what failed
    if (!options.trace.empty()) write_file(options.trace, json_text(trace_json(report)));
    if (!options.html.empty()) write_file(options.html, html_page(report));
    if (!options.json.empty()) write_file(options.json, json_text(result));
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app("Measures models on a Vulkan device", "tosa-vk-bench");
    app.set_version_flag("--version", "tosa-vk-bench " + cpp::version());
    app.add_option("MODEL", options.models, "one or more models or problem lines");
    app.add_option("--op", options.problems,
                   "a problem line, such as 'conv2d i8 1x56x56x64 64x3x3 s1 p1 rescale'; may be repeated")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--suite", options.suites, "file of problem lines, one a line, # begins a comment; may be repeated")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--details", options.details, "list the dispatches of every problem of a suite too");
    app.add_option("--trace", options.trace,
                   "file for a timeline, for Perfetto or chrome://tracing; - for standard output")
        ->check(output_path());
    app.add_option("--html", options.html, "file for a page with a roofline plot and a timeline; - for standard output")
        ->check(output_path());
    app.add_option("--compare", options.compare,
                   "an earlier --json file: prints the ratio of every problem's best times");
    app.add_option("--threshold", options.threshold,
                   "percent that a problem may be slower than in --compare (default 10)");
    app.add_flag("--help-problems", options.help_problems,
                 "list a problem line for every operator but CUSTOM and constants");
    add_model_options(app, options.model, false);
    add_device_option(app, options.device);
    app.add_option("--json", options.json, "file for the results as JSON; - for standard output")->check(output_path());
    app.add_option("--min-time", options.measure.min_time_s, "seconds to repeat at least (default 0.5)");
    app.add_option("--seed", options.measure.seed, "seed of the random inputs (default 0)")->check(whole_number());
    app.add_flag(
        "--start", options.start,
        "time the first result in two new processes too: with empty caches (cold) and with those of the first (warm)");
    // What --start starts.
    app.add_flag("--start-once", options.start_once)->group("");
    app.add_flag("--no-check", options.no_check, "do not compare with the reference first");
    app.add_flag("--tune", options.tune,
                 "first measure which kernels suit each node best, and keep the choices in the cache for later runs");
    CLI::Option* no_limits = app.add_flag("--no-limits", options.no_limits, "do without the device's limits");
    app.add_flag("--measure-limits", options.measure_limits,
                 "measure the device's limits anew, which takes a few seconds; else the disk cache keeps them")
        ->excludes(no_limits);
    app.footer(
        "Exit codes: 0 done; 1 a result differs from the reference, is slower than --compare, or --compare has nothing "
        "to "
        "compare; 2 wrong usage;\n"
        "3 a file is bad; "
        "4 the device failed, is missing or is out of memory.\n"
        "Example: tosa-vk-bench model.tflite --device cpu --json result.json\n"
        "Example: tosa-vk-bench --op 'matmul f32 1x512x512x512' --compare before.json\n"
        "Example: tosa-vk-bench --tune model.tflite\n"
        "Example: tosa-vk-bench --start --no-check --op 'network resnet50 f32'");
    return run_program(app, argc, argv, [&] { return run(options); });
}

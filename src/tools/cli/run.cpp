// tosa-vk run: one inference, on the device or on the interpreter.
#include "tools/cli/commands.hpp"
#include "tools/cli/differences.hpp"
#include "tools/cli/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

namespace tosavk::cli {

namespace {

struct RunOptions {
    ModelOptions model;
    std::vector<std::string> inputs;
    DeviceChoice device;
    std::string output_dir, profile;
    bool reference = false, json = false, raw_outputs = false;
    std::uint64_t seed = 0;
    std::size_t top = 5;
    /// Runs that keep the variables, their tensors stacked along a first axis; 0: one run, its tensors as they are.
    std::uint32_t steps = 0;

    std::uint32_t runs() const { return std::max(steps, 1u); }
};

struct InputArgument {
    std::string name, path;
};

/// Names and paths may both hold a '=': the last one that leaves the name of a file splits, else the last of all.
InputArgument split_input(const std::string& text) {
    std::error_code ignored;
    for (std::size_t at = text.rfind('='); at != std::string::npos && at > 0; at = text.rfind('=', at - 1)) {
        if (std::filesystem::exists(text.substr(at + 1), ignored)) return {text.substr(0, at), text.substr(at + 1)};
    }
    const std::size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
        throw Failure(exit_usage, fmt::format("--input {}: write NAME_OR_INDEX=FILE.npy", text));
    }
    return {text.substr(0, at), text.substr(at + 1)};
}

std::uint32_t find_input(const cpp::Graph& graph, const std::string& name) {
    std::string known;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) {
        const cpp::TensorInfo info = graph.input(k);
        if (name == info.name) return k;
        known += fmt::format("{}{} '{}'", k ? ", " : "", k, info.name);
    }
    const bool digits =
        name.size() <= 9 && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (digits && std::stoul(name) < graph.input_count()) return static_cast<std::uint32_t>(std::stoul(name));
    throw Failure(exit_usage, fmt::format("--input {}: the model has no such input; it has {}", name,
                                          known.empty() ? "none" : known));
}

Assigned load(const RunOptions& options) {
    std::vector<InputArgument> arguments;
    std::vector<InputArray> arrays;
    for (const std::string& text : options.inputs) arguments.push_back(split_input(text));
    // The model first: of two missing files it is the one to name.
    if (!std::filesystem::exists(options.model.name())) load_model(options.model);
    for (const InputArgument& argument : arguments) arrays.push_back(load_array(argument.path, options.steps));
    std::vector<std::uint32_t> seen;
    return load_model_for(options.model, arrays, [&](const cpp::Graph& graph, std::size_t k) {
        const std::uint32_t index = find_input(graph, arguments[k].name);
        if (std::find(seen.begin(), seen.end(), index) != seen.end()) {
            throw Failure(exit_usage, fmt::format("--input {}: input {} was given twice", options.inputs[k], index));
        }
        seen.push_back(index);
        return index;
    });
}

Json counters_json(const tosavk_counters& counters) {
    return {{"allocations", counters.allocations},
            {"pipelines_created", counters.pipelines_created},
            {"weight_bytes_copied", counters.weight_bytes_copied},
            {"shaders_compiled", counters.shaders_compiled},
            {"shaders_loaded", counters.shaders_loaded},
            {"compiler_started", counters.compiler_started != 0}};
}

/// How far the counters moved after the first run: all zero when nothing is made anew.
Json counters_delta(const tosavk_counters& before, const tosavk_counters& after) {
    return {{"allocations", after.allocations - before.allocations},
            {"pipelines_created", after.pipelines_created - before.pipelines_created},
            {"weight_bytes_copied", after.weight_bytes_copied - before.weight_bytes_copied},
            {"submits", after.submits - before.submits}};
}

struct Result {
    std::vector<Output> outputs;
    std::string device, driver;
    Json times;  ///< stage -> milliseconds, in order
    std::optional<Json> profile;
};

void run_on_device(const RunOptions& options, const cpp::Graph& graph, const std::vector<Bytes>& inputs,
                   Result& result) {
    Stopwatch open_watch;
    const cpp::Device device = open_device(options.device);
    result.device = device.name();
    result.driver = device.driver();
    result.times["open_device"] = open_watch.ms();
    Stopwatch compile_watch;
    const cpp::Executable executable(device, graph);
    cpp::Context context(executable, !options.profile.empty());
    result.times["compile"] = compile_watch.ms();
    Stopwatch first_watch;
    const auto places = [](std::vector<Output>& outputs) {
        std::vector<Bytes*> bytes;
        for (Output& output : outputs) bytes.push_back(&output.bytes);
        return bytes;
    };
    run_steps(context, options.runs(), inputs, places(result.outputs));
    result.times["first_run"] = first_watch.ms();
    const tosavk_counters first = context.counters();
    if (first.package == 2) {
        std::fprintf(stderr, "note: %s was made for another device, library or option; its graph was compiled anew\n",
                     options.model.path.c_str());
    }

    // The same once more, to time it warm: from the same variables, and its outputs are no results.
    context.reset_variables();
    std::vector<Output> warm = result.outputs;
    Stopwatch run_watch;
    run_steps(context, options.runs(), inputs, places(warm));
    result.times["run"] = run_watch.ms();
    if (options.profile.empty()) return;

    const tosavk_counters second = context.counters();
    auto dispatches = Json::array();
    double total_ms = 0;
    for (std::uint32_t k = 0; k < context.dispatch_count(); ++k) {
        const tosavk_dispatch_info info = context.dispatch(k);
        total_ms += info.gpu_ns / 1e6;
        dispatches.push_back({{"label", info.label}, {"kernel", info.kernel}, {"gpu_ms", info.gpu_ns / 1e6}});
    }
    result.times["gpu"] = total_ms;
    Json profile = {{"submits", first.submits}, {"dispatches", first.dispatches}};
    profile.update(counters_json(first));
    profile["package"] = first.package == 1;
    profile["runs"] = second.runs;
    profile["first_run_ms"] = result.times["first_run"];
    profile["run_ms"] = result.times["run"];
    profile["gpu_ms"] = total_ms;
    profile["arena_bytes"] = second.arena_bytes;
    profile["constant_bytes"] = second.constant_bytes;
    profile["after_first_run"] = counters_delta(first, second);
    profile["per_dispatch"] = std::move(dispatches);
    result.profile = std::move(profile);
}

/// What another precision changed: one object per output, against a run in the declared types on the same inputs.
Json precision_differences(const RunOptions& options, const std::vector<Bytes>& inputs,
                           const std::vector<Output>& outputs) {
    RunOptions as_declared = options;
    as_declared.model.precision = "declared";
    const Assigned loaded = load(as_declared);
    const std::uint32_t runs = options.runs();
    const std::vector<Bytes> expected = options.reference
                                          ? loaded.graph.reference_run(inputs, runs)
                                          : outputs_of(open_device(options.device), loaded.graph, inputs, runs);
    auto result = Json::array();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        const Difference difference = difference_of(outputs[k].info.type, outputs[k].bytes, expected[k]);
        result.push_back({{"output", k}});
        result.back().update(to_json(difference));
        std::fprintf(stderr,
                     "note: output %zu was computed in fp16%s; largest difference from the declared types: %s\n", k,
                     options.model.precision == "fast" ? " (fast)" : "", to_text(difference).c_str());
    }
    return result;
}

/// One tensor, or those of all steps along a first axis.
cpp::TensorInfo stacked(cpp::TensorInfo info, const RunOptions& options) {
    if (options.steps == 0) return info;
    if (info.rank == TOSAVK_MAX_RANK)
        throw Failure(exit_usage, fmt::format("--steps: '{}' has rank {} already", info.name, info.rank));
    std::copy_backward(info.dims, info.dims + info.rank, info.dims + info.rank + 1);
    info.dims[0] = options.steps;
    ++info.rank;
    info.size_bytes *= options.steps;
    return info;
}

Bytes random_steps(const cpp::Graph& graph, std::uint32_t k, const RunOptions& options) {
    Bytes all;
    for (std::uint32_t step = 0; step < options.runs(); ++step) {
        const Bytes one = graph.random_input(k, options.seed + step);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

std::string times_text(const Json& times) {
    std::string text = "time:";
    for (const auto& [stage, ms] : times.items()) {
        std::string name = stage;
        std::replace(name.begin(), name.end(), '_', ' ');
        text += fmt::format("{} {} {:.2f} ms", text.back() == ':' ? "" : ",", name, ms.get<double>());
    }
    return text + "\n";
}

int run(const RunOptions& options) {
    if (options.reference && !options.profile.empty())
        throw Failure(exit_usage, "--profile measures a device and does not go with --reference");
    if (options.reference && (!options.device.name.empty() || options.device.compile_only))
        throw Failure(exit_usage, "--device does not go with --reference, which uses none");
    if (options.json && is_stdout(options.profile))
        throw Failure(exit_usage, "--json and --profile - both write to standard output");
    if (options.raw_outputs && options.output_dir.empty())
        throw Failure(exit_usage, "--raw-outputs says how to write to --output-dir, which is missing");
    Result result;
    Stopwatch load_watch;
    const Assigned loaded = load(options);
    const cpp::Graph& graph = loaded.graph;
    result.times["load"] = load_watch.ms();
    std::optional<OutputDirectory> directory;
    if (!options.output_dir.empty()) directory.emplace(options.output_dir);
    if (!options.profile.empty()) check_writable(options.profile);

    std::vector<Bytes> inputs;
    auto inputs_json = Json::array();
    std::string inputs_text;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) {
        const auto given = loaded.inputs.find(k);
        const bool random = given == loaded.inputs.end();
        inputs.push_back(random ? random_steps(graph, k, options) : given->second);
        const cpp::TensorInfo info = stacked(graph.input(k), options);
        inputs_json.push_back({{"index", k},
                               {"name", info.name},
                               {"type", type_text(info)},
                               {"shape", cpp::shape_of(info)},
                               {"random", random}});
        inputs_text += fmt::format("input {} '{}' {}: {}\n", k, info.name, tensor_text(info),
                                   random ? fmt::format("random numbers from seed {}", options.seed) : "from its file");
    }
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) {
        const cpp::TensorInfo info = stacked(graph.output(k), options);
        result.outputs.push_back({info, Bytes(info.size_bytes)});
    }
    if (options.reference) {
        Stopwatch watch;
        std::vector<Bytes> outputs = graph.reference_run(inputs, options.runs());
        for (std::size_t k = 0; k < outputs.size(); ++k) result.outputs[k].bytes = std::move(outputs[k]);
        result.times["run"] = watch.ms();
        result.device = "reference interpreter";
    } else {
        run_on_device(options, graph, inputs, result);
    }

    auto differences = Json::array();
    if (!options.model.is_exact()) differences = precision_differences(options, inputs, result.outputs);
    std::vector<OutputSummary> summaries;
    for (const Output& output : result.outputs) summaries.push_back(summarize(output, options.top));
    if (directory) directory->write(result.outputs, options.raw_outputs);
    if (result.profile) write_file(options.profile, json_text(*result.profile));
    if (is_stdout(options.profile)) return exit_done;
    if (options.json) {
        auto outputs = Json::array();
        for (std::size_t k = 0; k < summaries.size(); ++k)
            outputs.push_back(output_json(k, result.outputs[k], summaries[k]));
        Json text = {{"model", options.model.name()},    {"device", result.device},
                     {"driver", result.driver},          {"seed", options.seed},
                     {"inputs", std::move(inputs_json)}, {"outputs", std::move(outputs)},
                     {"time_ms", result.times}};
        if (!differences.empty()) text["fp16_differences"] = std::move(differences);
        print(json_text(text));
    } else {
        const std::string driver = result.driver.empty() ? "" : fmt::format(" ({})", result.driver);
        print(fmt::format("device: {}{}\n{}{}{}", result.device, driver, inputs_text,
                          outputs_text(result.outputs, summaries), times_text(result.times)));
    }
    return exit_done;
}

}  // namespace

Action add_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    CLI::App* command = app.add_subcommand("run", "Runs a model and shows its outputs");
    add_model_options(*command, options->model);
    command
        ->add_option("--input", options->inputs, "NAME_OR_INDEX=FILE.npy; may be repeated; inputs not given are random")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command
        ->add_option("--output-dir", options->output_dir,
                     "directory for output_0.npy, output_1.npy, ... and outputs.json")
        ->check(output_path());
    command->add_flag("--raw-outputs", options->raw_outputs,
                      "write bf16 and fp8 by their bits, as ml_dtypes does ('<V2', '|V1'), not as float32");
    command
        ->add_option("--steps", options->steps,
                     "run N times and keep the variables: inputs and outputs are stacked along a first axis of N")
        ->check(CLI::Range(1, 1000000));
    add_device_options(*command, options->device);
    command->add_flag("--reference", options->reference, "run on the reference interpreter instead of a device");
    command->add_option("--seed", options->seed, "seed of random inputs (default 0)")->check(whole_number());
    command->add_option("--top", options->top, "how many of the largest elements to show (default 5)")
        ->check(whole_number());
    command
        ->add_option("--profile", options->profile,
                     "file for counters and the time of every dispatch, as JSON; - for standard output, alone")
        ->check(output_path());
    command->add_flag("--json", options->json, "print JSON");
    command->footer("Example: tosa-vk run model.tflite --input 0=picture.npy --output-dir out --top 3");
    return [options] { return run(*options); };
}

}  // namespace tosavk::cli

// tosa-vk verify: a device against the reference on random inputs, or both against recorded outputs.
#include "tools/cli/cases.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace tosavk::cli {

namespace {

struct VerifyOptions {
    ModelOptions model;
    std::string cases;
    DeviceChoice device;
    std::uint64_t seeds = 20, seed = 0;
    bool json = false;
};

std::string loading_arguments(const VerifyOptions& options) {
    std::string text = options.model.rounding == "tflite" ? "" : " --rounding " + options.model.rounding;
    if (options.model.hybrid != "exact") text += " --hybrid " + options.model.hybrid;
    if (options.model.f64_as_f32) text += " --f64-as-f32";
    if (!options.model.is_exact()) text += " --precision " + options.model.precision;
    return text;
}

// ---- random inputs -----------------------------------------------------------------------------------------------

int verify_random(const VerifyOptions& options) {
    const cpp::Graph graph = load_model(options.model);
    const cpp::Device device = open_device(options.device);
    cpp::Checker checker(device, graph);
    std::uint64_t values = 0, runs = 0;
    double worst = 0;
    cpp::CheckReport report;
    report.passed = true;
    std::string worst_detail = "all values equal";
    Progress progress("verify", options.seeds);
    std::uint64_t seed = options.seed;
    // The first difference ends the search: it can be repeated by its seed.
    for (; runs < options.seeds && report.passed; ++seed) {
        report = checker.run(seed);
        ++runs;
        values += report.values_checked;
        if (report.worst > worst || !report.passed) {
            worst = std::max(worst, report.worst);
            worst_detail = report.detail;
        }
        progress.step();
    }
    const std::string repeat = report.passed
                                 ? ""
                                 : fmt::format("tosa-vk verify {} --seeds 1 --seed {}{}", model_argument(options.model),
                                               seed - 1, loading_arguments(options));
    if (options.json) {
        Json result = {{"model", options.model.name()}, {"device", device.name()},     {"driver", device.driver()},
                       {"passed", report.passed},       {"seed", options.seed},        {"seeds_run", runs},
                       {"values_checked", values},      {"worst", number_json(worst)}, {"detail", worst_detail}};
        if (!report.passed) {
            result["failing_seed"] = seed - 1;
            result["repeat"] = repeat;
        }
        print(json_text(result));
    } else if (report.passed) {
        print(fmt::format("passed on {}: {} random input sets (seeds {} to {}), {} values compared, {}\n{}\n",
                          device.name(), runs, options.seed, seed - 1, values,
                          options.model.precision == "fast" ? "precision fast" : "fused bits equal unfused bits",
                          worst_detail));
    } else {
        print(fmt::format("FAILED on {} with seed {}\n{}\nrepeat with: {}\n", device.name(), seed - 1, worst_detail,
                          repeat));
    }
    return report.passed ? exit_done : exit_different;
}

// ---- recorded outputs --------------------------------------------------------------------------------------------

/// One model on one device, ready for the next case.
struct Loaded {
    Loaded(cpp::Graph loaded, const cpp::Device& device)
        : graph(std::move(loaded)), executable(device, graph), context(executable) {}

    cpp::Graph graph;
    cpp::Executable executable;
    cpp::Context context;
};

Json difference_json(const CaseResult& d) {
    return {{"passed", d.passed},
            {"mismatches", d.mismatches},
            {"worst", number_json(d.worst)},
            {"allowed", number_json(d.allowed)},
            {"element", d.element},
            {"expected", number_json(d.expected)},
            {"got", number_json(d.got)}};
}

class CaseRunner {
public:
    explicit CaseRunner(const VerifyOptions& options)
        : options_(options),
          recorded_(load_cases(options.cases, options.model.rounding)),
          device_(open_device(options.device)) {
        // What was recorded is not held against fp16 by its own measure.
        if (options.model.precision == "fast") recorded_.rtol = std::max(recorded_.rtol, 0x1p-5);
    }

    int run() {
        Progress progress("verify", recorded_.cases.size());
        for (const RecordedCase& one : recorded_.cases) {
            run_case(one);
            progress.step();
        }
        if (options_.json) {
            print(json_text({{"model", options_.model.name()},
                             {"device", device_.name()},
                             {"driver", device_.driver()},
                             {"rounding", options_.model.rounding},
                             {"passed", failures_.empty()},
                             {"cases", recorded_.cases.size()},
                             {"atol", recorded_.atol},
                             {"rtol", recorded_.rtol},
                             {"results", std::move(results_)}}));
        } else if (failures_.empty()) {
            print(fmt::format(
                "passed on {}: {} recorded cases, --rounding {}; largest difference: device {}, reference {}\n",
                device_.name(), recorded_.cases.size(), options_.model.rounding, number_text(worst_device_),
                number_text(worst_reference_)));
        } else {
            std::string text = fmt::format("FAILED on {}: {} of {} cases, --rounding {}\n", device_.name(),
                                           failed_cases_, recorded_.cases.size(), options_.model.rounding);
            for (const std::string& failure : failures_) text += failure + "\n";
            print(text);
        }
        return failures_.empty() ? exit_done : exit_different;
    }

private:
    void run_case(const RecordedCase& one) {
        std::vector<InputArray> arrays;
        for (const std::string& path : one.inputs) arrays.push_back(load_array(path, one.steps));
        std::vector<Bytes> inputs = load_inputs(one, arrays);
        const cpp::Graph& graph = loaded_->graph;
        if (one.expected.size() != graph.output_count()) {
            throw Failure(exit_file, fmt::format("{}: case {} records {} outputs, the model has {}", options_.cases,
                                                 one.name, one.expected.size(), graph.output_count()));
        }
        loaded_->context.reset_variables();  // each case is one run of its own
        const std::uint32_t steps = std::max(one.steps, 1u);
        std::vector<Bytes> outputs;
        for (std::uint32_t k = 0; k < graph.output_count(); ++k)
            outputs.emplace_back(steps * graph.output(k).size_bytes);
        std::vector<Bytes*> places;
        for (Bytes& output : outputs) places.push_back(&output);
        run_steps(loaded_->context, steps, inputs, places);
        const std::vector<Bytes> reference = graph.reference_run(inputs, steps);
        bool passed = true;
        for (std::uint32_t k = 0; k < graph.output_count(); ++k) {
            const cpp::TensorInfo info = graph.output(k);
            const InputArray recorded = load_array(one.expected[k], one.steps);
            const Bytes expected = expected_bytes(recorded, info, k, options_.model.name());
            const CaseResult device = compare(info, expected, outputs[k], recorded_.atol, recorded_.rtol);
            const CaseResult interpreter = compare(info, expected, reference[k], recorded_.atol, recorded_.rtol);
            worst_device_ = std::max(worst_device_, device.worst);
            worst_reference_ = std::max(worst_reference_, interpreter.worst);
            note(one, k, info, "device", device);
            note(one, k, info, "reference", interpreter);
            passed = passed && device.passed && interpreter.passed;
            results_.push_back({{"case", one.name},
                                {"output", k},
                                {"device", difference_json(device)},
                                {"reference", difference_json(interpreter)}});
        }
        if (!passed) ++failed_cases_;
    }

    /// Loads the model for these shapes unless the loaded one fits.
    std::vector<Bytes> load_inputs(const RecordedCase& one, const std::vector<InputArray>& arrays) {
        std::vector<cpp::Shape> shapes;
        for (const InputArray& array : arrays) shapes.push_back(array.shape());
        if (!loaded_ || shapes != shapes_) {
            Assigned assigned = assign(one, arrays);
            std::vector<Bytes> inputs = in_order(one, assigned);
            loaded_.emplace(std::move(assigned.graph), device_);
            shapes_ = std::move(shapes);
            return inputs;
        }
        std::vector<Bytes> inputs;
        for (std::uint32_t k = 0; k < arrays.size(); ++k)
            inputs.push_back(input_bytes(arrays[k], loaded_->graph.input(k), k, options_.model.name()));
        return inputs;
    }

    Assigned assign(const RecordedCase& one, const std::vector<InputArray>& arrays) {
        return load_model_for(options_.model, arrays, [&](const cpp::Graph& graph, std::size_t k) {
            if (arrays.size() != graph.input_count()) {
                throw Failure(exit_file, fmt::format("{}: case {} records {} inputs, the model has {}", options_.cases,
                                                     one.name, arrays.size(), graph.input_count()));
            }
            return static_cast<std::uint32_t>(k);
        });
    }

    static std::vector<Bytes> in_order(const RecordedCase& one, Assigned& assigned) {
        std::vector<Bytes> inputs;
        for (std::uint32_t k = 0; k < one.inputs.size(); ++k) inputs.push_back(std::move(assigned.inputs.at(k)));
        return inputs;
    }

    void note(const RecordedCase& one, std::uint32_t output, const cpp::TensorInfo& info, const char* who,
              const CaseResult& difference) {
        if (difference.passed) return;
        failures_.push_back(fmt::format(
            "case {}, output {} '{}', {}: {} elements differ, worst element {}: expected {}, got {}, allowed "
            "difference {}",
            one.name, output, info.name, who, difference.mismatches, difference.element,
            number_text(difference.expected), number_text(difference.got), number_text(difference.allowed)));
    }

    const VerifyOptions& options_;
    RecordedCases recorded_;
    cpp::Device device_;
    std::optional<Loaded> loaded_;
    std::vector<cpp::Shape> shapes_;
    std::vector<std::string> failures_;
    std::size_t failed_cases_ = 0;
    Json results_ = Json::array();
    double worst_device_ = 0, worst_reference_ = 0;
};

int verify(const VerifyOptions& options) {
    if (!options.cases.empty()) return CaseRunner(options).run();
    if (options.seeds == 0) throw Failure(exit_usage, "--seeds 0 would verify nothing");
    return verify_random(options);
}

}  // namespace

Action add_verify(CLI::App& app) {
    auto options = std::make_shared<VerifyOptions>();
    CLI::App* command = app.add_subcommand(
        "verify", "Compares a device with the reference, node by node, or both with recorded outputs");
    add_model_options(*command, options->model);
    CLI::Option* cases =
        command->add_option("--cases", options->cases, "directory with cases.json: compare with recorded outputs");
    command->add_option("--seeds", options->seeds, "how many random input sets (default 20)")
        ->check(whole_number())
        ->excludes(cases);
    command->add_option("--seed", options->seed, "seed of the first one (default 0)")
        ->check(whole_number())
        ->excludes(cases);
    add_device_options(*command, options->device);
    command->add_flag("--json", options->json, "print JSON");
    command->footer("Example: tosa-vk verify model.tflite --seeds 100 --device cpu");
    return [options] { return verify(*options); };
}

}  // namespace tosavk::cli

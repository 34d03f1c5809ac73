#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk::bench {

using cli::Bytes;
using cli::Stopwatch;

namespace {

/// Value at a share of the sorted samples, between neighbours by proportion.
double quantile(const std::vector<double>& sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The listing gives the regions of a node a line each; nested ones are set in further.
bool has_control_flow(const cpp::Graph& graph) {
    const std::string listing = graph.print();
    return listing.find("\n  then_graph:\n") != std::string::npos ||
           listing.find("\n  cond_graph:\n") != std::string::npos;
}

/// Calls `run` (which appends a sample) until the samples are steady or time is up.
template <class F> void repeat(std::vector<double>& samples, double min_time_s, F run) {
    const Stopwatch watch;
    constexpr std::size_t fewest = 5;
    for (;;) {
        run();
        const double seconds = watch.ms() / 1000;
        if (samples.size() >= fewest && seconds >= min_time_s && (is_steady(samples) || seconds >= 10 * min_time_s))
            return;
    }
}

/// Puts what the compiler made of the dispatches beside their times, where both devices plan alike.
void add_compiler_figures(const cpp::Device& inspected, const cpp::Graph& graph,
                          std::vector<DispatchTime>& dispatches) {
    const cpp::Executable executable(inspected, graph);
    // Those of regions come behind.
    const cli::Json made = cli::Json::parse(executable.print(TOSAVK_EXECUTABLE_PIPELINES));
    for (std::size_t k = 0; k < dispatches.size() && k < made.size(); ++k) {
        const cli::Json& one = made.at(k);
        if (one.at("kernel") == dispatches[k].kernel && one.at("label") == dispatches[k].label)
            dispatches[k].compiler = one.value("compiler", cli::Json(nullptr));
    }
}

}  // namespace

double now_ms() {
    static const Stopwatch watch;
    return watch.ms();
}

Spread spread_of(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    return {quantile(samples, 0.5), samples.front(), samples.back(), samples.size(), is_steady(samples)};
}

bool is_steady(std::vector<double> samples) {
    if (samples.size() < 5) return false;
    std::sort(samples.begin(), samples.end());
    // For a normal distribution: sigma = IQR / 1.349, standard error of the median = 1.2533 sigma / sqrt(n).
    const double sigma = (quantile(samples, 0.75) - quantile(samples, 0.25)) / 1.349;
    const double error = 1.2533 * sigma / std::sqrt(static_cast<double>(samples.size()));
    return error <= 0.01 * quantile(samples, 0.5);
}

Measurement measure(const cpp::Device& device, const cli::ModelOptions& model, const MeasureOptions& options) {
    Measurement result;
    result.name = model.name();
    double begun = now_ms();
    const auto phase = [&](const char* name) {
        result.phases.push_back({name, begun, now_ms()});
        begun = now_ms();
    };
    const cpp::Graph graph = cli::load_model(model);
    result.has_control_flow = has_control_flow(graph);
    phase("load");
    if (options.check) {
        result.check = cpp::Checker(device, graph).run(options.seed);
        phase("check");
    }

    std::vector<Bytes> inputs, outputs;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) inputs.push_back(graph.random_input(k, options.seed));
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) outputs.emplace_back(graph.output(k).size_bytes);
    const auto run = [&](cpp::Context& context) {
        for (std::uint32_t k = 0; k < inputs.size(); ++k) context.set_input(k, inputs[k]);
        context.run();
        for (std::uint32_t k = 0; k < outputs.size(); ++k) context.get_output(k, outputs[k]);
    };
    phase("draw inputs");

    const Stopwatch first;
    const cpp::Executable executable(device, graph);
    cpp::Context context(executable);
    run(context);
    result.first_run_ms = first.ms();
    phase("compile and first run");
    if (!model.is_exact()) {
        cli::ModelOptions declared = model;
        declared.precision = "declared";
        const std::vector<Bytes> expected = cli::outputs_of(device, cli::load_model(declared), inputs);
        for (std::uint32_t k = 0; k < outputs.size(); ++k) {
            result.fp16_differences.push_back(cli::difference_of(graph.output(k).type, outputs[k], expected[k]));
        }
        phase("run in the declared types");
    }
    run(context);  // warm-up
    phase("warm-up");

    // The wall clock is read without timestamps in the command buffer, which cost time themselves.
    std::vector<double> wall;
    repeat(wall, options.min_time_s, [&] {
        const Stopwatch watch;
        run(context);
        wall.push_back(watch.ms());
    });
    result.wall_ms = spread_of(wall);
    phase("runs");
    const tosavk_counters counters = context.counters();
    result.peak_bytes = counters.arena_bytes + counters.constant_bytes;

    cpp::Context profiled(executable, true);
    run(profiled);
    const std::uint32_t count = profiled.dispatch_count();
    std::vector<double> gpu;
    std::vector<std::vector<double>> each(count);
    repeat(gpu, options.min_time_s, [&] {
        result.last_run_ms = now_ms();
        run(profiled);
        double total = 0;
        for (std::uint32_t k = 0; k < count; ++k) {
            each[k].push_back(profiled.dispatch(k).gpu_ns / 1e6);
            total += each[k].back();
        }
        gpu.push_back(total);
    });
    phase("profiled runs");
    if (!result.has_control_flow && *std::max_element(gpu.begin(), gpu.end()) > 0) result.gpu_ms = spread_of(gpu);
    for (std::uint32_t k = 0; k < count; ++k) {
        const tosavk_dispatch_info info = profiled.dispatch(k);
        result.dispatches.push_back({info.label, info.kernel, spread_of(each[k]).median, each[k].back(), info.work,
                                     info.bytes, static_cast<tosavk_arithmetic>(info.arithmetic)});
        result.work += info.work;
        result.bytes += info.bytes;
    }
    if (options.inspected != nullptr) {
        begun = now_ms();
        add_compiler_figures(*options.inspected, graph, result.dispatches);
        phase("ask the compiler");
    }
    return result;
}

}  // namespace tosavk::bench

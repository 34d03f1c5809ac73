#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk::bench {

using cli::Bytes;
using cli::Json;
using cli::number_json;
using cli::Stopwatch;

namespace {

/// Value at a share of the sorted samples, between neighbours by proportion.
double quantile(const std::vector<double>& sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
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

double per_second(double amount, double ms) { return ms > 0 ? amount / (ms * 1e6) : 0; }  // in units of 1e9

/// A label that fits a table: a long chain of operators is cut, with their number.
std::string short_label(const std::string& label) {
    constexpr std::size_t widest = 56;
    if (label.size() <= widest) return label;
    const std::size_t cut = label.rfind('+', widest - 20);
    if (cut == std::string::npos) return label;
    return fmt::format("{}+... ({} operators)", label.substr(0, cut), 1 + std::count(label.begin(), label.end(), '+'));
}

Json spread_json(const Spread& spread) {
    return {{"median", number_json(spread.median)},
            {"min", number_json(spread.min)},
            {"max", number_json(spread.max)},
            {"samples", spread.samples}};
}

std::string spread_text(const Spread& spread) {
    return fmt::format("{:.3f} ms (min {:.3f}, max {:.3f}, {} runs)", spread.median, spread.min, spread.max,
                       spread.samples);
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    return {quantile(samples, 0.5), samples.front(), samples.back(), samples.size()};
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
    const cpp::Graph graph = cli::load_model(model);
    Measurement result;
    result.name = model.name();
    if (options.check) result.check = cpp::Checker(device, graph).run(options.seed);

    std::vector<Bytes> inputs, outputs;
    for (std::uint32_t k = 0; k < graph.input_count(); ++k) inputs.push_back(graph.random_input(k, options.seed));
    for (std::uint32_t k = 0; k < graph.output_count(); ++k) outputs.emplace_back(graph.output(k).size_bytes);
    const auto run = [&](cpp::Context& context) {
        for (std::uint32_t k = 0; k < inputs.size(); ++k) context.set_input(k, inputs[k]);
        context.run();
        for (std::uint32_t k = 0; k < outputs.size(); ++k) context.get_output(k, outputs[k]);
    };

    const Stopwatch first;
    const cpp::Executable executable(device, graph);
    cpp::Context context(executable);
    run(context);
    result.first_run_ms = first.ms();
    run(context);  // warm-up

    // The wall clock is read without timestamps in the command buffer, which cost time themselves.
    std::vector<double> wall;
    repeat(wall, options.min_time_s, [&] {
        const Stopwatch watch;
        run(context);
        wall.push_back(watch.ms());
    });
    result.wall_ms = spread_of(wall);
    const tosavk_counters counters = context.counters();
    result.peak_bytes = counters.arena_bytes + counters.constant_bytes;

    cpp::Context profiled(executable, true);
    run(profiled);
    const std::uint32_t count = profiled.dispatch_count();
    std::vector<double> gpu;
    std::vector<std::vector<double>> each(count);
    repeat(gpu, options.min_time_s, [&] {
        run(profiled);
        double total = 0;
        for (std::uint32_t k = 0; k < count; ++k) {
            each[k].push_back(profiled.dispatch(k).gpu_ns / 1e6);
            total += each[k].back();
        }
        gpu.push_back(total);
    });
    if (*std::max_element(gpu.begin(), gpu.end()) > 0) result.gpu_ms = spread_of(gpu);
    for (std::uint32_t k = 0; k < count; ++k) {
        const tosavk_dispatch_info info = profiled.dispatch(k);
        result.dispatches.push_back({info.label, info.kernel, spread_of(each[k]).median, info.work, info.bytes});
        result.work += info.work;
        result.bytes += info.bytes;
    }
    return result;
}

Json to_json(const Measurement& m) {
    double total = 0;
    for (const DispatchTime& dispatch : m.dispatches) total += dispatch.gpu_ms;
    auto dispatches = Json::array();
    for (const DispatchTime& dispatch : m.dispatches) {
        dispatches.push_back({{"label", dispatch.label}, {"kernel", dispatch.kernel}, {"gpu_ms", dispatch.gpu_ms},
                              {"gflops", per_second(dispatch.work, dispatch.gpu_ms)},
                              {"gbytes_per_s", per_second(dispatch.bytes, dispatch.gpu_ms)},
                              {"percent_of_total", total > 0 ? 100 * dispatch.gpu_ms / total : 0}});
    }
    Json result;
    result["name"] = m.name;
    result["dispatches"] = m.dispatches.size();
    result["per_dispatch"] = std::move(dispatches);
    result["gpu_ms"] = m.gpu_ms ? spread_json(*m.gpu_ms) : Json(nullptr);
    result["wall_ms"] = spread_json(m.wall_ms);
    result["first_run_ms"] = m.first_run_ms;
    const double time = m.gpu_ms ? m.gpu_ms->median : m.wall_ms.median;
    result["gflops"] = per_second(m.work, time);
    result["gbytes_per_s"] = per_second(m.bytes, time);
    result["percent_of_limit"] = nullptr;
    result["limit"] = nullptr;
    result["peak_bytes"] = m.peak_bytes;
    result["checked"] = m.check ? Json(m.check->passed) : Json(nullptr);
    return result;
}

std::string to_text(const Measurement& m) {
    double total = 0;
    for (const DispatchTime& dispatch : m.dispatches) total += dispatch.gpu_ms;
    std::vector<std::vector<std::string>> rows = {{"#", "dispatch", "kernel", "ms", "GFLOP/s", "GB/s", "%"}};
    for (std::size_t k = 0; k < m.dispatches.size(); ++k) {
        const DispatchTime& dispatch = m.dispatches[k];
        rows.push_back({std::to_string(k), short_label(dispatch.label), dispatch.kernel,
                        fmt::format("{:.4f}", dispatch.gpu_ms),
                        fmt::format("{:.2f}", per_second(dispatch.work, dispatch.gpu_ms)),
                        fmt::format("{:.2f}", per_second(dispatch.bytes, dispatch.gpu_ms)),
                        fmt::format("{:.1f}", total > 0 ? 100 * dispatch.gpu_ms / total : 0)});
    }
    std::string text = m.name + "\n" + cli::table_text(rows, {true, false, false, true, true, true, true});
    text += m.gpu_ms ? "gpu:       " + spread_text(*m.gpu_ms) + "\n" : "gpu:       the device has no timestamps\n";
    text += "wall:      " + spread_text(m.wall_ms) + "\n";
    text += fmt::format("first run: {:.1f} ms, compilation included\n", m.first_run_ms);
    text += fmt::format("memory:    {} bytes of tensors and constants\n", m.peak_bytes);
    if (!m.check) text += "checked:   no\n";
    else
        text +=
            fmt::format("checked:   {}; {}\n", m.check->passed ? "equal to the reference" : "FAILED", m.check->detail);
    return text;
}

}  // namespace tosavk::bench

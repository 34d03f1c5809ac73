#include "report.hpp"

#include "tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tosavk::bench {

using cli::Json;
using cli::number_json;

namespace {

double per_second(double amount, double ms) { return ms > 0 ? amount / (ms * 1e6) : 0; }  // in units of 1e9

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/// How much of the measured time the floor is.
std::string share_text(const Floor& floor, double ms) {
    return floor.ms > 0 && ms > 0 ? fmt::format("{:.1f}", percent(floor.ms, ms)) : "-";
}
Json share_json(const Floor& floor, double ms) {
    return floor.ms > 0 && ms > 0 ? Json(percent(floor.ms, ms)) : Json(nullptr);
}
Json limit_json(const Floor& floor) { return *floor.limit ? Json(floor.limit) : Json(nullptr); }

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
            {"samples", spread.samples},
            {"steady", spread.steady}};
}

std::string spread_text(const Spread& spread) {
    return fmt::format("{:.3f} ms (min {:.3f}, max {:.3f}, {} runs{})", spread.median, spread.min, spread.max,
                       spread.samples, spread.steady ? "" : ", not steady");
}

/// For a cell of the table; the note below it says what "~" means.
std::string median_text(const Spread& spread) {
    return fmt::format("{:.3f}{}", spread.median, spread.steady ? "" : "~");
}

std::string start_text(const StartTime& time) {
    return fmt::format("{:.1f} ms after {:.1f} ms for the device; {} shaders compiled, {} loaded, GLSL compiler {}\n",
                       time.ms, time.open_ms, time.shaders_compiled, time.shaders_loaded,
                       time.compiler_started ? "started" : "not started");
}

Floor floor_of(const Limits& limits, const DispatchTime& dispatch) {
    return floor_of(limits, dispatch.work, dispatch.bytes, dispatch.arithmetic);
}

/// The floors of all dispatches, and the limit that makes most of them.
Floor floor_of(const Limits& limits, const Measurement& m) {
    std::map<std::string_view, double> by_limit;
    Floor total;
    for (const DispatchTime& dispatch : m.dispatches) {
        const Floor floor = floor_of(limits, dispatch);
        total.ms += floor.ms;
        by_limit[floor.limit] += floor.ms;
        if (by_limit[floor.limit] >= by_limit[total.limit]) total.limit = floor.limit;
    }
    return total;
}

/// On the device where it was measured there.
const Spread& time_of(const Measurement& m) { return m.gpu_ms ? *m.gpu_ms : m.wall_ms; }

Json problem_json(const Limits& limits, const Measurement& m) {
    double total = 0;
    for (const DispatchTime& dispatch : m.dispatches) total += dispatch.gpu_ms;
    auto dispatches = Json::array();
    for (const DispatchTime& dispatch : m.dispatches) {
        const Floor floor = floor_of(limits, dispatch);
        dispatches.push_back({{"label", dispatch.label},
                              {"kernel", dispatch.kernel},
                              {"gpu_ms", dispatch.gpu_ms},
                              {"gflops", per_second(dispatch.work, dispatch.gpu_ms)},
                              {"gbytes_per_s", per_second(dispatch.bytes, dispatch.gpu_ms)},
                              {"work", dispatch.work},
                              {"bytes", dispatch.bytes},
                              {"percent_of_limit", share_json(floor, dispatch.gpu_ms)},
                              {"limit", limit_json(floor)},
                              {"percent_of_total", percent(dispatch.gpu_ms, total)},
                              {"compiler", dispatch.compiler}});
    }
    const double time = time_of(m).median;
    const Floor floor = m.has_control_flow ? Floor{} : floor_of(limits, m);
    // Null with control flow: nobody knows what a run does in the regions.
    const auto total_json = [&](auto value) { return m.has_control_flow ? Json(nullptr) : Json(value); };
    Json result;
    result["name"] = m.name;
    result["control_flow"] = m.has_control_flow;
    result["dispatches"] = total_json(m.dispatches.size());
    result["per_dispatch"] = std::move(dispatches);
    result["gpu_ms"] = m.gpu_ms ? spread_json(*m.gpu_ms) : Json(nullptr);
    result["wall_ms"] = spread_json(m.wall_ms);
    result["first_run_ms"] = m.first_run_ms;
    result["work"] = total_json(m.work);
    result["bytes"] = total_json(m.bytes);
    result["gflops"] = total_json(per_second(m.work, time));
    result["gbytes_per_s"] = total_json(per_second(m.bytes, time));
    result["percent_of_limit"] = share_json(floor, time);
    result["limit"] = limit_json(floor);
    result["peak_bytes"] = m.peak_bytes;
    result["checked"] = m.check ? Json(m.check->passed) : Json(nullptr);
    for (const cli::Difference& difference : m.fp16_differences)
        result["fp16_differences"].push_back(cli::to_json(difference));
    result["start"] = m.start ? to_json(*m.start) : Json(nullptr);
    return result;
}

/// Beside the size of what it is a difference of.
cli::Difference worst(const std::vector<cli::Difference>& all) {
    return *std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.largest * b.magnitude < b.largest * a.magnitude;
    });
}

std::string gpu_text(const Measurement& m) {
    if (m.gpu_ms) return spread_text(*m.gpu_ms);
    if (m.has_control_flow) return "not measured: the graph has control flow";
    return m.dispatches.empty() ? "no dispatches" : "the device has no timestamps";
}

/// What the compiler told of a dispatch; "-" where it told nothing.
std::vector<std::string> compiler_cells(const Json& compiler) {
    const auto cell = [&](const char* name) {
        const Json value = compiler.is_object() ? compiler.value(name, Json(nullptr)) : Json(nullptr);
        return value.is_number() ? value.dump() : std::string("-");
    };
    const std::string most = cell("full_occupancy"), hot = cell("hot_instructions");
    return {cell("registers"),    cell("spills"),
            cell("fills"),        cell("occupancy") + (most == "-" ? "" : "/" + most),
            cell("instructions"), hot == "-" ? "-" : cell("hot_multiply_adds") + "/" + hot};
}

std::string details_text(const Limits& limits, const Measurement& m) {
    double total = 0;
    for (const DispatchTime& dispatch : m.dispatches) total += dispatch.gpu_ms;
    std::vector<std::vector<std::string>> rows = {
        {"#", "dispatch", "kernel", "ms", "GFLOP/s", "GB/s", "% of limit", "limit", "% of time"}};
    std::vector<bool> right = {true, false, false, true, true, true, true, false, true};
    const bool told = std::any_of(m.dispatches.begin(), m.dispatches.end(),
                                  [](const DispatchTime& dispatch) { return dispatch.compiler.is_object(); });
    if (told) {
        for (const char* name : {"registers", "spills", "fills", "occupancy", "instructions", "hottest loop"})
            rows[0].push_back(name);
        right.resize(rows[0].size(), true);
    }
    for (std::size_t k = 0; k < m.dispatches.size(); ++k) {
        const DispatchTime& dispatch = m.dispatches[k];
        const Floor floor = floor_of(limits, dispatch);
        rows.push_back(
            {std::to_string(k), short_label(dispatch.label), dispatch.kernel, fmt::format("{:.4f}", dispatch.gpu_ms),
             fmt::format("{:.2f}", per_second(dispatch.work, dispatch.gpu_ms)),
             fmt::format("{:.2f}", per_second(dispatch.bytes, dispatch.gpu_ms)), share_text(floor, dispatch.gpu_ms),
             floor.limit, fmt::format("{:.1f}", percent(dispatch.gpu_ms, total))});
        if (!told) continue;
        for (std::string& cell : compiler_cells(dispatch.compiler)) rows.back().push_back(std::move(cell));
    }
    std::string text = m.name + "\n" + cli::table_text(rows, right);
    if (m.has_control_flow) text += "the dispatches in regions of COND_IF and WHILE_LOOP are not listed\n";
    text += "gpu:       " + gpu_text(m) + "\n";
    text += "wall:      " + spread_text(m.wall_ms) + "\n";
    text += fmt::format("first run: {:.1f} ms, compilation included\n", m.first_run_ms);
    if (m.start) text += "cold:      " + start_text(m.start->cold) + "warm:      " + start_text(m.start->warm);
    text += fmt::format("memory:    {} bytes of tensors and constants\n", m.peak_bytes);
    for (std::size_t k = 0; k < m.fp16_differences.size(); ++k) {
        text += fmt::format("fp16:      output {} differs from the declared types' by {} at most\n", k,
                            cli::to_text(m.fp16_differences[k]));
    }
    if (!m.check) text += "checked:   no\n";
    else
        text +=
            fmt::format("checked:   {}; {}\n", m.check->passed ? "equal to the reference" : "FAILED", m.check->detail);
    return text + "\n";
}

}  // namespace

Json to_json(const Report& report) {
    auto problems = Json::array();
    for (const Row& row : report.rows) {
        if (row.measurement) problems.push_back(problem_json(report.limits, *row.measurement));
        else problems.push_back({{"name", row.name}, {"error", row.error}});
        if (row.tuning) problems.back()["tuning"] = *row.tuning;
    }
    Json result;
    result["device"] = {{"name", report.device}, {"driver", report.driver}};
    result["precision"] = report.precision;
    result["limits"] = to_json(report.limits);
    result["problems"] = std::move(problems);
    return result;
}

std::string to_text(const Report& report, bool details) {
    std::string text = fmt::format("device: {} ({})\n", report.device, report.driver);
    if (report.is_fp16())
        text += fmt::format("precision: graphs declared in fp32 run in fp16 (--precision {})\n", report.precision);
    text += to_text(report.limits) + "\n";
    for (const Row& row : report.rows)
        if (row.tuning) text += tuning_text(row.name, *row.tuning);
    if (details) {
        for (const Row& row : report.rows)
            if (row.measurement) text += details_text(report.limits, *row.measurement);
    }
    std::vector<std::vector<std::string>> rows = {
        {"problem", "ms", "best", "wall ms", "GFLOP/s", "GB/s", "% of limit", "limit", "dispatches", "MB", "checked"}};
    std::vector<bool> right = {false, true, true, true, true, true, true, false, true, true, false};
    const bool starts = std::any_of(report.rows.begin(), report.rows.end(),
                                    [](const Row& row) { return row.measurement && row.measurement->start; });
    if (starts) {
        rows[0].insert(rows[0].end() - 1, {"cold ms", "warm ms"});
        right.insert(right.end() - 1, {true, true});
    }
    const bool fp16 = report.is_fp16();
    if (fp16) {
        rows[0].insert(rows[0].end() - 1, "fp16 differs by");
        right.insert(right.end() - 1, false);
    }
    bool unsteady = false;
    for (const Row& row : report.rows) {
        if (!row.measurement) {
            rows.push_back({row.name, "failed: " + row.error});
            continue;
        }
        const Measurement& m = *row.measurement;
        const Spread& time = time_of(m);
        unsteady = unsteady || !time.steady || !m.wall_ms.steady;
        const Floor floor = m.has_control_flow ? Floor{} : floor_of(report.limits, m);
        const auto total_text = [&](const char* format, double value) {
            return m.has_control_flow ? std::string("-") : fmt::format(fmt::runtime(format), value);
        };
        rows.push_back({m.name, median_text(time), fmt::format("{:.3f}", time.min), median_text(m.wall_ms),
                        total_text("{:.2f}", per_second(m.work, time.median)),
                        total_text("{:.2f}", per_second(m.bytes, time.median)), share_text(floor, time.median),
                        floor.limit, total_text("{:.0f}", static_cast<double>(m.dispatches.size())),
                        total_text("{:.2f}", m.bytes / 1e6),
                        !m.check          ? "no"
                        : m.check->passed ? "yes"
                                          : "FAILED"});
        if (starts) {
            auto& cells = rows.back();
            cells.insert(cells.end() - 1, {m.start ? fmt::format("{:.1f}", m.start->cold.ms) : "-",
                                           m.start ? fmt::format("{:.1f}", m.start->warm.ms) : "-"});
        }
        if (fp16)
            rows.back().insert(rows.back().end() - 1,
                               m.fp16_differences.empty() ? "-" : cli::to_text(worst(m.fp16_differences)));
    }
    // What failed is said below: a sentence would widen the column of times.
    std::string failures;
    for (auto& row : rows) {
        if (row.size() > 2) continue;
        failures += fmt::format("{}: {}\n", row[0], row[1]);
        row.resize(1);
    }
    text += cli::table_text(rows, right);
    if (unsteady) text += "~ the median was not steady within ten times --min-time\n";
    return text + failures;
}

}  // namespace tosavk::bench

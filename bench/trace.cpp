// --trace: the events of chrome://tracing and Perfetto.
#include "report.hpp"

namespace tosavk::bench {

using cli::Json;

Json trace_json(const Report& report) {
    constexpr int host = 1, device = 2;
    auto events = Json::array();
    const auto name_track = [&](int track, const std::string& name) {
        events.push_back(
            {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}});
    };
    events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", "tosa-vk-bench"}}}});
    name_track(host, "host");
    name_track(device, report.device);
    // Times are microseconds.
    const auto add = [&](int track, const std::string& name, double begin_ms, double ms, Json arguments) {
        events.push_back({{"name", name},
                          {"ph", "X"},
                          {"pid", 1},
                          {"tid", track},
                          {"ts", begin_ms * 1e3},
                          {"dur", ms * 1e3},
                          {"args", std::move(arguments)}});
    };
    for (const Row& row : report.rows) {
        if (!row.measurement) continue;
        const Measurement& m = *row.measurement;
        if (m.phases.empty()) continue;
        add(host, m.name, m.phases.front().begin_ms, m.phases.back().end_ms - m.phases.front().begin_ms,
            Json::object());
        for (const Phase& phase : m.phases)
            add(host, phase.name, phase.begin_ms, phase.end_ms - phase.begin_ms, Json::object());
        // The device's clock is not the host's: dispatches follow one another from where the run began.
        double at = m.last_run_ms;
        for (const DispatchTime& dispatch : m.dispatches) {
            const Floor floor = floor_of(report.limits, dispatch.work, dispatch.bytes, dispatch.arithmetic);
            add(device, dispatch.label, at, dispatch.last_ms,
                {{"kernel", dispatch.kernel},
                 {"operations", dispatch.work},
                 {"bytes", dispatch.bytes},
                 {"percent_of_limit", dispatch.last_ms > 0 ? 100 * floor.ms / dispatch.last_ms : 0},
                 {"limit", floor.limit}});
            at += dispatch.last_ms;
        }
    }
    return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

}  // namespace tosavk::bench

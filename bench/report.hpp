// What the benchmark prints and writes.
#pragma once

#include "limits.hpp"
#include "measure.hpp"

namespace tosavk::bench {

/// A problem of a run: measured, or why it could not be.
struct Row {
    std::string name;
    std::optional<Measurement> measurement;
    std::string error;
    std::optional<cli::Json> tuning;  ///< of --tune
};

/// Everything that one call of the program found out.
struct Report {
    std::string device, driver;
    Limits limits;
    std::vector<Row> rows;
};

/// {"device":{...},"limits":{...},"problems":[...]}.
cli::Json to_json(const Report& report);
/// One table over all problems; before it the dispatches of each when `details`.
std::string to_text(const Report& report, bool details);

/// The same problems in an earlier report, by name.
struct Comparison {
    struct Pair {
        std::string name;
        double old_ms = 0, new_ms = 0;
        double ratio() const { return old_ms > 0 ? new_ms / old_ms : 1; }
    };
    std::vector<Pair> pairs;
    std::vector<std::string> only_new, only_old;
    double threshold = 0.1;

    bool slower(const Pair& pair) const { return pair.ratio() > 1 + threshold; }
    bool passed() const;
};
/// `old` is what --json wrote. Best times are compared, on the device where both have them. Throws Failure(exit_file)
/// when it is no such file.
Comparison compare(const Report& report, const std::string& old_path, double threshold);
cli::Json to_json(const Comparison& comparison);
std::string to_text(const Comparison& comparison);

/// Chrome's and Perfetto's JSON: the phases of every measurement on the host, and the dispatches of one run each.
cli::Json trace_json(const Report& report);
/// A page that needs nothing else: a roofline plot and a timeline.
std::string html_page(const Report& report);

}  // namespace tosavk::bench

// What the benchmark prints and writes.
#pragma once

#include "limits.hpp"
#include "measure.hpp"

#include <map>

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
    std::string precision = "declared";  ///< what --precision was
    bool is_fp16() const { return precision == "fp16" || precision == "fast"; }
    Limits limits;
    std::vector<Row> rows;
};

/// {"device":{...},"precision":"...","limits":{...},"problems":[...]}.
cli::Json to_json(const Report& report);
/// One table over all problems; before it the dispatches of each when `details`.
std::string to_text(const Report& report, bool details);

/// A file that --json wrote.
struct EarlierReport {
    struct Times {
        std::optional<double> gpu_ms;  ///< best
        double wall_ms = 0;            ///< best
    };
    std::string device, driver;
    std::map<std::string, Times> problems;  ///< the last where a name stands twice
    std::vector<std::string> failed;        ///< problems that it has no times of
};
/// Throws Failure(exit_file) when it is no such file.
EarlierReport read_report(const std::string& path);

/// The same problems in an earlier report, by name.
struct Comparison {
    struct Pair {
        std::string name;
        double old_ms = 0, new_ms = 0;  ///< above zero
        double ratio() const { return new_ms / old_ms; }
    };
    struct Excluded {
        std::string name, reason;
    };
    std::vector<Pair> pairs;
    std::vector<Excluded> not_comparable;  ///< in both reports, but one of them has no time of it
    std::vector<std::string> only_new, only_old;
    std::vector<std::string> failed_now;  ///< measured in the earlier report
    std::string other_device;             ///< that of the earlier report, where it is not this run's
    double threshold = 0.1;

    bool slower(const Pair& pair) const { return pair.ratio() > 1 + threshold; }
    /// Something was compared, nothing got slower, and nothing fails that was measured earlier.
    bool passed() const;
};
/// Best times are compared, on the device where both have them.
Comparison compare(const Report& report, const EarlierReport& old, double threshold);
cli::Json to_json(const Comparison& comparison);
std::string to_text(const Comparison& comparison);

/// Chrome's and Perfetto's JSON: the phases of every measurement on the host, and the dispatches of one run each.
cli::Json trace_json(const Report& report);
/// A page that needs nothing else: a roofline plot and a timeline.
std::string html_page(const Report& report);

}  // namespace tosavk::bench

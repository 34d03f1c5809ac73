// Measures one model on one device: warm-up, repeats until the median is steady, GPU time of every dispatch.
#pragma once

#include "start.hpp"

#include "tools/cli/differences.hpp"

#include <optional>

namespace tosavk::bench {

struct Spread {
    double median = 0, min = 0, max = 0;
    std::size_t samples = 0;
    bool steady = false;  ///< is_steady of the samples; false: time was up first
};
Spread spread_of(std::vector<double> samples);

/// True when more samples would hardly move the median: its standard error, estimated from the middle half of the
/// samples, is under one percent.
bool is_steady(std::vector<double> samples);

struct DispatchTime {
    std::string label, kernel;
    double gpu_ms = 0;   ///< median
    double last_ms = 0;  ///< of the last profiled run
    double work = 0, bytes = 0;
    tosavk_arithmetic arithmetic = TOSAVK_ARITHMETIC_FP32;
    cli::Json compiler = nullptr;  ///< "compiler" of TOSAVK_EXECUTABLE_PIPELINES; null where the driver tells nothing
};

/// What the host did, in milliseconds since the program began.
struct Phase {
    const char* name;
    double begin_ms = 0, end_ms = 0;
};
double now_ms();

struct Measurement {
    std::string name;
    std::vector<DispatchTime> dispatches;
    /// COND_IF or WHILE_LOOP: what runs in their regions is neither timed nor counted, so `dispatches`, `work` and
    /// `bytes` are those of the rest, and the whole has no GPU time.
    bool has_control_flow = false;
    std::optional<Spread> gpu_ms;  ///< none without timestamps, without dispatches and with control flow
    Spread wall_ms;                ///< set inputs, run, get outputs
    double first_run_ms = 0;
    double work = 0, bytes = 0;    ///< of one run
    std::uint64_t peak_bytes = 0;  ///< arena and constants
    std::vector<Phase> phases;
    double last_run_ms = 0;  ///< when the last profiled run began
    std::optional<cpp::CheckReport> check;
    std::vector<cli::Difference>
        fp16_differences;             ///< by output, from a run in the declared types; empty where those are what ran
    std::optional<StartTimes> start;  ///< only where --start asks for it
};

struct MeasureOptions {
    double min_time_s = 0.5;  ///< at least this long, and ten times as long at most
    bool check = true;
    std::uint64_t seed = 0;
    /// The same device opened to tell what its compiler made of the kernels; may be null. Not the one that is timed:
    /// a driver may make other programs of pipelines that are looked at.
    const cpp::Device* inspected = nullptr;
};

Measurement measure(const cpp::Device& device, const cli::ModelOptions& model, const MeasureOptions& options);

}  // namespace tosavk::bench

// How long a first result takes in a process that starts: cold, with empty caches, and warm, with those of the cold
// one.
#pragma once

#include "tools/cli/common.hpp"

namespace tosavk::bench {

/// One process: what it took, and what it had to make. Times in milliseconds.
struct StartTime {
    double open_ms = 0;  ///< opening the device, the table of the disk cache with it; not part of `ms`
    double ms = 0;       ///< from the loaded graph and the open device to the first outputs on the host
    std::uint64_t shaders_compiled = 0, shaders_loaded = 0;
    bool compiler_started = false;
};
struct StartTimes {
    StartTime cold, warm;
};

/// Starts this program twice with a cache folder of its own, which is removed in the end; the caches of the user, those
/// of the driver too where it says how, are neither read nor written. Throws Failure with what a process complained of.
StartTimes measure_start(const std::string& device, const cli::ModelOptions& model, std::uint64_t seed);

/// What such a process does: loads, opens, runs once and prints a StartTime as JSON.
int start_once(const std::string& device, const cli::ModelOptions& model, std::uint64_t seed);

cli::Json to_json(const StartTimes& times);

}  // namespace tosavk::bench

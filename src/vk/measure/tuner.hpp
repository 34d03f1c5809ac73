// The tuner: runs a graph with every kernel candidate in turn and tells which are the fastest.
#pragma once

#include "compile/plan/tuning.hpp"
#include "vk/core/device.hpp"

namespace tosavk {

struct TuneOptions {
    double seconds = 0.1;    ///< that each comparison with the planner's own choice takes at least
    double margin = 0.05;    ///< share of the time by which a candidate must be faster to be chosen
    std::uint64_t seed = 0;  ///< of the inputs
};

struct TunedSite {
    struct Candidate {
        std::string name;
        double ms = 0;         ///< best time of all nodes of the site together
        double own_ms = 0;     ///< of the planner's own choice, measured in turn with it
        std::string excluded;  ///< why it was not to be chosen; empty: it was
        double ratio() const { return own_ms > 0 ? ms / own_ms : 1; }
    };
    KernelSite site;
    std::string label;                  ///< operators of the first node's dispatch
    std::string node;                   ///< its name
    std::vector<Candidate> candidates;  ///< the planner's own choice first
    std::size_t chosen = 0;
};

/// Kernels of the graph itself, not of its regions. Random inputs from `seed`. A candidate whose results differ from
/// those of the planner's own choice (integers in any bit, floats by more than their rounding could explain) is not
/// chosen. Nothing is kept. Throws Error(unsupported) where the device has no timestamps.
std::vector<TunedSite> tune(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                            const PlanOptions& plan_options, const TuneOptions& options);

/// The choices, those for the planner's own candidates too.
TuningTable table_of(const std::vector<TunedSite>& sites);

}  // namespace tosavk

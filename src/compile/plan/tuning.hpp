// Tuning: which kernel candidate was measured to be the fastest for a node. Plain data that the planner may be given:
// fusion goes by the candidates' own rules, then each group takes the candidate that the table names for its anchor,
// where that one accepts. vk/measure/tuner.hpp measures, vk/core/device.hpp keeps the table on disk.
#pragma once

#include "compile/codegen/source.hpp"
#include "compile/plan/plan.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk {

struct TuningTable {
    std::map<std::string, std::string> choices;  ///< tuning_signature() -> KernelCandidate::name
};

/// Operator, attributes, and types and shapes of the operands and results: the same text in every process. Values of
/// constants are left out, but weights that are constant are told from others. Nor is it told how much of its input a
/// window leaves out or pads, so that a convolution is the same node whether a SLICE or PAD was folded into it or not,
/// and sums in the same order.
std::string tuning_signature(const NodeView& view);

/// Gives every group whose anchor the table knows the candidate that it names, if that one exists, accepts the node,
/// takes what follows as the planner's own choice does, and binds no more buffers. The note says so. Returns the
/// choices followed.
TuningTable apply_tuning(const Graph& graph, const DevicePlan& device, const TuningTable& table,
                         std::vector<Group>& groups);

/// Nodes of one signature that kernels run, and the candidates that would take them.
struct KernelSite {
    std::string signature;
    std::vector<NodeId> nodes;
    std::vector<std::string> candidates;  ///< the planner's own choice first; no two of the same code
};
/// Of the graph without its regions, planned with these options and no table. Candidates that would compute more than
/// eight times as much as the planner's own (a guess) are left out.
std::vector<KernelSite> kernel_sites(const Graph& graph, const DevicePlan& device, const PlanOptions& options);

/// One line per choice behind a heading, and back. What was not written so gives nothing, and a sentence in `why`.
std::string write_tuning(const TuningTable& table);
std::optional<TuningTable> read_tuning(std::string_view text, std::string& why);

}  // namespace tosavk

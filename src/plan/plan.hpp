// Plan: a graph turned into dispatches, buffers and constants; plain data that prints as text. Everything here is
// made by pure functions and tested without a GPU. vk/ only carries it out.
#pragma once

#include "graph/graph.hpp"
#include "plan/kernel_choice.hpp"
#include "vk/device_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tosavk {

struct PlanOptions {
    bool fuse = true;        ///< join elementwise chains and epilogues
    bool keep_all = false;   ///< every value stays readable after a run (no sharing of memory); for verify
};

/// Where bytes live. Offsets are multiples of DevicePlan::buffer_alignment.
enum class Space : std::uint8_t { none, arena, constants };

struct Placement {
    Space space = Space::none;  ///< none: the value exists in registers only, or nowhere
    std::uint64_t offset = 0;
    std::uint64_t size = 0;     ///< bytes, rounded up to 16
};

struct Binding {
    Placement place;
    DType type = DType::fp32;
    bool written = false;
    std::string label;  ///< value name, or what was packed
};

/// One vkCmdDispatch. Bindings are numbered 0.. in set 0 in this order.
struct Dispatch {
    std::string label;                    ///< names of the operators it runs: "CONV2D+RESCALE+CLAMP"
    std::string kernel;                   ///< "elementwise" or a file of shaders/
    std::string glsl;                     ///< complete source; equal text means equal SPIR-V
    std::vector<std::int32_t> constants;  ///< specialization constants, ids 0.. (floats as bit patterns)
    std::vector<Binding> bindings;
    std::array<std::uint32_t, 3> groups{1, 1, 1};
    std::vector<NodeId> nodes;            ///< nodes of the graph that it computes
    std::vector<ValueId> written;         ///< values that it writes to memory
    double work = 0;                      ///< arithmetic operations
    double bytes = 0;                     ///< bytes read and written at least
    bool barrier_before = false;          ///< a hazard with an earlier dispatch since the last barrier
    std::string note;
};

struct Plan {
    std::vector<Dispatch> dispatches;
    std::vector<Placement> placements;  ///< by ValueId
    Bytes constants;                    ///< uploaded once, read only
    std::uint64_t arena_bytes = 0;
    std::uint64_t peak_lower_bound = 0;  ///< largest sum of live tensors at any dispatch
    PlanOptions options;
};

/// Throws Error(unsupported) when no candidate takes a node, with every candidate's reason.
Plan make_plan(const Graph& graph, const DevicePlan& device, const PlanOptions& options);
std::string print_plan(const Graph& graph, const Plan& plan);

}  // namespace tosavk

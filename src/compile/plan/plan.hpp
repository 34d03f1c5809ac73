// Plan: a graph turned into dispatches, buffers and constants; plain data that prints as text. Everything here is
// made by pure functions and tested without a GPU. vk/ only carries it out.
#pragma once

#include "compile/options.hpp"
#include "device/device_plan.hpp"
#include "graph/graph.hpp"
#include "kernels/common/kernel_choice.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tosavk {

/// Where bytes live. Offsets are multiples of DevicePlan::buffer_alignment.
enum class Space : std::uint8_t {
    none,
    arena,
    constants,
    state,     ///< variables; keeps its bytes from run to run
    host,      ///< conditions that the host reads: `offset` 4 * k for decision number k
    external,  ///< graph inputs and outputs, in slots (Plan::externals): the caller's buffers, or memory of our own
};

struct Placement {
    Space space = Space::none;  ///< none: the value exists in registers only, or nowhere
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  ///< bytes, rounded up to 16
};

struct Binding {
    Placement place;
    DType type = DType::fp32;
    bool written = false;
    std::string label;                 ///< value name, or what was packed
    ReadPath path = ReadPath::buffer;  ///< of what is read; what is written is a storage buffer
};

/// One vkCmdDispatch. Bindings are numbered 0.. in set 0 in this order.
struct Dispatch {
    std::string label;   ///< names of the operators it runs: "CONV2D+RESCALE+CLAMP"
    std::string kernel;  ///< "elementwise" or a file of shaders/
    /// Complete source; equal text means equal SPIR-V. Empty: `spirv` is the kernel, or, without one, the dispatch is
    /// a copy of binding 0 to binding 1 (reads and writes of variables).
    std::string glsl;
    std::shared_ptr<const std::vector<std::uint32_t>> spirv;  ///< CUSTOM
    std::vector<std::int32_t> constants;  ///< specialization constants, ids 0.. (floats as bit patterns)
    /// Push constants: of kernels whose pipeline has every size, and with PlanOptions::late_sizes what depends on an
    /// outermost size.
    std::vector<std::int32_t> pushed;
    std::vector<Binding> bindings;
    std::array<std::uint32_t, 3> groups{1, 1, 1};
    std::uint32_t invocations = 0;    ///< of a workgroup, in x; 0: DevicePlan::workgroup_size
    std::uint32_t subgroup_size = 0;  ///< of whole subgroups that these make; 0: as they come
    std::vector<NodeId> nodes;        ///< nodes of the graph that it computes
    std::vector<ValueId> written;     ///< values that it writes to memory
    double work = 0;                  ///< arithmetic operations
    double bytes = 0;                 ///< bytes read and written, each element once
    bool barrier_before = false;      ///< a hazard with an earlier dispatch since the last barrier
    bool submit_before = false;       ///< what comes before is a submit of its own: both would take too long
    std::string note;
    Placement arguments;  ///< of vkCmdDispatchIndirect, 12 bytes in the arena, instead of `groups`; none: `groups`

    bool is_copy() const { return glsl.empty() && !spirv; }
};

/// What a dispatch takes of a submit (DevicePlan::submit_work and submit_bytes): above 1 it is more than one may hold.
double submit_share(const Dispatch& dispatch, const DevicePlan& device);

struct Copy {
    Placement from, to;
};

/// Likewise, of copies.
double submit_share(const std::vector<Copy>& copies, const DevicePlan& device);

struct ControlStep;

/// Of a region: only dispatches and controls; its values lie in the memory of the plan that it belongs to.
struct Plan {
    std::vector<Dispatch> dispatches;
    std::vector<ControlStep> controls;  ///< by `before`, ascending
    std::vector<Placement> placements;  ///< by ValueId
    ConstantPool constants;             ///< uploaded once, read only
    std::uint64_t arena_bytes = 0;
    std::uint64_t state_bytes = 0;
    /// The slots of Space::external, by offset; one for each value that owns the memory of inputs or outputs. Nothing
    /// else ever lies there, so that each may be another buffer from run to run. None in a region that is part of its
    /// plan: until then the slots of what it is handed.
    std::vector<Placement> externals;
    std::uint64_t external_bytes = 0;    ///< all slots together
    std::vector<Placement> variables;    ///< by index in Graph::variables
    std::uint32_t decisions = 0;         ///< control steps that the host decides, those of regions included
    std::uint64_t peak_lower_bound = 0;  ///< largest sum of live tensors at any dispatch
    PlanOptions options;
    std::string tuning;  ///< the choices of a tuning table that it follows, as write_tuning() writes them
};

struct RegionPlan {
    std::vector<Copy> enter, leave;  ///< before its first and after its last dispatch
    Plan plan;
};

/// COND_IF or WHILE_LOOP: the host reads a condition and decides which region runs next, but for loops whose turns are
/// known.
/// COND_IF: `prepare` takes the condition to the host; then region 0 (then_graph) or 1 (else_graph) runs.
/// WHILE_LOOP: `prepare` takes the inputs to the outputs, which carry the list from turn to turn; region 0 (cond_graph)
/// leaves its answer to the host; as long as it is true, regions 1 (body_graph) and 0 run. With known turns there is
/// nothing in region 0, and region 1 runs so often.
/// A loop that alternates has the body a third time, for every second turn: what one turn makes lies where the next one
/// reads it, and nothing is copied between them; `answer` takes it to the outputs where the last turn leaves it
/// elsewhere. A loop that is gated has a third region, which makes the arguments of region 1's dispatches: none run
/// where the answer is false. Regions 0, 2 and 1 run `most` times; or more and more often, until the host sees in
/// `answer` that nothing goes on.
struct ControlStep {
    NodeId node = no_id;
    bool is_loop = false;
    std::int64_t turns = -1;  ///< below 0: somebody asks
    std::int64_t most = -1;   ///< of a gated loop; below 0: nobody knows
    std::size_t before = 0;   ///< index of the dispatch that comes next
    Placement condition;      ///< in Space::host; of what the host asks
    std::vector<Copy> prepare;
    std::vector<Copy> answer;
    std::vector<RegionPlan> regions;

    bool alternates() const { return turns >= 0 && regions.size() > 2; }
    bool is_gated() const { return turns < 0 && regions.size() > 2; }
    bool is_decided() const { return turns < 0 && (!is_gated() || most < 0); }  ///< by the host
};

/// Of a gated loop whose bound is no higher; of more, those that do nothing would cost more than the host's looks.
constexpr std::int64_t most_gated_turns = 64;

/// Calls f(dispatch) for the plan's dispatches, then for those of its regions, in an order that never changes.
template <class F> void for_each_dispatch(const Plan& plan, F f) {
    for (const Dispatch& dispatch : plan.dispatches) f(dispatch);
    for (const ControlStep& control : plan.controls) {
        for (const RegionPlan& region : control.regions) for_each_dispatch(region.plan, f);
    }
}

/// How many stretches of dispatches without a control step among them a run has at most, where the host decides
/// nothing; the turns of loops count.
std::uint64_t stretches(const Plan& plan);

/// A run of more is not handed to the queue at once, but by a thread that waits now and then.
constexpr std::uint64_t many_stretches = 4096;

/// Whether every control step is a loop whose turns are known.
bool is_recordable(const Plan& plan);

/// With those of regions.
inline std::size_t dispatch_count(const Plan& plan) {
    std::size_t count = 0;
    for_each_dispatch(plan, [&](const Dispatch&) { ++count; });
    return count;
}

struct TuningTable;

/// The device as plans of the graph see it: with fast_fp16 where the graph asks and the device can.
DevicePlan device_for(const Graph& graph, DevicePlan device);

/// `tuning` (compile/plan/tuning.hpp) may be null. Throws Error(unsupported) when no candidate takes a node, with every
/// candidate's reason. `sizes`: choices by size, made as it says and written down there.
Plan make_plan(const Graph& graph, const DevicePlan& device, const PlanOptions& options,
               const TuningTable* tuning = nullptr, SizeChoices* sizes = nullptr);
std::string print_plan(const Graph& graph, const Plan& plan);

}  // namespace tosavk

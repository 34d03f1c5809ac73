// The state of make_plan(). What it does stands in several files: groups to dispatches in plan.cpp, memory, bindings,
// barriers and submits in bind.cpp, control flow, variables and CUSTOM in control_steps.cpp.
#pragma once

#include "compile/codegen/source.hpp"
#include "compile/group/homes.hpp"
#include "compile/memory/memory.hpp"
#include "compile/plan/plan.hpp"
#include "compile/plan/tuning.hpp"

#include <map>
#include <string>
#include <tuple>

namespace tosavk {

/// Every allocation is padded, so that kernels may touch the last quad of a tensor whole.
inline std::uint64_t padded(std::uint64_t bytes) { return (bytes + 15) / 16 * 16; }

class Planner {
public:
    enum class Part : std::uint8_t { whole, region, body, body_apart };

    /// `parent` of a region: the plan that it becomes a part of. `part`: a body is a loop's.
    Planner(const Graph& graph, const DevicePlan& device, const PlanOptions& options, const TuningTable* tuning,
            Planner* parent = nullptr, Part part = Part::whole);
    /// `values`: how many the graph had before it was rewritten; the plan has places for these.
    Plan run(std::size_t values);

private:
    static constexpr std::int64_t never = INT64_MAX;

    Planner& outermost() { return parent_ ? parent_->outermost() : *this; }

    // ---- groups to dispatches: plan.cpp

    void add_dispatch(const Group& group);
    /// The dispatches that make a kernel's scratch buffers, which live until its last dispatch.
    void add_earlier_passes(const Group& group);
    void check_size(const Dispatch& dispatch, ValueId id) const;
    /// One more dispatch, what it reads, and how many bindings its shader has.
    void add(Dispatch dispatch, std::vector<KernelOperand> reads, std::int64_t scratch_written, std::size_t bindings);

    // ---- what has no kernel of ours: control_steps.cpp

    /// A region's variables lie where those of the outermost graph do.
    void place_variables();
    void add_structural(NodeId id);
    void add_custom(const NodeView& view, Dispatch& dispatch) const;
    void add_control(NodeId id);
    void bind_control(ControlStep& control, const Interval& memory);
    void add_gate(ControlStep& control);
    /// Of a bound loop whose results lie apart: every second turn by a body of its own, without copies between them.
    void alternate(ControlStep& control) const;
    /// `answer`: where region 0 leaves it; the body's arguments go to `at` in the arena.
    void bind_gate(ControlStep& control, const Placement& answer, std::uint64_t at);
    /// Of its regions in the arena; of a gated loop the arguments of the body's dispatches come last.
    std::uint64_t region_bytes(const ControlStep& control) const;
    std::uint64_t arguments_at(const ControlStep& control) const;
    void bind_variable(Dispatch& dispatch);

    // ---- memory and order: bind.cpp

    void touch_scratch(std::size_t index, std::int64_t step);
    void touch(ValueId id, std::int64_t step);
    void place_arena();
    /// The inputs and outputs of the outermost graph.
    void place_externals();
    /// What a region is handed and need not have memory of its own for.
    void place_handed();
    void place_slot(ValueId owner);
    std::uint64_t align(std::uint64_t offset) const;
    Placement add_constant(LazyBytes bytes, DType type);
    /// What several kernels pack alike of the same bytes has one place.
    Placement add_packed(const LazyBytes& packed, DType type);
    Placement place_of(ValueId id);
    Placement place_within(ValueId id) const;
    /// What is larger than a binding may be takes several. CUSTOM kernels know nothing of this.
    void add_binding(Dispatch& dispatch, Binding whole) const;
    void bind();
    void check_bindings(const Dispatch& dispatch) const;
    /// A barrier goes before a dispatch that reads what an earlier one wrote, or writes what an earlier one touched,
    /// since the last barrier.
    void find_hazards();
    /// Long stretches of dispatches are split, so that no submit runs into a watchdog. The host, which decides what
    /// runs between control steps, adds up the shares there.
    void find_submits();

    const Graph& graph_;
    const DevicePlan& device_;
    const TuningTable* const tuning_;  ///< may be null
    TuningTable followed_;             ///< of the outermost planner: those of all
    Planner* const parent_;
    const Part part_;
    const std::vector<Home> homes_;
    std::int64_t step_ = 0;                          ///< dispatches and control steps so far
    std::vector<Interval> control_memory_;           ///< by control step: of its regions
    std::vector<bool> apart_;                        ///< by control step: its body's results lie apart
    std::vector<std::vector<Placement>> results_;    ///< by control step: of its second region, in its own spaces
    std::vector<std::int64_t> first_, last_;         ///< steps in which a value's memory is in use
    std::vector<std::vector<KernelOperand>> reads_;  ///< by dispatch
    std::vector<std::size_t> binding_counts_;        ///< by dispatch, as its shader has them
    struct Scratch {
        Interval interval;
        Placement place;
        DType type;  ///< of its elements
    };
    std::vector<Scratch> scratch_;
    std::size_t first_scratch_ = 0;              ///< of the kernel at hand
    std::vector<std::int64_t> scratch_written_;  ///< by dispatch; -1: none
    std::map<std::tuple<const std::byte*, std::uint64_t, std::uint64_t, std::string, DType>, Placement> packed_;
    Plan plan_;
};

}  // namespace tosavk

#include "plan/plan.hpp"

#include "codegen/source.hpp"
#include "ops/op.hpp"
#include "plan/fuse.hpp"
#include "plan/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tosavk {
namespace {

/// Every allocation is padded, so that kernels may touch the last quad of a tensor whole.
std::uint64_t padded(std::uint64_t bytes) { return (bytes + 15) / 16 * 16; }

std::uint64_t value_bytes(const Value& value) {
    const auto elements = static_cast<std::uint64_t>(element_count(value.shape));
    return padded((elements + 3) / 4 * 4 * size_of(value.type));
}

class Planner {
public:
    Planner(const Graph& graph, const DevicePlan& device, const PlanOptions& options)
        : graph_(graph), device_(device), first_(graph.values.size(), never), last_(graph.values.size(), -1) {
        plan_.options = options;
        plan_.placements.resize(graph.values.size());
    }

    Plan run() {
        for (const Group& group : fuse(graph_, device_, plan_.options)) {
            if (group.choice) add_earlier_passes(group);
            add_dispatch(group);
        }
        place_arena();
        bind();
        find_hazards();
        return std::move(plan_);
    }

private:
    static constexpr std::int64_t never = INT64_MAX;

    void add_dispatch(const Group& group) {
        GroupSource source = build_source(graph_, group, device_);
        Dispatch dispatch;
        dispatch.glsl = std::move(source.glsl);
        dispatch.constants = std::move(source.constants);
        dispatch.kernel = group.choice ? group.choice->kernel : group.copy ? "copy" : "elementwise";
        if (group.anchor != no_id) dispatch.nodes.push_back(group.anchor);
        dispatch.nodes.insert(dispatch.nodes.end(), group.members.begin(), group.members.end());
        if (group.copy) dispatch.nodes.push_back(group.copy->node);
        for (const NodeId id : dispatch.nodes) {
            dispatch.label += (dispatch.label.empty() ? "" : "+") + std::string(name_of(graph_.node(id).op));
        }
        dispatch.work = static_cast<double>(element_count(group.space)) * static_cast<double>(group.members.size());
        if (group.choice) {
            dispatch.work += group.choice->work;
            dispatch.groups = group.choice->groups;
            dispatch.note = group.choice->note;
        } else {
            dispatch.groups = linear_groups(source.quads, device_);
        }
        dispatch.written = source.writes;
        add(std::move(dispatch), std::move(source.reads), -1);
    }

    /// The dispatches that make a kernel's scratch buffers, which live until its last dispatch.
    void add_earlier_passes(const Group& group) {
        const KernelChoice& choice = *group.choice;
        first_scratch_ = scratch_.size();
        const auto step = static_cast<std::int64_t>(plan_.dispatches.size());
        for (const std::uint64_t bytes : choice.scratch_bytes) {
            scratch_.push_back({{step, step, padded(bytes)}, {}});
        }
        for (const KernelPass& pass : choice.earlier) {
            GroupSource source = build_pass_source(pass, device_);
            Dispatch dispatch;
            dispatch.label = name_of(graph_.node(group.anchor).op);
            dispatch.kernel = pass.kernel;
            dispatch.glsl = std::move(source.glsl);
            dispatch.constants = std::move(source.constants);
            dispatch.groups = pass.groups;
            dispatch.nodes = {group.anchor};
            add(std::move(dispatch), std::move(source.reads), static_cast<std::int64_t>(first_scratch_) + pass.writes);
        }
    }

    void add(Dispatch dispatch, std::vector<KernelOperand> reads, std::int64_t scratch_written) {
        const auto step = static_cast<std::int64_t>(plan_.dispatches.size());
        for (KernelOperand& operand : reads) {
            if (operand.scratch < 0) {
                touch(operand.value, step);
                continue;
            }
            operand.scratch += static_cast<int>(first_scratch_);
            touch_scratch(static_cast<std::size_t>(operand.scratch), step);
        }
        for (const ValueId id : dispatch.written) touch(id, step);
        if (scratch_written >= 0) touch_scratch(static_cast<std::size_t>(scratch_written), step);
        plan_.dispatches.push_back(std::move(dispatch));
        reads_.push_back(std::move(reads));
        scratch_written_.push_back(scratch_written);
    }

    void touch_scratch(std::size_t index, std::int64_t step) {
        Interval& interval = scratch_[index].interval;
        interval.last = std::max(interval.last, step);
    }

    void touch(ValueId id, std::int64_t step) {
        if (id == no_id) return;
        const ValueId owner = storage_of(graph_, id);
        first_[owner] = std::min(first_[owner], step);
        last_[owner] = std::max(last_[owner], step);
    }

    void place_arena() {
        const auto end = static_cast<std::int64_t>(plan_.dispatches.size());
        // Inputs keep their bytes between runs; outputs stay until they are read.
        for (const ValueId id : graph_.inputs) first_[id] = -1, last_[id] = end;
        for (const ValueId id : graph_.outputs) {
            const ValueId owner = storage_of(graph_, id);
            first_[owner] = std::min(first_[owner], end);
            last_[owner] = end;
        }
        std::vector<Interval> intervals;
        std::vector<ValueId> owners;
        for (ValueId id = 0; id < graph_.values.size(); ++id) {
            if (last_[id] < 0 || graph_.value(id).is_constant()) continue;
            const bool keep = plan_.options.keep_all;
            intervals.push_back({keep ? -1 : first_[id], keep ? end : last_[id], value_bytes(graph_.value(id))});
            owners.push_back(id);
        }
        for (const Scratch& scratch : scratch_) intervals.push_back(scratch.interval);
        plan_.arena_bytes = assign_offsets(intervals, device_.buffer_alignment);
        plan_.peak_lower_bound = live_bytes_bound(intervals, device_.buffer_alignment);
        for (std::size_t i = 0; i < owners.size(); ++i) {
            plan_.placements[owners[i]] = {Space::arena, intervals[i].offset, intervals[i].size};
        }
        for (std::size_t i = 0; i < scratch_.size(); ++i) {
            const Interval& interval = intervals[owners.size() + i];
            scratch_[i].place = {Space::arena, interval.offset, interval.size};
        }
        for (ValueId id = 0; id < graph_.values.size(); ++id) {
            const ValueId owner = storage_of(graph_, id);
            if (owner != id) plan_.placements[id] = plan_.placements[owner];
        }
    }

    Placement add_constant(const Bytes& bytes, DType type) {
        const std::uint64_t offset = (plan_.constants.size() + device_.buffer_alignment - 1) / device_.buffer_alignment * device_.buffer_alignment;
        const std::uint64_t quad = 4 * size_of(type);
        const std::uint64_t size = padded((std::max<std::uint64_t>(bytes.size(), 1) + quad - 1) / quad * quad);
        plan_.constants.resize(offset + size);
        std::copy(bytes.begin(), bytes.end(), plan_.constants.begin() + static_cast<std::ptrdiff_t>(offset));
        return {Space::constants, offset, size};
    }

    Placement place_of(ValueId id) {
        const ValueId owner = storage_of(graph_, id);
        Placement& place = plan_.placements[owner];
        if (place.space == Space::none && graph_.value(owner).is_constant())
            place = add_constant(*graph_.value(owner).data, graph_.value(owner).type);
        if (place.space == Space::none) {
            throw Error(ErrorCode::internal, fmt::format("value '{}' is read but has no memory", graph_.value(id).name));
        }
        plan_.placements[id] = place;
        return place;
    }

    void bind() {
        for (std::size_t d = 0; d < plan_.dispatches.size(); ++d) {
            Dispatch& dispatch = plan_.dispatches[d];
            for (const KernelOperand& operand : reads_[d]) {
                if (operand.scratch >= 0) {
                    dispatch.bindings.push_back({scratch_[static_cast<std::size_t>(operand.scratch)].place, operand.type, false, "scratch"});
                    continue;
                }
                const bool is_packed = operand.value == no_id;
                Binding binding{is_packed ? add_constant(operand.packed, operand.type) : place_of(operand.value),
                                operand.type, false,
                                is_packed ? operand.packed_from : graph_.value(operand.value).name};
                dispatch.bindings.push_back(std::move(binding));
            }
            for (const ValueId id : dispatch.written) {
                dispatch.bindings.push_back({place_of(id), graph_.value(id).type, true, graph_.value(id).name});
            }
            if (scratch_written_[d] >= 0) {
                dispatch.bindings.push_back({scratch_[static_cast<std::size_t>(scratch_written_[d])].place, DType::fp32, true, "scratch"});
            }
            check_bindings(dispatch);
            for (const Binding& binding : dispatch.bindings) dispatch.bytes += static_cast<double>(binding.place.size);
        }
    }

    void check_bindings(const Dispatch& dispatch) const {
        for (const Binding& binding : dispatch.bindings) {
            if (device_.max_binding_bytes != 0 && binding.place.size > device_.max_binding_bytes) {
                throw Error(ErrorCode::unsupported,
                            fmt::format("{} needs tensor '{}' of {} bytes in one binding, and the device allows {}", dispatch.label,
                                        binding.label, binding.place.size, device_.max_binding_bytes));
            }
        }
        if (dispatch.bindings.size() > device_.max_buffers) {
            throw Error(ErrorCode::unsupported, fmt::format("{} needs {} storage buffers, and the device allows {}", dispatch.label,
                                                            dispatch.bindings.size(), device_.max_buffers));
        }
    }

    /// A barrier goes before a dispatch that reads what an earlier one wrote, or writes what an earlier one touched,
    /// since the last barrier.
    void find_hazards() {
        std::vector<const Binding*> open;
        for (Dispatch& dispatch : plan_.dispatches) {
            const auto conflicts = [&](const Binding& now) {
                return std::any_of(open.begin(), open.end(), [&](const Binding* before) {
                    if (!now.written && !before->written) return false;
                    if (now.place.space != before->place.space) return false;
                    return now.place.offset < before->place.offset + before->place.size &&
                           before->place.offset < now.place.offset + now.place.size;
                });
            };
            dispatch.barrier_before = std::any_of(dispatch.bindings.begin(), dispatch.bindings.end(), conflicts);
            if (dispatch.barrier_before) open.clear();
            for (const Binding& binding : dispatch.bindings) open.push_back(&binding);
        }
    }

    const Graph& graph_;
    const DevicePlan& device_;
    std::vector<std::int64_t> first_, last_;  ///< steps in which a value's memory is in use
    std::vector<std::vector<KernelOperand>> reads_;  ///< by dispatch
    struct Scratch {
        Interval interval;
        Placement place;
    };
    std::vector<Scratch> scratch_;
    std::size_t first_scratch_ = 0;               ///< of the kernel at hand
    std::vector<std::int64_t> scratch_written_;   ///< by dispatch; -1: none
    Plan plan_;
};

}  // namespace

Plan make_plan(const Graph& graph, const DevicePlan& device, const PlanOptions& options) {
    return Planner(graph, device, options).run();
}

std::string print_plan(const Graph& graph, const Plan& plan) {
    std::string text = fmt::format("plan: {} dispatches, arena {} bytes (lower bound {}), constants {} bytes{}{}\n",
                                   plan.dispatches.size(), plan.arena_bytes, plan.peak_lower_bound, plan.constants.size(),
                                   plan.options.fuse ? "" : ", fusion off", plan.options.keep_all ? ", all values kept" : "");
    for (std::size_t d = 0; d < plan.dispatches.size(); ++d) {
        const Dispatch& dispatch = plan.dispatches[d];
        if (dispatch.barrier_before) text += "  barrier\n";
        text += fmt::format("  {:3} {} [{}] groups {}x{}x{}{}{}\n", d, dispatch.label, dispatch.kernel, dispatch.groups[0],
                            dispatch.groups[1], dispatch.groups[2], dispatch.note.empty() ? "" : "; ", dispatch.note);
        for (const Binding& binding : dispatch.bindings) {
            text += fmt::format("        {} {} {} {}+{} '{}'\n", binding.written ? "out" : "in ", name_of(binding.type),
                                binding.place.space == Space::arena ? "arena" : "const", binding.place.offset,
                                binding.place.size, binding.label);
        }
    }
    for (const ValueId id : graph.outputs) {
        const Placement& place = plan.placements.at(id);
        text += fmt::format("  output '{}' {} {}+{}\n", graph.value(id).name,
                            place.space == Space::arena ? "arena" : place.space == Space::constants ? "const" : "host",
                            place.offset, place.size);
    }
    return text;
}

}  // namespace tosavk

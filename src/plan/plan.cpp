#include "plan/plan.hpp"

#include "codegen/source.hpp"
#include "ops/custom.hpp"
#include "plan/fuse.hpp"
#include "plan/memory.hpp"
#include "plan/simplify.hpp"
#include "plan/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tosavk {
namespace {

/// Every allocation is padded, so that kernels may touch the last quad of a tensor whole.
std::uint64_t padded(std::uint64_t bytes) { return (bytes + 15) / 16 * 16; }

std::uint64_t value_bytes(const Value& value) {
    return allocation_bytes(static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type), value.type);
}

/// Moves what lies in the region's own spaces to its place in those of the enclosing plan.
struct Shift {
    std::uint64_t arena, constants;

    void operator()(Placement& place) const {
        if (place.space == Space::arena) place.offset += arena;
        if (place.space == Space::constants) place.offset += constants;
    }
    void operator()(std::vector<Copy>& copies) const {
        for (Copy& copy : copies) (*this)(copy.from), (*this)(copy.to);
    }
    void operator()(Plan& plan) const {
        for (Placement& place : plan.placements) (*this)(place);
        for (Dispatch& dispatch : plan.dispatches) {
            for (Binding& binding : dispatch.bindings) (*this)(binding.place);
        }
        for (ControlStep& control : plan.controls) {
            (*this)(control.prepare);
            for (RegionPlan& region : control.regions) (*this)(region.enter), (*this)(region.leave), (*this)(region.plan);
        }
    }
};

class Planner {
public:
    /// `parent` of a region: the plan that it becomes a part of.
    Planner(const Graph& graph, const DevicePlan& device, const PlanOptions& options, const TuningTable* tuning,
            Planner* parent = nullptr)
        : graph_(graph), device_(device), tuning_(tuning), parent_(parent), first_(graph.values.size(), never),
          last_(graph.values.size(), -1) {
        plan_.options = options;
        plan_.placements.resize(graph.values.size());
        place_variables();
    }

    Plan run() {
        std::vector<Group> groups = fuse(graph_, device_, plan_.options);
        if (tuning_) outermost().followed_.choices.merge(apply_tuning(graph_, device_, *tuning_, groups).choices);
        for (const Group& group : groups) {
            if (group.structural) {
                add_structural(group.anchor);
                continue;
            }
            if (group.choice) add_earlier_passes(group);
            add_dispatch(group);
        }
        place_arena();
        bind();
        find_hazards();
        find_submits();
        if (!followed_.choices.empty()) plan_.tuning = write_tuning(followed_);
        return std::move(plan_);
    }

private:
    static constexpr std::int64_t never = INT64_MAX;

    /// A region's variables lie where those of the outermost graph do.
    void place_variables() {
        for (const Variable& v : graph_.variables) {
            if (parent_) {
                const auto& outer = parent_->graph_.variables;
                const auto same = std::find_if(outer.begin(), outer.end(), [&](const Variable& o) { return o.name == v.name; });
                plan_.variables.push_back(parent_->plan_.variables.at(static_cast<std::size_t>(same - outer.begin())));
                continue;
            }
            const std::uint64_t size = padded(static_cast<std::uint64_t>(element_count(v.shape)) * size_of(v.type));
            plan_.variables.push_back({Space::state, plan_.state_bytes, size});
            plan_.state_bytes += (size + device_.buffer_alignment - 1) / device_.buffer_alignment * device_.buffer_alignment;
        }
    }

    Planner& outermost() { return parent_ ? parent_->outermost() : *this; }

    // ---- what has no kernel of ours -----------------------------------------------------------------------------

    void add_structural(NodeId id) {
        const Node& node = graph_.node(id);
        for (const ValueId value : node.inputs) touch(value, step_);
        for (const ValueId value : node.outputs) touch(value, step_);
        if (!node.regions.empty()) {
            add_control(id);
            ++step_;
            return;
        }
        Dispatch dispatch;
        dispatch.label = name_of(node.op);
        dispatch.nodes = {id};
        dispatch.written = node.outputs;
        std::vector<KernelOperand> reads;
        if (node.op == Op::custom) {
            add_custom(NodeView(graph_, id), dispatch);
            for (const ValueId value : node.inputs) reads.push_back({value, graph_.value(value).type, {}, {}, -1, {}});
        } else {
            dispatch.kernel = "buffer copy";
        }
        add(std::move(dispatch), std::move(reads), -1, 0);
    }

    void add_custom(const NodeView& view, Dispatch& dispatch) const {
        const auto op = custom_of(view);
        const auto refuse = [&](const std::string& what) {
            throw Error(ErrorCode::unsupported, fmt::format("{}: operator '{}' of domain '{}' {}", view.title(), op->name, op->domain, what),
                        view.node().name);
        };
        if (op->spirv.empty()) refuse("was registered without a kernel");
        CustomDispatch wanted = op->dispatch(view);
        for (std::size_t k = 0; k < 3; ++k) {
            const std::uint32_t most = k == 0 ? device_.max_groups_x : 65535;
            if (wanted.groups[k] == 0 || wanted.groups[k] > most) {
                refuse(fmt::format("asks for {} workgroups in dimension {}, allowed are 1 to {}", wanted.groups[k], k, most));
            }
        }
        dispatch.kernel = fmt::format("{}/{}", op->domain, op->name);
        dispatch.spirv = std::shared_ptr<const std::vector<std::uint32_t>>(op, &op->spirv);
        dispatch.groups = wanted.groups;
        dispatch.constants = std::move(wanted.constants);
    }

    void add_control(NodeId id) {
        ControlStep control;
        control.node = id;
        control.is_loop = graph_.node(id).op == Op::while_loop;
        control.before = plan_.dispatches.size();
        control.condition = {Space::host, 4 * std::uint64_t{outermost().plan_.control_count++}, 4};
        PlanOptions options = plan_.options;
        options.keep_all = false;
        std::uint64_t bytes = 0;
        for (const auto& graph : graph_.node(id).regions) {
            control.regions.emplace_back().plan = Planner(rewritten(*graph, device_, options), device_, options, tuning_, this).run();
            // The regions of one step never hold values at the same time.
            bytes = std::max(bytes, control.regions.back().plan.arena_bytes);
        }
        control_memory_.push_back({step_, step_, bytes});
        plan_.controls.push_back(std::move(control));
    }

    void bind_control(ControlStep& control, const Interval& memory) {
        const Node& node = graph_.node(control.node);
        const auto places = [&](const std::vector<ValueId>& ids) {
            std::vector<Placement> all;
            for (const ValueId id : ids) all.push_back(place_of(id));
            return all;
        };
        std::vector<Placement> inputs = places(node.inputs);
        const std::vector<Placement> outputs = places(node.outputs);
        if (control.is_loop) {
            for (std::size_t k = 0; k < inputs.size(); ++k) control.prepare.push_back({inputs[k], outputs[k]});
            inputs = outputs;
        } else {
            control.prepare = {{inputs.front(), control.condition}};
            inputs.erase(inputs.begin());
        }
        for (std::size_t r = 0; r < control.regions.size(); ++r) {
            RegionPlan& region = control.regions[r];
            const Graph& graph = *node.regions[r];
            const std::uint64_t constants = align(plan_.constants.size());
            Shift{memory.offset, constants}(region.plan);
            plan_.constants.resize(constants);
            plan_.constants.insert(plan_.constants.end(), region.plan.constants.begin(), region.plan.constants.end());
            region.plan.constants.clear();
            for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
                const Placement& inner = region.plan.placements[graph.inputs[k]];
                if (inner.space != Space::none) region.enter.push_back({inputs[k], inner});
            }
            const bool asks = control.is_loop && r == 0;
            for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
                const Placement& inner = region.plan.placements[graph.outputs[k]];
                // What a loop's body hands on unchanged lies in the output already. Equal places would not tell: an output may
                // lie where an input was that nothing reads any more.
                const bool unchanged = control.is_loop && !asks && storage_of(graph, graph.outputs[k]) == storage_of(graph, graph.inputs[k]);
                if (!unchanged) region.leave.push_back({inner, asks ? control.condition : outputs[k]});
            }
        }
    }

    void add_dispatch(const Group& group) {
        GroupSource source = build_source(graph_, group, device_);
        Dispatch dispatch;
        dispatch.glsl = std::move(source.glsl);
        dispatch.constants = std::move(source.constants);
        dispatch.kernel = group.choice ? group.choice->kernel : group.rows ? "rows" : group.members.empty() ? "copy" : "elementwise";
        if (group.anchor != no_id) dispatch.nodes.push_back(group.anchor);
        dispatch.nodes.insert(dispatch.nodes.end(), group.members.begin(), group.members.end());
        for (const Group::Store& part : group.stores) {
            if (std::find(dispatch.nodes.begin(), dispatch.nodes.end(), part.node) == dispatch.nodes.end()) dispatch.nodes.push_back(part.node);
        }
        for (const NodeId id : dispatch.nodes) {
            dispatch.label += (dispatch.label.empty() ? "" : "+") + std::string(name_of(graph_.node(id).op));
        }
        dispatch.work = static_cast<double>(element_count(group.space)) * static_cast<double>(group.members.size());
        if (group.choice) {
            dispatch.work += group.choice->work;
            dispatch.groups = group.choice->groups;
            dispatch.note = group.choice->note;
        } else if (group.rows) {
            const std::int64_t rows_per_group = device_.workgroup_size / group.rows->lanes;
            dispatch.groups = spill_groups((group.rows->count + rows_per_group - 1) / rows_per_group, device_);
            dispatch.work *= static_cast<double>(group.rows->axis);
            dispatch.note = fmt::format("{} rows of {}, {} lanes each", group.rows->count, group.rows->axis, group.rows->lanes);
        } else {
            dispatch.groups = linear_groups(source.quads, device_);
        }
        dispatch.written = source.writes;
        add(std::move(dispatch), std::move(source.reads), -1, source.bindings);
    }

    /// The dispatches that make a kernel's scratch buffers, which live until its last dispatch.
    void add_earlier_passes(const Group& group) {
        const KernelChoice& choice = *group.choice;
        first_scratch_ = scratch_.size();
        for (const std::uint64_t bytes : choice.scratch_bytes) {
            scratch_.push_back({{step_, step_, padded(bytes)}, {}, DType::fp32});
        }
        for (const KernelPass& pass : choice.earlier) {
            GroupSource source = build_pass_source(graph_, choice, pass, device_);
            Dispatch dispatch;
            dispatch.label = name_of(graph_.node(group.anchor).op);
            dispatch.kernel = pass.kernel;
            dispatch.glsl = std::move(source.glsl);
            dispatch.constants = std::move(source.constants);
            dispatch.groups = pass.groups;
            dispatch.nodes = {group.anchor};
            const std::size_t written = first_scratch_ + static_cast<std::size_t>(pass.writes);
            scratch_[written].type = pass.writes_type;
            add(std::move(dispatch), std::move(source.reads), static_cast<std::int64_t>(written), source.bindings);
        }
    }

    void check_size(const Dispatch& dispatch, ValueId id) const {
        if (id == no_id || element_count(graph_.value(id).shape) <= max_elements) return;
        throw Error(ErrorCode::unsupported, fmt::format("{} has tensor '{}' of {} elements, and shaders count up to {}", dispatch.label,
                                                        graph_.value(id).name, element_count(graph_.value(id).shape), max_elements));
    }

    /// One more dispatch, what it reads, and how many bindings its shader has.
    void add(Dispatch dispatch, std::vector<KernelOperand> reads, std::int64_t scratch_written, std::size_t bindings) {
        binding_counts_.push_back(bindings);
        for (const ValueId id : dispatch.written) check_size(dispatch, id);
        for (KernelOperand& operand : reads) {
            check_size(dispatch, operand.value);
            if (operand.scratch < 0) {
                touch(operand.value, step_);
                continue;
            }
            operand.scratch += static_cast<int>(first_scratch_);
            touch_scratch(static_cast<std::size_t>(operand.scratch), step_);
        }
        for (const ValueId id : dispatch.written) touch(id, step_);
        if (scratch_written >= 0) touch_scratch(static_cast<std::size_t>(scratch_written), step_);
        plan_.dispatches.push_back(std::move(dispatch));
        reads_.push_back(std::move(reads));
        scratch_written_.push_back(scratch_written);
        ++step_;
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
        const std::int64_t end = step_;
        // Inputs keep their bytes between runs; outputs stay until they are read. A region's inputs are set for each run,
        // and those that it does not use have no place.
        for (const ValueId id : graph_.inputs) {
            first_[id] = -1;
            if (!parent_) last_[id] = end;
        }
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
        intervals.insert(intervals.end(), control_memory_.begin(), control_memory_.end());
        plan_.arena_bytes = assign_offsets(intervals, device_.buffer_alignment);
        plan_.peak_lower_bound = live_bytes_bound(intervals, device_.buffer_alignment);
        for (std::size_t i = 0; i < owners.size(); ++i) {
            plan_.placements[owners[i]] = {Space::arena, intervals[i].offset, intervals[i].size};
        }
        for (std::size_t i = 0; i < scratch_.size(); ++i) {
            const Interval& interval = intervals[owners.size() + i];
            scratch_[i].place = {Space::arena, interval.offset, interval.size};
        }
        std::copy(intervals.begin() + static_cast<std::ptrdiff_t>(owners.size() + scratch_.size()), intervals.end(), control_memory_.begin());
        for (ValueId id = 0; id < graph_.values.size(); ++id) {
            const ValueId owner = storage_of(graph_, id);
            if (owner != id) plan_.placements[id] = plan_.placements[owner];
        }
    }

    std::uint64_t align(std::uint64_t offset) const {
        return (offset + device_.buffer_alignment - 1) / device_.buffer_alignment * device_.buffer_alignment;
    }

    Placement add_constant(const Bytes& bytes, DType type) {
        const std::uint64_t offset = align(plan_.constants.size());
        const std::uint64_t size = allocation_bytes(std::max<std::uint64_t>(bytes.size(), 1), type);
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

    /// What is larger than a binding may be takes several. CUSTOM kernels know nothing of this.
    void add_binding(Dispatch& dispatch, Binding whole) const {
        const std::uint64_t size = whole.place.size;
        const std::uint32_t parts = whole.path == ReadPath::texels || dispatch.spirv ? 1 : binding_count(size, device_);
        for (std::uint32_t p = 0; parts > 1 && p < parts; ++p) {
            Binding part = whole;
            part.place.offset += p * part_bytes(device_);
            part.place.size = std::min(part_bytes(device_), size - p * part_bytes(device_));
            part.label += fmt::format(", part {} of {}", p + 1, parts);
            dispatch.bindings.push_back(std::move(part));
        }
        if (parts == 1) dispatch.bindings.push_back(std::move(whole));
    }

    void bind() {
        for (std::size_t d = 0; d < plan_.dispatches.size(); ++d) {
            Dispatch& dispatch = plan_.dispatches[d];
            if (dispatch.is_copy()) {
                bind_variable(dispatch);
                continue;
            }
            for (const KernelOperand& operand : reads_[d]) {
                if (operand.scratch >= 0) {
                    add_binding(dispatch, {scratch_[static_cast<std::size_t>(operand.scratch)].place, operand.type, false, "scratch", operand.path});
                    continue;
                }
                const bool is_packed = operand.value == no_id;
                Binding binding{is_packed ? add_constant(operand.packed, operand.type) : place_of(operand.value),
                                operand.type, false,
                                is_packed ? operand.packed_from : graph_.value(operand.value).name,
                                operand.path};
                add_binding(dispatch, std::move(binding));
            }
            for (const ValueId id : dispatch.written) {
                add_binding(dispatch, {place_of(id), graph_.value(id).type, true, graph_.value(id).name, {}});
            }
            if (scratch_written_[d] >= 0) {
                const Scratch& scratch = scratch_[static_cast<std::size_t>(scratch_written_[d])];
                add_binding(dispatch, {scratch.place, scratch.type, true, "scratch", {}});
            }
            check_bindings(dispatch);
            if (!dispatch.spirv && dispatch.bindings.size() != binding_counts_[d]) {
                throw Error(ErrorCode::internal, fmt::format("{}: its shader has {} buffers, its plan {}", dispatch.label, binding_counts_[d],
                                                             dispatch.bindings.size()));
            }
            for (const Binding& binding : dispatch.bindings) dispatch.bytes += static_cast<double>(binding.place.size);
        }
        for (std::size_t c = 0; c < plan_.controls.size(); ++c) bind_control(plan_.controls[c], control_memory_[c]);
        if (!parent_) return;
        for (const ValueId id : graph_.outputs) place_of(id);  // a region's output may be a constant
    }

    void bind_variable(Dispatch& dispatch) {
        const Node& node = graph_.node(dispatch.nodes.front());
        const Variable& variable = *graph_.find_variable(node.attrs.variable);
        const Placement& place = plan_.variables[static_cast<std::size_t>(&variable - graph_.variables.data())];
        const bool reads = node.op == Op::variable_read;
        const ValueId id = reads ? node.outputs.front() : node.inputs.front();
        Binding state{place, variable.type, !reads, variable.name, {}};
        Binding value{place_of(id), graph_.value(id).type, reads, graph_.value(id).name, {}};
        dispatch.bindings = reads ? std::vector<Binding>{state, value} : std::vector<Binding>{value, state};
        dispatch.bytes = 2 * static_cast<double>(place.size);
    }

    void check_bindings(const Dispatch& dispatch) const {
        for (const Binding& binding : dispatch.bindings) {
            const bool is_buffer = binding.path == ReadPath::buffer;
            if (is_buffer && device_.max_binding_bytes != 0 && binding.place.size > device_.max_binding_bytes) {
                throw Error(ErrorCode::unsupported,
                            fmt::format("{} needs tensor '{}' of {} bytes in one binding, and the device allows {}", dispatch.label,
                                        binding.label, binding.place.size, device_.max_binding_bytes));
            }
        }
        if (dispatch.bindings.size() > device_.max_buffers) {
            throw Error(ErrorCode::unsupported, fmt::format("{} needs {} storage buffers (a tensor above {} bytes takes several), and the "
                                                            "device allows {}", dispatch.label, dispatch.bindings.size(),
                                                            device_.max_binding_bytes, device_.max_buffers));
        }
    }

    /// A barrier goes before a dispatch that reads what an earlier one wrote, or writes what an earlier one touched,
    /// since the last barrier.
    void find_hazards() {
        std::vector<const Binding*> open;
        auto control = plan_.controls.begin();
        for (Dispatch& dispatch : plan_.dispatches) {
            // What follows a control step is recorded apart and begins with a barrier of its own.
            for (; control != plan_.controls.end() && control->before == static_cast<std::size_t>(&dispatch - plan_.dispatches.data()); ++control) {
                open.clear();
            }
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

    /// Long stretches of dispatches are split, so that no submit runs into a watchdog. The host, which decides what runs
    /// between control steps, adds up the shares there.
    void find_submits() {
        double sum = 0;
        auto control = plan_.controls.begin();
        for (std::size_t d = 0; d < plan_.dispatches.size(); ++d) {
            for (; control != plan_.controls.end() && control->before == d; ++control) sum = 0;
            const double share = submit_share(plan_.dispatches[d], device_);
            plan_.dispatches[d].submit_before = sum > 0 && sum + share > 1;
            sum = plan_.dispatches[d].submit_before ? share : sum + share;
        }
    }

    const Graph& graph_;
    const DevicePlan& device_;
    const TuningTable* const tuning_;         ///< may be null
    TuningTable followed_;                    ///< of the outermost planner: those of all
    Planner* const parent_;
    std::int64_t step_ = 0;                   ///< dispatches and control steps so far
    std::vector<Interval> control_memory_;    ///< by control step: of its regions
    std::vector<std::int64_t> first_, last_;  ///< steps in which a value's memory is in use
    std::vector<std::vector<KernelOperand>> reads_;  ///< by dispatch
    std::vector<std::size_t> binding_counts_;        ///< by dispatch, as its shader has them
    struct Scratch {
        Interval interval;
        Placement place;
        DType type;  ///< of its elements
    };
    std::vector<Scratch> scratch_;
    std::size_t first_scratch_ = 0;               ///< of the kernel at hand
    std::vector<std::int64_t> scratch_written_;   ///< by dispatch; -1: none
    Plan plan_;
};

}  // namespace

double submit_share(const Dispatch& dispatch, const DevicePlan& device) {
    return (device.submit_work > 0 ? dispatch.work / device.submit_work : 0) +
           (device.submit_bytes > 0 ? dispatch.bytes / device.submit_bytes : 0);
}

Plan make_plan(const Graph& graph, const DevicePlan& device, const PlanOptions& options, const TuningTable* tuning) {
    return Planner(rewritten(graph, device, options), device, options, options.tuned ? tuning : nullptr).run();
}

namespace {

const char* name_of(Space space) {
    switch (space) {
        case Space::arena: return "arena";
        case Space::constants: return "const";
        case Space::state: return "state";
        default: return "host";
    }
}

std::string print_copies(const std::string& indent, const char* what, const std::vector<Copy>& copies) {
    std::string text;
    for (const Copy& copy : copies) {
        text += fmt::format("{}  {} {}+{} -> {}+{}, {} bytes\n", indent, what, name_of(copy.from.space), copy.from.offset,
                            name_of(copy.to.space), copy.to.offset, std::min(copy.from.size, copy.to.size));
    }
    return text;
}

std::string print_control(const Graph& graph, const ControlStep& control, const std::string& indent);

std::string print_dispatches(const Graph& graph, const Plan& plan, const std::string& indent) {
    std::string text;
    auto control = plan.controls.begin();
    for (std::size_t d = 0; d <= plan.dispatches.size(); ++d) {
        for (; control != plan.controls.end() && control->before == d; ++control) text += print_control(graph, *control, indent);
        if (d == plan.dispatches.size()) break;
        const Dispatch& dispatch = plan.dispatches[d];
        if (dispatch.submit_before) text += indent + "  submit\n";
        if (dispatch.barrier_before) text += indent + "  barrier\n";
        text += fmt::format("{}  {:3} {} [{}] groups {}x{}x{}{}{}\n", indent, d, dispatch.label, dispatch.kernel, dispatch.groups[0],
                            dispatch.groups[1], dispatch.groups[2], dispatch.note.empty() ? "" : "; ", dispatch.note);
        for (const Binding& binding : dispatch.bindings) {
            text += fmt::format("{}        {} {} {} {}+{} '{}'\n", indent, binding.written ? "out" : "in ", tosavk::name_of(binding.type),
                                name_of(binding.place.space), binding.place.offset, binding.place.size, binding.label);
        }
    }
    return text;
}

std::string print_control(const Graph& graph, const ControlStep& control, const std::string& indent) {
    const Node& node = graph.node(control.node);
    std::string text = fmt::format("{}  {} '{}'\n", indent, tosavk::name_of(node.op), node.name);
    text += print_copies(indent, "prepare", control.prepare);
    const std::string inner = indent + "    ";
    for (std::size_t r = 0; r < control.regions.size(); ++r) {
        text += fmt::format("{}  {}:\n", indent, control.is_loop ? (r == 0 ? "condition" : "body") : (r == 0 ? "then" : "else"));
        text += print_copies(inner, "enter", control.regions[r].enter);
        text += print_dispatches(*node.regions[r], control.regions[r].plan, inner);
        text += print_copies(inner, "leave", control.regions[r].leave);
    }
    return text;
}

}  // namespace

std::string print_plan(const Graph& graph, const Plan& plan) {
    std::string text = fmt::format("plan: {} dispatches, arena {} bytes (lower bound {}), constants {} bytes{}{}\n",
                                   plan.dispatches.size(), plan.arena_bytes, plan.peak_lower_bound, plan.constants.size(),
                                   plan.options.fuse ? "" : ", fusion off", plan.options.keep_all ? ", all values kept" : "");
    for (std::size_t v = 0; v < plan.variables.size(); ++v) {
        text += fmt::format("  variable '{}' state {}+{}\n", graph.variables[v].name, plan.variables[v].offset, plan.variables[v].size);
    }
    text += print_dispatches(graph, plan, "");
    for (const ValueId id : graph.outputs) {
        const Placement& place = plan.placements.at(id);
        text += fmt::format("  output '{}' {} {}+{}\n", graph.value(id).name,
                            place.space == Space::arena ? "arena" : place.space == Space::constants ? "const" : "host",
                            place.offset, place.size);
    }
    return text;
}

}  // namespace tosavk

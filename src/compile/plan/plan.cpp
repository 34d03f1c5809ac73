#include "compile/plan/planner.hpp"

#include "base/progress.hpp"
#include "compile/codegen/dialect.hpp"
#include "compile/group/fuse.hpp"
#include "compile/plan/tuning.hpp"
#include "compile/rewrite/simplify.hpp"
#include "kernels/common/tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tosavk {

namespace {

std::string label_of(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::string label;
    for (const NodeId id : nodes) label += (label.empty() ? "" : "+") + std::string(name_of(graph.node(id).op));
    return label;
}

/// Bytes of the CONCATs that the group writes a part of, less those parts.
double written_by_others(const Graph& graph, const Group& group) {
    std::map<ValueId, double> left;
    for (const Group::Store& part : group.stores) {
        const Node& concat = graph.node(part.node);
        const ValueId whole = concat.outputs.front();
        const auto found = left.emplace(whole, static_cast<double>(value_bytes(graph, whole))).first;
        found->second -= static_cast<double>(value_bytes(graph, concat.inputs.at(part.input)));
    }
    double bytes = 0;
    for (const auto& [whole, rest] : left) bytes += std::max(rest, 0.0);
    return bytes;
}

/// Names a dispatch by its nodes, then lets it compute what this pass of the group's kernel does not read. The anchor
/// stays the first of the nodes: it says what kind of work the dispatch is.
void add_prologues(Dispatch& dispatch, const Graph& graph, const Group& group, const KernelPass* pass) {
    dispatch.label = label_of(graph, dispatch.nodes);
    std::vector<NodeId> made = pass ? group.absorbed : std::vector<NodeId>();
    if (!pass) {
        for (const Group::Prologue& prologue : group.prologues) {
            made.insert(made.end(), prologue.members.begin(), prologue.members.end());
            dispatch.work += static_cast<double>(element_count(graph.value(prologue.value).shape)) *
                             static_cast<double>(prologue.members.size());
        }
    }
    for (const KernelOperand& operand : pass ? pass->operands : std::vector<KernelOperand>()) {
        const Group::Prologue* prologue = prologue_of(graph, group, operand);
        if (!prologue) continue;
        made.insert(made.end(), prologue->members.begin(), prologue->members.end());
        dispatch.work += operand.reads * static_cast<double>(element_count(graph.value(prologue->value).shape)) *
                         static_cast<double>(prologue->members.size());
    }
    if (made.empty()) return;
    dispatch.label = label_of(graph, made) + "+" + dispatch.label;
    dispatch.nodes.insert(dispatch.nodes.end(), made.begin(), made.end());
}

void set_workgroups(Dispatch& dispatch, const KernelPass& pass) {
    dispatch.groups = pass.groups;
    dispatch.invocations = pass.invocations;
    dispatch.subgroup_size = pass.subgroup_size;
}

}  // namespace

Planner::Planner(const Graph& graph, const DevicePlan& device, const PlanOptions& options, const TuningTable* tuning,
                 Planner* parent, Part part)
    : graph_(graph),
      device_(device),
      tuning_(tuning),
      parent_(parent),
      part_(part),
      homes_(find_homes(graph, device, options)),
      first_(graph.values.size(), never),
      last_(graph.values.size(), -1) {
    plan_.options = options;
    plan_.placements.resize(graph.values.size());
    place_variables();
}

Plan Planner::run(std::size_t values) {
    std::vector<Group> groups = fuse(graph_, device_, plan_.options);
    if (tuning_) outermost().followed_.choices.merge(apply_tuning(graph_, device_, *tuning_, groups).choices);
    for (const Group& group : groups) {
        turn_of_loop();
        if (group.kind == Group::Kind::structural) {
            add_structural(group.anchor);
            continue;
        }
        if (group.kind == Group::Kind::kernel) add_earlier_passes(group);
        add_dispatch(group);
    }
    place_arena();
    bind();
    find_hazards();
    find_submits();
    if (!followed_.choices.empty()) plan_.tuning = write_tuning(followed_);
    plan_.placements.resize(values);
    return std::move(plan_);
}

void Planner::add_dispatch(const Group& group) {
    GroupSource source = build_source(graph_, group, device_, plan_.options.late_sizes);
    Dispatch dispatch;
    dispatch.glsl = std::move(source.glsl);
    dispatch.constants = std::move(source.constants);
    dispatch.pushed = std::move(source.pushed);
    const Group::Kind kind = group.kind;
    dispatch.kernel = kind == Group::Kind::kernel ? group.choice->kernel
                    : kind == Group::Kind::rows   ? "rows"
                    : kind == Group::Kind::copy   ? "copy"
                                                  : "elementwise";
    if (group.anchor != no_id) dispatch.nodes.push_back(group.anchor);
    dispatch.nodes.insert(dispatch.nodes.end(), group.members.begin(), group.members.end());
    for (const Group::Store& part : group.stores) {
        if (std::find(dispatch.nodes.begin(), dispatch.nodes.end(), part.node) == dispatch.nodes.end())
            dispatch.nodes.push_back(part.node);
    }
    add_prologues(dispatch, graph_, group, group.choice ? &*group.choice : nullptr);
    const double work = static_cast<double>(element_count(group.space)) * static_cast<double>(group.members.size());
    dispatch.work += work;
    if (kind == Group::Kind::kernel) {
        dispatch.work += group.choice->work;
        set_workgroups(dispatch, *group.choice);
        dispatch.note = group.choice->note;
    } else if (kind == Group::Kind::rows) {
        const Rows& rows = *group.rows;
        const std::int64_t pieces = rows.are_columns() ? rows.column_quads() : rows.count;
        const std::int64_t size = std::max<std::int64_t>(rows.lanes, device_.workgroup_size);
        dispatch.groups = spill_groups(quotient_up(pieces, size / rows.lanes * rows.in_turn), device_);
        dispatch.subgroup_size = rows.are_columns() ? 0 : device_.folds_of(rows.lanes);
        if (dispatch.subgroup_size != 0 || size > device_.workgroup_size)
            dispatch.invocations = static_cast<std::uint32_t>(size);
        dispatch.work = work * static_cast<double>(rows.axis);
        dispatch.note =
            fmt::format("{} {} of {}, {} lanes each{}", rows.count, rows.are_columns() ? "columns" : "rows", rows.axis,
                        rows.lanes, rows.in_turn > 1 ? fmt::format(", {} in turn", rows.in_turn) : "");
    } else {
        dispatch.groups = linear_groups(source.invocations, device_);
    }
    dispatch.written = source.writes;
    dispatch.bytes = -written_by_others(graph_, group);  // what it binds is added where it is bound
    add(std::move(dispatch), std::move(source.reads), -1, source.bindings);
}

void Planner::add_earlier_passes(const Group& group) {
    const KernelChoice& choice = *group.choice;
    first_scratch_ = scratch_.size();
    for (const std::uint64_t bytes : choice.scratch_bytes) {
        scratch_.push_back({{step_, step_, padded(bytes)}, {}, DType::fp32});
    }
    for (const KernelPass& pass : choice.earlier) {
        GroupSource source = build_pass_source(graph_, group, pass, device_, plan_.options.late_sizes);
        Dispatch dispatch;
        dispatch.kernel = pass.kernel;
        dispatch.glsl = std::move(source.glsl);
        dispatch.constants = std::move(source.constants);
        dispatch.pushed = std::move(source.pushed);
        set_workgroups(dispatch, pass);
        dispatch.nodes = {group.anchor};
        dispatch.work = pass.work;
        add_prologues(dispatch, graph_, group, &pass);
        const std::size_t written = first_scratch_ + static_cast<std::size_t>(pass.writes);
        scratch_[written].type = pass.writes_type;
        add(std::move(dispatch), std::move(source.reads), static_cast<std::int64_t>(written), source.bindings);
    }
}

void Planner::check_size(const Dispatch& dispatch, ValueId id) const {
    if (id == no_id || element_count(graph_.value(id).shape) <= max_elements) return;
    throw Error(ErrorCode::unsupported,
                fmt::format("{} has tensor '{}' of {} elements, and shaders count up to {}", dispatch.label,
                            graph_.value(id).name, element_count(graph_.value(id).shape), max_elements));
}

void Planner::add(Dispatch dispatch, std::vector<KernelOperand> reads, std::int64_t scratch_written,
                  std::size_t bindings) {
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

bool is_recordable(const Plan& plan) {
    return std::all_of(plan.controls.begin(), plan.controls.end(), [](const ControlStep& control) {
        return control.turns >= 0 && std::all_of(control.regions.begin(), control.regions.end(),
                                                 [](const RegionPlan& region) { return is_recordable(region.plan); });
    });
}

std::uint64_t stretches(const Plan& plan) {
    constexpr std::uint64_t many = std::uint64_t{1} << 40;
    std::uint64_t sum = 1 + plan.controls.size();
    for (const ControlStep& control : plan.controls) {
        const auto turns = static_cast<std::uint64_t>(std::max({control.turns, control.most, std::int64_t{1}}));
        for (const RegionPlan& region : control.regions) {
            if (control.turns >= 0 && &region != &control.regions[1]) continue;  // nobody asks, and each is a turn
            const std::uint64_t once = stretches(region.plan);
            sum = once > many / turns ? many : std::min(many, sum + once * turns);
        }
    }
    return std::min(many, sum);
}

DevicePlan device_for(const Graph& graph, DevicePlan device) {
    device.fast_fp16 = graph.fast_fp16 && device.has_fp16;
    return device;
}

Plan make_plan(const Graph& graph, const DevicePlan& given, const PlanOptions& options, const TuningTable* tuning,
               SizeChoices* sizes) {
    DevicePlan device = device_for(graph, given);
    device.sizes = sizes;
    return Planner(rewritten(graph, device, options), device, options, options.tuned ? tuning : nullptr)
        .run(graph.values.size());
}

}  // namespace tosavk

// Checks a plan against the device, builds its pipelines and uploads its constants.
#include "compile/plan/externals.hpp"
#include "vk/record/executable_state.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>

namespace tosavk {

namespace {

[[noreturn]] void bad_plan(const std::string& what) {
    throw Error(ErrorCode::internal, "the plan cannot be carried out: " + what);
}

bool overlap(const Placement& a, const Placement& b) {
    return a.space == b.space && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

/// `bytes` of `place` must lie inside its space.
void check_place(const Plan& plan, const Placement& place, const std::string& what) {
    const std::uint64_t space = place.space == Space::arena     ? plan.arena_bytes
                              : place.space == Space::constants ? plan.constants.size()
                              : place.space == Space::state     ? plan.state_bytes
                              : place.space == Space::external  ? plan.external_bytes
                                                                : 4 * std::uint64_t{plan.decisions};
    if (place.offset > space || place.size > space - place.offset) {
        bad_plan(
            fmt::format("{} lies at {}+{}, past the {} bytes of its space", what, place.offset, place.size, space));
    }
    if (place.space == Space::external && slot_of(plan, place) == no_slot)
        bad_plan(fmt::format("{} lies at {}+{}, in no slot", what, place.offset, place.size));
}

/// One after another, none within another.
void check_slots(const Plan& plan) {
    std::uint64_t end = 0;
    for (const Placement& slot : plan.externals) {
        if (slot.space != Space::external || slot.size == 0 || slot.offset < end || slot.offset > plan.external_bytes ||
            slot.size > plan.external_bytes - slot.offset)
            bad_plan("a slot for inputs and outputs has no place of its own");
        end = slot.offset + slot.size;
    }
}

void check_copy(const Plan& plan, const Placement& from, const Placement& to, const std::string& what) {
    check_place(plan, from, what);
    check_place(plan, to, what);
    if (from.space == Space::none || to.space == Space::none || to.space == Space::constants ||
        std::min(from.size, to.size) == 0 || overlap(from, to)) {
        bad_plan(what + " copies from or to a wrong place");
    }
}

/// The device takes the numbers of workgroups from the table that the gate copies.
void check_gate(const Plan& plan, const ControlStep& control, const DevicePlan& device) {
    const std::vector<Dispatch>&body = control.regions[1].plan.dispatches, &gate = control.regions[2].plan.dispatches;
    if (gate.size() != 1 || gate.front().bindings.size() != 3 || !control.regions[2].enter.empty() ||
        !control.regions[2].leave.empty())
        bad_plan("a loop has no gate");
    for (const RegionPlan& region : control.regions)
        if (!region.plan.controls.empty()) bad_plan("a loop with a gate has decisions within it");
    const std::size_t numbers = 3 * body.size();
    const auto& groups = gate.front().groups;
    const std::uint64_t invocations = std::uint64_t{groups[0]} * groups[1] * groups[2] * device.workgroup_size;
    if (gate.front().constants.size() != 1 || static_cast<std::uint32_t>(gate.front().constants[0]) != numbers ||
        invocations < numbers)
        bad_plan("a gate makes too few numbers");
    const Placement &table = gate.front().bindings[1].place, &arguments = gate.front().bindings[2].place;
    if (table.space != Space::constants || arguments.space != Space::arena) bad_plan("a gate lacks a part");
    check_place(plan, table, "the table of a gate");
    check_place(plan, arguments, "what a gate makes");
    // Between the gate and the body's end they are nobody else's.
    const auto written = [&](const Placement& place) {
        if (place.space == arguments.space && place.offset < arguments.offset + arguments.size &&
            arguments.offset < place.offset + place.size)
            bad_plan("a loop writes what its gate has made");
    };
    for (const Copy& copy : control.regions[1].enter) written(copy.to);
    for (std::size_t d = 0; d < body.size(); ++d) {
        std::array<std::uint32_t, 3> planned{};
        const std::uint64_t at = d * sizeof planned;
        if (at + sizeof planned > table.size || at + sizeof planned > arguments.size ||
            body[d].arguments.space != Space::arena || body[d].arguments.offset != arguments.offset + at)
            bad_plan("a gate is for another loop");
        plan.constants.read(table.offset + at, std::as_writable_bytes(std::span(planned)));
        if (planned != body[d].groups) bad_plan("a gate has other numbers of workgroups than its loop");
        for (const Binding& binding : body[d].bindings) written(binding.place);
    }
}

/// Where the host decides about a gated loop, the condition's answer goes to where it looks; else nobody looks.
bool is_answered(const ControlStep& control) {
    if (control.alternates()) return true;  // copies like any other
    if (!control.is_gated() || !control.is_decided()) return control.answer.empty();
    const Placement& place = control.condition;
    if (control.answer.size() != 1) return false;
    const Placement& to = control.answer.front().to;
    return to.space == place.space && to.offset == place.offset && to.size == place.size;
}

void check_control(const Plan& plan, const ControlStep& control, const DevicePlan& device) {
    const auto check = [&](const std::vector<Copy>& copies) {
        for (const Copy& copy : copies) check_copy(plan, copy.from, copy.to, "a control step");
    };
    const std::size_t regions = control.is_gated() || control.alternates() ? 3 : 2;
    if (control.regions.size() != regions || (regions == 3 && !control.is_loop) ||
        (control.is_decided() && control.condition.space != Space::host) || !is_answered(control))
        bad_plan("a control step lacks a part");
    if (control.is_decided()) check_place(plan, control.condition, "a condition");
    check(control.prepare);
    check(control.answer);
    if (control.is_gated()) check_gate(plan, control, device);
    for (const RegionPlan& region : control.regions) {
        check(region.enter);
        check(region.leave);
        for (const ControlStep& inner : region.plan.controls) check_control(plan, inner, device);
    }
}

std::size_t gated_dispatches(const Plan& plan) {
    std::size_t count = 0;
    for (const ControlStep& control : plan.controls) {
        if (control.is_gated()) count += control.regions[1].plan.dispatches.size();
        for (const RegionPlan& region : control.regions) count += gated_dispatches(region.plan);
    }
    return count;
}

void check_dispatch(const Graph& graph, const Plan& plan, const Dispatch& dispatch, const DeviceCaps& caps,
                    const DevicePlan& device) {
    if (dispatch.is_copy()) {
        if (dispatch.bindings.size() != 2) bad_plan(dispatch.label + " is a copy without two places");
        return check_copy(plan, dispatch.bindings[0].place, dispatch.bindings[1].place, dispatch.label);
    }
    // Every device takes 65535 workgroups in z.
    const std::uint32_t max_groups[3] = {std::min(device.max_groups_x, caps.max_workgroup_count_x),
                                         caps.max_workgroup_count_y, 65535};
    for (std::size_t i = 0; i < 3; ++i) {
        if (dispatch.groups[i] == 0 || dispatch.groups[i] > max_groups[i]) {
            bad_plan(fmt::format("{} has {} workgroups in dimension {}, allowed are 1 to {}", dispatch.label,
                                 dispatch.groups[i], i, max_groups[i]));
        }
    }
    if (dispatch.invocations > std::min(caps.max_workgroup_invocations, caps.max_workgroup_size_x)) {
        bad_plan(fmt::format("{} has workgroups of {} invocations, allowed are {}", dispatch.label,
                             dispatch.invocations,
                             std::min(caps.max_workgroup_invocations, caps.max_workgroup_size_x)));
    }
    if (dispatch.bindings.empty() || dispatch.bindings.size() > device.max_buffers) {
        bad_plan(fmt::format("{} has {} buffers, allowed are 1 to {}", dispatch.label, dispatch.bindings.size(),
                             device.max_buffers));
    }
    for (const Binding& binding : dispatch.bindings) {
        const std::string what = fmt::format("buffer '{}' of {}", binding.label, dispatch.label);
        if (binding.place.space == Space::none || binding.place.size == 0) {
            bad_plan(what + " has no memory");
        }
        check_place(plan, binding.place, what);
        const bool texels = is_texels(binding.path);
        if (!texels && binding.place.size > device.max_binding_bytes) {
            bad_plan(fmt::format("{} has {} bytes, and the device binds at most {}", what, binding.place.size,
                                 device.max_binding_bytes));
        }
        if (binding.place.offset % caps.min_storage_buffer_offset_alignment != 0) {
            bad_plan(fmt::format("{} starts at {}, not a multiple of {}", what, binding.place.offset,
                                 caps.min_storage_buffer_offset_alignment));
        }
        if (texels && (binding.written ||
                       binding.place.size / texel_bytes(binding.type, binding.path) > caps.max_texel_buffer_elements)) {
            bad_plan(fmt::format("{} is no texel buffer of this device: it is written or larger than {} texels", what,
                                 caps.max_texel_buffer_elements));
        }
        if (!binding.written) {
            continue;
        }
        if (binding.place.space == Space::constants) {
            bad_plan(what + " is written, but constants are read only");
        }
        for (const ValueId input : graph.inputs) {  // an input stays set from run to run
            if (overlap(binding.place, plan.placements[input])) {
                bad_plan(fmt::format("{} overwrites the graph input '{}'", what, graph.value(input).name));
            }
        }
    }
}

void check_plan(const Graph& graph, const Plan& plan, const DeviceCaps& caps, const DevicePlan& device) {
    if (plan.placements.size() != graph.values.size()) {
        bad_plan("it has a placement count that differs from the graph's value count");
    }
    check_slots(plan);
    for (ValueId id = 0; id < graph.values.size(); ++id) {
        const Placement& place = plan.placements[id];
        const Value& value = graph.value(id);
        if (has_no_elements(value.shape) && place.size != 0)
            bad_plan(fmt::format("value '{}' has no elements, but {} bytes of memory", value.name, place.size));
        if (place.space == Space::none) continue;
        check_place(plan, place, fmt::format("value '{}'", value.name));
        if (place.size < static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type)) {
            bad_plan(fmt::format("value '{}' does not fit into {} bytes", value.name, place.size));
        }
    }
    if (plan.variables.size() != graph.variables.size()) bad_plan("it has a place too many or too few for variables");
    for (std::size_t v = 0; v < graph.variables.size(); ++v) {
        const Variable& variable = graph.variables[v];
        const Placement& place = plan.variables[v];
        check_place(plan, place, fmt::format("variable '{}'", variable.name));
        const std::uint64_t bytes = static_cast<std::uint64_t>(element_count(variable.shape)) * size_of(variable.type);
        if (place.space != Space::state || place.size < bytes)
            bad_plan(fmt::format("variable '{}' does not fit into {} bytes", variable.name, place.size));
    }
    for (const ValueId input : graph.inputs) {
        const Space space = plan.placements.at(input).space;
        if (space != Space::arena && space != Space::external && !has_no_elements(graph.value(input).shape)) {
            bad_plan(fmt::format("the graph input '{}' has no memory", graph.value(input).name));
        }
    }
    for_each_dispatch(plan, [&](const Dispatch& dispatch) { check_dispatch(graph, plan, dispatch, caps, device); });
    for (const ControlStep& control : plan.controls) {
        check_control(plan, control, device);
    }
    std::size_t gated = 0;
    for_each_dispatch(plan, [&](const Dispatch& d) { gated += d.arguments.space != Space::none ? 1 : 0; });
    if (gated != gated_dispatches(plan)) bad_plan("a dispatch takes arguments that nothing makes");
}

}  // namespace

std::shared_ptr<Executable> Executable::create(std::shared_ptr<Device> device, std::shared_ptr<const Graph> graph,
                                               Plan plan) {
    Progress nobody;
    return create(std::move(device), std::move(graph), std::move(plan), nobody);
}

std::shared_ptr<Executable> Executable::create(std::shared_ptr<Device> device, std::shared_ptr<const Graph> graph,
                                               Plan plan, Progress& progress, SharedConstants* shared) {
    check_plan(*graph, plan, device->caps(), device->plan());
    auto state = std::make_unique<ExecutableState>();
    state->device = std::move(device);
    state->graph = std::move(graph);
    state->plan = std::move(plan);
    DeviceState& target = state->device->state();

    std::vector<const Dispatch*> dispatches;
    for_each_dispatch(
        state->plan, [&](const Dispatch& dispatch) { dispatches.push_back(dispatch.is_copy() ? nullptr : &dispatch); });
    PipelineCounters made;
    state->pipelines = target.pipelines.get(dispatches, target.plan, made, progress);
    state->counters.pipelines_created = made.pipelines;
    state->counters.shaders_compiled = made.shaders_compiled;
    state->counters.shaders_loaded = made.shaders_loaded;
    target.pipelines.save_if_worthwhile();
    if (target.compile_only) {
        // Its constants would never be read.
    } else if (shared && !state->plan.constants.empty()) {
        SharedConstants::Placed placed = shared->place(target, state->plan.constants);
        state->pieces = std::move(placed.pieces);
        state->counters.allocations = placed.allocations;
        state->counters.weight_bytes_copied = placed.bytes_copied;
    } else if (!state->plan.constants.empty()) {
        const MemoryUse use = target.plan.map_in_place ? MemoryUse::shared : MemoryUse::device;
        state->constants = Buffer(target, state->plan.constants.size(), use, "the buffer of the constants");
        upload_constants(target, state->constants, state->plan.constants);
        state->counters.allocations = 1;
        state->counters.weight_bytes_copied = state->plan.constants.size();
    }
    return std::make_shared<Executable>(std::move(state));
}

Executable::Executable(std::unique_ptr<ExecutableState> state) : state_(std::move(state)) {}

Executable::~Executable() = default;

const Graph& Executable::graph() const { return *state_->graph; }

const Plan& Executable::plan() const { return state_->plan; }

Device& Executable::device() const { return *state_->device; }
std::shared_ptr<const Graph> Executable::shared_graph() const { return state_->graph; }
std::shared_ptr<Device> Executable::shared_device() const { return state_->device; }

ExecutableCounters Executable::counters() const { return state_->counters; }

std::vector<MadePipeline> Executable::pipelines() const {
    std::map<const Pipeline*, std::size_t> numbers;
    std::vector<MadePipeline> made;
    for (const std::shared_ptr<const Pipeline>& pipeline : state_->pipelines) {
        if (pipeline)
            made.push_back({numbers.emplace(pipeline.get(), numbers.size()).first->second, pipeline->report.get()});
        else made.push_back({no_id, nullptr});
    }
    return made;
}

}  // namespace tosavk

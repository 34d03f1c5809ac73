// Control flow, variables and CUSTOM: what the planner finds no kernel of ours for.
#include "compile/plan/planner.hpp"

#include "compile/group/fuse.hpp"
#include "compile/plan/externals.hpp"
#include "compile/rewrite/simplify.hpp"
#include "ops/custom.hpp"
#include "ops/storage.hpp"
#include "ops/trips.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tosavk {
namespace {

/// Moves what lies in the region's own spaces to its place in those of the enclosing plan.
struct Shift {
    std::uint64_t arena, constants;
    const Plan& whose;              ///< slots these are
    std::vector<Placement> handed;  ///< by slot: where what it holds lies in the enclosing plan

    void operator()(Placement& place) const {
        if (place.space == Space::arena) place.offset += arena;
        if (place.space == Space::constants) place.offset += constants;
        if (place.space != Space::external) return;
        const std::size_t slot = slot_of(whose, place);
        place.space = handed[slot].space;
        place.offset += handed[slot].offset - whose.externals[slot].offset;
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
            for (RegionPlan& region : control.regions)
                (*this)(region.enter), (*this)(region.leave), (*this)(region.plan);
        }
    }
};

/// What a loop's body makes of its input number `k`, where it is that input with a window replaced and nothing else
/// reads either: the node that does it.
NodeId update_of(const Graph& body, std::size_t k) {
    const ValueId input = body.inputs[k], result = storage_of(body, body.outputs[k]);
    const NodeId id = body.value(result).producer;
    if (id == no_id || body.node(id).op != Op::dynamic_update_slice) return no_id;
    if (storage_of(body, body.node(id).inputs.front()) != input) return no_id;
    for (NodeId n = 0; n < body.nodes.size(); ++n) {
        const Node& node = body.node(n);
        if (node.op == Op::unknown) continue;  // taken out
        const bool is_view = op_def(node.op).view && storage_of(body, node.outputs.front()) != node.outputs.front();
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId owner = storage_of(body, node.inputs[i]);
            if (!is_view && !(n == id && i == 0) && (owner == input || owner == result)) return no_id;
        }
    }
    for (std::size_t j = 0; j < body.outputs.size(); ++j) {
        const ValueId owner = storage_of(body, body.outputs[j]);
        if (j != k && (owner == input || owner == result)) return no_id;
    }
    return id;
}

void update_in_place(Graph& body, const PlanOptions& options) {
    for (std::size_t k = 0; options.fuse && options.alias_lists && k < body.outputs.size(); ++k) {
        const NodeId update = update_of(body, k);
        if (update != no_id) body.nodes[update].attrs.in_place = true;
    }
}

}  // namespace

void Planner::place_variables() {
    for (const Variable& v : graph_.variables) {
        if (parent_) {
            const auto& outer = parent_->graph_.variables;
            const auto same =
                std::find_if(outer.begin(), outer.end(), [&](const Variable& o) { return o.name == v.name; });
            plan_.variables.push_back(parent_->plan_.variables.at(static_cast<std::size_t>(same - outer.begin())));
            continue;
        }
        const std::uint64_t size = padded(static_cast<std::uint64_t>(element_count(v.shape)) * size_of(v.type));
        plan_.variables.push_back({Space::state, plan_.state_bytes, size});
        plan_.state_bytes +=
            (size + device_.buffer_alignment - 1) / device_.buffer_alignment * device_.buffer_alignment;
    }
}

void Planner::add_structural(NodeId id) {
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

void Planner::add_custom(const NodeView& view, Dispatch& dispatch) const {
    const auto op = custom_of(view);
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: operator '{}' of domain '{}' {}", view.title(), op->name, op->domain, what),
                    view.node().name);
    };
    if (op->spirv.empty()) refuse("has no kernel");
    CustomDispatch wanted = op->dispatch(view);
    for (std::size_t k = 0; k < 3; ++k) {
        const std::uint32_t most = k == 0 ? device_.max_groups_x : 65535;
        if (wanted.groups[k] == 0 || wanted.groups[k] > most) {
            refuse(
                fmt::format("asks for {} workgroups in dimension {}, allowed are 1 to {}", wanted.groups[k], k, most));
        }
    }
    dispatch.kernel = fmt::format("{}/{}", op->domain, op->name);
    dispatch.spirv = std::shared_ptr<const std::vector<std::uint32_t>>(op, &op->spirv);
    dispatch.groups = wanted.groups;
    dispatch.constants = std::move(wanted.constants);
}

void Planner::add_control(NodeId id) {
    ControlStep control;
    control.node = id;
    control.is_loop = graph_.node(id).op == Op::while_loop;
    control.before = plan_.dispatches.size();
    PlanOptions options = plan_.options;
    if (control.is_loop && options.count_turns) control.turns = trip_count(graph_, id).value_or(-1);
    if (control.is_decided()) control.condition = {Space::host, 4 * std::uint64_t{outermost().plan_.decisions++}, 4};
    options.keep_all = false;
    std::uint64_t bytes = 0;
    for (const auto& graph : graph_.node(id).regions) {
        const bool is_body = control.is_loop && !control.regions.empty();
        Plan& plan = control.regions.emplace_back().plan;
        if (!control.is_decided() && !is_body) continue;  // nobody asks
        Graph region = rewritten(*graph, device_, options);
        if (is_body) update_in_place(region, options);
        plan = Planner(region, device_, options, tuning_, this, is_body).run(graph->values.size());
        // The regions of one step never hold values at the same time.
        bytes = std::max(bytes, control.regions.back().plan.arena_bytes);
    }
    control_memory_.push_back({step_, step_, bytes});
    plan_.controls.push_back(std::move(control));
}

void Planner::bind_control(ControlStep& control, const Interval& memory) {
    const Node& node = graph_.node(control.node);
    const auto places = [&](const std::vector<ValueId>& ids) {
        std::vector<Placement> all;
        for (const ValueId id : ids) all.push_back(place_of(id));
        return all;
    };
    std::vector<Placement> inputs = places(node.inputs);
    const std::vector<Placement> outputs = places(node.outputs);
    if (control.is_loop) {
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            if (homes_[node.outputs[k]].owner != homes_[node.inputs[k]].owner)
                control.prepare.push_back({inputs[k], outputs[k]});
        }
        inputs = outputs;
    } else {
        control.prepare = {{inputs.front(), control.condition}};
        inputs.erase(inputs.begin());
    }
    for (std::size_t r = 0; r < control.regions.size(); ++r) {
        RegionPlan& region = control.regions[r];
        const Graph& graph = *node.regions[r];
        const bool asks = control.is_loop && r == 0;
        if (asks && !control.is_decided()) continue;
        const std::uint64_t constants = align(plan_.constants.size());
        Shift shift{memory.offset, constants, region.plan, std::vector<Placement>(region.plan.externals.size())};
        std::vector<std::size_t> copied;
        for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
            const Placement& inner = region.plan.placements[graph.inputs[k]];
            if (inner.space == Space::external) shift.handed[slot_of(region.plan, inner)] = inputs[k];
            else if (inner.space != Space::none) copied.push_back(k);
        }
        // Nothing else ever lies in a slot: what a body leaves in that of its input was made there.
        std::vector<bool> stays(graph.outputs.size(), false);
        for (std::size_t k = 0; control.is_loop && !asks && k < stays.size(); ++k) {
            const Placement &from = region.plan.placements[graph.inputs[k]],
                            &to = region.plan.placements[graph.outputs[k]];
            stays[k] = from.space == Space::external && to.space == Space::external && from.offset == to.offset;
        }
        shift(region.plan);
        region.plan.externals.clear();
        region.plan.external_bytes = 0;
        plan_.constants.append(constants, std::exchange(region.plan.constants, {}));
        for (const std::size_t k : copied) region.enter.push_back({inputs[k], region.plan.placements[graph.inputs[k]]});
        for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
            const Placement& inner = region.plan.placements[graph.outputs[k]];
            // What a loop's body hands on unchanged lies in the output already. Equal places would not tell: an output
            // may lie where an input was that nothing reads any more.
            const bool unchanged = control.is_loop && !asks && is_invariant(node, k);
            if (!unchanged && !stays[k]) region.leave.push_back({inner, asks ? control.condition : outputs[k]});
        }
    }
}

void Planner::bind_variable(Dispatch& dispatch) {
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

}  // namespace tosavk

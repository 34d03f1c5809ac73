// Control flow, variables and CUSTOM: what the planner finds no kernel of ours for.
#include "compile/plan/planner.hpp"

#include "compile/group/fuse.hpp"
#include "compile/plan/externals.hpp"
#include "compile/rewrite/simplify.hpp"
#include "kernels/common/shader_text.hpp"
#include "ops/custom.hpp"
#include "ops/storage.hpp"
#include "ops/trips.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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
            (*this)(dispatch.arguments);
        }
        for (ControlStep& control : plan.controls) {
            (*this)(control.prepare), (*this)(control.answer);
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

/// Places of a body for every second turn: what `pairs` would copy after each lies at the other end instead.
struct Exchange {
    const std::vector<Copy>& pairs;
    std::uint64_t alignment;

    static bool overlap(const Placement& a, const Placement& b) {
        return a.space == b.space && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
    }
    static bool within(const Placement& part, const Placement& whole) {
        return part.space == whole.space && part.offset >= whole.offset &&
               part.offset + part.size <= whole.offset + whole.size;
    }
    void operator()(Placement& place) const {
        for (const Copy& pair : pairs) {
            const bool from = within(place, pair.from);
            if (!from && !within(place, pair.to)) continue;
            const Placement &here = from ? pair.from : pair.to, &there = from ? pair.to : pair.from;
            place.offset = place.offset - here.offset + there.offset;
            place.space = there.space;
            return;
        }
    }
    void operator()(RegionPlan& region) const {
        for (Copy& copy : region.enter) (*this)(copy.from), (*this)(copy.to);
        for (Dispatch& dispatch : region.plan.dispatches)
            for (Binding& binding : dispatch.bindings) (*this)(binding.place);
    }
    /// Whether the ends of each pair are alike and apart, and all else lies within one of them or beside them.
    bool is_possible(const RegionPlan& region) const {
        for (std::size_t k = 0; k < pairs.size(); ++k) {
            const Placement &from = pairs[k].from, &to = pairs[k].to;
            if (from.size != to.size || from.offset % alignment != 0 || to.offset % alignment != 0) return false;
            if (overlap(from, to)) return false;
            for (std::size_t j = 0; j < k; ++j)
                for (const Placement* end : {&from, &to})
                    if (overlap(*end, pairs[j].from) || overlap(*end, pairs[j].to)) return false;
        }
        const auto is_clear = [&](const Placement& place) {
            return std::all_of(pairs.begin(), pairs.end(), [&](const Copy& pair) {
                return (!overlap(place, pair.from) || within(place, pair.from)) &&
                       (!overlap(place, pair.to) || within(place, pair.to));
            });
        };
        for (const Copy& copy : region.enter)
            if (!is_clear(copy.from) || !is_clear(copy.to)) return false;
        for (const Dispatch& dispatch : region.plan.dispatches)
            for (const Binding& binding : dispatch.bindings)
                if (!is_clear(binding.place)) return false;
        return true;
    }
};

std::uint64_t argument_bytes(const ControlStep& control) {
    return padded(12 * std::max<std::uint64_t>(control.regions[1].plan.dispatches.size(), 1));
}

/// The results of a loop's body that lie in the memory of an input, a constant or an earlier result.
std::vector<std::size_t> results_elsewhere(const Graph& body, const DevicePlan& device, const PlanOptions& options) {
    const std::vector<Home> homes = find_homes(body, device, options);
    std::vector<bool> taken(body.values.size(), false);
    for (const ValueId input : body.inputs) taken[input] = true;
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < body.outputs.size(); ++k) {
        const ValueId owner = homes[body.outputs[k]].owner;
        if (owner == body.inputs[k]) continue;  // handed on, or updated in place
        if (has_no_elements(body.value(owner).shape)) continue;
        if (taken[owner] || body.value(owner).is_constant()) found.push_back(k);
        taken[owner] = true;
    }
    return found;
}

/// What a gated body leaves is copied over what it was handed after every turn, also after those that did not run. So
/// each of its results needs memory that nothing but a turn writes. None where such memory cannot be made.
std::optional<Graph> with_results_apart(Graph body, const DevicePlan& device, const PlanOptions& options) {
    for (const std::size_t k : results_elsewhere(body, device, options)) {
        Value copy = body.value(body.outputs[k]);
        Node node;
        node.op = Op::concat;  // of one
        node.name = copy.name + "/copied";
        node.inputs = {body.outputs[k]};
        const auto& rows = op_def(node.op).rows;
        const bool has_row =
            std::any_of(rows.begin(), rows.end(), [&](const TypeRow& row) { return row.types.front() == copy.type; });
        if (copy.shape.empty() || !has_row) return std::nullopt;
        copy.name = node.name;
        copy.data = {};
        copy.producer = static_cast<NodeId>(body.nodes.size());
        body.outputs[k] = static_cast<ValueId>(body.values.size());
        node.outputs = {body.outputs[k]};
        body.values.push_back(std::move(copy));
        body.nodes.push_back(std::move(node));
    }
    // One reader more may move what it reads.
    if (!results_elsewhere(body, device, options).empty()) return std::nullopt;
    return body;
}

/// The plan speaks of the graph as it was handed in: without the copies that were added.
void forget_added(Plan& plan, const Graph& original) {
    for (Dispatch& dispatch : plan.dispatches) {
        std::erase_if(dispatch.nodes, [&](NodeId id) { return id >= original.nodes.size(); });
        std::erase_if(dispatch.written, [&](ValueId id) { return id >= original.values.size(); });
    }
    plan.placements.resize(original.values.size());
}

/// Regions that are dispatches alone, which the device can leave out.
bool are_dispatches(const Node& loop) {
    return std::all_of(loop.regions.begin(), loop.regions.end(), [](const auto& graph) {
        return std::all_of(graph->nodes.begin(), graph->nodes.end(), [](const Node& node) {
            return node.regions.empty() && node.op != Op::variable_read && node.op != Op::variable_write;
        });
    });
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
    const Node& node = graph_.node(id);
    PlanOptions options = plan_.options;
    options.keep_all = false;
    if (control.is_loop && options.count_turns) control.turns = trip_count(graph_, id).value_or(-1);
    std::vector<Graph> regions;
    for (const auto& graph : node.regions) regions.push_back(rewritten(*graph, device_, options));
    if (control.is_loop) update_in_place(regions[1], options);
    std::optional<Graph> apart;
    constexpr std::int64_t few = 4;  // turns that are not worth a body more
    const bool wants = control.turns < 0 ? options.gate_turns : options.swap_turns && control.turns >= few;
    if (control.is_loop && wants && are_dispatches(node)) apart = with_results_apart(regions[1], device_, options);
    const bool gated = apart.has_value() && control.turns < 0;
    apart_.push_back(apart.has_value());
    if (apart) regions[1] = std::move(*apart);
    for (std::size_t r = 0; r < regions.size(); ++r) {
        Plan& plan = control.regions.emplace_back().plan;
        if (control.turns >= 0 && r == 0) continue;  // nobody asks
        const Part part = !control.is_loop || r == 0 ? Part::region : apart_.back() ? Part::body_apart : Part::body;
        plan = Planner(regions[r], device_, options, tuning_, this, part).run(regions[r].values.size());
        if (r == 1) {
            std::vector<Placement>& results = results_.emplace_back();
            for (const ValueId made : regions[r].outputs) results.push_back(plan.placements[made]);
        }
        forget_added(plan, *node.regions[r]);
    }
    if (gated) add_gate(control);
    if (control.is_decided()) control.condition = {Space::host, 4 * std::uint64_t{outermost().plan_.decisions++}, 4};
    control_memory_.push_back({step_, step_, region_bytes(control)});
    plan_.controls.push_back(std::move(control));
}

void Planner::add_gate(ControlStep& control) {
    control.most = trip_bound(graph_, control.node).value_or(-1);
    if (control.most > most_gated_turns) control.most = -1;
    const Plan& body = control.regions[1].plan;
    Dispatch gate;
    gate.label = name_of(Op::while_loop);
    gate.kernel = "gate";
    gate.glsl = standalone_source("gate", "");
    gate.nodes = {control.node};
    const auto numbers = 3 * static_cast<std::int64_t>(body.dispatches.size());
    gate.constants = {static_cast<std::int32_t>(numbers)};
    gate.groups = linear_groups(std::max<std::int64_t>(numbers, 1), device_);
    gate.bytes = 8.0 * static_cast<double>(numbers);
    control.regions.emplace_back().plan.dispatches.push_back(std::move(gate));
}

std::uint64_t Planner::region_bytes(const ControlStep& control) const {
    std::uint64_t most = 0;
    for (const RegionPlan& region : control.regions) most = std::max(most, region.plan.arena_bytes);
    return control.is_gated() ? arguments_at(control) + argument_bytes(control) : most;
}

std::uint64_t Planner::arguments_at(const ControlStep& control) const {
    return align(control.regions[0].plan.arena_bytes) + align(control.regions[1].plan.arena_bytes);
}

void Planner::bind_control(ControlStep& control, const Interval& memory) {
    const Node& node = graph_.node(control.node);
    const auto places = [&](const std::vector<ValueId>& ids) {
        std::vector<Placement> all;
        for (const ValueId id : ids) all.push_back(place_of(id));
        return all;
    };
    std::vector<Placement> inputs = places(node.inputs);
    const std::vector<Placement> outputs = places(node.outputs), begin = inputs;
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
    Placement answer;
    for (std::size_t r = 0; r < node.regions.size(); ++r) {
        RegionPlan& region = control.regions[r];
        const Graph& graph = *node.regions[r];
        const bool asks = control.is_loop && r == 0;
        if (asks && control.turns >= 0) continue;
        const std::uint64_t constants = align(plan_.constants.size());
        // The regions of one step never hold values at the same time, but those of a gated loop.
        const std::uint64_t apart = control.is_gated() && r == 1 ? align(control.regions[0].plan.arena_bytes) : 0;
        Shift shift{memory.offset + apart, constants, region.plan,
                    std::vector<Placement>(region.plan.externals.size())};
        std::vector<std::size_t> copied;
        for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
            const Placement& inner = region.plan.placements[graph.inputs[k]];
            if (inner.space == Space::external) shift.handed[slot_of(region.plan, inner)] = inputs[k];
            else if (inner.space != Space::none) copied.push_back(k);
        }
        // Nothing else ever lies in a slot: what a body leaves in that of its input was made there.
        std::vector<bool> stays(graph.outputs.size(), false);
        std::vector<Placement> results;
        for (const ValueId id : graph.outputs) results.push_back(region.plan.placements[id]);
        if (r == 1) results = results_[static_cast<std::size_t>(&control - plan_.controls.data())];
        for (std::size_t k = 0; control.is_loop && !asks && k < results.size(); ++k) {
            const Placement& from = region.plan.placements[graph.inputs[k]];
            stays[k] = from.space == Space::external && results[k].space == Space::external &&
                       from.offset == results[k].offset;
        }
        for (Placement& place : results) shift(place);
        shift(region.plan);
        region.plan.externals.clear();
        region.plan.external_bytes = 0;
        plan_.constants.append(constants, std::exchange(region.plan.constants, {}));
        for (const std::size_t k : copied) region.enter.push_back({inputs[k], region.plan.placements[graph.inputs[k]]});
        for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
            const Placement& inner = results[k];
            // What a loop's body hands on unchanged lies in the output already. Equal places would not tell: an output
            // may lie where an input was that nothing reads any more.
            const bool unchanged = control.is_loop && !asks && is_invariant(node, k);
            if (unchanged || stays[k]) continue;
            if (asks && control.is_gated()) {
                answer = inner;
                if (control.is_decided()) control.answer = {{inner, control.condition}};
                continue;
            }
            region.leave.push_back({inner, asks ? control.condition : outputs[k]});
            // A turn that does not run leaves what is there.
            if (control.is_gated()) control.prepare.push_back({begin[k], inner});
        }
    }
    if (control.is_gated()) bind_gate(control, answer, memory.offset + arguments_at(control));
    if (control.turns >= 0 && apart_[static_cast<std::size_t>(&control - plan_.controls.data())]) alternate(control);
}

void Planner::alternate(ControlStep& control) const {
    RegionPlan& body = control.regions[1];
    const Exchange exchange{body.leave, device_.buffer_alignment};
    if (body.leave.empty() || !exchange.is_possible(body)) return;
    RegionPlan other = body;
    exchange(other);
    other.leave.clear();
    if (control.turns % 2 != 0) control.answer = body.leave;
    body.leave.clear();
    control.regions.push_back(std::move(other));
}

void Planner::bind_gate(ControlStep& control, const Placement& answer, std::uint64_t at) {
    std::vector<Dispatch>& body = control.regions[1].plan.dispatches;
    Bytes planned;
    for (Dispatch& dispatch : body) {
        dispatch.arguments = {Space::arena, at + 12 * static_cast<std::uint64_t>(&dispatch - body.data()), 12};
        const auto bytes = std::as_bytes(std::span(dispatch.groups));
        planned.insert(planned.end(), bytes.begin(), bytes.end());
    }
    planned.resize(std::max<std::size_t>(planned.size(), 12));
    const Placement table = add_constant(LazyBytes(std::move(planned)), DType::i32);
    control.regions[2].plan.dispatches.front().bindings = {
        {answer, DType::boolean, false, "answer", {}},
        {table, DType::i32, false, "planned", {}},
        {{Space::arena, at, argument_bytes(control)}, DType::i32, true, "arguments", {}}};
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

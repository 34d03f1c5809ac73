// The text of a plan.
#include "compile/plan/plan.hpp"

#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

const char* name_of(Space space) {
    switch (space) {
        case Space::arena: return "arena";
        case Space::constants: return "const";
        case Space::state: return "state";
        case Space::external: return "external";
        default: return "host";
    }
}

std::string print_copies(const std::string& indent, const char* what, const std::vector<Copy>& copies) {
    std::string text;
    for (const Copy& copy : copies) {
        text +=
            fmt::format("{}  {} {}+{} -> {}+{}, {} bytes\n", indent, what, name_of(copy.from.space), copy.from.offset,
                        name_of(copy.to.space), copy.to.offset, std::min(copy.from.size, copy.to.size));
    }
    return text;
}

std::string print_control(const Graph& graph, const ControlStep& control, const std::string& indent);

std::string print_dispatches(const Graph& graph, const Plan& plan, const std::string& indent) {
    std::string text;
    auto control = plan.controls.begin();
    for (std::size_t d = 0; d <= plan.dispatches.size(); ++d) {
        for (; control != plan.controls.end() && control->before == d; ++control)
            text += print_control(graph, *control, indent);
        if (d == plan.dispatches.size()) break;
        const Dispatch& dispatch = plan.dispatches[d];
        if (dispatch.submit_before) text += indent + "  submit\n";
        if (dispatch.barrier_before) text += indent + "  barrier\n";
        text += fmt::format("{}  {:3} {} [{}] groups {}x{}x{}{}{}\n", indent, d, dispatch.label, dispatch.kernel,
                            dispatch.groups[0], dispatch.groups[1], dispatch.groups[2],
                            dispatch.note.empty() ? "" : "; ", dispatch.note);
        for (const Binding& binding : dispatch.bindings) {
            text += fmt::format("{}        {} {} {} {}+{} '{}'\n", indent, binding.written ? "out" : "in ",
                                tosavk::name_of(binding.type), name_of(binding.place.space), binding.place.offset,
                                binding.place.size, binding.label);
        }
    }
    return text;
}

std::string print_control(const Graph& graph, const ControlStep& control, const std::string& indent) {
    const Node& node = graph.node(control.node);
    const std::string turns = control.turns >= 0 ? fmt::format(", {} turns", control.turns)
                            : control.most >= 0  ? fmt::format(", at most {} turns", control.most)
                                                 : "";
    std::string text = fmt::format("{}  {} '{}'{}\n", indent, tosavk::name_of(node.op), node.name, turns);
    text += print_copies(indent, "prepare", control.prepare);
    const std::string inner = indent + "    ";
    const char* const names[] = {control.is_loop ? "condition" : "then", control.is_loop ? "body" : "else",
                                 control.alternates() ? "every second turn" : "gate"};
    for (std::size_t r = control.turns >= 0 ? 1 : 0; r < control.regions.size(); ++r) {
        text += fmt::format("{}  {}:\n", indent, names[r]);
        text += print_copies(inner, "enter", control.regions[r].enter);
        const Graph& of = r < 2 ? *node.regions[r] : control.alternates() ? *node.regions[1] : graph;
        text += print_dispatches(of, control.regions[r].plan, inner);
        text += print_copies(inner, "leave", control.regions[r].leave);
    }
    text += print_copies(indent, "answer", control.answer);
    return text;
}

}  // namespace

std::string print_plan(const Graph& graph, const Plan& plan) {
    std::string text = fmt::format(
        "plan: {} dispatches, arena {} bytes (lower bound {}), inputs and outputs {} bytes, constants {} bytes{}{}\n",
        plan.dispatches.size(), plan.arena_bytes, plan.peak_lower_bound, plan.external_bytes, plan.constants.size(),
        plan.options.fuse ? "" : ", fusion off", plan.options.keep_all ? ", all values kept" : "");
    for (std::size_t v = 0; v < plan.variables.size(); ++v) {
        text += fmt::format("  variable '{}' state {}+{}\n", graph.variables[v].name, plan.variables[v].offset,
                            plan.variables[v].size);
    }
    text += print_dispatches(graph, plan, "");
    for (const ValueId id : graph.outputs) {
        const Placement& place = plan.placements.at(id);
        text += fmt::format("  output '{}' {} {}+{}\n", graph.value(id).name,
                            place.space == Space::none ? "host" : name_of(place.space), place.offset, place.size);
    }
    return text;
}

}  // namespace tosavk

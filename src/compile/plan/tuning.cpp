#include "compile/plan/tuning.hpp"

#include "compile/group/fuse.hpp"
#include "compile/group/leaves.hpp"
#include "compile/group/rows.hpp"
#include "compile/rewrite/simplify.hpp"
#include "kernels/kernels.hpp"
#include "ops/op.hpp"
#include "ops/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

namespace tosavk {

namespace {

constexpr std::string_view heading = "tosa-vk tuning 1";

/// Buffers of all the kernel's own dispatches at most.
std::size_t buffers(const Graph& graph, const Group& group, const KernelChoice& choice, const DevicePlan& device) {
    Group alone;
    alone.kind = Group::Kind::kernel;
    alone.anchor = group.anchor;
    alone.space = group.space;
    alone.choice = choice;
    return leaves_of(graph, alone, device, Outputs::open).bindings;
}

/// How often all of the choice's passes read an element of the group's prologues; without bound where a kernel does not
/// say.
double prologue_reads(const Graph& graph, const Group& group, const KernelChoice& choice) {
    double reads = 0;
    const auto add = [&](const KernelPass& pass) {
        for (const KernelOperand& operand : pass.operands) {
            if (!prologue_of(graph, group, operand)) continue;
            reads += operand.reads > 0 ? operand.reads : std::numeric_limits<double>::infinity();
        }
    };
    for (const KernelPass& pass : choice.earlier) add(pass);
    add(choice);
    return reads;
}

/// The candidate's choice, if it can stand where the group's own does.
std::optional<KernelChoice> alternative(const Graph& graph, const DevicePlan& device, const Group& group,
                                        const KernelCandidate& candidate) {
    const NodeView view(graph, group.anchor);
    if (op_def(view.node().op).combine && order_matters(view) && column_reduction(view, device)) return std::nullopt;
    std::string why;
    std::optional<KernelChoice> choice = plan_candidate(candidate, view, device, why);
    if (!choice) return std::nullopt;
    // Whether the group has followers or not, so that a node runs the same kernel in both cases.
    const KernelChoice& own = *group.choice;
    if (own.fuses_followers && (!choice->fuses_followers || choice->aligned < own.aligned)) return std::nullopt;
    if (buffers(graph, group, *choice, device) > buffers(graph, group, own, device)) return std::nullopt;
    // What is made where the kernel reads it was weighed, and fits, with the reads and passes of the group's own
    // choice.
    if (!group.prologues.empty() && (choice->earlier.size() != own.earlier.size() ||
                                     prologue_reads(graph, group, *choice) > prologue_reads(graph, group, own)))
        return std::nullopt;
    return choice;
}

/// Equal for choices of the same code.
using Code = std::vector<std::tuple<std::string, std::vector<std::pair<std::string, std::string>>,
                                    std::map<std::string, std::int32_t>, std::array<std::uint32_t, 3>, std::uint32_t>>;
Code code_of(const KernelChoice& choice) {
    Code code;
    const auto add = [&](const KernelPass& pass) {
        std::map<std::string, std::int32_t> values;
        for (const auto& [name, constant] : pass.constants) values[name] = constant.bits;
        code.emplace_back(pass.kernel, pass.defines, values, pass.groups, pass.invocations);
    };
    for (const KernelPass& pass : choice.earlier) add(pass);
    add(choice);
    return code;
}

bool is_printable(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::string tuning_signature(const NodeView& view) {
    const OpDef& def = op_def(view.node().op);
    const bool is_window = std::any_of(def.attributes.begin(), def.attributes.end(),
                                       [](const char* name) { return std::strcmp(name, "pad") == 0; });
    std::string text = view.graph().fast_fp16 ? fmt::format("fast {}", def.name) : def.name;
    const auto typed = [](const Value& value) {
        return fmt::format("{}[{}]", name_of(value.type), to_string(value.shape));
    };
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        // Of a window the results and the weights tell how many channels and positions there are.
        if (is_window && k == 0) text += fmt::format(" {}", name_of(view.in(k).type));
        else
            text += fmt::format(" {}{}", is_window && k == 1 && view.in(k).is_constant() ? "const " : "",
                                typed(view.in(k)));
    }
    text += " ->";
    for (std::size_t k = 0; k < view.output_count(); ++k) text += " " + typed(view.out(k));
    Node node = view.node();
    if (is_window) node.attrs.pad.clear();
    const std::string attributes = attributes_text(node);
    return attributes.empty() ? text : text + " " + attributes;
}

TuningTable apply_tuning(const Graph& graph, const DevicePlan& device, const TuningTable& table,
                         std::vector<Group>& groups) {
    TuningTable followed;
    if (table.choices.empty()) return followed;
    for (Group& group : groups) {
        if (group.kind != Group::Kind::kernel || !group.absorbed.empty()) continue;
        const NodeView view(graph, group.anchor);
        const auto found = table.choices.find(tuning_signature(view));
        if (found == table.choices.end()) continue;
        if (found->second != group.choice->candidate) {
            const auto& all = kernels_of(view.node().op);
            const auto named =
                std::find_if(all.begin(), all.end(), [&](const KernelCandidate& c) { return c.name == found->second; });
            if (named == all.end()) continue;
            std::optional<KernelChoice> choice = alternative(graph, device, group, *named);
            if (!choice) continue;
            group.choice = std::move(choice);
        }
        std::string& note = group.choice->note;
        note = fmt::format("tuned: {}{}{}", found->second, note.empty() ? "" : "; ", note);
        followed.choices.insert(*found);
    }
    return followed;
}

std::vector<KernelSite> kernel_sites(const Graph& graph, const DevicePlan& given, const PlanOptions& options) {
    const DevicePlan device = device_for(graph, given);
    const Graph planned = rewritten(graph, device, options);
    std::vector<KernelSite> sites;
    for (const Group& group : fuse(planned, device, options)) {
        // No other kernel computes what that of an attention does.
        if (group.kind != Group::Kind::kernel || !group.absorbed.empty()) continue;
        const NodeView view(planned, group.anchor);
        std::string signature = tuning_signature(view);
        const auto known = std::find_if(sites.begin(), sites.end(),
                                        [&](const KernelSite& site) { return site.signature == signature; });
        if (known != sites.end()) {
            known->nodes.push_back(group.anchor);
            continue;
        }
        KernelSite site{std::move(signature), {group.anchor}, {group.choice->candidate}};
        std::vector<Code> codes{code_of(*group.choice)};
        for (const KernelCandidate& candidate : kernels_of(view.node().op)) {
            if (candidate.name == group.choice->candidate) continue;
            const std::optional<KernelChoice> choice = alternative(planned, device, group, candidate);
            if (!choice || choice->work_of_all() > 8 * group.choice->work_of_all()) continue;
            Code code = code_of(*choice);
            if (std::find(codes.begin(), codes.end(), code) != codes.end()) continue;
            codes.push_back(std::move(code));
            site.candidates.push_back(candidate.name);
        }
        sites.push_back(std::move(site));
    }
    return sites;
}

std::string write_tuning(const TuningTable& table) {
    std::string text = fmt::format("{}\n", heading);
    for (const auto& [signature, name] : table.choices) text += fmt::format("{}\t{}\n", signature, name);
    return text;
}

std::optional<TuningTable> read_tuning(std::string_view text, std::string& why) {
    const auto take_line = [&]() -> std::optional<std::string_view> {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        return line;
    };
    if (take_line() != heading) {
        why = "it does not begin as a tuning table of this version";
        return std::nullopt;
    }
    TuningTable table;
    while (!text.empty()) {
        const std::optional<std::string_view> line = take_line();
        const std::size_t tab = line ? line->find('\t') : std::string_view::npos;
        if (tab == std::string_view::npos || !is_printable(line->substr(0, tab)) ||
            !is_printable(line->substr(tab + 1))) {
            why = fmt::format("its line {} is no choice", table.choices.size() + 2);
            return std::nullopt;
        }
        if (!table.choices.emplace(line->substr(0, tab), line->substr(tab + 1)).second) {
            why = fmt::format("its line {} repeats a node", table.choices.size() + 2);
            return std::nullopt;
        }
    }
    return table;
}

}  // namespace tosavk

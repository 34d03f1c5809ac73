#include "problems/problem.hpp"

#include "ops/op.hpp"
#include "problems/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tosavk {

namespace {

constexpr const char* chain_form = "TYPE SHAPE FOLLOWER... (add*50: fifty times; second operands are one shared input)";

std::string upper(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return result;
}

const ProblemForm* find_form(std::string_view name) {
    for (const std::span<const ProblemForm> forms : {window_forms(), movement_forms()}) {
        for (const ProblemForm& form : forms)
            if (form.op == name) return &form;
    }
    return nullptr;
}

ProblemHelp help_of(const ProblemForm& form) {
    const std::string name = form.op;
    return {name, name + " " + form.form, name + " " + form.line, name + " " + form.small};
}

Graph build(Line& line, const Level& level) {
    const auto seed = static_cast<std::uint64_t>(line.take_number("seed", 0, 0, 1'000'000'000));
    Layers layers(line.text(), level, seed);
    std::vector<ValueId> results;
    if (const ProblemForm* form = find_form(line.op())) {
        results = form->build(line, layers);
    } else if (line.op() == "chain") {
        results = {layers.input("input", line.type(), line.take_shape("shape"))};
    } else {
        const OpDef* def = find_op(std::string_view(upper(line.op())));
        if (!def || !is_pointwise(def->op))
            line.fail(fmt::format("there is no operator '{}'; tosa-vk-bench --help-problems lists all", line.op()));
        results = build_pointwise(def->op, line, layers);
    }
    if (results.size() == 1) results[0] = follow(line, layers, results[0]);
    line.finish();
    if (layers.builder().graph().nodes.empty()) line.fail("a chain needs at least one operator");
    return layers.finish(results);
}

}  // namespace

Graph load_problem(std::string_view text, const Level& level) {
    Line line(text);
    try {
        return build(line, level);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::bad_model) throw;
        // What the specification forbids is here a mistake in the line.
        throw Error(ErrorCode::usage, fmt::format("problem line '{}': {}", line.text(), error.what()), error.node(),
                    error.operand());
    }
}

std::vector<ProblemHelp> problem_help() {
    std::vector<ProblemHelp> result;
    for (const OpDef& def : registry()) {
        std::string name(def.name);
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (const ProblemForm* form = find_form(name)) result.push_back(help_of(*form));
        else if (is_pointwise(def.op)) result.push_back(pointwise_help(def.op));
    }
    result.push_back(help_of(*find_form("fully_connected")));
    result.push_back({"chain", fmt::format("chain {}", chain_form), "chain f32 4194304 add mul sigmoid", "chain f32 16 add*50"});
    return result;
}

}  // namespace tosavk

#include "frontends/problems/problem.hpp"

#include "base/text.hpp"
#include "frontends/problems/networks.hpp"
#include "frontends/problems/operators.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

constexpr const char* chain_form = "TYPE SHAPE FOLLOWER... (add*50: fifty times; second operands are one shared input)";

const ProblemForm* find_form(std::string_view name) {
    for (const std::span<const ProblemForm> forms : {window_forms(), movement_forms(), control_forms(), own_forms()}) {
        for (const ProblemForm& form : forms)
            if (form.op == name) return &form;
    }
    return nullptr;
}

ProblemHelp help_of(const ProblemForm& form) {
    const std::string name = form.op;
    return {name, name + " " + form.form, name + " " + form.line, name + " " + form.small};
}

std::string network_names() {
    std::string names;
    for (const std::span<const NetworkDef> networks : {image_networks(), sequence_networks()})
        for (const NetworkDef& network : networks) names += (names.empty() ? "" : ", ") + std::string(network.name);
    return names;
}

/// "network NAME TYPE [sizeN] [batchN]".
Graph build_network(Line& line, Layers& layers) {
    const std::string name = *line.take_next_word();
    const NetworkDef* network = find_network(name);
    if (!network) line.fail(fmt::format("there is no network '{}'; there are {}", name, network_names()));
    const DType type = line.type();
    if (line.weight_type() != type || (type != DType::fp32 && type != DType::fp16 && type != DType::i8))
        line.fail("networks are built in f32, f16 or i8");
    NetworkSize size;
    size.batch = line.take_number("batch", 1, 1, 1024);
    size.size = line.take_number("size", network->usual_size, network->small_size / 2 + 1, 8192);
    line.finish();
    return network->build(layers, type, size);
}

Graph build(Line& line, const Level& level) {
    const auto seed = static_cast<std::uint64_t>(line.take_number("seed", 0, 0, 1'000'000'000));
    Layers layers(line.text(), level, seed);
    if (line.op() == "network") return build_network(line, layers);
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
        const std::string name = lower(def.name);
        if (const ProblemForm* form = find_form(name)) result.push_back(help_of(*form));
        else if (is_pointwise(def.op)) result.push_back(pointwise_help(def.op));
    }
    for (const char* several : {"fully_connected", "attention", "softmax"})
        result.push_back(help_of(*find_form(several)));
    result.push_back(
        {"chain", fmt::format("chain {}", chain_form), "chain f32 4194304 add mul sigmoid", "chain f32 16 add*50"});
    for (const std::span<const NetworkDef> networks : {image_networks(), sequence_networks()}) {
        for (const NetworkDef& network : networks) {
            const std::string line = fmt::format("network {} f32", network.name);
            result.push_back({"network", fmt::format("network {} TYPE [sizeN] [batchN]", network.name), line,
                              fmt::format("{} size{}", line, network.small_size)});
        }
    }
    return result;
}

}  // namespace tosavk

#include "verify/checker.hpp"

#include "base/progress.hpp"
#include "compile/rewrite/precision.hpp"
#include "ops/op.hpp"
#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tosavk {

namespace {

/// What the unfused run left in memory; every value is read back once.
class Values {
public:
    Values(const Graph& graph, Context& context) : graph_(graph), context_(context), tensors_(graph.values.size()) {}

    const HostTensor& operator[](ValueId id) {
        std::optional<HostTensor>& slot = tensors_.at(id);
        if (!slot) {
            const Value& value = graph_.value(id);
            slot.emplace(value.type, value.shape);
            if (value.is_constant()) slot->bytes = value.data.copy();
            else context_.get_value(id, slot->bytes);
        }
        return *slot;
    }

private:
    const Graph& graph_;
    Context& context_;
    std::vector<std::optional<HostTensor>> tensors_;
};

std::string position_text(std::int64_t element, const Shape& shape) {
    Shape position(shape.size());
    std::int64_t rest = element;
    for (std::size_t k = shape.size(); k-- > 0;) {
        position[k] = rest % shape[k];
        rest /= shape[k];
    }
    return fmt::format("element {} [{}] of {}", element, fmt::join(position, ","), to_string(shape));
}

std::string element_text(const HostTensor& tensor, std::size_t element) {
    const std::size_t size = size_of(tensor.type);
    const auto bytes = std::span<const std::byte>(tensor.bytes).subspan(element * size, size);
    if (is_float(tensor.type)) return fmt::format("{:.9g}", decode_reals(tensor.type, bytes)[0]);
    return fmt::format("{}", decode_ints(tensor.type, bytes)[0]);
}

/// Index of the first element whose bits differ. Two NaN are equal: their sign and payload mean nothing, and a compiler
/// may order the operands of a sum as it likes.
std::optional<std::size_t> first_difference(const HostTensor& a, const HostTensor& b) {
    const std::size_t size = size_of(a.type);
    auto from = a.bytes.begin();
    for (;;) {
        const auto at = std::mismatch(from, a.bytes.end(), b.bytes.begin() + (from - a.bytes.begin())).first;
        if (at == a.bytes.end()) return std::nullopt;
        const std::size_t element = static_cast<std::size_t>(at - a.bytes.begin()) / size;
        const auto is_nan = [&](const HostTensor& tensor) {
            return std::isnan(decode_reals(tensor.type, std::span(tensor.bytes).subspan(element * size, size))[0]);
        };
        if (!is_float(a.type) || !is_nan(a) || !is_nan(b)) return element;
        from = a.bytes.begin() + static_cast<std::ptrdiff_t>((element + 1) * size);
    }
}

/// Of precision fast: fused nodes are rounded at other places. The index of the first float that differs by more than a
/// share of the tensor's largest one (docs/conformance.md, "Precision fast"); what integers come of may go either way.
std::optional<std::size_t> first_far_difference(const HostTensor& a, const HostTensor& b) {
    constexpr double share = 0x1p-5;
    if (!is_float(a.type)) return std::nullopt;
    const std::vector<double> first = decode_reals(a.type, a.bytes), second = decode_reals(b.type, b.bytes);
    double largest = 0;
    for (const double v : first) {
        if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (!std::isfinite(first[i])) continue;
        if (!(std::fabs(first[i] - second[i]) <= share * largest + 0x1p-14)) return i;
    }
    return std::nullopt;
}

/// Values that fp16 of precision fast has a part in.
std::vector<bool> fast_values(const Graph& graph) {
    std::vector<bool> result(graph.values.size());
    if (!graph.fast_fp16) return result;
    for (const Node& node : graph.nodes) {
        const auto is_fast = [&](ValueId id) { return result[id] || graph.value(id).type == DType::fp16; };
        // What happens in regions, and to variables, is not followed.
        const bool any = !node.regions.empty() || op_def(node.op).structural ||
                         std::any_of(node.inputs.begin(), node.inputs.end(), is_fast) ||
                         std::any_of(node.outputs.begin(), node.outputs.end(), is_fast);
        for (const ValueId id : node.outputs) result[id] = any;
    }
    return result;
}

/// One line about the worst element of output k of a node.
std::string worst_text(const NodeView& view, NodeId id, std::size_t k, const HostTensor& actual,
                       const CheckResult& result) {
    const std::string where =
        fmt::format("{} (node {} of {}), output {}", view.title(), id, view.graph().nodes.size(), k);
    if (result.passed && (result.worst <= 0 || result.element < 0)) return "all values equal";
    return fmt::format("{}: {}, {}: expected {}, got {}, {:.3g} of the bound ({})",
                       result.passed ? "worst" : "first diverging node", where,
                       position_text(std::max<std::int64_t>(result.element, 0), actual.shape), result.expected,
                       result.got, result.worst, result.rule);
}

Plan plan_of(const Graph& graph, const DevicePlan& device, bool fuse, const TuningTable& tuning) {
    PlanOptions options;
    options.fuse = fuse;
    options.keep_all = !fuse;
    options = with_environment(options);
    options.tuned = true;  // the table says what is
    return make_plan(graph, device, options, &tuning);
}

std::shared_ptr<Executable> compile(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                                    bool fuse, const TuningTable& tuning) {
    return Executable::create(device, graph, plan_of(*graph, device->plan(), fuse, tuning), ProgressScope::of_thread());
}

/// Without fp16 arithmetic precision fast is fp16, and held to that, where Winograd's algorithm has no part in it.
std::shared_ptr<const Graph> as_the_device_can(std::shared_ptr<const Graph> graph, const DevicePlan& device,
                                               const Plan& unfused, const Plan& fused) {
    if (!graph->fast_fp16 || device.has_fp16) return graph;
    bool saves_products = false;
    for (const Plan* plan : {&unfused, &fused}) {
        for_each_dispatch(*plan,
                          [&](const Dispatch& dispatch) { saves_products |= dispatch.kernel == "winograd_output"; });
    }
    if (saves_products) return graph;
    Graph exact = *graph;
    make_fast(exact, false);
    return std::make_shared<const Graph>(std::move(exact));
}

/// Until the run under way is over, if there is one: a call that its caller has ended leaves it.
void wait_for_run(Context& context) {
    while (context.running() && !context.wait(50'000'000)) turn_of_loop();
}

void run_whole(Context& context) {
    context.submit();
    wait_for_run(context);
}

/// The choices that both executables of a checker follow.
std::shared_ptr<const TuningTable> tuning_of(Device& device, const Executable* fused,
                                             std::shared_ptr<const TuningTable> given) {
    if (given) return given;
    if (!fused) return with_environment({}).tuned ? device.tuning() : std::make_shared<const TuningTable>();
    std::string why;
    const std::string& text = fused->plan().tuning;
    return std::make_shared<const TuningTable>(text.empty() ? TuningTable()
                                                            : read_tuning(text, why).value_or(TuningTable()));
}

}  // namespace

HostTensor random_input(const Graph& graph, std::size_t index, std::uint64_t seed) {
    const Value& value = graph.value(graph.inputs.at(index));
    // An odd multiplier far from any pattern keeps the streams of neighbouring seeds and inputs apart.
    return random_tensor(value.type, value.shape, seed + 0x9e3779b97f4a7c15u * (index + 1));
}

Checker::Checker(const std::shared_ptr<Device>& device, const std::shared_ptr<const Graph>& graph,
                 std::shared_ptr<Executable> fused, std::shared_ptr<const TuningTable> tuning)
    : device_(device),
      graph_(graph),
      tuning_(tuning_of(*device, fused.get(), std::move(tuning))),
      unfused_(compile(device, graph_, false, *tuning_)),
      fused_(fused ? std::move(fused) : compile(device, graph_, true, *tuning_)),
      judged_(as_the_device_can(graph_, device->plan(), unfused_->plan(), fused_->plan())),
      fast_(fast_values(*judged_)),
      unfused_context_(unfused_, false),
      fused_context_(fused_, false) {}

CheckReport Checker::run(std::uint64_t seed) {
    std::vector<HostTensor> inputs;
    for (std::size_t k = 0; k < graph_->inputs.size(); ++k) inputs.push_back(random_input(*graph_, k, seed));
    return run(inputs);
}

void Checker::load_state(Context& context, VariableState& state) const {
    for (std::size_t v = 0; v < graph_->variables.size(); ++v) {
        context.set_variable(v, variable_value(state, graph_->variables[v]).bytes);
    }
}

CheckReport Checker::run(std::span<const HostTensor> inputs, VariableState* state) {
    VariableState fresh;
    if (!state) state = &fresh;
    for (Context* context : {&unfused_context_, &fused_context_}) wait_for_run(*context);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        unfused_context_.set_input(k, inputs[k].bytes);
        fused_context_.set_input(k, inputs[k].bytes);
    }
    load_state(unfused_context_, *state);
    load_state(fused_context_, *state);
    run_whole(unfused_context_);

    CheckReport report;
    report.detail = "nothing to compare";
    if (!check_nodes(*state, report)) return report;

    run_whole(fused_context_);
    for (std::size_t k = 0; k < graph_->outputs.size() && report.passed; ++k) {
        const Value& value = graph_->value(graph_->outputs[k]);
        HostTensor fused(value.type, value.shape), unfused(value.type, value.shape);
        fused_context_.get_output(k, fused.bytes);
        unfused_context_.get_output(k, unfused.bytes);
        ++report.values_checked;
        const bool fast = fast_[graph_->outputs[k]];
        if (const auto element = fast ? first_far_difference(unfused, fused) : first_difference(unfused, fused)) {
            report.passed = false;
            report.detail = fmt::format(
                "fused and unfused runs differ in output {} '{}', {}: unfused {}, fused {} (bound: {})", k, value.name,
                position_text(static_cast<std::int64_t>(*element), value.shape), element_text(unfused, *element),
                element_text(fused, *element), fast ? "a 32nd of the largest" : "the same bits, any NaN for a NaN");
        }
    }
    check_state(*state, report);
    return report;
}

/// What both runs left in the variables.
bool Checker::check_state(VariableState& state, CheckReport& report) {
    for (std::size_t v = 0; v < graph_->variables.size() && report.passed; ++v) {
        const HostTensor& wanted = variable_value(state, graph_->variables[v]);
        for (Context* context : {&unfused_context_, &fused_context_}) {
            HostTensor found(wanted.type, wanted.shape);
            context->get_variable(v, found.bytes);
            ++report.values_checked;
            const bool far = judged_->fast_fp16 && context == &fused_context_;
            const auto element = far ? first_far_difference(wanted, found) : first_difference(wanted, found);
            if (!element) continue;
            report.passed = false;
            report.detail =
                fmt::format("variable '{}' after the {} run, {}: expected {}, got {} (bound: the same bits)",
                            graph_->variables[v].name, context == &fused_context_ ? "fused" : "unfused",
                            position_text(static_cast<std::int64_t>(*element), wanted.shape),
                            element_text(wanted, *element), element_text(found, *element));
            break;
        }
    }
    return report.passed;
}

std::vector<HostTensor> Checker::outputs() {
    std::vector<HostTensor> all;
    for (std::size_t k = 0; k < graph_->outputs.size(); ++k) {
        const Value& value = graph_->value(graph_->outputs[k]);
        unfused_context_.get_output(k, all.emplace_back(value.type, value.shape).bytes);
    }
    return all;
}

/// Checks region number `region` on `list`, which then holds its outputs.
bool Checker::run_region(const NodeView& view, std::size_t region, std::vector<HostTensor>& list, VariableState& state,
                         CheckReport& report) {
    const auto& graph = view.node().regions.at(region);
    std::unique_ptr<Checker>& checker = regions_[graph.get()];
    if (!checker) checker = std::make_unique<Checker>(device_, graph, nullptr, tuning_);
    const CheckReport found = checker->run(list, &state);
    report.values_checked += found.values_checked;
    if (!found.passed) {
        report.passed = false;
        report.detail = fmt::format("in {}, region {}: {}", view.title(), region, found.detail);
    }
    report.worst = std::max(report.worst, found.worst);
    if (report.passed) list = checker->outputs();
    return report.passed;
}

/// Follows control flow and variables with what the device made of each step; the outputs must have these bits.
bool Checker::check_structural(const NodeView& view, std::span<const HostTensor* const> operands,
                               std::span<const HostTensor* const> results, VariableState& state, CheckReport& report) {
    const Node& node = view.node();
    const auto truth = [](const HostTensor& condition) { return condition.bytes.at(0) != std::byte{0}; };
    std::vector<HostTensor> list;
    for (const HostTensor* operand : operands) list.push_back(*operand);
    switch (node.op) {
        case Op::cond_if: {
            const bool taken = truth(list.front());
            list.erase(list.begin());
            if (!run_region(view, taken ? 0 : 1, list, state, report)) return false;
            break;
        }
        case Op::while_loop:
            for (;;) {
                std::vector<HostTensor> answer = list;
                if (!run_region(view, 0, answer, state, report)) return false;
                if (!truth(answer.at(0))) break;
                if (!run_region(view, 1, list, state, report)) return false;
            }
            break;
        default: list = reference_node(view, operands, &state); break;
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
        ++report.values_checked;
        const auto element = first_difference(list.at(k), *results[k]);
        if (!element) continue;
        report.passed = false;
        report.detail =
            fmt::format("first diverging node: {}, output {}, {}: expected {}, got {} (bound: the same bits)",
                        view.title(), k, position_text(static_cast<std::int64_t>(*element), results[k]->shape),
                        element_text(list[k], *element), element_text(*results[k], *element));
        return false;
    }
    return true;
}

/// Every node of the unfused run on the inputs that the device gave it.
bool Checker::check_nodes(VariableState& state, CheckReport& report) {
    double worst_seen = -1;
    Values values(*graph_, unfused_context_);
    Progress& progress = ProgressScope::of_thread();
    progress.expect(graph_->nodes.size());
    for (NodeId id = 0; id < graph_->nodes.size() && report.passed; ++id) {
        progress.step();
        const NodeView view(*judged_, id);
        std::vector<const HostTensor*> operands, results;
        for (const ValueId input : view.node().inputs) operands.push_back(&values[input]);
        report.nodes.push_back({view.node().op, 0, 0, 0, {}});
        if (!op_def(view.node().op).reference) {
            for (const ValueId output : view.node().outputs) results.push_back(&values[output]);
            check_structural(view, operands, results, state, report);
            if (report.passed && worst_seen < 0) report.detail = "all values equal";
            continue;
        }
        for (std::size_t k = 0; k < view.output_count() && report.passed; ++k) {
            const HostTensor& actual = values[view.node().outputs[k]];
            const CheckResult result = check_node_result(view, operands, k, actual);
            ++report.values_checked;
            CheckReport::Node& node = report.nodes.back();
            const bool worst_of_node = node.detail.empty() || result.worst > node.worst;
            node.worst = std::max(node.worst, result.worst);
            node.variance = std::max(node.variance, result.variance);
            node.bias = std::max(node.bias, result.bias);
            if (worst_of_node) node.detail = worst_text(view, id, k, actual, result);
            if (result.passed && result.worst <= worst_seen) continue;
            worst_seen = result.worst;
            report.passed = result.passed;
            report.worst = std::max(report.worst, result.worst);
            report.detail = worst_text(view, id, k, actual, result);
        }
    }
    return report.passed;
}

}  // namespace tosavk

// A program operation by operation: what is refused does not end the walk.
#include "frontends/stablehlo/lowering.hpp"
#include "frontends/stablehlo/stablehlo.hpp"

#include <fmt/format.h>

#include <tuple>

namespace tosavk::stablehlo {

namespace {

/// What `step` throws, as a sentence; empty where it ends.
template <class F> std::string refusal(const F& step) {
    try {
        step();
        return {};
    } catch (const Error& e) {
        return e.what();
    } catch (const std::logic_error& e) {  // of a list's or a string's own checks
        return fmt::format("the program's operations do not fit their operands: {}", e.what());
    }
}

}  // namespace

ProbeReport probe_program(const Program& program, const ImportOptions& options) {
    Probe probe("stablehlo");
    std::string error = refusal([&] { Lowering(program, options, &probe).probe(); });
    ProbeReport report = probe.finish(error);
    // What was only seen with the others' results as inputs may still be refused with the real ones.
    if (report.taken()) {
        error = refusal([&] { lower_program(program, options); });
        if (!error.empty()) report.graph.push_back(error);
    }
    return report;
}

void Lowering::probe() {
    name_ = "main";
    const Function& main = function_named("main");
    frames_.push_back({&main, {}, false});
    frames_.back().values.resize(main.values.size());
    add_inputs_apart(main);
    std::vector<Tensor> results;
    std::string error = refusal([&] { results = lower_block(main.body, nullptr); });
    op_ = nullptr;
    if (error.empty()) error = refusal([&] { add_outputs(main, results); });
    if (!error.empty() && refused_ == 0) probe_->refuse_graph(error);
}

void Lowering::add_inputs_apart(const Function& main) {
    UniqueNames names;
    for (std::size_t k = 0; k < main.body.arguments.size(); ++k) {
        const std::string error = refusal([&] { add_input(main, k, names); });
        if (error.empty()) continue;
        ++refused_;
        probe_->refuse_graph(error);
    }
}

std::string Lowering::title_of(const Region& region) const {
    const Function& function = *frames_.back().function;
    if (&region == &function.body)
        return function.name == "main" ? std::string() : fmt::format("function '{}'", printable(function.name));
    std::size_t number = 0;
    while (number < op_->regions.size() && &op_->regions[number] != &region) ++number;
    return fmt::format("{}{}operation {} ({}), region {}", region_, region_.empty() ? "" : ", ", index_, op_->name,
                       number);
}

void Lowering::probe_operation(const Operation& operation) {
    const std::string region = region_;
    const std::size_t index = index_, refused = refused_, frames = frames_.size();
    const auto lift = lift_;
    const auto outer = std::tuple(op_, home_, name_);
    std::string sentence = refusal([&] { lower_operation(operation); });
    if (!sentence.empty()) {  // it stopped anywhere
        frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(frames), frames_.end());
        std::tie(op_, home_, name_) = outer;
        scope(name_, name_, true);
        region_ = region, index_ = index, lift_ = lift;
    }
    if (refused_ > refused) {
        op_ = &operation, home_ = frames_.back().function;
        sentence = fmt::format("{}: its regions or functions have operations that are refused", title());
        op_ = std::get<0>(outer), home_ = std::get<1>(outer);
    }
    const std::string name =
        fmt::format("{}.{}", operation.dialect == Dialect::chlo ? "chlo" : "stablehlo", operation.name);
    probe_->operator_seen(region, index, name, sentence);
    if (sentence.empty()) return;
    ++refused_;
    refusing_.insert(frames_.back().function);  // walked once: calls of calls would be walked without end
    declare_refused(operation);
}

/// An operation is judged by itself: what a refused one makes counts as there, where the graph has its type.
void Lowering::declare_refused(const Operation& operation) {
    for (const ValueId result : operation.results) {
        const Type& type = type_of(result);
        std::optional<Tensor>& value = frames_.back().values.at(result);
        value.reset();
        if (type.kind == Type::Kind::token) {
            value = Tensor{};
            continue;
        }
        refusal([&] {
            Tensor tensor{type.element, no_id, no_id, whole_range(type.element)};
            const Shape shape = static_shape(type);
            const DType of = dtype(type.element);
            const auto made = [&] {
                return has_no_elements(shape) ? empty(of, shape) : builder_.input(unique("refused"), of, shape);
            };
            tensor.id = made();
            if (is_complex_element(type.element)) tensor.other = made();
            value = tensor;
        });
    }
}

}  // namespace tosavk::stablehlo

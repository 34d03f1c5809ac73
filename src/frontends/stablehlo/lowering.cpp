// The walk through a program: functions, blocks and values.
#include "frontends/stablehlo/lowering.hpp"

#include "frontends/stablehlo/constraints.hpp"
#include "frontends/stablehlo/stablehlo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace tosavk::stablehlo {

namespace {

using LowerFunction = void (*)(Lowering&);
using Lowerings = std::unordered_map<std::string_view, LowerFunction>;
constexpr int max_calls = 256;  ///< within each other
constexpr std::size_t max_operations = std::size_t{1} << 20;

void lower_return(Lowering&) {}

const Lowerings& all_lowerings(Dialect dialect) {
    static const auto of_chlo = [] {
        Lowerings rows;
        for (const LoweringRow& row : chlo_rows()) rows.emplace(row.name, row.lower);
        return rows;
    }();
    static const auto of_stablehlo = [] {
        Lowerings rows;
        for (const auto& family :
             {unary_rows(), binary_rows(), convert_rows(), shape_rows(), reduce_rows(), window_rows(), contract_rows(),
              index_rows(), control_rows(), custom_rows(), sort_rows(), fourier_rows(), normalization_rows(),
              random_rows(), triangle_rows(), collective_rows(), select_rows(), convolution_rows()})
            for (const LoweringRow& row : family) rows.emplace(row.name, row.lower);
        rows.emplace("return", lower_return);
        return rows;
    }();
    return dialect == Dialect::chlo ? of_chlo : of_stablehlo;
}

/// Inputs that nothing reads stay; constants go.
void drop_unread_constants(Graph& graph) {
    std::vector<bool> used(graph.values.size(), false);
    for (const Node& node : graph.nodes)
        for (const Id id : node.inputs) used[id] = true;
    for (const Id id : graph.outputs) used[id] = true;
    std::vector<Id> place(graph.values.size(), no_id);
    std::vector<Value> kept;
    for (Id id = 0; id < graph.values.size(); ++id) {
        if (graph.values[id].is_constant() && !used[id]) continue;
        place[id] = static_cast<Id>(kept.size());
        kept.push_back(std::move(graph.values[id]));
    }
    graph.values = std::move(kept);
    const auto move_all = [&](std::vector<Id>& ids) {
        for (Id& id : ids) id = place[id];
    };
    move_all(graph.inputs);
    move_all(graph.outputs);
    for (Node& node : graph.nodes) move_all(node.inputs), move_all(node.outputs);
}

}  // namespace

// ---- the whole ----------------------------------------------------------------------------------------------------

Lowering::Lowering(const Program& program, const ImportOptions& options, Probe* probe)
    : Emitter(&builder_),
      program_(program),
      options_(options),
      builder_(printable(program.name), with_empty(*options.level)),
      probe_(probe) {}

Lowering::Lowering(Lowering& around, std::string name)
    : Emitter(&builder_),
      program_(around.program_),
      options_(around.options_),
      around_(&around),
      depth_(around.depth_ + 1),
      builder_(std::move(name), *around.options_.level),
      op_(around.op_),
      home_(around.home_),
      name_(around.name_),
      probe_(around.probe_),
      region_(around.region_),
      index_(around.index_),
      refused_(around.refused_),
      lowered_(around.lowered_),
      nodes_(around.nodes_),
      loops_(around.loops_),
      makers_(around.makers_),
      refusing_(around.refusing_) {
    frames_.push_back({around.frames_.back().function, {}, true});
    frames_.back().values.resize(frames_.back().function->values.size());
}

const Function& Lowering::function_named(std::string_view name) const {
    for (const Function& function : program_.functions) {
        if (function.name != name) continue;
        if (function.is_external) fail(fmt::format("the function '{}' is only declared", printable(name)));
        return function;
    }
    fail(fmt::format("there is no function '{}'", printable(name)));
}

Graph Lowering::run() {
    name_ = "main";
    const Function& main = function_named("main");
    frames_.push_back({&main, {}, false});
    frames_.back().values.resize(main.values.size());
    add_inputs(main);
    const std::vector<Tensor> results = lower_block(main.body, nullptr);
    op_ = nullptr;
    add_outputs(main, results);
    Graph graph = builder_.finish();
    drop_unread_constants(graph);
    return graph;
}

Graph lower_program(const Program& program, const ImportOptions& options) {
    try {
        return Lowering(program, options).run();
    } catch (const std::logic_error& error) {  // of a list's or a string's own checks
        throw Error(ErrorCode::bad_model,
                    fmt::format("the program's operations do not fit their operands: {}", error.what()));
    }
}

// ---- blocks -------------------------------------------------------------------------------------------------------

std::vector<Tensor> Lowering::lower_block(const Region& region, const Operation* until) {
    const bool probes = probe_ && !is_lifted();
    const std::string outer_region = probes ? std::exchange(region_, title_of(region)) : std::string();
    const std::size_t outer_index = index_;
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < region.operations.size(); ++i) {
        const Operation& operation = region.operations[i];
        if (&operation == until || operation.name == "return") {
            for (const stablehlo::ValueId id : operation.operands) results.push_back(value(id));
            break;
        }
        if (probes) index_ = i, probe_operation(operation);
        else lower_operation(operation);
    }
    if (probes) region_ = outer_region, index_ = outer_index;
    return results;
}

void Lowering::lower_operation(const Operation& operation) {
    const Operation* const outer = std::exchange(op_, &operation);
    const Function* const outer_home = std::exchange(home_, frames_.back().function);
    std::string where;
    if (operation.location != 0) where = to_string(program_, operation.location);
    const std::string outer_name = std::exchange(name_, where.empty() ? operation.name : where);
    scope(name_, name_, /*numbered=*/true);
    if (++lowered_ > max_operations)
        unsupported(fmt::format("with its calls in place the program has more than {} operations", max_operations));
    lower_step(operation);
    op_ = outer;
    home_ = outer_home;
    name_ = outer_name;
    scope(name_, name_, true);
}

void Lowering::lower_step(const Operation& operation) {
    const Lowerings& rows = all_lowerings(operation.dialect);
    const auto row = rows.find(operation.name);
    if (row == rows.end()) unsupported("this operation is not supported");
    check_attributes();
    check_regions();
    check_types(*this);
    if (is_lifted()) check_numbers();
    bool nothing = !is_lifted() && !operation.results.empty();
    for (std::size_t k = 0; nothing && k < operation.results.size(); ++k) {
        const Type& type = result_type(k);
        nothing = type.kind == Type::Kind::tensor && has_no_elements(type.dims) &&
                  std::none_of(type.dims.begin(), type.dims.end(), [](std::int64_t d) { return d < 0; });
    }
    if (nothing) {
        for (std::size_t k = 0; k < operation.results.size(); ++k) {
            const Element element = result_type(k).element;
            const Id id = empty(dtype(element), result_type(k).dims);
            set({element, id, is_complex_element(element) ? id : no_id, {}}, k);
        }
    } else if (!lower_known()) {
        try {
            row->second(*this);
        } catch (const std::logic_error&) {  // of a list's own checks
            fail("its operands, results or regions are fewer than it takes, or other ones");
        } catch (const Error& error) {  // of a node of several parts, or of an operation within: that names itself
            const std::string_view what = error.what();
            if (what.starts_with("stablehlo.") || what.starts_with("chlo.") || what.starts_with("StableHLO ")) throw;
            throw Error(error.code(), fmt::format("{}: {}", title(), what), error.node(), error.operand());
        }
    }
}

std::vector<Tensor> Lowering::lifted(const Region& region, const std::vector<Tensor>& arguments, const Shape& over,
                                     const Operation* until) {
    const std::optional<Shape> outer = std::exchange(lift_, over);
    for (std::size_t k = 0; k < region.arguments.size(); ++k)
        frames_.back().values[region.arguments[k]] = arguments.at(k);
    std::vector<Tensor> results = lower_block(region, until);
    if (!until) {
        for (Tensor& result : results) {
            result.id = tile_to(with_rank_of(result.id, arguments.at(0).id), over);
            if (result.has_two()) result.other = tile_to(with_rank_of(result.other, result.id), over);
        }
    }
    lift_ = outer;
    return results;
}

std::vector<Tensor> Lowering::inlined(const Region& region, const std::vector<Tensor>& arguments) {
    for (std::size_t k = 0; k < region.arguments.size(); ++k) {
        const Tensor& argument = arguments.at(k);
        const Type& type = type_of(region.arguments[k]);
        const bool is_as_told = argument.id == no_id || is_lifted() ||
                                (type.element == argument.element && static_shape(type) == shape(argument.id));
        if (!is_as_told)
            fail(fmt::format("argument {} of what it calls is {}, but {} of shape {} is given", k, to_string(type),
                             stablehlo::name_of(argument.element), to_string(shape(argument.id))));
        frames_.back().values[region.arguments[k]] = argument;
    }
    return lower_block(region, nullptr);
}

void Lowering::call(std::string_view name) {
    const std::vector<Tensor> arguments = all_given();
    std::vector<Tensor> results;
    within(name, [&](const Region& body) {
        check_call(body);
        results = inlined(body, arguments);
    });
    for (std::size_t k = 0; k < results.size(); ++k) set(results[k], k);
}

void Lowering::within(std::string_view name, const std::function<void(const Region&)>& step) {
    const Function& function = function_named(name);
    if (frames_.size() > max_calls) unsupported("calls are nested too deeply");
    if (refusing_.contains(&function)) unsupported("its function has operations that are refused");
    Frame frame{&function, {}, false};
    frame.values.resize(function.values.size());
    frames_.push_back(std::move(frame));
    step(function.body);
    frames_.pop_back();
}

Lowering::Made Lowering::made(const Region& region, const std::vector<Tensor>& arguments,
                              std::vector<stablehlo::ValueId>& captured, bool hands_on,
                              const std::vector<bool>& pairs) {
    if (depth_ >= level().max_nesting)
        unsupported(fmt::format("control flow is nested {} deep, but level {} allows {}", depth_ + 1, level().name,
                                level().max_nesting));
    Lowering inner(*this, op_->name);
    inner.captured_ = &captured;
    std::vector<Tensor> given;
    std::size_t count = 0;
    const auto take = [&](const Tensor& tensor) { return inner.taken(*this, tensor, count); };
    for (const Tensor& argument : arguments) given.push_back(take(argument));
    for (const stablehlo::ValueId id : captured) inner.frames_.back().values[id] = take(value(id));
    Made result;
    result.results = inner.inlined(region, given);
    for (std::size_t k = 0; k < result.results.size() && k < pairs.size(); ++k)
        if (pairs[k]) result.results[k] = inner.as_pair(result.results[k]);
    for (Tensor& tensor : result.results) {
        for (Id* id : {&tensor.id, &tensor.other}) {
            if (*id == no_id || inner.is_empty(*id)) continue;
            inner.hand_out(*id);
        }
    }
    if (hands_on) {
        for (const stablehlo::ValueId id : captured) {
            const Tensor tensor = inner.value(id);
            for (const Id part : {tensor.id, tensor.other})
                if (part != no_id && !inner.is_empty(part)) inner.hand_out(part);
        }
    }
    result.graph = inner.builder_.finish_region();
    drop_unread_constants(result.graph);
    return result;
}

Tensor Lowering::taken(const Lowering& around, Tensor tensor, std::size_t& count) {
    for (Id* id : {&tensor.id, &tensor.other}) {
        if (*id == no_id) continue;
        const Value& given = around.graph_value(*id);
        if (around.is_empty(*id)) *id = empty(given.type, given.shape);
        else *id = builder_.input(fmt::format("input_{}", count++), given.type, given.shape);
    }
    return tensor;
}

Lowering::Made Lowering::passed_on(const std::vector<Tensor>& arguments,
                                   const std::vector<stablehlo::ValueId>& captured) {
    Lowering inner(*this, op_->name);
    std::size_t count = 0;
    Made result;
    for (const Tensor& argument : arguments) result.results.push_back(inner.taken(*this, argument, count));
    for (const stablehlo::ValueId id : captured) inner.taken(*this, value(id), count);
    for (const Tensor& tensor : result.results)
        for (const Id id : {tensor.id, tensor.other})
            if (id != no_id && !inner.is_empty(id))
                inner.builder_.output(inner.add(tosavk::Op::identity, {id}, inner.type(id)));
    result.graph = inner.builder_.finish_region();
    return result;
}

const Operation* Lowering::maker(stablehlo::ValueId id) const {
    const Function& function = *frames_.back().function;
    const auto [at, is_new] = makers_.try_emplace(&function);
    if (is_new) {
        at->second.resize(function.values.size());
        for (const Operation& operation : function.body.operations)
            for (const stablehlo::ValueId result : operation.results) at->second.at(result) = &operation;
    }
    return at->second.at(id);
}

std::vector<Tensor> Lowering::loop(const std::vector<Tensor>& carried, const Step& goes_on, const Step& turn) {
    if (depth_ >= level().max_nesting) unsupported("control flow is nested too deeply");
    std::vector<stablehlo::ValueId> captured;
    const auto graph_of = [&](const Step& step) {
        Lowering inner(*this, op_->name);
        inner.captured_ = &captured;
        std::vector<Tensor> given = carried;
        for (Tensor& tensor : given)
            for (Id* id : {&tensor.id, &tensor.other})
                if (*id != no_id) *id = inner.builder_.input(inner.unique("input"), type(*id), shape(*id));
        for (const Tensor& tensor : step(inner, given))
            for (const Id id : {tensor.id, tensor.other})
                if (id != no_id) inner.hand_out(id);
        Graph graph = inner.builder_.finish_region();
        drop_unread_constants(graph);
        return graph;
    };
    Graph condition = graph_of(goes_on), body = graph_of(turn);
    if (!captured.empty()) unsupported("its region reads values from around, which is not supported");
    std::vector<Id> inputs;
    for (const Tensor& tensor : carried)
        for (const Id id : {tensor.id, tensor.other})
            if (id != no_id) inputs.push_back(id);
    const std::vector<Id> ids = builder_.while_loop(inputs, std::move(condition), std::move(body), unique(op_->name));
    std::vector<Tensor> results = carried;
    std::size_t next = 0;
    for (Tensor& tensor : results)
        for (Id* id : {&tensor.id, &tensor.other})
            if (*id != no_id) *id = ids.at(next++);
    return results;
}

Tensor Lowering::value(stablehlo::ValueId id) {
    std::optional<Tensor>& tensor = frames_.back().values.at(id);
    if (tensor) return *tensor;
    if (!frames_.back().sees_around || !around_) {
        if (refused_ > 0) unsupported("it reads what is refused");
        fail("it reads a value that is not there");
    }
    tensor = capture(id);
    return *tensor;
}

Tensor Lowering::capture(stablehlo::ValueId id) {
    Tensor tensor = around_->value(id);
    bool is_input = false, is_constant = true;
    for (const Id part : {tensor.id, tensor.other})
        is_constant = is_constant && (part == no_id || around_->graph_value(part).is_constant());
    for (Id* part : {&tensor.id, &tensor.other}) {
        if (*part == no_id) continue;
        const Value given = around_->graph_value(*part);
        if (around_->is_empty(*part)) *part = empty(given.type, given.shape);
        else if (is_constant) *part = builder_.constant(given.name, given.type, given.shape, given.data);
        else *part = builder_.input(unique("around"), given.type, given.shape), is_input = true;
    }
    if (is_input) captured_->push_back(id);
    return tensor;
}

}  // namespace tosavk::stablehlo

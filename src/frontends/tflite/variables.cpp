// Resource variables: VAR_HANDLE names one, CALL_ONCE's subgraph gives those that it assigns their initial values,
// which are computed here, and READ_VARIABLE and ASSIGN_VARIABLE are reads and writes of the graph's variables.
#include "frontends/tflite/lowering.hpp"

#include "reference/reference.hpp"

#include <fmt/format.h>

namespace tosavk {

using Type = tflite::TensorType;

const std::string& Lowering::resource(const TfliteTensor& tensor) const {
    const auto found = resources_.find(tensor.index);
    if (found == resources_.end()) unsupported(fmt::format("{} is no variable that VAR_HANDLE names", tensor.title()));
    return found->second;
}

void Lowering::name_resource(std::size_t k, std::string variable) {
    if (out(k).type != Type::RESOURCE) fail(fmt::format("{} is no resource", out(k).title()));
    resources_[out(k).index] = std::move(variable);
    set_.at(k) = true;
}

ValueId Lowering::read_variable(const std::string& variable) {
    const auto found = variables_.find(variable);
    if (found == variables_.end())
        unsupported(fmt::format("variable '{}' is read, but nothing has given it a value before", variable));
    builder_.variable(found->second);
    return builder_.variable_read(variable, unique(op_name_));
}

void Lowering::assign_variable(const std::string& variable, ValueId value) {
    check_output(value);
    if (initial_values_) {
        (*initial_values_)[variable] = value;
        return;
    }
    const auto [found, is_new] = variables_.try_emplace(variable);
    if (is_new) found->second = {variable, type(value), shape(value), {}};
    const Variable& declared = found->second;
    if (declared.type != type(value) || declared.shape != shape(value)) {
        unsupported(fmt::format("variable '{}' is {} {}, but is assigned {} {}", variable, name_of(declared.type),
                                to_string(declared.shape), name_of(type(value)), to_string(shape(value))));
    }
    builder_.variable(declared);
    builder_.variable_write(variable, value, unique(op_name_));
}

void Lowering::call_once(std::int32_t subgraph) {
    check_subgraph(subgraph);
    if (depth_ > 0) unsupported("within another subgraph it is not supported");
    if (initial_values_) fail("it calls itself");
    const TfliteSubgraph graph = file_.read_subgraph(static_cast<std::size_t>(subgraph));
    if (!graph.inputs.empty()) fail(fmt::format("subgraph {} has inputs, but nothing gives it any", subgraph));
    Lowering inner(*this, graph, graph.name.empty() ? fmt::format("subgraph_{}", subgraph) : graph.name);
    std::map<std::string, ValueId> initial;
    inner.initial_values_ = &initial;
    inner.region_ = fmt::format("subgraph {}", subgraph);
    inner.lower_operators();
    if (inner.refused_operators_ > 0)
        unsupported(fmt::format("its subgraph {} has operators that are refused", subgraph));
    inner.check_foldable();
    const std::vector<HostTensor> all = reference_run(inner.builder_.graph(), {}, /*keep_all=*/true);
    for (const auto& [name, id] : initial) {
        const Value& value = inner.builder_.value(id);
        variables_[name] = {name, value.type, value.shape,
                            value.is_constant() ? value.data : SharedBytes(Bytes(all.at(id).bytes))};
    }
}

namespace {

void lower_var_handle(Lowering& l) {
    const auto* options = l.options<tflite::VarHandleOptions>();
    if (!options) l.fail("it lacks its options");
    const std::string container = shown(options->container()), name = shown(options->shared_name());
    l.name_resource(0, container.empty() ? name : container + "/" + name);
}

void lower_read_variable(Lowering& l) {
    const ValueId value = l.read_variable(l.resource(l.in(0)));
    const TfliteTensor& to = l.out();
    const Shape& from = l.shape(value);
    bool fits = to.shape.size() == from.size();
    for (std::size_t d = 0; fits && d < from.size(); ++d) fits = to.dynamic[d] || to.shape[d] == from[d];
    if (!fits) {
        l.unsupported(
            fmt::format("the variable has shape {}, but its reader {}", to_string(from), to_string(to.shape)));
    }
    l.set(value);
}

void lower_assign_variable(Lowering& l) {
    const std::string variable = l.resource(l.in(0));
    l.assign_variable(variable, l.value(1));
}

void lower_call_once(Lowering& l) {
    const auto* options = l.options<tflite::CallOnceOptions>();
    if (!options) l.fail("it lacks its options");
    l.call_once(options->init_subgraph_index());
}

}  // namespace

OperatorRows variable_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::VAR_HANDLE, lower_var_handle},
        {B::READ_VARIABLE, lower_read_variable},
        {B::ASSIGN_VARIABLE, lower_assign_variable},
        {B::CALL_ONCE, lower_call_once, has_regions},
    };
    return rows;
}

}  // namespace tosavk

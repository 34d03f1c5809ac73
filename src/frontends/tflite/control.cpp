// IF and WHILE: subgraphs become regions, whose inputs are all that they see. Comparisons and logic, which make the
// conditions.
#include "frontends/tflite/lowering.hpp"
#include "frontends/tflite/wide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tosavk {

namespace {

using T = tflite::TensorType;
using tflite::BuiltinOperator;

}  // namespace

// ---- regions ------------------------------------------------------------------------------------------------------

Lowering::Lowering(const Lowering& outer, const TfliteSubgraph& graph, std::string name)
    : Emitter(&builder_),
      file_(outer.file_),
      graph_(graph),
      options_(outer.options_),
      depth_(outer.depth_ + 1),
      regions_read_(outer.regions_read_),
      probe_(outer.probe_),
      builder_(std::move(name), *outer.options_.level),
      values_(graph.tensors.size(), no_id),
      produced_(graph.tensors.size(), false),
      variables_(outer.variables_),
      states_(graph.tensors.size()),
      refused_(graph.tensors.size(), false) {}

void Lowering::check_subgraph(std::int32_t subgraph) const {
    if (subgraph < 1 || static_cast<std::size_t>(subgraph) >= file_.subgraph_count()) {
        fail(fmt::format("names subgraph {}, but there are {}, of which the first is the graph itself", subgraph,
                         file_.subgraph_count()));
    }
}

std::vector<ValueId> Lowering::RegionList::all() const {
    std::vector<ValueId> ids = values;
    ids.insert(ids.end(), upper.begin(), upper.end());
    std::erase(ids, no_id);
    return ids;
}

Lowering::RegionList Lowering::region_list(std::size_t first) {
    RegionList list{first, {}, {}, {}};
    for (std::size_t k = first; k < input_count(); ++k) {
        const bool resource = in(k).type == T::RESOURCE, is_pair = !resource && is_wide(k);
        const auto both = is_pair ? words(k) : std::array{resource ? no_id : value(k), no_id};
        if (is_empty(both[0])) unsupported(fmt::format("{} has no elements", in(k).title()));
        list.values.push_back(both[0]);
        list.upper.push_back(both[1]);
        list.known.push_back(!resource && !is_pair && graph_value(both[0]).is_constant());
    }
    return list;
}

void Lowering::widen_list(RegionList& list, const std::vector<bool>& wide) {
    for (std::size_t k = 0; k < list.values.size(); ++k) {
        if (k >= wide.size() || !wide[k] || list.upper[k] != no_id) continue;
        const auto both = words(list.first + k);
        list.values[k] = both[0];
        list.upper[k] = both[1];
        list.known[k] = false;
    }
}

Graph Lowering::region(std::int32_t subgraph, const RegionList& list, std::vector<bool>& wide) {
    try {
        return read_region(subgraph, list, wide);
    } catch (const Error& e) {
        // The operator's other subgraph is to be looked at too.
        if (!probe_) throw;
        if (region_refused_.empty()) region_refused_ = e.what();
        return {};
    }
}

Graph Lowering::read_region(std::int32_t subgraph, const RegionList& list, std::vector<bool>& wide) {
    const std::vector<ValueId>& inputs = list.values;
    check_subgraph(subgraph);
    // A subgraph that reaches itself ends here too.
    if (depth_ >= level().max_nesting) {
        fail(fmt::format("control flow is nested {} deep, but level {} allows {}", depth_ + 1, level().name,
                         level().max_nesting));
    }
    if (++regions_read_ > max_regions)
        unsupported(fmt::format("the operators name more than {} subgraphs", max_regions));
    const TfliteSubgraph graph = file_.read_subgraph(static_cast<std::size_t>(subgraph));
    if (graph.inputs.size() != inputs.size()) {
        fail(fmt::format("subgraph {} has {} inputs, but the operator gives {}", subgraph, graph.inputs.size(),
                         inputs.size()));
    }
    Lowering inner(*this, graph, graph.name.empty() ? fmt::format("subgraph_{}", subgraph) : graph.name);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        const TfliteTensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[k])];
        const auto refuse = [&](const std::string& what) {
            fail(fmt::format("input {} of subgraph {} ({}) {}", k, subgraph, tensor.title(), what));
        };
        if (tensor.is_constant) refuse("is a constant of the file");
        if (inner.produced_[tensor.index]) refuse("is listed twice");
        if (inputs[k] == no_id) {  // a resource: no value crosses, the variable is known by its name
            if (tensor.type != tflite::TensorType::RESOURCE) refuse("is no resource, but the operator gives one");
            inner.resources_[tensor.index] = resource(in(op_->inputs.size() - inputs.size() + k));
            inner.produced_[tensor.index] = true;
            continue;
        }
        const Value& given = builder_.value(inputs[k]);
        check_usable(tensor);
        if (dtype(tensor) != given.type)
            refuse(fmt::format("is {}, but the operator gives {}", name_of(tensor.type), name_of(given.type)));
        // Its shape is what the operator gives, as in TFLite, whatever the file records.
        const std::string name = tensor.name.empty() ? fmt::format("input_{}", k) : tensor.name;
        ValueId id = inner.builder_.input(name, given.type, given.shape);
        if (list.known[k]) id = inner.builder_.constant(name + "/known", given.type, given.shape, given.data);
        inner.builder_.value(id).scale = given.scale;
        inner.builder_.value(id).zero_point = given.zero_point;
        if (list.upper[k] == no_id) inner.values_[tensor.index] = id;
        else inner.wide_[tensor.index][0] = id;
        inner.produced_[tensor.index] = true;
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (list.upper[k] == no_id) continue;
        const TfliteTensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[k])];
        inner.wide_[tensor.index][1] =
            inner.builder_.input(tensor.name + "/upper", DType::i32, builder_.value(list.upper[k]).shape);
        inner.ranges_[tensor.index] = any_number;
    }
    inner.region_ = fmt::format("subgraph {}", subgraph);
    inner.lower_operators();
    if (inner.refused_operators_ > 0)
        unsupported(fmt::format("its subgraph {} has operators that are refused", subgraph));
    wide.resize(graph.outputs.size(), false);
    std::vector<ValueId> upper;
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
        const TfliteTensor& tensor = graph.tensors[static_cast<std::size_t>(graph.outputs[k])];
        ValueId& id = inner.values_[tensor.index];
        if (tensor.type == tflite::TensorType::RESOURCE) {
            const auto given = inner.resources_.find(tensor.index);
            const bool same = given != inner.resources_.end() && k < op_->outputs.size() && out(k).type == tensor.type;
            if (!same) fail(fmt::format("output {} of subgraph {} ({}) is a resource", k, subgraph, tensor.title()));
            const auto [known_as, is_new] = resources_.try_emplace(out(k).index, given->second);
            if (!is_new && known_as->second != given->second)
                unsupported(fmt::format("output {} may be one variable or another", k));
            continue;
        }
        if (const auto both = inner.wide_.find(tensor.index); both != inner.wide_.end()) {
            wide[k] = true;
            inner.hand_out(both->second[0]);
            upper.push_back(both->second[1]);
            continue;
        }
        if (id == no_id && !tensor.is_constant) {
            fail(fmt::format("output {} of subgraph {} ({}) is never computed", k, subgraph, tensor.title()));
        }
        inner.end_ = fmt::format("subgraph {}'s output {}", subgraph, k);
        if (id == no_id) id = inner.constant_value(tensor);
        inner.check_output(id);
        inner.hand_out(id);
        if (wide[k]) upper.push_back(wide::extended(inner, id).high);
    }
    for (const ValueId id : upper) inner.hand_out(id);
    Graph made = inner.builder_.finish_region();
    drop_unused_constants(made);
    for (const Variable& variable : made.variables) builder_.variable(variable);
    return made;
}

void Lowering::check_regions() const {
    if (!region_refused_.empty()) throw Error(ErrorCode::unsupported, region_refused_, op_name_);
}

std::vector<bool> Lowering::handed_on(std::int32_t body) const {
    check_subgraph(body);
    const TfliteSubgraph graph = file_.read_subgraph(static_cast<std::size_t>(body));
    std::vector<bool> same(graph.inputs.size(), false);
    for (std::size_t k = 0; k < same.size() && k < graph.outputs.size(); ++k) {
        const std::int32_t tensor = graph.inputs[k];
        same[k] = tensor == graph.outputs[k] &&
                  std::none_of(graph.operators.begin(), graph.operators.end(), [&](const TfliteOperator& op) {
                      return std::find(op.outputs.begin(), op.outputs.end(), tensor) != op.outputs.end();
                  });
    }
    return same;
}

std::vector<ValueId> Lowering::cond_if(ValueId condition, std::vector<ValueId> inputs, Graph then_graph,
                                       Graph else_graph) {
    check_regions();
    return builder_.cond_if(condition, std::move(inputs), std::move(then_graph), std::move(else_graph),
                            unique(op_name_));
}

std::vector<ValueId> Lowering::while_loop(std::vector<ValueId> inputs, Graph cond_graph, Graph body_graph) {
    check_regions();
    return builder_.while_loop(std::move(inputs), std::move(cond_graph), std::move(body_graph), unique(op_name_));
}

ValueId Lowering::capture(std::size_t k) {
    const ValueId outside = around_->value(k);
    const Value& given = around_->graph_value(outside);
    if (is_empty(outside)) unsupported(fmt::format("{} has no elements", in(k).title()));
    ValueId& id = values_[in(k).index];
    if (given.is_constant()) {
        id = builder_.constant(given.name, given.type, given.shape, given.data);
    } else {
        id = builder_.input(given.name, given.type, given.shape);
        captured_->push_back(outside);
    }
    return id;
}

Graph Lowering::own_region(const char* name, const std::vector<ValueId>& list, const Turn& turn,
                           std::vector<ValueId>& captured) {
    Lowering inner(*this, graph_, name);
    inner.around_ = this;
    inner.captured_ = &captured;
    inner.op_ = op_;
    inner.row_ = row_;
    inner.op_index_ = op_index_;
    inner.op_name_ = op_name_;
    inner.scope(op_name_, op_name_, /*numbered=*/true);
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (!has_input(k)) continue;
        const ValueId known = values_[in(k).index];
        if (known != no_id && !is_empty(known) && graph_value(known).is_constant()) inner.capture(k);
    }
    std::vector<ValueId> inputs;
    for (std::size_t k = 0; k < list.size(); ++k)
        inputs.push_back(inner.builder_.input(fmt::format("list_{}", k), type(list[k]), shape(list[k])));
    for (const ValueId id : turn(inner, inputs)) inner.hand_out(id);
    return inner.builder_.finish_region();
}

std::vector<ValueId> Lowering::own_loop(std::vector<ValueId> list, const Turn& condition, const Turn& body) {
    std::vector<ValueId> captured;
    const auto whole = [&](Lowering& inner, std::vector<ValueId> inputs) {
        std::vector<ValueId> next = body(inner, std::move(inputs));
        const std::vector<ValueId>& all = inner.builder_.graph().inputs;
        next.insert(next.end(), all.end() - static_cast<std::ptrdiff_t>(captured.size()), all.end());
        return next;
    };
    Graph turn = own_region("turn", list, whole, captured);
    const std::size_t own = list.size();
    list.insert(list.end(), captured.begin(), captured.end());
    Graph another = own_region("another", list, condition, captured);
    drop_unused_constants(turn);
    drop_unused_constants(another);
    std::vector<ValueId> results = while_loop(std::move(list), std::move(another), std::move(turn));
    results.resize(own);
    return results;
}

/// Resources are none of `ids`: they have their names already.
void Lowering::set_results(const std::vector<ValueId>& ids, const std::vector<bool>& wide) {
    const auto pairs = static_cast<std::size_t>(std::count(wide.begin(), wide.end(), true));
    std::size_t next = 0, upper = ids.size() - std::min(ids.size(), pairs);
    for (std::size_t k = 0; k < output_count(); ++k) {
        if (out(k).type == T::RESOURCE) {
            name_resource(k, resource(out(k)));
        } else if (next < ids.size() - pairs) {
            if (k >= wide.size() || !wide[k]) {
                set(ids[next++], k);
                continue;
            }
            ranges_[out(k).index] = any_number;
            set_words({ids[next++], ids[upper++]}, k);
        } else {
            ++next;
        }
    }
    if (next != ids.size() - pairs)
        fail(fmt::format("it has {} outputs that are tensors, but its subgraphs give {}", next, ids.size() - pairs));
}

// ---- operators ----------------------------------------------------------------------------------------------------

namespace {

void lower_if(Lowering& l) {
    const auto* options = l.options<tflite::IfOptions>();
    if (!options) l.fail("it lacks its options");
    const ValueId condition = l.value(0);
    const Lowering::RegionList list = l.region_list(1);
    // What one branch has as a pair of words, the other one has too.
    std::vector<bool> wide;
    for (;;) {
        const std::vector<bool> before = wide;
        Graph then_graph = l.region(options->then_subgraph_index(), list, wide);
        Graph else_graph = l.region(options->else_subgraph_index(), list, wide);
        if (!before.empty() && wide != before) continue;
        if (before.empty() && std::find(wide.begin(), wide.end(), true) != wide.end()) continue;
        return l.set_results(l.cond_if(condition, list.all(), std::move(then_graph), std::move(else_graph)), wide);
    }
}

void lower_while(Lowering& l) {
    const auto* options = l.options<tflite::WhileOptions>();
    if (!options) l.fail("it lacks its options");
    Lowering::RegionList list = l.region_list(0);
    // A constant that every turn hands on stays one: weights, mostly.
    const std::vector<bool> same = l.handed_on(options->body_subgraph_index());
    for (std::size_t k = 0; k < list.known.size(); ++k) list.known[k] = list.known[k] && k < same.size() && same[k];
    std::vector<bool> wide(list.values.size(), false);
    for (std::size_t k = 0; k < wide.size(); ++k) wide[k] = list.upper[k] != no_id;
    for (;;) {
        std::vector<bool> condition_wide, next = wide;
        Graph cond_graph = l.region(options->cond_subgraph_index(), list, condition_wide);
        Graph body_graph = l.region(options->body_subgraph_index(), list, next);
        if (next == wide)
            return l.set_results(l.while_loop(list.all(), std::move(cond_graph), std::move(body_graph)), wide);
        // What a turn makes a pair of words of is one from the beginning.
        wide = next;
        l.widen_list(list, wide);
    }
}

/// What TFLite compares of quantized numbers: 256 times what they mean, rounded. Different ones may be equal then.
ValueId comparable(Lowering& l, ValueId x, std::size_t k) {
    const Quant quant = l.quant(l.in(k));
    if (!(quant.scale < 1)) l.unsupported(fmt::format("scale {} of {} is not below 1", quant.scale, l.in(k).title()));
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(quant.scale));
    return l.requantize(l.shift_left(x, quant.zero_point, 8), DType::i32, m, 0, 0);
}

void lower_comparison(Lowering& l) {
    const T type = l.in(0).type;
    const BuiltinOperator code = l.op().code;
    const bool equality = code == BuiltinOperator::EQUAL || code == BuiltinOperator::NOT_EQUAL;
    const bool bytes = type == T::INT8 || type == T::UINT8;
    const bool integers = bytes || type == T::INT16 || (type == T::BOOL && equality);
    if (l.in(1).type != type || (type != T::FLOAT32 && type != T::INT32 && type != T::INT64 && !integers)) {
        l.unsupported(fmt::format("types {} x {} are not supported", name_of(type), name_of(l.in(1).type)));
    }
    ValueId a = l.value(0), b = l.value(1);
    l.match_ranks(a, b);
    // TFLite says which of two INT16 is larger whatever they mean, but scales them to say whether they are equal.
    if (bytes || (type == T::INT16 && equality)) a = comparable(l, a, 0), b = comparable(l, b, 1);
    else if (integers) a = l.cast(a, DType::i32), b = l.cast(b, DType::i32);
    if (code == BuiltinOperator::LESS || code == BuiltinOperator::LESS_EQUAL) std::swap(a, b);
    const bool strict = code == BuiltinOperator::LESS || code == BuiltinOperator::GREATER;
    const ValueId result = l.add(equality ? Op::equal
                                 : strict ? Op::greater
                                          : Op::greater_equal,
                                 {a, b}, DType::boolean);
    l.set(code == BuiltinOperator::NOT_EQUAL ? l.add(Op::logical_not, {result}, DType::boolean) : result);
}

void lower_logical(Lowering& l) {
    if (l.op().code == BuiltinOperator::LOGICAL_NOT) return l.set(l.add(Op::logical_not, {l.value(0)}, DType::boolean));
    ValueId a = l.value(0), b = l.value(1);
    l.match_ranks(a, b);
    l.set(
        l.add(l.op().code == BuiltinOperator::LOGICAL_AND ? Op::logical_and : Op::logical_or, {a, b}, DType::boolean));
}

}  // namespace

OperatorRows control_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::LESS, lower_comparison, rounds_halves},
        {B::LESS_EQUAL, lower_comparison, rounds_halves},
        {B::GREATER, lower_comparison, rounds_halves},
        {B::GREATER_EQUAL, lower_comparison, rounds_halves},
        {B::EQUAL, lower_comparison, rounds_halves},
        {B::NOT_EQUAL, lower_comparison, rounds_halves},
        {B::LOGICAL_AND, lower_logical},
        {B::LOGICAL_OR, lower_logical},
        {B::LOGICAL_NOT, lower_logical},
        {B::IF, lower_if, has_regions},
        {B::WHILE, lower_while, has_regions},
    };
    return rows;
}

}  // namespace tosavk

// The checks that hold for every operator, read off its OpDef: arity, types, ranks, constants, sizes and levels. What
// is special to one operator stands in its own `check`.
#include "ops/empty.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace tosavk {

namespace {

const OpDef& def_of(const NodeView& view) {
    const OpDef* def = find_op(view.node().op);
    if (def == nullptr)
        throw Error(ErrorCode::unsupported, view.title() + ": this operator is not supported", view.node().name);
    return *def;
}

// ---- arguments ----------------------------------------------------------------------------------------------------

// The ArgDef of operand k out of `count`. Only one argument of an operator is a list; the others keep their distance
// from the beginning or the end.
const ArgDef& arg_of(const std::vector<ArgDef>& args, std::size_t k, std::size_t count) {
    const auto list = std::find_if(args.begin(), args.end(), [](const ArgDef& a) { return a.list; });
    const std::size_t before = static_cast<std::size_t>(list - args.begin());
    if (list == args.end() || k < before) return args[k];
    const std::size_t after = args.size() - before - 1;
    return k >= count - after ? args[args.size() - (count - k)] : *list;
}

void check_arity(const NodeView& view, const std::vector<ArgDef>& args, std::size_t count, const char* kind,
                 const Level& level) {
    const bool has_list = std::any_of(args.begin(), args.end(), [](const ArgDef& a) { return a.list; });
    if (!has_list && count != args.size()) view.fail(fmt::format("needs {} {}s, but has {}", args.size(), kind, count));
    if (!has_list) return;
    const bool may_be_empty = std::any_of(args.begin(), args.end(), [](const ArgDef& a) { return a.may_be_empty; });
    const std::size_t least = args.size() - (may_be_empty ? 1 : 0);
    if (count < least) view.fail(fmt::format("needs at least {} {}s, but has {}", least, kind, count));
    const std::size_t length = count - (args.size() - 1);
    const bool is_control = view.node().op == Op::cond_if || view.node().op == Op::while_loop;
    const int most = is_control && level.max_carried > 0 ? level.max_carried : level.max_list;
    if (length > static_cast<std::size_t>(most)) {
        view.fail(
            fmt::format("its list of {}s has {} tensors, but level {} allows {}", kind, length, level.name, most));
    }
}

void check_operand(const NodeView& view, const ArgDef& arg, const Value& v, const Level& level) {
    // Other operands that TOSA wants constant may be computed at run time: EXT-DYNAMIC is always on.
    if (v.type == DType::shape && !v.is_constant())
        view.fail(fmt::format("operand '{}' must be a constant shape", arg.name), v.name);
    const int rank = static_cast<int>(v.shape.size());
    const int max_rank = arg.max_rank < 0 ? level.max_rank : arg.max_rank;
    if (rank < arg.min_rank || rank > max_rank) {
        std::string wanted =
            arg.min_rank == max_rank ? fmt::format("{}", max_rank) : fmt::format("{} to {}", arg.min_rank, max_rank);
        if (arg.max_rank < 0 && rank > max_rank && rank <= level_none.max_rank)
            wanted += fmt::format(" at level {}; --level none allows {}", level.name, level_none.max_rank);
        view.fail(fmt::format("operand '{}' has rank {} (shape {}), but its rank must be {}", arg.name, rank,
                              to_string(v.shape), wanted),
                  v.name);
    }
    for (const std::int64_t d : v.shape) {
        // The shape of a scalar is a shape value of length 0.
        if (d < 1 && !(d == 0 && (v.type == DType::shape || level.empty_tensors))) {
            view.fail(fmt::format("operand '{}' has shape {}, but every dimension must be at least {}", arg.name,
                                  to_string(v.shape), level.empty_tensors ? 0 : 1),
                      v.name);
        }
    }
    if (!fits(level, v.type, v.shape)) {
        view.fail(fmt::format("operand '{}' of shape {} is larger than level {} allows", arg.name, to_string(v.shape),
                              level.name),
                  v.name);
    }
}

// ---- types --------------------------------------------------------------------------------------------------------

const DType* find_type(std::string_view name) {
    static constexpr std::array<DType, 12> all{DType::boolean, DType::i4,   DType::i8,      DType::i16,
                                               DType::i32,     DType::i48,  DType::fp8e4m3, DType::fp8e5m2,
                                               DType::fp16,    DType::bf16, DType::fp32,    DType::shape};
    for (const DType& t : all) {
        if (name_of(t) == name) return &t;
    }
    return nullptr;
}

using Bound = std::vector<std::optional<DType>>;  // by type variable

// Binds the operand's type variable, or compares with its fixed type. A name that is neither leaves the type to the
// operator's own check.
void bind_type(const NodeView& view, const OpDef& def, const ArgDef& arg, const Value& v, Bound& bound,
               std::vector<const char*>& binders) {
    for (std::size_t i = 0; i < def.type_vars.size(); ++i) {
        if (std::strcmp(def.type_vars[i], arg.type) != 0) continue;
        if (!bound[i]) {
            bound[i] = v.type;
            binders[i] = arg.name;
        } else if (*bound[i] != v.type) {
            view.fail(fmt::format("operand '{}' has type {}, but it must have the type {} of operand '{}'", arg.name,
                                  name_of(v.type), name_of(*bound[i]), binders[i]),
                      v.name);
        }
        return;
    }
    const DType* fixed = find_type(arg.type);
    if (fixed != nullptr && *fixed != v.type) {
        view.fail(
            fmt::format("operand '{}' has type {}, but must have type {}", arg.name, name_of(v.type), name_of(*fixed)),
            v.name);
    }
}

}  // namespace

namespace {

/// What operands and acc_type say of the operator's type variables.
Bound bound_types(const NodeView& view, const OpDef& def) {
    Bound bound(def.type_vars.size());
    std::vector<const char*> binders(def.type_vars.size());
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        bind_type(view, def, arg_of(def.inputs, k, view.input_count()), view.in(k), bound, binders);
    }
    for (std::size_t k = 0; k < view.output_count(); ++k) {
        bind_type(view, def, arg_of(def.outputs, k, view.output_count()), view.out(k), bound, binders);
    }
    const bool has_acc_type = std::any_of(def.attributes.begin(), def.attributes.end(),
                                          [](const char* a) { return std::strcmp(a, "acc_type") == 0; });
    for (std::size_t i = 0; i < bound.size(); ++i) {
        if (has_acc_type && std::strcmp(def.type_vars[i], "acc_t") == 0) bound[i] = view.attrs().acc_type;
    }
    return bound;
}

std::vector<const TypeRow*> fitting_rows(const OpDef& def, const Bound& bound) {
    std::vector<const TypeRow*> fitting;
    for (const auto* rows : {&def.rows, &def.upgrade_rows}) {
        for (const TypeRow& row : *rows) {
            bool fits = true;
            for (std::size_t i = 0; i < bound.size(); ++i) fits = fits && (!bound[i] || *bound[i] == row.types[i]);
            if (fits) fitting.push_back(&row);
        }
    }
    return fitting;
}

}  // namespace

const TypeRow& match_row(const NodeView& view) {
    const OpDef& def = def_of(view);
    const Bound bound = bound_types(view, def);
    if (const std::vector<const TypeRow*> rows = fitting_rows(def, bound); !rows.empty()) return *rows.front();
    std::string types;
    for (std::size_t i = 0; i < bound.size(); ++i) {
        if (bound[i]) types += fmt::format("{}{}={}", types.empty() ? "" : ", ", def.type_vars[i], name_of(*bound[i]));
    }
    view.fail(fmt::format("the combination of types {} is not supported", types));
}

std::vector<DType> infer_types(const NodeView& view, const Level& level) {
    const OpDef& def = def_of(view);
    check_arity(view, def.inputs, view.input_count(), "input", level);
    const Bound bound = bound_types(view, def);
    const std::vector<const TypeRow*> rows = fitting_rows(def, bound);
    if (rows.empty()) match_row(view);  // throws
    std::vector<DType> types;
    for (const ArgDef& arg : def.outputs) {
        if (arg.list) view.fail("its inputs do not say how many outputs it has; say their types", arg.name);
        const auto variable = std::find_if(def.type_vars.begin(), def.type_vars.end(),
                                           [&](const char* name) { return std::strcmp(name, arg.type) == 0; });
        const auto i = static_cast<std::size_t>(variable - def.type_vars.begin());
        const DType* fixed = find_type(arg.type);
        const bool one_choice =
            i < bound.size() &&
            std::all_of(
                rows.begin(), rows.end(), [&](const TypeRow* row) { return row->types[i] == rows[0]->types[i]; });
        if (one_choice) types.push_back(rows[0]->types[i]);
        else if (i == bound.size() && fixed) types.push_back(*fixed);
        else
            view.fail(fmt::format("its inputs leave a choice of types for its operand '{}'; say which", arg.name),
                      arg.name);
    }
    return types;
}

std::vector<Shape> infer_node(const NodeView& view, const Level& level) {
    const OpDef& def = def_of(view);
    check_arity(view, def.inputs, view.input_count(), "input", level);
    check_arity(view, def.outputs, view.output_count(), "output", level);
    match_row(view);
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        check_operand(view, arg_of(def.inputs, k, view.input_count()), view.in(k), level);
    }
    for (std::size_t k = 0; k < view.output_count(); ++k) {
        if (view.out(k).is_constant()) view.fail("its output is a constant", view.out(k).name);
    }
    std::vector<Shape> shapes = def.infer(view);
    if (shapes.size() != view.output_count()) {
        throw Error(ErrorCode::internal, view.title() + ": shape inference gave a wrong number of outputs",
                    view.node().name);
    }
    return shapes;
}

void check_node(const NodeView& view, const Level& level) {
    const OpDef& def = def_of(view);
    const std::vector<Shape> shapes = infer_node(view, level);
    for (std::size_t k = 0; k < shapes.size(); ++k) {
        const Value& v = view.out(k);
        const ArgDef& arg = arg_of(def.outputs, k, view.output_count());
        if (v.shape != shapes[k]) {
            view.fail(fmt::format("operand '{}' has shape {}, but its shape must be {}", arg.name, to_string(v.shape),
                                  to_string(shapes[k])),
                      v.name);
        }
        check_operand(view, arg, v, level);
    }
    if (def.check != nullptr) def.check(view, level);
    if (level.empty_tensors) check_empty(view);
}

// ---- the graph ----------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void fail_value(const Value& v, const std::string& what) {
    throw Error(ErrorCode::bad_model, fmt::format("tensor '{}': {}", v.name, what), {}, v.name);
}

void check_interface(const Graph& graph, const std::vector<ValueId>& ids, const char* kind) {
    std::map<std::string_view, ValueId> names;
    for (const ValueId id : ids) {
        if (id >= graph.values.size())
            throw Error(ErrorCode::bad_model, fmt::format("graph {} {} does not exist", kind, id));
        const Value& v = graph.value(id);
        if (v.type == DType::shape) fail_value(v, fmt::format("a graph {} cannot have type shape", kind));
        const auto [it, added] = names.emplace(v.name, id);
        if (!added && it->second != id) fail_value(v, fmt::format("two graph {}s have this name", kind));
    }
}

void check_values(const Graph& graph, const Level& level) {
    for (const Value& v : graph.values) {
        for (const std::int64_t d : v.shape) {
            if (d < 0 || (d == 0 && v.type != DType::shape && !level.empty_tensors)) {
                fail_value(v, fmt::format("has shape {}, but every dimension must be at least 1", to_string(v.shape)));
            }
        }
        if (!v.is_constant()) continue;
        const std::size_t expected = static_cast<std::size_t>(element_count(v.shape)) * size_of(v.type);
        if (v.data->size() != expected) {
            fail_value(v, fmt::format("constant of type {} and shape {} needs {} bytes, but has {}", name_of(v.type),
                                      to_string(v.shape), expected, v.data->size()));
        }
    }
}

void check_variables(const Graph& graph, const Level& level) {
    for (const Variable& v : graph.variables) {
        const auto fail = [&](const std::string& what) {
            throw Error(ErrorCode::bad_model, fmt::format("variable '{}': {}", v.name, what), {}, v.name);
        };
        if (graph.find_variable(v.name) != &v) fail("it is declared twice");
        if (v.type == DType::shape) fail("it cannot have type shape");
        if (v.shape.size() > static_cast<std::size_t>(level.max_rank)) {
            fail(fmt::format("its rank is {}, but level {} allows {}", v.shape.size(), level.name, level.max_rank));
        }
        if (std::any_of(v.shape.begin(), v.shape.end(),
                        [&](std::int64_t d) { return d < (level.empty_tensors ? 0 : 1); })) {
            fail(fmt::format("has shape {}, but every dimension must be at least 1", to_string(v.shape)));
        }
        const std::size_t expected = static_cast<std::size_t>(element_count(v.shape)) * size_of(v.type);
        if (v.initial && v.initial->size() != expected) {
            fail(fmt::format("its initial value of type {} and shape {} needs {} bytes, but has {}", name_of(v.type),
                             to_string(v.shape), expected, v.initial->size()));
        }
    }
}

}  // namespace

void check_graph(const Graph& graph, const Level& level) {
    if (graph.outputs.empty()) throw Error(ErrorCode::bad_model, fmt::format("graph '{}' has no output", graph.name));
    check_region(graph, level);
}

void check_region(const Graph& graph, const Level& level) {
    check_values(graph, level);
    check_variables(graph, level);
    check_interface(graph, graph.inputs, "input");
    check_interface(graph, graph.outputs, "output");

    std::vector<bool> available(graph.values.size(), false);
    for (ValueId id = 0; id < graph.values.size(); ++id) available[id] = graph.values[id].is_constant();
    for (const ValueId id : graph.inputs) {
        if (graph.value(id).is_constant()) fail_value(graph.value(id), "is a graph input and a constant");
        if (available[id]) fail_value(graph.value(id), "is listed twice as graph input");
        available[id] = true;
    }
    for (NodeId n = 0; n < graph.nodes.size(); ++n) {
        const NodeView view(graph, n);
        for (const std::vector<ValueId>* ids : {&view.node().inputs, &view.node().outputs}) {
            for (const ValueId id : *ids) {
                if (id >= graph.values.size()) view.fail(fmt::format("it names value {}, which does not exist", id));
            }
        }
        for (const ValueId id : view.node().inputs) {
            if (!available[id])
                view.fail(fmt::format("input '{}' is not computed before it is used", graph.value(id).name),
                          graph.value(id).name);
        }
        for (const ValueId id : view.node().outputs) {
            const Value& v = graph.value(id);
            if (available[id]) view.fail(fmt::format("output '{}' has a value already", v.name), v.name);
            if (v.producer != n) view.fail(fmt::format("output '{}' names another producer", v.name), v.name);
            available[id] = true;
        }
        check_node(view, level);
    }
    for (const ValueId id : graph.outputs) {
        if (!available[id]) fail_value(graph.value(id), "is a graph output, but nothing computes it");
    }
}

}  // namespace tosavk

// The table of error graphs: elementwise operators, reductions, and what holds for every operator.
#include "verify/conformance/error_graphs.hpp"

#include "ops/print.hpp"
#include "verify/conformance/breaking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tosavk::conformance {
namespace breaking {

void set_constant(Graph& g, std::size_t k, DType type, const Shape& shape, std::span<const std::int64_t> values) {
    const std::vector<double> reals(values.begin(), values.end());
    Value value;
    value.name = fmt::format("broken_{}_{}", k, g.values.size());
    value.type = type;
    value.shape = shape;
    value.data = is_float(type) ? encode_reals(type, reals) : encode_ints(type, values);
    g.values.push_back(std::move(value));
    node(g).inputs.at(k) = static_cast<ValueId>(g.values.size() - 1);
}

void set_values(Graph& g, std::size_t k, const std::vector<std::int64_t>& values) {
    set_constant(g, k, operand(g, k).type, {static_cast<std::int64_t>(values.size())}, values);
}

void set_shape(Graph& g, std::size_t k, const Shape& shape) {
    const Value& old = operand(g, k);
    if (!old.is_constant()) {
        g.values.at(node(g).inputs.at(k)).shape = shape;
        return;
    }
    const std::vector<std::int64_t> zeros(static_cast<std::size_t>(element_count(shape)), 0);
    set_constant(g, k, old.type, shape, zeros);
}

void add_operand(Graph& g, DType type, const Shape& shape) {
    Value value;
    value.name = fmt::format("added_{}", g.values.size());
    value.type = type;
    value.shape = shape;
    g.values.push_back(std::move(value));
    const auto id = static_cast<ValueId>(g.values.size() - 1);
    g.inputs.push_back(id);
    node(g).inputs.push_back(id);
}

bool refit(Graph& g) {
    try {
        const std::vector<Shape> shapes = op_def(node(g).op).infer(NodeView(g, 0));
        for (std::size_t k = 0; k < shapes.size(); ++k) output(g, k).shape = shapes[k];
        return true;
    } catch (const Error&) {
        return false;
    }
}

bool wrong_output(Graph& g, Random& random) {
    Shape& shape = output(g).shape;
    if (shape.empty()) shape.push_back(2);
    else ++shape[pick_axis(random, shape)];
    return true;
}

Apply zero_point_of_one(std::size_t k) {
    return [k](Graph& g, Random&) {
        set_values(g, k, {1});
        return true;
    };
}

namespace {

bool not_i8(const TypeRow& row) { return row.types.at(0) != DType::i8; }

/// Operands a and b stop being broadcastable, or the output is not what they give.
Apply broken_broadcast(std::size_t a, std::size_t b) {
    return [a, b](Graph& g, Random& random) {
        Shape left = operand(g, a).shape, right = operand(g, b).shape;
        const std::int64_t way = left.empty() ? 0 : pick(random, 0, 2);
        if (way == 0) return wrong_output(g, random);
        if (way == 1) {
            const std::size_t axis = pick_axis(random, left);
            left[axis] = 3;
            right[axis] = 4;
        } else {
            right.insert(right.begin(), 1);  // ranks are never promoted
        }
        set_shape(g, a, left);
        set_shape(g, b, right);
        return true;
    };
}

bool axis_outside(Graph& g, Random& random) {
    const auto rank = static_cast<std::int32_t>(operand(g, 0).shape.size());
    const std::array<std::int32_t, 4> wrong{-1, rank, rank + 1, std::numeric_limits<std::int32_t>::min()};
    attrs(g).axis = wrong[static_cast<std::size_t>(pick(random, 0, 3))];
    return true;
}

void add_pointwise_errors(std::vector<ErrorGraph>& all) {
    for (const Op op :
         {Op::add, Op::arithmetic_right_shift, Op::bitwise_and, Op::bitwise_or, Op::bitwise_xor, Op::intdiv,
          Op::logical_and, Op::logical_left_shift, Op::logical_right_shift, Op::logical_or, Op::logical_xor,
          Op::maximum, Op::minimum, Op::mul, Op::pow, Op::sub, Op::equal, Op::greater, Op::greater_equal}) {
        Entries(op, all).add("output is not the broadcast of input1 and input2", broken_broadcast(0, 1));
    }
    Entries(Op::select, all).add("output is not the broadcast of the three inputs", [](Graph& g, Random& random) {
        return (pick(random, 0, 1) == 0 ? broken_broadcast(0, 1) : broken_broadcast(1, 2))(g, random);
    });
    Entries(Op::clamp, all)
        .add("min_val > max_val",
             [](Graph& g, Random&) {
                 attrs(g).max_val = 1;
                 attrs(g).min_val = 2;
                 return true;
             })
        .add(
            "min_val or max_val is NaN",
            [](Graph& g, Random& random) {
                (pick(random, 0, 1) == 0 ? attrs(g).min_val : attrs(g).max_val) = std::nan("");
                return true;
            },
            [](const TypeRow& row) { return is_float(row.types[0]); });
    Entries(Op::negate, all)
        .add("input1_zp is not 0 and the type is not i8", zero_point_of_one(1), not_i8)
        .add("output_zp is not 0 and the type is not i8", zero_point_of_one(2), not_i8);
    Entries(Op::matmul, all)
        .add(
            "A_zp or B_zp is not 0 and the type is not i8",
            [](Graph& g, Random& random) { return zero_point_of_one(pick(random, 0, 1) == 0 ? 2 : 3)(g, random); },
            not_i8);
}

void add_reduction_errors(std::vector<ErrorGraph>& all) {
    Entries(Op::argmax, all)
        .add("axis is not in the input's rank", axis_outside)
        .add("output is not the input without the axis", wrong_output);
    for (const Op op :
         {Op::reduce_all, Op::reduce_any, Op::reduce_max, Op::reduce_min, Op::reduce_product, Op::reduce_sum}) {
        Entries(op, all)
            .add("axis is not in the input's rank", axis_outside)
            .add("output's axis is not of size 1", [](Graph& g, Random&) {
                output(g).shape.at(static_cast<std::size_t>(attrs(g).axis)) = 2;
                return true;
            });
    }
}

// ---- rules for the arguments of every operator --------------------------------------------------------------------

/// A type that the operator's first operand has in no row.
std::optional<DType> foreign_type(const OpDef& def) {
    if (def.inputs.empty()) return std::nullopt;
    for (std::size_t v = 0; v < def.type_vars.size(); ++v) {
        if (std::string_view(def.type_vars[v]) != def.inputs[0].type) continue;
        for (int t = 0; t < static_cast<int>(DType::shape); ++t) {
            const auto type = static_cast<DType>(t);
            const bool used = std::any_of(def.rows.begin(), def.rows.end(),
                                          [&](const TypeRow& row) { return row.types.at(v) == type; });
            if (!used) return type;
        }
    }
    return std::nullopt;
}

void add_argument_errors(const OpDef& def, std::vector<ErrorGraph>& all) {
    if (def.inputs.empty() || def.rows.empty() || def.op == Op::variable_write) return;  // add_control_errors has it
    const auto add = [&](Kind kind, std::string error_if, Apply apply) {
        all.push_back({def.op, kind, std::move(error_if), nullptr, std::move(apply)});
    };
    add(Kind::argument, "an operand is missing", [](Graph& g, Random&) {
        node(g).inputs.clear();
        return true;
    });
    if (const std::optional<DType> type = foreign_type(def)) {
        add(Kind::argument, "the types are no row of the operator", [type = *type](Graph& g, Random&) {
            g.values.at(node(g).inputs.at(0)).type = type;
            return true;
        });
    }
    if (def.inputs[0].max_rank >= 0) {
        add(Kind::argument, "the rank of the first operand is not the operator's", [](Graph& g, Random& random) {
            Shape shape = operand(g, 0).shape;
            if (pick(random, 0, 1) == 0) shape.insert(shape.begin(), 1);
            else shape.pop_back();
            set_shape(g, 0, shape);
            return true;
        });
    } else {
        add(Kind::level, "the rank of the operands exceeds MAX_RANK", [&def](Graph& g, Random&) {
            for (std::size_t k = 0; k < node(g).inputs.size(); ++k) {
                const ArgDef& arg = def.inputs[std::min(k, def.inputs.size() - 1)];
                Shape shape = operand(g, k).shape;
                if (arg.max_rank >= 0 || arg.access == Access::host) continue;
                shape.insert(shape.begin(), 7 - shape.size(), 1);
                set_shape(g, k, shape);
            }
            refit(g);
            return true;
        });
    }
}

}  // namespace
}  // namespace breaking

std::vector<ErrorGraph> error_graphs() {
    std::vector<ErrorGraph> all;
    breaking::add_window_errors(all);
    breaking::add_pointwise_errors(all);
    breaking::add_reduction_errors(all);
    breaking::add_movement_errors(all);
    breaking::add_rescale_errors(all);
    breaking::add_control_errors(all);
    breaking::add_own_arithmetic_errors(all);
    breaking::add_own_indexed_errors(all);
    breaking::add_own_suppress_errors(all);
    for (const OpDef& def : registry()) breaking::add_argument_errors(def, all);
    std::erase_if(all, [](const ErrorGraph& entry) {
        const OpDef* def = find_op(entry.op);
        return !def || (entry.fits && std::none_of(def->rows.begin(), def->rows.end(), entry.fits));
    });
    return all;
}

std::string refusal_fault(const Graph& graph, std::string_view op) {
    try {
        check_graph(graph, level_8k);
    } catch (const Error& error) {
        const std::string message = error.what();
        if (error.code() != ErrorCode::bad_model && error.code() != ErrorCode::unsupported)
            return fmt::format("it was refused with error code {}: {}", static_cast<int>(error.code()), message);
        if (message.find(op) == std::string::npos || message.size() < op.size() + 10)
            return fmt::format("the refusal does not name the operator: '{}'", message);
        return {};
    } catch (const std::exception& error) {
        return fmt::format("the check broke down: {}", error.what());
    }
    return "the graph was accepted";
}

ErrorResult run_error_graph(const ErrorGraph& entry, std::uint64_t seed, int per_row) {
    constexpr int attempts = 60;
    const OpDef& def = op_def(entry.op);
    ErrorResult result;
    const auto fail = [&](const TypeRow& row, std::string what) {
        if (result.failures++ == 0)
            result.detail = fmt::format("{} ({}), {}: {}", def.name, row_text(row), entry.error_if, what);
    };
    for (const TypeRow& row : def.rows) {
        if (entry.fits && !entry.fits(row)) continue;
        for (int n = 0; n < per_row; ++n) {
            ++result.cases;
            std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(n));
            bool broken = false;
            for (int attempt = 0; attempt < attempts && !broken; ++attempt) {
                Graph graph = random_case(def, row, random).graph;
                if (!entry.apply(graph, random)) continue;
                broken = true;
                const std::string fault = refusal_fault(graph, def.name);
                if (!fault.empty()) fail(row, fault + "\n" + print_graph(graph));
            }
            if (!broken) fail(row, "no graph could be broken this way");
        }
    }
    return result;
}

}  // namespace tosavk::conformance

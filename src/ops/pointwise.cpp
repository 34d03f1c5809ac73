#include "ops/pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tosavk::pointwise {

namespace {

OpDef define(Op op, std::vector<ArgDef> inputs, std::vector<TypeRow> rows, InferFn infer, ExprFn expression,
             ReferenceFn reference, ToleranceFn tolerance) {
    OpDef def;
    def.op = op;
    def.name = name_of(op).data();
    def.type_vars = {"in_out_t"};
    def.inputs = std::move(inputs);
    def.outputs = {{"output", "in_out_t"}};
    def.rows = std::move(rows);
    def.infer = infer;
    def.expression = expression;
    def.reference = reference;
    def.tolerance = tolerance;
    return def;
}

Shape broadcast(const NodeView& view, const Shape& a, const Shape& b) {
    Shape out;
    if (!broadcast_shape(a, b, out)) {
        std::string where;
        for (std::size_t d = 0; where.empty() && d < a.size() && a.size() == b.size(); ++d)
            if (a[d] != b[d] && a[d] != 1 && b[d] != 1)
                where = fmt::format("; dimension {} is {} and {}", d, a[d], b[d]);
        view.fail(
            fmt::format("inputs of shapes {} and {} cannot be broadcast to one shape (ranks must be equal, "
                        "dimensions equal or 1{})",
                        to_string(a), to_string(b), where));
    }
    return out;
}

}  // namespace

std::vector<Shape> same_shape(const NodeView& view) { return {view.in(0).shape}; }

std::vector<Shape> broadcast2(const NodeView& view) { return {broadcast(view, view.in(0).shape, view.in(1).shape)}; }

std::vector<Shape> broadcast3(const NodeView& view) { return {broadcast(view, broadcast2(view)[0], view.in(2).shape)}; }

OpDef unary(Op op, std::vector<TypeRow> rows, ExprFn expression, ReferenceFn reference, ToleranceFn tolerance) {
    return define(op, {{"input1", "in_out_t"}}, std::move(rows), same_shape, expression, reference, tolerance);
}

OpDef binary(Op op, std::vector<TypeRow> rows, ExprFn expression, ReferenceFn reference, ToleranceFn tolerance) {
    return define(op, {{"input1", "in_out_t"}, {"input2", "in_out_t"}}, std::move(rows), broadcast2, expression,
                  reference, tolerance);
}

void check_single(const NodeView& view, std::size_t k, const char* name) {
    if (view.in(k).shape == Shape{1}) return;
    view.fail(fmt::format("operand '{}' has shape {}, but must have shape 1", name, to_string(view.in(k).shape)),
              view.in(k).name);
}

std::optional<std::int64_t> constant_value(const NodeView& view, std::size_t k) {
    const Value& v = view.in(k);
    if (!v.is_constant() || is_float(v.type) || element_count(v.shape) != 1) return std::nullopt;
    return decode_ints(v.type, *v.data)[0];
}

std::string infix(ExprContext& c, const char* op) { return fmt::format("({} {} {})", c.in(0), op, c.in(1)); }
std::string arithmetic(ExprContext& c, const char* op, const char* name) {
    const DType type = c.view().out().type;
    return type == DType::fp16 ? call2(c, fmt::format("{}_fp16", name).c_str())
         : type == DType::i32  ? call2(c, fmt::format("wrapping_{}", name).c_str())
                               : infix(c, op);
}
std::string call(ExprContext& c, const char* function) { return fmt::format("{}({})", function, c.in(0)); }
std::string call2(ExprContext& c, const char* function) {
    return fmt::format("{}({}, {})", function, c.in(0), c.in(1));
}

std::string wrap_to(DType type, const std::string& expr) {
    if (type == DType::i8) return "wrap_i8(" + expr + ")";
    if (type == DType::i16) return "wrap_i16(" + expr + ")";
    return expr;
}

std::string clamp_to(DType type, const std::string& expr) {
    if (type != DType::i8 && type != DType::i16) return expr;
    return fmt::format("clamp({}, {}, {})", expr, min_of(type), max_of(type));
}

std::string uniform_operand(ExprContext& c, std::size_t k) {
    const std::optional<std::int64_t> known = c.known(k);
    return known ? fmt::format("ivec4({})", c.param(static_cast<std::int32_t>(*known))) : c.in(k);
}

std::string zero_point_term(ExprContext& c, std::size_t k, const char* sign, std::int32_t mask) {
    if (const std::optional<std::int64_t> known = c.known(k)) {
        const auto value = static_cast<std::int32_t>(*known) & mask;
        return value == 0 ? std::string() : fmt::format(" {} {}", sign, c.param(value));
    }
    return mask == -1 ? fmt::format(" {} {}", sign, c.in(k)) : fmt::format(" {} ({} & {})", sign, c.in(k), mask);
}

std::vector<std::size_t> broadcast_indices(const Shape& from, const Shape& to) {
    std::vector<std::size_t> step(to.size(), 0);  // of each output dimension in `from`; 0 where it repeats
    std::size_t stride = 1;
    for (std::size_t i = from.size(); i-- > 0;) {
        const std::size_t d = to.size() - from.size() + i;
        if (from[i] != 1) step[d] = stride;
        stride *= static_cast<std::size_t>(from[i]);
    }
    std::vector<std::size_t> indices(static_cast<std::size_t>(element_count(to)));
    std::vector<std::int64_t> coordinate(to.size(), 0);
    std::size_t at = 0;
    for (std::size_t& index : indices) {
        index = at;
        for (std::size_t d = to.size(); d-- > 0;) {
            at += step[d];
            if (++coordinate[d] < to[d]) break;
            at -= step[d] * static_cast<std::size_t>(to[d]);
            coordinate[d] = 0;
        }
    }
    return indices;
}

}  // namespace tosavk::pointwise

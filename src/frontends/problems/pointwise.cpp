// Elementwise operators as problem lines, straight from the registry, and what may follow any operator.
#include "base/text.hpp"
#include "frontends/problems/operators.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

namespace tosavk {

namespace {

/// The type that a type variable has in a row; other names are types themselves.
DType type_in(const OpDef& def, const TypeRow& row, std::string_view name) {
    for (std::size_t i = 0; i < def.type_vars.size(); ++i)
        if (def.type_vars[i] == name) return row.types[i];
    return *problem_type(name == "i8" || name == "bool" ? name : "i32");
}

/// The operand that the line's type speaks of: SELECT's first one is always bool.
std::size_t typed_operand(const OpDef& def) {
    return std::string_view(def.inputs[0].type) == "bool" && def.inputs.size() == 3 ? 1 : 0;
}

const TypeRow* row_of(const OpDef& def, DType type) {
    for (const TypeRow& row : def.rows)
        if (type_in(def, row, def.inputs[typed_operand(def)].type) == type) return &row;
    return nullptr;
}

/// Second operands that the specification keeps in a range are constants in it.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(Op op, DType type) {
    const auto width = static_cast<std::int64_t>(size_of(type)) * 8;
    switch (op) {
        case Op::arithmetic_right_shift:
        case Op::logical_left_shift:
        case Op::logical_right_shift: return {{0, width - 1}};
        case Op::intdiv: return {{1, 1000}};
        default: return std::nullopt;
    }
}

/// The operand that a follower takes besides what it follows: one graph input per type and shape.
ValueId shared_operand(Layers& layers, DType type, const Shape& shape) {
    for (const ValueId id : layers.builder().graph().inputs) {
        const Value& known = layers.value(id);
        if (known.name.rfind("other", 0) == 0 && known.type == type && known.shape == shape) return id;
    }
    return layers.input(fmt::format("other_{}", layers.builder().graph().inputs.size()), type, shape);
}

ValueId second_operand(Op op, Layers& layers, DType type, const Shape& shape) {
    if (const auto range = range_of(op, type))
        return layers.integers("amount", type, shape, range->first, range->second);
    return shared_operand(layers, type, shape);
}

bool has_two_operands(const OpDef& def) {
    return def.inputs.size() >= 2 && std::string_view(def.inputs[0].type) == def.inputs[1].type && !def.inputs[1].ctc;
}

/// The operator on `x` and, where it takes one, a second operand.
ValueId apply(const OpDef& def, Line& line, Layers& layers, ValueId x, std::optional<ValueId> second) {
    const DType type = layers.type(x);
    const TypeRow* row = row_of(def, type);
    if (!row) line.fail(fmt::format("{} does not take {}", lower(def.name), problem_type_name(type)));
    const DType out = type_in(def, *row, def.outputs[0].type);
    std::vector<ValueId> operands{x};
    if (has_two_operands(def))
        operands.push_back(second ? *second : second_operand(def.op, layers, type, layers.shape(x)));
    Attributes attrs;
    if (def.op == Op::mul) operands.push_back(layers.builder().scalar(DType::i8, 0));
    if (def.op == Op::negate) operands.insert(operands.end(), 2, layers.builder().scalar(type, 0));
    const ValueId y = layers.builder().add1(def.op, operands, out, attrs);
    const double growth = def.op == Op::add || def.op == Op::sub ? 1.42 : def.op == Op::mul ? layers.magnitude(x) : 1;
    layers.set_magnitude(y, layers.magnitude(x) * growth);
    return y;
}

}  // namespace

bool is_pointwise(Op op) {
    const OpDef* def = find_op(op);
    return def && def->expression && op != Op::cast && op != Op::rescale && op != Op::table;
}

std::vector<ValueId> build_pointwise(Op op, Line& line, Layers& layers) {
    const OpDef& def = op_def(op);
    const Shape shape = line.take_shape("shape");
    if (!row_of(def, line.type()))
        line.fail(fmt::format("{} does not take {}", line.op(), problem_type_name(line.type())));
    if (op == Op::clamp) return {layers.clamp(layers.input("input", line.type(), shape))};
    const Shape second = def.inputs.size() > 1 && !def.inputs[1].ctc ? line.take_shape_if_any().value_or(shape) : shape;
    if (op == Op::select) {
        const ValueId condition = layers.input("condition", DType::boolean, shape);
        const ValueId a = layers.input("on_true", line.type(), second),
                      b = layers.input("on_false", line.type(), shape);
        return {layers.builder().add1(op, {condition, a, b}, line.type())};
    }
    const ValueId x = layers.input("input", line.type(), shape);
    std::optional<ValueId> other;
    if (has_two_operands(def)) other = second_operand(op, layers, line.type(), second);
    return {apply(def, line, layers, x, other)};
}

ProblemHelp pointwise_help(Op op) {
    const OpDef& def = op_def(op);
    DType type = type_in(def, def.rows[0], def.inputs[typed_operand(def)].type);
    if (row_of(def, DType::fp32)) type = DType::fp32;
    else if (row_of(def, DType::i32)) type = DType::i32;
    const std::string name = lower(def.name), begin = fmt::format("{} {}", name, problem_type_name(type));
    const bool two = op == Op::select || has_two_operands(def);
    return {name, fmt::format("{} TYPE SHAPE {}[FOLLOWER...]", name, two ? "[SHAPE] " : ""), begin + " 4194304",
            two ? begin + " 3x5x7 1x5x1" : begin + " 3x5x7"};
}

ValueId follow(Line& line, Layers& layers, ValueId value) {
    while (const auto word = line.take_next_word()) {
        std::string name = *word;
        std::int64_t times = 1;
        if (const std::size_t star = name.find('*'); star != std::string::npos) {
            const std::string count = name.substr(star + 1);
            const bool digits =
                !count.empty() && count.size() <= 4 && count.find_first_not_of("0123456789") == std::string::npos;
            if (!digits || std::stoll(count) < 1)
                line.fail(fmt::format("the number of times in '{}' is not 1 to 9999", *word));
            times = std::stoll(count);
            name.resize(star);
        }
        const OpDef* def = find_op(upper(name));
        for (; times > 0; --times) {
            if (name == "rescale") {
                const DType from = layers.type(value);
                if (!is_integer(from))
                    line.fail(fmt::format("rescale takes integers, not {}", problem_type_name(from)));
                value = layers.requantize(value, from == DType::i48 ? DType::i16 : DType::i8);
            } else if (name == "clamp" || name == "relu6") {
                value = layers.clamp(value);
            } else if (name == "relu") {
                value = layers.clamp(value, std::numeric_limits<double>::infinity());
            } else if (def && is_pointwise(def->op) && def->op != Op::select) {
                value = apply(*def, line, layers, value, std::nullopt);
            } else {
                line.fail(
                    fmt::format("'{}' is no follower; followers are rescale, clamp, relu, relu6 and the elementwise "
                                "operators",
                                name));
            }
        }
    }
    return value;
}

}  // namespace tosavk

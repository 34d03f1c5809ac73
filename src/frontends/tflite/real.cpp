// Elementwise operators of floats, some of int32 too: DIV, SQRT and other functions, FLOOR_DIV, FLOOR_MOD, PRELU,
// HARD_SWISH, ROUND; SELECT; CAST.
#include "frontends/tflite/lowering.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace tosavk {

namespace {

using tflite::BuiltinOperator;
using Type = tflite::TensorType;

[[noreturn]] void refuse_types(const Lowering& l) {
    l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
}

/// Operands 0 and 1 of one type that the output has too, FLOAT32 or INT32.
std::array<ValueId, 2> numbers(Lowering& l) {
    const Type type = l.out().type;
    if (l.in(0).type != type || l.in(1).type != type || (type != Type::FLOAT32 && type != Type::INT32)) refuse_types(l);
    std::array<ValueId, 2> operands{l.value(0), l.value(1)};
    l.match_ranks(operands[0], operands[1]);
    return operands;
}

ValueId real(Lowering& l) {
    if (l.in(0).type != Type::FLOAT32 || l.out().type != Type::FLOAT32) refuse_types(l);
    return l.value(0);
}

ValueId compare(Lowering& l, Op op, ValueId x, double with) {
    return l.add(op, {x, l.splat(x, l.type(x), with)}, DType::boolean);
}

Attributes floored() {
    Attributes attrs;
    attrs.floored = true;
    return attrs;
}

void lower_function(Lowering& l) {
    const ValueId x = real(l);
    switch (l.op().code) {
        case BuiltinOperator::LOG: return l.set(l.add(Op::log, {x}, DType::fp32));
        case BuiltinOperator::SIN: return l.set(l.add(Op::sin, {x}, DType::fp32));
        case BuiltinOperator::COS: return l.set(l.add(Op::cos, {x}, DType::fp32));
        case BuiltinOperator::FLOOR: return l.set(l.add(Op::floor, {x}, DType::fp32));
        case BuiltinOperator::CEIL: return l.set(l.add(Op::ceil, {x}, DType::fp32));
        case BuiltinOperator::RSQRT: return l.set(l.add(Op::rsqrt, {x}, DType::fp32));
        case BuiltinOperator::SQRT: return l.set(l.add(Op::sqrt, {x}, DType::fp32));
        case BuiltinOperator::RELU_0_TO_1: return l.set(l.clamp(x, 0, 1));
        default: l.fail("it is no function of one number");
    }
}

void lower_square(Lowering& l) {
    const DType type = l.dtype(l.out());
    if (l.in(0).type != l.out().type || (type != DType::fp32 && type != DType::i32)) refuse_types(l);
    const ValueId x = l.value(0);
    l.set(l.mul(x, x, type));
}

void lower_squared_difference(Lowering& l) {
    const auto [a, b] = numbers(l);
    const ValueId difference = l.add(Op::sub, {a, b}, l.type(a));
    l.set(l.mul(difference, difference, l.type(a)));
}

void lower_div(Lowering& l) {
    const auto [a, b] = numbers(l);
    const auto* options = l.options<tflite::DivOptions>();
    const auto activation = options ? options->fused_activation_function() : tflite::ActivationFunctionType::NONE;
    const ValueId quotient = l.add(Op::divide, {a, b}, l.type(a));
    if (l.type(a) == DType::fp32) return l.set(l.activate_float(quotient, activation));
    if (activation != tflite::ActivationFunctionType::NONE)
        l.unsupported("a fused activation on INT32 is not supported");
    l.set(quotient);
}

void lower_floor_div_mod(Lowering& l) {
    const auto [a, b] = numbers(l);
    const DType type = l.type(a);
    if (l.op().code == BuiltinOperator::FLOOR_MOD) return l.set(l.add(Op::remainder, {a, b}, type, floored()));
    if (type == DType::i32) return l.set(l.add(Op::divide, {a, b}, type, floored()));
    // A rounded quotient may have reached the next integer. What the exact remainder leaves divides without a rest, and
    // is next to an integer after both roundings. Where there is none (a divisor of 0 or infinity) the quotient says
    // all.
    const ValueId quotient = l.add(Op::divide, {a, b}, type);
    const ValueId rest = l.add(Op::remainder, {a, b}, type, floored());
    const ValueId whole = l.add(Op::divide, {l.add(Op::sub, {a, rest}, type), b}, type);
    const ValueId nearest = l.add(Op::floor, {l.add(Op::add, {whole, l.splat(whole, type, 0.5)}, type)}, type);
    const ValueId ordinary = l.add(Op::equal, {whole, whole}, DType::boolean);  // no NaN
    const ValueId large = compare(l, Op::greater_equal, l.add(Op::abs, {whole}, type), 0x1p22);
    const ValueId exact = l.add(Op::select, {large, whole, nearest}, type);
    l.set(l.add(Op::select, {ordinary, exact, l.add(Op::floor, {quotient}, type)}, type));
}

void lower_prelu(Lowering& l) {
    if (l.in(0).type != Type::FLOAT32 || l.out().type != Type::FLOAT32) refuse_types(l);
    ValueId x = l.value(0), alpha = l.float_value(1);
    l.match_ranks(x, alpha);
    const ValueId positive = compare(l, Op::greater_equal, x, 0);
    l.set(l.add(Op::select, {positive, x, l.mul(x, alpha, DType::fp32)}, DType::fp32));
}

void lower_hard_swish(Lowering& l) {
    const ValueId x = real(l);
    const ValueId gate = l.clamp(l.add(Op::add, {x, l.splat(x, DType::fp32, 3)}, DType::fp32), 0, 6);
    l.set(l.add(Op::divide, {l.mul(x, gate, DType::fp32), l.splat(x, DType::fp32, 6)}, DType::fp32));
}

void lower_round(Lowering& l) {
    const ValueId x = real(l);
    // CAST rounds half to even; from 2^23 on every float is an integer.
    const ValueId large = compare(l, Op::greater_equal, l.add(Op::abs, {x}, DType::fp32), 0x1p23);
    const ValueId rounded = l.cast(l.cast(l.clamp(x, -0x1p23, 0x1p23), DType::i32), DType::fp32);
    const ValueId number = l.add(Op::equal, {x, x}, DType::boolean);
    l.set(l.add(Op::select, {number, l.add(Op::select, {large, x, rounded}, DType::fp32), x}, DType::fp32));
}

void lower_select(Lowering& l) {
    if (l.in(0).type != Type::BOOL || l.in(1).type != l.out().type || l.in(2).type != l.out().type) refuse_types(l);
    l.require_same_quant(l.in(1), l.out());
    l.require_same_quant(l.in(2), l.out());
    ValueId condition = l.value(0), a = l.value(1), b = l.value(2);
    // SELECT's condition of rank 1 chooses rows.
    const std::size_t rank = l.shape(a).size();
    if (l.op().code == BuiltinOperator::SELECT && l.shape(condition).size() == 1 && rank > 1) {
        Shape rows(rank, 1);
        rows[0] = l.shape(condition)[0];
        condition = l.reshape(condition, rows);
    }
    l.match_ranks(a, b);
    l.match_ranks(condition, a);
    l.match_ranks(a, b);
    l.set(l.add(Op::select, {condition, a, b}, l.type(a)));
}

void lower_cast(Lowering& l) {
    const DType from = l.dtype(l.in(0)), to = l.dtype(l.out());
    for (const DType type : {from, to}) {
        if (type != DType::fp32 && type != DType::i32 && type != DType::i16 && type != DType::i8 &&
            type != DType::boolean)
            refuse_types(l);
    }
    ValueId x = l.value(0);
    if (from == to) return l.set(x);
    if (to == DType::boolean) {
        const ValueId wide = is_float(from) ? x : l.cast(x, DType::i32);
        return l.set(l.add(Op::logical_not, {compare(l, Op::equal, wide, 0)}, DType::boolean));
    }
    if (from == DType::fp32) {  // CAST rounds to the nearest, TFLite towards zero; NaN is the largest number to it
        const ValueId number = l.add(Op::equal, {x, x}, DType::boolean);
        x = l.add(Op::select, {number, x, l.splat(x, DType::fp32, std::numeric_limits<double>::infinity())},
                  DType::fp32);
        const ValueId down = l.add(Op::floor, {x}, DType::fp32), up = l.add(Op::ceil, {x}, DType::fp32);
        x = l.add(Op::select, {compare(l, Op::greater_equal, x, 0), down, up}, DType::fp32);
        x = l.cast(x, DType::i32);
        if (to != DType::i32) {  // at the ends of the type's range, not around them
            x = l.add(Op::maximum, {x, l.splat(x, DType::i32, static_cast<double>(min_of(to)))}, DType::i32);
            x = l.add(Op::minimum, {x, l.splat(x, DType::i32, static_cast<double>(max_of(to)))}, DType::i32);
        }
    } else if (from == DType::boolean && to == DType::fp32) {
        x = l.cast(x, DType::i32);
    }
    l.set(l.cast(x, to));
}

}  // namespace

OperatorRows real_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::LOG, lower_function},
        {B::SIN, lower_function},
        {B::COS, lower_function},
        {B::FLOOR, lower_function},
        {B::CEIL, lower_function},
        {B::RSQRT, lower_function},
        {B::SQRT, lower_function},
        {B::RELU_0_TO_1, lower_function},
        {B::SQUARE, lower_square},
        {B::SQUARED_DIFFERENCE, lower_squared_difference},
        {B::DIV, lower_div},
        {B::FLOOR_DIV, lower_floor_div_mod},
        {B::FLOOR_MOD, lower_floor_div_mod},
        {B::PRELU, lower_prelu},
        {B::HARD_SWISH, lower_hard_swish},
        {B::ROUND, lower_round},
        {B::SELECT, lower_select},
        {B::SELECT_V2, lower_select},
        {B::CAST, lower_cast},
    };
    return rows;
}

}  // namespace tosavk

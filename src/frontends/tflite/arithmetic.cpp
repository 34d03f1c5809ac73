// Arithmetic of two operands: ADD, SUB, MUL, MAXIMUM, MINIMUM, SQUARED_DIFFERENCE.
#include "frontends/tflite/elementwise.hpp"

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

using namespace elementwise;
using Activation = tflite::ActivationFunctionType;
using tflite::BuiltinOperator;
using T = tflite::TensorType;

// log2 of a scale that is a power of two to within TFLite's tolerance.
bool power_of_two(float scale, int& exponent) {
    const double log = std::log2(static_cast<double>(scale)), rounded = std::round(log);
    exponent = static_cast<int>(rounded);
    return std::abs(log - rounded) < 1e-3;
}

/// Both operands as i32, brought to the larger of their scales times two with `bits` more bits than they have.
struct Aligned {
    ValueId a, b;
    double twice_max;
};
Aligned align(Lowering& l, int bits) {
    const Quant qa = l.quant(l.in(0)), qb = l.quant(l.in(1));
    const double twice_max = 2 * static_cast<double>(std::max(qa.scale, qb.scale));
    const auto aligned = [&](ValueId x, const Quant& q) {
        return l.requantize(l.shift_left(x, q.zero_point, bits), DType::i32,
                            quantize_multiplier(static_cast<double>(q.scale) / twice_max), 0, 0);
    };
    const auto [a, b] = operands(l);
    return {aligned(a, qa), aligned(b, qb), twice_max};
}

/// INT16 whose output has no scale are numbers: results wrap, and are limited then.
bool plain_16(const Lowering& l) { return l.out().type == T::INT16 && l.out().scale.empty(); }

void set_plain_16(Lowering& l, ValueId wide, Activation activation) {
    const ValueId wrapped = l.cast(l.cast(wide, DType::i16), DType::i32);
    l.set(l.cast(activate_number(l, wrapped, activation), DType::i16));
}

// ---- ADD, SUB -----------------------------------------------------------------------------------------------------

void add_sub_quantized(Lowering& l, Op op, Activation activation, bool pot_scale) {
    const DType type = l.dtype(l.out());
    const Quant qa = l.quant(l.in(0)), qb = l.quant(l.in(1)), qo = l.quant(l.out());
    int ea = 0, eb = 0, eo = 0;
    if (type == DType::i16 && pot_scale && power_of_two(qa.scale, ea) && power_of_two(qb.scale, eb) &&
        power_of_two(qo.scale, eo)) {
        if (ea > eo || eb > eo || (ea != eo && eb != eo) || eo - ea > 31 || eo - eb > 31) {
            l.unsupported("power-of-two scales where no input has the output's scale are not supported");
        }
        const auto [a, b] = operands(l);
        const ValueId sum =
            binary(l, op, divide_by_power(l, l.widen(a, 0), eo - ea), divide_by_power(l, l.widen(b, 0), eo - eb));
        return l.set(l.activate_int(l.requantize(sum, type, unit_multiplier, 0, 0), activation, l.out()));
    }
    const int bits = type == DType::i8 ? 20 : 15;
    const Aligned aligned = align(l, bits);
    const ValueId sum = binary(l, op, aligned.a, aligned.b);
    const QuantizedMultiplier m =
        quantize_multiplier(aligned.twice_max / ((1 << bits) * static_cast<double>(qo.scale)));
    // The sum has up to 29 bits for int8 and 31 for int16; RESCALE takes 31 - exponent.
    if (m.exponent > (type == DType::i8 ? 2 : 0)) l.unsupported("the ratio of its scales is too large");
    l.set(l.activate_int(l.requantize(sum, type, m, 0, qo.zero_point), activation, l.out()));
}

void lower_add_sub(Lowering& l) {
    const bool sub = l.op().code == BuiltinOperator::SUB;
    const Op op = sub ? Op::sub : Op::add;
    Activation activation = Activation::NONE;
    bool pot_scale = true;
    if (sub) {
        if (const auto* o = l.options<tflite::SubOptions>())
            activation = o->fused_activation_function(), pot_scale = o->pot_scale_int16();
    } else if (const auto* o = l.options<tflite::AddOptions>()) {
        activation = o->fused_activation_function(), pot_scale = o->pot_scale_int16();
    }
    const T type = one_type(l, 2, {T::FLOAT32, T::INT8, T::UINT8, T::INT16, T::INT32, T::INT64});
    const bool plain = plain_16(l) && !sub;  // the runtime ends there
    if (type != T::FLOAT32 && type != T::INT32 && type != T::INT64 && !plain)
        return add_sub_quantized(l, op, activation, pot_scale);
    const auto [a, b] = operands(l);
    if (plain) return set_plain_16(l, binary(l, op, l.cast(a, DType::i32), l.cast(b, DType::i32)), activation);
    l.set(activate_number(l, binary(l, op, a, b), activation));
}

// ---- MUL, SQUARED_DIFFERENCE --------------------------------------------------------------------------------------

void multiply_complex(Lowering& l) {
    auto [a, b] = l.complex_value(0);
    auto [c, d] = l.complex_value(1);
    for (ValueId* x : {&a, &b}) {
        for (ValueId* y : {&c, &d}) l.match_ranks(*x, *y);
    }
    const auto product = [&](ValueId x, ValueId y) { return l.mul(x, y, DType::fp32); };
    l.set_complex(binary(l, Op::sub, product(a, c), product(b, d)), binary(l, Op::add, product(a, d), product(b, c)));
}

void lower_mul(Lowering& l) {
    const auto* options = l.options<tflite::MulOptions>();
    const Activation activation = options ? options->fused_activation_function() : Activation::NONE;
    if (l.out().type == T::COMPLEX64) {
        if (activation != Activation::NONE) l.unsupported("COMPLEX64 with an activation is not supported");
        return multiply_complex(l);
    }
    const T type = one_type(l, 2, {T::FLOAT32, T::INT8, T::UINT8, T::INT16, T::INT32, T::INT64});
    const auto [a, b] = operands(l);
    if (type == T::FLOAT32 || type == T::INT32 || type == T::INT64)
        return l.set(activate_number(l, l.mul(a, b, l.type(a)), activation));
    if (plain_16(l)) return set_plain_16(l, l.mul(l.widen(a, 0), l.widen(b, 0), DType::i32), activation);
    const Quant qa = l.quant(l.in(0)), qb = l.quant(l.in(1)), qo = l.quant(l.out());
    const float scale = qa.scale * qb.scale / qo.scale;  // TFLite multiplies the scales as floats
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(scale));
    const ValueId product = l.mul(l.widen(a, qa.zero_point), l.widen(b, qb.zero_point), DType::i32);
    const std::int64_t largest = type == T::INT16 ? 1 << 30 : 255 * 255;
    l.set(
        l.activate_int(requantize_up_to(l, largest, product, l.dtype(l.out()), m, qo.zero_point), activation, l.out()));
}

void lower_squared_difference(Lowering& l) {
    const T type = one_type(l, 2, {T::FLOAT32, T::INT32, T::INT8});
    if (type != T::INT8) {
        const auto [a, b] = operands(l);
        const ValueId difference = binary(l, Op::sub, a, b);
        return l.set(l.mul(difference, difference, l.type(a)));
    }
    constexpr int bits = 7;
    const Quant qo = l.quant(l.out());
    const Aligned aligned = align(l, bits);
    const ValueId difference = binary(l, Op::sub, aligned.a, aligned.b);
    const QuantizedMultiplier m =
        quantize_multiplier(aligned.twice_max * aligned.twice_max / ((1 << 2 * bits) * static_cast<double>(qo.scale)));
    // TFLite allows no ratio of 1 or more.
    if (m.exponent > 0) l.unsupported("the ratio of its scales is too large");
    l.set(l.requantize(l.mul(difference, difference, DType::i32), DType::i8, m, 0, qo.zero_point));
}

// ---- MAXIMUM, MINIMUM ---------------------------------------------------------------------------------------------

// TFLite compares the integers of quantized tensors whatever they mean.
void lower_maximum_minimum(Lowering& l) {
    one_type(l, 2, {T::FLOAT32, T::INT8, T::UINT8, T::INT16, T::INT32, T::INT64});
    const auto [a, b] = operands(l);
    const DType type = l.type(a);
    const bool largest = l.op().code == BuiltinOperator::MAXIMUM;
    if (type == DType::fp32) {
        // The first one if it is beyond the second: of NaN the second.
        const ValueId beyond = l.add(Op::greater, {largest ? a : b, largest ? b : a}, DType::boolean);
        return l.set(l.add(Op::select, {beyond, a, b}, type));
    }
    const Op op = largest ? Op::maximum : Op::minimum;
    l.set(l.cast(binary(l, op, l.cast(a, DType::i32), l.cast(b, DType::i32)), type));
}

}  // namespace

OperatorRows arithmetic_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::ADD, lower_add_sub, rounds_halves},
        {B::SUB, lower_add_sub, rounds_halves},
        {B::MUL, lower_mul, rounds_halves},
        {B::MAXIMUM, lower_maximum_minimum, rounds_halves},
        {B::MINIMUM, lower_maximum_minimum, rounds_halves},
        {B::SQUARED_DIFFERENCE, lower_squared_difference},
    };
    return rows;
}

}  // namespace tosavk

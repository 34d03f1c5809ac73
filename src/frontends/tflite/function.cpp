// Functions of one number: ABS, NEG, SIGN, SQUARE, SQRT, RSQRT, EXP, LOG, SIN, COS, CEIL, FLOOR, ROUND. Where TFLite
// refuses an integer while it runs (the root of a negative number), the result here is what 0 has.
#include "frontends/tflite/elementwise.hpp"
#include "frontends/tflite/fixed_point.hpp"

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

using namespace elementwise;
using tflite::BuiltinOperator;
using T = tflite::TensorType;

void lower_real_function(Lowering& l) {
    one_type(l, 1, {T::FLOAT32});
    const ValueId x = l.value(0);
    switch (l.op().code) {
        case BuiltinOperator::SIN: return l.set(l.add(Op::sin, {x}, DType::fp32));
        case BuiltinOperator::COS: return l.set(l.add(Op::cos, {x}, DType::fp32));
        case BuiltinOperator::FLOOR: return l.set(l.add(Op::floor, {x}, DType::fp32));
        case BuiltinOperator::CEIL: return l.set(l.add(Op::ceil, {x}, DType::fp32));
        default: l.fail("it is no function of one number");
    }
}

void lower_square(Lowering& l) {
    one_type(l, 1, {T::FLOAT32, T::INT32});
    const ValueId x = l.value(0);
    l.set(l.mul(x, x, l.type(x)));
}

void lower_round(Lowering& l) {
    one_type(l, 1, {T::FLOAT32});
    const ValueId x = l.value(0);
    // CAST rounds half to even; from 2^23 on every float is an integer.
    const ValueId large = compare(l, Op::greater_equal, l.add(Op::abs, {x}, DType::fp32), 0x1p23);
    const ValueId rounded = l.cast(l.cast(l.clamp(x, -0x1p23, 0x1p23), DType::i32), DType::fp32);
    l.set(choose(l, is_number(l, x), choose(l, large, x, rounded), x));
}

// ---- ABS, NEG, SIGN -----------------------------------------------------------------------------------------------

void lower_abs(Lowering& l) {
    const T type = one_type(l, 1, {T::FLOAT32, T::INT32, T::INT8, T::INT16});
    const ValueId x = l.value(0);
    if (type == T::FLOAT32 || type == T::INT32) return l.set(l.add(Op::abs, {x}, l.type(x)));
    if (type == T::INT16 && l.in(0).scale.empty())  // numbers: the smallest stays itself
        return l.set(l.cast(l.add(Op::abs, {l.cast(x, DType::i32)}, DType::i32), DType::i16));
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const QuantizedMultiplier m =
        in.scale == out.scale ? unit_multiplier : quantize_multiplier(static_cast<double>(in.scale / out.scale));
    if (type == T::INT8) {
        return l.set(table_8(l, [&](int q) {
            return std::int64_t{out.zero_point} + multiply_by_quantized(std::abs(q - in.zero_point), m, l.rounding());
        }));
    }
    const ValueId size = l.add(Op::abs, {l.widen(x, in.zero_point)}, DType::i32);
    l.set(requantize_up_to(l, 1 << 15, size, DType::i16, m, out.zero_point));
}

// TFLite negates the integer of a quantized number as it stands.
void lower_neg(Lowering& l) {
    one_type(l, 1, {T::FLOAT32, T::INT8, T::INT16, T::INT32, T::INT64});
    const ValueId x = l.value(0);
    const DType type = l.type(x);
    if (type == DType::fp32) return l.set(negate(l, x));
    // NEGATE ends at the largest of a type, but the smallest stays itself.
    const ValueId wide = l.cast(x, DType::i32);
    l.set(l.cast(binary(l, Op::sub, l.splat(wide, DType::i32, 0), wide), type));
}

void lower_sign(Lowering& l) {
    one_type(l, 1, {T::FLOAT32, T::INT32});
    const ValueId x = l.value(0);
    const auto number = [&](double v) { return l.splat(x, l.type(x), v); };
    const ValueId negative = l.add(Op::greater, {number(0), x}, DType::boolean);
    ValueId sign = choose(l, compare(l, Op::greater, x, 0), number(1), choose(l, negative, number(-1), number(0)));
    if (is_float(l.type(x))) sign = choose(l, is_number(l, x), sign, x);
    l.set(sign);
}

// ---- SQRT, RSQRT, EXP, LOG ----------------------------------------------------------------------------------------

void lower_sqrt(Lowering& l) {
    const T type = one_type(l, 1, {T::FLOAT32, T::INT8, T::INT16});
    if (type == T::FLOAT32) return l.set(l.add(Op::sqrt, {l.value(0)}, DType::fp32));
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const auto root = [&](int q) {
        const float x = in.scale * static_cast<float>(std::max(q - in.zero_point, 0));
        const float steps = std::min(std::sqrt(x) / out.scale, 1e6f);
        return static_cast<std::int64_t>(steps) + out.zero_point;  // towards zero
    };
    l.set(type == T::INT8 ? table_8(l, root) : table_16(l, root));
}

void lower_rsqrt(Lowering& l) {
    const T type = one_type(l, 1, {T::FLOAT32, T::INT8, T::INT16});
    if (type == T::FLOAT32) return l.set(l.add(Op::rsqrt, {l.value(0)}, DType::fp32));
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    if (type == T::INT16) {
        const float largest = static_cast<float>(max_of(DType::i16)) * out.scale;
        return l.set(table_of(l, [&](float x) { return x <= 0 ? largest : 1.0f / std::sqrt(x); }));
    }
    constexpr int fraction_bits = 20;
    const double scale = 1.0 / static_cast<double>(std::sqrt(in.scale) * out.scale);
    const QuantizedMultiplier m = quantize_multiplier(scale);
    l.set(table_8(l, [&](int q) {
        const int x = q - in.zero_point;
        if (x <= 0) return max_of(DType::i8);
        QuantizedMultiplier inverse = fixed_inverse_sqrt(x);
        inverse.exponent += fraction_bits;
        const std::int32_t root = multiply_by_quantized(1, inverse, l.rounding());
        return std::int64_t{out.zero_point} +
               multiply_by_quantized(root, {m.multiplier, m.exponent - fraction_bits}, l.rounding());
    }));
}

void lower_exp(Lowering& l) {
    if (one_type(l, 1, {T::FLOAT32, T::INT8, T::INT16}) == T::FLOAT32)
        return l.set(l.add(Op::exp, {l.value(0)}, DType::fp32));
    l.set(table_of(l, [](float x) { return std::exp(x); }));
}

// Quantized logarithms of what is not positive are the smallest number.
void lower_log(Lowering& l) {
    if (one_type(l, 1, {T::FLOAT32, T::INT8, T::INT16}) == T::FLOAT32)
        return l.set(l.add(Op::log, {l.value(0)}, DType::fp32));
    const Quant out = l.quant(l.out());
    const float smallest = static_cast<float>(min_of(l.dtype(l.out())) - out.zero_point) * out.scale;
    l.set(table_of(l, [&](float x) { return x <= 0 ? smallest : std::log(x); }));
}

}  // namespace

OperatorRows function_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::ABS, lower_abs},
        {B::NEG, lower_neg, rounds_halves},
        {B::SIGN, lower_sign},
        {B::SQRT, lower_sqrt},
        {B::RSQRT, lower_rsqrt},
        {B::EXP, lower_exp},
        {B::LOG, lower_log},
        {B::ROUND, lower_round, rounds_halves},
        {B::SQUARE, lower_square},
        {B::SIN, lower_real_function, rounds_halves},
        {B::COS, lower_real_function, rounds_halves},
        {B::CEIL, lower_real_function, rounds_halves},
        {B::FLOOR, lower_real_function, rounds_halves},
    };
    return rows;
}

}  // namespace tosavk

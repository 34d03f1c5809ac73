// Binary arithmetic, activations and unary operators, QUANTIZE and DEQUANTIZE.
#include "frontends/tflite/lowering.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using tflite::BuiltinOperator;
using Activation = tflite::ActivationFunctionType;

[[noreturn]] void refuse_types(const Lowering& l) {
    std::string types;
    for (std::size_t k = 0; k < l.input_count(); ++k) {
        if (l.has_input(k)) types += (k ? " x " : "") + std::string(name_of(l.in(k).type));
    }
    l.unsupported(fmt::format("types {} -> {} are not supported", types, name_of(l.out().type)));
}

bool all_of_type(const Lowering& l, std::size_t inputs, tflite::TensorType type) {
    for (std::size_t k = 0; k < inputs; ++k) {
        if (l.in(k).type != type) return false;
    }
    return l.out().type == type;
}

ValueId negate(Lowering& l, ValueId x) {
    return l.add(Op::negate, {x, l.scalar(l.type(x), 0), l.scalar(l.type(x), 0)}, l.type(x));
}

// ---- ADD, SUB -----------------------------------------------------------------------------------------------------

// log2 of a scale that is a power of two to within TFLite's tolerance.
bool power_of_two(float scale, int& exponent) {
    const double log = std::log2(static_cast<double>(scale)), rounded = std::round(log);
    exponent = static_cast<int>(rounded);
    return std::abs(log - rounded) < 1e-3;
}

// x / 2^n as i32, rounded half away from zero whatever the rounding mode: a plain shift in TFLite.
ValueId divide_by_power(Lowering& l, ValueId x, int n) {
    if (n == 0) return x;
    Attributes attrs;
    attrs.round = true;
    const ValueId size = l.add(Op::arithmetic_right_shift, {l.add(Op::abs, {x}, DType::i32), l.splat(x, DType::i32, n)},
                               DType::i32, attrs);
    const ValueId positive = l.add(Op::greater_equal, {x, l.splat(x, DType::i32, 0)}, DType::boolean);
    return l.add(Op::select, {positive, size, negate(l, size)}, DType::i32);
}

void add_sub_quantized(Lowering& l, Op op, Activation activation, bool pot_scale) {
    const DType type = l.dtype(l.out());
    const Quant qa = l.quant(l.in(0)), qb = l.quant(l.in(1)), qo = l.quant(l.out());
    ValueId a = l.value(0), b = l.value(1);
    l.match_ranks(a, b);
    int ea = 0, eb = 0, eo = 0;
    if (type == DType::i16 && pot_scale && power_of_two(qa.scale, ea) && power_of_two(qb.scale, eb) &&
        power_of_two(qo.scale, eo)) {
        if (ea > eo || eb > eo || (ea != eo && eb != eo) || eo - ea > 31 || eo - eb > 31) {
            l.unsupported("power-of-two scales where no input has the output's scale are not supported");
        }
        a = divide_by_power(l, l.widen(a, 0), eo - ea);
        b = divide_by_power(l, l.widen(b, 0), eo - eb);
        const ValueId sum = l.add(op, {a, b}, DType::i32);
        l.set(l.activate_int(l.requantize(sum, type, unit_multiplier, 0, 0), activation, l.out()));
        return;
    }
    // Both inputs are brought to the larger scale times two, with `bits` more bits than they have.
    const int bits = type == DType::i8 ? 20 : 15;
    const double twice_max = 2 * static_cast<double>(std::max(qa.scale, qb.scale));
    a = l.requantize(l.shift_left(a, qa.zero_point, bits), DType::i32,
                     quantize_multiplier(static_cast<double>(qa.scale) / twice_max), 0, 0);
    b = l.requantize(l.shift_left(b, qb.zero_point, bits), DType::i32,
                     quantize_multiplier(static_cast<double>(qb.scale) / twice_max), 0, 0);
    const ValueId sum = l.add(op, {a, b}, DType::i32);
    const QuantizedMultiplier m = quantize_multiplier(twice_max / ((1 << bits) * static_cast<double>(qo.scale)));
    // The sum has up to 29 bits for int8 and 31 for int16; RESCALE takes 31 - exponent.
    if (m.exponent > (type == DType::i8 ? 2 : 0)) l.unsupported("the ratio of its scales is too large");
    l.set(l.activate_int(l.requantize(sum, type, m, 0, qo.zero_point), activation, l.out()));
}

// ---- tables -------------------------------------------------------------------------------------------------------

template <class F> ValueId table_of(Lowering& l, F&& entry) {
    std::vector<std::int64_t> values;
    for (int q = -128; q < 128; ++q) values.push_back(std::clamp<std::int64_t>(entry(q), -128, 127));
    const ValueId table = l.constant_ints("table", DType::i8, {256}, values);
    return l.add(Op::table, {l.value(0), table}, DType::i8);
}

// TFLite's table of a float function: everything in float, std::round, in this order.
template <class F> ValueId float_table(Lowering& l, F&& f) {
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const float inverse = 1.0f / out.scale;
    return table_of(l, [&](int q) {
        const float real = in.scale * static_cast<float>(q - in.zero_point);
        const float rounded = std::round(f(real) * inverse) + static_cast<float>(out.zero_point);
        return static_cast<std::int64_t>(std::clamp(std::isnan(rounded) ? 0.0f : rounded, -128.0f, 127.0f));
    });
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
    using T = tflite::TensorType;
    if (all_of_type(l, 2, T::INT8) || all_of_type(l, 2, T::INT16))
        return add_sub_quantized(l, op, activation, pot_scale);
    if (!all_of_type(l, 2, T::FLOAT32) && !all_of_type(l, 2, T::INT32)) refuse_types(l);
    ValueId a = l.value(0), b = l.value(1);
    l.match_ranks(a, b);
    const ValueId sum = l.add(op, {a, b}, l.type(a));
    if (l.type(a) == DType::i32 && activation != Activation::NONE)
        l.unsupported("a fused activation on INT32 is not supported");
    l.set(l.type(a) == DType::i32 ? sum : l.activate_float(sum, activation));
}

void lower_mul(Lowering& l) {
    using T = tflite::TensorType;
    const auto* options = l.options<tflite::MulOptions>();
    const Activation activation = options ? options->fused_activation_function() : Activation::NONE;
    if (all_of_type(l, 2, T::FLOAT32) || all_of_type(l, 2, T::INT32)) {
        ValueId a = l.value(0), b = l.value(1);
        l.match_ranks(a, b);
        const ValueId product = l.mul(a, b, l.type(a));
        if (l.type(a) == DType::i32 && activation != Activation::NONE)
            l.unsupported("a fused activation on INT32 is not supported");
        return l.set(l.type(a) == DType::i32 ? product : l.activate_float(product, activation));
    }
    if (!all_of_type(l, 2, T::INT8) && !all_of_type(l, 2, T::INT16)) refuse_types(l);
    const DType type = l.dtype(l.out());
    const Quant qa = l.quant(l.in(0)), qb = l.quant(l.in(1)), qo = l.quant(l.out());
    const float scale = qa.scale * qb.scale / qo.scale;  // TFLite multiplies the scales as floats
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(scale));
    // RESCALE takes values up to 2^(30 - exponent); products have up to 17 or 31 bits.
    if (m.exponent > (type == DType::i8 ? 13 : -1)) l.unsupported("the ratio of its scales is too large");
    ValueId a = l.value(0), b = l.value(1);
    l.match_ranks(a, b);
    const ValueId product = l.mul(l.widen(a, qa.zero_point), l.widen(b, qb.zero_point), DType::i32);
    l.set(l.activate_int(l.requantize(product, type, m, 0, qo.zero_point), activation, l.out()));
}

void lower_maximum_minimum(Lowering& l) {
    using T = tflite::TensorType;
    const Op op = l.op().code == BuiltinOperator::MAXIMUM ? Op::maximum : Op::minimum;
    const T t = l.out().type;
    if (!all_of_type(l, 2, t) || (t != T::FLOAT32 && t != T::INT32 && t != T::INT8 && t != T::INT16)) refuse_types(l);
    l.require_same_quant(l.in(0), l.out());
    l.require_same_quant(l.in(1), l.out());
    ValueId a = l.value(0), b = l.value(1);
    l.match_ranks(a, b);
    const DType type = l.type(a);
    const DType wide = type == DType::fp32 ? type : DType::i32;
    l.set(l.cast(l.add(op, {l.cast(a, wide), l.cast(b, wide)}, wide), type));
}

void lower_relu(Lowering& l) {
    const auto code = l.op().code;
    const Activation activation = code == BuiltinOperator::RELU  ? Activation::RELU
                                : code == BuiltinOperator::RELU6 ? Activation::RELU6
                                                                 : Activation::RELU_N1_TO_1;
    if (all_of_type(l, 1, tflite::TensorType::FLOAT32)) return l.set(l.activate_float(l.value(0), activation));
    if (!all_of_type(l, 1, tflite::TensorType::INT8) && !all_of_type(l, 1, tflite::TensorType::INT16)) refuse_types(l);
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    ValueId x = l.value(0);
    const float ratio = in.scale / out.scale;
    if (ratio != 1.0f || in.zero_point != out.zero_point) {
        x = l.requantize(x, l.dtype(l.out()), quantize_multiplier(static_cast<double>(ratio)), in.zero_point,
                         out.zero_point);
    }
    l.set(l.activate_int(x, activation, l.out()));
}

void lower_leaky_relu(Lowering& l) {
    const auto* options = l.options<tflite::LeakyReluOptions>();
    const float alpha = options ? options->alpha() : 0.0f;
    if (!std::isfinite(alpha)) l.fail(fmt::format("alpha is {}", alpha));
    const ValueId x = l.value(0);
    if (all_of_type(l, 1, tflite::TensorType::FLOAT32)) {
        const ValueId positive = l.add(Op::greater_equal, {x, l.splat(x, DType::fp32, 0)}, DType::boolean);
        const ValueId scaled = l.mul(x, l.splat(x, DType::fp32, static_cast<double>(alpha)), DType::fp32);
        return l.set(l.add(Op::select, {positive, x, scaled}, DType::fp32));
    }
    if (!all_of_type(l, 1, tflite::TensorType::INT8) && !all_of_type(l, 1, tflite::TensorType::INT16)) refuse_types(l);
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const float identity = in.scale / out.scale, scaled = in.scale * alpha / out.scale;
    const QuantizedMultiplier m_identity = quantize_multiplier(static_cast<double>(identity));
    const QuantizedMultiplier m_alpha = quantize_multiplier(static_cast<double>(scaled));
    if (l.type(x) == DType::i8) {
        return l.set(table_of(l, [&](int q) {
            const int v = q - in.zero_point;
            return std::int64_t{out.zero_point} + multiply_by_quantized(v, v >= 0 ? m_identity : m_alpha, l.rounding());
        }));
    }
    const ValueId wide = l.widen(x, 0);
    const ValueId positive = l.add(Op::greater_equal, {wide, l.splat(wide, DType::i32, 0)}, DType::boolean);
    const ValueId upper = l.requantize(x, DType::i16, m_identity, 0, 0);
    // RESCALE has no negative multiplier: the input changes its sign instead, which rounds the same product.
    const bool negative = m_alpha.multiplier < 0;
    const ValueId lower = l.requantize(negative ? negate(l, wide) : x, DType::i16,
                                       {negative ? -m_alpha.multiplier : m_alpha.multiplier, m_alpha.exponent}, 0, 0);
    l.set(l.add(Op::select, {positive, upper, lower}, DType::i16));
}

void lower_logistic_tanh(Lowering& l) {
    const bool logistic = l.op().code == BuiltinOperator::LOGISTIC;
    if (all_of_type(l, 1, tflite::TensorType::FLOAT32)) {
        return l.set(l.add(logistic ? Op::sigmoid : Op::tanh, {l.value(0)}, DType::fp32));
    }
    if (!all_of_type(l, 1, tflite::TensorType::INT8)) refuse_types(l);
    l.set(logistic ? float_table(l, [](float x) { return 1.0f / (1.0f + std::exp(-x)); })
                   : float_table(l, [](float x) { return std::tanh(x); }));
}

void lower_unary_float(Lowering& l) {
    const auto code = l.op().code;
    const ValueId x = l.value(0);
    if (code == BuiltinOperator::EXP && all_of_type(l, 1, tflite::TensorType::INT8)) {
        return l.set(float_table(l, [](float v) { return std::exp(v); }));
    }
    const bool real = all_of_type(l, 1, tflite::TensorType::FLOAT32);
    if (!real && (code == BuiltinOperator::EXP || !all_of_type(l, 1, tflite::TensorType::INT32))) refuse_types(l);
    const DType type = l.type(x);
    if (code == BuiltinOperator::NEG) return l.set(negate(l, x));
    l.set(l.add(code == BuiltinOperator::EXP ? Op::exp : Op::abs, {x}, type));
}

void lower_quantize(Lowering& l) {
    const TfliteTensor& source = l.in(0);
    const DType to = l.dtype(l.out());
    if (to != DType::i8 && to != DType::i16 && to != DType::i32) refuse_types(l);
    const Quant out = l.quant(l.out());
    const ValueId x = l.value(0);
    if (is_integer(l.type(x))) {
        const Quant in = l.quant(source);
        const QuantizedMultiplier m =
            quantize_multiplier(static_cast<double>(in.scale) / static_cast<double>(out.scale));
        if (l.type(x) == DType::i32 && m.exponent >= 0)
            l.unsupported("requantization of INT32 to a finer scale is not supported");
        if (l.type(x) == to && m == unit_multiplier && in.zero_point == out.zero_point) return l.set(x);
        return l.set(l.requantize(x, to, m, in.zero_point, out.zero_point));
    }
    if (l.type(x) != DType::fp32 || to == DType::i32) refuse_types(l);
    const ValueId steps = l.add(Op::divide, {x, l.splat(x, DType::fp32, static_cast<double>(out.scale))}, DType::fp32);
    l.set(l.requantize(l.round_half_away(steps), to, unit_multiplier, 0, out.zero_point));
}

void lower_dequantize(Lowering& l) {
    const TfliteTensor& source = l.in(0);
    if (l.out().type != tflite::TensorType::FLOAT32) refuse_types(l);
    const ValueId x = l.value(0);
    if (l.graph_value(x).is_constant()) return l.set(l.float_value(0));
    if (l.type(x) == DType::fp16) return l.set(l.cast(x, DType::fp32));
    if (l.type(x) != DType::i8 && l.type(x) != DType::i16) refuse_types(l);
    const Quant in = l.quant(source);
    ValueId y = l.cast(x, DType::fp32);
    if (in.zero_point != 0) y = l.add(Op::sub, {y, l.splat(y, DType::fp32, in.zero_point)}, DType::fp32);
    l.set(l.mul(y, l.splat(y, DType::fp32, static_cast<double>(in.scale)), DType::fp32));
}

}  // namespace

OperatorRows elementwise_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::ADD, lower_add_sub},
        {B::SUB, lower_add_sub},
        {B::MUL, lower_mul},
        {B::MAXIMUM, lower_maximum_minimum},
        {B::MINIMUM, lower_maximum_minimum},
        {B::RELU, lower_relu},
        {B::RELU_N1_TO_1, lower_relu},
        {B::RELU6, lower_relu},
        {B::LEAKY_RELU, lower_leaky_relu},
        {B::LOGISTIC, lower_logistic_tanh},
        {B::TANH, lower_logistic_tanh},
        {B::ABS, lower_unary_float},
        {B::NEG, lower_unary_float},
        {B::EXP, lower_unary_float},
        {B::QUANTIZE, lower_quantize},
        {B::DEQUANTIZE, lower_dequantize},
    };
    return rows;
}

}  // namespace tosavk

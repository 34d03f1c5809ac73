// Activations: RELU and its kin, LEAKY_RELU, PRELU, HARD_SWISH, LOGISTIC, TANH, ELU, GELU.
#include "frontends/tflite/elementwise.hpp"
#include "frontends/tflite/fixed_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

using namespace elementwise;
using Activation = tflite::ActivationFunctionType;
using tflite::BuiltinOperator;
using T = tflite::TensorType;

// ---- RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1 -----------------------------------------------------------------------

struct Limits {
    float min, max;
};
constexpr float infinity = std::numeric_limits<float>::infinity();

Limits limits_of(BuiltinOperator code) {
    if (code == BuiltinOperator::RELU_N1_TO_1) return {-1, 1};
    if (code == BuiltinOperator::RELU_0_TO_1) return {0, 1};
    return {0, code == BuiltinOperator::RELU6 ? 6 : infinity};
}

void lower_relu(Lowering& l) {
    const auto code = l.op().code;
    const Limits limits = limits_of(code);
    const T type = code == BuiltinOperator::RELU || code == BuiltinOperator::RELU6
                     ? one_type(l, 1, {T::FLOAT32, T::INT8, T::UINT8, T::INT16})
                     : one_type(l, 1, {T::FLOAT32, T::INT8, T::UINT8});
    if (type == T::FLOAT32)
        return l.set(l.clamp(l.value(0), static_cast<double>(limits.min), static_cast<double>(limits.max)));
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const DType to = l.dtype(l.out());
    const auto quantized = [&](float v) {
        const double q = out.zero_point + static_cast<double>(std::round(v / out.scale));
        return static_cast<std::int64_t>(
            std::clamp(q, static_cast<double>(min_of(to)), static_cast<double>(max_of(to))));
    };
    const std::int64_t low = quantized(limits.min), high = quantized(limits.max);
    const float ratio = in.scale / out.scale;
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(ratio));
    ValueId x = l.value(0);
    if (ratio != 1.0f || in.zero_point != out.zero_point) {
        if (to == DType::i8) {
            return l.set(table_8(l, [&](int q) {
                const std::int64_t v = multiply_by_quantized(q - in.zero_point, m, l.rounding());
                return std::clamp(v + out.zero_point, low, high);
            }));
        }
        x = l.requantize(x, to, m, in.zero_point, out.zero_point);
    }
    if (low != min_of(to) || high != max_of(to)) x = l.clamp(x, static_cast<double>(low), static_cast<double>(high));
    l.set(x);
}

// ---- LEAKY_RELU, PRELU --------------------------------------------------------------------------------------------

void lower_leaky_relu(Lowering& l) {
    const auto* options = l.options<tflite::LeakyReluOptions>();
    const float alpha = options ? options->alpha() : 0.0f;
    if (!std::isfinite(alpha)) l.fail(fmt::format("alpha is {}", alpha));
    const T type = one_type(l, 1, {T::FLOAT32, T::INT8, T::UINT8, T::INT16});
    const ValueId x = l.value(0);
    if (type == T::FLOAT32) {
        const ValueId scaled = l.mul(x, l.splat(x, DType::fp32, static_cast<double>(alpha)), DType::fp32);
        return l.set(choose(l, compare(l, Op::greater_equal, x, 0), x, scaled));
    }
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const float identity = in.scale / out.scale, scaled = in.scale * alpha / out.scale;
    const QuantizedMultiplier m_identity = quantize_multiplier(static_cast<double>(identity));
    const QuantizedMultiplier m_alpha = quantize_multiplier(static_cast<double>(scaled));
    if (type != T::INT16) {
        return l.set(table_8(l, [&](int q) {
            const int v = q - in.zero_point;
            return std::int64_t{out.zero_point} + multiply_by_quantized(v, v >= 0 ? m_identity : m_alpha, l.rounding());
        }));
    }
    const ValueId wide = l.widen(x, 0);
    const ValueId upper = l.requantize(x, DType::i16, m_identity, 0, 0);
    // RESCALE has no negative multiplier: the input changes its sign instead, which rounds the same product.
    const bool negative = m_alpha.multiplier < 0;
    const ValueId lower = l.requantize(negative ? negate(l, wide) : x, DType::i16,
                                       {negative ? -m_alpha.multiplier : m_alpha.multiplier, m_alpha.exponent}, 0, 0);
    l.set(choose(l, compare(l, Op::greater_equal, wide, 0), upper, lower));
}

/// TFLite's kernel reads INT16 slopes as if they were as many INT8.
ValueId first_bytes(Lowering& l, std::size_t k) {
    const Value& v = l.graph_value(l.value(k));
    if (!v.is_constant()) l.unsupported(fmt::format("{} must be a constant", l.in(k).title()));
    const Bytes all = v.data.copy();
    return l.constant("slopes", DType::i8, v.shape, Bytes(all.begin(), all.begin() + element_count(v.shape)));
}

void lower_prelu(Lowering& l) {
    if (l.in(0).type == T::FLOAT32 && l.out().type == T::FLOAT32) {
        ValueId x = l.value(0), alpha = l.float_value(1);
        l.match_ranks(x, alpha);
        return l.set(choose(l, compare(l, Op::greater_equal, x, 0), x, l.mul(x, alpha, DType::fp32)));
    }
    const T type = one_type(l, 1, {T::INT8, T::UINT8, T::INT16});
    const T slopes = l.in(1).type;
    if (slopes != type && (type != T::INT16 || slopes != T::INT8)) refuse_types(l);
    const Quant in = l.quant(l.in(0)), slope = l.quant(l.in(1)), out = l.quant(l.out());
    const DType to = l.dtype(l.out());
    const float identity = in.scale / out.scale, scaled = in.scale * slope.scale / out.scale;
    ValueId x = l.value(0), alpha = slopes == T::INT16 ? first_bytes(l, 1) : l.value(1);
    l.match_ranks(x, alpha);
    const ValueId wide = l.widen(x, in.zero_point);
    const ValueId upper =
        l.requantize(x, to, quantize_multiplier(static_cast<double>(identity)), in.zero_point, out.zero_point);
    const ValueId product = l.mul(wide, l.widen(alpha, slope.zero_point), DType::i32);
    const std::int64_t largest = std::int64_t{255} * (to == DType::i16 ? 1 << 15 : 255);
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(scaled));
    const ValueId lower = requantize_up_to(l, largest, product, to, m, out.zero_point);
    l.set(choose(l, compare(l, Op::greater_equal, wide, 0), upper, lower));
}

// ---- HARD_SWISH, LOGISTIC, TANH -----------------------------------------------------------------------------------

void lower_hard_swish(Lowering& l) {
    if (one_type(l, 1, {T::FLOAT32, T::INT8, T::UINT8}) == T::FLOAT32) {
        const ValueId x = l.value(0);
        const ValueId gate = l.clamp(binary(l, Op::add, x, l.splat(x, DType::fp32, 3)), 0, 6);
        return l.set(binary(l, Op::divide, l.mul(x, gate, DType::fp32), l.splat(x, DType::fp32, 6)));
    }
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const HardSwish hard_swish(in, out);
    if (!hard_swish.representable()) l.unsupported("the ratio of its scales is too large");
    l.set(table_8(l, [&](int q) { return std::int64_t{hard_swish(q - in.zero_point)} + out.zero_point; }));
}

void lower_logistic_tanh(Lowering& l) {
    const bool logistic = l.op().code == BuiltinOperator::LOGISTIC;
    const T type = one_type(l, 1, {T::FLOAT32, T::INT8, T::UINT8, T::INT16});
    if (type == T::FLOAT32) return l.set(l.add(logistic ? Op::sigmoid : Op::tanh, {l.value(0)}, DType::fp32));
    if (type == T::INT16) {
        if (l.quant(l.out()).scale != 1.0f / 32768) l.unsupported("its output's scale is not 1/32768");
        const Sigmoid16 function(l.quant(l.in(0)).scale, !logistic);
        return l.set(table_16(l, function));
    }
    l.set(logistic ? table_of(l, [](float x) { return 1.0f / (1.0f + std::exp(-x)); })
                   : table_of(l, [](float x) { return std::tanh(x); }));
}

// ---- ELU, GELU ----------------------------------------------------------------------------------------------------

void lower_elu(Lowering& l) {
    if (one_type(l, 1, {T::FLOAT32, T::INT8}) == T::INT8)
        return l.set(table_of(l, [](float x) { return x < 0 ? std::expm1(x) : x; }));
    // e^x - 1 = 2 t / (1 - t) with t = tanh(x / 2) is as exact as t near 0.
    const ValueId x = l.value(0);
    const auto number = [&](double v) { return l.splat(x, DType::fp32, v); };
    const ValueId t = l.add(Op::tanh, {l.mul(l.clamp(x, -infinity, 0), number(0.5), DType::fp32)}, DType::fp32);
    const ValueId lower = binary(l, Op::divide, binary(l, Op::add, t, t), binary(l, Op::sub, number(1), t));
    l.set(choose(l, compare(l, Op::greater, x, 0), x, lower));
}

constexpr float sqrt_2_over_pi = 0.797884583f, sqrt_half = 0.707106769f;

float gelu(float x) { return 0.5f * x * std::erfc(x * -sqrt_half); }
float gelu_approximate(float x) { return 0.5f * x * (1.0f + std::tanh(sqrt_2_over_pi * (x + 0.044715f * x * x * x))); }

void lower_gelu(Lowering& l) {
    const auto* options = l.options<tflite::GeluOptions>();
    const bool approximate = options && options->approximate();
    if (one_type(l, 1, {T::FLOAT32, T::INT8, T::UINT8, T::INT16}) != T::FLOAT32)
        return l.set(table_of(l, approximate ? gelu_approximate : gelu));
    const ValueId x = l.value(0);
    const auto scaled = [&](ValueId v, double by) { return l.mul(v, l.splat(x, DType::fp32, by), DType::fp32); };
    ValueId gate = no_id;
    if (approximate) {
        const ValueId cube = l.mul(l.mul(x, x, DType::fp32), x, DType::fp32);
        const ValueId inner = binary(l, Op::add, x, scaled(cube, 0.044715));
        gate = l.add(Op::tanh, {scaled(inner, static_cast<double>(sqrt_2_over_pi))}, DType::fp32);
    } else {
        gate = l.add(Op::erf, {scaled(x, static_cast<double>(sqrt_half))}, DType::fp32);
    }
    const ValueId sum = binary(l, Op::add, gate, l.splat(x, DType::fp32, 1));
    l.set(l.mul(scaled(x, 0.5), sum, DType::fp32));
}

}  // namespace

OperatorRows activation_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::RELU, lower_relu},
        {B::RELU_N1_TO_1, lower_relu},
        {B::RELU6, lower_relu},
        {B::RELU_0_TO_1, lower_relu},
        {B::LEAKY_RELU, lower_leaky_relu},
        {B::PRELU, lower_prelu},
        {B::HARD_SWISH, lower_hard_swish},
        {B::LOGISTIC, lower_logistic_tanh, rounds_halves},
        {B::TANH, lower_logistic_tanh, rounds_halves},
        {B::ELU, lower_elu},
        {B::GELU, lower_gelu, rounds_halves},
    };
    return rows;
}

}  // namespace tosavk

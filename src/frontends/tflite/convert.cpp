// Numbers of one type as those of another: QUANTIZE, DEQUANTIZE, FAKE_QUANT, CAST.
#include "frontends/tflite/elementwise.hpp"
#include "frontends/tflite/moves.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using namespace elementwise;
using T = tflite::TensorType;

// ---- QUANTIZE, DEQUANTIZE -----------------------------------------------------------------------------------------

bool is_power_of_two(float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5f && std::isnormal(1.0f / scale);
}

/// Scales and zero points along a dimension, in shapes that broadcast against tensors of `shape`.
struct Channels {
    ValueId scale, zero_point;
};
Channels channels_of(Lowering& l, const TfliteTensor& tensor, const Shape& shape, DType zero_point_type) {
    if (!tensor.bad_quantization.empty()) l.fail(fmt::format("{} {}", tensor.title(), tensor.bad_quantization));
    const std::size_t count = tensor.scale.size(), along = l.axis(tensor.axis, shape.size());
    if (static_cast<std::int64_t>(count) != shape[along])
        l.fail(fmt::format("{} has {} scales for {} channels", tensor.title(), count, shape[along]));
    const DType type = l.dtype(tensor);
    std::vector<double> zero_points;
    for (std::size_t c = 0; c < count; ++c) {
        if (!(tensor.scale[c] > 0) || !std::isfinite(tensor.scale[c]))
            l.fail(fmt::format("{} has scale {}", tensor.title(), tensor.scale[c]));
        const std::int64_t given =
            tensor.zero_point.empty() ? 0 : tensor.zero_point[tensor.zero_point.size() == 1 ? 0 : c];
        const std::int64_t zero_point = given - Lowering::stored_bias(tensor);
        if (zero_point < min_of(type) || zero_point > max_of(type))
            l.fail(fmt::format("{} has zero point {}, outside its type", tensor.title(), given));
        zero_points.push_back(static_cast<double>(zero_point));
    }
    Shape broadcast(shape.size(), 1);
    broadcast[along] = shape[along];
    const std::vector<float> scales(tensor.scale.begin(), tensor.scale.end());
    return {l.constant_floats("scales", broadcast, scales),
            l.constant("zero_points", zero_point_type, broadcast, encode_reals(zero_point_type, zero_points))};
}

/// round(x / scale) + zero point. TFLite divides; only powers of two are the same as a factor.
void quantize(Lowering& l) {
    const bool int4 = l.out().type == T::INT4;
    if (l.out().scale.size() > 1) {
        const ValueId x = l.value(0);
        const Channels channels = channels_of(l, l.out(), l.shape(x), DType::i32);
        const DType to = l.dtype(l.out());
        ValueId q = l.round_half_away(binary(l, Op::divide, x, channels.scale));
        q = binary(l, Op::add, q, channels.zero_point);
        q = binary(l, Op::maximum, q, l.splat(q, DType::i32, static_cast<double>(int4 ? -8 : min_of(to))));
        q = binary(l, Op::minimum, q, l.splat(q, DType::i32, static_cast<double>(int4 ? 7 : max_of(to))));
        return l.set(l.cast(q, to));
    }
    const Quant out = l.quant(l.out());
    const ValueId x = l.value(0);
    const auto number = [&](float v) { return l.splat(x, DType::fp32, static_cast<double>(v)); };
    const ValueId steps = is_power_of_two(out.scale) ? l.mul(x, number(1.0f / out.scale), DType::fp32)
                                                     : binary(l, Op::divide, x, number(out.scale));
    const ValueId q = l.requantize(l.round_half_away(steps), l.dtype(l.out()), unit_multiplier, 0, out.zero_point);
    l.set(int4 ? l.clamp(q, -8, 7) : q);
}

/// Of i32, whose integers RESCALE does not all take here: TFLite shifts left, around the ends of the type, and
/// multiplies.
ValueId to_finer_scale(Lowering& l, ValueId x, DType to, const QuantizedMultiplier& m, std::int64_t output_zp) {
    if (m.exponent > 31) l.unsupported("the ratio of its scales is too large");
    const auto number = [&](double v) { return l.splat(x, DType::i32, v); };
    x = binary(l, Op::logical_left_shift, x, number(m.exponent));
    x = l.add(Op::mul, {x, number(m.multiplier), l.scalar(DType::i8, 31)}, DType::i32);
    x = binary(l, Op::minimum, binary(l, Op::maximum, x, number(-(1 << 20))), number(1 << 20));
    return l.requantize(x, to, unit_multiplier, 0, output_zp);
}

void requantize(Lowering& l) {
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const DType from = l.dtype(l.in(0)), to = l.dtype(l.out());
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(in.scale) / static_cast<double>(out.scale));
    const ValueId x = l.value(0);
    if (from == to && m == unit_multiplier && in.zero_point == out.zero_point) return l.set(x);
    // RESCALE takes 2^(30 - exponent), every integer of 32 bits where there are no finer steps.
    if (from == DType::i8 && to == DType::i8 && m.exponent > 22) {
        return l.set(table_8(l, [&](int q) {
            return std::int64_t{out.zero_point} + multiply_by_quantized(q - in.zero_point, m, l.rounding());
        }));
    }
    if (from == DType::i32 && m.exponent >= 0) return l.set(to_finer_scale(l, x, to, m, out.zero_point));
    l.set(l.requantize(x, to, m, in.zero_point, out.zero_point));
}

void lower_quantize(Lowering& l) {
    const T from = l.in(0).type, to = l.out().type;
    const bool to_8_bits = to == T::INT8 || to == T::UINT8;
    if (from == T::FLOAT32 && (to_8_bits || to == T::INT16 || to == T::INT4)) return quantize(l);
    if ((from == T::INT8 || from == T::UINT8) && (to_8_bits || to == T::INT16)) return requantize(l);
    if (from == T::INT16 && (to == T::INT8 || to == T::INT16 || to == T::INT32)) return requantize(l);
    if (from == T::INT32 && (to == T::INT8 || to == T::INT16)) return requantize(l);
    refuse_types(l);
}

void lower_dequantize(Lowering& l) {
    const T from = l.in(0).type;
    if (l.out().type != T::FLOAT32) refuse_types(l);
    const ValueId x = l.value(0);
    if (l.graph_value(x).is_constant()) return l.set(l.float_value(0));
    if (from == T::FLOAT16) return l.set(l.cast(x, DType::fp32));
    if (from != T::INT8 && from != T::UINT8 && from != T::INT16 && from != T::INT4) refuse_types(l);
    ValueId y = l.cast(x, DType::fp32);
    if (l.in(0).scale.size() > 1) {
        const Channels channels = channels_of(l, l.in(0), l.shape(x), DType::fp32);
        return l.set(l.mul(binary(l, Op::sub, y, channels.zero_point), channels.scale, DType::fp32));
    }
    const Quant in = l.quant(l.in(0));
    if (in.zero_point != 0) y = binary(l, Op::sub, y, l.splat(y, DType::fp32, in.zero_point));
    l.set(l.mul(y, l.splat(y, DType::fp32, static_cast<double>(in.scale)), DType::fp32));
}

// ---- FAKE_QUANT ---------------------------------------------------------------------------------------------------

/// The range is moved so that 0 is one of its steps.
void lower_fake_quant(Lowering& l) {
    one_type(l, 1, {T::FLOAT32});
    const auto* options = l.options<tflite::FakeQuantOptions>();
    const float min = options ? options->min() : 0, max = options ? options->max() : 0;
    const int bits = options ? options->num_bits() : 0;
    if (bits < 2 || bits > 16) l.fail(fmt::format("it has {} bits, but must have 2 to 16", bits));
    if (!(min <= 0) || !(max >= 0) || !(min < max) || !std::isfinite(min) || !std::isfinite(max))
        l.fail(fmt::format("its range {}..{} does not hold 0", min, max));
    const float low = options->narrow_range() ? 1 : 0, high = static_cast<float>((1 << bits) - 1);
    const float scale = (max - min) / (high - low), inverse = 1.0f / scale;
    const float zero_point = std::round(std::clamp(low - min / scale, low, high));
    const float first = (low - zero_point) * scale, last = (high - zero_point) * scale;
    const ValueId x = l.value(0);
    const auto number = [&](float v) { return l.splat(x, DType::fp32, static_cast<double>(v)); };
    const ValueId clamped = l.clamp(x, static_cast<double>(first), static_cast<double>(last));
    const ValueId steps = l.mul(binary(l, Op::sub, clamped, number(first)), number(inverse), DType::fp32);
    l.set(binary(l, Op::add, l.mul(l.cast(l.round_half_away(steps), DType::fp32), number(scale), DType::fp32),
                 number(first)));
}

// ---- CAST ---------------------------------------------------------------------------------------------------------

/// Input 0 as fp32 or i32. A UINT8 is its value and 128.
ValueId plain_number(Lowering& l) {
    const ValueId x = l.value(0);
    if (is_float(l.type(x))) return l.cast(x, DType::fp32);
    const ValueId wide = l.cast(x, DType::i32);
    return l.in(0).type == T::UINT8 ? binary(l, Op::add, wide, l.splat(wide, DType::i32, 128)) : wide;
}

/// Towards zero, at the ends of the type's range not around them; NaN is the largest number to TFLite.
ValueId to_integer(Lowering& l, ValueId x, std::int64_t lowest, std::int64_t highest) {
    const double infinity = std::numeric_limits<double>::infinity();
    x = choose(l, is_number(l, x), x, l.splat(x, DType::fp32, infinity));
    const ValueId down = l.add(Op::floor, {x}, DType::fp32), up = l.add(Op::ceil, {x}, DType::fp32);
    x = l.cast(choose(l, compare(l, Op::greater_equal, x, 0), down, up), DType::i32);
    if (highest == max_of(DType::i32)) return x;
    x = binary(l, Op::maximum, x, l.splat(x, DType::i32, static_cast<double>(lowest)));
    return binary(l, Op::minimum, x, l.splat(x, DType::i32, static_cast<double>(highest)));
}

void lower_cast(Lowering& l) {
    constexpr T types[] = {T::FLOAT32, T::FLOAT16, T::INT64, T::INT32, T::INT16, T::INT8, T::UINT8, T::BOOL};
    const T from = l.in(0).type, to = l.out().type;
    if (from == T::COMPLEX64 && to == T::FLOAT32) return l.set(l.complex_value(0)[0]);
    if (from == T::FLOAT32 && to == T::COMPLEX64)
        return l.set_complex(l.value(0), broadcast(l, l.scalar(DType::fp32, 0), l.shape(l.value(0))));
    for (const T type : {from, to}) {
        if (std::find(std::begin(types), std::end(types), type) == std::end(types)) refuse_types(l);
    }
    if (from == to) return l.set(l.value(0));
    ValueId x = plain_number(l);
    const DType type = l.dtype(l.out());
    if (to == T::BOOL) return l.set(l.add(Op::logical_not, {compare(l, Op::equal, x, 0)}, DType::boolean));
    if (is_float(type)) return l.set(l.cast(l.cast(x, DType::fp32), type));  // through fp32, as in TFLite
    const std::int64_t offset = to == T::UINT8 ? 128 : 0;
    if (is_float(l.type(x))) x = to_integer(l, x, min_of(type) + offset, max_of(type) + offset);
    if (offset != 0) x = binary(l, Op::sub, x, l.splat(x, DType::i32, static_cast<double>(offset)));
    l.set(l.cast(x, type));
}

}  // namespace

OperatorRows convert_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::QUANTIZE, lower_quantize, makes_int4},
        {B::DEQUANTIZE, lower_dequantize},
        {B::FAKE_QUANT, lower_fake_quant},
        {B::CAST, lower_cast},
    };
    return rows;
}

}  // namespace tosavk

#include "frontends/problems/layers.hpp"

#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

/// Uniform numbers over a type's range.
double uniform_magnitude(DType type) { return static_cast<double>(max_of(type)) / std::sqrt(3.0); }

constexpr double input_deviation = 1.155;  // of random_tensor's floats

/// factor = multiplier * 2^-shift, with a multiplier of `bits` bits. RESCALE takes shifts of 2 to 62.
struct Scale {
    std::int64_t multiplier = 0, shift = 0;
};
Scale scale_of(double factor, int bits) {
    int exponent = 0;
    const double mantissa = std::frexp(factor, &exponent);  // factor = mantissa * 2^exponent, 0.5 <= mantissa < 1
    Scale scale{std::llround(std::ldexp(mantissa, bits)), bits - exponent};
    const std::int64_t largest = (std::int64_t{1} << bits) - 1;
    if (scale.multiplier > largest) scale = {scale.multiplier / 2, scale.shift - 1};
    if (scale.shift < 2) scale = {largest, 2};
    while (scale.shift > 62) scale = {scale.multiplier / 2, scale.shift - 1};
    return scale;
}

DType accumulator_of(DType in) {
    if (in == DType::i8) return DType::i32;
    if (in == DType::i16) return DType::i48;
    if (in == DType::fp8e4m3 || in == DType::fp8e5m2) return DType::fp16;
    return DType::fp32;
}

DType convolution_out(DType in) {
    if (in == DType::i8) return DType::i32;
    if (in == DType::i16) return DType::i48;
    return in == DType::fp8e4m3 || in == DType::fp8e5m2 ? DType::fp16 : in;
}

}  // namespace

Attributes window(std::int64_t stride_y, std::int64_t stride_x, const std::vector<std::int32_t>& pad,
                  std::int64_t dilation) {
    Attributes attrs;
    attrs.stride = {static_cast<std::int32_t>(stride_y), static_cast<std::int32_t>(stride_x)};
    attrs.dilation = {static_cast<std::int32_t>(dilation), static_cast<std::int32_t>(dilation)};
    attrs.pad = pad;
    return attrs;
}

double Layers::magnitude(ValueId id) const {
    const auto known = magnitudes_.find(id);
    return known == magnitudes_.end() ? 1 : known->second;
}

ValueId Layers::input(const std::string& name, DType type, const Shape& shape) {
    const ValueId id = builder_.input(name, type, shape);
    set_magnitude(id, is_integer(type) ? uniform_magnitude(type) : input_deviation);
    return id;
}

/// Before memory is asked for: a line may name any shape.
void Layers::check_size(const std::string& name, DType type, const Shape& shape) const {
    if (fits(level_, type, shape)) return;
    throw Error(ErrorCode::usage,
                fmt::format("{} of shape {} is larger than level {} allows", name, to_string(shape), level_.name));
}

ValueId Layers::weights(const std::string& name, DType type, const Shape& shape, double deviation) {
    check_size(name, type, shape);
    HostTensor tensor = random_tensor(type, shape, next_seed());
    if (is_float(type)) {
        std::vector<double> values = decode_reals(type, tensor.bytes);
        for (double& v : values) v *= deviation / input_deviation;
        tensor.bytes = encode_reals(type, values);
    } else if (is_integer(type)) {
        std::vector<std::int64_t> values = decode_ints(type, tensor.bytes);
        for (std::int64_t& v : values) v = std::max(v, -max_of(type));  // as quantizers emit weights
        tensor.bytes = encode_ints(type, values);
    }
    const ValueId id = builder_.constant(name, type, shape, std::move(tensor.bytes));
    set_magnitude(id, is_integer(type) ? uniform_magnitude(type) : deviation);
    return id;
}

ValueId Layers::integers(const std::string& name, DType type, const Shape& shape, std::int64_t lo, std::int64_t hi) {
    check_size(name, type, shape);
    const HostTensor bits = random_tensor(DType::i32, shape, next_seed());
    std::vector<std::int64_t> values = decode_ints(DType::i32, bits.bytes);
    for (std::int64_t& v : values) v = lo + (v - min_of(DType::i32)) % (hi - lo + 1);
    return builder_.constant_ints(name, type, shape, values);
}

ValueId Layers::zero_point(ValueId id) {
    return emit_.zero_point(type(id), is_float(type(id)) ? 0 : value(id).zero_point);
}

ValueId Layers::convolve(Op op, ValueId x, DType weight_type, const Shape& weight_shape, Attributes attrs) {
    const DType in = type(x), out = convolution_out(in);
    const bool depthwise = op == Op::depthwise_conv2d;
    const std::int64_t channels = depthwise ? weight_shape[2] * weight_shape[3] : weight_shape.front();
    const std::int64_t terms = element_count(weight_shape) / channels;
    const double deviation = 1 / (magnitude(x) * std::sqrt(static_cast<double>(terms)));
    const ValueId weight = weights("weight", weight_type, weight_shape, deviation);
    const double sums = magnitude(x) * magnitude(weight) * std::sqrt(static_cast<double>(terms));
    const auto half = static_cast<std::int64_t>(std::min(sums / 2, 1e9));
    const ValueId bias =
        is_integer(out) ? integers("bias", out, {channels}, -half, half) : weights("bias", out, {channels}, 0.25);
    attrs.acc_type = accumulator_of(in);
    if (op == Op::transpose_conv2d) attrs.dilation.clear();
    const ValueId y = builder_.add1(op, {x, weight, bias, zero_point(x), builder_.scalar(weight_type, 0)}, out, attrs);
    set_magnitude(y, sums);
    return y;
}

ValueId Layers::matmul(ValueId a, ValueId b) {
    const DType in = type(a);
    const DType out = in == DType::fp16 || in == DType::bf16 ? DType::fp32 : convolution_out(in);
    const ValueId y = builder_.add1(Op::matmul, {a, b, zero_point(a), zero_point(b)}, out);
    set_magnitude(y, magnitude(a) * magnitude(b) * std::sqrt(static_cast<double>(shape(a).back())));
    return y;
}

ValueId Layers::scale_fp64(ValueId x, DType out, double factor, bool per_channel) {
    const std::int64_t channels = per_channel && !shape(x).empty() ? shape(x).back() : 1;
    std::vector<double> scales;
    for (std::int64_t c = 0; c < channels; ++c) scales.push_back(factor * (1 - 0.25 * static_cast<double>(c % 7) / 7));
    const ValueId y = emit_.scale_fp64(x, out, scales, 0);
    set_magnitude(y, std::min(magnitude(x) * factor, uniform_magnitude(out)));
    return y;
}

ValueId Layers::rescale(ValueId x, DType out, double factor, std::int64_t out_zero_point, bool per_channel) {
    Scaling s;
    s.scale32 = type(x) != DType::i48;
    s.per_channel = per_channel && !shape(x).empty();
    if (s.scale32) s.rounding = Rounding::double_round;
    const std::int64_t channels = s.per_channel ? shape(x).back() : 1;
    for (std::int64_t c = 0; c < channels; ++c) {
        // Channels differ in their range, by a quarter at most.
        const Scale scale = scale_of(factor * (1 - 0.25 * static_cast<double>(c % 7) / 7), s.scale32 ? 31 : 15);
        s.multiplier.push_back(scale.multiplier);
        s.shift.push_back(scale.shift);
    }
    s.input_zp = value(x).zero_point;
    s.output_zp = out_zero_point;
    const ValueId y = emit_.rescale(x, out, s);
    builder_.value(y).zero_point = out_zero_point;
    set_magnitude(y, std::min(magnitude(x) * factor, uniform_magnitude(out)));
    return y;
}

ValueId Layers::requantize(ValueId x, DType out, Activation activation, bool per_channel) {
    const bool narrow = out == DType::i8;
    const bool relu = activation != Activation::none && narrow;
    // Three standard deviations fill the range; after a relu only one side is left, which has it for itself.
    const double range = static_cast<double>(max_of(out)) * (relu ? 2 : 1);
    const double factor = range / 3 / magnitude(x);
    const ValueId y = rescale(x, out, factor, relu ? -128 : narrow ? -3 : 0, per_channel);
    set_magnitude(y, range / 3 * (relu ? std::sqrt(0.5) : 1));
    return y;
}

ValueId Layers::clamp(ValueId x, double largest) {
    const DType in = type(x);
    Attributes attrs;
    attrs.min_val = is_float(in) ? 0 : static_cast<double>(value(x).zero_point);
    attrs.max_val = is_float(in) ? largest : static_cast<double>(max_of(in));
    const ValueId y = builder_.add1(Op::clamp, {x}, in, attrs);
    builder_.value(y).zero_point = value(x).zero_point;
    set_magnitude(y, magnitude(x) * std::sqrt(0.5));
    return y;
}

ValueId Layers::pool(Op op, ValueId x, Attributes attrs) {
    attrs.dilation.clear();
    std::vector<ValueId> operands{x};
    if (op == Op::avg_pool2d) {
        attrs.acc_type = is_integer(type(x))                                    ? DType::i32
                       : type(x) == DType::fp8e4m3 || type(x) == DType::fp8e5m2 ? DType::fp16
                                                                                : DType::fp32;
        operands.insert(operands.end(), {zero_point(x), zero_point(x)});
    }
    const ValueId y = builder_.add1(op, operands, type(x), attrs);
    builder_.value(y).zero_point = value(x).zero_point;
    set_magnitude(y, magnitude(x));
    return y;
}

ValueId Layers::reshape(ValueId x, const Shape& to) {
    const ValueId y = emit_.reshape(x, to);
    builder_.value(y).zero_point = value(x).zero_point;
    set_magnitude(y, magnitude(x));
    return y;
}

ValueId Layers::softmax(ValueId x, std::int32_t axis) {
    Attributes attrs;
    attrs.axis = axis;
    const auto reduce = [&](Op op, ValueId of) { return builder_.add1(op, {of}, type(of), attrs); };
    const ValueId e = unary(Op::exp, binary(Op::sub, x, reduce(Op::reduce_max, x)));
    return mul(e, unary(Op::reciprocal, reduce(Op::reduce_sum, e)));
}

Graph Layers::finish(ValueId output) { return finish(std::vector<ValueId>{output}); }

Graph Layers::finish(const std::vector<ValueId>& outputs) {
    for (const ValueId id : outputs) builder_.output(id);
    return builder_.finish();
}

}  // namespace tosavk

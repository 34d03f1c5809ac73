// Products of float activations and narrow weights.
#include "frontends/tflite/hybrid.hpp"
#include "frontends/tflite/moves.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

using T = tflite::TensorType;

/// One for each place of the last dimension, broadcast against `like`.
Shape last_dimension(Lowering& l, ValueId like, std::size_t count) {
    Shape shape(l.shape(like).size(), 1);
    shape.back() = static_cast<std::int64_t>(count);
    return shape;
}

ValueId channel_floats(Lowering& l, ValueId like, std::span<const float> values) {
    if (values.size() == 1) return l.splat(like, DType::fp32, static_cast<double>(values[0]));
    return l.constant_floats("scales", last_dimension(l, like, values.size()), values);
}

ValueId plain(Lowering& l, Op op, ValueId a, ValueId b) { return l.add(op, {a, b}, l.type(a)); }

/// The kernels round eight numbers at a time by adding a half, and the rest exactly: by adding the float below it.
ValueId rounding_addend(Lowering& l, ValueId x) {
    constexpr float below_half = 0.49999997f;
    const Shape& shape = l.shape(x);
    const std::int64_t length = element_count(shape) / shape[0];
    if (length % 8 == 0) return l.splat(x, DType::fp32, 0.5);
    if (length < 8) return l.splat(x, DType::fp32, static_cast<double>(below_half));
    std::vector<float> halves(static_cast<std::size_t>(length), 0.5f);
    std::fill(halves.end() - length % 8, halves.end(), below_half);
    Shape row = shape;
    row[0] = 1;
    return l.constant_floats("halves", row, halves);
}

/// Half away from zero.
ValueId round_floats(Lowering& l, ValueId x, ValueId half) {
    const ValueId up = l.add(Op::floor, {plain(l, Op::add, x, half)}, DType::fp32);
    const ValueId down = l.add(Op::ceil, {plain(l, Op::sub, x, half)}, DType::fp32);
    const ValueId positive = l.add(Op::greater_equal, {x, l.splat(x, DType::fp32, 0)}, DType::boolean);
    return l.add(Op::select, {positive, up, down}, DType::fp32);
}

ValueId reduce_rows(Lowering& l, Op op, ValueId x) {
    Attributes along;
    along.axis = 1;
    return l.add(op, {x}, DType::fp32, along);
}

}  // namespace

namespace {

/// Along all dimensions but the first or the last one, `axis`.
ValueId sums_of_channels(Lowering& l, ValueId weights, std::size_t axis) {
    const Shape shape = l.shape(weights);
    const std::int64_t channels = shape[axis], rest = element_count(shape) / channels;
    const ValueId wide = l.cast(weights, DType::i32);
    Attributes along;
    along.axis = axis == 0 ? 1 : 0;
    const ValueId matrix = l.reshape(wide, axis == 0 ? Shape{channels, rest} : Shape{rest, channels});
    return l.add(Op::reduce_sum, {matrix}, DType::i32, along);
}

ValueId without_zero_points(Lowering& l, const HybridRows& rows, ValueId sums, const HybridWeights& weights) {
    if (weights.computed_sums == no_id) return without_zero_points(l, rows, sums, weights.sums);
    if (rows.zero_point == no_id) return sums;
    const auto channels = static_cast<std::size_t>(element_count(l.shape(weights.computed_sums)));
    const ValueId by_channel = l.reshape(weights.computed_sums, last_dimension(l, sums, channels));
    return plain(l, Op::sub, sums, l.mul(rows.zero_point, by_channel, DType::i32));
}

}  // namespace

bool is_hybrid(const Lowering& l, std::size_t k) {
    const T type = l.in(k).type;
    return (l.computes_hybrid() || !l.constant(k)) &&
           (type == T::INT8 || type == T::UINT8 || type == T::INT4 || type == T::INT2);
}

ValueId signed_weights(Lowering& l, std::size_t k) {
    const ValueId id = l.value(k);
    const Value v = l.graph_value(id);
    if (l.in(k).type != T::UINT8) return id;
    if (!v.is_constant()) return flip_uint8(l, id, l.in(k));
    Bytes bytes(v.data->begin(), v.data->end());
    for (std::byte& b : bytes) b ^= std::byte{0x80};
    return l.constant("weights", v.type, v.shape, std::move(bytes));
}

std::vector<float> weight_scales(Lowering& l, const TfliteTensor& tensor, std::int32_t axis, std::int64_t channels) {
    if (tensor.type != T::UINT8) return l.channel_scales(tensor, axis, channels);
    TfliteTensor bare = tensor;
    bare.zero_point.clear();
    return l.channel_scales(bare, axis, channels);
}

HybridWeights hybrid_weights(Lowering& l, std::size_t k, std::size_t axis, bool may_be_computed) {
    const TfliteTensor& tensor = l.in(k);
    HybridWeights out;
    out.values = signed_weights(l, k);
    const Value v = l.graph_value(out.values);
    if (!v.is_constant() && !may_be_computed)
        l.unsupported(fmt::format("weights {} of type {} are no constant", tensor.title(), name_of(tensor.type)));
    const auto channels = static_cast<std::size_t>(v.shape.at(axis));
    out.scales = weight_scales(l, tensor, static_cast<std::int32_t>(axis), v.shape[axis]);
    if (!v.is_constant()) {
        out.computed_sums = sums_of_channels(l, out.values, axis);
        return out;
    }
    const std::vector<std::int64_t> values = decode_ints(v.type, *v.data);
    std::size_t inner = 1;
    for (std::size_t d = axis + 1; d < v.shape.size(); ++d) inner *= static_cast<std::size_t>(v.shape[d]);
    out.sums.assign(channels, 0);
    for (std::size_t i = 0; i < values.size(); ++i) out.sums[i / inner % channels] += values[i];
    return out;
}

ValueId float_weights(Lowering& l, std::size_t k) {
    const TfliteTensor& tensor = l.in(k);
    if (tensor.type != T::UINT8 || !tensor.is_constant) return l.float_value(k);
    const ValueId id = signed_weights(l, k);
    const Shape shape = l.shape(id);
    if (tensor.scale.size() > 1 && (tensor.axis < 0 || static_cast<std::size_t>(tensor.axis) >= shape.size()))
        l.fail(fmt::format("{} is quantized along dimension {} of {}", tensor.title(), tensor.axis, shape.size()));
    const auto axis = static_cast<std::size_t>(tensor.scale.size() > 1 ? tensor.axis : 0);
    const std::vector<float> scales =
        weight_scales(l, tensor, static_cast<std::int32_t>(axis), shape.empty() ? 1 : shape.at(axis));
    std::size_t inner = 1;
    for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
    std::vector<float> values;
    for (const std::int64_t v : decode_ints(DType::i8, *l.graph_value(id).data))
        values.push_back(static_cast<float>(v) * scales[values.size() / inner % scales.size()]);
    return l.constant_floats("weights", shape, values);
}

HybridRows round_rows(Lowering& l, ValueId x, bool asymmetric) {
    const Shape shape = l.shape(x);
    const ValueId flat = l.reshape(x, {shape[0], element_count(shape) / shape[0]});
    Shape rows(shape.size(), 1);
    rows[0] = shape[0];
    HybridRows out;
    const auto number = [&](double v) { return l.splat(out.scale, DType::fp32, v); };
    const auto or_one = [&](ValueId v) {  // where it is 0
        const ValueId zero = l.add(Op::equal, {v, l.splat(v, DType::fp32, 0)}, DType::boolean);
        return l.add(Op::select, {zero, l.splat(v, DType::fp32, 1), v}, DType::fp32);
    };
    ValueId inverse = no_id;
    if (asymmetric) {
        const ValueId low = reduce_rows(l, Op::reduce_min, flat), high = reduce_rows(l, Op::reduce_max, flat);
        const ValueId zero = l.splat(low, DType::fp32, 0);
        const ValueId range = plain(l, Op::sub, plain(l, Op::maximum, high, zero), plain(l, Op::minimum, low, zero));
        out.scale = or_one(plain(l, Op::divide, range, l.splat(range, DType::fp32, 255)));
        inverse = plain(l, Op::divide, number(1), out.scale);
        out.zero_point = l.reshape(l.add(Op::affine_zero_point, {low, high}, DType::i32), rows);
    } else {
        const ValueId range = reduce_rows(l, Op::reduce_max, l.add(Op::abs, {flat}, DType::fp32));
        out.scale = or_one(plain(l, Op::divide, range, l.splat(range, DType::fp32, 127)));
        inverse = plain(l, Op::divide, number(127), or_one(range));
    }
    out.scale = l.reshape(out.scale, rows);
    const ValueId multiples = l.mul(x, l.reshape(inverse, rows), DType::fp32);
    out.rounded = round_floats(l, multiples, rounding_addend(l, x));
    return out;
}

ValueId quantize_rounded(Lowering& l, const HybridRows& rows, ValueId rounded) {
    if (rows.zero_point == no_id) return l.cast(l.clamp(rounded, -127, 127), DType::i8);
    const ValueId moved = plain(l, Op::add, rounded, l.cast(rows.zero_point, DType::fp32));
    return l.cast(moved, DType::i8);  // which saturates too
}

ValueId without_zero_points(Lowering& l, const HybridRows& rows, ValueId sums, std::span<const std::int64_t> weights) {
    if (rows.zero_point == no_id) return sums;
    const ValueId by_channel = l.constant_ints("sums", DType::i32, last_dimension(l, sums, weights.size()), weights);
    return plain(l, Op::sub, sums, l.mul(rows.zero_point, by_channel, DType::i32));
}

ValueId scale_sums(Lowering& l, const HybridRows& rows, ValueId sums, std::span<const float> scales) {
    const ValueId scale = l.mul(rows.scale, channel_floats(l, rows.scale, scales), DType::fp32);
    return l.mul(l.cast(sums, DType::fp32), scale, DType::fp32);
}

ValueId matrix_product(Lowering& l, ValueId x, ValueId weights, ValueId bias, std::int64_t zero_point) {
    const std::int64_t rows = l.shape(x)[0], depth = l.shape(x)[1], channels = l.shape(weights)[0];
    const DType of = l.type(x), sum = l.type(bias);
    Attributes attrs;
    attrs.pad = {0, 0, 0, 0};
    attrs.stride = attrs.dilation = {1, 1};
    attrs.acc_type = sum;
    const ValueId y = l.add(Op::conv2d,
                            {l.reshape(x, {rows, 1, 1, depth}), l.reshape(weights, {channels, 1, 1, depth}), bias,
                             l.scalar(of, static_cast<double>(zero_point)), l.scalar(l.type(weights), 0)},
                            sum, attrs);
    return l.reshape(y, {rows, channels});
}

ValueId hybrid_product(Lowering& l, const HybridRows& rows, const HybridWeights& weights) {
    const ValueId x = quantize_rounded(l, rows, rows.rounded);
    const ValueId sums = matrix_product(l, x, weights.values, l.scalar(DType::i32, 0));
    return scale_sums(l, rows, without_zero_points(l, rows, sums, weights), weights.scales);
}

ValueId activate_any(Lowering& l, ValueId x, tflite::ActivationFunctionType activation) {
    if (activation == tflite::ActivationFunctionType::TANH) return l.add(Op::tanh, {x}, DType::fp32);
    return l.activate_float(x, activation);
}

HybridConv::HybridConv(Lowering& l, std::size_t channel_axis, bool asymmetric)
    : l_(l), weights_(hybrid_weights(l, 1, channel_axis, true)), rows_(round_rows(l, l.value(0), asymmetric)) {}

ValueId HybridConv::quantized(ValueId rounded, std::vector<std::int32_t>& pad) {
    const bool pads = std::any_of(pad.begin(), pad.end(), [](std::int32_t p) { return p != 0; });
    if (pads && rows_.zero_point != no_id) {
        const std::vector<std::int64_t> ends{0, 0, pad[0], pad[1], pad[2], pad[3], 0, 0};
        const ValueId sizes = l_.constant_ints("padding", DType::shape, {8}, ends);
        rounded = l_.add(Op::pad, {rounded, sizes, l_.scalar(DType::fp32, 0)}, DType::fp32);
        pad = {0, 0, 0, 0};
    }
    return quantize_rounded(l_, rows_, rounded);
}

ValueId HybridConv::finish(ValueId sums, ValueId bias, tflite::ActivationFunctionType activation) {
    sums = without_zero_points(l_, rows_, sums, weights_);
    ValueId y = scale_sums(l_, rows_, sums, weights_.scales);
    if (l_.has_input(2)) {
        l_.match_ranks(y, bias);
        y = l_.add(Op::add, {y, bias}, DType::fp32);
    }
    return l_.activate_float(y, activation);
}

}  // namespace tosavk

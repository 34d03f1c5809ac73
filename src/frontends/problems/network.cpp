// The layers of networks, each in the network's type.
#include "frontends/problems/networks.hpp"
#include "ops/builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tosavk {

ValueId Network::fit(ValueId x, std::int64_t kernel, std::int64_t stride, std::vector<std::int32_t>& pad) {
    Shape size = layers_.shape(x);
    for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::int64_t free = size[axis + 1] + pad[2 * axis] + pad[2 * axis + 1] - kernel;
        const auto left = static_cast<std::int32_t>(free % stride);
        const std::int32_t from_pad = std::min(left, pad[2 * axis + 1]);
        pad[2 * axis + 1] -= from_pad;
        size[axis + 1] -= left - from_pad;
    }
    return size == layers_.shape(x) ? x : slice(x, {0, 0, 0, 0}, size);
}

ValueId Network::finish(ValueId accumulator, Activation activation) {
    if (quantized()) return layers_.requantize(accumulator, DType::i8, activation);
    return activate(layers_.cast(accumulator, type_), activation);
}

ValueId Network::activate(ValueId x, Activation activation) {
    if (activation == Activation::none) return x;
    return layers_.clamp(x, activation == Activation::relu6 ? 6 : std::numeric_limits<double>::infinity());
}

ValueId Network::window_op(Op op, ValueId x, const Shape& weight, std::int64_t kernel, std::int64_t stride,
                           std::int64_t pad, Activation activation) {
    std::vector<std::int32_t> padding(4, static_cast<std::int32_t>(pad));
    x = fit(x, kernel, stride, padding);
    return finish(layers_.convolve(op, x, type_, weight, window(stride, stride, padding)), activation);
}

ValueId Network::conv(ValueId x, std::int64_t channels, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                      Activation activation) {
    const Shape weight{channels, kernel, kernel, layers_.shape(x).back()};
    return window_op(Op::conv2d, x, weight, kernel, stride, pad, activation);
}

ValueId Network::depthwise(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                           Activation activation) {
    const Shape weight{kernel, kernel, layers_.shape(x).back(), 1};
    return window_op(Op::depthwise_conv2d, x, weight, kernel, stride, pad, activation);
}

ValueId Network::upsample(ValueId x, std::int64_t channels) {
    const Shape weight{channels, 2, 2, layers_.shape(x).back()};
    // As a relu'd tensor, so that it can be joined with one.
    return finish(layers_.convolve(Op::transpose_conv2d, x, type_, weight, window(2, 2, {0, 0, 0, 0})),
                  Activation::relu);
}

ValueId Network::pool(Op op, ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    std::vector<std::int32_t> padding(4, static_cast<std::int32_t>(pad));
    x = fit(x, kernel, stride, padding);
    Attributes attrs = window(stride, stride, padding);
    attrs.kernel = {static_cast<std::int32_t>(kernel), static_cast<std::int32_t>(kernel)};
    return layers_.pool(op, x, attrs);
}

ValueId Network::global_average(ValueId x) {
    const Shape shape = layers_.shape(x);
    Attributes attrs = window(1, 1, {0, 0, 0, 0});
    attrs.kernel = {static_cast<std::int32_t>(shape[1]), static_cast<std::int32_t>(shape[2])};
    return layers_.reshape(layers_.pool(Op::avg_pool2d, x, attrs), {shape[0], shape[3]});
}

ValueId Network::fully_connected(ValueId x, std::int64_t outputs, Activation activation) {
    const Shape shape = layers_.shape(x);
    const ValueId image = layers_.reshape(x, {shape[0], 1, 1, shape[1]});
    const ValueId y = conv(image, outputs, 1, 1, 0, activation);
    return layers_.reshape(y, {shape[0], outputs});
}

ValueId Network::add(ValueId a, ValueId b, Activation activation) {
    if (!quantized()) {
        const ValueId sum = layers_.binary(Op::add, a, b);
        layers_.set_magnitude(sum, std::hypot(layers_.magnitude(a), layers_.magnitude(b)));
        return activate(sum, activation);
    }
    // Both to one scale with 20 more bits, where they are added.
    const double unit = std::exp2(20);
    const ValueId wide_a = layers_.rescale(a, DType::i32, unit, 0, false);
    const ValueId wide_b = layers_.rescale(b, DType::i32, unit, 0, false);
    const ValueId sum = layers_.binary(Op::add, wide_a, wide_b);
    layers_.set_magnitude(sum, unit * std::hypot(layers_.magnitude(a), layers_.magnitude(b)));
    return layers_.requantize(sum, DType::i8, activation, false);
}

ValueId Network::concat(const std::vector<ValueId>& parts, std::int32_t axis) {
    Attributes attrs;
    attrs.axis = axis;
    const ValueId y = layers_.builder().add1(Op::concat, parts, layers_.type(parts[0]), attrs);
    layers_.builder().value(y).zero_point = layers_.value(parts[0]).zero_point;
    layers_.set_magnitude(y, layers_.magnitude(parts[0]));
    return y;
}

ValueId Network::transpose(ValueId x, std::vector<std::int32_t> perms) {
    Attributes attrs;
    attrs.perms = std::move(perms);
    const ValueId y = layers_.builder().add1(Op::transpose, {x}, layers_.type(x), attrs);
    layers_.builder().value(y).zero_point = layers_.value(x).zero_point;
    layers_.set_magnitude(y, layers_.magnitude(x));
    return y;
}

ValueId Network::slice(ValueId x, const Shape& start, const Shape& size) {
    GraphBuilder& builder = layers_.builder();
    const ValueId y = builder.add1(Op::slice, {x, builder.shape(start), builder.shape(size)}, layers_.type(x));
    builder.value(y).zero_point = layers_.value(x).zero_point;
    layers_.set_magnitude(y, layers_.magnitude(x));
    return y;
}

const NetworkDef* find_network(std::string_view name) {
    for (const std::span<const NetworkDef> networks : {image_networks(), sequence_networks()}) {
        for (const NetworkDef& network : networks)
            if (network.name == name) return &network;
    }
    return nullptr;
}

}  // namespace tosavk

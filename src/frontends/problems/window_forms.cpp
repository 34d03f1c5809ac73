// Convolutions, MATMUL, attention, pools and FFT as problem lines.
#include "frontends/problems/operators.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using Results = std::vector<ValueId>;

std::vector<std::int32_t> narrow(const Line& line, const std::vector<std::int64_t>& numbers) {
    std::vector<std::int32_t> result;
    for (const std::int64_t n : numbers) {
        if (n < std::numeric_limits<std::int32_t>::min() || n > std::numeric_limits<std::int32_t>::max())
            line.fail(fmt::format("{} is out of range", n));
        result.push_back(static_cast<std::int32_t>(n));
    }
    return result;
}

/// A key of one number for all axes, or one per axis.
std::vector<std::int32_t> per_axis(Line& line, const char* key, std::size_t axes, std::int64_t fallback) {
    std::vector<std::int64_t> numbers = line.take_key(key);
    if (numbers.empty()) numbers = {fallback};
    if (numbers.size() == 1) numbers.resize(axes, numbers[0]);
    if (numbers.size() != axes) line.fail(fmt::format("{} takes 1 or {} numbers", key, axes));
    return narrow(line, numbers);
}

/// Stride, padding and dilation of a window over `input`, whose last dimensions but one are the axes. The word "same"
/// pads as networks do: the output is the input divided by the stride, rounded up.
Attributes take_window(Line& line, const Shape& input, const std::vector<std::int64_t>& kernel, bool dilated) {
    const std::size_t axes = kernel.size();
    Attributes attrs;
    attrs.stride = per_axis(line, "s", axes, 1);
    attrs.dilation = dilated ? per_axis(line, "d", axes, 1) : std::vector<std::int32_t>(axes, 1);
    if (line.take_word("same")) {
        for (std::size_t k = 0; k < axes; ++k) {
            const std::int64_t stride = attrs.stride[k], in = input[k + 1];
            if (stride < 1) line.fail(fmt::format("the stride {} is below 1", stride));
            const std::int64_t total =
                ((in + stride - 1) / stride - 1) * stride + (kernel[k] - 1) * attrs.dilation[k] + 1 - in;
            if (total < 0) line.fail("with this stride the window leaves elements out, which TOSA does not allow");
            for (const std::int32_t pad : narrow(line, {total / 2, total - total / 2})) attrs.pad.push_back(pad);
        }
        return attrs;
    }
    attrs.pad = per_axis(line, "p", 2 * axes, 0);
    return attrs;
}

/// Input NxHxWxC (or NxDxHxWxC) and kernel OCxKHxKW; MxKHxKW for depthwise convolutions.
Results convolution(Op op, Line& line, Layers& layers) {
    const std::size_t axes = op == Op::conv3d ? 3 : 2;
    const Shape in = line.take_shape(axes == 3 ? "input NxDxHxWxC" : "input NxHxWxC", axes + 2);
    const Shape kernel = line.take_shape("kernel", axes + 1);
    const std::vector<std::int64_t> taps(kernel.begin() + 1, kernel.end());
    Attributes attrs;
    if (op == Op::transpose_conv2d) {
        attrs.stride = per_axis(line, "s", 2, 1);
        attrs.pad = per_axis(line, "p", 4, 0);
    } else {
        attrs = take_window(line, in, taps, true);
    }
    Shape weight = taps;
    if (op == Op::depthwise_conv2d) {
        weight.insert(weight.end(), {in.back(), kernel[0]});
    } else {
        weight.insert(weight.begin(), kernel[0]);
        weight.push_back(in.back());
    }
    const ValueId x = layers.input("input", line.type(), in);
    return {layers.convolve(op, x, line.weight_type(), weight, attrs)};
}
template <Op op> Results convolution(Line& line, Layers& layers) { return convolution(op, line, layers); }

/// NxC by OC: a 1x1 convolution, as TOSA 1.0 writes it.
Results fully_connected(Line& line, Layers& layers) {
    const Shape in = line.take_shape("input NxC", 2);
    const Shape out = line.take_shape("number of outputs", 1);
    const ValueId x = layers.reshape(layers.input("input", line.type(), in), {in[0], 1, 1, in[1]});
    return {layers.convolve(Op::conv2d, x, line.weight_type(), {out[0], 1, 1, in[1]}, window(1, 1, {0, 0, 0, 0}))};
}

Results matmul(Line& line, Layers& layers) {
    const Shape size = line.take_shape("sizes NxHxCxW", 4);
    const ValueId a = layers.input("a", line.type(), {size[0], size[1], size[2]});
    const ValueId b = layers.input("b", line.type(), {size[0], size[2], size[3]});
    return {layers.matmul(a, b)};
}

/// Of N heads: the softmax of queries by keys, scaled by the root of the head's size, times values.
Results attention(Line& line, Layers& layers) {
    const Shape q = line.take_shape("queries NxROWSxSIZE", 3);
    const DType type = line.type();
    if (type != DType::fp32 && type != DType::fp16) line.fail("attention is in f32 or f16");
    const std::int64_t keys = line.take_number("keys", q[1], 1, 1 << 20),
                       columns = line.take_number("values", q[2], 1, 1 << 20);
    const auto product = [&](ValueId a, ValueId b) {
        const ValueId y = layers.matmul(a, b);
        return layers.type(y) == type ? y : layers.cast(y, type);
    };
    const ValueId scores = product(layers.input("q", type, q), layers.input("k", type, {q[0], q[2], keys}));
    const std::vector<double> factor = {1 / std::sqrt(static_cast<double>(q[2]))};
    ValueId x = layers.mul(scores, layers.builder().constant("scale", type, {1, 1, 1}, encode_reals(type, factor)));
    if (line.take_word("mask")) x = layers.binary(Op::add, x, layers.input("mask", type, {1, q[1], keys}));
    return {product(layers.softmax(x, 2), layers.input("v", type, {q[0], keys, columns}))};
}

template <Op op> Results pool(Line& line, Layers& layers) {
    const Shape in = line.take_shape("input NxHxWxC", 4);
    const Shape kernel = line.take_shape("window KHxKW", 2);
    Attributes attrs = take_window(line, in, kernel, false);
    attrs.kernel = narrow(line, kernel);
    return {layers.pool(op, layers.input("input", line.type(), in), attrs)};
}

template <Op op> Results fourier(Line& line, Layers& layers) {
    const Shape in = line.take_shape("input NxHxW", 3);
    Attributes attrs;
    std::vector<ValueId> operands{layers.input("real", line.type(), in)};
    if (op == Op::fft2d) {
        operands.push_back(layers.input("imaginary", line.type(), in));
        attrs.inverse = line.take_word("inverse");
    }
    attrs.local_bound = line.take_word("local_bound");
    const DType types[] = {line.type(), line.type()};
    return layers.builder().add(op, operands, attrs, types);
}

constexpr const char* conv_form = "TYPE NxHxWxC OCxKHxKW [sS] [pP | same] [dD] [rescale] [FOLLOWER...]";

const ProblemForm forms[] = {
    {"conv2d", conv_form, "i8 1x56x56x64 64x3x3 s1 p1 rescale clamp", "i8 1x7x6x5 4x3x3 s1 p1 rescale clamp",
     convolution<Op::conv2d>},
    {"conv3d", "TYPE NxDxHxWxC OCxKDxKHxKW [sS] [pP | same] [dD] [rescale] [FOLLOWER...]",
     "f32 1x16x28x28x32 32x3x3x3 p1 clamp", "f32 1x4x5x3x6 5x3x3x3 p1 clamp", convolution<Op::conv3d>},
    {"depthwise_conv2d", "TYPE NxHxWxC MxKHxKW [sS] [pP | same] [dD] [rescale] [FOLLOWER...] (short: depthwise)",
     "f32 1x112x112x32 1x3x3 s1 p1 clamp", "i8 1x9x7x6 1x3x3 s1 p1 rescale clamp", convolution<Op::depthwise_conv2d>},
    {"depthwise", nullptr, nullptr, nullptr, convolution<Op::depthwise_conv2d>},
    {"transpose_conv2d", "TYPE NxHxWxC OCxKHxKW [sS] [pP] [rescale] [FOLLOWER...]", "f32 1x28x28x64 32x2x2 s2",
     "f32 1x4x3x6 5x2x2 s2", convolution<Op::transpose_conv2d>},
    {"fully_connected", "TYPE NxC OC [rescale] [FOLLOWER...]", "i8 1x1024 1000 rescale", "i8 2x20 9 rescale",
     fully_connected},
    {"matmul", "TYPE NxHxCxW [rescale] [FOLLOWER...]", "f32 1x512x512x512", "f32 2x9x17x6", matmul},
    {"attention",
     "TYPE NxROWSxSIZE [keysN] [valuesN] [mask] [FOLLOWER...] (several: softmax of a scaled product, and its "
     "product)",
     "f16 12x512x64 mask", "f32 2x9x12 keys7 values8 mask", attention},
    {"avg_pool2d", "TYPE NxHxWxC KHxKW [sS] [pP | same] [FOLLOWER...]", "f32 1x112x112x64 3x3 s2 same",
     "i8 1x8x9x5 3x3 s2 same", pool<Op::avg_pool2d>},
    {"max_pool2d", "TYPE NxHxWxC KHxKW [sS] [pP | same] [FOLLOWER...]", "f32 1x112x112x64 3x3 s2 same",
     "f32 1x8x9x5 3x3 s2 same", pool<Op::max_pool2d>},
    {"fft2d", "f32 NxHxW [inverse] [local_bound]", "f32 8x256x256", "f32 2x8x16", fourier<Op::fft2d>},
    {"rfft2d", "f32 NxHxW [local_bound]", "f32 8x256x256", "f32 2x8x16", fourier<Op::rfft2d>},
};

}  // namespace

std::span<const ProblemForm> window_forms() { return forms; }

}  // namespace tosavk

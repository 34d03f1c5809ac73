// CONV_3D and CONV_3D_TRANSPOSE, of floats.
#include "frontends/tflite/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

using T = tflite::TensorType;
using Three = std::array<std::int64_t, 3>;  // d, y, x

struct Conv3d {
    Three stride{}, dilation{1, 1, 1}, kernel{};
    tflite::Padding padding = tflite::Padding::SAME;
    tflite::ActivationFunctionType activation = tflite::ActivationFunctionType::NONE;
};

/// Input 1 are the weights, `x` the image.
Conv3d read_conv(Lowering& l, std::size_t x) {
    const auto* o = l.options<tflite::Conv3DOptions>();
    if (!o) l.fail("its options are missing");
    Conv3d c;
    c.padding = o->padding();
    c.activation = o->fused_activation_function();
    c.stride = {o->stride_d(), o->stride_h(), o->stride_w()};
    c.dilation = {o->dilation_d_factor(), o->dilation_h_factor(), o->dilation_w_factor()};
    if (l.in(x).type != T::FLOAT32 || l.out().type != T::FLOAT32)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(x).type), name_of(l.out().type)));
    const Shape filter = l.shape(l.float_value(1));
    for (const auto& [what, shape] : {std::pair{"input", l.shape(l.value(x))}, std::pair{"filter", filter}}) {
        if (shape.size() != 5) l.fail(fmt::format("its {} has rank {}, not 5", what, shape.size()));
    }
    std::copy_n(filter.begin(), 3, c.kernel.begin());
    for (std::size_t i = 0; i < 3; ++i) {
        if (c.stride[i] < 1 || c.dilation[i] < 1)
            l.fail(fmt::format("stride {} and dilation {} must be at least 1", c.stride[i], c.dilation[i]));
    }
    return c;
}

ValueId bias_of_conv(Lowering& l, std::size_t k, std::int64_t channels) {
    if (!l.has_input(k)) return l.scalar(DType::fp32, 0);
    const ValueId bias = l.float_value(k);
    const std::int64_t count = element_count(l.shape(bias));
    if (count != channels) l.fail(fmt::format("its bias has {} elements for {} channels", count, channels));
    return l.reshape(bias, {channels});
}

std::vector<std::int32_t> narrow_three(const Lowering& l, const Three& v, const char* what) {
    return {l.narrow(v[0], what), l.narrow(v[1], what), l.narrow(v[2], what)};
}

ValueId add_conv3d(Lowering& l, const Conv3d& c, ValueId x, ValueId weights, ValueId bias,
                   std::vector<std::int32_t> pad) {
    Attributes attrs;
    attrs.pad = std::move(pad);
    attrs.stride = narrow_three(l, c.stride, "stride");
    attrs.dilation = narrow_three(l, c.dilation, "dilation");
    attrs.acc_type = DType::fp32;
    const ValueId zero = l.scalar(DType::fp32, 0);
    return l.activate_float(l.add(Op::conv3d, {x, weights, bias, zero, zero}, DType::fp32, attrs), c.activation);
}

ValueId transpose(Lowering& l, ValueId x, std::vector<std::int32_t> perms) {
    Attributes attrs;
    attrs.perms = std::move(perms);
    return l.add(Op::transpose, {x}, l.type(x), attrs);
}

void lower_conv_3d(Lowering& l) {
    const Conv3d c = read_conv(l, 0);
    ValueId x = l.value(0);
    const ValueId filter = l.float_value(1);
    const Shape shape = l.shape(filter);
    if (l.shape(x)[4] != shape[3])
        l.fail(fmt::format("its filter is for {} channels, its input has {}", shape[3], l.shape(x)[4]));
    const ValueId bias = bias_of_conv(l, 2, shape[4]);
    std::vector<std::int32_t> pad = pad_image(l, x, c.kernel, c.stride, c.dilation, c.padding);
    l.set(add_conv3d(l, c, x, transpose(l, filter, {4, 0, 1, 2, 3}), bias, std::move(pad)));
}

/// Zeros between the elements along `axis`, so that each is `stride` from the next.
ValueId spread(Lowering& l, ValueId x, std::size_t axis, std::int64_t stride) {
    Shape to = l.shape(x);
    const std::int64_t size = to[axis];
    if (stride == 1 || size == 1) return x;
    to[axis] = size * stride;
    const auto split = to.begin() + static_cast<std::ptrdiff_t>(axis);
    x = l.reshape(x, {element_count(Shape(to.begin(), split)), size, 1, element_count(Shape(split + 1, to.end()))});
    const std::vector<std::int64_t> padding{0, 0, 0, 0, 0, stride - 1, 0, 0};
    x = l.add(Op::pad, {x, l.constant_ints("padding", DType::shape, {8}, padding), l.scalar(l.type(x), 0)}, l.type(x));
    return l.slice_axis(l.reshape(x, to), axis, 0, (size - 1) * stride + 1);
}

// The image, spread by the strides, under the filter turned round.
void lower_conv_3d_transpose(Lowering& l) {
    Conv3d c = read_conv(l, 2);
    ValueId x = l.value(2), filter = l.float_value(1);
    const Shape input = l.shape(x), shape = l.shape(filter);
    if (input[4] != shape[4])
        l.fail(fmt::format("its filter is for {} channels, its input has {}", shape[4], input[4]));
    Shape output = l.out().shape;
    if (l.constant(0)) output = l.const_ints(0);
    if (output.size() != 5) l.fail(fmt::format("its output has rank {}, not 5", output.size()));
    if (output[0] != input[0] || output[4] != shape[3])
        l.fail(fmt::format("its output of shape {} does not fit its input of shape {} and its filter of shape {}",
                           to_string(output), to_string(input), to_string(shape)));
    const ValueId bias = bias_of_conv(l, 3, shape[3]);
    filter = transpose(l, filter, {3, 0, 1, 2, 4});
    std::vector<std::int32_t> pad;
    for (std::size_t i = 0; i < 3; ++i) {
        const std::int64_t out = output[1 + i], reach = (c.kernel[i] - 1) * c.dilation[i];
        if (out < 1) l.fail(fmt::format("its output has {} elements along an axis", out));
        const std::int64_t spread_size = (input[1 + i] - 1) * c.stride[i] + 1;
        const bool same = c.padding == tflite::Padding::SAME;
        const std::int64_t cut = same ? std::max<std::int64_t>(spread_size + reach - out, 0) / 2 : 0;
        const std::int64_t before = reach - cut, after = out + reach - spread_size - before;
        x = spread(l, x, 1 + i, c.stride[i]);
        // What no output reads goes.
        const std::int64_t first = std::max<std::int64_t>(-before, 0), last = std::max<std::int64_t>(-after, 0);
        x = l.slice_axis(x, 1 + i, first, spread_size - first - last);
        pad.push_back(l.narrow(std::max<std::int64_t>(before, 0), "padding"));
        pad.push_back(l.narrow(std::max<std::int64_t>(after, 0), "padding"));
        if (c.kernel[i] > 1) {
            Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(1 + i);
            filter = l.add(Op::reverse, {filter}, DType::fp32, attrs);
        }
    }
    c.stride = {1, 1, 1};
    l.set(add_conv3d(l, c, x, filter, bias, std::move(pad)));
}

}  // namespace

OperatorRows conv3d_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::CONV_3D, lower_conv_3d},
        {B::CONV_3D_TRANSPOSE, lower_conv_3d_transpose},
    };
    return rows;
}

}  // namespace tosavk

// Broken graphs of convolutions, pools and Fourier transforms.
#include "verify/conformance/breaking.hpp"

#include <algorithm>

namespace tosavk::conformance::breaking {
namespace {

bool not_i8(const TypeRow& row) { return row.types.at(0) != DType::i8; }
bool weight_not_i8(const TypeRow& row) { return row.types.at(1) != DType::i8; }

std::size_t axes_of(const Graph& g) { return g.nodes.at(0).op == Op::conv3d ? 3 : 2; }
std::size_t first_kernel_axis(const Graph& g) { return g.nodes.at(0).op == Op::depthwise_conv2d ? 0 : 1; }

using List = std::vector<std::int32_t> Attributes::*;

/// One element of an attribute becomes less than `least`.
Apply below(List list, std::int32_t least) {
    return [=](Graph& g, Random& random) {
        auto& values = attrs(g).*list;
        values.at(static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(values.size()) - 1))) =
            least - static_cast<std::int32_t>(pick(random, 1, 3));
        return true;
    };
}

/// Output axis `axis` has another size than the window gives, or the window does not divide.
Apply wrong_size(std::size_t axis) {
    return [=](Graph& g, Random& random) {
        const bool transposed = node(g).op == Op::transpose_conv2d;
        if (transposed || attrs(g).stride.at(axis) == 1 || pick(random, 0, 1) == 0) {
            ++output(g).shape.at(1 + axis);
        } else {
            Shape shape = operand(g, 0).shape;
            ++shape.at(1 + axis);
            set_shape(g, 0, shape);
        }
        return true;
    };
}

bool wrong_bias(Graph& g, Random&) {
    set_shape(g, 2, {output(g).shape.back() + 1});
    return output(g).shape.back() + 1 != 1;
}

/// Paddings of one axis (0: y, 1: x) reach the size of the kernel.
Apply pad_reaches_kernel(std::size_t axis) {
    return [=](Graph& g, Random& random) {
        attrs(g).pad.at(2 * axis + static_cast<std::size_t>(pick(random, 0, 1))) = attrs(g).kernel.at(axis);
        return true;
    };
}

/// out_pad of one axis cuts the whole kernel off.
Apply out_pad_cuts_kernel(std::size_t axis) {
    return [=](Graph& g, Random& random) {
        attrs(g).pad.at(2 * axis + static_cast<std::size_t>(pick(random, 0, 1))) =
            -static_cast<std::int32_t>(operand(g, 1).shape.at(1 + axis));
        return true;
    };
}

// ---- levels -------------------------------------------------------------------------------------------------------

constexpr std::int32_t beyond = 8193;

/// Plain windows: stride and dilation 1, no padding, so that one large number can stand alone.
void plain(Graph& g) {
    for (std::int32_t& v : attrs(g).stride) v = 1;
    for (std::int32_t& v : attrs(g).dilation) v = 1;
    for (std::int32_t& v : attrs(g).pad) v = 0;
}

/// The input becomes large enough for `extent` in every window axis.
void widen(Graph& g, std::size_t axis, std::int64_t extent) {
    Shape shape = operand(g, 0).shape;
    for (std::size_t d = 1; d + 1 < shape.size(); ++d) shape[d] = std::max<std::int64_t>(shape[d], 8);
    shape.at(1 + axis) = extent;
    set_shape(g, 0, shape);
}

bool long_dilated_kernel(Graph& g, Random& random) {
    plain(g);
    const auto axis = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(axes_of(g)) - 1));
    const std::int64_t taps = operand(g, 1).shape.at(first_kernel_axis(g) + axis);
    attrs(g).dilation.at(axis) = beyond;
    widen(g, axis, (taps - 1) * beyond + 1);
    return refit(g);
}

bool long_pool_kernel(Graph& g, Random& random) {
    plain(g);
    const auto axis = static_cast<std::size_t>(pick(random, 0, 1));
    attrs(g).kernel.at(axis) = beyond;
    widen(g, axis, beyond);
    return refit(g);
}

bool long_stride(Graph& g, Random& random) {
    plain(g);
    const bool pool = !attrs(g).kernel.empty();
    const auto axis = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(axes_of(g)) - 1));
    attrs(g).stride.at(axis) = beyond;
    if (node(g).op != Op::transpose_conv2d) {
        widen(g, axis, pool ? attrs(g).kernel.at(axis) : operand(g, 1).shape.at(first_kernel_axis(g) + axis));
    }
    return refit(g);
}

bool long_padding(Graph& g, Random& random) {
    plain(g);
    const auto count = static_cast<std::int64_t>(attrs(g).pad.size());
    attrs(g).pad.at(static_cast<std::size_t>(pick(random, 0, count - 1))) = beyond;
    return refit(g);
}

bool long_pool_padding(Graph& g, Random& random) {
    // Padding is less than the kernel, which is then too long as well.
    const auto axis = static_cast<std::size_t>(pick(random, 0, 1));
    plain(g);
    attrs(g).kernel.at(axis) = beyond + 1;
    attrs(g).pad.at(2 * axis) = beyond;
    widen(g, axis, beyond);
    return refit(g);
}

// ---- families -----------------------------------------------------------------------------------------------------

void convolution(Op op, std::vector<ErrorGraph>& all) {
    const bool transposed = op == Op::transpose_conv2d;
    Entries entries(op, all);
    entries.add("input_zp is not 0 and in_t is not i8", zero_point_of_one(3), not_i8)
        .add("weight_zp is not 0 and weight_t is not i8", zero_point_of_one(4), weight_not_i8);
    if (transposed) {
        entries.add("out_pad_top or out_pad_bottom <= -KH", out_pad_cuts_kernel(0))
            .add("out_pad_left or out_pad_right <= -KW", out_pad_cuts_kernel(1));
    } else {
        entries.add("a pad < 0", below(&Attributes::pad, 0));
    }
    entries.add("a stride < 1", below(&Attributes::stride, 1));
    if (!transposed) entries.add("a dilation < 1", below(&Attributes::dilation, 1));
    if (op == Op::conv3d) {
        entries.add("OD does not follow from ID", wrong_size(0))
            .add("OH does not follow from IH", wrong_size(1))
            .add("OW does not follow from IW", wrong_size(2));
    } else {
        entries.add("OH does not follow from IH", wrong_size(0)).add("OW does not follow from IW", wrong_size(1));
    }
    entries.add("the bias has neither 1 element nor one per output channel", wrong_bias);
    if (!transposed) entries.level("dilation * kernel > MAX_KERNEL", long_dilated_kernel);
    entries.level("stride > MAX_STRIDE", long_stride).level("pad > MAX_KERNEL", long_padding);
}

void pool(Op op, std::vector<ErrorGraph>& all) {
    Entries entries(op, all);
    if (op == Op::avg_pool2d) {
        entries.add("input_zp is not 0 and the type is not i8", zero_point_of_one(1), not_i8)
            .add("output_zp is not 0 and the type is not i8", zero_point_of_one(2), not_i8);
    }
    entries.add("a kernel side < 1", below(&Attributes::kernel, 1))
        .add("a stride < 1", below(&Attributes::stride, 1))
        .add("a pad < 0", below(&Attributes::pad, 0))
        .add("pad_top or pad_bottom >= kernel_y", pad_reaches_kernel(0))
        .add("pad_left or pad_right >= kernel_x", pad_reaches_kernel(1))
        .add("OH does not follow from IH", wrong_size(0))
        .add("OW does not follow from IW", wrong_size(1))
        .level("kernel > MAX_KERNEL", long_pool_kernel)
        .level("stride > MAX_STRIDE", long_stride)
        .level("pad > MAX_KERNEL", long_pool_padding);
}

/// All inputs take another size along one axis.
Apply transform_size(std::size_t axis, std::int64_t size, bool fits_otherwise) {
    return [=](Graph& g, Random&) {
        for (std::size_t k = 0; k < node(g).inputs.size(); ++k) {
            Shape shape = operand(g, k).shape;
            shape.at(axis) = size;
            set_shape(g, k, shape);
        }
        return refit(g) || !fits_otherwise;
    };
}

}  // namespace

void add_window_errors(std::vector<ErrorGraph>& all) {
    for (const Op op : {Op::avg_pool2d, Op::max_pool2d}) pool(op, all);
    for (const Op op : {Op::conv2d, Op::conv3d, Op::depthwise_conv2d, Op::transpose_conv2d}) convolution(op, all);
    for (const Op op : {Op::fft2d, Op::rfft2d}) {
        Entries(op, all)
            .add("H is not a power of two", transform_size(1, 12, false))
            .add("W is not a power of two", transform_size(2, 24, false))
            .level("H > MAX_KERNEL", transform_size(1, 16384, true))
            .level("W > MAX_KERNEL", transform_size(2, 16384, true));
    }
}

}  // namespace tosavk::conformance::breaking

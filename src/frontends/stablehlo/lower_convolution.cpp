// Convolutions.
#include "frontends/stablehlo/contraction.hpp"
#include "frontends/stablehlo/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t most_summed = 1024;  ///< convolutions that one is made of

struct Spatial {
    std::int64_t kernel = 1, stride = 1, low = 0, high = 0, left_dilation = 1, right_dilation = 1, out = 1;
    bool reversed = false;
};

/// Input [n, spatial..., channels], weights [outputs, spatial..., channels of a group]; dilation of the input done
/// before, and padding where the operator is not to do it.
struct Operands {
    Id x = no_id, weights = no_id;
    std::int64_t x_zero = 0, weights_zero = 0;
    std::vector<Spatial> space;
    std::int64_t groups = 1;
    bool pads = false;
};

/// What a convolution becomes.
enum class Way { whole, by_channels, by_groups, by_first_dimension };

std::int64_t channels_of(Lowering& l, const Operands& o) { return l.shape(o.weights).back(); }

/// Few operators: one channel of each group at a time has little to do for each.
Way way_of(Lowering& l, const Operands& o) {
    const std::int64_t channels = channels_of(l, o);
    const std::size_t n = o.space.size();
    if (n > 3) return Way::by_first_dimension;
    if (o.groups == 1) return Way::whole;
    const std::int64_t each = saturated_product(channels, n == 2 ? 1 : o.space[0].kernel);
    if (channels > 1 && saturated_product(4, each) > o.groups) return Way::by_groups;
    if (n == 2) return Way::by_channels;
    return each < o.groups ? Way::by_first_dimension : Way::by_groups;
}

Id one_operator(Lowering& l, const Operands& o, Op op) {
    tosavk::Attributes attrs;
    for (const Spatial& axis : o.space) {
        attrs.pad.push_back(o.pads ? static_cast<std::int32_t>(axis.low) : 0);
        attrs.pad.push_back(o.pads ? static_cast<std::int32_t>(axis.high) : 0);
        attrs.stride.push_back(static_cast<std::int32_t>(axis.stride));
        attrs.dilation.push_back(static_cast<std::int32_t>(axis.right_dilation));
    }
    const DType type = l.type(o.x);
    attrs.acc_type = is_float(type) ? DType::fp32 : DType::i32;
    const DType out = is_float(type) ? type : DType::i32;
    return l.add(op,
                 {o.x, o.weights, l.zeros(out, {1}), l.zero_point(type, o.x_zero),
                  l.zero_point(l.type(o.weights), o.weights_zero)},
                 out, attrs);
}

Id sum(Lowering& l, Id a, Id b) { return a == no_id ? b : l.binary(Op::add, a, b, l.type(b)); }

/// Of each group one channel after the other, for all groups at once.
Id by_channels(Lowering& l, const Operands& o) {
    const Shape from = l.shape(o.x), kernel = l.shape(o.weights);
    const std::int64_t channels = kernel.back(), outputs = kernel[0];
    const Id apart = l.reshape(o.x, {from[0], from[1], from[2], o.groups, channels});
    const Id last = l.transpose(o.weights, std::array<std::int64_t, 4>{1, 2, 3, 0});
    Id all = no_id;
    for (std::int64_t c = 0; c < channels; ++c) {
        Operands one = o;
        one.x = l.reshape(l.slice_axis(apart, 4, c, 1), {from[0], from[1], from[2], o.groups});
        one.weights = l.reshape(l.slice_axis(last, 2, c, 1), {kernel[1], kernel[2], o.groups, outputs / o.groups});
        all = sum(l, all, one_operator(l, one, Op::depthwise_conv2d));
    }
    return all;
}

Id convolution(Lowering& l, const Operands& o);

Id by_groups(Lowering& l, const Operands& o) {
    const std::size_t last = o.space.size() + 1;
    const std::int64_t channels = channels_of(l, o), outputs = l.shape(o.weights)[0] / o.groups;
    std::vector<Id> made;
    for (std::int64_t g = 0; g < o.groups; ++g) {
        Operands one = o;
        one.groups = 1;
        one.x = l.slice_axis(o.x, last, g * channels, channels);
        one.weights = l.slice_axis(o.weights, 0, g * outputs, outputs);
        made.push_back(convolution(l, one));
    }
    return l.concat(made, last);
}

/// Each place of the kernel in its first dimension by itself, where the input's has become images.
Id by_first_dimension(Lowering& l, const Operands& o) {
    const Spatial& first = o.space[0];
    if (first.kernel > most_summed)
        l.unsupported(fmt::format("kernels of more than {} in a dimension besides those of CONV3D are not supported",
                                  most_summed));
    const Shape from = l.shape(o.x), kernel = l.shape(o.weights);
    Operands one = o;
    one.space.erase(one.space.begin());
    Shape images = from, weights = kernel;
    images.erase(images.begin() + 1);
    images[0] *= first.out;
    weights.erase(weights.begin() + 1);
    Id all = no_id;
    for (std::int64_t k = 0; k < first.kernel; ++k) {
        Dims start(from.size(), 0), limit = from, stride(from.size(), 1);
        start[1] = k * first.right_dilation;
        limit[1] = start[1] + (first.out - 1) * first.stride + 1;
        stride[1] = first.stride;
        one.x = l.reshape(l.strided_slice(o.x, start, limit, stride), images);
        one.weights = l.reshape(l.slice_axis(o.weights, 1, k, 1), weights);
        all = sum(l, all, convolution(l, one));
    }
    Shape made = l.shape(all);
    made[0] = from[0];
    made.insert(made.begin() + 1, first.out);
    return l.reshape(all, made);
}

Id convolution(Lowering& l, const Operands& given) {
    Operands o = given;
    const Way way = way_of(l, o);
    const bool sums = way == Way::by_first_dimension || (way == Way::by_channels && channels_of(l, o) > 1);
    if (sums && is_float(l.type(o.x))) {  // rounded once, at the end
        o.x = l.cast(o.x, DType::fp32);
        o.weights = l.cast(o.weights, DType::fp32);
    }
    switch (way) {
        case Way::whole: return one_operator(l, o, o.space.size() == 3 ? Op::conv3d : Op::conv2d);
        case Way::by_channels: return by_channels(l, o);
        case Way::by_groups: return by_groups(l, o);
        case Way::by_first_dimension: return by_first_dimension(l, o);
    }
    return no_id;
}

/// Whether TOSA's operators pad as this convolution does.
bool pads_itself(Lowering& l, const Operands& o) {
    const std::int64_t most = l.level().max_kernel;
    const auto fits = [most](const Spatial& s) {
        return s.low >= 0 && s.high >= 0 && s.low <= most && s.high <= most && s.left_dilation == 1;
    };
    return !l.is_empty(o.x) && way_of(l, o) != Way::by_first_dimension && std::ranges::all_of(o.space, fits);
}

/// Groups of images as groups of channels.
Id images_to_channels(Lowering& l, Id x, std::int64_t groups) {
    Shape shape = l.shape(x);
    const std::int64_t channels = shape.back(), places = tosavk::element_count(shape) / (groups * channels);
    x = l.transpose(l.reshape(x, {groups, places, channels}), std::array<std::int64_t, 3>{1, 0, 2});
    shape[0] /= groups;
    shape.back() *= groups;
    return l.reshape(x, shape);
}

std::vector<Spatial> spatial_of(Lowering& l, const Shape& left, const Shape& right, const Shape& result) {
    const auto in_space = l.numbers("input_spatial_dimensions"), kernel_space = l.numbers("kernel_spatial_dimensions");
    const auto out_space = l.numbers("output_spatial_dimensions");
    const auto strides = l.small_numbers("window_strides");
    const std::optional<Dims> told = l.op().name == "dynamic_conv" ? l.known(2) : l.numbers("padding");
    if (!told) l.unsupported("its padding is not known");
    l.refuse_large(*told);
    if (told->size() != 2 * in_space.size())
        l.fail(fmt::format("its padding has {} numbers, not {}", told->size(), 2 * in_space.size()));
    const Dims& padding = *told;
    const auto left_dilation = l.small_numbers("lhs_dilation"), right_dilation = l.small_numbers("rhs_dilation");
    const auto reversal = l.numbers("window_reversal");
    std::vector<Spatial> space;
    for (std::size_t k = 0; k < in_space.size(); ++k) {
        Spatial s{right.at(static_cast<std::size_t>(kernel_space[k])),
                  strides[k],
                  padding[2 * k],
                  padding[2 * k + 1],
                  left_dilation[k],
                  right_dilation[k],
                  result.at(static_cast<std::size_t>(out_space[k])),
                  reversal[k] != 0};
        const std::int64_t size = left.at(static_cast<std::size_t>(in_space[k]));
        const WindowDimension window{s.kernel, s.stride, s.right_dilation, s.left_dilation, s.low, s.high, s.out};
        check_windows(l, window, size, k);
        // TOSA divides without a remainder.
        const std::int64_t dilated = size == 0 ? 0 : (size - 1) * s.left_dilation + 1;
        s.high += (s.out - 1) * s.stride + (s.kernel - 1) * s.right_dilation + 1 - (dilated + s.low + s.high);
        space.push_back(s);
    }
    return space;
}

void lower_convolution(Lowering& l) {
    const Tensor a = l.given(0), b = l.given(1);
    const Element to = l.result_type().element;
    const Shape result = l.result_shape(), left = l.shape(a.id), right = l.shape(b.id);
    std::vector<Spatial> space = spatial_of(l, left, right, result);
    const auto in_space = l.numbers("input_spatial_dimensions"), kernel_space = l.numbers("kernel_spatial_dimensions");
    const auto out_space = l.numbers("output_spatial_dimensions");
    const std::int64_t groups = l.integer("feature_group_count"), batch_groups = l.integer("batch_group_count");
    Dims left_order{l.integer("input_batch_dimension")}, right_order{l.integer("kernel_output_feature_dimension")};
    left_order.insert(left_order.end(), in_space.begin(), in_space.end());
    left_order.push_back(l.integer("input_feature_dimension"));
    right_order.insert(right_order.end(), kernel_space.begin(), kernel_space.end());
    right_order.push_back(l.integer("kernel_input_feature_dimension"));
    const std::size_t added = space.size() < 2 ? 2 - space.size() : 0;  // spatial dimensions of 1 in front
    space.insert(space.begin(), added, Spatial{});
    const std::size_t n = space.size();
    const auto ranked = [&](Id id) {
        Shape shape = l.shape(id);
        shape.insert(shape.begin() + 1, added, 1);
        return l.reshape(id, shape);
    };
    const std::int64_t outputs = right.at(static_cast<std::size_t>(right_order[0])),
                       of_group = right.at(static_cast<std::size_t>(right_order.back())),
                       channels = left.at(static_cast<std::size_t>(left_order.back())),
                       images = left.at(static_cast<std::size_t>(left_order[0]));
    if (channels % groups != 0 || channels / groups != of_group || images % batch_groups != 0 ||
        outputs % groups != 0 || outputs / groups % batch_groups != 0)
        l.fail(fmt::format("its {} channels in {} groups, {} images in {} do not go with a kernel from {} to {}",
                           channels, groups, images, batch_groups, of_group, outputs));
    const auto step = [&](const Tensor& given_x, const Tensor& given_y, Terms) {
        Tensor tx = given_x, ty = given_y;
        tx.id = ranked(l.transpose(tx.id, left_order)), ty.id = ranked(l.transpose(ty.id, right_order));
        const bool is_integer = is_integer_element(tx.element);
        if (!is_integer) {
            const DType type = l.type(tx.id);
            if (type != l.type(ty.id) || (type != DType::fp32 && to == Element::f32) || l.wide_type(type) != type)
                tx.id = l.cast(tx.id, DType::fp32), ty.id = l.cast(ty.id, DType::fp32);
        }
        const Factor x = factor_of(l, tx), y = factor_of(l, ty);
        Operands o{x.id, y.id, x.zero, y.zero, space, groups * batch_groups};
        Dims low(n + 2, 0), high(n + 2, 0), between(n + 2, 0);
        for (std::size_t k = 0; k < n; ++k) {
            low[k + 1] = space[k].low;
            high[k + 1] = space[k].high;
            between[k + 1] = space[k].left_dilation - 1;
            if (!space[k].reversed || space[k].kernel == 1) continue;
            tosavk::Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(k + 1);
            o.weights = l.add(Op::reverse, {o.weights}, l.type(o.weights), attrs);
        }
        const DType type = l.type(o.x);
        const Id zero = is_integer ? l.constant_ints("zero", type, {1}, std::array{x.zero})
                                   : l.constant("zero", type, {1}, Bytes(size_of(type)));
        o.pads = batch_groups == 1 && pads_itself(l, o);
        if (!o.pads) o.x = l.pad(o.x, zero, low, high, between);
        if (batch_groups > 1) o.x = images_to_channels(l, o.x, batch_groups);
        const Id sums = convolution(l, o);
        Shape flat = l.shape(sums);
        flat.erase(flat.begin() + 1, flat.begin() + 1 + static_cast<std::ptrdiff_t>(added));
        // To where the result has its dimensions.
        Dims order(result.size(), 0);
        order.at(static_cast<std::size_t>(l.integer("output_batch_dimension"))) = 0;
        for (std::size_t k = 0; k < out_space.size(); ++k)
            order.at(static_cast<std::size_t>(out_space[k])) = static_cast<std::int64_t>(k) + 1;
        order.at(static_cast<std::size_t>(l.integer("output_feature_dimension"))) =
            static_cast<std::int64_t>(result.size()) - 1;
        return l.transpose(l.reshape(sums, flat), order);
    };
    const std::int64_t terms = tosavk::element_count(right) / std::max<std::int64_t>(outputs, 1);
    l.set(terms == 0 ? zero_tensor(l, to, result) : contracted(l, a, b, to, {step, terms}));
}

}  // namespace

std::span<const LoweringRow> convolution_rows() {
    static constexpr LoweringRow rows[] = {
        {"convolution", lower_convolution},
        {"dynamic_conv", lower_convolution},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

// Pooling, and reductions along axes: AVERAGE_POOL_2D, MAX_POOL_2D, MEAN, SUM, REDUCE_MAX, REDUCE_MIN.
#include "frontends/tflite/lowering.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tosavk {

namespace {

using tflite::BuiltinOperator;

DType reduced_type(const Lowering& l) {
    const DType type = l.dtype(l.in(0));
    if (l.dtype(l.out()) != type) {
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    }
    return type;
}

// The axes of a reduction, without repetition.
std::vector<bool> reduced_axes(const Lowering& l, std::size_t rank) {
    std::vector<bool> axes(rank, false);
    for (const std::int64_t a : l.const_ints(1)) axes[l.axis(a, rank)] = true;
    return axes;
}

bool keep_dims(const Lowering& l) {
    const auto* options = l.options<tflite::ReducerOptions>();
    return options && options->keep_dims();
}

// Reduces the chosen axes, neighbouring ones at once; dimensions of `x` that are reduced become 1.
ValueId reduce(Lowering& l, Op op, ValueId x, const std::vector<bool>& axes) {
    const Shape full = l.shape(x);
    Shape kept = full;
    for (std::size_t first = 0; first < axes.size();) {
        if (!axes[first]) {
            ++first;
            continue;
        }
        std::size_t last = first;
        std::int64_t run = 1;
        for (; last < axes.size() && axes[last]; ++last) {
            run *= full[last];
            kept[last] = 1;
        }
        if (run > 1) {
            // [before..., run, after...], so that one node does the whole run.
            Shape merged(l.shape(x).begin(), l.shape(x).begin() + static_cast<std::ptrdiff_t>(first));
            merged.push_back(run);
            merged.insert(merged.end(), full.begin() + static_cast<std::ptrdiff_t>(last), full.end());
            x = l.reshape(x, merged);
            Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(first);
            x = l.add(op, {x}, l.type(x), attrs);
            x = l.reshape(x, kept);
        }
        first = last;
    }
    return x;
}

ValueId drop_axes(Lowering& l, ValueId x, const std::vector<bool>& axes) {
    if (keep_dims(l)) return x;
    const Shape full = l.shape(x);
    Shape left;
    for (std::size_t d = 0; d < full.size(); ++d) {
        if (!axes[d]) left.push_back(full[d]);
    }
    return l.reshape(x, left);
}

std::int64_t reduced_count(const Shape& shape, const std::vector<bool>& axes) {
    std::int64_t n = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) n *= axes[d] ? shape[d] : 1;
    return n;
}

void lower_pool_2d(Lowering& l) {
    const bool average = l.op().code == BuiltinOperator::AVERAGE_POOL_2D;
    const auto* options = l.options<tflite::Pool2DOptions>();
    if (!options) l.fail("its options are missing");
    const DType type = reduced_type(l);
    if (type != DType::fp32 && type != DType::i8 && type != DType::i16)
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    l.require_same_quant(l.in(0), l.out());
    const std::array<std::int64_t, 2> kernel{options->filter_height(), options->filter_width()};
    const std::array<std::int64_t, 2> stride{options->stride_h(), options->stride_w()}, dilation{1, 1};
    ValueId x = l.value(0);
    Attributes attrs;
    attrs.pad = pad_image(l, x, kernel, stride, dilation, options->padding());
    attrs.kernel = {l.narrow(kernel[0], "kernel"), l.narrow(kernel[1], "kernel")};
    attrs.stride = {l.narrow(stride[0], "stride"), l.narrow(stride[1], "stride")};
    attrs.acc_type = type == DType::fp32 ? DType::fp32 : DType::i32;
    ValueId y;
    // With zero points of 0 TOSA rounds half away from zero, as TFLite does on the stored integers.
    if (average) y = l.add(Op::avg_pool2d, {x, l.scalar(type, 0), l.scalar(type, 0)}, type, attrs);
    else y = l.add(Op::max_pool2d, {x}, type, attrs);
    const auto activation = options->fused_activation_function();
    l.set(type == DType::fp32 ? l.activate_float(y, activation) : l.activate_int(y, activation, l.out()));
}

void lower_mean(Lowering& l) {
    const DType type = reduced_type(l);
    ValueId x = l.value(0);
    const Shape shape = l.shape(x);
    const std::vector<bool> axes = reduced_axes(l, shape.size());
    const std::int64_t n = reduced_count(shape, axes);
    if (type == DType::fp32) {
        x = reduce(l, Op::reduce_sum, x, axes);
        const float inverse = 1.0f / static_cast<float>(n);
        if (n > 1) x = l.mul(x, l.splat(x, DType::fp32, static_cast<double>(inverse)), DType::fp32);
        return l.set(drop_axes(l, x, axes));
    }
    if (type != DType::i8 && type != DType::i16)
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    if (n > (type == DType::i8 ? std::int64_t{1} << 22 : std::int64_t{1} << 14)) {
        l.unsupported(fmt::format("a mean of {} elements does not fit its 32-bit sum", n));
    }
    // TFLite folds 1/n into the multiplier, keeping as many bits as fit.
    QuantizedMultiplier m = quantize_multiplier(static_cast<double>(in.scale) / static_cast<double>(out.scale));
    const int shift = std::min({63 - std::countl_zero(static_cast<std::uint64_t>(n)), 32, 31 + m.exponent});
    m.multiplier = static_cast<std::int32_t>((std::int64_t{m.multiplier} << shift) / n);
    m.exponent -= shift;
    // The sum of n values has as many bits more as were folded.
    if (m.exponent + shift > (type == DType::i8 ? 20 : 13)) l.unsupported("the ratio of its scales is too large");
    x = reduce(l, Op::reduce_sum, l.widen(x, in.zero_point), axes);
    l.set(drop_axes(l, l.requantize(x, type, m, 0, out.zero_point), axes));
}

void lower_reduce(Lowering& l) {
    const auto code = l.op().code;
    const DType type = reduced_type(l);
    const bool sum = code == BuiltinOperator::SUM;
    if (type != DType::fp32 && type != DType::i32 && (sum || (type != DType::i8 && type != DType::i16))) {
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    }
    if (!sum) l.require_same_quant(l.in(0), l.out());
    const ValueId x = l.value(0);
    const std::vector<bool> axes = reduced_axes(l, l.shape(x).size());
    const Op op = sum ? Op::reduce_sum : code == BuiltinOperator::REDUCE_MAX ? Op::reduce_max : Op::reduce_min;
    l.set(drop_axes(l, reduce(l, op, x, axes), axes));
}

}  // namespace

OperatorRows pool_reduce_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::AVERAGE_POOL_2D, lower_pool_2d},
        {B::MAX_POOL_2D, lower_pool_2d},
        {B::MEAN, lower_mean, takes_axes},
        {B::SUM, lower_reduce, takes_axes},
        {B::REDUCE_MAX, lower_reduce, takes_axes},
        {B::REDUCE_MIN, lower_reduce, takes_axes},
    };
    return rows;
}

}  // namespace tosavk

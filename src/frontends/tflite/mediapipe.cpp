// Custom operators of MediaPipe, as its own kernels compute them: pooling that tells where the maximum was, its
// inverse, and a transposed convolution with a bias. Their options are the runtime's structs, byte by byte.
#include "frontends/tflite/moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace tosavk {

namespace {

constexpr std::int64_t max_window = 1024;

/// Integers at the beginning of the options.
template <std::size_t n> std::array<std::int64_t, n> leading_ints(const Lowering& l) {
    const auto* bytes = l.op().table->custom_options();
    if (!bytes || bytes->size() < 4 * n)
        l.fail(fmt::format("its options have {} bytes, not {}", bytes ? bytes->size() : 0, 4 * n));
    std::array<std::int64_t, n> values{};
    for (std::size_t k = 0; k < n; ++k) {
        std::uint32_t word = 0;
        for (std::size_t b = 0; b < 4; ++b)
            word |= std::uint32_t{bytes->Get(static_cast<flatbuffers::uoffset_t>(4 * k + b))} << (8 * b);
        values[k] = static_cast<std::int32_t>(word);
    }
    return values;
}

tflite::Padding padding_of(const Lowering& l, std::int64_t number) {
    if (number != 1 && number != 2) l.fail(fmt::format("its padding is {}", number));
    return number == 1 ? tflite::Padding::SAME : tflite::Padding::VALID;
}

void require_floats(const Lowering& l, std::size_t inputs, std::size_t outputs) {
    if (l.input_count() != inputs || l.output_count() != outputs)
        l.fail(fmt::format("it has {} inputs and {} outputs", l.input_count(), l.output_count()));
    for (std::size_t k = 0; k < outputs; ++k) {
        if (l.in(0).type != tflite::TensorType::FLOAT32 || l.out(k).type != tflite::TensorType::FLOAT32)
            l.unsupported("only FLOAT32 is supported");
    }
}

ValueId image(Lowering& l) {
    const ValueId x = l.value(0);
    if (l.shape(x).size() != 4) l.fail(fmt::format("its input has rank {}, not 4", l.shape(x).size()));
    return x;
}

struct Pool {
    tflite::Padding padding{};
    std::array<std::int64_t, 2> stride{}, window{};  ///< y, x
    tflite::ActivationFunctionType activation{};
};

Pool pool_of(const Lowering& l) {
    const auto [padding, stride_x, stride_y, width, height, activation] = leading_ints<6>(l);
    for (const std::int64_t v : {stride_x, stride_y, width, height}) {
        if (v < 1) l.fail("its window and strides must be at least 1");
    }
    if (width > max_window || height > max_window || width * height > max_window)
        l.unsupported(fmt::format("a window of {} x {} is too large", height, width));
    if (activation < 0 || activation > 127) l.fail(fmt::format("its fused activation is {}", activation));
    return {padding_of(l, padding),
            {stride_y, stride_x},
            {height, width},
            static_cast<tflite::ActivationFunctionType>(activation)};
}

/// Each place of the window in turn: the largest number so far, and the first place that had it.
void lower_max_pool_argmax(Lowering& l) {
    require_floats(l, 1, 2);
    const Pool pool = pool_of(l);
    ValueId x = image(l);
    const Shape from = l.shape(x);
    const double lowest = -static_cast<double>(std::numeric_limits<float>::max());
    std::array<std::int64_t, 2> out{};
    std::vector<std::int64_t> padding(8, 0);
    for (std::size_t i = 0; i < 2; ++i) {
        const Window w = make_window(l, from[1 + i], pool.window[i], pool.stride[i], 1, pool.padding);
        out[i] = w.out;
        padding[2 + 2 * i] = w.before;
        // Up to whole strides behind the last window, so that every place has as many.
        padding[3 + 2 * i] = std::max<std::int64_t>(
            (w.out - 1) * pool.stride[i] + pool.window[i] + pool.stride[i] - 1 - w.before - from[1 + i], 0);
    }
    x = pad(l, x, padding, l.scalar(DType::fp32, lowest));
    // What is not above the lowest number is not taken; MediaPipe adds 0.1 to the place.
    ValueId best = l.splat(x, DType::fp32, lowest), place = l.splat(x, DType::fp32, 0.1f);
    for (std::int64_t at = 0; at < pool.window[0] * pool.window[1]; ++at) {
        const std::array<std::int64_t, 2> offset{at / pool.window[1], at % pool.window[1]};
        ValueId tap = x;
        for (std::size_t i = 0; i < 2; ++i) {
            tap = l.slice_axis(tap, 1 + i, offset[i], out[i] * pool.stride[i]);
            if (pool.stride[i] > 1) tap = take_every(l, tap, 1 + i, pool.stride[i], out[i]);
        }
        const ValueId larger = l.add(Op::greater, {tap, best}, DType::boolean);
        const double mark = static_cast<double>(static_cast<float>(at) + 0.1f);
        best = l.add(Op::select, {larger, tap, best}, DType::fp32);
        place = l.add(Op::select, {larger, l.splat(x, DType::fp32, mark), place}, DType::fp32);
    }
    l.set(l.activate_float(best, pool.activation));
    l.set(place, 1);
}

void lower_max_unpool(Lowering& l) {
    require_floats(l, 2, 1);
    const Pool pool = pool_of(l);
    const ValueId x = image(l), marks = l.value(1);
    const Shape from = l.shape(x);
    if (l.shape(marks) != from || l.type(marks) != DType::fp32)
        l.fail(fmt::format("places {} for {}", to_string(l.shape(marks)), to_string(from)));
    if (pool.stride != pool.window) l.unsupported("strides other than the window are not supported");
    const ValueId place = l.add(Op::floor, {l.clamp(marks, 0, 0x1p24)}, DType::fp32);
    const ValueId zero = l.splat(x, DType::fp32, 0);
    // [batch, y, window y, x, window x, channels], row by row of the window
    std::vector<ValueId> lines;
    for (std::int64_t y = 0; y < pool.window[0]; ++y) {
        std::vector<ValueId> line;
        for (std::int64_t k = 0; k < pool.window[1]; ++k) {
            const auto at = static_cast<double>(y * pool.window[1] + k);
            const ValueId here = l.add(Op::equal, {place, l.splat(place, DType::fp32, at)}, DType::boolean);
            const ValueId part = l.add(Op::select, {here, x, zero}, DType::fp32);
            line.push_back(l.reshape(part, {from[0] * from[1], from[2], 1, from[3]}));
        }
        const ValueId joined = l.concat(std::move(line), 2);
        lines.push_back(l.reshape(joined, {from[0] * from[1], 1, from[2] * pool.window[1] * from[3]}));
    }
    l.set(l.reshape(l.concat(std::move(lines), 1),
                    {from[0], from[1] * pool.window[0], from[2] * pool.window[1], from[3]}));
}

void lower_transpose_conv_bias(Lowering& l) {
    require_floats(l, 3, 1);
    const auto [padding, stride_x, stride_y] = leading_ints<3>(l);
    const bool same = padding_of(l, padding) == tflite::Padding::SAME;
    const ValueId x = image(l), weights = l.float_value(1), bias = l.float_value(2);
    const Shape from = l.shape(x), filter = l.shape(weights);
    if (filter.size() != 4 || filter[3] != from[3] || l.shape(bias) != Shape{filter[0]})
        l.fail(fmt::format("a filter {} and a bias {} for {}", to_string(filter), to_string(l.shape(bias)),
                           to_string(from)));
    Attributes attrs;
    const std::array<std::int64_t, 2> stride{stride_y, stride_x};
    for (std::size_t i = 0; i < 2; ++i) {
        if (stride[i] < 1) l.fail(fmt::format("stride {} must be at least 1", stride[i]));
        const std::int64_t rest = (from[1 + i] - 1) % stride[i],
                           cut = same ? std::max<std::int64_t>(0, filter[1 + i] - rest - 1) : 0;
        attrs.stride.push_back(l.narrow(stride[i], "stride"));
        attrs.pad.push_back(l.narrow(-(cut / 2), "padding"));
        attrs.pad.push_back(l.narrow(-(cut - cut / 2), "padding"));
    }
    attrs.acc_type = DType::fp32;
    const ValueId zero = l.scalar(DType::fp32, 0);
    l.set(l.add(Op::transpose_conv2d, {x, weights, bias, zero, zero}, DType::fp32, attrs));
}

}  // namespace

OperatorRows mediapipe_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::CUSTOM, lower_max_pool_argmax, computes, "MaxPoolingWithArgmax2D"},
        {B::CUSTOM, lower_max_unpool, computes, "MaxUnpooling2D"},
        {B::CUSTOM, lower_transpose_conv_bias, computes, "Convolution2DTransposeBias"},
    };
    return rows;
}

}  // namespace tosavk

// Geometry of sliding windows, shared by convolutions and pools, by their checks, references and kernels.
#pragma once

#include "ops/op.hpp"

#include <algorithm>
#include <array>

namespace tosavk {

/// One spatial axis: `kernel` taps, `dilation` apart, moved by `stride` over `in` elements between two paddings.
/// A transposed axis is the reverse: each input element is spread over `kernel` outputs, `stride` apart.
struct WindowAxis {
    std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1, pad_before = 0, pad_after = 0, out = 1;
    bool transposed = false;
    std::int64_t counted_before = 0,
                 counted_after =
                     0;  ///< of the paddings of AVG_POOL2D: elements that are counted, though they add nothing

    /// Elements that an average of output o is taken over.
    std::int64_t counted(std::int64_t o) const {
        const std::int64_t first = o * stride - pad_before;
        return std::min(first + kernel, in + counted_after) - std::max(first, -counted_before);
    }

    /// The input element that tap k of output o reads, or -1 where there is none (padding, or between strides).
    std::int64_t source(std::int64_t o, std::int64_t k) const {
        std::int64_t i = 0;
        if (transposed) {
            i = o - pad_before - k;
            if (i < 0 || i % stride != 0) return -1;
            i /= stride;
        } else {
            i = o * stride - pad_before + k * dilation;
        }
        return i >= 0 && i < in ? i : -1;
    }

    /// Outputs of a transposed axis, `stride` apart, are a phase: they have the same taps, which are `stride` apart
    /// too.
    std::int64_t phases() const { return transposed ? stride : 1; }
    std::int64_t phase_outputs() const {
        return (out + phases() - 1) / phases();
    }  ///< of the first phase, which has most
    std::int64_t phase_taps() const { return (kernel + phases() - 1) / phases(); }  ///< of the phase that has most
    /// Tap k of a phase, or -1 where it has fewer.
    std::int64_t phase_tap(std::int64_t phase, std::int64_t k) const {
        const std::int64_t first = transposed ? ((phase - pad_before) % stride + stride) % stride : 0;
        return first + k * phases() < kernel ? first + k * phases() : -1;
    }
};

/// Depth, height and width; operators without a depth keep the default there.
struct Window {
    WindowAxis d, y, x;

    std::int64_t taps() const { return d.kernel * y.kernel * x.kernel; }
    std::int64_t positions() const { return d.out * y.out * x.out; }  ///< outputs per image and channel
    std::int64_t phases() const { return y.phases() * x.phases(); }   ///< x running faster
    std::int64_t phase_taps() const { return d.kernel * y.phase_taps() * x.phase_taps(); }
    /// How often an input element is read, on average and with the padding counted.
    double reads() const {
        const double pairs =
            static_cast<double>(taps()) * static_cast<double>(positions()) / static_cast<double>(phases());
        return pairs / static_cast<double>(d.in * y.in * x.in);
    }
};

/// A convolution of any of the four kinds.
struct ConvGeometry {
    std::int64_t batch = 1, in_channels = 1, out_channels = 1;
    std::int64_t multiplier = 1;  ///< DEPTHWISE_CONV2D: output channels per input channel
    Window window;

    /// Products per result (KS of the accuracy rules).
    std::int64_t terms(bool depthwise) const { return window.taps() * (depthwise ? 1 : in_channels); }
};

/// The geometry of a node. Throws view.fail() where attributes have the wrong number of elements or are out of range,
/// operands do not fit each other, or a size is not exactly divisible.
ConvGeometry conv_geometry(const NodeView& view);
Window pool_window(const NodeView& view);

/// The geometries take what compile/rewrite/fold makes and a graph of a user has not: negative padding of convolutions,
/// and four more values in AVG_POOL2D's, how much of each padding is counted.
void check_pad(const NodeView& view);

inline bool is_convolution(Op op) {
    return op == Op::conv2d || op == Op::conv3d || op == Op::depthwise_conv2d || op == Op::transpose_conv2d;
}
inline bool is_pool(Op op) { return op == Op::avg_pool2d || op == Op::max_pool2d; }

/// Level checks on kernel, stride and padding.
void check_window_level(const NodeView& view, const Window& window, const Level& level);

/// Fails unless a zero point operand has one element, and is zero for all types but i8.
void check_zero_point(const NodeView& view, std::size_t operand, const char* name);

}  // namespace tosavk

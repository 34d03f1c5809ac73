// Sliding windows: sizes with exact division, and the error conditions that convolutions and pools share.
#include "ops/window.hpp"

#include <fmt/format.h>

#include <limits>

namespace tosavk {

namespace {

/// Larger kernels pass no level; with this bound no product below leaves 64 bits.
constexpr std::int64_t max_extent = std::numeric_limits<std::int32_t>::max();

void require_count(const NodeView& view, const std::vector<std::int32_t>& list, std::size_t count, const char* name) {
    if (list.size() != count) view.fail(fmt::format("{} has {} values, but needs {}", name, list.size(), count), name);
}

void require_at_least(const NodeView& view, const std::vector<std::int32_t>& list, std::int32_t low, const char* name) {
    for (const std::int32_t v : list)
        if (v < low) view.fail(fmt::format("{} {} is less than {}", name, v, low), name);
}

void require_rank(const NodeView& view, const Value& value, std::size_t rank, const char* name) {
    if (value.shape.size() != rank)
        view.fail(fmt::format("{} has shape {}, but needs rank {}", name, to_string(value.shape), rank), name);
}

void require_same(const NodeView& view, std::int64_t a, const char* a_name, std::int64_t b, const char* b_name) {
    if (a != b) view.fail(fmt::format("{} is {}, but {} is {}", a_name, a, b_name, b));
}

void set_output(const NodeView& view, WindowAxis& axis, const char* name) {
    if (axis.kernel > max_extent || axis.in > max_extent)
        view.fail(fmt::format("{} of the input or kernel exceeds {}", name, max_extent));
    if (axis.transposed) {
        axis.out = (axis.in - 1) * axis.stride + axis.pad_before + axis.pad_after + axis.kernel;
        if (axis.out < 1) view.fail(fmt::format("out_pad leaves no output in {} ({})", name, axis.out), "out_pad");
        return;
    }
    const std::int64_t span = (axis.kernel - 1) * axis.dilation + 1;
    const std::int64_t room = axis.in + axis.pad_before + axis.pad_after - span;
    if (room < 0)
        view.fail(fmt::format("{}: the window covers {} elements, more than the input's {} with padding {} + {}", name,
                              span, axis.in, axis.pad_before, axis.pad_after));
    if (room % axis.stride != 0)
        view.fail(fmt::format("{}: input {} + padding {} + {} - window {} = {} is not divisible by the stride {}", name,
                              axis.in, axis.pad_before, axis.pad_after, span, room, axis.stride));
    axis.out = room / axis.stride + 1;
}

/// The last `n` axes of {d, y, x}.
std::array<WindowAxis*, 3> axes_of(Window& window, std::size_t n) {
    if (n == 3) return {&window.d, &window.y, &window.x};
    return {&window.y, &window.x, nullptr};
}

constexpr const char* axis_names[3] = {"depth", "height", "width"};

void require_level(const NodeView& view, std::int64_t value, std::int64_t limit, const char* what, const Level& level) {
    if (value > limit)
        view.fail(fmt::format("{} {} exceeds {}, the limit of level {}", what, value, limit, level.name));
}

}  // namespace

ConvGeometry conv_geometry(const NodeView& view) {
    const Op op = view.node().op;
    const bool depthwise = op == Op::depthwise_conv2d;
    const bool transposed = op == Op::transpose_conv2d;
    const std::size_t spatial = op == Op::conv3d ? 3 : 2;
    const Attributes& a = view.attrs();
    const char* pad_name = transposed ? "out_pad" : "pad";
    require_count(view, a.pad, 2 * spatial, pad_name);
    require_count(view, a.stride, spatial, "stride");
    require_at_least(view, a.stride, 1, "stride");
    if (!transposed) {
        require_count(view, a.dilation, spatial, "dilation");
        require_at_least(view, a.dilation, 1, "dilation");
    }
    require_rank(view, view.in(0), spatial + 2, "input");
    require_rank(view, view.in(1), spatial + 2, "weight");
    require_rank(view, view.in(2), 1, "bias");
    const Shape& in = view.in(0).shape;
    const Shape& weight = view.in(1).shape;
    const std::size_t first_kernel = depthwise ? 0 : 1;

    ConvGeometry g;
    g.batch = in[0];
    g.in_channels = in.back();
    const auto axes = axes_of(g.window, spatial);
    for (std::size_t i = 0; i < spatial; ++i) {
        WindowAxis& axis = *axes[i];
        const char* name = axis_names[i + 3 - spatial];
        axis.in = in[1 + i];
        axis.kernel = weight[first_kernel + i];
        if (axis.kernel < 1) view.fail(fmt::format("the weight has no {}", name), "weight");
        axis.stride = a.stride[i];
        axis.dilation = transposed ? 1 : a.dilation[i];
        axis.pad_before = a.pad[2 * i];
        axis.pad_after = a.pad[2 * i + 1];
        axis.transposed = transposed;
        if (transposed && (axis.pad_before <= -axis.kernel || axis.pad_after <= -axis.kernel))
            view.fail(fmt::format("out_pad {}, {} in {} must be greater than minus the kernel's {}", axis.pad_before,
                                  axis.pad_after, name, axis.kernel),
                      "out_pad");
        set_output(view, axis, name);
    }
    if (depthwise) {
        g.multiplier = weight[3];
        g.out_channels = g.in_channels * g.multiplier;
        require_same(view, weight[2], "the weight's channel count", g.in_channels, "the input's");
    } else {
        g.out_channels = weight[0];
        require_same(view, weight.back(), "the weight's input channel count", g.in_channels, "the input's");
    }
    const std::int64_t biases = view.in(2).shape[0];
    if (biases != 1 && biases != g.out_channels)
        view.fail(fmt::format("bias has {} values, but needs 1 or one for each of {} output channels", biases,
                              g.out_channels),
                  "bias");
    return g;
}

Window pool_window(const NodeView& view) {
    const Attributes& a = view.attrs();
    require_count(view, a.kernel, 2, "kernel");
    require_count(view, a.stride, 2, "stride");
    const bool counts = a.pad.size() == 8;
    if (!counts) require_count(view, a.pad, 4, "pad");
    require_at_least(view, a.kernel, 1, "kernel");
    require_at_least(view, a.stride, 1, "stride");
    require_at_least(view, a.pad, 0, "pad");
    require_rank(view, view.in(0), 4, "input");
    Window window;
    const auto axes = axes_of(window, 2);
    for (std::size_t i = 0; i < 2; ++i) {
        WindowAxis& axis = *axes[i];
        axis.in = view.in(0).shape[1 + i];
        axis.kernel = a.kernel[i];
        axis.stride = a.stride[i];
        axis.pad_before = a.pad[2 * i];
        axis.pad_after = a.pad[2 * i + 1];
        if (counts) {
            axis.counted_before = a.pad[2 * i + 4];
            axis.counted_after = a.pad[2 * i + 5];
        }
        if (axis.pad_before >= axis.kernel || axis.pad_after >= axis.kernel)
            view.fail(fmt::format("padding {}, {} in {} must be less than the kernel's {}", axis.pad_before,
                                  axis.pad_after, axis_names[i + 1], axis.kernel),
                      "pad");
        set_output(view, axis, axis_names[i + 1]);
    }
    return window;
}

void check_pad(const NodeView& view) {
    if (is_pool(view.node().op)) require_count(view, view.attrs().pad, 4, "pad");
    if (view.node().op != Op::transpose_conv2d) require_at_least(view, view.attrs().pad, 0, "pad");
}

void check_window_level(const NodeView& view, const Window& window, const Level& level) {
    for (const WindowAxis* axis : {&window.d, &window.y, &window.x}) {
        require_level(view, axis->kernel * axis->dilation, level.max_kernel,
                      axis->dilation > 1 ? "dilated kernel" : "kernel", level);
        require_level(view, axis->stride, level.max_stride, "stride", level);
        require_level(view, axis->pad_before, level.max_kernel, "padding", level);
        require_level(view, axis->pad_after, level.max_kernel, "padding", level);
    }
}

void check_zero_point(const NodeView& view, std::size_t operand, const char* name) {
    const Value& zp = view.in(operand);
    if (zp.shape != Shape{1}) view.fail(fmt::format("{} has shape {}, but needs 1", name, to_string(zp.shape)), name);
    if (zp.type == DType::i8 || !zp.is_constant()) return;
    for (const double v : decode_reals(zp.type, *zp.data))
        if (v != 0) view.fail(fmt::format("{} is {}, but only i8 may have a zero point", name, v), name);
}

}  // namespace tosavk

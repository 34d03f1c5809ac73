// Windows of convolutions and pools: output sizes and TOSA's padding.
#include "frontends/tflite/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

Window make_window(const Lowering& l, std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                   tflite::Padding padding) {
    if (kernel < 1) l.fail(fmt::format("kernel size {} must be at least 1", kernel));
    if (stride < 1) l.fail(fmt::format("stride {} must be at least 1", stride));
    if (dilation < 1) l.fail(fmt::format("dilation {} must be at least 1", dilation));
    const std::int64_t extent = (kernel - 1) * dilation + 1;
    Window w;
    if (padding == tflite::Padding::SAME) {
        w.out = (in + stride - 1) / stride;
        w.before = std::max<std::int64_t>((w.out - 1) * stride + extent - in, 0) / 2;
    } else if (padding == tflite::Padding::VALID) {
        if (extent > in) l.fail(fmt::format("a kernel of extent {} does not fit an input of size {}", extent, in));
        w.out = (in - extent) / stride + 1;
    } else {
        l.fail(fmt::format("unknown padding {}", static_cast<int>(padding)));
    }
    w.after = (w.out - 1) * stride + extent - in - w.before;
    return w;
}

std::vector<std::int32_t> pad_image(Lowering& l, ValueId& x, std::span<const std::int64_t> kernel,
                                    std::span<const std::int64_t> stride, std::span<const std::int64_t> dilation,
                                    tflite::Padding padding) {
    const Shape shape = l.shape(x);
    const std::size_t axes = kernel.size();
    if (shape.size() != axes + 2) l.fail(fmt::format("its input has rank {}, not {}", shape.size(), axes + 2));
    std::vector<std::int32_t> pad;
    Shape used = shape;  // what is left of the input where the windows do not reach its end
    for (std::size_t i = 0; i < axes; ++i) {
        const Window w = make_window(l, shape[1 + i], kernel[i], stride[i], dilation[i], padding);
        used[1 + i] += std::min<std::int64_t>(w.after, 0);
        pad.push_back(l.narrow(w.before, "padding"));
        pad.push_back(l.narrow(std::max<std::int64_t>(w.after, 0), "padding"));
    }
    x = l.slice(x, std::vector<std::int64_t>(used.size(), 0), used);
    return pad;
}

}  // namespace tosavk

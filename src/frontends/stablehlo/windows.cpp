#include "frontends/stablehlo/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::stablehlo {

void check_windows(const Lowering& l, const WindowDimension& w, std::int64_t size, std::size_t d) {
    const std::int64_t padded = w.low + w.high + (size == 0 ? 0 : (size - 1) * w.base_dilation + 1);
    const std::int64_t reach = w.size == 0 ? 0 : (w.size - 1) * w.dilation + 1;
    const std::int64_t count = padded <= 0 || reach > padded ? 0 : (padded - reach) / w.stride + 1;
    if (w.out != count) l.fail(fmt::format("dimension {} has {} windows, not {}", d, count, w.out));
}

std::vector<WindowDimension> window_of(Lowering& l, const Shape& out, bool with_dilations) {
    const auto sizes = l.small_numbers("window_dimensions"), strides = l.small_numbers("window_strides");
    const auto padding = l.small_numbers("padding");
    const std::vector<std::int64_t> ones(sizes.size(), 1);
    const auto dilations = with_dilations ? l.small_numbers("window_dilations") : ones;
    const auto base = with_dilations ? l.small_numbers("base_dilations") : ones;
    std::vector<WindowDimension> window;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        window.push_back({sizes[d], strides.at(d), dilations.at(d), base.at(d), padding.at(2 * d),
                          padding.at(2 * d + 1), out.at(d)});
        check_windows(l, window.back(), l.operand_type(0).dims.at(d), d);
    }
    return window;
}

std::vector<bool> there_of(const WindowDimension& w, std::int64_t before, std::int64_t padded) {
    std::vector<bool> there(static_cast<std::size_t>(padded));
    for (std::int64_t i = 0; i < before; ++i) {
        const std::int64_t at = w.low + i * w.base_dilation;
        if (at >= 0 && at < padded) there[static_cast<std::size_t>(at)] = true;
    }
    return there;
}

bool has_gaps(const std::vector<bool>& there) { return std::find(there.begin(), there.end(), false) != there.end(); }

Tensor chosen(Lowering& l, const std::vector<bool>& there, std::size_t d, Tensor a, Tensor b) {
    Shape line(l.shape(a.id).size(), 1);
    line.at(d) = static_cast<std::int64_t>(there.size());
    Bytes bytes;
    for (const bool one : there) bytes.push_back(std::byte{one});
    const Id mask = l.constant("there", DType::boolean, line, std::move(bytes));
    l.make_alike(a, b);
    a.range = a.range.joined(b.range);
    a.id = l.select(mask, a.id, b.id);
    if (a.has_two()) a.other = l.select(mask, a.other, b.other);
    return a;
}

namespace {

Lines shifted(Lowering& l, const Lines& x, std::size_t d, std::int64_t start, std::int64_t count, std::int64_t stride) {
    Lines parts;
    for (const Tensor& tensor : x.tensors) {
        parts.tensors.push_back(l.move(tensor, [&](Id id) {
            const Shape shape = l.shape(id);
            std::vector<std::int64_t> first(shape.size(), 0), limit(shape.begin(), shape.end()), step(shape.size(), 1);
            first[d] = start;
            limit[d] = start + (count - 1) * stride + 1;
            step[d] = stride;
            return l.strided_slice(id, first, limit, step);
        }));
    }
    for (std::int64_t i = 0; i < count && !x.there.empty(); ++i)
        parts.there.push_back(x.there.at(static_cast<std::size_t>(start + i * stride)));
    return parts;
}

Lines joined(Lowering& l, const Join& join, const Lines& a, const Lines& b, std::size_t d) {
    Lines made{join(a.tensors, b.tensors), a.there};
    for (std::size_t k = 0; k < made.tensors.size(); ++k) {
        Tensor& x = made.tensors[k];
        if (has_gaps(a.there)) x = chosen(l, a.there, d, x, b.tensors[k]);
        if (has_gaps(b.there)) x = chosen(l, b.there, d, x, a.tensors[k]);
    }
    for (std::size_t i = 0; i < b.there.size(); ++i) made.there[i] = a.there[i] || b.there[i];
    return made;
}

}  // namespace

Lines along_dimension(Lowering& l, const Join& join, Lines x, std::size_t d, const WindowDimension& w) {
    if (w.size <= 4) {
        Lines sum;
        for (std::int64_t j = 0; j < w.size; ++j) {
            const Lines next = shifted(l, x, d, j * w.dilation, w.out, w.stride);
            sum = j == 0 ? next : joined(l, join, sum, next, d);
        }
        return sum;
    }
    Lines sum;
    std::int64_t done = 0, width = 1;
    while (true) {
        if ((w.size & width) != 0) {
            const Lines next = shifted(l, x, d, done * w.dilation, w.out, w.stride);
            sum = done == 0 ? next : joined(l, join, sum, next, d);
            done += width;
        }
        if (2 * width > w.size) return sum;
        const std::int64_t left = l.shape(x.tensors[0].id)[d] - width * w.dilation;
        x = joined(l, join, shifted(l, x, d, 0, left, 1), shifted(l, x, d, width * w.dilation, left, 1), d);
        width *= 2;
    }
}

}  // namespace tosavk::stablehlo

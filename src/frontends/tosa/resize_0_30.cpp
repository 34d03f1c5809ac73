// RESIZE of 0.30 says where it samples by stride, offset and a shift (integers) or by fp32 numbers (floats); 1.0 says
// it by a fraction n/d. Integers carry over exactly. For floats the fraction is rebuilt where one gives the same
// samples, else the samples are gathered and weighed one by one.
#include "frontends/tosa/upgrade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tosavk::v0_30 {

/// Output o lies at position(o), in input elements; and, where n > 0, at (o * d + offset) / n.
struct Upgrade::Axis {
    std::int64_t in = 1, out = 1;
    std::int64_t n = 0, d = 1, offset = 0;
    float stride_fp = 1, offset_fp = 0;

    /// In fp32, as 0.30 computes it; every product is rounded before the sum.
    float position(std::int64_t o) const {
        const auto product = static_cast<float>(static_cast<double>(o) * static_cast<double>(stride_fp));
        return static_cast<float>(static_cast<double>(product) + static_cast<double>(offset_fp));
    }
    std::int64_t border() const { return (out - 1) * d + offset - (in - 1) * n; }
};

namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// The two rows between which a position lies, and how far behind the first.
struct Sample {
    std::int64_t first, second;
    float behind;
    Sample(float position, std::int64_t size)
        : first(static_cast<std::int64_t>(std::floor(position))),
          second(std::min(first + 1, size - 1)),
          behind(position - std::floor(position)) {
        first = std::max<std::int64_t>(first, 0);
    }
    std::int64_t nearest() const { return behind >= 0.5F ? second : first; }
};

}  // namespace

Upgrade::Axis Upgrade::resize_axis(std::size_t k, const char* name) const {
    const bool real = is_float(in(0).type);
    const double stride = a_.resize_stride[k], offset = a_.resize_offset[k];
    Axis axis;
    axis.in = in(0).shape[1 + k];
    if (axis.in >= 16384) fail(fmt::format("input size {} along {} is not below 16384", axis.in, name));
    if (!(stride > 0)) fail(fmt::format("stride_{} {} is not above 0", name, stride));
    std::int64_t natural = 0;  // the size without a border
    if (real) {
        axis.stride_fp = static_cast<float>(stride);
        axis.offset_fp = static_cast<float>(offset);
        if (!std::isfinite(axis.offset_fp)) fail(fmt::format("offset_{} is not finite", name));
        if (axis.stride_fp > static_cast<float>(axis.in)) {
            fail(fmt::format("stride_{} {} is above the input size {}", name, stride, axis.in));
        }
        const float count = (static_cast<float>(axis.in - 1) - axis.offset_fp) / axis.stride_fp;
        if (!(std::fabs(count) < 1e9F)) fail(fmt::format("stride_{} {} gives far too many samples", name, stride));
        natural = static_cast<std::int64_t>(count) + 1;
    } else {
        axis.n = std::int64_t{1} << a_.shift;
        const auto limit = static_cast<double>(16 * axis.n);
        if (stride >= limit) fail(fmt::format("stride_{} {} is not below {}", name, stride, limit));
        if (!(offset > -limit && offset < limit)) {
            fail(fmt::format("offset_{} {} is not between {} and {}", name, offset, -limit, limit));
        }
        axis.d = static_cast<std::int64_t>(stride);
        axis.offset = static_cast<std::int64_t>(offset);
        if (static_cast<double>(axis.d) != stride || static_cast<double>(axis.offset) != offset) {
            fail(fmt::format("stride_{0} and offset_{0} must be integers for type {1}", name, name_of(in(0).type)));
        }
        natural = ((axis.in - 1) * axis.n - axis.offset) / axis.d + 1;
    }
    axis.out = a_.border ? natural + (*a_.border)[k] : a_.output_size[k];
    if (a_.border && !a_.output_size.empty() && a_.output_size[k] != axis.out) {
        fail(fmt::format("output_size {} along {} is not {}, which stride, offset and border give", a_.output_size[k],
                         name, axis.out));
    }
    if (axis.out < 1 || axis.out >= 16384) {
        fail(fmt::format("output size {} along {} is not in 1..16383", axis.out, name));
    }
    // Samples lie in order: the first and the last tell.
    for (const std::int64_t o : {std::int64_t{0}, axis.out - 1}) {
        const auto row = real ? static_cast<std::int64_t>(std::floor(axis.position(o)))
                              : floor_div(o * axis.d + axis.offset, axis.n);
        if (row < -1 || row > axis.in - 1) {
            fail(fmt::format("output {} along {} samples the input at {}, which is not in -1..{}", o, name, row,
                             axis.in - 1));
        }
    }
    return axis;
}

// The smallest n that gives the same samples: the very same rows for NEAREST, the same positions but for the rounding
// of fp32 for BILINEAR, which is continuous.
bool Upgrade::find_rational(Axis& axis) const {
    const double stride = axis.stride_fp, offset = axis.offset_fp;
    for (std::int64_t n = 1; n <= 2048; ++n) {
        const auto real_n = static_cast<double>(n);
        const double d = std::round(stride * real_n), from = std::round(offset * real_n);
        if (d < 1 || std::fabs(d - stride * real_n) > d * 0x1p-23) continue;
        if (std::fabs(from - offset * real_n) > real_n * 0x1p-23 * std::max(1.0, std::fabs(offset))) continue;
        bool same = true;
        for (std::int64_t o = 0; same && o < axis.out; ++o) {
            const std::int64_t p = o * static_cast<std::int64_t>(d) + static_cast<std::int64_t>(from);
            const float position = axis.position(o);
            if (a_.mode == ResizeMode::nearest) {
                const std::int64_t i = floor_div(p, n), r = p - i * n;
                const std::int64_t row = 2 * r >= n ? std::min(i + 1, axis.in - 1) : std::max<std::int64_t>(i, 0);
                same = row == Sample(position, axis.in).nearest();
            } else {
                const double difference = static_cast<double>(p) / real_n - static_cast<double>(position);
                same = std::fabs(difference) <= 0x1p-21 * std::max(1.0, static_cast<double>(std::fabs(position)));
            }
        }
        if (!same) continue;
        axis.n = n;
        axis.d = static_cast<std::int64_t>(d);
        axis.offset = static_cast<std::int64_t>(from);
        const std::int64_t border = axis.border();
        if (axis.d < 16 * n && axis.offset >= -n && axis.offset < 16 * n && border >= -16 * n && border < n)
            return true;
    }
    axis.n = 0;
    return false;
}

Upgrade::Ids Upgrade::resize() {
    need_inputs(1);
    need_rank(0, "input", 4);
    const bool real = is_float(in(0).type);
    need_values("stride", a_.resize_stride.size(), 2);
    need_values("offset", a_.resize_offset.size(), 2);
    if (a_.border) need_values("border", a_.border->size(), 2);
    if (!a_.border || !a_.output_size.empty()) need_values("output_size", a_.output_size.size(), 2);
    if (real && a_.shift != 0)
        fail(fmt::format("shift is {}, but must be 0 for type {}", a_.shift, name_of(in(0).type)));
    if (!real && (a_.shift < 1 || a_.shift > 11)) fail(fmt::format("shift {} is not in 1..11", a_.shift));
    const bool bilinear = a_.mode == ResizeMode::bilinear;
    if (!real && bilinear == (in(0).type == out().type.type)) {
        fail(fmt::format("mode {} does not give {} from {}", bilinear ? "BILINEAR" : "NEAREST", type_name(out().type),
                         name_of(in(0).type)));
    }
    Axis axes[2] = {resize_axis(0, "y"), resize_axis(1, "x")};
    Axis &y = axes[0], &x = axes[1];
    if (real && (!find_rational(y) || !find_rational(x))) return resize_by_gather(y, x);
    Shape size = in(0).shape;
    for (std::size_t k = 0; k < 2; ++k) {
        Axis& axis = axes[k];
        // Less than 1.0 can leave out: the input ends where nothing is sampled any more.
        if (axis.border() >= -16 * axis.n) continue;
        axis.in = floor_div((axis.out - 1) * axis.d + axis.offset, axis.n) + 2;
        size[1 + k] = axis.in;
    }
    const ValueId input = slice(id(0), Shape(4, 0), size, "sampled");
    tosavk::Attributes attrs;
    attrs.mode = a_.mode;
    const Ids inputs = {input, builder_.shape(Shape{y.n, y.d, x.n, x.d}), builder_.shape(Shape{y.offset, x.offset}),
                        builder_.shape(Shape{y.border(), x.border()})};
    try {
        return done(op_, inputs, attrs);
    } catch (const Error&) {
        if (!real) throw;
        return resize_by_gather(y, x);  // 0.30 has no level that limits the scale
    }
}

Upgrade::Ids Upgrade::resize_by_gather(const Axis& y, const Axis& x) {
    const Shape shape = in(0).shape;
    const DType type = in(0).type;
    const Shape size{shape[0], y.out, x.out, shape[3]};
    std::vector<Sample> rows, columns;
    for (std::int64_t o = 0; o < y.out; ++o) rows.emplace_back(y.position(o), y.in);
    for (std::int64_t o = 0; o < x.out; ++o) columns.emplace_back(x.position(o), x.in);

    const ValueId pixels = reshape(id(0), {shape[0], shape[1] * shape[2], shape[3]}, "pixels");
    const auto gather = [&](auto row_of, auto column_of) {
        std::vector<std::int64_t> indices;
        for (std::int64_t n = 0; n < shape[0]; ++n) {
            for (const Sample& row : rows) {
                for (const Sample& column : columns) indices.push_back(row_of(row) * x.in + column_of(column));
            }
        }
        const ValueId list = constant_ints("indices", DType::i32, {shape[0], y.out * x.out}, indices);
        return step(Op::gather, {pixels, list}, type, "gathered");
    };
    if (a_.mode == ResizeMode::nearest) {
        const auto nearest = [](const Sample& s) { return s.nearest(); };
        return done(Op::reshape, {gather(nearest, nearest), builder_.shape(size)});
    }
    std::vector<float> after_y, before_y, after_x, before_x;
    for (const Sample& s : rows) after_y.push_back(s.behind), before_y.push_back(1 - s.behind);
    for (const Sample& s : columns) after_x.push_back(s.behind), before_x.push_back(1 - s.behind);
    const Shape tall{1, y.out, 1, 1}, wide{1, 1, x.out, 1};
    const ValueId weights_y[] = {constant_floats("weight_y0", tall, before_y),
                                 constant_floats("weight_y1", tall, after_y)};
    const ValueId weights_x[] = {constant_floats("weight_x0", wide, before_x),
                                 constant_floats("weight_x1", wide, after_x)};
    const ValueId no_shift = builder_.scalar(DType::i8, 0);
    ValueId sum = no_id;
    for (const bool below : {false, true}) {
        for (const bool right : {false, true}) {
            const auto pick = [](bool second) {
                return [second](const Sample& s) { return second ? s.second : s.first; };
            };
            ValueId v = step(Op::reshape, {gather(pick(below), pick(right)), builder_.shape(size)}, type, "corner");
            if (type != DType::fp32) v = step(Op::cast, {v}, DType::fp32, "corner_fp32");
            v = step(Op::mul, {v, weights_y[below ? 1 : 0], no_shift}, DType::fp32, "weighed_y");
            v = step(Op::mul, {v, weights_x[right ? 1 : 0], no_shift}, DType::fp32, "weighed");
            const bool end = below && right && type == DType::fp32;
            if (sum == no_id) sum = v;
            else if (end) sum = last(Op::add, {sum, v});
            else sum = step(Op::add, {sum, v}, DType::fp32, "sum");
        }
    }
    return type == DType::fp32 ? Ids{sum} : done(Op::cast, {sum});
}

}  // namespace tosavk::v0_30

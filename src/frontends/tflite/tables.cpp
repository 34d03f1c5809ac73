// Tables of functions of one quantized number.
#include "frontends/tflite/elementwise.hpp"

#include <algorithm>
#include <cmath>

namespace tosavk::elementwise {

namespace {

std::vector<std::int64_t> entries_of(DType type, const std::function<std::int64_t(int)>& entry) {
    std::vector<std::int64_t> entries;
    for (auto q = static_cast<int>(min_of(type)); q <= max_of(type); ++q)
        entries.push_back(std::clamp(entry(q), min_of(type), max_of(type)));
    return entries;
}

/// A straight line is drawn from each entry to the next; it is moved by half of what it misses in the middle.
template <class F>
std::vector<std::int64_t> lines_of(F input_scale, std::int64_t input_zp, F output_scale,
                                   const std::function<F(F)>& function) {
    constexpr int steps = 512;
    const auto lowest = static_cast<F>(min_of(DType::i16)), highest = static_cast<F>(max_of(DType::i16));
    const F first = input_scale * static_cast<F>(min_of(DType::i16) - input_zp);
    const F last = input_scale * static_cast<F>(max_of(DType::i16) - input_zp);
    const F step = (last - first) / steps, half_step = step / 2;
    const F inverse = F{65536} / (output_scale * highest - output_scale * lowest);
    const auto entry = [&](F v) {  // 0 where infinities have met
        return std::isnan(v) ? 0 : static_cast<std::int64_t>(std::min(std::max(v, lowest), highest));
    };
    std::vector<std::int64_t> entries;
    for (int i = 0; i < steps; ++i) {
        const F at = first + static_cast<F>(i) * step;
        const F value = function(at), middle = function(at + half_step);
        const F next = function(first + static_cast<F>(i + 1) * step);
        const F here = std::round(value * inverse);
        const F line = std::round((next * inverse + here) / 2);
        entries.push_back(entry(here - std::round((line - std::round(middle * inverse)) / 2)));
    }
    entries.push_back(entry(std::round(function(last) * inverse)));
    return entries;
}

/// TFLite's slopes and results have 16 bits, so that those of the steepest lines wrap around, unlike TABLE's.
ValueId interpolated(Lowering& l, const std::vector<std::int64_t>& entries) {
    const auto slope = [&](std::size_t i) { return entries[i + 1] - entries[i]; };
    bool wraps = false;
    for (std::size_t i = 0; i < 512; ++i) wraps |= slope(i) != static_cast<std::int16_t>(slope(i));
    if (!wraps) return interpolate(l, "table", l.value(0), entries);
    return table_16(l, [&](int q) {
        const auto i = static_cast<std::size_t>(256 + (q >> 7));
        const std::int64_t rise = (static_cast<std::int16_t>(slope(i)) * (q & 127) + 64) >> 7;
        return std::int64_t{static_cast<std::int16_t>(entries[i] + rise)};
    });
}

}  // namespace

ValueId table_8(Lowering& l, const std::function<std::int64_t(int)>& entry) {
    const ValueId table = l.constant_ints("table", DType::i8, {256}, entries_of(DType::i8, entry));
    return l.add(Op::table, {l.value(0), table}, DType::i8);
}

ValueId table_16(Lowering& l, const std::function<std::int64_t(int)>& entry) {
    const ValueId x = l.cast(l.value(0), DType::i32);
    const ValueId index = binary(l, Op::add, x, l.splat(x, DType::i32, -static_cast<double>(min_of(DType::i16))));
    return look_up(l, "table", DType::i16, entries_of(DType::i16, entry), index);
}

ValueId table_of(Lowering& l, const std::function<float(float)>& f) {
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    if (l.dtype(l.in(0)) == DType::i16) return interpolated(l, interpolated_entries(in.scale, out.scale, f));
    // Everything in float, in this order.
    const float inverse = 1.0f / out.scale;
    return table_8(l, [&](int q) {
        const float real = in.scale * static_cast<float>(q - in.zero_point);
        const float rounded = std::round(f(real) * inverse) + static_cast<float>(out.zero_point);
        return static_cast<std::int64_t>(std::clamp(std::isnan(rounded) ? 0.0f : rounded, -128.0f, 127.0f));
    });
}

ValueId look_up(Lowering& l, const char* name, DType type, std::span<const std::int64_t> table, ValueId index) {
    const Shape shape = l.shape(index);
    const ValueId values = l.constant_ints(name, type, {1, static_cast<std::int64_t>(table.size()), 1}, table);
    const ValueId found = l.add(Op::gather, {values, l.reshape(index, {1, element_count(shape)})}, type);
    return l.reshape(found, shape);
}

std::vector<std::int64_t> interpolated_entries(float input_scale, float output_scale,
                                               const std::function<float(float)>& f) {
    return lines_of<float>(input_scale, 0, output_scale, f);
}

std::vector<std::int64_t> interpolated_entries(double input_scale, std::int64_t input_zp, double output_scale,
                                               const std::function<double(double)>& f) {
    return lines_of<double>(input_scale, input_zp, output_scale, f);
}

// TABLE leaves 7 fraction bits, which are rounded half up.
ValueId interpolate(Lowering& l, const char* name, ValueId x, std::span<const std::int64_t> entries) {
    const ValueId table = l.constant_ints(name, DType::i16, {513}, entries);
    Scaling scaling;
    scaling.multiplier = {1 << 30};
    scaling.shift = {37};
    return l.rescale(l.add(Op::table, {x, table}, DType::i32), DType::i16, scaling);
}

}  // namespace tosavk::elementwise

// Operators that change a shape or pick elements.
#include "frontends/tflite/moves.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

using tflite::BuiltinOperator;

// A shape that is computed at run time is the recorded one, of which the number of elements may tell one dimension.
std::vector<std::int64_t> recorded_shape(Lowering& l) {
    const TfliteTensor& output = l.out();
    std::vector<std::int64_t> to = output.shape;
    std::int64_t count = 1;
    for (std::size_t d = 0; d < to.size(); ++d) {
        if (output.dynamic[d]) to[d] = -1;
        else count *= to[d];
    }
    const auto open = std::count(to.begin(), to.end(), -1);
    const std::int64_t elements = element_count(l.shape(l.value(0)));
    if (open > 1 || to.empty() || count == 0 || (open == 0 ? count != elements : elements % count != 0)) {
        l.unsupported(fmt::format("its shape is computed, and the recorded one, [{}], does not fit {}",
                                  fmt::join(to, ", "), to_string(l.shape(l.value(0)))));
    }
    return to;
}

std::vector<std::int64_t> new_shape(Lowering& l) {
    if (l.has_input(1)) {
        if (l.in(1).shape.size() > 1) l.fail(fmt::format("its shape has rank {}", l.in(1).shape.size()));
        return l.constant(1) || l.is_empty(l.value(1)) ? l.const_ints(1) : recorded_shape(l);
    }
    const auto* options = l.options<tflite::ReshapeOptions>();
    if (!options || !options->new_shape()) l.fail("its new shape is missing");
    // Old converters wrote a single 0 for a scalar.
    if (options->new_shape()->size() == 1 && options->new_shape()->Get(0) == 0) return {};
    return {options->new_shape()->begin(), options->new_shape()->end()};
}

/// Whether a shape with at most one -1 is one of so many elements.
bool holds(const std::vector<std::int64_t>& shape, std::int64_t count) {
    std::int64_t known = 1;
    bool open = false;
    for (const std::int64_t d : shape) {
        if (d == -1 && !open) open = true;
        else if (d < 1 || d > count / known) return false;
        else known *= d;
    }
    return open ? count % known == 0 : count == known;
}

void lower_reshape(Lowering& l) {
    std::vector<std::int64_t> to = new_shape(l);
    const ValueId x = moved_value(l);
    // No entries: a scalar, or what the file says where there are more elements.
    if (to.empty() && element_count(l.shape(x)) != 1) to = l.out().shape;
    const std::int64_t count = element_count(l.shape(x));
    const std::int64_t batch = l.recorded_batch(0);
    if (batch != 0 && !to.empty() && to[0] == batch && !holds(to, count)) to[0] = l.shape(x)[0];
    std::int64_t known = 1, wildcard = -1;
    if (count == 0) {
        // What -1 stands for cannot be computed; the file tells.
        for (std::size_t d = 0; d < to.size() && l.out().shape.size() == to.size(); ++d)
            if (to[d] == -1) to[d] = l.out().shape[d];
        if (std::any_of(to.begin(), to.end(), [](std::int64_t d) { return d < 0; }))
            l.fail(fmt::format("cannot reshape {} to [{}]", to_string(l.shape(x)), fmt::join(to, ", ")));
        return l.set(l.reshape(x, to));
    }
    for (std::size_t d = 0; d < to.size(); ++d) {
        if (to[d] == -1 && wildcard < 0) {
            wildcard = static_cast<std::int64_t>(d);
            continue;
        }
        if (to[d] < 1 || to[d] > count / known)
            l.fail(fmt::format("cannot reshape {} to [{}]", to_string(l.shape(x)), fmt::join(to, ", ")));
        known *= to[d];
    }
    if (wildcard >= 0) {
        if (count % known != 0)
            l.fail(fmt::format("cannot reshape {} to [{}]", to_string(l.shape(x)), fmt::join(to, ", ")));
        to[static_cast<std::size_t>(wildcard)] = count / known;
    }
    l.set(l.reshape(x, to));
}

void lower_squeeze(Lowering& l) {
    const ValueId x = moved_value(l);
    const Shape from = l.shape(x);
    std::vector<bool> drop(from.size(), false);
    const auto* options = l.options<tflite::SqueezeOptions>();
    if (options && options->squeeze_dims() && options->squeeze_dims()->size() > 0) {
        for (const std::int32_t a : *options->squeeze_dims()) {
            const std::size_t d = l.axis(a, from.size());
            if (from[d] != 1) l.fail(fmt::format("dimension {} is {}, not 1", d, from[d]));
            drop[d] = true;
        }
    } else {
        for (std::size_t d = 0; d < from.size(); ++d) drop[d] = from[d] == 1;
    }
    Shape to;
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (!drop[d]) to.push_back(from[d]);
    }
    l.set(l.reshape(x, to));
}

void lower_expand_dims(Lowering& l) {
    const std::vector<std::int64_t> axes = l.const_ints(1);
    if (axes.size() != 1) l.fail(fmt::format("it has {} axes, not 1", axes.size()));
    const ValueId x = moved_value(l);
    Shape to = l.shape(x);
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(l.axis(axes[0], to.size() + 1)), 1);
    l.set(l.reshape(x, to));
}

void lower_transpose(Lowering& l) {
    const std::vector<std::int64_t> perms = l.const_ints(1);
    const ValueId x = moved_value(l);
    const std::size_t rank = l.shape(x).size();
    if (perms.size() != rank) l.fail(fmt::format("{} axes are permuted, but the rank is {}", perms.size(), rank));
    Attributes attrs;
    std::vector<bool> seen(rank, false);
    for (const std::int64_t p : perms) {
        const std::size_t a = l.axis(p, rank);
        if (seen[a]) l.fail(fmt::format("axis {} occurs twice in the permutation", a));
        seen[a] = true;
        attrs.perms.push_back(static_cast<std::int32_t>(a));
    }
    if (std::is_sorted(attrs.perms.begin(), attrs.perms.end())) return l.set(x);
    l.set(l.add(Op::transpose, {x}, l.type(x), attrs));
}

/// As TFLite does for UINT8: round(q * scale + bias), in floats.
ValueId rescaled_in_floats(Lowering& l, ValueId x, const TfliteTensor& from, const TfliteTensor& to) {
    const Quant in = l.quant(from), out = l.quant(to);
    // Here UINT8 is less 128.
    const auto in_zp = static_cast<float>(in.zero_point + 128), out_zp = static_cast<float>(out.zero_point + 128);
    const float scale = in.scale * (1.0f / out.scale), bias = -in_zp * scale;
    std::vector<std::int64_t> entries;
    for (int q = 0; q < 256; ++q) {
        const float v = std::round(static_cast<float>(q) * scale + bias) + out_zp;
        entries.push_back(static_cast<std::int64_t>(std::isnan(v) ? 0.0f : std::clamp(v, 0.0f, 255.0f)) - 128);
    }
    return l.add(Op::table, {x, l.constant_ints("table", DType::i8, {256}, entries)}, DType::i8);
}

void lower_concatenation(Lowering& l) {
    const auto* options = l.options<tflite::ConcatenationOptions>();
    const std::int32_t wanted = options ? options->axis() : 0;
    if (l.input_count() == 0) l.fail("it has no inputs");
    // TFLite joins INT16 bit by bit.
    const bool quantized =
        l.is_quantized(l.out()) && !l.out().scale.empty() && l.out().type != tflite::TensorType::INT16;
    std::vector<ValueId> parts;
    for (std::size_t k = 0; k < l.input_count(); ++k) {
        ValueId part = l.value(k);
        if (l.type(part) != l.type(l.value(0))) l.fail("its inputs have different types");
        if (quantized) {
            const Quant in = l.quant(l.in(k)), out = l.quant(l.out());
            if (in.scale == out.scale && in.zero_point == out.zero_point) {
                // Nothing changes.
            } else if (l.in(k).type == tflite::TensorType::UINT8) {
                part = rescaled_in_floats(l, part, l.in(k), l.out());
            } else {
                const double ratio = static_cast<double>(in.scale) / static_cast<double>(out.scale);
                part = l.requantize(part, l.type(part), quantize_multiplier(ratio), in.zero_point, out.zero_point);
            }
        }
        parts.push_back(part);
    }
    const ValueId joined = l.concat(parts, l.axis(wanted, l.shape(parts[0]).size()));
    const auto activation = options ? options->fused_activation_function() : tflite::ActivationFunctionType::NONE;
    if (l.type(joined) == DType::fp32) return l.set(l.activate_float(joined, activation));
    if (activation != tflite::ActivationFunctionType::NONE)
        l.unsupported("a fused activation is supported for FLOAT32 only");
    l.set(joined);
}

void lower_pack(Lowering& l) {
    const auto* options = l.options<tflite::PackOptions>();
    if (l.input_count() == 0) l.fail("it has no inputs");
    std::vector<ValueId> parts;
    std::size_t axis = 0;
    for (std::size_t k = 0; k < l.input_count(); ++k) {
        const ValueId x = moved_value(l, k);
        Shape shape = l.shape(x);
        if (shape != l.shape(l.value(0)) || l.type(x) != l.type(l.value(0)))
            l.fail("its inputs have different shapes or types");
        axis = l.axis(options ? options->axis() : 0, shape.size() + 1);
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
        parts.push_back(l.reshape(x, shape));
    }
    l.set(l.concat(std::move(parts), axis));
}

void lower_unpack(Lowering& l) {
    const auto* options = l.options<tflite::UnpackOptions>();
    const ValueId x = moved_value(l);
    Shape to = l.shape(x);
    const std::size_t axis = l.axis(options ? options->axis() : 0, to.size());
    const std::int64_t count = to[axis];
    if (count != static_cast<std::int64_t>(l.output_count())) {
        l.fail(fmt::format("dimension {} has {} elements for {} outputs", axis, count, l.output_count()));
    }
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
    for (std::int64_t i = 0; i < count; ++i) {
        l.set(l.reshape(l.slice_axis(x, axis, i, 1), to), static_cast<std::size_t>(i));
    }
}

void lower_split(Lowering& l) {
    const bool with_sizes = l.op().code == BuiltinOperator::SPLIT_V;
    const std::size_t data = with_sizes ? 0 : 1;
    const std::vector<std::int64_t> axes = l.const_ints(with_sizes ? 2 : 0);
    if (axes.size() != 1) l.fail(fmt::format("it has {} axes, not 1", axes.size()));
    const ValueId x = moved_value(l, data);
    const std::size_t axis = l.axis(axes[0], l.shape(x).size());
    const std::int64_t total = l.shape(x)[axis];
    const auto count = static_cast<std::int64_t>(l.output_count());
    std::vector<std::int64_t> sizes;
    if (with_sizes) {
        sizes = l.const_ints(1);
        if (static_cast<std::int64_t>(sizes.size()) != count)
            l.fail(fmt::format("{} sizes for {} outputs", sizes.size(), count));
        std::int64_t known = 0, open = -1;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (sizes[i] == -1 && open < 0) open = static_cast<std::int64_t>(i);
            else if (sizes[i] < 0 || sizes[i] > total)
                l.fail(fmt::format("size {} of part {} is out of range", sizes[i], i));
            else known += sizes[i];
        }
        if (open >= 0) sizes[static_cast<std::size_t>(open)] = total - known;
    } else {
        if (count == 0 || total % count != 0)
            l.fail(fmt::format("{} elements do not divide into {} parts", total, count));
        sizes.assign(static_cast<std::size_t>(count), total / count);
    }
    std::int64_t start = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        l.set(l.slice_axis(x, axis, start, sizes[i]), i);
        start += sizes[i];
    }
    if (start != total) l.fail(fmt::format("the parts have {} elements together, but the dimension {}", start, total));
}

void lower_pad(Lowering& l) {
    const std::vector<std::int64_t> padding = l.const_ints(1);
    const ValueId x = moved_value(l);
    const DType type = l.type(x);
    if (padding.size() != 2 * l.shape(x).size()) {
        l.fail(fmt::format("{} paddings for rank {}", padding.size(), l.shape(x).size()));
    }
    for (const std::int64_t p : padding) {
        if (p < 0 || p > std::int64_t{1} << 31) l.fail(fmt::format("padding {} is out of range", p));
    }
    if (padding.empty() || std::all_of(padding.begin(), padding.end(), [](std::int64_t p) { return p == 0; }))
        return l.set(x);
    ValueId fill;
    if (l.op().code == BuiltinOperator::PADV2 && l.has_input(2)) {
        fill = l.value(2);
        if (l.type(fill) != type || element_count(l.shape(fill)) != 1)
            l.fail("its value must be one element of the input's type");
        fill = l.reshape(fill, {1});
    } else {
        fill = l.scalar(
            type, l.is_quantized(l.out()) && !l.out().scale.empty() ? l.quant(l.out()).zero_point : zero_of(l.out()));
    }
    const ValueId amounts =
        l.constant_ints("padding", DType::shape, {static_cast<std::int64_t>(padding.size())}, padding);
    l.set(l.add(Op::pad, {x, amounts, fill}, type));
}

/// What is sparse becomes dense wherever it is read.
void lower_densify(Lowering& l) { l.set(l.value(0)); }

}  // namespace

OperatorRows shape_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::RESHAPE, lower_reshape, moves_data},
        {B::SQUEEZE, lower_squeeze, moves_data},
        {B::EXPAND_DIMS, lower_expand_dims, moves_data},
        {B::TRANSPOSE, lower_transpose, moves_data},
        {B::DENSIFY, lower_densify, moves_data},
        {B::CONCATENATION, lower_concatenation, moves_data},
        {B::PACK, lower_pack, moves_data},
        {B::UNPACK, lower_unpack, moves_data},
        {B::SPLIT, lower_split, moves_data},
        {B::SPLIT_V, lower_split, moves_data},
        {B::PAD, lower_pad, moves_data},
        {B::PADV2, lower_pad, moves_data},
    };
    return rows;
}

}  // namespace tosavk

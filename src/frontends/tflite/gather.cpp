// GATHER, and MIRROR_PAD, which moves data likewise.
#include "frontends/tflite/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tosavk {

namespace {

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                           shape.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1}, std::multiplies<>());
}

/// Dimensions [a, b) of a tensor of rank `rank` change their places with [b, c).
ValueId swap_runs(Lowering& l, ValueId x, std::size_t a, std::size_t b, std::size_t c) {
    if (a == b || b == c) return x;
    Attributes attrs;
    attrs.perms.resize(l.shape(x).size());
    std::iota(attrs.perms.begin(), attrs.perms.end(), 0);
    const auto at = [&](std::size_t k) { return attrs.perms.begin() + static_cast<std::ptrdiff_t>(k); };
    std::rotate(at(a), at(b), at(c));
    return l.add(Op::transpose, {x}, l.type(x), attrs);
}

/// Input 1 as i32, each number below `size` where they are known.
ValueId indices_of(Lowering& l, std::int64_t size) {
    if (l.constant(1)) {
        const std::vector<std::int64_t> numbers = l.const_ints(1);
        for (const std::int64_t k : numbers) {
            if (k < 0 || k >= size) l.fail(fmt::format("index {} is not in 0..{}", k, size - 1));
        }
        // Computed ones may have another shape than the file was written with.
        return l.constant_ints("indices", DType::i32, l.shape(l.value(1)), numbers);
    }
    const ValueId indices = l.value(1);
    if (l.type(indices) != DType::i32 && l.type(indices) != DType::i16)
        l.unsupported(fmt::format("indices of type {} are not supported", name_of(l.in(1).type)));
    return l.cast(indices, DType::i32);
}

void lower_gather(Lowering& l) {
    const auto* options = l.options<tflite::GatherOptions>();
    if (l.in(0).type != l.out().type)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    ValueId x = l.value(0);
    const DType type = l.type(x);
    const Shape from = l.shape(x);
    if (from.empty()) l.fail("its input has rank 0");
    const std::size_t axis = l.axis(options ? options->axis() : 0, from.size());
    // TFLite copies bytes, of two numbers each.
    if (l.in(0).type == tflite::TensorType::INT4 && product(from, axis + 1, from.size()) % 2 != 0)
        l.unsupported("what it gathers of INT4 begins or ends within a byte");
    ValueId indices = indices_of(l, from[axis]);
    const Shape chosen = l.shape(indices);
    std::int64_t batch_dims = options ? options->batch_dims() : 0;
    if (batch_dims < 0) batch_dims += static_cast<std::int64_t>(chosen.size());
    if (batch_dims < 0 || batch_dims > static_cast<std::int64_t>(std::min(axis, chosen.size())))
        l.fail(fmt::format("batch_dims {} is out of range", batch_dims));
    const auto batch = static_cast<std::size_t>(batch_dims);
    if (!std::equal(from.begin(), from.begin() + batch_dims, chosen.begin()))
        l.fail(fmt::format("shapes {} and {} differ in their first {} dimensions", to_string(from), to_string(chosen),
                           batch));
    // [batch, left, axis, right] with the axis before the left: [N, K, C] of GATHER.
    x = swap_runs(l, x, batch, axis, axis + 1);
    const std::int64_t n = product(from, 0, batch), w = product(chosen, batch, chosen.size());
    const std::int64_t c = product(from, batch, axis) * product(from, axis + 1, from.size());
    x = l.reshape(x, {n, from[axis], c});
    if (type == DType::boolean) x = l.cast(x, DType::i8);
    x = l.add(Op::gather, {x, l.reshape(indices, {n, w})}, l.type(x));
    if (type == DType::boolean) x = l.cast(x, type);
    // [batch, indices, left, right] to [batch, left, indices, right]
    Shape result(chosen);
    result.insert(result.end(), from.begin() + batch_dims, from.begin() + static_cast<std::ptrdiff_t>(axis));
    result.insert(result.end(), from.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.end());
    x = l.reshape(x, result);
    l.set(swap_runs(l, x, batch, chosen.size(), chosen.size() + axis - batch));
}

void lower_mirror_pad(Lowering& l) {
    const auto* options = l.options<tflite::MirrorPadOptions>();
    const bool reflect = !options || options->mode() == tflite::MirrorPadMode::REFLECT;
    if (l.in(0).type != l.out().type)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    const std::vector<std::int64_t> padding = l.const_ints(1);
    ValueId x = l.value(0);
    const Shape from = l.shape(x);
    if (padding.size() != 2 * from.size()) l.fail(fmt::format("{} paddings for rank {}", padding.size(), from.size()));
    // The edge itself is not repeated by REFLECT.
    const std::int64_t edge = reflect ? 1 : 0;
    for (std::size_t d = 0; d < from.size(); ++d) {
        const std::int64_t size = from[d], before = padding[2 * d], after = padding[2 * d + 1];
        for (const std::int64_t p : {before, after}) {
            if (p < 0 || p > size - edge)
                l.fail(fmt::format("padding {} is not in 0..{} of dimension {}", p, size - edge, d));
        }
        Attributes attrs;
        attrs.axis = static_cast<std::int32_t>(d);
        const auto mirrored = [&](std::int64_t start, std::int64_t count) {
            const ValueId part = l.slice_axis(x, d, start, count);
            return count == 1 ? part : l.add(Op::reverse, {part}, l.type(part), attrs);
        };
        std::vector<ValueId> parts;
        if (before > 0) parts.push_back(mirrored(edge, before));
        parts.push_back(x);
        if (after > 0) parts.push_back(mirrored(size - edge - after, after));
        if (parts.size() > 1) x = l.concat(std::move(parts), d);
    }
    l.set(x);
}

}  // namespace

OperatorRows gather_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::MIRROR_PAD, lower_mirror_pad, moves_data},
        {B::GATHER, lower_gather, moves_data | makes_int4},
    };
    return rows;
}

}  // namespace tosavk

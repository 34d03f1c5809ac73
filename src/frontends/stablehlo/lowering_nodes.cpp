// Nodes that many operations are made of.
#include "frontends/stablehlo/lowering.hpp"
#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tosavk::stablehlo {

// ---- integers in 32 bits ------------------------------------------------------------------------------------------

DType Lowering::wide_type(DType type) {
    if (type == DType::i8 || type == DType::i16) return DType::i32;
    return type == DType::fp8e4m3 || type == DType::fp8e5m2 ? DType::fp32 : type;
}

Id Lowering::wide(const Tensor& tensor) {
    if (is_coded_element(tensor.element)) refuse_codes(tensor.element);
    const Id id = cast(tensor.id, wide_type(type(tensor.id)));
    if (tensor.element == Element::u8) return bits_and(id, 0xff);
    if (tensor.element == Element::u16) return bits_and(id, 0xffff);
    return id;
}

Tensor Lowering::narrow(Id id, Element element, Range range) {
    const DType to = dtype(element);
    if (!is_integer_element(element)) return {element, cast(id, to), no_id, whole_range(element)};
    const int bits = bits_of(element);
    if (bits < 8 && !whole_range(element).holds(range)) {
        if (is_unsigned_integer(element)) id = bits_and(id, (1 << bits) - 1);
        else id = shift_right(shift_left(id, 32 - bits), 32 - bits, /*arithmetic=*/true);
    }
    return ranged(cast(id, to), element, range);
}

// ---- elementwise --------------------------------------------------------------------------------------------------

Id Lowering::with_rank_of(Id id, Id like) {
    const Shape& from = shape(id);
    const std::size_t rank = shape(like).size();
    if (from.size() >= rank) return id;
    Shape to(rank - from.size(), 1);
    to.insert(to.end(), from.begin(), from.end());
    return reshape(id, to);
}

Id Lowering::binary(tosavk::Op op, Id a, Id b, DType output) {
    a = with_rank_of(a, b);
    b = with_rank_of(b, a);
    return op == tosavk::Op::mul ? mul(a, b, output) : add(op, {a, b}, output);
}

Id Lowering::negated(Id a) {
    const Id zero = zero_point(type(a), 0);
    return add(tosavk::Op::negate, {a, zero, zero}, type(a));
}

Id Lowering::select(Id condition, Id a, Id b) {
    a = with_rank_of(a, b);
    b = with_rank_of(b, a);
    condition = with_rank_of(condition, a);
    a = with_rank_of(a, condition);
    b = with_rank_of(b, condition);
    const DType of = type(a);
    if (of != DType::fp8e4m3 && of != DType::fp8e5m2) return add(tosavk::Op::select, {condition, a, b}, of);
    return cast(add(tosavk::Op::select, {condition, cast(a, DType::fp16), cast(b, DType::fp16)}, DType::fp16), of);
}

Id Lowering::bits_and(Id a, std::int64_t mask) {
    return add(tosavk::Op::bitwise_and, {a, splat(a, type(a), static_cast<double>(mask))}, type(a));
}
Id Lowering::bits_xor(Id a, std::int64_t mask) {
    return add(tosavk::Op::bitwise_xor, {a, splat(a, type(a), static_cast<double>(mask))}, type(a));
}
Id Lowering::shift_left(Id a, int amount) {
    return add(tosavk::Op::logical_left_shift, {a, splat(a, type(a), amount)}, type(a));
}
Id Lowering::shift_right(Id a, int amount, bool arithmetic) {
    const tosavk::Op op = arithmetic ? tosavk::Op::arithmetic_right_shift : tosavk::Op::logical_right_shift;
    return add(op, {a, splat(a, type(a), amount)}, type(a));
}

Id Lowering::bitcast(Id id, DType to) {
    const DType from = type(id);
    if (from == to) return id;
    if (from == DType::bf16)  // the upper half of an fp32
        return bitcast(cast(shift_right(bitcast(cast(id, DType::fp32), DType::i32), 16, true), DType::i16), to);
    if (to == DType::bf16) {
        const Id half = cast(bitcast(id, DType::i16), DType::i32);
        return cast(bitcast(shift_left(half, 16), DType::fp32), to);
    }
    return add(tosavk::Op::bitcast, {id}, to);
}

// ---- movement -----------------------------------------------------------------------------------------------------

Tensor Lowering::move(const Tensor& tensor, const std::function<Id(Id)>& step) {
    Tensor moved = tensor;
    moved.id = step(tensor.id);
    if (tensor.has_two()) moved.other = step(tensor.other);
    return moved;
}

Id Lowering::zeros(DType of, Shape shape) {
    if (has_no_elements(shape)) return empty(of, shape);
    const Shape ones(shape.size(), 1);
    return tile_to(constant("zero", of, ones, Bytes(size_of(of))), std::move(shape));
}

Id Lowering::constant_i32(const Shape& shape, std::span<const std::int64_t> values) {
    return constant_ints("indices", DType::i32, shape, values);
}

Id Lowering::transpose(Id id, std::span<const std::int64_t> order) {
    const Shape from = shape(id);
    Shape to;
    std::vector<std::int64_t> moving;  // dimensions of more than one element, in their new order
    for (const std::int64_t d : order) {
        to.push_back(from.at(static_cast<std::size_t>(d)));
        if (to.back() != 1) moving.push_back(d);
    }
    if (std::is_sorted(moving.begin(), moving.end())) return reshape(id, to);
    tosavk::Attributes attrs;
    attrs.perms.assign(order.begin(), order.end());
    return add(tosavk::Op::transpose, {id}, type(id), attrs);
}

Id Lowering::tile_to(Id id, Shape to) {
    const Shape from = shape(id);
    if (from == to) return id;
    if (has_no_elements(to)) return empty(type(id), to);
    std::vector<std::int64_t> times;
    for (std::size_t d = 0; d < to.size(); ++d) {
        if (from.at(d) == 0 || to[d] % from[d] != 0)
            fail(fmt::format("{} cannot be made of {}", to_string(to), to_string(from)));
        times.push_back(to[d] / from[d]);
    }
    return add(tosavk::Op::tile, {id, builder_.shape(times)}, type(id));
}

Id Lowering::broadcast(Id id, Shape to, std::span<const std::int64_t> dims) {
    std::vector<std::int64_t> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return dims[static_cast<std::size_t>(a)] < dims[static_cast<std::size_t>(b)]; });
    Shape ones(to.size(), 1);
    for (std::size_t k = 0; k < dims.size(); ++k) ones.at(static_cast<std::size_t>(dims[k])) = shape(id).at(k);
    return tile_to(reshape(transpose(id, order), ones), std::move(to));
}

Id Lowering::pad(Id id, Id value, std::span<const std::int64_t> low, std::span<const std::int64_t> high) {
    const Shape from = shape(id);
    refuse_large(low);
    refuse_large(high);
    if (low.size() != from.size() || high.size() != from.size()) fail("it does not say how each dimension is padded");
    Shape start, size, padded;
    std::vector<std::int64_t> amounts;
    bool pads = false;
    for (std::size_t d = 0; d < from.size(); ++d) {
        // What is taken away at one end may be more than there is, and come back as padding at the other.
        std::int64_t begin = std::max<std::int64_t>(0, -low[d]), end = from[d] - std::max<std::int64_t>(0, -high[d]);
        std::int64_t before = std::max<std::int64_t>(0, low[d]), after = std::max<std::int64_t>(0, high[d]);
        padded.push_back(from[d] + low[d] + high[d]);
        if (begin >= end) begin = end = 0, before = 0, after = padded.back();
        start.push_back(begin);
        size.push_back(end - begin);
        amounts.push_back(before);
        amounts.push_back(after);
        pads = pads || before != 0 || after != 0;
    }
    if (has_no_elements(padded)) return empty(type(id), padded);
    if (has_no_elements(size)) return tile_to(reshape(value, Shape(padded.size(), 1)), padded);
    id = slice(id, start, size);
    if (!pads) return id;
    return add(tosavk::Op::pad, {id, builder_.shape(amounts), reshape(value, {1})}, type(id));
}

Id Lowering::pad(Id id, Id value, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
                 std::span<const std::int64_t> between) {
    refuse_large(between);
    if (between.size() != shape(id).size()) fail("it does not say how each dimension is padded");
    for (std::size_t d = 0; d < between.size(); ++d) {
        const Shape from = shape(id);
        if (between[d] == 0 || from[d] <= 1) continue;
        const AxisSplit split = split_at(from, d);
        const std::int64_t step = between[d] + 1;
        const std::array<std::int64_t, 4> none{0, 0, 0, 0}, gap{0, 0, between[d], 0};
        id = pad(reshape(id, {split.outer, split.axis, 1, split.inner}), value, none, gap);
        Shape apart = from;
        apart[d] = from[d] * step;
        id = slice_axis(reshape(id, apart), d, 0, apart[d] - between[d]);
    }
    return pad(id, value, low, high);
}

Id Lowering::strided_slice(Id id, std::span<const std::int64_t> start, std::span<const std::int64_t> limit,
                           std::span<const std::int64_t> stride) {
    const Shape whole = shape(id);
    if (start.size() != whole.size() || limit.size() != whole.size() || stride.size() != whole.size())
        fail("it does not say for each dimension what it takes");
    Shape size, first(start.begin(), start.end());
    for (std::size_t d = 0; d < start.size(); ++d) {
        if (start[d] < 0 || limit[d] < start[d] || limit[d] > whole[d] || stride[d] < 1)
            fail(fmt::format("it takes from {} to {} of a dimension of {} in steps of {}", start[d], limit[d], whole[d],
                             stride[d]));
        size.push_back(limit[d] - start[d]);
    }
    id = slice(id, first, size);
    for (std::size_t d = 0; d < stride.size(); ++d) {
        if (stride[d] == 1) continue;
        const Shape from = shape(id);
        const std::int64_t step = std::min(stride[d], std::max<std::int64_t>(from[d], 1));
        const std::int64_t count = (from[d] + step - 1) / step, missing = count * step - from[d];
        if (missing > 0) {
            std::vector<std::int64_t> none(from.size(), 0), after(from.size(), 0);
            after[d] = missing;
            id = pad(id, constant("zero", type(id), {1}, Bytes(size_of(type(id)))), none, after);
        }
        const AxisSplit split = split_at(from, d);
        Shape thinned = from;
        thinned[d] = count;
        id = reshape(slice_axis(reshape(id, {split.outer, count, step, split.inner}), 2, 0, 1), thinned);
    }
    return id;
}

}  // namespace tosavk::stablehlo

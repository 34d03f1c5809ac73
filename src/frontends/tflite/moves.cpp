#include "frontends/tflite/moves.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tosavk {

ValueId flip_uint8(Lowering& l, ValueId x, const TfliteTensor& tensor) {
    if (Lowering::stored_bias(tensor) == 0) return x;
    return l.add(Op::bitwise_xor, {x, l.splat(x, DType::i8, -128)}, DType::i8);
}

ValueId moved_value(Lowering& l, std::size_t k) {
    if (l.in(k).type != l.out().type)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(k).type), name_of(l.out().type)));
    return l.value(k);
}

ValueId reverse(Lowering& l, ValueId x, std::size_t axis) {
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(axis);
    return l.add(Op::reverse, {x}, l.type(x), attrs);
}

ValueId take_every(Lowering& l, ValueId x, std::size_t axis, std::int64_t step, std::int64_t count) {
    const Shape from = l.shape(x);
    Shape to = from;
    to[axis] = count;
    const auto middle = from.begin() + static_cast<std::ptrdiff_t>(axis);
    const std::int64_t outer = element_count(Shape(from.begin(), middle)),
                       inner = element_count(Shape(middle + 1, from.end()));
    x = l.reshape(x, {outer, from[axis], inner});
    if (count * step > from[axis]) {
        const std::vector<std::int64_t> padding{0, 0, 0, count * step - from[axis], 0, 0};
        x = pad(l, x, padding, l.scalar(l.type(x), 0));
    } else {
        x = l.slice_axis(x, 1, 0, count * step);
    }
    x = l.reshape(x, {outer, count, step, inner});
    return l.reshape(l.slice_axis(x, 2, 0, 1), to);
}

ValueId transpose(Lowering& l, ValueId x, std::span<const std::size_t> perms) {
    const Shape from = l.shape(x);
    Shape to;
    for (const std::size_t p : perms) to.push_back(from[p]);
    // Runs of dimensions that follow each other before and after; those of 1 move nothing.
    std::vector<std::size_t> kept(from.size(), 0);
    std::size_t count = 0;
    for (std::size_t d = 0; d < from.size(); ++d) {
        kept[d] = count;
        if (from[d] != 1) ++count;
    }
    std::vector<std::size_t> order, starts;  // of the kept dimensions; which of them begin a run
    for (const std::size_t p : perms) {
        if (from[p] != 1) order.push_back(kept[p]);
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (k == 0 || order[k] != order[k - 1] + 1) starts.push_back(order[k]);
    }
    if (starts.size() < 2) return l.reshape(x, to);
    std::vector<std::size_t> sorted = starts;
    std::sort(sorted.begin(), sorted.end());
    Shape merged(sorted.size(), 1);
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (from[d] == 1) continue;
        const auto run = std::upper_bound(sorted.begin(), sorted.end(), kept[d]) - sorted.begin() - 1;
        merged[static_cast<std::size_t>(run)] *= from[d];
    }
    Attributes attrs;
    for (const std::size_t start : starts)
        attrs.perms.push_back(
            static_cast<std::int32_t>(std::lower_bound(sorted.begin(), sorted.end(), start) - sorted.begin()));
    x = l.reshape(x, merged);
    return l.reshape(l.add(Op::transpose, {x}, l.type(x), attrs), to);
}

ValueId move_axis(Lowering& l, ValueId x, std::size_t from, std::size_t to) {
    std::vector<std::size_t> perms;
    for (std::size_t d = 0; d < l.shape(x).size(); ++d) {
        if (d != from) perms.push_back(d);
    }
    perms.insert(perms.begin() + static_cast<std::ptrdiff_t>(to), from);
    return transpose(l, x, perms);
}

ValueId pad(Lowering& l, ValueId x, std::span<const std::int64_t> amounts, ValueId fill) {
    if (std::all_of(amounts.begin(), amounts.end(), [](std::int64_t p) { return p == 0; })) return x;
    const ValueId list = l.constant_ints("padding", DType::shape, {static_cast<std::int64_t>(amounts.size())}, amounts);
    return l.add(Op::pad, {x, list, fill}, l.type(x));
}

ValueId broadcast(Lowering& l, ValueId x, Shape to) {
    Shape from = l.shape(x);
    const auto misfit = [&] { l.fail(fmt::format("{} does not broadcast to {}", to_string(from), to_string(to))); };
    if (from.size() > to.size()) misfit();
    from.insert(from.begin(), to.size() - from.size(), 1);
    if (from == to) return l.reshape(x, to);
    // Neighbours that are both repeated, or both not, count as one.
    Shape merged, times;
    for (std::size_t d = 0; d < to.size(); ++d) {
        if (from[d] != to[d] && from[d] != 1) misfit();
        if (to[d] == 1) continue;
        const bool repeats = from[d] != to[d];
        if (merged.empty() || repeats != (times.back() != 1)) merged.push_back(1), times.push_back(1);
        (repeats ? times : merged).back() *= to[d];
    }
    if (element_count(to) == 0) return l.empty(l.type(x), to);
    x = l.reshape(x, merged);
    const ValueId list = l.constant_ints("multiples", DType::shape, {static_cast<std::int64_t>(times.size())}, times);
    return l.reshape(l.add(Op::tile, {x, list}, l.type(x)), to);
}

ValueId positions(Lowering& l, std::size_t rank, std::size_t axis, std::int64_t count) {
    if (count > std::int64_t{1} << 23) l.unsupported(fmt::format("{} places along one axis are too many", count));
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    Shape shape(rank, 1);
    shape.at(axis) = count;
    return l.constant_ints("positions", DType::i32, shape, numbers);
}

ValueId gather_rows_of(Lowering& l, ValueId x, ValueId indices) {
    const DType type = l.type(x);
    if (type == DType::boolean) x = l.cast(x, DType::i8);
    return l.cast(l.add(Op::gather, {x, indices}, l.type(x)), type);
}

ValueId index_value(Lowering& l, std::size_t k) {
    if (l.constant(k)) {
        const Shape shape = l.shape(l.value(k));
        const std::vector<std::int64_t> numbers = l.const_ints(k);
        return numbers.empty() ? l.empty(DType::i32, shape) : l.constant_ints("indices", DType::i32, shape, numbers);
    }
    const ValueId indices = l.value(k);
    if (l.type(indices) != DType::i32 && l.type(indices) != DType::i16)
        l.unsupported(fmt::format("indices of type {} are not supported", name_of(l.in(k).type)));
    return l.cast(indices, DType::i32);
}

std::int64_t const_int(Lowering& l, std::size_t k, const char* what) {
    const std::vector<std::int64_t> numbers = l.const_ints(k);
    if (numbers.size() != 1) l.fail(fmt::format("{} has {} elements, not 1", what, numbers.size()));
    return numbers[0];
}

Shape const_shape(Lowering& l, std::size_t k) {
    if (l.in(k).shape.size() > 1) l.fail(fmt::format("its shape has rank {}", l.in(k).shape.size()));
    Shape shape = l.const_ints(k);
    for (const std::int64_t d : shape) {
        if (d < 0) l.fail(fmt::format("shape [{}] has a negative dimension", fmt::join(shape, ", ")));
    }
    element_count(shape);
    return shape;
}

ValueId zeros(Lowering& l, const TfliteTensor& like, Shape shape) {
    const DType type = l.dtype(like);
    if (has_no_elements(shape)) return l.empty(type, shape);
    const double zero = zero_of(like);
    return broadcast(l, l.constant("zero", type, {}, encode_reals(type, {&zero, 1})), shape);
}

}  // namespace tosavk

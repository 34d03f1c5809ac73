// SLICE and STRIDED_SLICE, at places that the file says or that are known at run time.
#include "frontends/tflite/moves.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

/// The size that the file records for dimension d of the output, which has `rank` of them.
std::int64_t recorded_size(Lowering& l, std::size_t d, std::size_t rank) {
    const TfliteTensor& output = l.out();
    if (output.shape.size() != rank || output.dynamic[d])
        l.unsupported(fmt::format("the size of dimension {} is known at run time only", d));
    return output.shape[d];
}

/// At a start that is known at run time, i32 [rank]: the nearest inside.
ValueId dynamic_slice(Lowering& l, ValueId x, ValueId start, const Shape& size) {
    const Shape from = l.shape(x);
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (size[d] < 0 || size[d] > from[d])
            l.fail(fmt::format("cannot take {} elements along dimension {} of size {}", size[d], d, from[d]));
    }
    if (size == from) return x;
    if (has_no_elements(size)) return l.empty(l.type(x), size);
    const ValueId sizes = l.constant_ints("size", DType::shape, {static_cast<std::int64_t>(size.size())}, size);
    return l.add(Op::dynamic_slice, {x, start, sizes}, l.type(x));
}

void slice_at_run_time(Lowering& l) {
    const ValueId x = moved_value(l), start = index_value(l, 1);
    const Shape from = l.shape(x);
    const auto rank = static_cast<std::int64_t>(from.size());
    if (l.shape(start) != Shape{rank} || l.shape(l.value(2)) != Shape{rank})
        l.fail("its start and size do not have the rank of the input");
    Shape size = l.constant(2) ? l.const_ints(2) : Shape(from.size(), -1);
    for (std::size_t d = 0; d < size.size(); ++d) {
        if (size[d] == -1) size[d] = recorded_size(l, d, size.size());
    }
    l.set(dynamic_slice(l, x, start, size));
}

void lower_slice(Lowering& l) {
    if (!l.constant(1) || !l.constant(2)) return slice_at_run_time(l);
    const std::vector<std::int64_t> start = l.const_ints(1);
    Shape size = l.const_ints(2);
    const ValueId x = moved_value(l);
    const Shape from = l.shape(x);
    if (start.size() != from.size() || size.size() != from.size())
        l.fail("its start and size do not have the rank of the input");
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (size[d] == -1) size[d] = from[d] - std::clamp<std::int64_t>(start[d], 0, from[d]);
    }
    l.set(l.slice(x, start, size));
}

struct Masks {
    std::int32_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
    bool offset = false;  ///< ends count from the begins
};

Masks masks_of(Lowering& l) {
    const auto* options = l.options<tflite::StridedSliceOptions>();
    if (!options) return {};
    return {options->begin_mask(),    options->end_mask(),         options->ellipsis_mask(),
            options->new_axis_mask(), options->shrink_axis_mask(), options->offset()};
}

bool has_bit(std::int32_t bits, std::size_t k) { return k < 32 && ((static_cast<std::uint32_t>(bits) >> k) & 1u) != 0; }

/// Begins or ends that are known at run time. Sizes come from masks, or else from the file.
void strided_slice_at_run_time(Lowering& l) {
    const Masks masks = masks_of(l);
    const ValueId x = moved_value(l), begins = index_value(l, 1);
    const Shape from = l.shape(x);
    const std::vector<std::int64_t> strides = l.const_ints(3);
    const auto count = static_cast<std::int64_t>(strides.size());
    if (l.shape(begins) != Shape{count} || l.shape(l.value(2)) != Shape{count})
        l.fail("its begin, end and strides have different lengths");
    if (masks.ellipsis != 0) l.unsupported("an ellipsis is supported with a constant begin and end only");
    std::size_t named = 0, rank = 0;
    for (std::size_t k = 0; k < strides.size(); ++k) {
        if (!has_bit(masks.new_axis, k)) ++named;
        if (has_bit(masks.new_axis, k) || !has_bit(masks.shrink, k)) ++rank;
    }
    if (named > from.size()) l.fail(fmt::format("it slices {} dimensions of rank {}", named, from.size()));
    rank += from.size() - named;
    std::vector<ValueId> start;
    Shape size, to;
    for (std::size_t k = 0, d = 0; k < strides.size() || d < from.size(); ++k) {
        const bool is_named = k < strides.size();
        if (is_named && has_bit(masks.new_axis, k)) {
            to.push_back(1);
            continue;
        }
        const std::int64_t whole = from[d++];
        if (is_named && strides[k] != 1)
            l.unsupported("strides other than 1 are supported with a constant begin and end only");
        const bool from_first = !is_named || has_bit(masks.begin, k), to_last = !is_named || has_bit(masks.end, k);
        ValueId first = l.constant_ints("first", DType::i32, {1}, std::vector<std::int64_t>{0});
        if (!from_first) {
            first = l.slice_axis(begins, 0, static_cast<std::int64_t>(k), 1);
            const ValueId negative = l.add(Op::greater, {l.scalar(DType::i32, 0), first}, DType::boolean);
            const double length = static_cast<double>(whole);
            const ValueId wrapped = l.add(Op::add, {first, l.scalar(DType::i32, length)}, DType::i32);
            first = l.add(Op::select, {negative, wrapped, first}, DType::i32);
        }
        start.push_back(first);
        if (is_named && has_bit(masks.shrink, k)) {
            size.push_back(1);
            continue;
        }
        size.push_back(from_first && to_last ? whole : recorded_size(l, to.size(), rank));
        to.push_back(size.back());
    }
    l.set(l.reshape(dynamic_slice(l, x, l.concat(std::move(start), 0), size), to));
}

void lower_strided_slice(Lowering& l) {
    if (!l.constant(1) || !l.constant(2)) return strided_slice_at_run_time(l);
    const Masks masks = masks_of(l);
    const std::vector<std::int64_t> begins = l.const_ints(1), ends = l.const_ints(2), strides = l.const_ints(3);
    if (begins.size() != ends.size() || begins.size() != strides.size())
        l.fail("its begin, end and strides have different lengths");
    ValueId x = moved_value(l);
    const std::size_t rank = l.shape(x).size();

    // How many dimensions the entries name one by one; an ellipsis stands for the rest.
    std::size_t named = 0, ellipses = 0;
    for (std::size_t k = 0; k < begins.size(); ++k) {
        if (has_bit(masks.ellipsis, k)) ++ellipses;
        else if (!has_bit(masks.new_axis, k)) ++named;
    }
    if (ellipses > 1) l.fail("it has more than one ellipsis");
    if (named > rank) l.fail(fmt::format("it slices {} dimensions of rank {}", named, rank));

    Shape to;
    std::size_t d = 0;
    for (std::size_t k = 0; k < begins.size(); ++k) {
        if (has_bit(masks.ellipsis, k)) {
            for (std::size_t skip = rank - named; skip > 0; --skip) to.push_back(l.shape(x)[d++]);
            continue;
        }
        if (has_bit(masks.new_axis, k)) {
            to.push_back(1);
            continue;
        }
        const std::int64_t size = l.shape(x)[d], step = strides[k];
        if (step == 0) l.fail("it has a stride of 0");
        const bool shrink = has_bit(masks.shrink, k);
        const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
        std::int64_t begin = begins[k], end = ends[k];
        if (has_bit(masks.begin, k)) begin = step > 0 ? 0 : size - 1;
        else if (begin < 0) begin += size;
        if (shrink && (begin < 0 || begin >= size))
            l.fail(fmt::format("index {} is out of range for dimension {} of size {}", begins[k], d, size));
        begin = std::clamp(begin, lowest, highest);
        // Nothing beyond this differs from it, and nothing overflows.
        if (masks.offset) end = std::clamp(end, -3 * size - 3, 3 * size + 3) + begin;
        if (shrink) end = begin + 1;
        else if (has_bit(masks.end, k)) end = step > 0 ? size : -1;
        else end = std::clamp(end < 0 ? end + size : end, lowest, highest);
        // One beyond the size does the same as any longer one.
        const std::int64_t stride = shrink ? 1 : std::clamp(step, -size - 1, size + 1),
                           reach = stride > 0 ? stride : -stride;
        const std::int64_t distance = stride > 0 ? end - begin : begin - end;
        const std::int64_t count = distance <= 0 ? 0 : (distance - 1) / reach + 1;
        if (count == 0) {
            x = l.slice_axis(x, d, 0, 0);
            if (!shrink) to.push_back(0);
            ++d;
            continue;
        }
        const std::int64_t span = (count - 1) * reach + 1;
        if (stride < 0) {
            x = l.slice_axis(x, d, begin - span + 1, span);
            if (span > 1) x = reverse(l, x, d);
        } else {
            // Up to a multiple of the stride where there are elements, so that no padding is needed.
            x = l.slice_axis(x, d, begin, std::min(count * reach, size - begin));
        }
        if (reach > 1 && count > 1) x = take_every(l, x, d, reach, count);
        else if (count == 1) x = l.slice_axis(x, d, 0, 1);
        if (!shrink) to.push_back(count);
        ++d;
    }
    for (; d < rank; ++d) to.push_back(l.shape(x)[d]);
    l.set(l.reshape(x, to));
}

}  // namespace

OperatorRows slice_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::SLICE, lower_slice, moves_data},
        {B::STRIDED_SLICE, lower_strided_slice, moves_data},
    };
    return rows;
}

}  // namespace tosavk

// Operators whose indices say where elements go or come from: GATHER_ND, SCATTER_ND, SPARSE_TO_DENSE, segments,
// ONE_HOT, EMBEDDING_LOOKUP, DYNAMIC_UPDATE_SLICE.
#include "frontends/tflite/hybrid.hpp"
#include "frontends/tflite/moves.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tosavk {

namespace {

using tflite::BuiltinOperator;

/// Fails for constant indices that lie outside of the first dimensions of `shape`; each index has `depth` numbers.
void check_indices(Lowering& l, std::size_t k, const Shape& shape, std::size_t depth) {
    if (!l.constant(k)) return;
    const std::vector<std::int64_t> numbers = l.const_ints(k);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::int64_t size = shape[i % depth];
        if (numbers[i] < 0 || numbers[i] >= size) l.fail(fmt::format("index {} is not in 0..{}", numbers[i], size - 1));
    }
}

/// How many numbers an index has: the last dimension of `indices`, at most the rank of what they point into.
std::size_t depth_of(Lowering& l, ValueId indices, const Shape& shape) {
    if (l.shape(indices).empty()) l.fail("its indices have rank 0");
    const std::int64_t depth = l.shape(indices).back();
    if (depth < 1 || depth > static_cast<std::int64_t>(shape.size()))
        l.fail(fmt::format("indices of {} numbers for rank {}", depth, shape.size()));
    return static_cast<std::size_t>(depth);
}

void lower_gather_nd(Lowering& l) {
    const ValueId x = l.value(0), indices = index_value(l, 1);
    const std::size_t depth = depth_of(l, indices, l.shape(x));
    check_indices(l, 1, l.shape(x), depth);
    Attributes attrs;
    attrs.out_of_range = OutOfRange::zero;
    l.set(l.add(Op::gather_nd, {x, indices}, l.type(x), attrs));
}

ValueId scatter(Lowering& l, ValueId into, ValueId indices, ValueId updates, Combiner combiner) {
    Attributes attrs;
    attrs.combiner = combiner;
    attrs.out_of_range = OutOfRange::skip;
    if (l.is_empty(updates)) return into;
    return l.add(Op::scatter_nd, {into, indices, updates}, l.type(into), attrs);
}

void lower_scatter_nd(Lowering& l) {
    const ValueId indices = index_value(l, 0);
    ValueId updates = l.value(1);
    const Shape to = const_shape(l, 2);
    const std::size_t depth = depth_of(l, indices, to);
    check_indices(l, 0, to, depth);
    Shape expected(l.shape(indices).begin(), l.shape(indices).end() - 1);
    expected.insert(expected.end(), to.begin() + static_cast<std::ptrdiff_t>(depth), to.end());
    if (l.shape(updates) != expected)
        l.fail(fmt::format("updates {} for indices {} and the shape {}", to_string(l.shape(updates)),
                           to_string(l.shape(indices)), to_string(to)));
    const DType type = l.type(updates);
    const double zero = 0;
    const ValueId start = broadcast(l, l.constant("zero", type, {}, encode_reals(type, {&zero, 1})), to);
    // Bits of UINT8 add up as those of INT8 do, but not what is 128 less.
    updates = flip_uint8(l, updates, l.in(1));
    const Combiner combiner = type == DType::boolean ? Combiner::maximum : Combiner::add;
    l.set(flip_uint8(l, scatter(l, start, indices, updates, combiner), l.in(1)));
}

void lower_sparse_to_dense(Lowering& l) {
    ValueId indices = index_value(l, 0), values = l.value(2);
    const ValueId rest = l.value(3);
    const Shape to = const_shape(l, 1);
    if (element_count(l.shape(rest)) != 1 || l.type(rest) != l.type(values))
        l.fail("its default must be one element of the values' type");
    // One index, a list of indices into a vector, or a list of indices into anything.
    const std::size_t rank = l.shape(indices).size();
    const std::int64_t count = rank == 0 ? 1 : l.shape(indices)[0];
    if (rank > 2) l.fail(fmt::format("its indices have rank {}", rank));
    indices = l.reshape(indices, {count, rank == 2 ? l.shape(indices)[1] : 1});
    if (depth_of(l, indices, to) != to.size())
        l.fail(fmt::format("indices of {} numbers for rank {}", l.shape(indices)[1], to.size()));
    check_indices(l, 0, to, to.size());
    if (l.shape(values).size() > 1 || (!l.shape(values).empty() && l.shape(values)[0] != count))
        l.fail(fmt::format("values {} for {} indices", to_string(l.shape(values)), count));
    values = broadcast(l, values, {count});
    l.set(scatter(l, broadcast(l, l.reshape(rest, {}), to), indices, values, Combiner::set));
}

struct Segments {
    ValueId data, ids;
    Shape rest;  ///< of one row
};

ValueId reduce_segments(Lowering& l, const Segments& s, std::int64_t count, Combiner combiner) {
    Shape to = s.rest;
    to.insert(to.begin(), count);
    if (has_no_elements(to)) return l.empty(l.type(s.data), to);
    Attributes attrs;
    attrs.combiner = combiner;
    attrs.segments = l.narrow(count, "number of segments");
    attrs.out_of_range = OutOfRange::skip;
    return l.reshape(l.add(Op::segment_reduce, {s.data, s.ids}, l.type(s.data), attrs), to);
}

Segments segments_of(Lowering& l) {
    const ValueId data = l.value(0), ids = index_value(l, 1);
    const Shape from = l.shape(data), rows = l.shape(ids);
    if (rows.size() > from.size() || !std::equal(rows.begin(), rows.end(), from.begin()))
        l.fail(fmt::format("ids {} do not begin the shape {}", to_string(rows), to_string(from)));
    if (l.type(data) != DType::fp32 && l.type(data) != DType::i32)
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    Segments s;
    s.rest.assign(from.begin() + static_cast<std::ptrdiff_t>(rows.size()), from.end());
    const std::int64_t count = element_count(rows);
    s.data = l.reshape(data, {count, element_count(s.rest)});
    s.ids = l.reshape(ids, {count});
    return s;
}

void lower_segment_sum(Lowering& l) {
    const std::vector<std::int64_t> ids = l.const_ints(1);
    for (std::size_t k = 0; k < ids.size(); ++k) {
        if (ids[k] < 0 || (k > 0 && ids[k] < ids[k - 1])) l.fail("its ids are not sorted numbers from 0 on");
    }
    const Segments s = segments_of(l);
    l.set(reduce_segments(l, s, ids.empty() ? 0 : ids.back() + 1, Combiner::add));
}

void lower_unsorted_segment(Lowering& l) {
    const std::int64_t count = const_int(l, 2, "the number of segments");
    if (count < 0) l.fail(fmt::format("{} segments", count));
    if (l.constant(1)) {
        for (const std::int64_t id : l.const_ints(1)) {
            if (id >= count) l.fail(fmt::format("id {} is not below {}", id, count));
        }
    }
    const Segments s = segments_of(l);
    switch (l.op().code) {
        case BuiltinOperator::UNSORTED_SEGMENT_SUM: return l.set(reduce_segments(l, s, count, Combiner::add));
        case BuiltinOperator::UNSORTED_SEGMENT_PROD: return l.set(reduce_segments(l, s, count, Combiner::multiply));
        default: break;
    }
    if (l.in(0).type == tflite::TensorType::INT64)
        l.unsupported("what INT64 segments without rows hold needs more than 32 bits");
    const bool largest = l.op().code == BuiltinOperator::UNSORTED_SEGMENT_MAX;
    const ValueId x = reduce_segments(l, s, count, largest ? Combiner::maximum : Combiner::minimum);
    if (l.type(x) != DType::fp32 || l.is_empty(x)) return l.set(x);
    // TFLite begins with the largest finite numbers, not with infinities.
    const double limit = std::numeric_limits<float>::max();
    const ValueId first = l.splat(x, DType::fp32, largest ? -limit : limit);
    l.set(l.add(largest ? Op::maximum : Op::minimum, {x, first}, DType::fp32));
}

void lower_one_hot(Lowering& l) {
    const auto* options = l.options<tflite::OneHotOptions>();
    const std::int64_t depth = const_int(l, 1, "the depth");
    if (depth < 0) l.fail(fmt::format("its depth is {}", depth));
    ValueId indices = index_value(l, 0), on = l.value(2), off = l.value(3);
    if (element_count(l.shape(on)) != 1 || element_count(l.shape(off)) != 1 || l.type(on) != l.type(off))
        l.fail("its two values are no elements of one type");
    const Shape from = l.shape(indices);
    const std::int32_t axis = options ? options->axis() : 0;
    const std::size_t d = axis == -1 ? from.size() : l.axis(axis, from.size() + 1);
    Shape to = from;
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(d), depth);
    if (has_no_elements(to)) return l.set(l.empty(l.type(on), to));
    // Three dimensions do: those before, the depth, those behind.
    const std::int64_t outer = split_at(to, d).outer, inner = split_at(to, d).inner;
    indices = l.reshape(indices, {outer, 1, inner});
    const ValueId hot = l.add(Op::equal, {indices, positions(l, 3, 1, depth)}, DType::boolean);
    on = l.reshape(on, {1, 1, 1});
    off = l.reshape(off, {1, 1, 1});
    l.set(l.reshape(l.add(Op::select, {hot, on, off}, l.type(on)), to));
}

void lower_embedding_lookup(Lowering& l) {
    const ValueId ids = index_value(l, 0);
    ValueId rows = l.value(1);
    const Shape from = l.shape(rows);
    if (l.shape(ids).size() != 1 || from.size() < 2)
        l.fail(fmt::format("ids {} of a table {}", to_string(l.shape(ids)), to_string(from)));
    check_indices(l, 0, from, 1);
    const TfliteTensor& table = l.in(1);
    // The bytes of UINT8 weights are read as int8.
    const bool weights = l.out().type == tflite::TensorType::FLOAT32 && l.type(rows) == DType::i8;
    if (weights) rows = signed_weights(l, 1);
    const std::int64_t count = l.shape(ids)[0], width = element_count(from) / std::max<std::int64_t>(from[0], 1);
    Shape to = from;
    to[0] = count;
    const ValueId which = l.reshape(ids, {1, count});
    rows = gather_rows_of(l, l.reshape(rows, {1, from[0], width}), which);
    if (l.type(rows) == l.dtype(l.out())) return l.set(l.reshape(rows, to));
    if (!weights)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(table.type), name_of(l.out().type)));
    // Weights are numbers times a scale, of the table or of each row.
    const std::vector<float> scales = weight_scales(l, table, 0, from[0]);
    ValueId scale = l.constant_floats("scale", {1, static_cast<std::int64_t>(scales.size()), 1}, scales);
    if (scales.size() > 1) scale = gather_rows_of(l, scale, which);
    l.set(l.reshape(l.mul(l.cast(rows, DType::fp32), scale, DType::fp32), to));
}

void lower_dynamic_update_slice(Lowering& l) {
    const ValueId x = l.value(0), update = l.value(1), start = index_value(l, 2);
    const Shape &whole = l.shape(x), &part = l.shape(update);
    bool fits = part.size() == whole.size() && l.type(update) == l.type(x) &&
                l.shape(start) == Shape{static_cast<std::int64_t>(whole.size())};
    for (std::size_t d = 0; fits && d < whole.size(); ++d) fits = part[d] <= whole[d];
    if (!fits)
        l.fail(
            fmt::format("a part {} at {} numbers of {}", to_string(part), to_string(l.shape(start)), to_string(whole)));
    if (part == whole || l.is_empty(update)) return l.set(l.is_empty(update) ? x : update);
    l.set(l.add(Op::dynamic_update_slice, {x, update, start}, l.type(x)));
}

}  // namespace

OperatorRows scatter_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::GATHER_ND, lower_gather_nd, moves_data},
        {B::SCATTER_ND, lower_scatter_nd, moves_data},
        {B::SPARSE_TO_DENSE, lower_sparse_to_dense, moves_data},
        {B::SEGMENT_SUM, lower_segment_sum},
        {B::UNSORTED_SEGMENT_SUM, lower_unsorted_segment},
        {B::UNSORTED_SEGMENT_PROD, lower_unsorted_segment},
        {B::UNSORTED_SEGMENT_MAX, lower_unsorted_segment},
        {B::UNSORTED_SEGMENT_MIN, lower_unsorted_segment},
        {B::ONE_HOT, lower_one_hot, moves_data},
        {B::EMBEDDING_LOOKUP, lower_embedding_lookup},
        {B::DYNAMIC_UPDATE_SLICE, lower_dynamic_update_slice, moves_data},
    };
    return rows;
}

}  // namespace tosavk

// Operators that make data, or say what shape some has: FILL, RANGE, ZEROS_LIKE, SHAPE, RANK, BROADCAST_ARGS, WHERE.
#include "frontends/tflite/moves.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

constexpr std::int64_t max_made = std::int64_t{1} << 24;

void lower_shape(Lowering& l) {
    const Shape shape = l.shape(l.value(0));
    if (shape.empty()) return l.set(l.empty(DType::i32, {0}));
    l.set(l.constant_ints("shape", DType::i32, {static_cast<std::int64_t>(shape.size())}, shape));
}

void lower_rank(Lowering& l) {
    const auto rank = static_cast<std::int64_t>(l.shape(l.value(0)).size());
    l.set(l.constant_ints("rank", DType::i32, {}, {&rank, 1}));
}

void lower_zeros_like(Lowering& l) { l.set(zeros(l, l.out(), l.shape(l.value(0)))); }

void lower_fill(Lowering& l) {
    const ValueId x = l.value(1);
    if (!l.shape(x).empty()) l.fail(fmt::format("its value has rank {}", l.shape(x).size()));
    l.set(broadcast(l, x, const_shape(l, 0)));
}

void refuse_count(const Lowering& l, double count) {
    if (!(count <= static_cast<double>(max_made))) l.unsupported("it makes more than 2^24 elements");
}

// As in TFLite, each number is the one before it and the step: of floats, rounded every time.
void lower_range(Lowering& l) {
    for (std::size_t k = 0; k < 3; ++k) {
        if (!l.constant(k)) l.unsupported(fmt::format("{} must be a constant", l.in(k).title()));
    }
    const DType type = l.dtype(l.out());
    if (type == DType::fp32) {
        float ends[3];
        for (std::size_t k = 0; k < 3; ++k) {
            const Value v = l.graph_value(l.value(k));
            if (v.type != DType::fp32 || element_count(v.shape) != 1) l.fail("its operands are not one number each");
            ends[k] = static_cast<float>(decode_reals(v.type, *v.data).at(0));
        }
        const auto [start, limit, step] = std::tuple(ends[0], ends[1], ends[2]);
        if (step == 0 || (start > limit && step > 0) || (start < limit && step < 0))
            l.fail(fmt::format("no steps of {} lead from {} to {}", step, start, limit));
        const float count = std::ceil(std::abs((limit - start) / step));
        refuse_count(l, static_cast<double>(count));
        std::vector<float> numbers;
        for (float x = start; numbers.size() < static_cast<std::size_t>(count); x += step) numbers.push_back(x);
        const auto made = static_cast<std::int64_t>(numbers.size());
        return l.set(made == 0 ? l.empty(type, {0}) : l.constant_floats("range", {made}, numbers));
    }
    const std::int64_t start = const_int(l, 0, "its start"), limit = const_int(l, 1, "its limit"),
                       step = const_int(l, 2, "its step");
    if (step == 0 || (start > limit && step > 0) || (start < limit && step < 0))
        l.fail(fmt::format("no steps of {} lead from {} to {}", step, start, limit));
    const std::int64_t distance = std::abs(limit - start), stride = std::abs(step),
                       count = distance / stride + (distance % stride != 0 ? 1 : 0);
    refuse_count(l, static_cast<double>(count));
    std::vector<std::int64_t> numbers;
    for (std::int64_t k = 0; k < count; ++k) numbers.push_back(start + k * step);
    l.set(count == 0 ? l.empty(type, {0}) : l.constant_ints("range", type, {count}, numbers));
}

void lower_broadcast_args(Lowering& l) {
    ValueId a = index_value(l, 0), b = index_value(l, 1);
    if (l.shape(a).size() != 1 || l.shape(b).size() != 1) l.fail("its shapes are no lists");
    if (l.shape(a)[0] < l.shape(b)[0]) std::swap(a, b);
    const std::int64_t rank = l.shape(a)[0], missing = rank - l.shape(b)[0];
    if (l.is_empty(b)) return l.set(a);
    if (missing > 0) {
        const std::vector<std::int64_t> ones(static_cast<std::size_t>(missing), 1);
        b = l.concat({l.constant_ints("ones", DType::i32, {missing}, ones), b}, 0);
    }
    const ValueId repeated = l.add(Op::equal, {a, l.splat(a, DType::i32, 1)}, DType::boolean);
    l.set(l.add(Op::select, {repeated, b, a}, DType::i32));
}

void lower_where(Lowering& l) {
    if (!l.constant(0)) {
        l.unsupported(
            fmt::format("how many elements it finds is known only for a constant, and {} is none", l.in(0).title()));
    }
    const ValueId x = l.value(0);
    const Shape from = l.shape(x);
    std::vector<std::int64_t> places;
    if (!l.is_empty(x)) {
        const Value& v = l.graph_value(x);
        const std::vector<double> elements = decode_reals(v.type, *v.data);
        const std::vector<std::int64_t> strides = row_major_strides(from);
        const double zero = zero_of(l.in(0));
        for (std::size_t i = 0; i < elements.size(); ++i) {
            if (elements[i] == zero) continue;
            for (std::size_t d = 0; d < from.size(); ++d)
                places.push_back(static_cast<std::int64_t>(i) / strides[d] % from[d]);
        }
    }
    const auto rank = static_cast<std::int64_t>(from.size());
    if (places.empty()) return l.set(l.empty(DType::i32, {0, rank}));
    l.set(l.constant_ints("places", DType::i32, {static_cast<std::int64_t>(places.size()) / rank, rank}, places));
}

}  // namespace

OperatorRows make_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::SHAPE, lower_shape, asks_shape},           {B::RANK, lower_rank, asks_shape},
        {B::ZEROS_LIKE, lower_zeros_like, asks_shape}, {B::FILL, lower_fill, moves_data},
        {B::RANGE, lower_range, moves_data},           {B::BROADCAST_ARGS, lower_broadcast_args, moves_data},
        {B::WHERE, lower_where, moves_data},
    };
    return rows;
}

}  // namespace tosavk

// BATCH_MATMUL.
#include "frontends/tflite/hybrid.hpp"
#include "frontends/tflite/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tosavk {

namespace {

using Type = tflite::TensorType;

ValueId swap_last_two(Lowering& l, ValueId x) {
    Attributes attrs;
    attrs.perms.resize(l.shape(x).size());
    std::iota(attrs.perms.begin(), attrs.perms.end(), 0);
    std::iter_swap(attrs.perms.end() - 1, attrs.perms.end() - 2);
    return l.add(Op::transpose, {x}, l.type(x), attrs);
}

/// All dimensions but the last two.
Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

/// [batch.., a, b] as [batches, a, b], repeated along batch dimensions of 1.
ValueId repeat_batches(Lowering& l, ValueId x, const Shape& batch) {
    const Shape from = l.shape(x);
    const std::int64_t a = from[batch.size()], b = from[batch.size() + 1];
    if (batch_of(from) != batch) {
        std::vector<std::int64_t> times;
        for (std::size_t d = 0; d < batch.size(); ++d) times.push_back(batch[d] / from[d]);
        times.insert(times.end(), {1, 1});
        const auto rank = static_cast<std::int64_t>(times.size());
        x = l.add(Op::tile, {x, l.constant_ints("multiples", DType::shape, {rank}, times)}, l.type(x));
    }
    return l.reshape(x, {element_count(batch), a, b});
}

/// The sums in the output's type.
ValueId finish_product(Lowering& l, ValueId sums) {
    const DType to = l.dtype(l.out());
    if (l.type(sums) == to) return sums;
    const Quant out = l.quant(l.out());
    const float product = l.quant(l.in(0)).scale * l.quant(l.in(1)).scale;  // in floats, as in TFLite
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(product) / static_cast<double>(out.scale));
    if (to == DType::i16) return l.requantize_sums(sums, to, {&m, 1});
    return l.requantize(sums, to, m, 0, out.zero_point);
}

/// TFLite keeps the scales of activations and the sums of weights by matrix, and reads them at the sum of a matrix's
/// batch coordinates: its own place only where no two batch dimensions of the operand count. For each matrix of the
/// product, the one of `batch` whose place is read; nothing where each is its own.
std::vector<std::int64_t> kept_places(const Shape& operand, const Shape& batch) {
    if (std::count_if(operand.begin(), operand.end(), [](std::int64_t d) { return d != 1; }) < 2) return {};
    std::vector<std::int64_t> places;
    const std::int64_t matrices = element_count(batch);
    for (std::int64_t m = 0; m < matrices; ++m) {
        std::int64_t kept = 0, place = 0;
        for (std::size_t d = batch.size(), rest = static_cast<std::size_t>(m); d-- > 0;) {
            const auto size = static_cast<std::size_t>(batch[d]);
            if (operand[d] != 1) kept += static_cast<std::int64_t>(rest % size);
            rest /= size;
        }
        for (std::size_t d = batch.size(), inner = 1; d-- > 0;) {
            place += kept % operand[d] * static_cast<std::int64_t>(inner);
            kept /= operand[d];
            inner *= static_cast<std::size_t>(batch[d]);
        }
        places.push_back(place);
    }
    return places;
}

/// Of [n, 1, each], those at `places`, if any.
ValueId take_places(Lowering& l, ValueId x, const std::vector<std::int64_t>& places) {
    if (places.empty()) return x;
    const Shape shape = l.shape(x);
    const auto count = static_cast<std::int64_t>(places.size());
    const ValueId which = l.constant_ints("places", DType::i32, {1, count}, places);
    const ValueId rows = l.reshape(x, {1, count, element_count(shape) / count});
    return l.reshape(l.add(Op::gather, {rows, which}, l.type(x)), shape);
}

/// [n, a, k] of floats by [n, k, b] of int8, as TFLite computes it: each row is quantized by itself. `left` and `right`
/// are the operands' batch dimensions, `batch` those of the product.
ValueId hybrid_matmul(Lowering& l, ValueId x, ValueId y, bool asymmetric, const Shape& left, const Shape& right,
                      const Shape& batch) {
    const Quant weights = l.quant(l.in(1));
    if (weights.zero_point != 0)
        l.unsupported(fmt::format("{} has zero point {}, only 0 is supported", l.in(1).title(), weights.zero_point));
    const Shape shape = l.shape(x);
    const std::int64_t count = shape[0] * shape[1];
    const HybridRows rows = round_rows(l, l.reshape(x, {count, shape[2]}), asymmetric);
    if (element_count(batch) > std::int64_t{1} << 20) l.unsupported("more than 2^20 matrices are not supported");
    const std::vector<std::int64_t> scales_at = kept_places(left, batch);
    const std::int64_t matrices = scales_at.empty() ? shape[0] : element_count(batch);
    const auto by_matrix = [&](ValueId v) {
        v = take_places(l, l.reshape(v, {matrices, 1, count / matrices}), scales_at);
        return l.reshape(v, {shape[0], shape[1], 1});
    };
    const ValueId zero = l.scalar(DType::i8, 0);
    ValueId sums =
        l.add(Op::matmul, {l.reshape(quantize_rounded(l, rows, rows.rounded), shape), y, zero, zero}, DType::i32);
    if (asymmetric) {
        Attributes along;
        along.axis = 1;
        ValueId columns = l.add(Op::reduce_sum, {l.cast(y, DType::i32)}, DType::i32, along);
        columns = take_places(l, columns, kept_places(right, batch));
        sums = l.add(Op::sub, {sums, l.mul(by_matrix(rows.zero_point), columns, DType::i32)}, DType::i32);
    }
    const ValueId factor = l.splat(rows.scale, DType::fp32, static_cast<double>(weights.scale));
    return l.mul(l.cast(sums, DType::fp32), by_matrix(l.mul(rows.scale, factor, DType::fp32)), DType::fp32);
}

void lower_batch_matmul(Lowering& l) {
    const auto* options = l.options<tflite::BatchMatMulOptions>();
    const Type a = l.in(0).type, b = l.in(1).type, to = l.out().type;
    const bool known = a == Type::FLOAT32 || a == Type::INT8 || a == Type::INT16;
    const bool mixed = a == Type::FLOAT32 && b == Type::INT8 && to == a, hybrid = mixed && is_hybrid(l, 1);
    if (!known || (a != b && !mixed) || (to != a && (a != Type::INT8 || to != Type::INT32)))
        l.unsupported(fmt::format("types {} x {} -> {} are not supported", name_of(a), name_of(b), name_of(to)));
    ValueId x = l.value(0), y = mixed && !hybrid ? l.float_value(1) : l.value(1);
    for (const ValueId id : {x, y}) {
        if (l.shape(id).size() < 2) l.fail(fmt::format("an operand has rank {}", l.shape(id).size()));
    }
    if (options && options->adj_x()) x = swap_last_two(l, x);
    if (options && options->adj_y()) y = swap_last_two(l, y);
    const std::size_t own_rank = l.shape(y).size();
    l.match_ranks(x, y);
    Shape left = l.shape(x);
    const Shape right = l.shape(y);
    const auto mismatch = [&] {
        l.fail(fmt::format("matrices of shapes {} and {} have no product", to_string(left), to_string(right)));
    };
    const std::size_t rank = left.size();
    if (left[rank - 1] != right[rank - 2]) mismatch();
    Shape batch = batch_of(left);
    for (std::size_t d = 0; d < batch.size(); ++d) {
        if (batch[d] != right[d] && batch[d] != 1 && right[d] != 1) mismatch();
        batch[d] = std::max(batch[d], right[d]);
    }
    Shape result = batch;
    result.insert(result.end(), {left[rank - 2], right[rank - 1]});
    // The kernel joins the rows of the innermost matrices that meet one, but not where that has rank 2.
    const bool joins = hybrid && own_rank > 2 && right[rank - 3] == 1;
    if (joins) {
        Shape rows(left.begin(), left.end() - 3);
        rows.insert(rows.end(), {1, left[rank - 3] * left[rank - 2], left[rank - 1]});
        x = l.reshape(x, rows);
        left = rows;
        batch.back() = 1;
    }
    if (element_count(batch_of(right)) == 1) {  // one matrix for all rows
        x = l.reshape(x, {1, element_count(left) / left[rank - 1], left[rank - 1]});
        y = l.reshape(y, {1, right[rank - 2], right[rank - 1]});
    } else {
        x = repeat_batches(l, x, batch);
        y = repeat_batches(l, y, batch);
    }
    if (hybrid)
        return l.set(l.reshape(hybrid_matmul(l, x, y, options && options->asymmetric_quantize_inputs(), batch_of(left),
                                             batch_of(right), batch),
                               result));
    const DType type = l.type(x);
    const DType sum = type == DType::fp32 ? DType::fp32 : type == DType::i8 ? DType::i32 : DType::i48;
    const auto zero_point = [&](std::size_t k) {
        // TFLite's sums in INT32 are those of the stored integers.
        return l.scalar(type, type == DType::i8 && to == Type::INT8 ? l.quant(l.in(k)).zero_point : 0);
    };
    const ValueId sums = l.add(Op::matmul, {x, y, zero_point(0), zero_point(1)}, sum);
    l.set(l.reshape(finish_product(l, sums), result));
}

}  // namespace

OperatorRows matmul_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::BATCH_MATMUL, lower_batch_matmul},
    };
    return rows;
}

}  // namespace tosavk

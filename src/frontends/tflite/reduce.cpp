// Reductions along axes: MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ALL, REDUCE_ANY.
#include "frontends/tflite/lowering.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using tflite::BuiltinOperator;

DType reduced_type(const Lowering& l) {
    const DType type = l.dtype(l.in(0));
    if (l.in(0).type != l.out().type) {
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    }
    return type;
}

// The axes of a reduction, without repetition.
std::vector<bool> reduced_axes(const Lowering& l, std::size_t rank) {
    std::vector<bool> axes(rank, false);
    for (const std::int64_t a : l.const_ints(1)) axes[l.axis(a, rank)] = true;
    return axes;
}

bool keep_dims(const Lowering& l) {
    const auto* options = l.options<tflite::ReducerOptions>();
    return options && options->keep_dims();
}

// Reduces the chosen axes, neighbouring ones at once; dimensions of `x` that are reduced become 1.
ValueId reduce(Lowering& l, Op op, ValueId x, const std::vector<bool>& axes) {
    const Shape full = l.shape(x);
    Shape kept = full;
    for (std::size_t first = 0; first < axes.size();) {
        if (!axes[first]) {
            ++first;
            continue;
        }
        std::size_t last = first;
        std::int64_t run = 1;
        for (; last < axes.size() && axes[last]; ++last) {
            run *= full[last];
            kept[last] = 1;
        }
        if (run > 1) {
            // [before..., run, after...], so that one node does the whole run.
            Shape merged(l.shape(x).begin(), l.shape(x).begin() + static_cast<std::ptrdiff_t>(first));
            merged.push_back(run);
            merged.insert(merged.end(), full.begin() + static_cast<std::ptrdiff_t>(last), full.end());
            x = l.reshape(x, merged);
            Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(first);
            if (op == Op::reduce_max || op == Op::reduce_min) attrs.nan_mode = NanMode::ignore;  // as TFLite compares
            x = l.add(op, {x}, l.type(x), attrs);
            x = l.reshape(x, kept);
        }
        first = last;
    }
    return x;
}

ValueId drop_axes(Lowering& l, ValueId x, const std::vector<bool>& axes) {
    if (keep_dims(l)) return x;
    const Shape full = l.shape(x);
    Shape left;
    for (std::size_t d = 0; d < full.size(); ++d) {
        if (!axes[d]) left.push_back(full[d]);
    }
    return l.reshape(x, left);
}

std::int64_t reduced_count(const Shape& shape, const std::vector<bool>& axes) {
    std::int64_t n = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) n *= axes[d] ? shape[d] : 1;
    return n;
}

/// What TFLite makes of no elements; of most quantized numbers it leaves memory as it was.
double of_nothing(const Lowering& l) {
    const tflite::TensorType type = l.in(0).type;
    const DType held = l.dtype(l.in(0));
    const bool quantized = l.is_quantized(l.in(0)) && !l.in(0).scale.empty();
    switch (l.op().code) {
        case BuiltinOperator::REDUCE_ALL: return 1;
        case BuiltinOperator::REDUCE_ANY: return 0;
        case BuiltinOperator::MEAN:
            if (held == DType::fp32) return std::numeric_limits<double>::quiet_NaN();
            return static_cast<double>(-Lowering::stored_bias(l.in(0)));  // whatever the zero point
        case BuiltinOperator::SUM:
            if (!quantized || type == tflite::TensorType::UINT8)
                return static_cast<double>(-Lowering::stored_bias(l.in(0)));
            break;
        case BuiltinOperator::REDUCE_PROD:
            if (!quantized) return static_cast<double>(1 - Lowering::stored_bias(l.in(0)));
            break;
        case BuiltinOperator::REDUCE_MAX:
        case BuiltinOperator::REDUCE_MIN: {
            if (type == tflite::TensorType::INT64) break;  // the ends of 64 bits
            const bool least = l.op().code == BuiltinOperator::REDUCE_MAX;
            if (held == DType::fp32) {
                constexpr double most = std::numeric_limits<float>::max();
                return least ? -most : most;
            }
            return static_cast<double>(least ? min_of(held) : max_of(held));
        }
        default: break;
    }
    l.unsupported(fmt::format("it reduces no elements of type {}", name_of(type)));
}

/// Whether input 0 has no elements; the output is set then.
bool reduces_nothing(Lowering& l) {
    const ValueId x = l.value(0);
    if (!l.is_empty(x)) return false;
    const DType type = reduced_type(l);
    const Shape full = l.shape(x);
    const std::vector<bool> axes = reduced_axes(l, full.size());
    Shape left;
    for (std::size_t d = 0; d < full.size(); ++d) {
        if (!axes[d] || keep_dims(l)) left.push_back(axes[d] ? 1 : full[d]);
    }
    const std::int64_t count = element_count(left);
    if (count > std::int64_t{1} << 24) l.unsupported("it makes more than 2^24 elements of none");
    if (count == 0) {
        l.set(l.empty(type, left));
    } else {
        const std::vector<double> all(static_cast<std::size_t>(count), of_nothing(l));
        l.set(l.constant("nothing", type, left, encode_reals(type, all)));
    }
    return true;
}

// Mean, and sum of UINT8: the sum without zero points, in 32 bits that wrap, then one multiplier.
void sum_by_multiplier(Lowering& l, ValueId x, const std::vector<bool>& axes, std::int64_t n, bool mean) {
    const DType type = l.type(x);
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    QuantizedMultiplier m = quantize_multiplier(static_cast<double>(in.scale) / static_cast<double>(out.scale));
    if (mean) {
        // TFLite folds 1/n into the multiplier, keeping as many bits as fit.
        const int shift = std::min({63 - std::countl_zero(static_cast<std::uint64_t>(n)), 32, 31 + m.exponent});
        m.multiplier = static_cast<std::int32_t>((std::int64_t{m.multiplier} << shift) / n);
        m.exponent -= shift;
    }
    // RESCALE takes sums below 2^(30 - exponent).
    const std::int64_t largest = type == DType::i8 ? 255 : 32768;
    const std::int64_t sum = std::min(n * largest, std::int64_t{1} << 31);
    if (m.exponent > -2 && sum > std::int64_t{1} << std::max(30 - m.exponent, 0))
        l.unsupported("the ratio of its scales is too large");
    x = reduce(l, Op::reduce_sum, l.widen(x, in.zero_point), axes);
    l.set(drop_axes(l, l.requantize(x, type, m, 0, out.zero_point), axes));
}

// Sum of INT8 and INT16: scaled in floats.
void sum_by_floats(Lowering& l, ValueId x, const std::vector<bool>& axes, std::int64_t n) {
    const DType type = l.type(x), real = DType::fp32;
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    const float scale = in.scale / out.scale;
    const float bias = static_cast<float>(-in.zero_point) * scale * static_cast<float>(n);
    x = l.cast(reduce(l, Op::reduce_sum, l.cast(x, DType::i32), axes), real);
    x = l.mul(x, l.splat(x, real, static_cast<double>(scale)), real);
    x = l.add(Op::add, {x, l.splat(x, real, static_cast<double>(bias))}, real);
    x = l.requantize(l.round_half_away(x), type, unit_multiplier, 0, out.zero_point);
    l.set(drop_axes(l, x, axes));
}

// sum / n rounded towards zero, of a sum of 64 bits: a long division of the sums of the numbers' bytes.
ValueId mean_of_integers(Lowering& l, ValueId x, const std::vector<bool>& axes, std::int64_t n) {
    const DType i32 = DType::i32;
    if (n > std::int64_t{1} << 22) l.unsupported(fmt::format("a mean of {} integers is not supported", n));
    const auto number = [&](std::int64_t v) { return l.splat(x, i32, static_cast<double>(v)); };
    const auto binary = [&](Op op, ValueId a, ValueId b, Attributes attrs = {}) {
        return l.add(op, {a, b}, i32, attrs);
    };
    Attributes floored;
    floored.floored = true;
    ValueId quotient = number(0), rest = number(0);
    for (int byte = 3; byte >= 0; --byte) {
        ValueId digit = byte == 0 ? x : binary(Op::arithmetic_right_shift, x, number(8 * byte));
        if (byte < 3) digit = binary(Op::bitwise_and, digit, number(255));  // the first one has the sign
        ValueId sum = reduce(l, Op::reduce_sum, digit, axes);
        if (byte < 3) sum = binary(Op::add, sum, l.mul(rest, number(256), i32));
        const ValueId part = binary(Op::divide, sum, number(n), floored);
        rest = binary(Op::remainder, sum, number(n), floored);
        quotient = byte == 3 ? part : binary(Op::add, l.mul(quotient, number(256), i32), part);
    }
    const auto greater = [&](ValueId a, ValueId b) { return l.add(Op::greater, {a, b}, DType::boolean); };
    const ValueId up = l.add(Op::logical_and, {greater(number(0), quotient), greater(rest, number(0))}, DType::boolean);
    return binary(Op::add, quotient, l.cast(up, i32));
}

void lower_mean(Lowering& l) {
    if (reduces_nothing(l)) return;
    const DType type = reduced_type(l);
    ValueId x = l.value(0);
    const Shape shape = l.shape(x);
    const std::vector<bool> axes = reduced_axes(l, shape.size());
    const std::int64_t n = reduced_count(shape, axes);
    if (type == DType::i8 || type == DType::i16) return sum_by_multiplier(l, x, axes, n, true);
    if (type == DType::i32) return l.set(drop_axes(l, mean_of_integers(l, x, axes, n), axes));
    if (type != DType::fp32) l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    x = reduce(l, Op::reduce_sum, x, axes);
    const float inverse = 1.0f / static_cast<float>(n);
    if (n > 1) x = l.mul(x, l.splat(x, DType::fp32, static_cast<double>(inverse)), DType::fp32);
    l.set(drop_axes(l, x, axes));
}

void lower_sum(Lowering& l) {
    if (reduces_nothing(l)) return;
    const DType type = reduced_type(l);
    const ValueId x = l.value(0);
    const std::vector<bool> axes = reduced_axes(l, l.shape(x).size());
    const std::int64_t n = reduced_count(l.shape(x), axes);
    if (l.in(0).type == tflite::TensorType::UINT8) return sum_by_multiplier(l, x, axes, n, false);
    if (type == DType::i8 || type == DType::i16) return sum_by_floats(l, x, axes, n);
    l.set(drop_axes(l, reduce(l, type == DType::boolean ? Op::reduce_any : Op::reduce_sum, x, axes), axes));
}

void lower_extreme(Lowering& l) {
    if (reduces_nothing(l)) return;
    const bool largest = l.op().code == BuiltinOperator::REDUCE_MAX;
    const DType type = reduced_type(l);
    l.require_same_quant(l.in(0), l.out());
    const ValueId x = l.value(0);
    const std::vector<bool> axes = reduced_axes(l, l.shape(x).size());
    Op op = largest ? Op::reduce_max : Op::reduce_min;
    if (type == DType::boolean) op = largest ? Op::reduce_any : Op::reduce_all;
    l.set(drop_axes(l, reduce(l, op, x, axes), axes));
}

void lower_all_any(Lowering& l) {
    if (reduces_nothing(l)) return;
    if (reduced_type(l) != DType::boolean)
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    const ValueId x = l.value(0);
    const std::vector<bool> axes = reduced_axes(l, l.shape(x).size());
    const Op op = l.op().code == BuiltinOperator::REDUCE_ALL ? Op::reduce_all : Op::reduce_any;
    l.set(drop_axes(l, reduce(l, op, x, axes), axes));
}

// ---- REDUCE_PROD --------------------------------------------------------------------------------------------------

constexpr std::int64_t max_factors = 1024;

/// The reduced axes as the last dimension of two, in their order.
ValueId to_rows(Lowering& l, ValueId x, const std::vector<bool>& axes, std::int64_t n) {
    Attributes attrs;
    for (const bool reduced : {false, true}) {
        for (std::size_t d = 0; d < axes.size(); ++d) {
            if (axes[d] == reduced) attrs.perms.push_back(static_cast<std::int32_t>(d));
        }
    }
    const std::int64_t rows = element_count(l.shape(x)) / n;
    if (!std::is_sorted(attrs.perms.begin(), attrs.perms.end())) x = l.add(Op::transpose, {x}, l.type(x), attrs);
    return l.reshape(x, {rows, n});
}

ValueId last_column(Lowering& l, ValueId rows) { return l.slice_axis(rows, 1, l.shape(rows)[1] - 1, 1); }

/// Products that wrap at the type's width.
ValueId product_of_integers(Lowering& l, ValueId rows) {
    Attributes attrs;
    attrs.axis = 1;
    attrs.combiner = Combiner::multiply;
    return last_column(l, l.add(Op::cumulate, {rows}, l.type(rows), attrs));
}

/// TFLite scales after every factor, so that the scales of n of them make the output's: by 15 bits of a multiplier.
ValueId product_of_quantized(Lowering& l, ValueId rows) {
    const DType type = l.type(rows), i32 = DType::i32;
    const std::int64_t n = l.shape(rows)[1];
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    if (n > max_factors) l.unsupported(fmt::format("a product of {} quantized numbers is not supported", n));
    const double root = std::pow(static_cast<double>(out.scale), 1.0 / static_cast<double>(n));
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(in.scale) / root);
    const std::int32_t factor = m.multiplier < 0x7fff0000 ? (m.multiplier + (1 << 15)) >> 16 : 0x7fff;
    const int shift = 15 - m.exponent;
    if (shift < 1) l.unsupported("the ratio of its scales is too large");
    const ValueId numbers = l.widen(rows, in.zero_point);
    const ValueId scaled = l.mul(numbers, l.splat(numbers, i32, factor), i32);
    const auto times = [&](ValueId a, ValueId b) { return l.add(Op::mul, {a, b, l.scalar(DType::i8, shift)}, i32); };
    ValueId product = l.slice_axis(numbers, 1, 0, 1);
    for (std::int64_t k = 1; k < n; ++k) product = times(product, l.slice_axis(scaled, 1, k, 1));
    product = times(product, l.splat(product, i32, factor));
    const auto limit = [&](Op op, std::int64_t v) {
        return l.add(op, {product, l.splat(product, i32, static_cast<double>(v - out.zero_point))}, i32);
    };
    product = limit(Op::minimum, max_of(type));
    product = limit(Op::maximum, min_of(type));
    return l.requantize(product, type, unit_multiplier, 0, out.zero_point);
}

void lower_product(Lowering& l) {
    if (reduces_nothing(l)) return;
    const DType type = reduced_type(l);
    ValueId x = l.value(0);
    const Shape shape = l.shape(x);
    const std::vector<bool> axes = reduced_axes(l, shape.size());
    if (type == DType::fp32 || type == DType::boolean) {
        const Op op = type == DType::fp32 ? Op::reduce_product : Op::reduce_all;
        return l.set(drop_axes(l, reduce(l, op, x, axes), axes));
    }
    Shape kept = shape;
    for (std::size_t d = 0; d < axes.size(); ++d) {
        if (axes[d]) kept[d] = 1;
    }
    x = to_rows(l, x, axes, reduced_count(shape, axes));
    if (!l.in(0).scale.empty() && l.is_quantized(l.in(0))) {
        if (l.in(0).type == tflite::TensorType::UINT8) l.unsupported("quantized UINT8 is not supported");
        x = product_of_quantized(l, x);
    } else if (l.in(0).type == tflite::TensorType::UINT8) {
        const auto binary = [&](Op op, ValueId a, double b) {
            return l.add(op, {a, l.splat(a, DType::i32, b)}, DType::i32);
        };
        x = product_of_integers(l, binary(Op::add, l.cast(x, DType::i32), 128));
        x = l.cast(binary(Op::sub, binary(Op::bitwise_and, x, 255), 128), DType::i8);
    } else {
        x = product_of_integers(l, x);
    }
    l.set(drop_axes(l, l.reshape(x, kept), axes));
}

}  // namespace

OperatorRows reduce_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::MEAN, lower_mean, takes_axes},           {B::SUM, lower_sum, takes_axes},
        {B::REDUCE_MAX, lower_extreme, takes_axes},  {B::REDUCE_MIN, lower_extreme, takes_axes},
        {B::REDUCE_PROD, lower_product, takes_axes}, {B::REDUCE_ALL, lower_all_any, takes_axes},
        {B::REDUCE_ANY, lower_all_any, takes_axes},
    };
    return rows;
}

}  // namespace tosavk

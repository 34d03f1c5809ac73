// INT64 tensors are i32 values here. That is right while every number fits, so that the numbers that each may hold are
// followed from constants, shapes and inputs (which are checked when they are set) through the operators; what may need
// more than 32 bits has two words (wide.cpp), or is refused.
#include "frontends/tflite/lowering.hpp"
#include "frontends/tflite/wide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tosavk {

namespace {

using Code = tflite::BuiltinOperator;
using Type = tflite::TensorType;

constexpr IntRange narrow_range{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
constexpr IntRange anything = any_number;

bool fits(const IntRange& r) { return r.min >= narrow_range.min && r.max <= narrow_range.max; }
IntRange join(const IntRange& a, const IntRange& b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

/// Operands fit 32 bits, since each was checked when it was made: nothing here overflows.
IntRange product(const IntRange& a, const IntRange& b) {
    const std::array corners{a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
    const auto [least, greatest] = std::minmax_element(corners.begin(), corners.end());
    return {*least, *greatest};
}
IntRange up_to(std::int64_t magnitude) { return {-magnitude, magnitude}; }
std::int64_t magnitude(const IntRange& r) { return std::max(std::abs(r.min), std::abs(r.max)); }

/// Of a constant's numbers; nothing where one is none.
std::vector<std::int64_t> whole_numbers(const Value& value) {
    std::vector<std::int64_t> numbers;
    for (const double v : decode_reals(value.type, *value.data)) {
        if (!(std::abs(v) < static_cast<double>(anything.max))) return {};
        numbers.push_back(static_cast<std::int64_t>(v));
    }
    return numbers;
}

/// What factors of a constant may make, some or all of them.
IntRange product_of_constant(const Value& value) {
    double most = 1;
    for (const std::int64_t v : whole_numbers(value)) most *= std::max<double>(std::abs(static_cast<double>(v)), 1);
    return most <= static_cast<double>(narrow_range.max) ? up_to(static_cast<std::int64_t>(most)) : anything;
}

IntRange times(const IntRange& r, std::int64_t count) {
    return product(r, {0, std::clamp<std::int64_t>(count, 1, narrow_range.max)});
}

}  // namespace

IntRange Lowering::range_of(const TfliteTensor& tensor) const {
    const ValueId id = values_[tensor.index];
    if (id != no_id && graph_value(id).is_constant() && type(id) != DType::boolean) {
        const std::vector<std::int64_t> values = whole_numbers(graph_value(id));
        if (values.empty()) return anything;
        const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
        return {*least + stored_bias(tensor), *greatest + stored_bias(tensor)};
    }
    if (id == no_id && tensor.is_constant && tensor.type == Type::INT64 && !tensor.data.empty()) {
        const std::vector<std::int64_t> values = decode_ints(DType::i48, tensor.data);
        if (values.empty()) return anything;  // less than one number
        const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
        return {std::max(*least, anything.min), std::min(*greatest, anything.max)};
    }
    const auto known = ranges_.find(tensor.index);
    if (known != ranges_.end()) return known->second;
    switch (tensor.type) {
        case Type::BOOL: return {0, 1};
        case Type::UINT8: return {0, 255};
        case Type::INT8:
        case Type::INT16:
        case Type::INT32:
        case Type::INT64: {
            const DType held = dtype(tensor);
            return {min_of(held), max_of(held)};
        }
        default: return anything;
    }
}

std::int64_t Lowering::reduced_count() const {
    const Shape from = shape(values_[in(0).index]);
    if (!has_input(1) || !constant(1)) return element_count(from);
    std::int64_t count = 1;
    for (const std::int64_t a : const_ints(1))  // one that is named twice counts twice
        count = std::min(count * from[axis(a, from.size())], narrow_range.max);
    return count;
}

std::int64_t Lowering::updates_of_a_place() const {
    const ValueId id = values_[in(1).index];
    const std::int64_t all = id == no_id ? 1 : element_count(shape(id));
    if (!constant(0) || in(0).shape.empty() || in(0).shape.back() < 1) return all;
    const std::vector<std::int64_t> indices = const_ints(0);
    const auto depth = static_cast<std::size_t>(in(0).shape.back());
    std::map<std::vector<std::int64_t>, std::int64_t> counts;
    std::int64_t most = 1;
    for (std::size_t k = 0; k + depth <= indices.size(); k += depth)
        most = std::max(most, ++counts[{indices.begin() + static_cast<std::ptrdiff_t>(k),
                                        indices.begin() + static_cast<std::ptrdiff_t>(k + depth)}]);
    return most;
}

IntRange Lowering::result_range() const {
    const auto of = [&](std::size_t k) {
        const IntRange r = range_of(in(k));
        return fits(r) ? r : anything;
    };
    const auto both = [&](auto&& f) {
        const IntRange a = of(0), b = of(1);
        return fits(a) && fits(b) ? f(a, b) : anything;
    };
    // What 32 bits may not hold stays so: the sum itself is computed before it is limited.
    const auto activated = [&](const IntRange& r) {
        using A = tflite::ActivationFunctionType;
        const A activation = wide::fused_activation(*this);
        if (!fits(r) || activation == A::NONE) return r;
        const std::int64_t low = activation == A::RELU_N1_TO_1 ? -1 : 0;
        const std::int64_t high = activation == A::RELU6 ? 6 : activation == A::RELU_N1_TO_1 ? 1 : narrow_range.max;
        return IntRange{std::clamp(r.min, low, high), std::clamp(r.max, low, high)};
    };
    switch (op_->code) {
        case Code::ADD: return activated(both([](auto& a, auto& b) { return IntRange{a.min + b.min, a.max + b.max}; }));
        case Code::SUB: return activated(both([](auto& a, auto& b) { return IntRange{a.min - b.max, a.max - b.min}; }));
        case Code::MUL: return activated(both(product));
        case Code::MAXIMUM: {
            const IntRange a = range_of(in(0)), b = range_of(in(1));
            return {std::max(a.min, b.min), std::max(a.max, b.max)};
        }
        case Code::MINIMUM: {
            const IntRange a = range_of(in(0)), b = range_of(in(1));
            return {std::min(a.min, b.min), std::min(a.max, b.max)};
        }
        case Code::DIV:
        case Code::FLOOR_DIV:  // by -1 the least number becomes larger than any
            return both([](auto& a, auto& b) { return b.min > 0 ? join(a, {0, 0}) : up_to(magnitude(a) + 1); });
        case Code::FLOOR_MOD:  // it has the divisor's sign, and is nearer to 0
            return both([](auto&, auto& b) {
                return IntRange{std::min<std::int64_t>(b.min + 1, 0), std::max<std::int64_t>(b.max - 1, 0)};
            });
        case Code::NEG: return fits(of(0)) ? IntRange{-of(0).max, -of(0).min} : anything;
        case Code::ABS: return fits(of(0)) ? IntRange{0, magnitude(of(0))} : anything;
        case Code::SIGN: return {-1, 1};
        case Code::SUM:
        case Code::CUMSUM: {
            const ValueId id = values_[in(0).index];
            return id == no_id || !fits(of(0)) ? anything : times(of(0), reduced_count());
        }
        case Code::REDUCE_PROD: {
            const ValueId id = values_[in(0).index];
            if (is_empty(id)) return {1, 1};
            if (id != no_id && graph_value(id).is_constant()) return product_of_constant(graph_value(id));
            const double factors = id == no_id ? 1 : static_cast<double>(reduced_count());
            const double most = std::pow(std::max<double>(static_cast<double>(magnitude(of(0))), 1), factors);
            return most <= static_cast<double>(narrow_range.max) ? up_to(static_cast<std::int64_t>(most)) : anything;
        }
        case Code::SCATTER_ND: return fits(of(1)) ? times(of(1), updates_of_a_place()) : anything;
        case Code::SEGMENT_SUM:
        case Code::UNSORTED_SEGMENT_SUM:
        case Code::ADD_N: {
            std::int64_t count = 1;
            for (std::size_t k = 0; k < input_count(); ++k) {
                const ValueId id = has_input(k) ? values_[in(k).index] : no_id;
                if (id != no_id) count += element_count(shape(id));
            }
            IntRange all{0, 0};
            for (std::size_t k = 0; k < input_count(); ++k) all = join(all, of(k));
            return fits(all) ? times(all, count) : anything;
        }
        // Places in a tensor, and sizes.
        case Code::ARG_MAX:
        case Code::ARG_MIN: {
            const ValueId id = values_[in(0).index];
            if (id == no_id) return {0, narrow_range.max};
            std::int64_t most = 1;  // along an axis that may be any of them
            for (const std::int64_t size : shape(id)) most = std::max(most, size);
            return {0, most - 1};
        }
        case Code::SHAPE:
        case Code::RANK:
        case Code::WHERE: return {0, narrow_range.max};
        case Code::MEAN:
        case Code::CAST: return of(0);
        // What is written to a variable, or made in a region, was followed there.
        case Code::READ_VARIABLE:
        case Code::IF: return narrow_range;
        // What only passes numbers on; zeros come by padding and by WHERE they are not.
        case Code::REDUCE_MAX:
        case Code::REDUCE_MIN:
        case Code::UNSORTED_SEGMENT_MAX:
        case Code::UNSORTED_SEGMENT_MIN:
        case Code::TOPK_V2:
        case Code::ONE_HOT:
        case Code::FILL:
        case Code::RANGE:
        case Code::ZEROS_LIKE:
        case Code::SELECT:
        case Code::SELECT_V2:
        case Code::SPARSE_TO_DENSE:
        case Code::BROADCAST_TO:
        case Code::BROADCAST_ARGS:
        case Code::DYNAMIC_UPDATE_SLICE:
        case Code::EMBEDDING_LOOKUP: break;
        default:
            if (!row_->is(moves_data)) return anything;
    }
    IntRange all{0, 0};
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (has_input(k) && in(k).type == Type::INT64) all = join(all, range_of(in(k)));
    }
    return all;
}

bool Lowering::is_wide(std::size_t k) const { return in(k).type == Type::INT64 && !fits(range_of(in(k))); }

bool Lowering::follow_ranges() {
    const bool wide = std::any_of(op_->outputs.begin(), op_->outputs.end(), [&](std::int32_t k) {
        return graph_.tensors[static_cast<std::size_t>(k)].type == Type::INT64;
    });
    if (!wide || op_->code == Code::WHILE || op_->code == Code::CALL_ONCE || op_->code == Code::CALL ||
        op_->code == Code::STABLEHLO_COMPOSITE)
        return false;  // a body's own operators are followed
    const IntRange range = result_range();
    for (std::size_t k = 0; k < output_count(); ++k) ranges_[out(k).index] = range;
    return !fits(range);
}

}  // namespace tosavk

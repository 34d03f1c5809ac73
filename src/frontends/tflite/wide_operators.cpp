// Operators on INT64 numbers that 32 bits may not hold, or that make them. Those that wide.hpp has no arithmetic for
// are refused.
#include "frontends/tflite/elementwise.hpp"
#include "frontends/tflite/wide.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tosavk {

namespace {

using Code = tflite::BuiltinOperator;
using Type = tflite::TensorType;

/// The operands that hold what is moved; the others say where to.
std::vector<std::size_t> moved_operands(const Lowering& l) {
    switch (l.op().code) {
        case Code::RESHAPE:
        case Code::SQUEEZE:
        case Code::EXPAND_DIMS:
        case Code::TRANSPOSE:
        case Code::SLICE:
        case Code::STRIDED_SLICE:
        case Code::GATHER:
        case Code::GATHER_ND:
        case Code::TILE:
        case Code::BROADCAST_TO:
        case Code::PAD:
        case Code::REVERSE_V2:
        case Code::UNPACK:
        case Code::SPLIT_V: return {0};
        case Code::SPLIT:
        case Code::FILL: return {1};
        case Code::PADV2: return {0, 2};
        case Code::DYNAMIC_UPDATE_SLICE: return {0, 1};
        case Code::SELECT:
        case Code::SELECT_V2: return {1, 2};
        case Code::CONCATENATION:
        case Code::PACK: {
            std::vector<std::size_t> all(l.input_count());
            std::iota(all.begin(), all.end(), std::size_t{0});
            return all;
        }
        default: return {};
    }
}

/// Places outside of a tensor mean nothing, or the nearest in it, so that a wide one may be the nearest that 32 bits
/// hold; and where only the shape is asked for, any number will do.
bool is_place(Code code, std::size_t k) {
    switch (code) {
        case Code::SHAPE:
        case Code::RANK: return k == 0;
        case Code::GATHER:
        case Code::GATHER_ND:
        case Code::SLICE: return k == 1;
        case Code::STRIDED_SLICE: return k == 1 || k == 2;
        case Code::DYNAMIC_UPDATE_SLICE: return k == 2;
        default: return false;
    }
}

bool is_comparison(Code code) {
    return code == Code::EQUAL || code == Code::NOT_EQUAL || code == Code::LESS || code == Code::LESS_EQUAL ||
           code == Code::GREATER || code == Code::GREATER_EQUAL;
}

wide::Words activated(Lowering& l, wide::Words x) {
    using A = tflite::ActivationFunctionType;
    const A activation = wide::fused_activation(l);
    if (activation == A::NONE) return x;
    if (activation != A::RELU && activation != A::RELU6 && activation != A::RELU_N1_TO_1)
        l.unsupported(fmt::format("fused activation {} is not supported", EnumNameActivationFunctionType(activation)));
    const wide::Words low = wide::number(l, x.low, activation == A::RELU_N1_TO_1 ? -1 : 0);
    x = wide::chosen(l, wide::below(l, x, low), low, x);
    if (activation == A::RELU) return x;
    const wide::Words high = wide::number(l, x.low, activation == A::RELU6 ? 6 : 1);
    return wide::chosen(l, wide::below(l, high, x), high, x);
}

}  // namespace

tflite::ActivationFunctionType wide::fused_activation(const Lowering& l) {
    if (l.op().code == Code::ADD) {
        const auto* o = l.options<tflite::AddOptions>();
        return o ? o->fused_activation_function() : tflite::ActivationFunctionType::NONE;
    }
    if (l.op().code == Code::SUB) {
        const auto* o = l.options<tflite::SubOptions>();
        return o ? o->fused_activation_function() : tflite::ActivationFunctionType::NONE;
    }
    const auto* o = l.options<tflite::MulOptions>();
    return o ? o->fused_activation_function() : tflite::ActivationFunctionType::NONE;
}

std::array<ValueId, 2> Lowering::words(std::size_t k) {
    const TfliteTensor& tensor = in(k);
    if (const auto known = wide_.find(tensor.index); known != wide_.end()) return known->second;
    if (tensor.is_constant && is_wide(k)) {
        std::array<std::vector<std::int64_t>, 2> parts;
        for (const std::int64_t v : decode_ints(DType::i48, tensor.data)) {
            parts[0].push_back(static_cast<std::int32_t>(v));
            parts[1].push_back(static_cast<std::int32_t>(v >> 32));
        }
        return {constant_ints("low", DType::i32, tensor.shape, parts[0]),
                constant_ints("high", DType::i32, tensor.shape, parts[1])};
    }
    const wide::Words both = wide::extended(*this, cast(value(k), DType::i32));
    return {both.low, both.high};
}

void Lowering::set_words(std::array<ValueId, 2> both, std::size_t k) {
    const TfliteTensor& tensor = out(k);
    check_usable(tensor);
    if (tensor.type != Type::INT64)
        unsupported(fmt::format("output type {} is not supported for INT64", name_of(tensor.type)));
    const auto range = ranges_.find(tensor.index);
    if (range != ranges_.end() && range->second.min >= min_of(DType::i32) && range->second.max <= max_of(DType::i32))
        return set(both[0], k);
    if (tensor.is_variable) unsupported(fmt::format("{} may need more than 32 bits", tensor.title()));
    wide_[tensor.index] = both;
    values_[tensor.index] = no_id;
    set_.at(k) = true;
}

bool Lowering::reads_wide() const {
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (has_input(k) && is_wide(k)) return true;
    }
    return false;
}

void Lowering::lower_wide_parts(std::span<const std::size_t> operands) {
    std::array<std::map<std::size_t, ValueId>, 2> parts;
    for (const std::size_t k : operands) {
        if (!has_input(k) || in(k).type != Type::INT64) continue;
        const auto both = words(k);
        for (std::size_t part = 0; part < 2; ++part) parts[part][in(k).index] = both[part];
    }
    const std::vector<ValueId> before = values_;
    const auto wide_before = wide_;
    std::vector<std::array<ValueId, 2>> results(output_count());
    const auto restore = [&] {
        values_ = before;
        wide_ = wide_before;
    };
    try {
        for (std::size_t part = 0; part < 2; ++part) {
            for (const auto& [index, id] : parts[part]) values_[index] = id;
            row_->lower(*this);
            for (std::size_t k = 0; k < output_count(); ++k) results[k][part] = values_[out(k).index];
            restore();
        }
    } catch (...) {
        restore();
        throw;
    }
    for (std::size_t k = 0; k < output_count(); ++k) {
        if (is_empty(results[k][0])) set(results[k][0], k);
        else set_words(results[k], k);
    }
}

void Lowering::lower_wide_cast() {
    const Type from = in(0).type, to = out().type;
    if (to == Type::INT64) {
        if (from != Type::FLOAT32 && from != Type::FLOAT16) elementwise::refuse_types(*this);
        const wide::Words made = wide::of_float(*this, cast(value(0), DType::fp32));
        return set_words({made.low, made.high});
    }
    const auto both = words(0);
    const wide::Words x{both[0], both[1]};
    const DType type = dtype(out());
    if (to == Type::BOOL)
        return set(add(Op::logical_not, {wide::equal(*this, x, wide::number(*this, x.low, 0))}, type));
    if (is_float(type)) return set(cast(wide::to_float(*this, x), type));
    ValueId low = x.low;
    if (to == Type::UINT8) low = add(Op::sub, {low, splat(low, DType::i32, 128)}, DType::i32);
    set(cast(low, type));
}

void Lowering::lower_wide_sum() {
    const auto both = words(0);
    wide::Words x{both[0], both[1]};
    const auto* options = this->options<tflite::ReducerOptions>();
    Shape kept = shape(x.low), left;
    std::vector<bool> axes(kept.size(), false);
    for (const std::int64_t a : const_ints(1)) axes[axis(a, kept.size())] = true;
    for (std::size_t d = 0; d < axes.size(); ++d) {
        if (!axes[d]) {
            left.push_back(kept[d]);
            continue;
        }
        if (kept[d] > wide::most_added)
            unsupported(fmt::format("a sum of {} numbers of 64 bits is not supported", kept[d]));
        x = wide::sum_along(*this, x, d);
    }
    if (!options || !options->keep_dims()) x = {reshape(x.low, left), reshape(x.high, left)};
    set_words({x.low, x.high});
}

void Lowering::lower_wide_operator() {
    const Code code = op_->code;
    if (code == Code::CAST) return lower_wide_cast();
    if (code == Code::SUM) return lower_wide_sum();
    if (in(0).type != Type::INT64) elementwise::refuse_types(*this);
    const auto first = words(0);
    wide::Words a{first[0], first[1]};
    if (code == Code::NEG) {
        a = wide::difference(*this, wide::number(*this, a.low, 0), a);
        return set_words({a.low, a.high});
    }
    if (in(1).type != Type::INT64) elementwise::refuse_types(*this);
    const auto second = words(1);
    wide::Words b{second[0], second[1]};
    wide::match(*this, a, b);
    if (is_comparison(code)) {
        const bool swapped = code == Code::GREATER || code == Code::LESS_EQUAL;
        const bool negated = code == Code::NOT_EQUAL || code == Code::LESS_EQUAL || code == Code::GREATER_EQUAL;
        const bool equality = code == Code::EQUAL || code == Code::NOT_EQUAL;
        const ValueId holds =
            equality ? wide::equal(*this, a, b) : wide::below(*this, swapped ? b : a, swapped ? a : b);
        return set(negated ? add(Op::logical_not, {holds}, DType::boolean) : holds);
    }
    wide::Words made{};
    switch (code) {
        case Code::ADD: made = activated(*this, wide::sum(*this, a, b)); break;
        case Code::SUB: made = activated(*this, wide::difference(*this, a, b)); break;
        case Code::MUL: made = activated(*this, wide::product(*this, a, b)); break;
        case Code::MAXIMUM: made = wide::chosen(*this, wide::below(*this, a, b), b, a); break;
        default: made = wide::chosen(*this, wide::below(*this, a, b), a, b); break;
    }
    set_words({made.low, made.high});
}

bool Lowering::lower_wide(bool result_is_wide) {
    if (!result_is_wide && !reads_wide()) return false;
    for (std::size_t k = 0; k < input_count(); ++k) {
        const ValueId id = has_input(k) ? values_[in(k).index] : no_id;
        if (has_input(k) && (is_empty(id) || (id == no_id && in(k).is_empty()))) return false;
    }
    first_value_ = builder_.graph().values.size();
    const Code code = op_->code;
    const std::vector<std::size_t> moved = moved_operands(*this);
    for (const std::size_t m : moved) {
        for (std::size_t k = 0; k < input_count(); ++k) {
            if (has_input(k) && has_input(m) && is_place(code, k) && is_wide(k) && in(k).index == in(m).index)
                unsupported(
                    fmt::format("{} is moved and says where to, and may need more than 32 bits", in(k).title()));
        }
    }
    // Wide places become narrow ones for this operator alone.
    const std::vector<ValueId> before = values_;
    const auto wide_before = wide_;
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (!has_input(k) || !is_place(code, k) || !is_wide(k)) continue;
        const auto both = words(k);
        values_[in(k).index] = wide::saturated(*this, {both[0], both[1]});
        wide_.erase(in(k).index);
    }
    const bool moves =
        std::any_of(moved.begin(), moved.end(), [&](std::size_t k) { return has_input(k) && is_wide(k); });
    if (moves) {
        lower_wide_parts(moved);
    } else if (code == Code::ADD || code == Code::SUB || code == Code::MUL || code == Code::NEG || code == Code::CAST ||
               code == Code::SUM || code == Code::MAXIMUM || code == Code::MINIMUM || is_comparison(code)) {
        lower_wide_operator();
    } else {
        if (result_is_wide && !row_->is(has_regions)) unsupported("its INT64 result may need more than 32 bits");
        row_->lower(*this);
    }
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (!has_input(k) || !is_place(code, k)) continue;
        const std::size_t index = in(k).index;
        values_[index] = before[index];
        if (const auto known = wide_before.find(index); known != wide_before.end()) wide_.insert(*known);
    }
    return true;
}

}  // namespace tosavk

// Helpers of the TFLite lowering: operands, quantization, and the nodes that many operators share.
#include "frontends/tflite/lowering.hpp"

#include "frontends/tflite/sparse.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using T = tflite::TensorType;

/// Several elements of so many bits a byte, the first in the lowest ones, as int8.
Bytes unpack(const Bytes& packed, std::size_t count, std::size_t bits) {
    Bytes out(count);
    const std::size_t per_byte = 8 / bits;
    const int range = 1 << bits;
    for (std::size_t i = 0; i < count; ++i) {
        const int v = std::to_integer<int>(packed[i / per_byte]) >> (i % per_byte * bits) & (range - 1);
        out[i] = static_cast<std::byte>(v < range / 2 ? v : v - range);
    }
    return out;
}

}  // namespace

// ---- the operator in hand -----------------------------------------------------------------------------------------

std::string Lowering::title() const {
    if (!op_) return fmt::format("TFLite {}", end_);
    return fmt::format("TFLite operator {} (node {}, '{}')", op_->name, op_index_, op_name_);
}

const TfliteTensor& Lowering::in_hand(std::int32_t index) const {
    const auto as_float = floats_.find(static_cast<std::size_t>(index));
    return as_float != floats_.end() ? as_float->second : graph_.tensors[static_cast<std::size_t>(index)];
}

const TfliteTensor& Lowering::in(std::size_t k) const {
    if (!has_input(k)) fail(fmt::format("input {} is missing", k));
    return in_hand(op_->inputs[k]);
}

const TfliteTensor& Lowering::out(std::size_t k) const {
    if (k >= op_->outputs.size()) fail(fmt::format("output {} is missing", k));
    return in_hand(op_->outputs[k]);
}

void Lowering::check_usable(const TfliteTensor& tensor) const {
    if (!tensor.unsupported.empty()) unsupported(fmt::format("{}: {}", tensor.title(), tensor.unsupported));
}

void Lowering::check_quantized(const TfliteTensor& tensor) const {
    check_usable(tensor);
    if (tensor.scale.empty()) fail(fmt::format("{} has no quantization", tensor.title()));
    if (!tensor.bad_quantization.empty()) fail(fmt::format("{} {}", tensor.title(), tensor.bad_quantization));
}

ValueId Lowering::value(std::size_t k) {
    const TfliteTensor& tensor = in(k);
    if (values_[tensor.index] != no_id) return values_[tensor.index];
    check_usable(tensor);
    if (wide_.contains(tensor.index))
        unsupported(fmt::format("the INT64 numbers of {} may need more than 32 bits", tensor.title()));
    if (around_) return capture(k);
    if (refused_[tensor.index]) {
        dtype(tensor);
        fail(fmt::format("reads {}, and what makes it is refused", tensor.title()));
    }
    if (tensor.type == tflite::TensorType::COMPLEX64) dtype(tensor);
    if (tensor.is_variable) return read_state(tensor);
    if (!tensor.is_constant && !tensor.is_empty()) fail(fmt::format("reads {} before it is computed", tensor.title()));
    return constant_value(tensor);
}

ValueId Lowering::constant_value(const TfliteTensor& tensor) {
    const DType type = dtype(tensor);
    if (tensor.is_empty()) return values_[tensor.index] = empty(type, tensor.shape);
    const std::string name = tensor.name.empty() ? fmt::format("constant_{}", tensor.index) : tensor.name;
    Bytes data(tensor.data.begin(), tensor.data.end());
    if (tensor.sparsity) {
        if (packed_bits(tensor.type) != 0 || tensor.type == tflite::TensorType::INT64)
            unsupported(fmt::format("{} is sparse and of type {}", tensor.title(), name_of(tensor.type)));
        std::string error;
        data = densify(tensor, element_size(tensor.type), error);
        if (!error.empty()) fail(fmt::format("{} is sparse, but {}", tensor.title(), error));
    }
    if (const std::size_t bits = packed_bits(tensor.type); bits != 0)
        data = unpack(data, static_cast<std::size_t>(element_count(tensor.shape)), bits);
    if (tensor.type == tflite::TensorType::UINT8) {
        for (std::byte& b : data) b ^= std::byte{0x80};
    }
    if (tensor.type == tflite::TensorType::INT64) data = narrow_constant(tensor);
    const ValueId id = builder_.constant(name, type, tensor.shape, std::move(data));
    note_quantization(builder_.value(id), tensor);
    values_[tensor.index] = id;
    return id;
}

Bytes Lowering::narrow_constant(const TfliteTensor& tensor) const {
    const std::vector<std::int64_t> values = decode_ints(DType::i48, tensor.data);  // both are int64 in memory
    for (const std::int64_t v : values) {
        if (v < min_of(DType::i32) || v > max_of(DType::i32))
            unsupported(fmt::format("the value {} of {} needs more than 32 bits", v, tensor.title()));
    }
    return encode_ints(DType::i32, values);
}

void Lowering::note_quantization(Value& value, const TfliteTensor& tensor) const {
    if (tensor.scale.size() != 1) return;
    value.scale = tensor.scale[0];
    value.zero_point = (tensor.zero_point.empty() ? 0 : tensor.zero_point[0]) - stored_bias(tensor);
}

void Lowering::set(ValueId id, std::size_t k) {
    const TfliteTensor& tensor = out(k);
    check_usable(tensor);
    if (type(id) != dtype(tensor)) {
        unsupported(fmt::format("output type {} is not supported for input type {}", name_of(tensor.type),
                                name_of(in(0).type)));
    }
    values_[tensor.index] = id;
    wide_.erase(tensor.index);
    set_.at(k) = true;
    if (tensor.is_variable) write_state(tensor, id);
    if (is_empty(id)) return;
    Value& value = builder_.value(id);
    if (id >= first_value_ && !tensor.name.empty()) value.name = tensor.name;
    if (value.scale == 0) note_quantization(value, tensor);
}

bool Lowering::constant(std::size_t k) const {
    const TfliteTensor& tensor = in(k);
    const ValueId id = values_[tensor.index];
    return id != no_id ? graph_value(id).is_constant() : tensor.is_constant;
}

std::vector<std::int64_t> Lowering::const_ints(std::size_t k) const {
    const TfliteTensor& tensor = in(k);
    check_usable(tensor);
    const ValueId id = values_[tensor.index];
    if (id == no_id ? tensor.is_empty() : is_empty(id)) return {};
    if (id != no_id && graph_value(id).is_constant() && is_integer(type(id))) {
        std::vector<std::int64_t> values = decode_ints(type(id), *graph_value(id).data);
        for (std::int64_t& v : values) v += stored_bias(tensor);
        return values;
    }
    if (refused_[tensor.index])
        unsupported(fmt::format("{} must be a constant, and what makes it is refused", tensor.title()));
    if (!tensor.is_constant || tensor.sparsity || id != no_id)
        unsupported(fmt::format("{} must be a constant that is not sparse", tensor.title()));
    if (tensor.type == tflite::TensorType::INT64)
        return decode_ints(DType::i48, tensor.data);  // both are int64 in memory
    if (packed_bits(tensor.type) != 0)
        fail(fmt::format("{} of type {} can only be a weight", tensor.title(), name_of(tensor.type)));
    const DType type = dtype(tensor);
    if (!is_integer(type)) fail(fmt::format("{} must hold integers", tensor.title()));
    std::vector<std::int64_t> values = decode_ints(type, tensor.data);
    if (tensor.type == tflite::TensorType::UINT8) {
        for (std::int64_t& v : values) v &= 255;
    }
    return values;
}

// ---- types and quantization ---------------------------------------------------------------------------------------

DType Lowering::dtype(const TfliteTensor& tensor) const {
    switch (tensor.type) {
        case T::FLOAT32: return DType::fp32;
        case T::FLOAT16: return DType::fp16;
        case T::BFLOAT16: return DType::bf16;
        case T::INT4:  // constants are widened, because TOSA's i4 has no -8
        case T::INT2:
            if (tensor.is_constant) return DType::i8;
            // Computed ones are i8 values too.
            if (tensor.type == T::INT4 && (values_[tensor.index] != no_id || (row_ && row_->is(makes_int4))))
                return DType::i8;
            unsupported(fmt::format("{} of type {} is not a constant", tensor.title(), name_of(tensor.type)));
        case T::INT8:
        case T::UINT8: return DType::i8;  // less 128
        case T::INT16: return DType::i16;
        case T::INT32:
        case T::INT64: return DType::i32;  // what may not fit is refused
        case T::BOOL: return DType::boolean;
        case T::COMPLEX64:
            if (complex_as_part_) return DType::fp32;
            [[fallthrough]];
        default: unsupported(fmt::format("type {} of {} is not supported", name_of(tensor.type), tensor.title()));
    }
}

bool Lowering::is_quantized(const TfliteTensor& tensor) const {
    return tensor.type == T::INT8 || tensor.type == T::UINT8 || tensor.type == T::INT16 ||
           packed_bits(tensor.type) != 0;
}

Quant Lowering::quant(const TfliteTensor& tensor) const {
    check_quantized(tensor);
    if (tensor.scale.size() != 1) unsupported(fmt::format("{} is quantized per channel", tensor.title()));
    const float scale = tensor.scale[0];
    if (!(scale > 0) || !std::isfinite(scale)) fail(fmt::format("{} has scale {}", tensor.title(), scale));
    const std::int64_t zero_point = tensor.zero_point.empty() ? 0 : tensor.zero_point[0], bias = stored_bias(tensor);
    const DType type = dtype(tensor);
    if (!is_integer(type)) fail(fmt::format("{} of type {} cannot be quantized", tensor.title(), name_of(tensor.type)));
    if (zero_point < min_of(type) + bias || zero_point > max_of(type) + bias) {
        fail(fmt::format("{} has zero point {}, outside its type", tensor.title(), zero_point));
    }
    if (type != DType::i8 && zero_point != 0) {
        unsupported(fmt::format("{} of type {} has zero point {}, only 0 is supported", tensor.title(),
                                name_of(tensor.type), zero_point));
    }
    return {scale, static_cast<std::int32_t>(zero_point - bias)};
}

std::vector<float> Lowering::channel_scales(const TfliteTensor& tensor, std::int32_t axis,
                                            std::int64_t channels) const {
    check_quantized(tensor);
    if (tensor.scale.size() > 1 &&
        (tensor.axis != axis || static_cast<std::int64_t>(tensor.scale.size()) != channels)) {
        unsupported(fmt::format("{} is quantized along dimension {}, expected {}", tensor.title(), tensor.axis, axis));
    }
    // A scale of 0 is allowed here, as in TFLite: the channel is dead.
    for (const float s : tensor.scale) {
        if (!(s >= 0) || !std::isfinite(s)) fail(fmt::format("{} has scale {}", tensor.title(), s));
    }
    for (const std::int64_t z : tensor.zero_point) {
        if (z != 0) unsupported(fmt::format("weights {} have zero point {}, only 0 is supported", tensor.title(), z));
    }
    return {tensor.scale.begin(), tensor.scale.end()};
}

void Lowering::require_same_quant(const TfliteTensor& a, const TfliteTensor& b) const {
    if (!is_quantized(a) || (a.scale.empty() && b.scale.empty())) return;
    const Quant qa = quant(a), qb = quant(b);
    if (qa.zero_point != qb.zero_point || std::abs(qa.scale - qb.scale) > 1e-6f * std::max(qa.scale, qb.scale)) {
        unsupported(fmt::format("{} and {} must have the same quantization", a.title(), b.title()));
    }
}

// ---- values and nodes ---------------------------------------------------------------------------------------------

ValueId Lowering::float_value(std::size_t k) {
    const ValueId id = value(k);
    if (type(id) == DType::fp32) return id;
    const TfliteTensor& tensor = in(k);
    const Value& v = graph_value(id);
    if (!v.is_constant() || (!is_small_float(type(id)) && !is_quantized(tensor))) {
        unsupported(fmt::format("type {} of {} is not supported here", name_of(tensor.type), tensor.title()));
    }
    const std::vector<double> stored = decode_reals(v.type, *v.data);
    std::vector<float> values(stored.begin(), stored.end());
    if (is_quantized(tensor)) {
        check_quantized(tensor);
        const Shape& dims = v.shape;
        std::int64_t inner = 1;
        for (std::size_t d = static_cast<std::size_t>(tensor.axis) + 1; tensor.scale.size() > 1 && d < dims.size(); ++d)
            inner *= dims[d];
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t c =
                tensor.scale.size() == 1 ? 0 : i / static_cast<std::size_t>(inner) % tensor.scale.size();
            const std::int64_t zp =
                (tensor.zero_point.empty() ? 0 : tensor.zero_point[tensor.zero_point.size() == 1 ? 0 : c]) -
                stored_bias(tensor);
            values[i] =
                static_cast<float>(static_cast<double>(tensor.scale[c]) * (stored[i] - static_cast<double>(zp)));
        }
    }
    return constant_floats(tensor.name + "/fp32", v.shape, values);
}

Scaling Lowering::scaling(const QuantizedMultiplier& m) const { return scaling(std::span(&m, 1)); }

Scaling Lowering::scaling(std::span<const QuantizedMultiplier> m) const {
    Scaling s;
    s.per_channel = m.size() > 1;
    for (const QuantizedMultiplier& x : m) {
        const int shift = 31 - x.exponent;
        if (x.multiplier < 0 || shift < 2 || shift > 62) unsupported("the ratio of its scales is too large");
        // Up to 31 bits both roundings are the same.
        if (shift > 31) s.rounding = rounding();
        s.multiplier.push_back(x.multiplier);
        s.shift.push_back(shift);
    }
    return s;
}

namespace {

bool all_equal(std::span<const QuantizedMultiplier> m) {
    return std::all_of(m.begin(), m.end(), [&](const auto& x) { return x == m[0]; });
}

}  // namespace

ValueId Lowering::requantize(ValueId id, DType to, const QuantizedMultiplier& m, std::int64_t input_zp,
                             std::int64_t output_zp) {
    Scaling s = scaling(m);
    // RESCALE takes values below 2^(shift - 1); what comes from int8 and int16 is known to be small.
    const DType from = type(id);
    const std::int64_t largest = from == DType::i8 ? 255 : from == DType::i16 ? 32768 : 0;
    if (largest >= std::int64_t{1} << (s.shift[0] - 1)) unsupported("the ratio of its scales is too large");
    s.input_zp = input_zp;
    s.output_zp = output_zp;
    return rescale(id, to, s);
}

ValueId Lowering::requantize_channels(ValueId id, DType to, std::span<const QuantizedMultiplier> m,
                                      std::int64_t output_zp) {
    if (all_equal(m)) return requantize(id, to, m[0], 0, output_zp);
    Scaling s = scaling(m);
    s.output_zp = output_zp;
    return rescale(id, to, s);
}

ValueId Lowering::requantize_sums(ValueId id, DType to, std::span<const QuantizedMultiplier> m) {
    Scaling s;
    s.scale32 = false;
    if (all_equal(m)) m = m.first(1);
    s.per_channel = m.size() > 1;
    for (const QuantizedMultiplier& x : m) {
        const int shift = 15 - x.exponent;
        if (x.multiplier < 0 || shift < 2 || shift > 62) unsupported("the ratio of its scales is too large");
        s.multiplier.push_back(x.multiplier < 0x7fff0000 ? (x.multiplier + (1 << 15)) >> 16 : 0x7fff);
        s.shift.push_back(shift);
    }
    return rescale(id, to, s);
}

ValueId Lowering::shift_left(ValueId id, std::int64_t input_zp, int bits) {
    if (type(id) == DType::i8) return requantize(id, DType::i32, {1 << 30, 1 + bits}, input_zp, 0);
    const ValueId wide = cast(id, DType::i32);
    return bits == 0 ? wide : add(Op::logical_left_shift, {wide, splat(wide, DType::i32, bits)}, DType::i32);
}

ValueId Lowering::round_half_away(ValueId id) {
    const DType real = DType::fp32;
    // The largest float below one half keeps 0.49999997 from rounding up.
    constexpr double almost_half = 0.5 - 1.0 / (1 << 25), far = 1 << 20;
    const ValueId x = clamp(id, -far, far);
    const ValueId size =
        add(Op::floor, {add(Op::add, {add(Op::abs, {x}, real), splat(x, real, almost_half)}, real)}, real);
    const ValueId positive = add(Op::greater_equal, {x, splat(x, real, 0)}, DType::boolean);
    const ValueId negated = add(Op::negate, {size, scalar(real, 0), scalar(real, 0)}, real);
    return cast(add(Op::select, {positive, size, negated}, real), DType::i32);
}

ValueId Lowering::activate_int(ValueId id, tflite::ActivationFunctionType activation, const TfliteTensor& output) {
    using A = tflite::ActivationFunctionType;
    if (activation == A::NONE) return id;
    if (activation != A::RELU && activation != A::RELU6 && activation != A::RELU_N1_TO_1) {
        unsupported(
            fmt::format("fused activation {} is not supported", tflite::EnumNameActivationFunctionType(activation)));
    }
    const DType t = type(id);
    const IntRange range = activation_range(activation, quant(output), t);
    if (range.min == min_of(t) && range.max == max_of(t)) return id;
    return clamp(id, static_cast<double>(range.min), static_cast<double>(range.max));
}

ValueId Lowering::activate_float(ValueId id, tflite::ActivationFunctionType activation) {
    using A = tflite::ActivationFunctionType;
    switch (activation) {
        case A::NONE: return id;
        case A::RELU: return clamp(id, 0, std::numeric_limits<double>::infinity());
        case A::RELU6: return clamp(id, 0, 6);
        case A::RELU_N1_TO_1: return clamp(id, -1, 1);
        default:
            unsupported(fmt::format("fused activation {} is not supported",
                                    tflite::EnumNameActivationFunctionType(activation)));
    }
}

// ---- shapes -------------------------------------------------------------------------------------------------------

std::int64_t Lowering::recorded_batch(std::size_t k) {
    const TfliteTensor& tensor = in(k);
    const Shape& now = shape(value(k));
    if (tensor.shape.empty() || now.empty() || tensor.shape[0] == now[0]) return 0;
    return std::max<std::int64_t>(tensor.shape[0], 0);
}

std::size_t Lowering::axis(std::int64_t a, std::size_t rank) const {
    const auto r = static_cast<std::int64_t>(rank);
    if (a < -r || a >= r) fail(fmt::format("axis {} is out of range for rank {}", a, rank));
    return static_cast<std::size_t>(a < 0 ? a + r : a);
}

std::int32_t Lowering::narrow(std::int64_t v, const char* what) const {
    if (v < std::numeric_limits<std::int32_t>::min() || v > std::numeric_limits<std::int32_t>::max()) {
        fail(fmt::format("{} {} is too large", what, v));
    }
    return static_cast<std::int32_t>(v);
}

}  // namespace tosavk

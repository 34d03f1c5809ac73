// Quantized tensors are the fp32 that they express, on the grid of their type: an operation computes with floats, and
// what it makes is rounded to the grid. Only the graph's ends and constants have the stored numbers.
#include "frontends/stablehlo/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace tosavk::stablehlo {

namespace {

/// Why a type is not computed with; empty where it is: where fp32 has every number exactly that its steps may be.
std::string problem_of(const Quantization& q) {
    if (q.expressed != Element::f32)
        return fmt::format("quantized {} is not supported, only f32", stablehlo::name_of(q.expressed));
    if (bits_of(q.storage) > 16)
        return fmt::format("quantized numbers of {} bits are not supported, only up to 16", bits_of(q.storage));
    const Range whole = whole_range(q.storage);
    if (q.minimum > q.maximum || !whole.holds({q.minimum, q.maximum}))
        return fmt::format("its quantized numbers lie between {} and {}", q.minimum, q.maximum);
    for (std::size_t k = 0; k < q.scales.size(); ++k) {
        const std::int64_t zero = q.zero_points.at(k);
        if (zero < q.minimum || zero > q.maximum)
            return fmt::format("the zero point {} of its quantized type is none of its numbers", zero);
        const double furthest = q.scales[k] * static_cast<double>(std::max(q.maximum - zero, zero - q.minimum));
        if (!(q.scales[k] >= std::numeric_limits<float>::min()) || furthest > std::numeric_limits<float>::max())
            return fmt::format("the scale {} of its quantized type is none for f32", q.scales[k]);
    }
    return {};
}

/// Those that hand numbers on as they are.
bool is_moving(std::string_view name) {
    static constexpr std::array all = {"broadcast",
                                       "broadcast_in_dim",
                                       "concatenate",
                                       "dynamic_broadcast_in_dim",
                                       "dynamic_gather",
                                       "dynamic_pad",
                                       "dynamic_reshape",
                                       "dynamic_slice",
                                       "dynamic_update_slice",
                                       "gather",
                                       "maximum",
                                       "minimum",
                                       "optimization_barrier",
                                       "pad",
                                       "real_dynamic_slice",
                                       "reshape",
                                       "reverse",
                                       "select",
                                       "slice",
                                       "transpose"};
    return std::find(all.begin(), all.end(), name) != all.end();
}

/// One number for all, or one for each element along the axis, beside tensors like this one.
Id beside(Lowering& l, Id like, const Quantization& q, const std::vector<float>& numbers) {
    if (!q.axis) return float_splat(l, like, static_cast<double>(numbers.at(0)));
    const Shape of = l.shape(like);
    const auto axis = static_cast<std::size_t>(*q.axis);
    if (l.is_lifted()) l.unsupported("a scale for each channel in a region of numbers is not supported");
    if (axis >= of.size() || of[axis] != static_cast<std::int64_t>(numbers.size()))
        l.fail(fmt::format("its quantized type has {} scales along dimension {} of {}", numbers.size(), axis,
                           to_string(of)));
    Shape shape(of.size(), 1);
    shape[axis] = of[axis];
    Bytes bytes(numbers.size() * sizeof(float));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return l.constant("quantization", DType::fp32, shape, std::move(bytes));
}

Id scales(Lowering& l, Id like, const Quantization& q) {
    return beside(l, like, q, std::vector<float>(q.scales.begin(), q.scales.end()));
}

Id zero_points(Lowering& l, Id like, const Quantization& q) {
    return beside(l, like, q, std::vector<float>(q.zero_points.begin(), q.zero_points.end()));
}

}  // namespace

const Type& Lowering::expressed(const TypePointer& type) const {
    if (!type->quantization) return *type;
    const auto [at, is_new] = expressed_.try_emplace(type.get(), *type);
    if (is_new && problem_of(*type->quantization).empty()) {
        at->second.element = type->quantization->expressed;
        at->second.quantization.reset();
    }
    return at->second;
}

void Lowering::refuse_quantized(const Quantization& q) const { unsupported(problem_of(q)); }

Id Lowering::quantized_steps(Id x, const Quantization& q) {
    if (is_empty(x)) return empty(DType::i32, shape(x));
    const Id steps =
        binary(Op::add, binary(Op::divide, x, scales(*this, x, q), DType::fp32), zero_points(*this, x, q), DType::fp32);
    // CAST rounds to even.
    return cast(clamp(steps, static_cast<double>(q.minimum), static_cast<double>(q.maximum)), DType::i32);
}

Id Lowering::floats_of_steps(Id steps, const Quantization& q) {
    if (is_empty(steps)) return empty(DType::fp32, shape(steps));
    const Id number = cast(steps, DType::fp32);
    const Id moved = binary(Op::sub, number, zero_points(*this, number, q), DType::fp32);
    return multiply(*this, moved, scales(*this, moved, q));
}

Tensor Lowering::of_stored(const Tensor& tensor, const Quantization& q) {
    return {Element::f32, floats_of_steps(wide(tensor), q), no_id, {}};
}

Bytes Lowering::floats_of_stored(std::span<const std::int64_t> numbers, const Type& type, const Quantization& q) const {
    const std::size_t channels = q.scales.size();
    std::size_t inner = 1;
    if (q.axis) {
        const auto axis = static_cast<std::size_t>(*q.axis);
        if (axis >= type.dims.size() || type.dims[axis] != static_cast<std::int64_t>(channels))
            fail(fmt::format("its quantized type has {} scales along dimension {} of {}", channels, axis,
                             to_string(type)));
        for (std::size_t d = axis + 1; d < type.dims.size(); ++d) inner *= static_cast<std::size_t>(type.dims[d]);
    }
    Bytes bytes(numbers.size() * sizeof(float));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t c = q.axis ? i / inner % channels : 0;
        const float v = static_cast<float>(numbers[i] - q.zero_points[c]) * static_cast<float>(q.scales[c]);
        std::memcpy(bytes.data() + i * sizeof v, &v, sizeof v);
    }
    return bytes;
}

Tensor Lowering::on_grid(const Tensor& tensor, const Quantization& q) {
    if (tensor.element != Element::f32 || tensor.is_complex())
        fail(fmt::format("its result is quantized, but what it makes is {}", stablehlo::name_of(tensor.element)));
    return {Element::f32, floats_of_steps(quantized_steps(tensor.id, q), q), no_id, {}};
}

bool Lowering::keeps_grid(const Quantization& q) const {
    if (op_->name == "constant") return true;
    // Along which dimension there are scales may change.
    if (q.axis || !is_moving(op_->name)) return false;
    bool is_quantized = false;
    for (const stablehlo::ValueId id : op_->operands) {
        const std::optional<Quantization>& other = home_->values.at(id)->quantization;
        if (other && *other != q) return false;
        is_quantized = is_quantized || other;
    }
    return is_quantized;
}

bool Lowering::has_quantized() const {
    const auto is_quantized = [&](stablehlo::ValueId id) { return home_->values.at(id)->quantization.has_value(); };
    return std::any_of(op_->operands.begin(), op_->operands.end(), is_quantized) ||
           std::any_of(op_->results.begin(), op_->results.end(), is_quantized);
}

}  // namespace tosavk::stablehlo

// COMPLEX64 tensors, each of which is two values of fp32 here, and their operators: RFFT2D, REAL, IMAG, COMPLEX_ABS.
#include "frontends/tflite/lowering.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tosavk {

using Type = tflite::TensorType;

std::array<ValueId, 2> Lowering::complex_value(std::size_t k) {
    const TfliteTensor& tensor = in(k);
    if (tensor.type != Type::COMPLEX64)
        unsupported(fmt::format("type {} of {} is not supported", name_of(tensor.type), tensor.title()));
    check_usable(tensor);
    if (refused_[tensor.index]) fail(fmt::format("reads {}, and what makes it is refused", tensor.title()));
    if (tensor.is_constant && !complex_.contains(tensor.index)) {
        const std::vector<double> both = decode_reals(DType::fp32, Bytes(tensor.data.begin(), tensor.data.end()));
        if (tensor.is_empty() || tensor.sparsity ||
            static_cast<std::int64_t>(both.size()) != 2 * element_count(tensor.shape))
            fail(fmt::format("constant {} of type COMPLEX64 and shape {} has {} bytes", tensor.title(),
                             to_string(tensor.shape), tensor.data.size()));
        std::array<std::vector<float>, 2> parts;
        for (std::size_t i = 0; i < both.size(); ++i) parts[i % 2].push_back(static_cast<float>(both[i]));
        complex_[tensor.index] = {constant_floats("real", tensor.shape, parts[0]),
                                  constant_floats("imaginary", tensor.shape, parts[1])};
    }
    const auto parts = complex_.find(tensor.index);
    if (parts == complex_.end()) fail(fmt::format("reads {} before it is computed", tensor.title()));
    return parts->second;
}

void Lowering::set_complex(ValueId real, ValueId imaginary, std::size_t k) {
    const TfliteTensor& tensor = out(k);
    check_usable(tensor);
    if (tensor.type != Type::COMPLEX64)
        unsupported(fmt::format("output type {} is not supported", name_of(tensor.type)));
    complex_[tensor.index] = {real, imaginary};
    set_.at(k) = true;
}

bool Lowering::has_complex() const {
    const auto is_complex = [&](std::int32_t t) {
        return t >= 0 && graph_.tensors[static_cast<std::size_t>(t)].type == Type::COMPLEX64;
    };
    return std::any_of(op_->inputs.begin(), op_->inputs.end(), is_complex) ||
           std::any_of(op_->outputs.begin(), op_->outputs.end(), is_complex);
}

void Lowering::lower_complex_parts() {
    std::map<std::size_t, std::array<ValueId, 2>> sources, results;
    for (std::size_t k = 0; k < input_count(); ++k) {
        if (has_input(k) && in(k).type == Type::COMPLEX64) sources[in(k).index] = complex_value(k);
    }
    const std::vector<ValueId> before = values_;
    const auto restore = [&] {
        values_ = before;
        complex_as_part_ = false;
    };
    try {
        for (std::size_t part = 0; part < 2; ++part) {
            complex_as_part_ = true;
            for (const auto& [index, parts] : sources) values_[index] = parts[part];
            row_->lower(*this);
            for (std::size_t k = 0; k < output_count(); ++k) results[out(k).index][part] = values_[out(k).index];
            restore();
        }
    } catch (...) {
        restore();
        throw;
    }
    for (std::size_t k = 0; k < output_count(); ++k) {
        if (out(k).type != Type::COMPLEX64)
            unsupported(fmt::format("output type {} is not supported", name_of(out(k).type)));
        complex_[out(k).index] = results[out(k).index];
    }
}

namespace {

/// Dimension `axis` with zeros behind it, or without its end.
ValueId fit(Lowering& l, ValueId x, std::size_t axis, std::int64_t size) {
    const Shape from = l.shape(x);
    if (from[axis] >= size) return l.slice_axis(x, axis, 0, size);
    std::vector<std::int64_t> padding(2 * from.size(), 0);
    padding[2 * axis + 1] = size - from[axis];
    const auto count = static_cast<std::int64_t>(padding.size());
    return l.add(Op::pad, {x, l.constant_ints("padding", DType::shape, {count}, padding), l.scalar(l.type(x), 0)},
                 l.type(x));
}

void lower_rfft2d(Lowering& l) {
    if (l.in(0).type != Type::FLOAT32 || l.out().type != Type::COMPLEX64)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    ValueId x = l.value(0);
    const std::size_t rank = l.shape(x).size();
    if (rank < 2) l.fail(fmt::format("its input has rank {}", rank));
    const std::vector<std::int64_t> size = l.const_ints(1);
    if (size.size() != 2) l.fail(fmt::format("its length has {} elements, not 2", size.size()));
    for (std::size_t i = 0; i < 2; ++i) {
        if (size[i] < 1 || !std::has_single_bit(static_cast<std::uint64_t>(size[i])))
            l.fail(fmt::format("its length {} is no power of two", size[i]));
        x = fit(l, x, rank - 2 + i, size[i]);
    }
    Shape to = l.shape(x);
    x = l.reshape(x, {element_count(to) / size[0] / size[1], size[0], size[1]});
    constexpr DType types[] = {DType::fp32, DType::fp32};
    const std::vector<ValueId> parts = l.add_all(Op::rfft2d, {x}, types);
    to.back() = size[1] / 2 + 1;
    l.set_complex(l.reshape(parts[0], to), l.reshape(parts[1], to));
}

void lower_part(Lowering& l) {
    if (l.out().type != Type::FLOAT32)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    l.set(l.complex_value(0)[l.op().code == tflite::BuiltinOperator::REAL ? 0 : 1]);
}

// The larger part times the root of 1 + (smaller / larger)^2, which does not overflow before the result does.
void lower_complex_abs(Lowering& l) {
    if (l.out().type != Type::FLOAT32)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    const DType real = DType::fp32;
    auto [a, b] = l.complex_value(0);
    a = l.add(Op::abs, {a}, real);
    b = l.add(Op::abs, {b}, real);
    const ValueId large = l.add(Op::maximum, {a, b}, real), small = l.add(Op::minimum, {a, b}, real);
    const ValueId ratio = l.add(Op::divide, {small, large}, real);
    const ValueId root =
        l.add(Op::sqrt, {l.add(Op::add, {l.mul(ratio, ratio, real), l.splat(ratio, real, 1)}, real)}, real);
    const ValueId none = l.add(Op::equal, {large, l.splat(large, real, 0)}, DType::boolean);
    l.set(l.add(Op::select, {none, large, l.mul(large, root, real)}, real));
}

}  // namespace

OperatorRows complex_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::RFFT2D, lower_rfft2d},
        {B::REAL, lower_part},
        {B::IMAG, lower_part},
        {B::COMPLEX_ABS, lower_complex_abs},
    };
    return rows;
}

}  // namespace tosavk

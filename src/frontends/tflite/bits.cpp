// Operators on bits, and sums of many.
#include "frontends/tflite/moves.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

using Type = tflite::TensorType;

[[noreturn]] void refuse_types(const Lowering& l) {
    l.unsupported(fmt::format("types {} x {} are not supported", name_of(l.in(0).type), name_of(l.in(1).type)));
}

void lower_bitwise_xor(Lowering& l) {
    ValueId a = l.value(0), b = l.value(1);
    if (l.in(0).type != l.in(1).type || !is_integer(l.type(a))) refuse_types(l);
    l.match_ranks(a, b);
    l.set(l.add(Op::bitwise_xor, {a, flip_uint8(l, b, l.in(1))}, l.type(a)));
}

void lower_right_shift(Lowering& l) {
    ValueId a = l.value(0), b = l.value(1);
    if (l.in(0).type != l.in(1).type || !is_integer(l.type(a))) refuse_types(l);
    l.match_ranks(a, b);
    const DType type = l.type(a);
    const bool is_unsigned = l.in(0).type == Type::UINT8;
    // Shifts below 0 count as none, those above the width as one less than it.
    const auto wide = [&](ValueId x) {
        x = l.cast(x, DType::i32);
        return is_unsigned ? l.add(Op::add, {x, l.splat(x, DType::i32, 128)}, DType::i32) : x;
    };
    a = wide(a);
    b = wide(b);
    const double last = static_cast<double>(size_of(type)) * 8 - 1;
    b = l.add(Op::maximum, {b, l.splat(b, DType::i32, 0)}, DType::i32);
    b = l.add(Op::minimum, {b, l.splat(b, DType::i32, last)}, DType::i32);
    ValueId x = l.add(Op::arithmetic_right_shift, {a, b}, DType::i32);
    if (is_unsigned) x = l.add(Op::sub, {x, l.splat(x, DType::i32, 128)}, DType::i32);
    l.set(l.cast(x, type));
}

void lower_add_n(Lowering& l) {
    ValueId sum = l.value(0);
    if (l.type(sum) != DType::fp32 && l.type(sum) != DType::i32)
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    for (std::size_t k = 1; k < l.input_count(); ++k) {
        const ValueId x = l.value(k);
        if (l.type(x) != l.type(sum) || l.shape(x) != l.shape(sum)) l.fail("its inputs have different shapes or types");
        sum = l.add(Op::add, {sum, x}, l.type(sum));
    }
    l.set(sum);
}

}  // namespace

OperatorRows bits_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::BITWISE_XOR, lower_bitwise_xor},
        {B::RIGHT_SHIFT, lower_right_shift},
        {B::ADD_N, lower_add_n},
    };
    return rows;
}

}  // namespace tosavk

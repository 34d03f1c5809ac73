// Operators on bits, BUCKETIZE, and sums of many.
#include "frontends/tflite/moves.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// Of 8 bits, what stands for UINT8 is another number than its bits.
void lower_bitcast(Lowering& l) {
    const Type from = l.in(0).type, to = l.out().type;
    const auto takes = [](Type t) {
        return t == Type::INT8 || t == Type::UINT8 || t == Type::INT16 || t == Type::INT32 || t == Type::FLOAT16 ||
               t == Type::FLOAT32;
    };
    if ((!takes(from) && from != Type::BOOL && from != Type::INT64) || !takes(to))
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(from), name_of(to)));
    ValueId x = from == Type::BOOL ? l.cast(l.value(0), DType::i8) : flip_uint8(l, l.value(0), l.in(0));
    const DType type = l.dtype(l.out());
    Shape shape = l.shape(x);
    if (from == Type::INT64) {  // the sign is all that the high half of what is an i32 here has
        shape.push_back(1);
        const ValueId low = l.reshape(x, shape);
        const ValueId high = l.add(Op::arithmetic_right_shift, {low, l.splat(low, DType::i32, 31)}, DType::i32);
        x = l.concat({low, high}, shape.size() - 1);
        shape.back() = static_cast<std::int64_t>(8 / size_of(type));
        if (type != DType::i32) x = l.add(Op::bitcast, {x}, type);
        return l.set(flip_uint8(l, l.reshape(x, shape), l.out()));
    }
    const std::size_t size = size_of(l.type(x)), wanted = size_of(type);
    if (size < wanted && (shape.empty() || shape.back() != static_cast<std::int64_t>(wanted / size)))
        l.fail(fmt::format("{} of {} bytes make no elements of {}", to_string(shape), size, wanted));
    if (l.type(x) != type) x = l.add(Op::bitcast, {x}, type);
    l.set(flip_uint8(l, x, l.out()));
}

/// How many boundaries are not above a number.
void lower_bucketize(Lowering& l) {
    const auto* options = l.options<tflite::BucketizeOptions>();
    const auto* list = options ? options->boundaries() : nullptr;
    const std::vector<float> bounds = list ? std::vector<float>(list->begin(), list->end()) : std::vector<float>();
    if (!std::is_sorted(bounds.begin(), bounds.end()) ||
        std::any_of(bounds.begin(), bounds.end(), [](float b) { return b != b; }))
        l.fail("its boundaries are not in order");
    if (l.in(0).type != Type::FLOAT32 && l.in(0).type != Type::INT32 && l.in(0).type != Type::INT64)
        l.unsupported(fmt::format("type {} is not supported", name_of(l.in(0).type)));
    const ValueId x = l.cast(l.value(0), DType::fp32);
    const Shape shape = l.shape(x);
    if (bounds.empty()) return l.set(zeros(l, l.out(), shape));
    const auto count = static_cast<std::int64_t>(bounds.size());
    const ValueId rows = l.reshape(x, {element_count(shape), 1});
    const ValueId above =
        l.add(Op::greater, {l.constant_floats("boundaries", {1, count}, bounds), rows}, DType::boolean);
    // A NaN is not below any of them.
    const ValueId passed = l.cast(l.add(Op::logical_not, {above}, DType::boolean), DType::i32);
    Attributes attrs;
    attrs.axis = 1;
    l.set(l.reshape(l.add(Op::reduce_sum, {passed}, DType::i32, attrs), shape));
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
        {B::BITWISE_XOR, lower_bitwise_xor}, {B::RIGHT_SHIFT, lower_right_shift}, {B::ADD_N, lower_add_n},
        {B::BITCAST, lower_bitcast},         {B::BUCKETIZE, lower_bucketize},
    };
    return rows;
}

}  // namespace tosavk

// What the lowerings of elementwise operators share.
#include "frontends/tflite/elementwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tosavk::elementwise {

using tflite::TensorType;

void refuse_types(const Lowering& l) {
    std::string types;
    for (std::size_t k = 0; k < l.input_count(); ++k) {
        if (l.has_input(k)) types += (k ? " x " : "") + std::string(name_of(l.in(k).type));
    }
    l.unsupported(fmt::format("types {} -> {} are not supported", types, name_of(l.out().type)));
}

TensorType one_type(const Lowering& l, std::size_t inputs, std::initializer_list<TensorType> types) {
    const TensorType type = l.out().type;
    for (std::size_t k = 0; k < inputs; ++k) {
        if (l.in(k).type != type) refuse_types(l);
    }
    if (std::find(types.begin(), types.end(), type) == types.end()) refuse_types(l);
    return type;
}

std::array<ValueId, 2> operands(Lowering& l) {
    std::array<ValueId, 2> ids{l.value(0), l.value(1)};
    l.match_ranks(ids[0], ids[1]);
    return ids;
}

ValueId binary(Lowering& l, Op op, ValueId a, ValueId b) { return l.add(op, {a, b}, l.type(a)); }

ValueId negate(Lowering& l, ValueId x) {
    return l.add(Op::negate, {x, l.scalar(l.type(x), 0), l.scalar(l.type(x), 0)}, l.type(x));
}

ValueId compare(Lowering& l, Op op, ValueId x, double with) {
    return l.add(op, {x, l.splat(x, l.type(x), with)}, DType::boolean);
}

ValueId choose(Lowering& l, ValueId condition, ValueId a, ValueId b) {
    return l.add(Op::select, {condition, a, b}, l.type(a));
}

ValueId is_number(Lowering& l, ValueId x) { return l.add(Op::equal, {x, x}, DType::boolean); }

ValueId divide_by_power(Lowering& l, ValueId x, int n) {
    if (n == 0) return x;
    Attributes attrs;
    attrs.round = true;
    const ValueId size = l.add(Op::arithmetic_right_shift, {l.add(Op::abs, {x}, DType::i32), l.splat(x, DType::i32, n)},
                               DType::i32, attrs);
    return choose(l, compare(l, Op::greater_equal, x, 0), size, negate(l, size));
}

ValueId activate_number(Lowering& l, ValueId x, tflite::ActivationFunctionType activation) {
    using A = tflite::ActivationFunctionType;
    if (is_float(l.type(x)) || activation == A::NONE) return l.activate_float(x, activation);
    const auto limited = [&](Op op, double limit) { return binary(l, op, x, l.splat(x, l.type(x), limit)); };
    switch (activation) {
        case A::RELU: return limited(Op::maximum, 0);
        case A::RELU6: x = limited(Op::maximum, 0); return limited(Op::minimum, 6);
        case A::RELU_N1_TO_1: x = limited(Op::maximum, -1); return limited(Op::minimum, 1);
        default: return l.activate_float(x, activation);
    }
}

ValueId requantize_up_to(Lowering& l, std::int64_t largest, ValueId x, DType to, const QuantizedMultiplier& m,
                         std::int64_t output_zp) {
    if (m.exponent > 29 || largest >= std::int64_t{1} << (30 - m.exponent))
        l.unsupported("the ratio of its scales is too large");
    return l.requantize(x, to, m, 0, output_zp);
}

}  // namespace tosavk::elementwise

// Fixed-point arithmetic of TFLite's reference kernels on values of the graph.
#pragma once

#include "frontends/tflite/elementwise.hpp"

#include <limits>

namespace tosavk::elementwise {

/// Arithmetic of 32 bits on values of one rank.
struct Fixed {
    Lowering& l;
    ValueId like;

    ValueId number(std::int64_t v) const { return l.splat(like, DType::i32, static_cast<double>(v)); }
    ValueId add(ValueId a, ValueId b) const { return binary(l, Op::add, a, b); }
    ValueId sub(ValueId a, ValueId b) const { return binary(l, Op::sub, a, b); }
    /// The doubling high multiply, rounded half up.
    ValueId mul31(ValueId a, ValueId b) const { return l.add(Op::mul, {a, b, l.scalar(DType::i8, 31)}, DType::i32); }
    ValueId mul31_by(ValueId a, std::int64_t b) const { return mul31(a, number(b)); }
    ValueId left(ValueId a, ValueId n) const { return binary(l, Op::logical_left_shift, a, n); }
    ValueId left_by(ValueId a, int n) const { return left(a, number(n)); }
    ValueId right(ValueId a, ValueId n, bool round) const {
        Attributes attrs;
        attrs.round = round;
        return l.add(Op::arithmetic_right_shift, {a, n}, DType::i32, attrs);
    }
    ValueId zeros(ValueId a) const { return l.add(Op::clz, {a}, DType::i32); }
    /// A shift of a positive number to the left by which it grew beyond 31 bits, but not 32, ends at the largest.
    ValueId saturated(ValueId shifted) const {
        return choose(l, compare(l, Op::greater_equal, shifted, 0), shifted,
                      number(std::numeric_limits<std::int32_t>::max()));
    }
    /// 1 / (1 + f) for f in [0, 1) as Q0.31, by three Newton steps in Q2.29.
    ValueId reciprocal(ValueId f) const {
        const ValueId half = add(right(f, number(1), false), number(1 << 30));
        ValueId r = add(mul31_by(half, -1010580540), number(1515870810));
        for (int step = 0; step < 3; ++step) r = add(r, left_by(mul31(r, sub(number(1 << 29), mul31(half, r))), 2));
        return saturated(left_by(r, 1));
    }
    ValueId clamp(ValueId a, std::int64_t low, std::int64_t high) const {
        return binary(l, Op::minimum, binary(l, Op::maximum, a, number(low)), number(high));
    }
};

/// TFLite's 1 / sqrt(n) for n >= 0: a multiplier in Q0.31 and a shift to the right.
struct InverseRoot {
    ValueId multiplier, shift;
};
InverseRoot inverse_root(Lowering& l, ValueId n);
/// x times that, rounded twice.
ValueId multiply(Lowering& l, ValueId x, const InverseRoot& root);

}  // namespace tosavk::elementwise

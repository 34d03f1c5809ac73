// Arithmetic on INT64 numbers that 32 bits may not hold: two words each, modulo 2 to the 64th. Words of one tensor have
// one rank; a dimension of 1 may stand for any.
#pragma once

#include "frontends/tflite/lowering.hpp"

namespace tosavk::wide {

struct Words {
    ValueId low, high;
};

Words extended(Lowering& l, ValueId narrow);  ///< an i32
Words number(Lowering& l, ValueId like, std::int64_t v);
void match(Lowering& l, Words& a, Words& b);

Words sum(Lowering& l, const Words& a, const Words& b);
Words difference(Lowering& l, const Words& a, const Words& b);
Words product(Lowering& l, const Words& a, const Words& b);
Words chosen(Lowering& l, ValueId condition, const Words& a, const Words& b);

ValueId equal(Lowering& l, const Words& a, const Words& b);
ValueId below(Lowering& l, const Words& a, const Words& b);

/// Of an fp32, towards zero; the ends of the type beyond them, and the greatest number of NaN.
Words of_float(Lowering& l, ValueId x);
ValueId to_float(Lowering& l, const Words& x);  ///< rounded once to fp32
/// As an i32; what is beyond is the most or least that it can be.
ValueId saturated(Lowering& l, const Words& x);

/// Along dimension `axis`, of no more elements than `most_added`.
Words sum_along(Lowering& l, const Words& x, std::size_t axis);
constexpr std::int64_t most_added = 32767;

/// Of ADD, SUB and MUL.
tflite::ActivationFunctionType fused_activation(const Lowering& l);

}  // namespace tosavk::wide

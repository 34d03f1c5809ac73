// Functions of floats and complex numbers that several operations are made of, in fp32 unless a name says otherwise.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

namespace tosavk::stablehlo {

Tensor converted(Lowering& l, Tensor x, Element to);  ///< no complex numbers
Tensor product(Lowering& l, const Tensor& a, const Tensor& b);
/// u32 in the order of signed numbers, and back; others as they are.
Id ordered(Lowering& l, Id id, Element element);

struct Complex {
    Id re = no_id, im = no_id;
};

Id float_splat(Lowering& l, Id like, double v);  ///< of the type of `like`
Id multiply(Lowering& l, Id a, Id b);            ///< floats of one type, or i32
Id is_below(Lowering& l, Id a, Id b);            ///< a < b
Id is_equal(Lowering& l, Id a, Id b);
Id is_nan(Lowering& l, Id a);
Id is_finite(Lowering& l, Id a);
Id sign_bit(Lowering& l, Id a);  ///< of an fp32, as a bool: true of -0, too

Id log1p(Lowering& l, Id x);
Id expm1(Lowering& l, Id x);
Id cbrt(Lowering& l, Id x);
Id tangent(Lowering& l, Id x);
Id hyperbolic_cosine(Lowering& l, Id x);
Id hyperbolic_sine(Lowering& l, Id x);
Id atan2(Lowering& l, Id y, Id x);
Id arc_sine(Lowering& l, Id x);
Id arc_cosine(Lowering& l, Id x);
Id arc_tangent(Lowering& l, Id x);
Id area_sine(Lowering& l, Id x);
Id area_cosine(Lowering& l, Id x);
Id area_tangent(Lowering& l, Id x);
/// Of fp32; `is_exact`: to one or two units in the last place instead of to POW's bound, which large powers show.
Id power(Lowering& l, Id x, Id y, bool is_exact);
/// Half to even, or away from zero.
Id rounded(Lowering& l, Id x, bool to_even);
Id truncated(Lowering& l, Id x);

Complex complex_product(Lowering& l, Complex a, Complex b);
Complex complex_quotient(Lowering& l, Complex a, Complex b);
Id complex_abs(Lowering& l, Complex a);
Id times_sine(Lowering& l, Id size, Id angle);  ///< 0 of a real number, however large, even infinite
Complex complex_exp(Lowering& l, Complex a);
Complex complex_log(Lowering& l, Complex a);
Complex complex_power(Lowering& l, Complex a, Complex b);
Complex complex_sqrt(Lowering& l, Complex a);
Complex complex_tangent(Lowering& l, Complex a);
Complex complex_hyperbolic_cosine(Lowering& l, Complex a);
Complex complex_hyperbolic_sine(Lowering& l, Complex a);
Complex complex_tanh(Lowering& l, Complex a);
Complex complex_arc_sine(Lowering& l, Complex a);
Complex complex_arc_cosine(Lowering& l, Complex a);
Complex complex_arc_tangent(Lowering& l, Complex a);
Complex complex_area_sine(Lowering& l, Complex a);
Complex complex_area_cosine(Lowering& l, Complex a);
Complex complex_area_tangent(Lowering& l, Complex a);

Id digamma(Lowering& l, Id x);  ///< -infinity at 0, where the operator's is no number
Id erfc(Lowering& l, Id x);
Id bessel_i1e(Lowering& l, Id x);
Id zeta(Lowering& l, Id x, Id q);
Id polygamma(Lowering& l, Id order, Id x);

}  // namespace tosavk::stablehlo

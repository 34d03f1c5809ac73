// 64-bit integers as pairs of 32-bit words, modulo 2 to the 64th. What stands for all of a tensor has its shape; what
// is one number may have dimensions of 1 instead.
#pragma once

#include "frontends/stablehlo/lowering.hpp"

#include <array>

namespace tosavk::stablehlo {

struct Words {
    Id low = no_id, high = no_id;
};

/// Of an integer of any width, or i1.
Words words_of(Lowering& l, const Tensor& x);
/// An i32 where `range` allows it, else a pair, both of the shape of the larger.
Tensor from_words(Lowering& l, Words w, Element element, Range range);
Words words_of_number(Lowering& l, Id like, std::uint64_t v);
Words chosen_words(Lowering& l, Id condition, Words a, Words b);

Words sum_of_words(Lowering& l, Words a, Words b);
Words difference_of_words(Lowering& l, Words a, Words b);
Words product_of_words(Lowering& l, Words a, Words b);
Words negated_words(Lowering& l, Words a);
struct Division {
    Words quotient, remainder;
};
/// As StableHLO has it of integers: x / 0 is -1, and what remains x. `bits`: the dividend's size has no more.
Division division_of_words(Lowering& l, Words a, Words b, bool is_signed, int bits = 64);

Id equal_words(Lowering& l, Words a, Words b);
Id words_below(Lowering& l, Words a, Words b, bool is_signed);  ///< a < b
Id unsigned_below(Lowering& l, Id a, Id b);                     ///< i32 as u32

enum class Shift { left, logical_right, arithmetic_right };
Words shifted_words(Lowering& l, Words x, int amount, Shift what);    ///< 0 to 63
Words shifted_words(Lowering& l, Words x, Words amount, Shift what);  ///< any amount, unsigned
/// The upper half of a product of u32.
Id upper_product(Lowering& l, Id a, Id b);

/// Rounded once to `to`, a float.
Id float_of_words(Lowering& l, Words x, bool is_signed, DType to);
/// Of an fp32 without fraction; within the type's range, 0 of NaN.
Words words_of_float(Lowering& l, Id x, bool is_signed);
Id float_of_unsigned(Lowering& l, Id x);  ///< u32, rounded once to fp32
/// As an i32; what is beyond is the most (or least) that it can be.
Tensor saturated_32(Lowering& l, const Tensor& x);
/// Four numbers of 16 bits, of which up to `most_added` may be summed in i32; and what the sums are.
using Quarters = std::array<Id, 4>;
Quarters quarters_of(Lowering& l, Words x);
Words words_of_sums(Lowering& l, const Quarters& sums);
constexpr std::int64_t most_added = 32767;

}  // namespace tosavk::stablehlo

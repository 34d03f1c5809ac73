#include "frontends/stablehlo/words.hpp"

#include "frontends/stablehlo/functions.hpp"

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

constexpr std::int64_t sign_32 = -(std::int64_t{1} << 31);

Id plus_32(Lowering& l, Id a, Id b) { return l.binary(Op::add, a, b, DType::i32); }
Id minus_32(Lowering& l, Id a, Id b) { return l.binary(Op::sub, a, b, DType::i32); }
Id either_bits(Lowering& l, Id a, Id b) { return l.binary(Op::bitwise_or, a, b, DType::i32); }
Id of_flag(Lowering& l, Id flag) { return l.select(flag, l.splat_int(flag, 1), l.splat_int(flag, 0)); }

Id unsigned_key(Lowering& l, Id a) { return l.bits_xor(a, sign_32); }

}  // namespace

Id unsigned_below(Lowering& l, Id a, Id b) { return is_below(l, unsigned_key(l, a), unsigned_key(l, b)); }

Words words_of(Lowering& l, const Tensor& x) {
    if (x.is_pair()) return {x.id, x.other};
    Id low = x.id;
    if (x.element == Element::pred) low = l.cast(low, DType::i32);
    else low = l.wide(x);
    if (x.element == Element::u32 || x.range.least >= 0) return {low, l.splat_int(low, 0)};
    return {low, l.shift_right(low, 31, /*arithmetic=*/true)};
}

Tensor from_words(Lowering& l, Words w, Element element, Range range) {
    w.low = l.with_rank_of(w.low, w.high), w.high = l.with_rank_of(w.high, w.low);
    if (!l.is_lifted()) {
        Shape whole = l.shape(w.low);
        for (std::size_t d = 0; d < whole.size(); ++d) whole[d] = std::max(whole[d], l.shape(w.high)[d]);
        w = {l.tile_to(w.low, whole), l.tile_to(w.high, whole)};
    }
    if (whole_range(element).holds(range)) return {element, w.low, no_id, range};
    return {element, w.low, w.high, range};
}

Words words_of_number(Lowering& l, Id like, std::uint64_t v) {
    const auto word = [](std::uint64_t bits) {
        return static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
    };
    return {l.splat_int(like, word(v)), l.splat_int(like, word(v >> 32))};
}

Words chosen_words(Lowering& l, Id condition, Words a, Words b) {
    return {l.select(condition, a.low, b.low), l.select(condition, a.high, b.high)};
}

// ---- arithmetic ---------------------------------------------------------------------------------------------------

Words sum_of_words(Lowering& l, Words a, Words b) {
    const Id low = plus_32(l, a.low, b.low);
    const Id carry = of_flag(l, unsigned_below(l, low, a.low));
    return {low, plus_32(l, plus_32(l, a.high, b.high), carry)};
}

Words difference_of_words(Lowering& l, Words a, Words b) {
    const Id borrow = of_flag(l, unsigned_below(l, a.low, b.low));
    return {minus_32(l, a.low, b.low), minus_32(l, minus_32(l, a.high, b.high), borrow)};
}

Words negated_words(Lowering& l, Words a) { return difference_of_words(l, words_of_number(l, a.low, 0), a); }

// By halves of 16 bits, none of whose sums leaves 32.
Id upper_product(Lowering& l, Id a, Id b) {
    const Id a0 = l.bits_and(a, 0xffff), a1 = l.shift_right(a, 16);
    const Id b0 = l.bits_and(b, 0xffff), b1 = l.shift_right(b, 16);
    const Id low = multiply(l, a0, b0), first = multiply(l, a0, b1), second = multiply(l, a1, b0);
    const Id middle =
        plus_32(l, l.shift_right(low, 16), plus_32(l, l.bits_and(first, 0xffff), l.bits_and(second, 0xffff)));
    const Id upper = plus_32(l, l.shift_right(first, 16), l.shift_right(second, 16));
    return plus_32(l, multiply(l, a1, b1), plus_32(l, upper, l.shift_right(middle, 16)));
}

Words product_of_words(Lowering& l, Words a, Words b) {
    Id high = upper_product(l, a.low, b.low);
    high = plus_32(l, high, plus_32(l, multiply(l, a.low, b.high), multiply(l, a.high, b.low)));
    return {multiply(l, a.low, b.low), high};
}

namespace {

/// Up to three roundings.
Id approximate(Lowering& l, Words x) {
    const Id high = float_of_unsigned(l, x.high), low = float_of_unsigned(l, x.low);
    return l.binary(Op::add, multiply(l, high, float_splat(l, high, 4294967296.0)), low, DType::fp32);
}

Words size_of_words(Lowering& l, Words a, Id negative) { return chosen_words(l, negative, negated_words(l, a), a); }

/// Of a whole fp32 from 0 to below 2^32, as u32.
Id unsigned_of_float(Lowering& l, Id x) {
    const Id half = float_splat(l, x, 2147483648.0);
    const Id large = l.binary(Op::greater_equal, x, half, DType::boolean);
    const Id rest = l.select(large, l.binary(Op::sub, x, half, DType::fp32), x);
    const Id number = l.cast(rest, DType::i32);
    return l.select(large, l.bits_xor(number, sign_32), number);
}

/// Of a whole fp32 from 0 to below 2^64.
Words words_of_whole(Lowering& l, Id x) {
    const Id upper = l.unary(Op::floor, multiply(l, x, float_splat(l, x, 0x1p-32)));
    const Id lower = l.binary(Op::sub, x, multiply(l, upper, float_splat(l, x, 0x1p32)), DType::fp32);
    return {unsigned_of_float(l, lower), unsigned_of_float(l, upper)};
}

}  // namespace

// The quotient is guessed in fp32 a little too small, and what is left divided again: each guess gains 19 bits.
Division division_of_words(Lowering& l, Words a, Words b, bool is_signed, int bits) {
    Id below_a = no_id, below_b = no_id;
    Words left = a, divisor = b;
    if (is_signed) {
        below_a = is_below(l, a.high, l.splat_int(a.high, 0));
        below_b = is_below(l, b.high, l.splat_int(b.high, 0));
        left = size_of_words(l, a, below_a);
        divisor = size_of_words(l, b, below_b);
    }
    const Id zero = l.splat_int(b.low, 0), none = is_equal(l, either_bits(l, b.low, b.high), zero);
    divisor.low = l.select(none, l.splat_int(b.low, 1), divisor.low);
    const Id step = approximate(l, divisor);
    Words quotient = words_of_number(l, a.low, 0);
    for (int rest = bits; rest > 0; rest -= 19) {
        const Id ratio = l.binary(Op::divide, approximate(l, left), step, DType::fp32);
        const Id guess = l.unary(Op::floor, multiply(l, ratio, float_splat(l, ratio, 1 - 0x1p-20)));
        Words taken;
        if (rest > 30) {
            const Words part = words_of_whole(l, guess);
            quotient = sum_of_words(l, quotient, part);
            taken = product_of_words(l, part, divisor);
        } else {
            const Id part = l.cast(guess, DType::i32);
            quotient = sum_of_words(l, quotient, {part, zero});
            const Id upper = plus_32(l, upper_product(l, part, divisor.low), multiply(l, part, divisor.high));
            taken = {multiply(l, part, divisor.low), upper};
        }
        left = difference_of_words(l, left, taken);
    }
    const Id more = l.logical_not(words_below(l, left, divisor, false));
    quotient = sum_of_words(l, quotient, {of_flag(l, more), zero});
    left = chosen_words(l, more, difference_of_words(l, left, divisor), left);
    if (is_signed) {
        quotient = size_of_words(l, quotient, l.binary(Op::logical_xor, below_a, below_b, DType::boolean));
        left = size_of_words(l, left, below_a);
    }
    return {chosen_words(l, none, words_of_number(l, b.low, ~std::uint64_t{0}), quotient),
            chosen_words(l, none, a, left)};
}

// ---- comparisons --------------------------------------------------------------------------------------------------

Id equal_words(Lowering& l, Words a, Words b) {
    return l.binary(Op::logical_and, is_equal(l, a.low, b.low), is_equal(l, a.high, b.high), DType::boolean);
}

Id words_below(Lowering& l, Words a, Words b, bool is_signed) {
    const Id upper = is_signed ? is_below(l, a.high, b.high) : unsigned_below(l, a.high, b.high);
    const Id lower =
        l.binary(Op::logical_and, is_equal(l, a.high, b.high), unsigned_below(l, a.low, b.low), DType::boolean);
    return l.binary(Op::logical_or, upper, lower, DType::boolean);
}

// ---- shifts -------------------------------------------------------------------------------------------------------

Words shifted_words(Lowering& l, Words x, int amount, Shift what) {
    const int rest = amount & 31;
    const bool keeps_sign = what == Shift::arithmetic_right;
    const Id zero = l.splat_int(x.low, 0);
    if (amount == 0) return x;
    if (what == Shift::left) {
        if (amount >= 32) return {zero, rest == 0 ? x.low : l.shift_left(x.low, rest)};
        return {l.shift_left(x.low, rest), either_bits(l, l.shift_left(x.high, rest), l.shift_right(x.low, 32 - rest))};
    }
    const Id filling = keeps_sign ? l.shift_right(x.high, 31, true) : zero;
    if (amount >= 32) return {rest == 0 ? x.high : l.shift_right(x.high, rest, keeps_sign), filling};
    return {either_bits(l, l.shift_right(x.low, rest), l.shift_left(x.high, 32 - rest)),
            l.shift_right(x.high, rest, keeps_sign)};
}

Words shifted_words(Lowering& l, Words x, Words amount, Shift what) {
    const bool keeps_sign = what == Shift::arithmetic_right, left = what == Shift::left;
    const Id number = l.with_rank_of(amount.low, x.low);
    x = {l.with_rank_of(x.low, number), l.with_rank_of(x.high, number)};
    const Id rest = l.bits_and(number, 31);
    const Id other = minus_32(l, l.splat_int(rest, 31), rest);  // one less than 32 - rest, which may be 32
    const auto shift = [&](Op op, Id a, Id by) { return l.binary(op, a, by, DType::i32); };
    const Op right = keeps_sign ? Op::arithmetic_right_shift : Op::logical_right_shift;
    const Id zero = l.splat_int(rest, 0), filling = keeps_sign ? l.shift_right(x.high, 31, true) : zero;
    Words few, many;
    if (left) {
        const Id low = shift(Op::logical_left_shift, x.low, rest);
        const Id carried = shift(Op::logical_right_shift, l.shift_right(x.low, 1), other);
        few = {low, either_bits(l, shift(Op::logical_left_shift, x.high, rest), carried)};
        many = {zero, low};
    } else {
        const Id high = shift(right, x.high, rest);
        const Id carried = shift(Op::logical_left_shift, l.shift_left(x.high, 1), other);
        few = {either_bits(l, shift(Op::logical_right_shift, x.low, rest), carried), high};
        many = {high, filling};
    }
    const Id by_word = l.logical_not(is_equal(l, l.bits_and(number, 32), l.splat_int(number, 0)));
    const Words within = chosen_words(l, by_word, many, few);
    const Id beyond =
        l.logical_not(is_equal(l, either_bits(l, l.bits_and(number, -64), amount.high), l.splat_int(number, 0)));
    return chosen_words(l, beyond, {filling, filling}, within);
}

// ---- floats -------------------------------------------------------------------------------------------------------

Id float_of_unsigned(Lowering& l, Id x) {
    const Id high = l.cast(l.shift_right(x, 16), DType::fp32), low = l.cast(l.bits_and(x, 0xffff), DType::fp32);
    return l.binary(Op::add, multiply(l, high, float_splat(l, high, 65536)), low, DType::fp32);
}

// Moved up until the highest bit is set: all that counts is in the upper word then, but whether anything is below.
Id float_of_words(Lowering& l, Words x, bool is_signed, DType to) {
    const Id negative = is_signed ? is_below(l, x.high, l.splat_int(x.high, 0)) : no_id;
    if (is_signed) x = size_of_words(l, x, negative);
    const Id small = is_equal(l, x.high, l.splat_int(x.high, 0));
    const Words word = chosen_words(l, small, {l.splat_int(x.low, 0), x.low}, x);
    const Id zeros = l.unary(Op::clz, word.high);
    const Words top = shifted_words(l, word, {zeros, l.splat_int(zeros, 0)}, Shift::left);
    const Id rest = l.logical_not(is_equal(l, top.low, l.splat_int(top.low, 0)));
    Id digits = either_bits(l, top.high, of_flag(l, rest));
    if (to != DType::fp32) {
        // A last bit that tells of all below it: what is rounded again is rounded as if it were the first time.
        const Id below = l.logical_not(is_equal(l, l.bits_and(digits, 0xff), l.splat_int(digits, 0)));
        const Id last = l.select(below, l.splat_int(digits, 0x100), l.splat_int(digits, 0));
        digits = either_bits(l, l.bits_and(digits, -256), last);
    }
    const Id power = minus_32(l, l.select(small, l.splat_int(zeros, 127), l.splat_int(zeros, 127 + 32)), zeros);
    Id real = multiply(l, float_of_unsigned(l, digits), l.bitcast(l.shift_left(power, 23), DType::fp32));
    const Id none = is_equal(l, either_bits(l, x.low, x.high), l.splat_int(x.low, 0));
    real = l.select(none, float_splat(l, real, 0), real);
    if (is_signed) real = l.select(negative, l.negated(real), real);
    return l.cast(real, to);
}

Words words_of_float(Lowering& l, Id x, bool is_signed) {
    const Id zero = float_splat(l, x, 0), negative = is_below(l, x, zero);
    const double most = is_signed ? 0x1p63 : 0x1p64;
    const Id size = is_signed ? l.unary(Op::abs, x) : l.select(negative, zero, x);
    const Id large = l.binary(Op::greater_equal, size, float_splat(l, x, most), DType::boolean);
    const Id usable = l.select(l.binary(Op::logical_or, large, is_nan(l, x), DType::boolean), zero, size);
    const Words words = words_of_whole(l, usable);
    if (!is_signed) return chosen_words(l, large, words_of_number(l, words.low, ~std::uint64_t{0}), words);
    constexpr auto greatest = std::uint64_t{0x7fffffffffffffff};
    const Words end =
        chosen_words(l, negative, words_of_number(l, words.low, greatest + 1), words_of_number(l, words.low, greatest));
    return chosen_words(l, large, end, size_of_words(l, words, negative));
}

// ---- other --------------------------------------------------------------------------------------------------------

Tensor saturated_32(Lowering& l, const Tensor& x) {
    if (!x.is_pair()) return x;
    const bool is_signed = is_signed_integer(x.element);
    Tensor result{x.element, no_id, no_id, whole_range(x.element)};
    const Id most = l.splat_int(x.id, 0x7fffffff), least = l.splat_int(x.id, sign_32);
    const Id zero = l.splat_int(x.id, 0);
    const Id expected = is_signed ? l.shift_right(x.id, 31, true) : zero;
    Id fits = is_equal(l, x.other, expected);
    if (!is_signed)
        fits = l.binary(Op::logical_and, fits, l.binary(Op::greater_equal, x.id, zero, DType::boolean), DType::boolean);
    const Id end = is_signed ? l.select(is_below(l, x.other, zero), least, most) : most;
    result.id = l.select(fits, x.id, end);
    return result;
}

Quarters quarters_of(Lowering& l, Words x) {
    return {l.bits_and(x.low, 0xffff), l.shift_right(x.low, 16), l.bits_and(x.high, 0xffff), l.shift_right(x.high, 16)};
}

Words words_of_sums(Lowering& l, const Quarters& sums) {
    const Id first = plus_32(l, sums[1], l.shift_right(sums[0], 16));
    const Id second = plus_32(l, sums[2], l.shift_right(first, 16));
    const Id third = plus_32(l, sums[3], l.shift_right(second, 16));
    return {either_bits(l, l.bits_and(sums[0], 0xffff), l.shift_left(first, 16)),
            either_bits(l, l.bits_and(second, 0xffff), l.shift_left(third, 16))};
}

}  // namespace tosavk::stablehlo

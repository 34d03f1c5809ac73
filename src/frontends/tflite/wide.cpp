#include "frontends/tflite/wide.hpp"

#include <array>
#include <limits>

namespace tosavk::wide {

namespace {

constexpr DType i32 = DType::i32, real = DType::fp32, truth = DType::boolean;

ValueId of_two(Lowering& l, Op op, ValueId a, ValueId b) { return l.add(op, {a, b}, i32); }
ValueId splat_int(Lowering& l, ValueId like, std::int64_t v) { return l.splat(like, i32, static_cast<double>(v)); }
ValueId splat_real(Lowering& l, ValueId like, double v) { return l.splat(like, real, v); }
ValueId masked(Lowering& l, ValueId a, std::int64_t bits) {
    return of_two(l, Op::bitwise_and, a, splat_int(l, a, bits));
}
ValueId moved_right(Lowering& l, ValueId a, int n) { return of_two(l, Op::logical_right_shift, a, splat_int(l, a, n)); }
ValueId moved_left(Lowering& l, ValueId a, int n) { return of_two(l, Op::logical_left_shift, a, splat_int(l, a, n)); }
ValueId is_above(Lowering& l, ValueId a, ValueId b) { return l.add(Op::greater, {a, b}, truth); }
ValueId is_same(Lowering& l, ValueId a, ValueId b) { return l.add(Op::equal, {a, b}, truth); }
ValueId opposite(Lowering& l, ValueId a) { return l.add(Op::logical_not, {a}, truth); }
ValueId select_one(Lowering& l, ValueId condition, ValueId a, ValueId b) {
    return l.add(Op::select, {condition, a, b}, l.type(a));
}
ValueId flag(Lowering& l, ValueId condition) { return l.cast(condition, i32); }

ValueId sign_flipped(Lowering& l, ValueId a) {
    return of_two(l, Op::bitwise_xor, a, splat_int(l, a, std::numeric_limits<std::int32_t>::min()));
}
/// As unsigned numbers: a < b.
ValueId unsigned_less(Lowering& l, ValueId a, ValueId b) { return is_above(l, sign_flipped(l, b), sign_flipped(l, a)); }

// By halves of 16 bits, none of whose sums leaves 32.
ValueId upper_of_product(Lowering& l, ValueId a, ValueId b) {
    const ValueId a0 = masked(l, a, 0xffff), a1 = moved_right(l, a, 16);
    const ValueId b0 = masked(l, b, 0xffff), b1 = moved_right(l, b, 16);
    const ValueId low = l.mul(a0, b0, i32), first = l.mul(a0, b1, i32), second = l.mul(a1, b0, i32);
    const ValueId halves = of_two(l, Op::add, masked(l, first, 0xffff), masked(l, second, 0xffff));
    const ValueId middle = of_two(l, Op::add, moved_right(l, low, 16), halves);
    const ValueId upper = of_two(l, Op::add, moved_right(l, first, 16), moved_right(l, second, 16));
    return of_two(l, Op::add, l.mul(a1, b1, i32), of_two(l, Op::add, upper, moved_right(l, middle, 16)));
}

Words size_of_number(Lowering& l, const Words& a, ValueId negative) {
    return chosen(l, negative, difference(l, number(l, a.low, 0), a), a);
}

ValueId float_of_unsigned(Lowering& l, ValueId x) {
    const ValueId high = l.cast(moved_right(l, x, 16), real), low = l.cast(masked(l, x, 0xffff), real);
    return l.add(Op::add, {l.mul(high, splat_real(l, high, 65536), real), low}, real);
}

/// Of a whole fp32 from 0 to below 2^32.
ValueId unsigned_of_float(Lowering& l, ValueId x) {
    const ValueId half = splat_real(l, x, 0x1p31), large = l.add(Op::greater_equal, {x, half}, truth);
    const ValueId whole = l.cast(select_one(l, large, l.add(Op::sub, {x, half}, real), x), i32);
    return select_one(l, large, sign_flipped(l, whole), whole);
}

}  // namespace

Words extended(Lowering& l, ValueId narrow) {
    return {narrow, of_two(l, Op::arithmetic_right_shift, narrow, splat_int(l, narrow, 31))};
}

Words number(Lowering& l, ValueId like, std::int64_t v) {
    return {splat_int(l, like, static_cast<std::int32_t>(v)), splat_int(l, like, static_cast<std::int32_t>(v >> 32))};
}

void match(Lowering& l, Words& a, Words& b) {
    l.match_ranks(a.low, b.low);
    l.match_ranks(a.high, b.high);
}

Words sum(Lowering& l, const Words& a, const Words& b) {
    const ValueId low = of_two(l, Op::add, a.low, b.low), carry = flag(l, unsigned_less(l, low, a.low));
    return {low, of_two(l, Op::add, of_two(l, Op::add, a.high, b.high), carry)};
}

Words difference(Lowering& l, const Words& a, const Words& b) {
    const ValueId borrow = flag(l, unsigned_less(l, a.low, b.low));
    return {of_two(l, Op::sub, a.low, b.low), of_two(l, Op::sub, of_two(l, Op::sub, a.high, b.high), borrow)};
}

Words product(Lowering& l, const Words& a, const Words& b) {
    const ValueId crossed = of_two(l, Op::add, l.mul(a.low, b.high, i32), l.mul(a.high, b.low, i32));
    return {l.mul(a.low, b.low, i32), of_two(l, Op::add, upper_of_product(l, a.low, b.low), crossed)};
}

Words chosen(Lowering& l, ValueId condition, const Words& a, const Words& b) {
    return {select_one(l, condition, a.low, b.low), select_one(l, condition, a.high, b.high)};
}

ValueId equal(Lowering& l, const Words& a, const Words& b) {
    return l.add(Op::logical_and, {is_same(l, a.low, b.low), is_same(l, a.high, b.high)}, truth);
}

ValueId below(Lowering& l, const Words& a, const Words& b) {
    const ValueId lower = l.add(Op::logical_and, {is_same(l, a.high, b.high), unsigned_less(l, a.low, b.low)}, truth);
    return l.add(Op::logical_or, {is_above(l, b.high, a.high), lower}, truth);
}

Words of_float(Lowering& l, ValueId x) {
    const ValueId zero = splat_real(l, x, 0), negative = is_above(l, zero, x);
    const ValueId size = l.add(Op::abs, {x}, real);
    const ValueId fits = is_above(l, splat_real(l, x, 0x1p63), size);  // NaN does not
    const ValueId whole = l.add(Op::floor, {select_one(l, fits, size, zero)}, real);
    const ValueId upper = l.add(Op::floor, {l.mul(whole, splat_real(l, x, 0x1p-32), real)}, real);
    const ValueId lower = l.add(Op::sub, {whole, l.mul(upper, splat_real(l, x, 0x1p32), real)}, real);
    const Words words{unsigned_of_float(l, lower), unsigned_of_float(l, upper)};
    const Words end = chosen(l, negative, number(l, words.low, std::numeric_limits<std::int64_t>::min()),
                             number(l, words.low, std::numeric_limits<std::int64_t>::max()));
    return chosen(l, fits, size_of_number(l, words, negative), end);
}

// Moved up until the highest bit is set: all that counts is in the upper word then, but whether anything is below.
ValueId to_float(Lowering& l, const Words& x) {
    const ValueId zero = splat_int(l, x.high, 0), negative = is_above(l, zero, x.high);
    const Words size = size_of_number(l, x, negative);
    const ValueId small = is_same(l, size.high, zero);
    const Words word = chosen(l, small, {zero, size.low}, size);
    const ValueId zeros = masked(l, l.add(Op::clz, {word.high}, i32), 31);  // 32 of 0, which comes out as 0 anyway
    const ValueId rest = of_two(l, Op::sub, splat_int(l, zeros, 31), zeros);
    const ValueId carried = of_two(l, Op::logical_right_shift, moved_right(l, word.low, 1), rest);
    const ValueId top = of_two(l, Op::bitwise_or, of_two(l, Op::logical_left_shift, word.high, zeros), carried);
    const ValueId below_top = of_two(l, Op::logical_left_shift, word.low, zeros);
    const ValueId sticky = flag(l, opposite(l, is_same(l, below_top, zero)));
    const ValueId digits = of_two(l, Op::bitwise_or, top, sticky);
    const ValueId power =
        of_two(l, Op::sub, select_one(l, small, splat_int(l, zeros, 127), splat_int(l, zeros, 159)), zeros);
    const ValueId scale = l.add(Op::bitcast, {moved_left(l, power, 23)}, real);
    const ValueId value = l.mul(float_of_unsigned(l, digits), scale, real);
    const ValueId none = is_same(l, of_two(l, Op::bitwise_or, x.low, x.high), zero);
    const ValueId size_as_float = select_one(l, none, splat_real(l, value, 0), value);
    return select_one(l, negative, l.add(Op::sub, {splat_real(l, value, 0), size_as_float}, real), size_as_float);
}

ValueId saturated(Lowering& l, const Words& x) {
    const ValueId fits = is_same(l, x.high, extended(l, x.low).high);
    const ValueId negative = is_above(l, splat_int(l, x.high, 0), x.high);
    const ValueId end = select_one(l, negative, splat_int(l, x.low, std::numeric_limits<std::int32_t>::min()),
                                   splat_int(l, x.low, std::numeric_limits<std::int32_t>::max()));
    return select_one(l, fits, x.low, end);
}

// Four numbers of 16 bits, whose sums stay within 31.
Words sum_along(Lowering& l, const Words& x, std::size_t axis) {
    Attributes along;
    along.axis = static_cast<std::int32_t>(axis);
    std::array quarters{masked(l, x.low, 0xffff), moved_right(l, x.low, 16), masked(l, x.high, 0xffff),
                        moved_right(l, x.high, 16)};
    for (ValueId& quarter : quarters) quarter = l.add(Op::reduce_sum, {quarter}, i32, along);
    const ValueId first = of_two(l, Op::add, quarters[1], moved_right(l, quarters[0], 16));
    const ValueId second = of_two(l, Op::add, quarters[2], moved_right(l, first, 16));
    const ValueId third = of_two(l, Op::add, quarters[3], moved_right(l, second, 16));
    return {of_two(l, Op::bitwise_or, masked(l, quarters[0], 0xffff), moved_left(l, first, 16)),
            of_two(l, Op::bitwise_or, masked(l, second, 0xffff), moved_left(l, third, 16))};
}

}  // namespace tosavk::wide

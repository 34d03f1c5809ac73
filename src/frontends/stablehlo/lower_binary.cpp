// Operations of several operands, element by element.
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

Range products(Range a, Range b) {
    const auto [least, most] = std::minmax({saturated_product(a.least, b.least), saturated_product(a.least, b.most),
                                            saturated_product(a.most, b.least), saturated_product(a.most, b.most)});
    return {least, most};
}

bool is_64(const Tensor& x) { return is_integer_element(x.element) && bits_of(x.element) == 64; }

/// Whether an operation whose result lies in `range` needs pairs of words.
bool needs_words(const Tensor& a, const Tensor& b, Range range) {
    return is_64(a) && (a.is_pair() || b.is_pair() || !whole_range(a.element).holds(range));
}

/// What a range says of unsigned numbers where they may be larger than an int64.
Range unsigned_range(const Tensor& a, Range range) {
    const bool leaves = range.least < 0 || range.most == std::numeric_limits<std::int64_t>::max();
    return a.element == Element::u64 && leaves ? pair_range(a.element) : range;
}

enum class Arithmetic { add, subtract, multiply };

Tensor computed(Lowering& l, Arithmetic what, const Tensor& a, const Tensor& b) {
    constexpr Op ops[] = {Op::add, Op::sub, Op::mul};
    const Op op = ops[static_cast<std::size_t>(what)];
    if (a.element == Element::pred) {
        if (what == Arithmetic::subtract) l.fail("there is no difference of i1");
        const Op logical = what == Arithmetic::add ? Op::logical_or : Op::logical_and;
        return {a.element, l.binary(logical, a.id, b.id, DType::boolean), no_id, {0, 1}};
    }
    if (a.is_complex()) {
        if (what == Arithmetic::multiply) {
            const Complex r = complex_product(l, {a.id, a.other}, {b.id, b.other});
            return {a.element, r.re, r.im, {}};
        }
        return {a.element, l.binary(op, a.id, b.id, DType::fp32), l.binary(op, a.other, b.other, DType::fp32), {}};
    }
    Range range;
    switch (what) {
        case Arithmetic::add:
            range = {saturated_sum(a.range.least, b.range.least), saturated_sum(a.range.most, b.range.most)};
            break;
        case Arithmetic::subtract:
            range = {saturated_difference(a.range.least, b.range.most),
                     saturated_difference(a.range.most, b.range.least)};
            break;
        case Arithmetic::multiply: range = products(a.range, b.range); break;
    }
    if (is_64(a)) {
        range = is_unbounded(a) || is_unbounded(b) ? pair_range(a.element) : unsigned_range(a, range);
        if (a.element == Element::i64 && (range.least == std::numeric_limits<std::int64_t>::min() ||
                                          range.most == std::numeric_limits<std::int64_t>::max()))
            range = pair_range(a.element);
    }
    if (needs_words(a, b, range)) {
        const Words x = words_of(l, a), y = words_of(l, b);
        const auto combined = what == Arithmetic::add      ? sum_of_words
                            : what == Arithmetic::subtract ? difference_of_words
                                                           : product_of_words;
        return from_words(l, combined(l, x, y), a.element, range);
    }
    const Id x = l.wide(a), y = l.wide(b);
    return l.narrow(l.binary(op, x, y, l.type(x)), a.element, range);
}
void lower_arithmetic(Lowering& l, Arithmetic what) { l.set(computed(l, what, l.given(0), l.given(1))); }
void lower_add(Lowering& l) { lower_arithmetic(l, Arithmetic::add); }
void lower_subtract(Lowering& l) { lower_arithmetic(l, Arithmetic::subtract); }
void lower_multiply(Lowering& l) { lower_arithmetic(l, Arithmetic::multiply); }

Id with_attributes(Lowering& l, Op op, Id a, Id b, const tosavk::Attributes& attrs) {
    a = l.with_rank_of(a, b), b = l.with_rank_of(b, a);
    return l.add(op, {a, b}, l.type(a), attrs);
}

/// Of 64-bit integers, in words.
Division divided(Lowering& l, const Tensor& a, const Tensor& b) {
    const std::int64_t most =
        std::max(-std::max(a.range.least, -std::numeric_limits<std::int64_t>::max()), a.range.most);
    const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most))) + 1;
    return division_of_words(l, words_of(l, a), words_of(l, b), a.element == Element::i64, std::min(bits, 64));
}

void lower_divide(Lowering& l) {
    const Tensor a = l.given(0), b = l.given(1);
    if (a.is_complex()) {
        const Complex r = complex_quotient(l, {a.id, a.other}, {b.id, b.other});
        return l.set({a.element, r.re, r.im, {}});
    }
    tosavk::Attributes attrs;
    Range range;
    if (is_integer_element(a.element)) {
        attrs.by_zero = ByZero::ones;
        attrs.is_unsigned = a.element == Element::u32;
        const std::int64_t least = std::max(a.range.least, -std::numeric_limits<std::int64_t>::max());
        const std::int64_t most = std::max(std::abs(least), std::abs(a.range.most));
        const bool up = a.range.least >= 0 && b.range.least >= 0;
        range = {up ? 0 : -most, most};
        // Only -1 makes more of the least number than its type has.
        const bool may_negate = b.range.least <= -1 && b.range.most >= -1;
        if (!may_negate && most > max_of(DType::i32) && whole_range(a.element).holds(a.range)) range.most = most - 1;
        bool leaves = a.is_pair() || b.is_pair();
        if (b.range.least > 1) range = {range.least / b.range.least, range.most / b.range.least};
        if (is_unbounded(a) && b.range.least > 1)
            range.most = static_cast<std::int64_t>(~std::uint64_t{0} / static_cast<std::uint64_t>(b.range.least));
        if (b.range.least <= 0 && b.range.most >= 0) {  // all ones
            leaves = leaves || a.element == Element::u64;
            if (a.element == Element::u64) range = pair_range(a.element);
            else if (is_unsigned_integer(a.element)) range.most = whole_range(a.element).most;
            else range.least = std::min<std::int64_t>(range.least, -1);
        }
        const bool may_turn = most == -min_of(DType::i32) && b.range.least <= -1 && b.range.most >= -1;
        if (is_64(a) && (leaves || may_turn)) {
            const bool all = a.is_pair() && b.range.least <= 0;
            return l.set(from_words(l, divided(l, a, b).quotient, a.element,
                                    all || may_turn ? pair_range(a.element) : unsigned_range(a, range)));
        }
    }
    const Id quotient = with_attributes(l, Op::divide, l.wide(a), l.wide(b), attrs);
    l.set(l.narrow(quotient, a.element, range));
}

void lower_remainder(Lowering& l) {
    const Tensor a = l.given(0), b = l.given(1);
    if (a.is_complex()) l.unsupported("complex numbers are not supported");
    tosavk::Attributes attrs;
    if (is_integer_element(a.element)) {
        attrs.by_zero = ByZero::dividend;
        attrs.is_unsigned = a.element == Element::u32;
    }
    Range range{std::min<std::int64_t>(0, a.range.least), std::max<std::int64_t>(0, a.range.most)};
    if (is_64(a) && (a.is_pair() || b.is_pair())) {
        if (b.range.least > 0) {  // and smaller than the divisor
            range.least = std::max(range.least, -(b.range.most - 1));
            if (!is_unbounded(b)) range.most = std::min(range.most, b.range.most - 1);
        }
        return l.set(from_words(l, divided(l, a, b).remainder, a.element, range));
    }
    l.set(l.narrow(with_attributes(l, Op::remainder, l.wide(a), l.wide(b), attrs), a.element, range));
}

/// By squaring, a bit of the exponent each turn.
Words power_in_turns(Lowering& l, const Tensor& a, const Tensor& b, int bits) {
    const auto whole = [&](Words w) { return from_words(l, w, Element::u64, pair_range(Element::u64)); };
    const Tensor turn{Element::i32, l.zeros(DType::i32, {}), no_id, whole_range(Element::i32)};
    const Words base = words_of(l, a);
    const Id zero = l.zeros(DType::i32, l.shape(a.id));
    const Words one{l.binary(Op::add, zero, l.splat_int(zero, 1), DType::i32), zero};
    const auto goes_on = [&](Lowering& inner, std::vector<Tensor> x) {
        const Id flag = is_below(inner, x[0].id, inner.splat_int(x[0].id, bits));
        return std::vector<Tensor>{{Element::pred, flag, no_id, {0, 1}}};
    };
    const auto step = [](Lowering& inner, std::vector<Tensor> x) {
        const Words result = words_of(inner, x[1]), factor = words_of(inner, x[2]), rest = words_of(inner, x[3]);
        const Id set = is_equal(inner, inner.bits_and(rest.low, 1), inner.splat_int(rest.low, 1));
        const auto put = [&](std::size_t k, Words w) { x[k].id = w.low, x[k].other = w.high; };
        put(1, chosen_words(inner, set, product_of_words(inner, result, factor), result));
        put(2, product_of_words(inner, factor, factor));
        put(3, shifted_words(inner, rest, 1, Shift::logical_right));
        x[0].id = inner.binary(Op::add, x[0].id, inner.splat_int(x[0].id, 1), DType::i32);
        return x;
    };
    const std::vector<Tensor> done = l.loop({turn, whole(one), whole(base), whole(words_of(l, b))}, goes_on, step);
    return words_of(l, done[1]);
}

/// By squaring, in words; the base's sign is its own.
void lower_words_power(Lowering& l, const Tensor& a, const Tensor& b) {
    Words base = words_of(l, a);
    const Words exponent = words_of(l, b), first = base, one = words_of_number(l, base.low, 1);
    const bool is_signed = a.element == Element::i64;
    const std::int64_t most = std::max<std::int64_t>(b.range.most, 1);
    const int bits =
        b.is_pair() ? (is_signed ? 63 : 64) : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most)));
    Words result = one;
    const bool in_turns = bits > 8 && !l.is_lifted();
    if (in_turns) result = power_in_turns(l, a, b, bits);
    for (int bit = 0; bit < bits && !in_turns; ++bit) {
        const Id word = bit < 32 ? exponent.low : exponent.high;
        const Id set = is_equal(l, l.bits_and(l.shift_right(word, bit & 31), 1), l.splat_int(word, 1));
        result = chosen_words(l, set, product_of_words(l, result, base), result);
        if (bit + 1 < bits) base = product_of_words(l, base, base);
    }
    if (is_signed && b.range.least < 0) {
        const Id odd = is_equal(l, l.bits_and(exponent.low, 1), l.splat_int(exponent.low, 1));
        const Words minus = words_of_number(l, first.low, ~std::uint64_t{0}), zero = words_of_number(l, first.low, 0);
        const Words of_minus = chosen_words(l, odd, minus, one);
        const Words down = chosen_words(l, equal_words(l, first, one), one,
                                        chosen_words(l, equal_words(l, first, minus), of_minus, zero));
        const Id negative = is_below(l, exponent.high, l.splat_int(exponent.high, 0));
        result = chosen_words(l, negative, down, result);
    }
    l.set(from_words(l, result, a.element, pair_range(a.element)));
}

/// By squaring. A negative exponent gives 1 of 1, +-1 of -1, else 0.
void lower_integer_power(Lowering& l, const Tensor& a, const Tensor& b) {
    const int bits = bits_of(a.element);
    const bool is_signed = is_signed_integer(a.element);
    if (bits == 64) return lower_words_power(l, a, b);
    Id base = l.wide(a);
    const Id exponent = l.wide(b), one = l.splat_int(base, 1), zero = l.splat_int(base, 0), first = base;
    Id result = one;
    for (int bit = 0; bit < bits - (is_signed ? 1 : 0); ++bit) {
        const Id set = is_equal(l, l.bits_and(l.shift_right(exponent, bit), 1), l.splat_int(exponent, 1));
        result = l.select(set, multiply(l, result, base), result);
        base = multiply(l, base, base);
    }
    if (is_signed) {
        const Id odd = is_equal(l, l.bits_and(exponent, 1), l.splat_int(exponent, 1));
        const Id minus = l.splat_int(first, -1);
        const Id of_minus = l.select(odd, minus, one);
        const Id inverse = l.select(is_equal(l, first, one), one, l.select(is_equal(l, first, minus), of_minus, zero));
        result = l.select(is_below(l, exponent, l.splat_int(exponent, 0)), inverse, result);
    }
    l.set(l.narrow(result, a.element, {std::numeric_limits<std::int64_t>::min() / 2, 0}));
}

void lower_power(Lowering& l) {
    const Tensor a = l.given(0), b = l.given(1);
    if (is_integer_element(a.element)) return lower_integer_power(l, a, b);
    if (a.is_complex()) {
        const Complex made = complex_power(l, {a.id, a.other}, {b.id, b.other});
        return l.set({a.element, made.re, made.im, {}});
    }
    const bool is_exact = a.element == Element::f32 || a.element == Element::f64;
    l.set(l.narrow(power(l, l.cast(a.id, DType::fp32), l.cast(b.id, DType::fp32), is_exact), a.element));
}

void lower_atan2(Lowering& l) {
    const Tensor a = l.in(0), b = l.in(1);
    if (a.is_complex()) {
        // -i log((b + i a) / sqrt(a^2 + b^2))
        const Complex y{a.id, a.other}, x{b.id, b.other};
        const Complex yy = complex_product(l, y, y), xx = complex_product(l, x, x);
        const auto sum = [&](Id s, Id t) { return l.binary(Op::add, s, t, DType::fp32); };
        const Complex length = complex_sqrt(l, {sum(yy.re, xx.re), sum(yy.im, xx.im)});
        const Complex turned{l.binary(Op::sub, x.re, y.im, DType::fp32), sum(x.im, y.re)};
        const Complex log = complex_log(l, complex_quotient(l, turned, length));
        return l.set({a.element, log.im, l.negated(log.re), {}});
    }
    l.set(l.narrow(atan2(l, l.cast(a.id, DType::fp32), l.cast(b.id, DType::fp32)), a.element));
}

Id complex_below(Lowering& l, const Tensor& a, const Tensor& b) {
    const Id tie = l.binary(Op::logical_and, is_equal(l, a.id, b.id), is_below(l, a.other, b.other), DType::boolean);
    return l.binary(Op::logical_or, is_below(l, a.id, b.id), tie, DType::boolean);
}

Range extreme_range(const Tensor& a, const Tensor& b, bool largest) {
    return largest ? Range{std::max(a.range.least, b.range.least), std::max(a.range.most, b.range.most)}
                   : Range{std::min(a.range.least, b.range.least), std::min(a.range.most, b.range.most)};
}

Tensor extreme(Lowering& l, const Tensor& a, const Tensor& b, bool largest) {
    if (a.element == Element::pred)
        return {
            a.element, l.binary(largest ? Op::logical_or : Op::logical_and, a.id, b.id, DType::boolean), no_id, {0, 1}};
    if (a.is_pair() || b.is_pair()) {
        const Words x = words_of(l, a), y = words_of(l, b);
        const Id first =
            largest ? words_below(l, y, x, a.element == Element::i64) : words_below(l, x, y, a.element == Element::i64);
        return from_words(l, chosen_words(l, first, x, y), a.element, extreme_range(a, b, largest));
    }
    if (a.is_complex()) {
        const Id first = largest ? complex_below(l, b, a) : complex_below(l, a, b);
        return {a.element, l.select(first, a.id, b.id), l.select(first, a.other, b.other), {}};
    }
    const Id x = ordered(l, l.wide(a), a.element), y = ordered(l, l.wide(b), a.element);
    const Id r = ordered(l, l.binary(largest ? Op::maximum : Op::minimum, x, y, l.type(x)), a.element);
    return l.narrow(r, a.element, extreme_range(a, b, largest));
}
void lower_maximum(Lowering& l) { l.set(extreme(l, l.given(0), l.given(1), true)); }
void lower_minimum(Lowering& l) { l.set(extreme(l, l.given(0), l.given(1), false)); }
void lower_clamp(Lowering& l) { l.set(extreme(l, extreme(l, l.given(1), l.given(0), true), l.given(2), false)); }

void lower_bits(Lowering& l, Op op, Op logical) {
    const Tensor a = l.given(0), b = l.given(1);
    if (a.element == Element::pred)
        return l.set({a.element, l.binary(logical, a.id, b.id, DType::boolean), no_id, {0, 1}});
    // A number that is not below 0 bounds what is and-ed with it.
    Range range = a.is_pair() || b.is_pair() ? pair_range(a.element) : whole_range(a.element);
    if (op == Op::bitwise_and && (a.range.least >= 0 || b.range.least >= 0)) {
        range = {0, a.range.least < 0   ? b.range.most
                    : b.range.least < 0 ? a.range.most
                                        : std::min(a.range.most, b.range.most)};
    } else if (a.range.least >= 0 && b.range.least >= 0) {
        const auto most = static_cast<std::uint64_t>(std::max(a.range.most, b.range.most));
        range = {0, static_cast<std::int64_t>(~std::uint64_t{0} >> std::countl_zero(most | 1))};
    }
    if (a.is_pair() || b.is_pair()) {
        const Words x = words_of(l, a), y = words_of(l, b);
        return l.set(from_words(l, {l.binary(op, x.low, y.low, DType::i32), l.binary(op, x.high, y.high, DType::i32)},
                                a.element, range));
    }
    l.set(l.ranged(l.binary(op, a.id, b.id, l.type(a.id)), a.element, range));
}
void lower_and(Lowering& l) { lower_bits(l, Op::bitwise_and, Op::logical_and); }
void lower_or(Lowering& l) { lower_bits(l, Op::bitwise_or, Op::logical_or); }
void lower_xor(Lowering& l) { lower_bits(l, Op::bitwise_xor, Op::logical_xor); }

/// Of 64-bit integers. A known amount is one for all of them.
void lower_words_shift(Lowering& l, const Tensor& a, const Tensor& b, Shift what) {
    const Words x = words_of(l, a);
    const bool is_signed = a.element == Element::i64, one = b.range.least == b.range.most && !b.is_pair();
    if (!one) {
        const Range range = what == Shift::left || a.range.least < 0 ? pair_range(a.element) : Range{0, a.range.most};
        const Range kept = what == Shift::arithmetic_right ? a.range.joined({0, 0}) : range;
        return l.set(from_words(l, shifted_words(l, x, words_of(l, b), what), a.element,
                                a.element == Element::u64 && what == Shift::arithmetic_right ? range : kept));
    }
    const std::int64_t amount = b.range.least;
    if (amount < 0 || amount > 63) {
        const bool fills = what == Shift::arithmetic_right;
        const Id zero = l.tile_to(l.splat_int(x.low, 0), l.shape(x.low));
        const Words none{zero, zero};
        return l.set(from_words(l, fills ? shifted_words(l, shifted_words(l, x, 63, what), 1, what) : none, a.element,
                                fills ? pair_range(a.element) : Range{0, 0}));
    }
    const int by = static_cast<int>(amount);
    Range range = pair_range(a.element);
    if (what == Shift::left) {
        range = products(a.range, {std::int64_t{1} << std::min(by, 62), std::int64_t{1} << std::min(by, 62)});
        if (by > 62 || range.least < -(std::int64_t{1} << 62) || range.most >= std::int64_t{1} << 62)
            range = pair_range(a.element);
    } else if (what == Shift::arithmetic_right && is_signed) {
        range = {a.range.least >> by, a.range.most >> by};
    } else if (what == Shift::logical_right && by > 0) {
        const auto most =
            is_unbounded(a) || a.range.least < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(a.range.most);
        range = {0, static_cast<std::int64_t>(most >> by)};
    }
    l.set(from_words(l, shifted_words(l, x, by, what), a.element, range));
}

/// Whether the number shifted, in 32 bits, is that of 64.
bool shifts_within_word(const Tensor& a, const Tensor& b, Shift what) {
    if (a.is_pair() || b.is_pair()) return false;
    if (what == Shift::left)
        return b.range.least >= 0 && b.range.most <= 31 &&
               whole_range(a.element).holds(products(a.range, {1, std::int64_t{1} << b.range.most}));
    return a.range.least >= 0 || what == Shift::arithmetic_right;
}

void lower_shift(Lowering& l, Shift what) {
    const Tensor a = l.given(0), b = l.given(1);
    const int bits = bits_of(a.element);
    if (bits == 64 && !shifts_within_word(a, b, what)) return lower_words_shift(l, a, b, what);
    Id x = l.wide(a), amount = l.wide(b);
    x = l.with_rank_of(x, amount), amount = l.with_rank_of(amount, x);
    const bool keeps_sign = what == Shift::arithmetic_right;
    const int most = std::min(bits, 32);
    // Too large as an unsigned number; a negative one of a narrow type is so, too.
    const Id many = l.binary(Op::logical_or, is_below(l, amount, l.splat_int(amount, 0)),
                             is_below(l, l.splat_int(amount, most - 1), amount), DType::boolean);
    const Id usable = l.select(many, l.splat_int(amount, keeps_sign ? most - 1 : 0), amount);
    Range range = whole_range(a.element);
    if (bits == 64) {
        if (what == Shift::left) range = products(a.range, {1, std::int64_t{1} << b.range.most});
        else range = {std::min<std::int64_t>(0, a.range.least), std::max<std::int64_t>(0, a.range.most)};
    }
    Id r = no_id;
    if (keeps_sign) {
        // The sign of an unsigned number is its highest bit.
        if (is_unsigned_integer(a.element) && bits < 32) x = l.shift_right(l.shift_left(x, 32 - bits), 32 - bits, true);
        r = l.binary(Op::arithmetic_right_shift, x, usable, DType::i32);
        if (is_unsigned_integer(a.element) && bits < 8) r = l.bits_and(r, (1 << bits) - 1);
    } else {
        if (what == Shift::logical_right && is_signed_integer(a.element) && bits < 32)
            x = l.bits_and(x, (std::int64_t{1} << bits) - 1);
        const Op op = what == Shift::left ? Op::logical_left_shift : Op::logical_right_shift;
        r = l.select(many, l.splat_int(x, 0), l.binary(op, x, usable, DType::i32));
    }
    const bool wraps = bits < 8;
    l.set(l.narrow(r, a.element, wraps ? Range{-256, 256} : range));
}
void lower_shift_left(Lowering& l) { lower_shift(l, Shift::left); }
void lower_shift_right_logical(Lowering& l) { lower_shift(l, Shift::logical_right); }
void lower_shift_right_arithmetic(Lowering& l) { lower_shift(l, Shift::arithmetic_right); }

/// A signed number in the order of all floats, NaN included: the magnitude of negative ones is reversed.
Id total_key(Lowering& l, Id x) {
    const Id bits = l.bitcast(l.cast(x, DType::fp32), DType::i32);
    return l.binary(Op::bitwise_xor, bits, l.bits_and(l.shift_right(bits, 31, true), 0x7fffffff), DType::i32);
}

void lower_compare(Lowering& l) {
    const Tensor a = l.given(0), b = l.given(1);
    const std::string direction = l.keyword("comparison_direction");
    const auto finish = [&](Id id) { l.set({Element::pred, id, no_id, {0, 1}}); };
    const bool negated = direction == "NE";
    const auto equality = [&](Id same) { finish(negated ? l.logical_not(same) : same); };
    const bool asks_equal = negated || direction == "EQ";
    const bool swapped = direction == "LT" || direction == "LE";
    const bool strict = direction == "LT" || direction == "GT";
    if (a.is_pair() || b.is_pair()) {
        const Words x = words_of(l, a), y = words_of(l, b);
        if (asks_equal) return equality(equal_words(l, x, y));
        const bool is_signed = a.element == Element::i64;
        if (strict) return finish(swapped ? words_below(l, x, y, is_signed) : words_below(l, y, x, is_signed));
        return finish(l.logical_not(swapped ? words_below(l, y, x, is_signed) : words_below(l, x, y, is_signed)));
    }
    if (a.is_complex()) {
        if (asks_equal)
            return equality(
                l.binary(Op::logical_and, is_equal(l, a.id, b.id), is_equal(l, a.other, b.other), DType::boolean));
        const Tensor &x = swapped ? a : b, &y = swapped ? b : a;
        const Id below = complex_below(l, x, y);
        if (strict) return finish(below);
        const Id same =
            l.binary(Op::logical_and, is_equal(l, a.id, b.id), is_equal(l, a.other, b.other), DType::boolean);
        return finish(l.binary(Op::logical_or, below, same, DType::boolean));
    }
    if (a.element == Element::pred) {
        const Id differ = l.binary(Op::logical_xor, a.id, b.id, DType::boolean);
        if (asks_equal) return finish(negated ? differ : l.logical_not(differ));
        const Id small = swapped ? a.id : b.id, large = swapped ? b.id : a.id;
        return finish(strict ? l.binary(Op::logical_and, large, l.logical_not(small), DType::boolean)
                             : l.binary(Op::logical_or, large, l.logical_not(small), DType::boolean));
    }
    Id x = l.wide(a), y = l.wide(b);
    if (l.keyword("compare_type") == "TOTALORDER" && !is_integer_element(a.element))
        x = total_key(l, x), y = total_key(l, y);
    if (asks_equal) return equality(is_equal(l, x, y));
    x = ordered(l, x, a.element), y = ordered(l, y, a.element);
    if (swapped) std::swap(x, y);
    finish(l.binary(strict ? Op::greater : Op::greater_equal, x, y, DType::boolean));
}

void lower_select(Lowering& l) {
    const Tensor condition = l.in(0);
    Tensor a = l.given(1), b = l.given(2);
    l.make_alike(a, b);
    Tensor result = a;
    result.range = a.range.joined(b.range);
    result.id = l.select(condition.id, a.id, b.id);
    if (a.has_two()) result.other = l.select(condition.id, a.other, b.other);
    l.set(result);
}

void lower_complex(Lowering& l) {
    const Id re = l.with_rank_of(l.in(0).id, l.in(1).id);
    l.set({l.result_type().element, re, l.with_rank_of(l.in(1).id, re), {}});
}

}  // namespace

Id ordered(Lowering& l, Id id, Element element) {
    return element == Element::u32 ? l.bits_xor(id, min_of(DType::i32)) : id;
}

Tensor product(Lowering& l, const Tensor& a, const Tensor& b) { return computed(l, Arithmetic::multiply, a, b); }

std::span<const LoweringRow> binary_rows() {
    static constexpr LoweringRow rows[] = {
        {"add", lower_add},
        {"and", lower_and},
        {"atan2", lower_atan2},
        {"clamp", lower_clamp},
        {"compare", lower_compare},
        {"complex", lower_complex},
        {"divide", lower_divide},
        {"maximum", lower_maximum},
        {"minimum", lower_minimum},
        {"multiply", lower_multiply},
        {"or", lower_or},
        {"power", lower_power},
        {"remainder", lower_remainder},
        {"select", lower_select},
        {"shift_left", lower_shift_left},
        {"shift_right_arithmetic", lower_shift_right_arithmetic},
        {"shift_right_logical", lower_shift_right_logical},
        {"subtract", lower_subtract},
        {"xor", lower_xor},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

// Elements of one type to another.
#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

Id between_floats(Lowering& l, Id id, DType to) {
    const auto apart = [&](DType a, DType b) { return std::minmax(l.type(id), to) == std::minmax(a, b); };
    const bool by_fp32 = apart(DType::bf16, DType::fp16) || apart(DType::fp8e4m3, DType::fp8e5m2);
    return l.cast(by_fp32 ? l.cast(id, DType::fp32) : id, to);
}

/// Exact, or rounded once.
Id float_of_integer(Lowering& l, const Tensor& x, DType to) {
    const Id id = l.wide(x);
    const bool is_small = to == DType::fp8e4m3 || to == DType::fp8e5m2;
    const DType first = is_small ? DType::fp32 : to;
    if (x.element != Element::u32 || x.range.most <= max_of(DType::i32)) return l.cast(l.cast(id, first), to);
    if (to == DType::fp32) return float_of_unsigned(l, id);
    return float_of_words(l, {id, l.splat_int(id, 0)}, false, to);
}

/// Towards zero, within the type's range; 0 of NaN.
Tensor integer_of_float(Lowering& l, const Tensor& x, Element to) {
    Id id = l.cast(x.id, DType::fp32);
    const Id zero = float_splat(l, id, 0);
    id = l.select(is_equal(l, id, id), truncated(l, id), zero);
    if (bits_of(to) == 64) return from_words(l, words_of_float(l, id, to == Element::i64), to, pair_range(to));
    if (to == Element::u32) {
        const Id half = float_splat(l, id, 2147483648.0);
        const Id large = l.binary(Op::greater_equal, id, half, DType::boolean);
        const Id upper = l.bits_xor(l.cast(l.binary(Op::sub, id, half, DType::fp32), DType::i32), min_of(DType::i32));
        // CAST saturates, but 2^31 - 1 above 2^31 is 2^32 - 1 then.
        const Id lower = l.cast(l.binary(Op::maximum, id, zero, DType::fp32), DType::i32);
        return l.ranged(l.select(large, upper, lower), to, whole_range(to));
    }
    const Range whole = whole_range(to);
    if (bits_of(to) < 32) {
        const auto least = static_cast<double>(whole.least), most = static_cast<double>(whole.most);
        id = l.binary(Op::minimum, l.binary(Op::maximum, id, float_splat(l, id, least), DType::fp32),
                      float_splat(l, id, most), DType::fp32);
    }
    return l.narrow(l.cast(id, DType::i32), to, whole);
}

void lower_convert(Lowering& l) {
    Tensor x = l.given(0);
    const Element to = l.result_type().element;
    if (x.element == to) return l.set(x);
    if (x.is_complex() && is_complex_element(to)) {
        l.dtype(to);  // which may not be supported
        x.element = to;
        return l.set(x);
    }
    if (x.is_complex()) x = {Element::f32, x.id, no_id, {}};
    if (!is_complex_element(to)) return l.set(converted(l, x, to));
    Tensor real = converted(l, x, Element::f32);
    l.dtype(to);
    real.element = to;
    real.other = float_splat(l, real.id, 0);
    if (!l.is_lifted()) real.other = l.tile_to(l.with_rank_of(real.other, real.id), l.shape(real.id));
    l.set(real);
}

/// Words of 32 bits side by side in a last dimension of two, and back.
Id side_by_side(Lowering& l, const Tensor& pair) {
    Shape one = l.shape(pair.id);
    one.push_back(1);
    return l.concat({l.reshape(pair.id, one), l.reshape(pair.other, one)}, one.size() - 1);
}

Tensor pair_of(Lowering& l, Id words, Element element) {
    const std::size_t axis = l.shape(words).size() - 1;
    Shape shape = l.shape(words);
    shape.pop_back();
    const auto word = [&](std::int64_t k) { return l.reshape(l.slice_axis(words, axis, k, 1), shape); };
    const Id low = word(0);
    return {element, low, word(1), pair_range(element)};
}

/// The bits of an f64 as the nearest f32; what is too small for that is 0.
Id float_of_double_bits(Lowering& l, const Tensor& pair) {
    const auto both = [&](Op op, Id a, Id b) { return l.binary(op, a, b, DType::i32); };
    const Id high = pair.other, number = l.bits_and(l.shift_right(high, 20), 0x7ff);
    const Id upper = l.shift_left(l.bits_and(high, 0xfffff), 3);
    const Id fraction = both(Op::bitwise_or, upper, l.shift_right(pair.id, 29));
    const Id rest = l.bits_and(pair.id, 0x1fffffff), odd = l.bits_and(fraction, 1);
    const Id up = l.shift_right(both(Op::add, rest, both(Op::add, odd, l.splat_int(odd, 0x0fffffff))), 29);
    const Id power = both(Op::sub, number, l.splat_int(number, 1023 - 127));
    const Id ordinary = both(Op::add, both(Op::bitwise_or, l.shift_left(power, 23), fraction), up);
    const Id infinity = l.splat_int(ordinary, 0x7f800000), zero = l.splat_int(ordinary, 0);
    const Id large = is_below(l, l.splat_int(power, 254), power), small = is_below(l, power, l.splat_int(power, 1));
    const Id digits = both(Op::bitwise_or, l.bits_and(high, 0xfffff), pair.id);
    const Id nan = l.binary(Op::logical_and, is_equal(l, number, l.splat_int(number, 2047)),
                            l.logical_not(is_equal(l, digits, zero)), DType::boolean);
    const Id special = l.select(nan, l.splat_int(ordinary, 0x7fc00000), infinity);
    const Id magnitude = l.select(large, special, l.select(small, zero, ordinary));
    return l.bitcast(both(Op::bitwise_or, magnitude, l.bits_and(high, min_of(DType::i32))), DType::fp32);
}

/// The reverse, exact.
Words double_bits(Lowering& l, Id x) {
    const auto both = [&](Op op, Id a, Id b) { return l.binary(op, a, b, DType::i32); };
    const Id small = is_below(l, l.unary(Op::abs, x), float_splat(l, x, 0x1p-100));
    const Id bits = l.bitcast(l.select(small, multiply(l, x, float_splat(l, x, 0x1p64)), x), DType::i32);
    const Id number = l.bits_and(l.shift_right(bits, 23), 0xff), fraction = l.bits_and(bits, 0x7fffff);
    const Id zero = l.splat_int(bits, 0);
    const Id offset = l.select(small, l.splat_int(bits, 1023 - 127 - 64), l.splat_int(bits, 1023 - 127));
    Id power = both(Op::add, number, offset);
    power = l.select(is_equal(l, number, l.splat_int(bits, 255)), l.splat_int(bits, 2047), power);
    power = l.select(is_equal(l, number, zero), zero, power);
    const Id sign = l.bits_and(bits, min_of(DType::i32));
    const Id high = both(Op::bitwise_or, l.shift_left(power, 20), l.shift_right(fraction, 3));
    return {l.shift_left(fraction, 29), both(Op::bitwise_or, high, sign)};
}

/// Numbers of so many bits side by side in the last dimension, the first the lowest, as an i32 of them all, and back.
Id joined(Lowering& l, Id numbers, int bits) {
    const Shape shape = l.shape(numbers);
    Shape line(shape.size(), 1), made = shape;
    line.back() = shape.back();
    made.pop_back();
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < shape.back(); ++k) places.push_back(k * bits);
    tosavk::Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(shape.size() - 1);
    const Id moved = l.binary(Op::logical_left_shift, numbers, l.constant_i32(line, places), DType::i32);
    return l.reshape(l.add(Op::reduce_sum, {moved}, DType::i32, attrs), made);
}

Id split(Lowering& l, Id whole, int bits, std::int64_t count) {
    Shape one = l.shape(whole);
    one.push_back(1);
    Shape line(one.size(), 1);
    line.back() = count;
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < count; ++k) places.push_back(k * bits);
    const Id places_id = l.constant_i32(line, places);
    return l.bits_and(l.binary(Op::logical_right_shift, l.reshape(whole, one), places_id, DType::i32),
                      (std::int64_t{1} << bits) - 1);
}

/// Flags count as bits here, the first the lowest, though each is a byte where it lies.
void lower_flags_bitcast(Lowering& l, Tensor x, Element to) {
    if (x.element == Element::pred) {
        const int bits = bits_of(to);
        const std::size_t axis = l.shape(x.id).size() - 1;
        const auto word = [&](std::int64_t first) {
            return joined(l, l.cast(l.slice_axis(x.id, axis, first, std::min(bits, 32)), DType::i32), 1);
        };
        if (bits == 64) return l.set({to, word(0), word(32), pair_range(to)});
        return l.set(l.narrow(word(0), to, pair_range(Element::i64)));
    }
    const int bits = bits_of(x.element);
    const auto flags = [&](Id word) { return l.cast(split(l, word, 1, std::min(bits, 32)), DType::boolean); };
    if (bits < 64) return l.set({to, flags(l.wide(x)), no_id, {0, 1}});
    x = l.as_pair(x);
    const std::size_t axis = l.result_shape().size() - 1;
    l.set({to, l.concat({flags(x.id), flags(x.other)}, axis), no_id, {0, 1}});
}

bool is_fp8(Element e) { return e == Element::f8e4m3fn || e == Element::f8e5m2; }

/// The code of an fp8, its NaN's too.
Id codes_of(Lowering& l, const Tensor& x) {
    const bool has_infinity = x.element == Element::f8e5m2;
    const int fraction = has_infinity ? 2 : 3, bias = has_infinity ? 15 : 7;
    const auto both = [&](Op op, Id a, Id b) { return l.binary(op, a, b, DType::i32); };
    const Id number = l.cast(x.id, DType::fp32), bits = l.bitcast(number, DType::i32);
    const Id magnitude = l.bits_and(bits, 0x7fffffff), upper = l.shift_right(magnitude, 23 - fraction);
    const Id normal = both(Op::sub, upper, l.splat_int(upper, (127 - bias) << fraction));
    const double units = std::ldexp(1.0, bias - 1 + fraction);
    const Id small = l.cast(multiply(l, l.unary(Op::abs, number), float_splat(l, number, units)), DType::i32);
    const Id special =
        has_infinity ? both(Op::bitwise_or, l.bits_and(upper, 3), l.splat_int(upper, 0x7c)) : l.splat_int(upper, 0x7f);
    Id code = l.select(is_below(l, magnitude, l.splat_int(magnitude, (128 - bias) << 23)), small, normal);
    code = l.select(is_below(l, magnitude, l.splat_int(magnitude, 0x7f800000)), code, special);
    return both(Op::bitwise_or, code, l.bits_and(l.shift_right(bits, 24), 0x80));
}

/// Codes of a narrow float as the numbers that they stand for, all of which an f32 has.
Id decoded(Lowering& l, Id codes, Element element) {
    std::vector<std::int64_t> numbers;
    const int bits = bits_of(element);
    for (std::uint32_t code = 0; code < std::uint32_t{1} << bits; ++code) {
        const auto number = static_cast<float>(real_from_bits(element, code));
        auto word = std::bit_cast<std::int32_t>(number);
        if (is_fp8(element) && std::isnan(number)) {  // whose bits are kept
            const std::uint32_t fraction = element == Element::f8e5m2 ? (code & 3) << 21 : 0x400000;
            word = static_cast<std::int32_t>((code & 0x80) << 24 | 0x7f800000 | fraction);
        }
        numbers.push_back(word);
    }
    const std::int64_t size = std::int64_t{1} << bits;
    const Id table = l.constant_ints("codes", DType::i32, {size}, numbers);
    const Shape shape = l.shape(codes);
    const std::int64_t count = tosavk::element_count(shape);
    const Id code = l.reshape(l.bits_and(l.cast(codes, DType::i32), size - 1), {count, 1});
    return l.bitcast(l.reshape(l.add(Op::gather_nd, {table, code}, DType::i32), shape), DType::fp32);
}

/// The type of as many bits whose elements are regrouped for it; pred where there is none.
Element plain_type(Element e) {
    const int bits = bits_of(e);
    if (e == Element::f16 || e == Element::bf16 || e == Element::f32) return e;
    if (is_integer_element(e) && bits >= 8) return e;
    if (!is_integer_element(e) && !is_fp8(e) && !is_coded_element(e)) return Element::pred;
    return bits == 8 ? Element::u8 : bits == 4 ? Element::u4 : bits == 2 ? Element::u2 : Element::pred;
}

Tensor to_plain(Lowering& l, const Tensor& x) {
    const Element to = plain_type(x.element);
    if (to == x.element) return x;
    const Id code = is_fp8(x.element) ? codes_of(l, x) : l.bits_and(l.cast(x.id, DType::i32), (1 << bits_of(to)) - 1);
    return l.narrow(code, to);
}

Tensor from_plain(Lowering& l, const Tensor& x, Element to) {
    if (to == x.element) return x;
    if (is_fp8(to)) return {to, l.cast(decoded(l, x.id, to), l.dtype(to)), no_id, {}};
    if (is_coded_element(to)) return {to, x.id, no_id, {}};
    return l.narrow(l.wide(x), to, x.range);
}

/// Between types of 8 bits and more, of integers and floats of 16 and 32 bits.
Tensor regrouped(Lowering& l, Tensor x, Element to) {
    const int from_bits = bits_of(x.element), to_bits = bits_of(to);
    if (is_integer_element(x.element) && is_integer_element(to) && from_bits == to_bits) {
        if (from_bits == 64) {
            const bool same_number = x.range.least >= 0 && !is_unbounded(x);
            if (!same_number) x = l.as_pair(x);
            return {to, x.id, x.other, same_number ? x.range : pair_range(to)};
        }
        const bool fits = x.range.least >= 0 && whole_range(to).holds(x.range);
        return {to, x.id, no_id, fits ? x.range : whole_range(to)};
    }
    // What is 64 bits wide has two words of 32 on the way.
    Shape shape = l.shape(x.id);
    if (from_bits == 64) {
        x = {Element::u32, side_by_side(l, l.as_pair(x)), no_id, whole_range(Element::u32)};
        shape.push_back(64 / to_bits);
    }
    const Element wanted_element = to_bits == 64 ? Element::u32 : to;
    const DType wanted = l.dtype(wanted_element);
    Id id = l.cast(x.id, l.dtype(x.element));  // regions may compute in a wider type
    if (to_bits == 64) {
        const int each = 32 / from_bits;
        Shape words = shape;
        words.back() = 2;
        if (each > 1) words.push_back(each);
        id = l.reshape(id, words);
    }
    if (bits_of(x.element) == bits_of(wanted_element)) {
        id = l.bitcast(id, wanted);
    } else {
        // bf16 has no bits of its own here, i16 has.
        const auto plain = [](DType type) { return type == DType::bf16 ? DType::i16 : type; };
        id = l.bitcast(l.add(Op::bitcast, {l.bitcast(id, plain(l.type(id)))}, plain(wanted)), wanted);
    }
    if (to_bits == 64) return pair_of(l, id, to);
    if (from_bits == 64) id = l.reshape(id, shape);
    return {to, id, no_id, whole_range(to)};
}

/// The same with numbers of 2 and 4 bits, several of which make one of 8.
Tensor regrouped_small(Lowering& l, Tensor x, Element to) {
    const int from_bits = bits_of(x.element), to_bits = bits_of(to);
    Shape shape = l.shape(x.id);
    if (from_bits < to_bits && from_bits < 8) {
        const int whole = std::min(to_bits, 8), each = whole / from_bits;
        shape.back() = to_bits / whole;
        if (to_bits <= 8) shape.pop_back();
        Shape apart = shape;
        apart.push_back(each);
        x = l.narrow(joined(l, l.reshape(l.wide(x), apart), from_bits), whole == 8 ? Element::u8 : Element::u4);
        return regrouped_small(l, x, to);
    }
    if (from_bits > to_bits && to_bits < 8) {
        if (from_bits > 8) x = regrouped(l, x, Element::u8);
        const int each = std::min(from_bits, 8) / to_bits;
        shape.push_back(from_bits / to_bits);
        return l.narrow(l.reshape(split(l, l.wide(x), to_bits, each), shape), to);
    }
    return to == x.element ? x : regrouped(l, x, to);
}

void lower_bitcast(Lowering& l) {
    if (l.has_quantized()) l.unsupported("the bits of quantized numbers are not supported");
    const Tensor x = l.given(0);
    const Element to = l.result_type().element;
    if (x.element == to) return l.set(x);
    const auto is_64 = [](Element e) { return e == Element::i64 || e == Element::u64; };
    if (is_64(x.element) && to == Element::f64) {
        l.dtype(to);
        return l.set({to, float_of_double_bits(l, l.as_pair(x)), no_id, {}});
    }
    if (x.element == Element::f64 && is_64(to)) return l.set(from_words(l, double_bits(l, x.id), to, pair_range(to)));
    const bool joins = x.element == Element::pred && is_integer_element(to);
    const bool splits = to == Element::pred && is_integer_element(x.element);
    const bool alike = bits_of(x.element) == bits_of(to);
    if (l.is_lifted() && !alike)
        l.unsupported("between types of different widths in a region of numbers is not supported");
    if ((joins && bits_of(to) >= 8) || (splits && bits_of(x.element) >= 8)) return lower_flags_bitcast(l, x, to);
    const Element plain = plain_type(to);
    if (plain_type(x.element) == Element::pred || plain == Element::pred)
        l.unsupported(fmt::format("from {} to {} is not supported", name_of(x.element), name_of(to)));
    l.set(from_plain(l, regrouped_small(l, to_plain(l, x), plain), to));
}

/// Quantized numbers are the floats that they express, and all that is made is rounded to its type.
void lower_quantization(Lowering& l) { l.set(l.given(0)); }

}  // namespace

Tensor converted(Lowering& l, Tensor x, Element to) {
    if (to == x.element) return x;
    const DType type = l.dtype(to);
    if (is_coded_element(to)) l.refuse_codes(to);
    if (is_coded_element(x.element)) x = {Element::f32, decoded(l, x.id, x.element), no_id, {}};
    if (to == x.element) return x;
    if (to == Element::pred) {
        if (x.is_pair()) x = {Element::i32, l.binary(Op::bitwise_or, x.id, x.other, DType::i32), no_id, {}};
        if (!is_integer_element(x.element)) {
            const Id id = l.wide(x);
            return {to, l.logical_not(is_equal(l, id, float_splat(l, id, 0))), no_id, {0, 1}};
        }
        return {to, l.cast(l.wide(x), DType::boolean), no_id, {0, 1}};
    }
    if (x.element == Element::pred) {
        if (is_integer_element(to)) return {to, l.cast(x.id, type), no_id, {0, 1}};
        return converted(l, {Element::i8, l.cast(x.id, DType::i8), no_id, {0, 1}}, to);
    }
    if (is_integer_element(x.element) && is_integer_element(to)) {
        if (bits_of(to) == 64) {
            const bool fits = !x.is_pair() && whole_range(to).holds(x.range);
            if (fits) return l.narrow(l.wide(x), to, x.range);
            const bool same_number = !is_unbounded(x) && (to == Element::i64 || x.range.least >= 0);
            return from_words(l, words_of(l, x), to, same_number ? x.range : pair_range(to));
        }
        // Of a pair the lower word has all that a narrower type does.
        if (!x.is_pair()) return l.narrow(l.wide(x), to, x.range);
        return l.narrow(x.id, to, is_unbounded(x) ? pair_range(Element::i64) : x.range);
    }
    if (x.is_pair()) return {to, float_of_words(l, words_of(l, x), x.element == Element::i64, type), no_id, {}};
    if (is_integer_element(x.element)) return {to, float_of_integer(l, x, type), no_id, {}};
    if (is_integer_element(to)) return integer_of_float(l, x, to);
    return {to, between_floats(l, x.id, type), no_id, {}};
}

std::span<const LoweringRow> convert_rows() {
    static constexpr LoweringRow rows[] = {
        {"bitcast_convert", lower_bitcast},
        {"convert", lower_convert},
        {"uniform_dequantize", lower_quantization},
        {"uniform_quantize", lower_quantization},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

// Elements of one type to another.
#include "frontends/stablehlo/functions.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

Id between_floats(Lowering& l, Id id, DType to) {
    const bool halves =
        (l.type(id) == DType::bf16 && to == DType::fp16) || (l.type(id) == DType::fp16 && to == DType::bf16);
    return l.cast(halves ? l.cast(id, DType::fp32) : id, to);
}

/// Exact, or rounded once.
Id float_of_integer(Lowering& l, const Tensor& x, DType to) {
    const Id id = l.wide(x);
    const bool is_small = to == DType::fp8e4m3 || to == DType::fp8e5m2;
    const DType first = is_small ? DType::fp32 : to;
    if (x.element != Element::u32 || x.range.most <= max_of(DType::i32)) return l.cast(l.cast(id, first), to);
    const Id high = l.cast(l.shift_right(id, 16), DType::fp32), low = l.cast(l.bits_and(id, 0xffff), DType::fp32);
    const Id scaled = multiply(l, high, float_splat(l, high, 65536));
    return l.cast(l.binary(Op::add, scaled, low, DType::fp32), to);
}

/// Towards zero, within the type's range; 0 of NaN.
Tensor integer_of_float(Lowering& l, const Tensor& x, Element to) {
    if (bits_of(to) == 64) l.unsupported(fmt::format("{} of floats may need more than 32 bits", name_of(to)));
    Id id = l.cast(x.id, DType::fp32);
    const Id zero = float_splat(l, id, 0);
    id = l.select(is_equal(l, id, id), truncated(l, id), zero);
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
    Tensor x = l.in(0);
    const Element to = l.result_type().element;
    if (x.element == to) return l.set(x);
    if (x.is_complex()) x = {Element::f32, x.id, no_id, {}};
    if (to != Element::c64) return l.set(converted(l, x, to));
    Tensor real = converted(l, x, Element::f32);
    real.element = to;
    real.imaginary = float_splat(l, real.id, 0);
    if (!l.is_lifted()) real.imaginary = l.tile_to(l.with_rank_of(real.imaginary, real.id), l.shape(real.id));
    l.set(real);
}

void lower_bitcast(Lowering& l) {
    const Tensor x = l.in(0);
    const Element to = l.result_type().element;
    if (x.element == to) return l.set(x);
    const int from_bits = bits_of(x.element), to_bits = bits_of(to);
    if (is_integer_element(x.element) && is_integer_element(to) && from_bits == to_bits && from_bits >= 8) {
        if (from_bits == 64 && x.range.least < 0)
            l.unsupported(fmt::format("a number below 0 as {} needs more than 32 bits", name_of(to)));
        const bool fits = from_bits == 64 || (x.range.least >= 0 && whole_range(to).holds(x.range));
        return l.set({to, x.id, no_id, fits ? x.range : whole_range(to)});
    }
    const auto castable = [](Element e) {
        const int bits = bits_of(e);
        return (is_integer_element(e) && (bits == 8 || bits == 16 || bits == 32)) || e == Element::f16 ||
               e == Element::bf16 || e == Element::f32;
    };
    if (!castable(x.element) || !castable(to) || l.is_lifted())
        l.unsupported(fmt::format("from {} to {} is not supported", name_of(x.element), name_of(to)));
    const DType wanted = l.dtype(to);
    if (from_bits == to_bits) return l.set({to, l.bitcast(x.id, wanted), no_id, whole_range(to)});
    // bf16 has no bits of its own here, i16 has.
    const auto plain = [](DType type) { return type == DType::bf16 ? DType::i16 : type; };
    const Id whole = l.bitcast(x.id, plain(l.type(x.id)));
    l.set({to, l.bitcast(l.add(Op::bitcast, {whole}, plain(wanted)), wanted), no_id, whole_range(to)});
}

}  // namespace

Tensor converted(Lowering& l, Tensor x, Element to) {
    if (to == x.element) return x;
    const DType type = l.dtype(to);
    if (to == Element::pred) {
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
    if (is_integer_element(x.element) && is_integer_element(to)) return l.narrow(l.wide(x), to, x.range);
    if (is_integer_element(x.element)) return {to, float_of_integer(l, x, type), no_id, {}};
    if (is_integer_element(to)) return integer_of_float(l, x, to);
    return {to, between_floats(l, x.id, type), no_id, {}};
}

std::span<const LoweringRow> convert_rows() {
    static constexpr LoweringRow rows[] = {
        {"bitcast_convert", lower_bitcast},
        {"convert", lower_convert},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

// What sums of products are made of, and products of matrices.
#include "frontends/stablehlo/contraction.hpp"
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace tosavk::stablehlo {

using tosavk::Op;

bool has_8_bits(const Tensor& x) { return x.element == Element::i8 || x.element == Element::u8; }

Factor factor_of(Lowering& l, const Tensor& x) {
    if (x.element != Element::u8) return {x.id, 0};
    return {l.bits_xor(x.id, -128), -128};
}

Tensor zero_tensor(Lowering& l, Element element, const Shape& shape) {
    Tensor none{element, l.zeros(l.dtype(element), shape), no_id, {0, 0}};
    if (is_complex_element(element)) none.other = none.id;
    return none;
}

namespace {

constexpr std::int64_t most_terms = std::numeric_limits<std::int32_t>::max() / (255 * 255);

Range range_of_sums(const Tensor& a, const Tensor& b, std::int64_t terms) {
    const auto most = [](Range r) {
        return std::max(std::abs(static_cast<double>(r.least)), std::abs(static_cast<double>(r.most)));
    };
    const double largest = most(a.range) * most(b.range) * static_cast<double>(terms);
    if (largest > 4e18) return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    const auto bound = static_cast<std::int64_t>(largest);
    return {a.range.least >= 0 && b.range.least >= 0 ? 0 : -bound, bound};
}

/// An integer in digits of 8 bits, the lowest first, at most `most`. They have no sign, but the last one may.
std::vector<Tensor> digits_of(Lowering& l, const Tensor& x, int most) {
    const auto fits = [&](int bits) { return bits >= 63 || x.range.most >> bits == 0; };
    const bool has_sign = x.range.least < 0;
    int count = 1;
    bool last_has_sign = true;
    for (; count < most; ++count) {
        last_has_sign = fits(8 * count - 1) && x.range.least >= -(std::int64_t{1} << (8 * count - 1));
        if (last_has_sign || (!has_sign && fits(8 * count) && !is_unbounded(x))) break;
    }
    if (count == most) last_has_sign = has_sign || fits(8 * count - 1);
    std::vector<Tensor> digits;
    const bool is_byte = l.type(x.id) == DType::i8;
    const Id low = is_byte || x.is_pair() ? x.id : l.wide(x);
    for (int k = 0; k < count; ++k) {
        const Element element = k + 1 == count && last_has_sign ? Element::i8 : Element::u8;
        Id id = k < 4 ? low : x.other;
        if (k % 4 != 0) id = l.shift_right(id, 8 * (k % 4));
        if (!is_byte) id = l.cast(id, DType::i8);
        digits.push_back({element, id, no_id, whole_range(element)});
    }
    return digits;
}

/// Integers digit by digit. Of sums within 32 bits, and of types that wrap there, nothing else is needed.
Tensor contracted_digits(Lowering& l, const Tensor& a, const Tensor& b, Element to, Range range,
                         const Contraction& what) {
    const bool in_words = bits_of(to) == 64 && !whole_range(to).holds(range);
    const int most = in_words ? 8 : std::clamp(bits_of(to) / 8, 1, 4);
    const std::vector<Tensor> left = digits_of(l, a, most), right = digits_of(l, b, most);
    const auto plus = [&](Id x, Id y) { return x == no_id ? y : l.binary(Op::add, x, y, DType::i32); };
    if (!in_words) {
        Id sum = no_id;
        for (std::size_t place = 0; place < static_cast<std::size_t>(most); ++place) {
            Id part = no_id;
            for (std::size_t i = 0; i <= place && i < left.size(); ++i)
                if (place - i < right.size()) part = plus(part, what.step(left[i], right[place - i], {0, what.terms}));
            if (part == no_id) break;
            sum = plus(sum, place == 0 ? part : l.shift_left(part, static_cast<int>(8 * place)));
        }
        return l.narrow(sum, to, range);
    }
    if (what.terms > most_terms && !what.divides)
        l.unsupported(fmt::format("sums of more than {} 64-bit products are not supported", most_terms));
    std::optional<Words> sum;
    for (std::size_t place = 0; place < 8; ++place) {
        Id part = no_id;
        std::int64_t count = 0;
        const auto finish = [&] {
            if (part == no_id) return;
            const Words words{part, l.shift_right(part, 31, /*arithmetic=*/true)};
            const Words moved = shifted_words(l, words, static_cast<int>(8 * place), Shift::left);
            sum = sum ? sum_of_words(l, *sum, moved) : moved;
            part = no_id, count = 0;
        };
        for (std::size_t i = 0; i <= place && i < left.size(); ++i) {
            if (place - i >= right.size()) continue;
            for (std::int64_t first = 0; first < what.terms; first += most_terms) {
                const Terms terms{first, std::min(most_terms, what.terms - first)};
                if (count + terms.count > most_terms) finish();
                part = plus(part, what.step(left[i], right[place - i], terms));
                count += terms.count;
            }
        }
        finish();
    }
    return from_words(l, *sum, to, pair_range(to));
}

}  // namespace

Tensor contracted(Lowering& l, Tensor a, Tensor b, Element to, const Contraction& what) {
    const Terms all{0, what.terms};
    if (a.is_complex() || b.is_complex()) {
        const auto part = [](const Tensor& t, bool imaginary) {
            return Tensor{Element::f32, imaginary ? t.other : t.id, no_id, {}};
        };
        const auto times = [&](bool i, bool j) { return what.step(part(a, i), part(b, j), all); };
        return {to,
                l.binary(Op::sub, times(false, false), times(true, true), DType::fp32),
                l.binary(Op::add, times(false, true), times(true, false), DType::fp32),
                {}};
    }
    if (to == Element::pred) {
        for (Tensor* t : {&a, &b}) *t = {Element::i8, l.cast(t->id, DType::i8), no_id, {0, 1}};
        return {to, l.cast(what.step(a, b, all), DType::boolean), no_id, {0, 1}};
    }
    for (Tensor* t : {&a, &b}) {
        if (t->element == Element::pred) *t = converted(l, *t, to);
        if (is_integer_element(t->element) != is_integer_element(to)) *t = converted(l, *t, to);
        if (t->is_pair() && bits_of(to) != 64) *t = converted(l, *t, to);
    }
    if (!is_integer_element(to)) return l.narrow(what.step(a, b, all), to);
    const Range range = range_of_sums(a, b, what.terms);
    const bool in_words = a.is_pair() || b.is_pair() || (bits_of(to) == 64 && !whole_range(to).holds(range));
    const bool bytes = l.type(a.id) == DType::i8 && l.type(b.id) == DType::i8;
    if (what.at_once && !bytes && !in_words) {
        for (Tensor* t : {&a, &b}) *t = {Element::i32, l.wide(*t), no_id, t->range};
        return l.narrow(what.step(a, b, all), to, range);
    }
    return contracted_digits(l, a, b, to, range, what);
}

namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t few_products = 1 << 16;  ///< that are made all at once, and then summed

Dims remaining(std::size_t rank, const Dims& a, const Dims& b) {
    Dims rest;
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(rank); ++d)
        if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end())
            rest.push_back(d);
    return rest;
}

std::int64_t size_of_dims(const Shape& shape, const Dims& dims) {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= shape.at(static_cast<std::size_t>(d));
    return n;
}

Dims joined(const Dims& a, const Dims& b, const Dims& c) {
    Dims all = a;
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());
    return all;
}

/// [n, h, c] times [n, c, w] in the type that products are summed in: fp32 or i32.
Id matmul(Lowering& l, const Tensor& a, const Tensor& b, Id x, Id y) {
    const auto zero = [&](Id of, std::int64_t v) { return l.zero_point(l.type(of), v); };
    if (has_8_bits(a) && has_8_bits(b)) {
        const Factor left = factor_of(l, {a.element, x, no_id, {}}), right = factor_of(l, {b.element, y, no_id, {}});
        return l.add(Op::matmul, {left.id, right.id, zero(left.id, left.zero), zero(right.id, right.zero)}, DType::i32);
    }
    const DType type = l.type(x);
    if (is_float(type)) {
        const bool halves = type == l.type(y) && (type == DType::fp16 || type == DType::bf16);
        if (!halves) x = l.cast(x, DType::fp32), y = l.cast(y, DType::fp32);
        return l.add(Op::matmul, {x, y, zero(x, 0), zero(y, 0)}, DType::fp32);
    }
    const Shape left = l.shape(x), right = l.shape(y);
    const Id wide_x = l.reshape(l.wide({a.element, x, no_id, a.range}), {left[0], left[1], left[2], 1});
    const Id wide_y = l.reshape(l.wide({b.element, y, no_id, b.range}), {right[0], 1, right[1], right[2]});
    const Id products = multiply(l, wide_x, wide_y);
    tosavk::Attributes attrs;
    attrs.axis = 2;
    const Id sums = left[2] == 1 ? products : l.add(Op::reduce_sum, {products}, DType::i32, attrs);
    return l.reshape(sums, {left[0], left[1], right[2]});
}

/// An algorithm of one product rounds its factors first, to floats of 16 or 8 bits; several products stand for one of
/// more precise factors, which fp32 has, as it has those of tf32.
Tensor factor(Lowering& l, std::size_t k) {
    const Tensor x = l.given(k);
    const auto named = [&](std::string_view name) {
        const Attribute* attribute = find(l.op().attributes, name);
        const auto* type = attribute ? attribute->as<TypePointer>() : nullptr;
        return type && (*type)->kind == Type::Kind::element ? std::optional((*type)->element) : std::nullopt;
    };
    const bool of_doubles = named("accumulation_type") == Element::f64;
    const std::optional<Element> wanted = named(k == 0 ? "lhs_precision_type" : "rhs_precision_type");
    if ((of_doubles || wanted == Element::f64) && !l.f64_as_f32())
        l.unsupported("an algorithm of f64 is not supported, but with --f64-as-f32");
    if (!wanted || l.integer("num_primitive_operations") != 1) return x;
    if (bits_of(*wanted) > 16 || *wanted == x.element || is_integer_element(x.element) || x.is_complex()) return x;
    const Tensor rounded = converted(l, x, *wanted);
    return bits_of(*wanted) == 16 ? rounded : converted(l, rounded, Element::f32);
}

void lower_product(Lowering& l, const Dims& left_batch, const Dims& right_batch, const Dims& left_inner,
                   const Dims& right_inner) {
    const Tensor a = factor(l, 0), b = factor(l, 1);
    const Shape left = l.shape(a.id), right = l.shape(b.id), result = l.result_shape();
    const Element to = l.result_type().element;
    const Dims rows = remaining(left.size(), left_batch, left_inner);
    const Dims columns = remaining(right.size(), right_batch, right_inner);
    const std::int64_t n = size_of_dims(left, left_batch), c = size_of_dims(left, left_inner);
    const std::int64_t h = size_of_dims(left, rows), w = size_of_dims(right, columns);
    if (c == 0) return l.set(zero_tensor(l, to, result));
    const Dims left_order = joined(left_batch, rows, left_inner),
               right_order = joined(right_batch, right_inner, columns);
    const auto step = [&](const Tensor& x, const Tensor& y, Terms terms) {
        const Id lhs = l.reshape(l.transpose(x.id, left_order), {n, h, c});
        const Id rhs = l.reshape(l.transpose(y.id, right_order), {n, c, w});
        return l.reshape(matmul(l, x, y, l.slice_axis(lhs, 2, terms.first, terms.count),
                                l.slice_axis(rhs, 1, terms.first, terms.count)),
                         result);
    };
    const std::int64_t products = saturated_product(saturated_product(n, h), saturated_product(c, w));
    const bool at_once = products <= few_products || h == 1 || w == 1;
    l.set(contracted(l, a, b, to, {step, c, /*divides=*/true, at_once}));
}

void lower_dot_general(Lowering& l) {
    lower_product(l, l.numbers("lhs_batching_dimensions"), l.numbers("rhs_batching_dimensions"),
                  l.numbers("lhs_contracting_dimensions"), l.numbers("rhs_contracting_dimensions"));
}

void lower_dot(Lowering& l) {
    lower_product(l, {}, {}, {static_cast<std::int64_t>(l.operand_type(0).dims.size()) - 1}, {0});
}

}  // namespace

std::span<const LoweringRow> contract_rows() {
    static constexpr LoweringRow rows[] = {
        {"dot", lower_dot},
        {"dot_general", lower_dot_general},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

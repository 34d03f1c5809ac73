// What moves elements and computes nothing.
#include "frontends/stablehlo/elements.hpp"
#include "frontends/stablehlo/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tosavk::stablehlo {

namespace {

/// Of all operands that are to be of one type and shape.
template <class Step> void lower_move(Lowering& l, const Step& step) { l.set(l.move(l.given(0), step)); }

void lower_reshape(Lowering& l) {
    if (l.is_lifted()) return l.set(l.given(0));  // of one number
    lower_move(l, [&](Id id) { return l.reshape(id, l.result_shape()); });
}

void lower_broadcast_in_dim(Lowering& l) {
    if (l.is_lifted()) return l.set(l.given(0));
    const std::vector<std::int64_t> dims = l.numbers("broadcast_dimensions");
    lower_move(l, [&](Id id) { return l.broadcast(id, l.result_shape(), dims); });
}

void lower_dynamic_broadcast(Lowering& l) {
    if (!l.known(1)) l.unsupported("its output shape is not known");
    lower_broadcast_in_dim(l);
}

void lower_dynamic_reshape(Lowering& l) {
    lower_move(l, [&](Id id) { return l.reshape(id, l.result_shape()); });
}

void lower_transpose(Lowering& l) {
    const std::vector<std::int64_t> order = l.numbers("permutation");
    lower_move(l, [&](Id id) { return l.transpose(id, order); });
}

void lower_concatenate(Lowering& l) {
    const auto axis = static_cast<std::size_t>(l.integer("dimension"));
    std::vector<Id> first, second;
    std::vector<Tensor> parts = l.all_given();
    Tensor result = parts.at(0);
    for (Tensor& part : parts) l.make_alike(result, part);
    for (Tensor& part : parts) {
        l.make_alike(result, part);
        first.push_back(part.id);
        if (part.has_two()) second.push_back(part.other);
        result.range = result.range.joined(part.range);
    }
    result.id = l.concat(first, axis);
    if (!second.empty()) result.other = l.concat(second, axis);
    l.set(result);
}

void lower_slice(Lowering& l) {
    const auto start = l.numbers("start_indices"), limit = l.numbers("limit_indices"), stride = l.numbers("strides");
    lower_move(l, [&](Id id) { return l.strided_slice(id, start, limit, stride); });
}

void lower_real_dynamic_slice(Lowering& l) {
    const auto start = l.known(1), limit = l.known(2), stride = l.known(3);
    if (!start || !limit || !stride) l.unsupported("its start, limit or strides are not known");
    lower_move(l, [&](Id id) { return l.strided_slice(id, *start, *limit, *stride); });
}

void lower_pad_by(Lowering& l, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
                  std::span<const std::int64_t> between) {
    Tensor from = l.given(0), value = l.given(1);
    l.make_alike(from, value);
    Tensor result = from;
    result.range = from.range.joined(value.range);
    result.id = l.pad(from.id, value.id, low, high, between);
    if (from.has_two()) result.other = l.pad(from.other, value.other, low, high, between);
    l.set(result);
}

void lower_pad(Lowering& l) {
    lower_pad_by(l, l.numbers("edge_padding_low"), l.numbers("edge_padding_high"), l.numbers("interior_padding"));
}

void lower_dynamic_pad(Lowering& l) {
    const auto low = l.known(2), high = l.known(3), between = l.known(4);
    if (!low || !high || !between) l.unsupported("its amounts are not known");
    lower_pad_by(l, *low, *high, *between);
}

void lower_reverse(Lowering& l) {
    const std::vector<std::int64_t> dims = l.numbers("dimensions");
    lower_move(l, [&](Id id) {
        for (const std::int64_t d : dims) {
            tosavk::Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(d);
            if (l.shape(id).at(static_cast<std::size_t>(d)) > 1)
                id = l.add(tosavk::Op::reverse, {id}, l.type(id), attrs);
        }
        return id;
    });
}

/// Scalars, each clamped so that the window lies inside, as one tensor.
Id starts_of(Lowering& l, std::size_t first, std::size_t rank) {
    std::vector<Id> parts;
    for (std::size_t k = 0; k < rank; ++k) {
        const Tensor start = saturated_32(l, l.given(first + k));
        Id id = l.wide(start);
        // What is beyond 2^31 as unsigned is far outside.
        if (start.element == Element::u32 && start.range.most > max_of(DType::i32)) {
            const Id large = l.binary(tosavk::Op::greater, l.splat_int(id, 0), id, DType::boolean);
            id = l.select(large, l.splat_int(id, max_of(DType::i32)), id);
        }
        parts.push_back(l.reshape(id, {1}));
    }
    return l.concat(parts, 0);
}

void check_part(const Lowering& l, const Shape& whole, const Shape& part) {
    bool fits = part.size() == whole.size();
    for (std::size_t k = 0; fits && k < whole.size(); ++k) fits = part[k] <= whole[k];
    if (!fits) l.fail(fmt::format("{} is no part of {}", to_string(part), to_string(whole)));
}

/// Of the dimensions that are to become those of `size`, as many as one node can cut: six, those before the first
/// counted as one.
Shape cut(Shape whole, const Shape& size) {
    int dimensions = whole.front() == size.front() ? 1 : 0;
    for (std::size_t k = 0; k < whole.size(); ++k) {
        if (whole[k] == size[k] || dimensions == 6) continue;
        whole[k] = size[k];
        ++dimensions;
    }
    return whole;
}

/// Where one row is taken of a first dimension (behind others of 1), whose number is known to be one of a row: that, as
/// an index of GATHER, which needs no start of all dimensions.
std::optional<Id> row_of(Lowering& l, const Shape& whole, const Shape& size) {
    std::size_t at = 0;
    while (at < whole.size() && whole[at] == 1) ++at;
    if (at == whole.size() || size[at] != 1 ||
        !std::equal(whole.begin() + static_cast<std::ptrdiff_t>(at) + 1, whole.end(),
                    size.begin() + static_cast<std::ptrdiff_t>(at) + 1))
        return std::nullopt;
    const Tensor row = l.given(1 + at);
    if (row.is_pair() || row.range.least < 0 || row.range.most >= whole[at]) return std::nullopt;
    return l.reshape(l.wide(row), {1, 1});
}

void lower_dynamic_slice(Lowering& l) {
    const Shape whole = l.static_shape(l.operand_type(0)), size = l.result_shape();
    check_part(l, whole, size);
    if (whole.empty()) return l.set(l.given(0));
    const DType type = l.type(l.given(0).id);
    const bool gathers = type != DType::boolean && type != DType::fp8e4m3 && type != DType::fp8e5m2;
    if (const std::optional<Id> row = gathers ? row_of(l, whole, size) : std::nullopt) {
        const std::int64_t rows = tosavk::element_count(whole) / tosavk::element_count(size);
        return lower_move(l, [&](Id id) {
            const Id table = l.reshape(id, {1, rows, tosavk::element_count(size)});
            return l.reshape(l.add(tosavk::Op::gather, {table, *row}, l.type(id)), size);
        });
    }
    const Id start = starts_of(l, 1, whole.size());
    lower_move(l, [&](Id id) {
        while (l.shape(id) != size)
            id = l.add(tosavk::Op::dynamic_slice, {id, start, l.builder().shape(cut(l.shape(id), size))}, l.type(id));
        return id;
    });
}

Id put_at(Lowering& l, Id into, Id what, Id start) {
    if (const Shape part = cut(l.shape(into), l.shape(what)); part != l.shape(what)) {
        const Id there = l.add(tosavk::Op::dynamic_slice, {into, start, l.builder().shape(part)}, l.type(into));
        what = put_at(l, there, what, start);
    }
    return l.add(tosavk::Op::dynamic_update_slice, {into, what, start}, l.type(into));
}

void lower_dynamic_update_slice(Lowering& l) {
    Tensor whole = l.given(0), update = l.given(1);
    l.make_alike(whole, update);
    Tensor result = whole;
    result.range = whole.range.joined(update.range);
    check_part(l, l.static_shape(l.operand_type(0)), l.static_shape(l.operand_type(1)));
    const std::size_t rank = l.operand_type(0).dims.size();
    if (rank == 0) result = update;
    else if (!l.is_empty(update.id)) {
        const Id start = starts_of(l, 2, rank);
        result.id = put_at(l, whole.id, update.id, start);
        if (whole.has_two()) result.other = put_at(l, whole.other, update.other, start);
    }
    l.set(result);
}

/// Of a number that is not negative; past the largest one XLA has what the type wants, an infinity or else a NaN.
std::int64_t code_of(const Lowering& l, Element element, std::int64_t value) {
    double largest = 0;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << bits_of(element); ++code) {
        const double number = real_from_bits(element, code);
        if (std::isfinite(number)) largest = std::max(largest, number);
    }
    const auto code = bits_from_real(element, static_cast<double>(value));
    if (!code || static_cast<double>(value) > largest) l.refuse_codes(element);
    return static_cast<std::int64_t>(*code);
}

void lower_iota_along(Lowering& l) {
    const Element element = l.result_type().element;
    const Shape shape = l.result_shape();
    const auto axis = static_cast<std::size_t>(l.integer("iota_dimension"));
    Shape line(shape.size(), 1);
    line.at(axis) = shape.at(axis);
    std::vector<std::int64_t> values = l.counted(shape[axis]);
    const Range range{0, shape[axis] - 1};
    const Id numbers = l.constant_i32(line, values);
    if (is_integer_element(element)) {
        Tensor result = l.narrow(numbers, element, range);
        result.id = l.tile_to(result.id, shape);
        return l.set(result);
    }
    if (is_coded_element(element)) {
        for (std::int64_t& value : values) value = code_of(l, element, value);
        return l.set({element, l.tile_to(l.constant_ints("codes", DType::i8, line, values), shape), no_id, {}});
    }
    Tensor result{element, l.tile_to(l.cast(l.cast(numbers, DType::fp32), l.dtype(element)), shape), no_id, {}};
    if (is_complex_element(element)) result.other = l.zeros(DType::fp32, shape);
    l.set(result);
}

void lower_identity(Lowering& l) {
    for (std::size_t k = 0; k < l.result_count(); ++k) l.set(l.given(k), k);
}

void lower_dimension_size(Lowering& l) {
    const auto d = static_cast<std::size_t>(l.integer("dimension"));
    l.set(l.number(Element::i32, static_cast<double>(l.static_shape(l.operand_type(0)).at(d))));
}

/// Of an old form: new leading dimensions.
void lower_broadcast(Lowering& l) {
    const std::size_t added = l.numbers("broadcast_sizes").size();
    std::vector<std::int64_t> dims(l.operand_type(0).dims.size());
    std::iota(dims.begin(), dims.end(), static_cast<std::int64_t>(added));
    lower_move(l, [&](Id id) { return l.broadcast(id, l.result_shape(), dims); });
}

}  // namespace

void lower_constant(Lowering& l);

std::span<const LoweringRow> shape_rows() {
    static constexpr LoweringRow rows[] = {
        {"broadcast", lower_broadcast},
        {"broadcast_in_dim", lower_broadcast_in_dim},
        {"concatenate", lower_concatenate},
        {"constant", lower_constant},
        {"dynamic_broadcast_in_dim", lower_dynamic_broadcast},
        {"dynamic_iota", lower_iota_along},
        {"dynamic_pad", lower_dynamic_pad},
        {"dynamic_reshape", lower_dynamic_reshape},
        {"dynamic_slice", lower_dynamic_slice},
        {"dynamic_update_slice", lower_dynamic_update_slice},
        {"get_dimension_size", lower_dimension_size},
        {"iota", lower_iota_along},
        {"optimization_barrier", lower_identity},
        {"pad", lower_pad},
        {"real_dynamic_slice", lower_real_dynamic_slice},
        {"reshape", lower_reshape},
        {"reverse", lower_reverse},
        {"slice", lower_slice},
        {"transpose", lower_transpose},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

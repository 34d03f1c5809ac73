// What picks an element of each window, and puts something at its place.
#include "frontends/stablehlo/comparators.hpp"
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/scatter.hpp"
#include "frontends/stablehlo/windows.hpp"

#include <algorithm>
#include <optional>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

using Window = std::vector<WindowDimension>;
using Numbers64 = std::vector<std::int64_t>;

/// The next one row-major, of so many in each dimension; false behind the last one.
bool go_on(Numbers64& at, const Numbers64& counts) {
    for (std::size_t d = at.size(); d-- > 0;) {
        if (++at[d] < counts[d]) return true;
        at[d] = 0;
    }
    return false;
}

Tensor of_places(Id id) { return {Element::i32, id, no_id, whole_range(Element::i32)}; }

/// (first + i * step) * stride along a dimension.
Id counted(Lowering& l, std::size_t rank, std::size_t d, std::int64_t count, std::int64_t first, std::int64_t step,
           std::int64_t stride) {
    Shape line(rank, 1);
    line.at(d) = count;
    Numbers64 numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back((first + i * step) * stride);
    return l.constant_i32(line, numbers);
}

Id sum_of(Lowering& l, Id a, Id b) { return a == no_id ? b : l.binary(Op::add, a, b, DType::i32); }

/// What is picked of two parts of a window of which one comes before the other: as if it went on from the first one's.
/// A NaN is picked by all that follow, and lets go for the next one: a part that has one does not see what was before.
Join picks_of(Lowering& l, bool forgets) {
    return [&l, forgets](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
        std::vector<Tensor> made = a;
        const Shape over = l.shape(a[0].id);
        Id stays = l.lifted(l.region(0), {a[0], b[0]}, over).at(0).id;
        if (forgets) {
            stays = l.binary(Op::logical_and, stays, l.logical_not(b[2].id), DType::boolean);
            made[2].id = l.binary(Op::logical_or, a[2].id, b[2].id, DType::boolean);
        }
        made[0].id = l.select(stays, a[0].id, b[0].id);
        if (made[0].has_two()) made[0].other = l.select(stays, a[0].other, b[0].other);
        made[1].id = l.select(stays, a[1].id, b[1].id);
        return made;
    };
}

/// The place in `x` that is picked of each window, -1 where it has none, one dimension after the other: the last one
/// first, since places are in row-major order.
Id picked_by_dimensions(Lowering& l, const Tensor& x, const Tensor& padded, const Window& window, bool forgets) {
    const Shape before = l.shape(x.id), whole = l.shape(padded.id);
    const Numbers64 strides = row_major_strides(before);
    std::vector<Tensor> tensors{padded, of_places(no_id)};
    if (forgets) {
        const Operation& end = l.region(0).operations.back();
        const Operation* compare = Lowering::maker(l.region(0), end.operands.at(0));
        const Tensor key = l.lifted(l.region(0), {padded, padded}, whole, compare).at(0);
        tensors.push_back({Element::pred, l.tile_to(is_nan(l, l.wide(key)), whole), no_id, {0, 1}});
    }
    std::vector<std::vector<bool>> there(window.size());
    for (std::size_t d = window.size(); d-- > 0;) {
        const WindowDimension& w = window[d];
        tensors[1].id = sum_of(l, tensors[1].id, counted(l, whole.size(), d, whole[d], -w.low, 1, strides[d]));
        Lines lines = along_dimension(l, picks_of(l, forgets), {tensors, there_of(w, before[d], whole[d])}, d, w);
        tensors = lines.tensors;
        there[d] = lines.there;
    }
    Tensor place = tensors[1];
    for (std::size_t d = 0; d < there.size(); ++d)
        if (has_gaps(there[d])) place = chosen(l, there[d], d, place, of_places(l.splat_int(place.id, -1)));
    return l.tile_to(place.id, l.shape(tensors[0].id));
}

/// The same for any region, one place of the windows after the other.
Id picked_by_places(Lowering& l, const Tensor& x, const Tensor& padded, const Window& window, const Shape& out) {
    const Shape before = l.shape(x.id);
    const std::size_t rank = before.size();
    const Numbers64 strides = row_major_strides(before);
    Numbers64 sizes, low, high;
    for (const WindowDimension& w : window) {
        sizes.push_back(w.size);
        low.push_back(w.low);
        high.push_back(w.high);
    }
    const bool is_padded =
        l.shape(padded.id) != before || std::any_of(low.begin(), low.end(), [](auto n) { return n; });
    const Id no = l.constant("false", DType::boolean, Shape(rank, 1), Bytes(1));
    const Id inside = is_padded ? l.pad(l.logical_not(l.tile_to(no, before)), no, low, high) : no_id;
    const auto window_slice = [&](Id id, const Numbers64& at) {
        Numbers64 limit, stride;
        for (std::size_t d = 0; d < rank; ++d) {
            stride.push_back(window[d].stride);
            limit.push_back(at[d] + (out[d] - 1) * window[d].stride + 1);
        }
        return l.strided_slice(id, at, limit, stride);
    };
    // How far behind the window's first place: -1 until one is inside.
    Numbers64 at(rank, 0);
    Tensor best = x;
    Id picked = no_id;
    do {
        std::int64_t behind = 0;
        for (std::size_t d = 0; d < rank; ++d) behind += at[d] * strides[d];
        const Tensor candidate = l.move(padded, [&](Id id) { return window_slice(id, at); });
        const Id valid = is_padded ? window_slice(inside, at) : no_id, here = l.splat_int(candidate.id, behind);
        if (picked == no_id) {
            best = candidate;
            const Id all = l.tile_to(here, out);
            picked = valid == no_id ? all : l.select(valid, all, l.splat_int(candidate.id, -1));
            continue;
        }
        Id better = l.logical_not(l.lifted(l.region(0), {best, candidate}, out).at(0).id);
        if (valid != no_id) {
            const Id none = is_below(l, picked, l.splat_int(picked, 0));
            better = l.binary(Op::logical_and, valid, l.binary(Op::logical_or, none, better, DType::boolean),
                              DType::boolean);
        }
        best.id = l.select(better, candidate.id, best.id);
        if (best.has_two()) best.other = l.select(better, candidate.other, best.other);
        picked = l.select(better, here, picked);
    } while (go_on(at, sizes));
    Id first = no_id;
    for (std::size_t d = rank; d-- > 0;)
        first = sum_of(l, first, counted(l, rank, d, out[d], -low[d], window[d].stride, strides[d]));
    const Id place = sum_of(l, picked, first);
    return is_padded ? l.select(is_below(l, picked, l.splat_int(picked, 0)), l.splat_int(picked, -1), place) : place;
}

/// Each number as often as its period is long.
Id repeated(Lowering& l, Id id, const Numbers64& periods) {
    for (std::size_t d = 0; d < periods.size(); ++d) {
        if (periods[d] == 1) continue;
        const AxisSplit split = split_at(l.shape(id), d);
        Shape longer = l.shape(id);
        longer[d] *= periods[d];
        id = l.tile_to(l.reshape(id, {split.outer, split.axis, 1, split.inner}),
                       {split.outer, split.axis, periods[d], split.inner});
        id = l.reshape(id, longer);
    }
    return id;
}

/// Each element is joined by the windows around it turn by turn, in their order: by what is at the same place of the
/// windows' numbers, each of them as often as it is far to the next window.
Tensor joined_in_turns(Lowering& l, Tensor result, Tensor source, Id place, const Window& window,
                       const Numbers64& periods, const Numbers64& turns) {
    const Shape whole = l.shape(result.id);
    const std::size_t rank = whole.size();
    const Numbers64 strides = row_major_strides(whole);
    const Id zero = l.constant("zero", l.type(source.id), {1}, Bytes(size_of(l.type(source.id))));
    const Id nowhere = l.constant_i32({1}, Numbers64{-1});
    Id own = no_id;
    for (std::size_t d = rank; d-- > 0;) own = sum_of(l, own, counted(l, rank, d, whole[d], 0, 1, strides[d]));
    place = repeated(l, place, periods);
    source = l.move(source, [&](Id id) { return repeated(l, id, periods); });
    source.range = source.range.joined({0, 0});
    const Shape longer = l.shape(place);
    Numbers64 turn(rank, 0);
    do {
        Numbers64 before, after;
        for (std::size_t d = 0; d < rank; ++d) {
            before.push_back((turns[d] - 1 - turn[d]) * periods[d] - window[d].low);
            after.push_back(whole[d] - before[d] - longer[d]);
        }
        const Id mask = is_equal(l, l.pad(place, nowhere, before, after), own);
        const Tensor given = l.move(source, [&](Id id) { return l.pad(id, zero, before, after); });
        Tensor joined = l.lifted(l.region(1), {result, given}, whole).at(0);
        l.make_alike(result, joined);
        result.range = result.range.joined(joined.range);
        result.id = l.select(mask, joined.id, result.id);
        if (result.has_two()) result.other = l.select(mask, joined.other, result.other);
    } while (go_on(turn, turns));
    return result;
}

void lower_select_and_scatter(Lowering& l) {
    const Tensor x = l.given(0);
    const Tensor source = l.given(1), init = l.given(2);
    const Shape whole = l.result_shape(), out = l.static_shape(l.operand_type(1));
    if (l.static_shape(l.operand_type(0)) != whole || out.size() != whole.size() || !l.shape(init.id).empty())
        l.fail("its operands and its result do not go together");
    Tensor result = l.move(init, [&](Id id) { return l.broadcast(id, whole, {}); });
    if (has_no_elements(whole) || has_no_elements(out)) return l.set(result);
    const Window window = window_of(l, out, false);
    if (window.empty()) return l.set(l.lifted(l.region(1), {result, source}, whole).at(0));
    std::int64_t places = 1, in_turns = 1;
    Numbers64 low, high, periods, turns;
    for (const WindowDimension& w : window) {
        places = saturated_product(places, w.size);
        low.push_back(w.low);
        high.push_back(w.high);
        periods.push_back(w.out == 1 ? w.size : w.stride);
        turns.push_back((w.size + periods.back() - 1) / periods.back());
        in_turns = saturated_product(in_turns, turns.back());
    }
    const Id zero = l.constant("zero", l.type(x.id), {1}, Bytes(size_of(l.type(x.id))));
    const Tensor padded = l.move(x, [&](Id id) { return l.pad(id, zero, low, high); });
    // An order of numbers may be asked for part by part.
    const Operation& end = l.region(0).operations.back();
    const auto compares = end.operands.size() == 1 ? comparison_of(l.region(0), end.operands[0]) : std::nullopt;
    const bool is_order = compares && compares->direction != "EQ" && compares->direction != "NE" && !x.is_complex();
    constexpr std::int64_t few = 16, most = 1024, most_turns = 9;
    if (places > most && !is_order)
        l.unsupported("windows of more than 1024 elements are supported where it selects by an order");
    const bool forgets = is_order && !compares->total_order && is_float(l.type(x.id));
    const Id place = is_order && places > few ? picked_by_dimensions(l, x, padded, window, forgets)
                                              : picked_by_places(l, x, padded, window, out);
    if (in_turns <= most_turns) return l.set(joined_in_turns(l, result, source, place, window, periods, turns));
    l.set(scattered_numbers(l, l.region(1), {result}, {source}, place).at(0));
}

}  // namespace

std::span<const LoweringRow> select_rows() {
    static constexpr LoweringRow rows[] = {
        {"select_and_scatter", lower_select_and_scatter},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

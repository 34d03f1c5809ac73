// Gather and scatter: the place of each element, or of each run of elements that lie side by side, as one number.
#include "frontends/stablehlo/constraints.hpp"
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/scatter.hpp"
#include "frontends/stablehlo/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

using Dims = std::vector<std::int64_t>;

bool contains(const Dims& dims, std::int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

/// What gather and scatter have in common: windows of `size` in an operand, at places that indices name.
struct Windows {
    Shape operand, size;      ///< size: of the window in each dimension of the operand, 1 where it has none
    Dims map;                 ///< which dimension of the operand each number of an index is of
    Dims batching, of_index;  ///< dimensions of the operand, and those of the indices that run with them
    std::int64_t vector_dim = 0;
    Shape index_shape, batch;  ///< batch: of the indices, without their vectors
    Dims inside;               ///< dimensions of the operand that a window has, in order
    std::size_t row = 0;       ///< from this one on, windows take all there is: they are moved as a whole
};

Shape from(const Shape& shape, std::size_t first) {
    return Shape(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
}

void settle(const Lowering& l, Windows& w) {
    const bool has_dimension = w.vector_dim < static_cast<std::int64_t>(w.index_shape.size());
    const std::int64_t length = has_dimension ? w.index_shape[static_cast<std::size_t>(w.vector_dim)] : 1;
    if (static_cast<std::int64_t>(w.map.size()) != length)
        l.fail(fmt::format("an index has {} numbers, but {} dimensions to go along", length, w.map.size()));
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(w.index_shape.size()); ++d)
        if (d != w.vector_dim) w.batch.push_back(w.index_shape[static_cast<std::size_t>(d)]);
    w.row = w.operand.size();
    while (w.row > 0 && w.size[w.row - 1] == w.operand[w.row - 1] &&
           contains(w.inside, static_cast<std::int64_t>(w.row) - 1))
        --w.row;
}

Shape slots_of(const Windows& w) {
    return Shape(w.operand.begin(), w.operand.begin() + static_cast<std::ptrdiff_t>(w.row));
}

/// Number `k` of each index, [batch.., 1..] with as many dimensions of 1 as windows have before their rows.
Id index_part(Lowering& l, const Windows& w, Id indices, std::size_t k, std::size_t behind) {
    Id id = indices;
    if (w.vector_dim < static_cast<std::int64_t>(w.index_shape.size()))
        id = l.slice_axis(id, static_cast<std::size_t>(w.vector_dim), static_cast<std::int64_t>(k), 1);
    Shape shape = w.batch;
    shape.insert(shape.end(), behind, 1);
    return l.reshape(id, shape);
}

/// Which slot each window's elements lie in: [batch.., window dimensions before the row..]. `valid` is null where every
/// index is clamped; else it becomes whether the window lies inside.
Id slots(Lowering& l, const Windows& w, const Tensor& indices, Id* valid) {
    const Shape all = slots_of(w);
    const std::vector<std::int64_t> strides = row_major_strides(all);
    Dims window;
    for (const std::int64_t d : w.inside)
        if (d < static_cast<std::int64_t>(w.row)) window.push_back(d);
    const std::size_t rank = w.batch.size() + window.size();
    Id numbers = l.wide(indices);
    Id place = l.splat_int(l.reshape(l.constant_i32({1}, std::array<std::int64_t, 1>{0}), Shape(rank, 1)), 0);
    const auto add = [&](Id what) { place = l.binary(Op::add, place, what, DType::i32); };
    for (std::size_t k = 0; k < w.map.size(); ++k) {
        const auto d = static_cast<std::size_t>(w.map[k]);
        Id at = index_part(l, w, numbers, k, window.size());
        const std::int64_t most = w.operand[d] - w.size[d];
        if (indices.element == Element::u32 && indices.range.most > max_of(DType::i32)) {
            const Id large = is_below(l, at, l.splat_int(at, 0));
            at = l.select(large, l.splat_int(at, static_cast<double>(max_of(DType::i32))), at);
        }
        const Id low = l.splat_int(at, 0), high = l.splat_int(at, static_cast<double>(most));
        if (valid) {
            const Id inside = l.binary(Op::logical_and, l.binary(Op::greater_equal, at, low, DType::boolean),
                                       l.binary(Op::greater_equal, high, at, DType::boolean), DType::boolean);
            *valid = *valid == no_id ? inside : l.binary(Op::logical_and, *valid, inside, DType::boolean);
        }
        const bool may_leave = indices.range.least < 0 || indices.range.most > most;
        if (may_leave) at = l.binary(Op::minimum, l.binary(Op::maximum, at, low, DType::i32), high, DType::i32);
        if (d < w.row) add(multiply(l, at, l.splat_int(at, static_cast<double>(strides[d]))));
    }
    const auto iota = [&](std::size_t axis, std::int64_t size, std::int64_t stride) {
        Shape line(rank, 1);
        line.at(axis) = size;
        std::vector<std::int64_t> values = l.counted(size);
        for (std::int64_t& value : values) value *= stride;
        add(l.constant_i32(line, values));
    };
    for (std::size_t j = 0; j < w.batching.size(); ++j) {
        const std::int64_t q = w.of_index[j] - (w.of_index[j] > w.vector_dim ? 1 : 0);
        const auto d = static_cast<std::size_t>(w.batching[j]);
        iota(static_cast<std::size_t>(q), w.operand[d], strides.at(d));
    }
    for (std::size_t k = 0; k < window.size(); ++k) {
        const auto d = static_cast<std::size_t>(window[k]);
        if (w.size[d] > 1) iota(w.batch.size() + k, w.size[d], strides[d]);
    }
    Shape whole = w.batch;
    for (const std::int64_t d : window) whole.push_back(w.size[static_cast<std::size_t>(d)]);
    return l.tile_to(place, whole);
}

Windows window_attributes(Lowering& l, const Shape& operand, const Shape& indices) {
    Windows w;
    w.operand = operand;
    w.index_shape = indices;
    w.vector_dim = l.integer("index_vector_dim");
    return w;
}

void lower_gather_sized(Lowering& l, const Dims& sizes) {
    const Tensor operand = l.given(0), indices = saturated_32(l, l.given(1));
    Windows w = window_attributes(l, l.shape(operand.id), l.shape(indices.id));
    w.size = sizes;
    w.map = l.numbers("start_index_map");
    w.batching = l.numbers("operand_batching_dims");
    w.of_index = l.numbers("start_indices_batching_dims");
    const Dims offsets = l.numbers("offset_dims"), collapsed = l.numbers("collapsed_slice_dims");
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(w.operand.size()); ++d)
        if (!contains(collapsed, d) && !contains(w.batching, d)) w.inside.push_back(d);
    settle(l, w);
    const Shape result = l.result_shape();
    const Id place = slots(l, w, indices, nullptr);
    const std::int64_t count = tosavk::element_count(l.shape(place)),
                       row = tosavk::element_count(from(w.operand, w.row));
    // As it comes: batch dimensions, then those of the window. The result has them where `offset_dims` says.
    Shape came = w.batch;
    for (const std::int64_t d : w.inside) came.push_back(w.size[static_cast<std::size_t>(d)]);
    Dims order;
    std::int64_t next_batch = 0, next_offset = static_cast<std::int64_t>(w.batch.size());
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(result.size()); ++d)
        order.push_back(contains(offsets, d) ? next_offset++ : next_batch++);
    const Id flat_place = l.reshape(place, {count, 1});
    l.set(l.move(operand, [&](Id id) {
        Shape flat{tosavk::element_count(slots_of(w))};
        if (row > 1) flat.push_back(row);
        const Id found = l.add(Op::gather_nd, {l.reshape(id, flat), flat_place}, l.type(id));
        return l.transpose(l.reshape(found, came), order);
    }));
}

/// Whole slices by their numbers in one dimension, of each batch by its own; what is outside is at the ends.
void lower_index_select(Lowering& l) {
    const Tensor operand = l.given(0);
    const Shape from = l.shape(operand.id), by = l.shape(l.given(1).id);
    const std::int64_t dim = l.integer("dim"), batches = l.integer("batch_dims");
    if (dim < 0 || dim >= static_cast<std::int64_t>(from.size()) || batches < 0 || batches > dim ||
        batches > static_cast<std::int64_t>(by.size()) || !std::equal(by.begin(), by.begin() + batches, from.begin()) ||
        from[static_cast<std::size_t>(dim)] == 0)
        l.fail(
            fmt::format("it selects along dimension {} with {} of batches, which its operands have not", dim, batches));
    const auto count = [](Shape::const_iterator first, Shape::const_iterator last) {
        return tosavk::element_count(Shape(first, last));
    };
    const std::int64_t n = count(from.begin(), from.begin() + batches), size = from[static_cast<std::size_t>(dim)];
    const std::int64_t before = count(from.begin() + batches, from.begin() + dim);
    const std::int64_t behind = count(from.begin() + dim + 1, from.end()), w = count(by.begin() + batches, by.end());
    Shape made(from.begin(), from.begin() + dim);
    made.insert(made.end(), by.begin() + batches, by.end());
    made.insert(made.end(), from.begin() + dim + 1, from.end());
    Dims starts;
    for (std::int64_t k = 0; k < n; ++k) starts.push_back(k * size);
    Id index = l.reshape(saturated_32(l, l.given(1)).id, {n, w});
    index = l.binary(Op::minimum, l.binary(Op::maximum, index, l.splat_int(index, 0), DType::i32),
                     l.splat_int(index, size - 1), DType::i32);
    const Id place = n == 1 ? index : l.binary(Op::add, index, l.constant_i32({n, 1}, starts), DType::i32);
    const std::array<std::int64_t, 4> turned{0, 2, 1, 3};
    l.set(l.move(operand, [&](Id id) {
        const Id slices = l.transpose(l.reshape(id, {n, before, size, behind}), turned);
        const Shape flat = before * behind > 1 ? Shape{n * size, before * behind} : Shape{n * size};
        const Id found = l.add(Op::gather_nd, {l.reshape(slices, flat), l.reshape(place, {n * w, 1})}, l.type(id));
        return l.reshape(l.transpose(l.reshape(found, {n, w, before, behind}), turned), made);
    }));
}

void lower_gather(Lowering& l) { lower_gather_sized(l, l.numbers("slice_sizes")); }

void lower_dynamic_gather(Lowering& l) {
    const auto sizes = l.known(2);
    if (!sizes) l.unsupported("its slice sizes are not known");
    check_gather(l, *sizes);
    lower_gather_sized(l, *sizes);
}

// ---- scatter ------------------------------------------------------------------------------------------------------

/// How updates join what is there; nothing where no combiner of the graph does it.
std::optional<Combiner> scatter_combiner(std::string_view name, Element element) {
    if (name == "second") return Combiner::set;
    if (element == Element::pred) {
        if (name == "and" || name == "minimum" || name == "multiply") return Combiner::minimum;
        if (name == "or" || name == "maximum" || name == "add") return Combiner::maximum;
        return std::nullopt;
    }
    if (name == "add") return Combiner::add;
    if (name == "multiply") return Combiner::multiply;
    if (name == "minimum") return Combiner::minimum;
    if (name == "maximum") return Combiner::maximum;
    return std::nullopt;
}

/// The bits of a narrow unsigned integer whose order is that of signed ones, and back.
Id ordered_bits(Lowering& l, Id id, Element element) {
    if (!is_unsigned_integer(element) || bits_of(element) > 32) return id;
    return l.bits_xor(id, min_of(l.type(id)));
}

struct Places {
    Id flat = no_id;  ///< [updates, 1]; -1 is nowhere
    Shape operand;
    std::int64_t slots = 1, row = 1, count = 1;
    bool collide = true;
};

/// By places: [slots] or [slots, row].
Shape flat_shape(const Places& p, std::int64_t first) { return p.row > 1 ? Shape{first, p.row} : Shape{first}; }

Id scatter_nd(Lowering& l, const Places& p, Id into, Id updates, Combiner combiner) {
    tosavk::Attributes attrs;
    attrs.combiner = combiner;
    attrs.out_of_range = OutOfRange::skip;
    const Id whole = l.reshape(into, flat_shape(p, p.slots)), rows = l.reshape(updates, flat_shape(p, p.count));
    return l.reshape(l.add(Op::scatter_nd, {whole, p.flat, rows}, l.type(into), attrs), p.operand);
}

/// What is at each place; anything for those that are nowhere.
Id read_places(Lowering& l, const Places& p, Id id) {
    return l.add(Op::gather_nd, {l.reshape(id, flat_shape(p, p.slots)), p.flat}, l.type(id));
}

/// Of each update, how many before it are of its own place; and the most of these.
std::pair<Id, Id> turns_of(Lowering& l, const Places& p) {
    const Shape line{1, p.count};
    const Id order = l.constant_i32(line, l.counted(p.count));
    tosavk::Attributes attrs;
    attrs.axis = 1;
    const std::vector<Id> sorted = l.sort({l.reshape(p.flat, line), order}, attrs);
    // Where a run of one place begins, in the sorted order.
    const Id none = l.constant_i32({1, 1}, std::array<std::int64_t, 1>{-2});
    const Id before = p.count == 1 ? none : l.concat({none, l.slice_axis(sorted[0], 1, 0, p.count - 1)}, 1);
    const Id begins = l.select(is_equal(l, before, sorted[0]), l.splat_int(order, 0), order);
    attrs.combiner = Combiner::maximum;
    const Id begin = l.add(Op::cumulate, {begins}, DType::i32, attrs);
    const Id nowhere = is_below(l, sorted[0], l.splat_int(order, 0));
    const Id turn = l.select(nowhere, l.splat_int(order, 0), l.binary(Op::sub, order, begin, DType::i32));
    tosavk::Attributes put;
    put.combiner = Combiner::set;
    const Id turns =
        l.add(Op::scatter_nd,
              {l.zeros(DType::i32, {p.count}), l.reshape(sorted[1], {p.count, 1}), l.reshape(turn, {p.count})},
              DType::i32, put);
    tosavk::Attributes along;
    along.axis = 1;
    const Id most = p.count == 1 ? turn : l.add(Op::reduce_max, {turn}, DType::i32, along);
    return {turns, l.reshape(most, {})};
}

/// What is there is read, combined, and put back: what `region` makes of no two updates of one place.
std::vector<Tensor> combined_once(Lowering& l, const Region& region, const Places& p, std::vector<Tensor> into,
                                  const std::vector<Tensor>& updates) {
    std::vector<Tensor> arguments;
    const Shape rows = flat_shape(p, p.count);
    for (const Tensor& x : into) arguments.push_back(l.move(x, [&](Id id) { return read_places(l, p, id); }));
    for (const Tensor& x : updates) arguments.push_back(l.move(x, [&](Id id) { return l.reshape(id, rows); }));
    std::vector<Tensor> made = l.lifted(region, arguments, rows);
    for (std::size_t k = 0; k < into.size(); ++k) {
        l.make_alike(into[k], made.at(k));
        into[k].range = into[k].range.joined(made[k].range);
        into[k].id = scatter_nd(l, p, into[k].id, made[k].id, Combiner::set);
        if (into[k].has_two()) into[k].other = scatter_nd(l, p, into[k].other, made[k].other, Combiner::set);
    }
    return into;
}

/// Any region where updates may meet: turn by turn those that have as many before them.
std::vector<Tensor> combined_in_turns(Lowering& l, const Region& region, const Places& p, std::vector<Tensor> into,
                                      std::vector<Tensor> updates) {
    const std::size_t n = into.size();
    for (Tensor& x : into) {
        x = l.as_pair(x);
        if (is_integer_element(x.element)) x.range = pair_range(x.element);
    }
    const auto [turns, most] = turns_of(l, p);
    const auto number = [](Id id) { return Tensor{Element::i32, id, no_id, whole_range(Element::i32)}; };
    std::vector<Tensor> carried{l.number(Element::i32, 0), number(most), number(turns), number(p.flat)};
    carried[0].range = whole_range(Element::i32);
    carried.insert(carried.end(), into.begin(), into.end());
    carried.insert(carried.end(), updates.begin(), updates.end());
    const auto goes_on = [](Lowering& inner, std::vector<Tensor> x) {
        const Id flag = inner.binary(Op::greater_equal, x[1].id, x[0].id, DType::boolean);
        return std::vector<Tensor>{{Element::pred, flag, no_id, {0, 1}}};
    };
    const auto turn = [&](Lowering& inner, std::vector<Tensor> x) {
        Places mine = p;
        const Id now = is_equal(inner, x[2].id, inner.reshape(x[0].id, {1}));
        mine.flat = inner.select(inner.reshape(now, {p.count, 1}), x[3].id, inner.splat_int(x[3].id, -1));
        const auto first = x.begin() + 4, second = first + static_cast<std::ptrdiff_t>(n);
        std::vector<Tensor> next = combined_once(inner, region, mine, {first, second}, {second, x.end()});
        for (std::size_t k = 0; k < n; ++k) x[4 + k] = inner.as_pair(next[k]);
        x[0].id = inner.binary(Op::add, x[0].id, inner.splat_int(x[0].id, 1), DType::i32);
        return x;
    };
    const std::vector<Tensor> done = l.loop(carried, goes_on, turn);
    return {done.begin() + 4, done.begin() + 4 + static_cast<std::ptrdiff_t>(n)};
}

Range range_of_updates(const Tensor& into, const Tensor& update, std::int64_t count) {
    const std::int64_t down = saturated_product(count, std::min<std::int64_t>(0, update.range.least));
    const std::int64_t up = saturated_product(count, std::max<std::int64_t>(0, update.range.most));
    return {saturated_sum(into.range.least, down), saturated_sum(into.range.most, up)};
}

bool scatters_words(const Tensor& into, const Tensor& update, Combiner combiner, std::int64_t count) {
    if (!is_integer_element(into.element) || bits_of(into.element) != 64 || combiner == Combiner::set) return false;
    if (into.is_pair() || combiner == Combiner::multiply) return true;
    return combiner == Combiner::add && !whole_range(into.element).holds(range_of_updates(into, update, count));
}

/// Whether scatter_nd has it, in one step or a few; else the region itself does it.
bool is_direct(const Places& p, const Tensor& into, const Tensor& update, Combiner combiner) {
    if (combiner == Combiner::set) return true;
    if (into.is_complex()) return combiner == Combiner::add;
    if (!scatters_words(into, update, combiner, p.count)) return true;
    return combiner == Combiner::add ? p.count < most_added : combiner != Combiner::multiply;
}

Tensor added_words(Lowering& l, const Places& p, const Tensor& into, const Tensor& update) {
    Quarters sums = quarters_of(l, words_of(l, l.as_pair(into)));
    const Quarters parts = quarters_of(l, words_of(l, l.as_pair(update)));
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = scatter_nd(l, p, sums[k], parts[k], Combiner::add);
    return from_words(l, words_of_sums(l, sums), into.element, pair_range(into.element));
}

/// The upper words first, then the lower ones of what has the upper word that was found.
Tensor extreme_words(Lowering& l, const Places& p, const Tensor& into, const Tensor& update, Combiner combiner) {
    const bool is_signed = into.element == Element::i64;
    const auto key = [&](Id id, bool as_signed) { return as_signed ? id : l.bits_xor(id, min_of(DType::i32)); };
    const Id of_into = key(into.other, is_signed), of_update = key(update.other, is_signed);
    const Id high = scatter_nd(l, p, of_into, of_update, combiner);
    const Id found = l.reshape(read_places(l, p, high), l.shape(of_update));
    const Id low_into = key(into.id, false), low_update = key(update.id, false);
    const Id none = l.splat_int(low_into, combiner == Combiner::maximum ? min_of(DType::i32) : max_of(DType::i32));
    const Id low = scatter_nd(l, p, l.select(is_equal(l, of_into, high), low_into, none),
                              l.select(is_equal(l, of_update, found), low_update, none), combiner);
    return {into.element, key(low, false), key(high, is_signed), into.range.joined(update.range)};
}

Tensor scattered(Lowering& l, const Places& p, const Tensor& into, const Tensor& update, Combiner combiner) {
    Tensor result = into;
    if (combiner == Combiner::set) {
        result.id = scatter_nd(l, p, into.id, update.id, combiner);
        if (into.has_two()) result.other = scatter_nd(l, p, into.other, update.other, combiner);
        result.range = into.range.joined(update.range);
        return result;
    }
    if (into.is_complex()) {
        result.id = scatter_nd(l, p, into.id, update.id, combiner);
        result.other = scatter_nd(l, p, into.other, update.other, combiner);
        return result;
    }
    if (scatters_words(into, update, combiner, p.count))
        return combiner == Combiner::add ? added_words(l, p, into, update)
                                         : extreme_words(l, p, into, update, combiner);
    const bool extreme = combiner == Combiner::minimum || combiner == Combiner::maximum;
    Range range = into.range.joined(update.range);
    if (is_integer_element(into.element) && !extreme) {
        range = combiner == Combiner::add ? range_of_updates(into, update, p.count) : pair_range(Element::i64);
    }
    if (into.element == Element::pred) {
        result.id = scatter_nd(l, p, into.id, update.id, combiner);
        return result;
    }
    const bool widens = l.wide_type(l.type(into.id)) == DType::fp32 || bits_of(into.element) < 8;
    const auto key = [&](const Tensor& t) {
        if (widens) return l.wide(t);
        return extreme ? ordered_bits(l, t.id, t.element) : t.id;
    };
    const Id done = scatter_nd(l, p, key(into), key(update), combiner);
    if (widens) return l.narrow(done, into.element, range);
    return l.ranged(extreme ? ordered_bits(l, done, into.element) : done, into.element, range);
}

std::vector<Tensor> joined_at(Lowering& l, const Region& region, const Places& p, const std::vector<Tensor>& into,
                              const std::vector<Tensor>& updates) {
    const std::size_t n = into.size();
    std::vector<Combiner> combiners;
    for (std::size_t k = 0; k < n; ++k) {
        const auto combiner = scatter_combiner(combination_of(l, region, k, n + k, k).name, into[k].element);
        if (combiner && is_direct(p, into[k], updates[k], *combiner)) combiners.push_back(*combiner);
    }
    if (combiners.size() != n)
        return p.collide ? combined_in_turns(l, region, p, into, updates) : combined_once(l, region, p, into, updates);
    std::vector<Tensor> results;
    for (std::size_t k = 0; k < n; ++k) results.push_back(scattered(l, p, into[k], updates[k], combiners[k]));
    return results;
}

void lower_scatter(Lowering& l) {
    const std::size_t n = (l.operand_count() - 1) / 2;
    const Tensor indices = saturated_32(l, l.given(n));
    const Region& region = l.region(0);
    std::vector<Tensor> into, updates;
    for (std::size_t k = 0; k < n; ++k) {
        const Element wanted = l.type_of(region.arguments.at(k)).element;
        into.push_back(converted(l, l.given(k), wanted));
        updates.push_back(converted(l, l.given(n + 1 + k), wanted));
        l.make_alike(into.back(), updates.back());
    }
    if (l.is_empty(updates[0].id)) {
        for (std::size_t k = 0; k < n; ++k) l.set(into[k], k);
        return;
    }
    Windows w = window_attributes(l, l.shape(into[0].id), l.shape(indices.id));
    w.map = l.numbers("scatter_dims_to_operand_dims");
    w.batching = l.numbers("input_batching_dims");
    w.of_index = l.numbers("scatter_indices_batching_dims");
    const Dims window_dims = l.numbers("update_window_dims"), inserted = l.numbers("inserted_window_dims");
    const Shape update_shape = l.shape(updates[0].id);
    w.size.assign(w.operand.size(), 1);
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(w.operand.size()); ++d) {
        if (contains(inserted, d) || contains(w.batching, d)) continue;
        w.size[static_cast<std::size_t>(d)] =
            update_shape.at(static_cast<std::size_t>(window_dims.at(w.inside.size())));
        w.inside.push_back(d);
    }
    settle(l, w);
    Id valid = no_id;
    Id place = slots(l, w, indices, &valid);
    const bool may_leave = valid != no_id;
    if (may_leave) place = l.select(valid, place, l.splat_int(place, -1));
    // Updates with the windows' dimensions last.
    Dims order;
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(update_shape.size()); ++d)
        if (!contains(window_dims, d)) order.push_back(d);
    order.insert(order.end(), window_dims.begin(), window_dims.end());
    for (Tensor& update : updates) update = l.move(update, [&](Id id) { return l.transpose(id, order); });
    Places p;
    p.operand = w.operand;
    p.slots = tosavk::element_count(slots_of(w));
    p.row = tosavk::element_count(from(w.operand, w.row));
    p.count = tosavk::element_count(l.shape(place));
    p.flat = l.reshape(place, {p.count, 1});
    p.collide = !l.flag("unique_indices") && tosavk::element_count(w.batch) > 1;
    const std::vector<Tensor> results = joined_at(l, region, p, into, updates);
    for (std::size_t k = 0; k < n; ++k) l.set(results[k], k);
}

}  // namespace

std::vector<Tensor> scattered_numbers(Lowering& l, const Region& region, std::vector<Tensor> into,
                                      std::vector<Tensor> updates, Id places) {
    for (std::size_t k = 0; k < into.size(); ++k) l.make_alike(into[k], updates.at(k));
    Places p;
    p.operand = l.shape(into.at(0).id);
    p.slots = tosavk::element_count(p.operand);
    p.count = tosavk::element_count(l.shape(places));
    p.flat = l.reshape(places, {p.count, 1});
    return joined_at(l, region, p, into, updates);
}

std::span<const LoweringRow> index_rows() {
    static constexpr LoweringRow rows[] = {
        {"dynamic_gather", lower_dynamic_gather},
        {"gather", lower_gather},
        {"scatter", lower_scatter},
        {"torch_index_select", lower_index_select},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

// Gather and scatter: the place of each element, or of each run of elements that lie side by side, as one number.
#include "frontends/stablehlo/functions.hpp"

#include <algorithm>
#include <array>
#include <numeric>

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

void settle(Windows& w) {
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
        std::vector<std::int64_t> values(static_cast<std::size_t>(size));
        for (std::int64_t i = 0; i < size; ++i) values[static_cast<std::size_t>(i)] = i * stride;
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
    const Tensor operand = l.in(0), indices = l.in(1);
    Windows w = window_attributes(l, l.shape(operand.id), l.shape(indices.id));
    w.size = sizes;
    w.map = l.numbers("start_index_map");
    w.batching = l.numbers("operand_batching_dims");
    w.of_index = l.numbers("start_indices_batching_dims");
    const Dims offsets = l.numbers("offset_dims"), collapsed = l.numbers("collapsed_slice_dims");
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(w.operand.size()); ++d)
        if (!contains(collapsed, d) && !contains(w.batching, d)) w.inside.push_back(d);
    settle(w);
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

void lower_gather(Lowering& l) { lower_gather_sized(l, l.numbers("slice_sizes")); }

void lower_dynamic_gather(Lowering& l) {
    const auto sizes = l.known(2);
    if (!sizes) l.unsupported("its slice sizes are not known");
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

Id scatter_nd(Lowering& l, const Places& p, Id into, Id updates, Combiner combiner) {
    tosavk::Attributes attrs;
    attrs.combiner = combiner;
    attrs.out_of_range = OutOfRange::skip;
    Shape flat{p.slots}, rows{p.count};
    if (p.row > 1) flat.push_back(p.row), rows.push_back(p.row);
    const Id done =
        l.add(Op::scatter_nd, {l.reshape(into, flat), p.flat, l.reshape(updates, rows)}, l.type(into), attrs);
    return l.reshape(done, p.operand);
}

Tensor scattered(Lowering& l, const Places& p, const Tensor& into, const Tensor& update, Combiner combiner) {
    Tensor result = into;
    if (combiner == Combiner::set) {
        result.id = scatter_nd(l, p, into.id, update.id, combiner);
        if (into.is_complex()) result.imaginary = scatter_nd(l, p, into.imaginary, update.imaginary, combiner);
        result.range = into.range.joined(update.range);
        return result;
    }
    if (into.is_complex()) {
        if (combiner != Combiner::add) l.unsupported("products of complex numbers at one place are not supported");
        result.id = scatter_nd(l, p, into.id, update.id, combiner);
        result.imaginary = scatter_nd(l, p, into.imaginary, update.imaginary, combiner);
        return result;
    }
    const bool extreme = combiner == Combiner::minimum || combiner == Combiner::maximum;
    Range range = into.range.joined(update.range);
    if (is_integer_element(into.element) && !extreme) {
        range = combiner == Combiner::add
                  ? Range{into.range.least + p.count * std::min<std::int64_t>(0, update.range.least),
                          into.range.most + p.count * std::max<std::int64_t>(0, update.range.most)}
                  : Range{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
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

void lower_scatter(Lowering& l) {
    const std::size_t n = (l.operand_count() - 1) / 2;
    const Tensor indices = l.in(n);
    const Region& region = l.region(0);
    std::vector<Tensor> into, updates;
    for (std::size_t k = 0; k < n; ++k) {
        const Element wanted = l.type_of(region.arguments.at(k)).element;
        into.push_back(l.in(k).element == wanted ? l.in(k) : converted(l, l.in(k), wanted));
        updates.push_back(l.in(n + 1 + k).element == wanted ? l.in(n + 1 + k) : converted(l, l.in(n + 1 + k), wanted));
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
    settle(w);
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
    std::vector<Combiner> combiners;
    for (std::size_t k = 0; k < n; ++k) {
        const auto combiner = scatter_combiner(combination_of(l, region, k, n + k, k).name, into[k].element);
        if (combiner) combiners.push_back(*combiner);
    }
    if (combiners.size() == n) {
        for (std::size_t k = 0; k < n; ++k) l.set(scattered(l, p, into[k], updates[k], combiners[k]), k);
        return;
    }
    // Any other region: what is there is read, combined, and put back, where no two updates meet.
    if (p.collide) l.unsupported("its region is supported only where no two updates are of one place (unique_indices)");
    Shape flat{p.slots}, rows{p.count};
    if (p.row > 1) flat.push_back(p.row), rows.push_back(p.row);
    std::vector<Tensor> arguments;
    for (const Tensor& x : into)
        arguments.push_back(
            l.move(x, [&](Id id) { return l.add(Op::gather_nd, {l.reshape(id, flat), p.flat}, l.type(id)); }));
    for (const Tensor& x : updates) arguments.push_back(l.move(x, [&](Id id) { return l.reshape(id, rows); }));
    const std::vector<Tensor> made = l.lifted(region, arguments, rows);
    for (std::size_t k = 0; k < n; ++k) l.set(scattered(l, p, into[k], made.at(k), Combiner::set), k);
}

}  // namespace

std::span<const LoweringRow> index_rows() {
    static constexpr LoweringRow rows[] = {
        {"dynamic_gather", lower_dynamic_gather},
        {"gather", lower_gather},
        {"scatter", lower_scatter},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

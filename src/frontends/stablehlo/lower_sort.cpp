// Sorting: by SORT where the comparator compares one thing of each element after the other, else by the places that it
// gives each.
#include "frontends/stablehlo/comparators.hpp"
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/lower_custom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

/// What elements are put in the order of, the most important first; empty where that is not known.
std::vector<Tensor> keys_of(Lowering& l, const std::vector<Tensor>& inputs, const Region& comparator,
                            const std::vector<Comparison>& order) {
    if (order.empty()) return {};
    const Operation* last = order[0].compare;
    for (const Comparison& c : order) last = std::max(last, c.compare);  // in the region's order
    std::vector<Tensor> arguments, keys;
    for (const Tensor& x : inputs) arguments.insert(arguments.end(), 2, x);
    const Shape shape = l.shape(inputs.at(0).id);
    const Tensor of_last = l.lifted(comparator, arguments, shape, last).at(0);
    for (const Comparison& c : order) {
        const Tensor key = c.compare == last ? of_last : l.value(c.compare->operands[0]);
        if (key.is_complex()) return {};
        if (is_coded_element(key.element)) l.refuse_codes(key.element);
        keys.push_back(l.move(key, [&](Id id) { return l.tile_to(l.with_rank_of(id, inputs[0].id), shape); }));
    }
    return keys;
}

struct Key {
    Id id;
    tosavk::Attributes attrs;
};

/// One for each word of each key, in their order.
std::vector<Key> words_of_keys(Lowering& l, const std::vector<Tensor>& keys, const std::vector<Comparison>& order) {
    std::vector<Key> all;
    for (std::size_t k = 0; k < keys.size(); ++k) {
        const Tensor& key = keys[k];
        tosavk::Attributes attrs;
        attrs.descending = order[k].direction == "GT";
        attrs.total_order = order[k].total_order && is_float(l.type(key.id));
        attrs.is_unsigned = is_unsigned_integer(key.element) && (bits_of(key.element) <= 32 || key.is_pair());
        if (key.is_pair()) {
            all.push_back({key.other, attrs});
            attrs.is_unsigned = true;
        }
        all.push_back({key.id, attrs});
    }
    return all;
}

/// By the last key first, of words by the lower one: what is alike in one before it stays in that order.
std::vector<Id> sorted_by(Lowering& l, const std::vector<Key>& keys, std::size_t axis, const std::vector<Id>& parts) {
    std::vector<Id> all;
    for (const Key& key : keys) all.push_back(key.id);
    std::size_t left = all.size();
    all.insert(all.end(), parts.begin(), parts.end());
    while (left-- > 0) {
        const auto key = all.begin() + static_cast<std::ptrdiff_t>(left);
        std::rotate(all.begin(), key, key + 1);
        tosavk::Attributes attrs = keys[left].attrs;
        attrs.axis = static_cast<std::int32_t>(axis);
        all = l.sort(all, attrs);
        all.erase(all.begin());
    }
    return all;
}

/// Lines [count, n], along which is sorted, and back.
struct SortedLines {
    Shape turned;
    std::vector<std::int64_t> turn;
    std::int64_t count, n;

    SortedLines(const Shape& shape, std::size_t axis) : turned(shape), turn(shape.size()), n(shape[axis]) {
        count = tosavk::element_count(shape) / n;
        std::iota(turn.begin(), turn.end(), 0);
        std::swap(turn[axis], turn.back());
        std::swap(turned[axis], turned.back());
    }
    Id of(Lowering& l, Id id) const { return l.reshape(l.transpose(id, turn), {count, n}); }
    Id back(Lowering& l, Id id) const { return l.transpose(l.reshape(id, turned), turn); }
    Id places(Lowering& l) const { return l.tile_to(l.constant_i32({1, n}, l.counted(n)), {count, n}); }
    /// Of each line what is at its places.
    Id read(Lowering& l, Id line, Id places) const {
        const DType type = l.type(line);
        const Id table = l.reshape(type == DType::boolean ? l.cast(line, DType::i8) : line, {count, n, 1});
        const Id found = l.reshape(l.add(Op::gather, {table, places}, l.type(table)), {count, n});
        return type == DType::boolean ? l.cast(found, type) : found;
    }
};

/// As many tensors as one SORT moves at once: each is read and written through a binding of its own.
constexpr std::size_t most_moved = 8;

/// Where more are to be moved: only the places are, by one key after the other; what is at them is read in the end.
std::vector<Id> sorted_by_places(Lowering& l, const std::vector<Key>& keys, const SortedLines& lines,
                                 const std::vector<Id>& parts) {
    Id places = lines.places(l);
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
        const Id line = lines.of(l, key->id);
        tosavk::Attributes attrs = key->attrs;
        attrs.axis = 1;
        places = l.sort({key == keys.rbegin() ? line : lines.read(l, line, places), places}, attrs)[1];
    }
    std::vector<Id> moved;
    for (const Id part : parts) moved.push_back(lines.back(l, lines.read(l, lines.of(l, part), places)));
    return moved;
}

/// For each element, how many go before it: [.., n] from comparisons of all with all. Stable.
Id ranks(Lowering& l, const Region& comparator, const std::vector<Tensor>& lines, std::int64_t count, std::int64_t n) {
    std::vector<Tensor> arguments;
    const Shape over{count, n, n};
    for (const Tensor& x : lines) {
        arguments.push_back(l.move(x, [&](Id id) { return l.tile_to(l.reshape(id, {count, 1, n}), over); }));
        arguments.push_back(l.move(x, [&](Id id) { return l.tile_to(l.reshape(id, {count, n, 1}), over); }));
    }
    // [i, j]: j goes before i.
    const Id before = l.lifted(comparator, arguments, over).at(0).id;
    std::vector<Tensor> other;
    for (std::size_t k = 0; k < arguments.size(); k += 2) {
        other.push_back(arguments[k + 1]);
        other.push_back(arguments[k]);
    }
    const Id behind = l.lifted(comparator, other, over).at(0).id;
    const std::vector<std::int64_t> numbers = l.counted(n);
    const Id first = is_below(l, l.constant_i32({1, 1, n}, numbers), l.constant_i32({1, n, 1}, numbers));
    const Id tie = l.binary(Op::logical_and, l.logical_not(behind), first, DType::boolean);
    const Id ahead = l.cast(l.binary(Op::logical_or, before, tie, DType::boolean), DType::i32);
    tosavk::Attributes attrs;
    attrs.axis = 2;
    return l.reshape(l.add(Op::reduce_sum, {ahead}, DType::i32, attrs), {count, n});
}

void lower_sort(Lowering& l) {
    const std::vector<Tensor> inputs = l.all_given();
    const Shape shape = l.shape(inputs.at(0).id);
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::int64_t dimension = l.integer("dimension");
    if (dimension < -rank || dimension >= rank)
        l.fail(fmt::format("a tensor of shape {} has no dimension {}", to_string(shape), dimension));
    if (dimension < 0) dimension += rank;
    for (const Tensor& x : inputs)
        if (l.shape(x.id) != shape)
            l.fail(fmt::format("it sorts {} and {} together", to_string(shape), to_string(l.shape(x.id))));
    const std::vector<Tensor> made = sorted(l, inputs, static_cast<std::size_t>(dimension), l.region(0));
    for (std::size_t k = 0; k < made.size(); ++k) l.set(made[k], k);
}

}  // namespace

std::vector<Tensor> sorted(Lowering& l, const std::vector<Tensor>& inputs, std::size_t axis, const Region& comparator) {
    const Shape shape = l.shape(inputs.at(0).id);
    if (has_no_elements(shape)) return inputs;
    const std::vector<Comparison> order = order_of(comparator);
    std::vector<Id> parts;  // all that is moved
    for (const Tensor& x : inputs) {
        parts.push_back(x.id);
        if (x.has_two()) parts.push_back(x.other);
    }
    const std::vector<Tensor> keys = keys_of(l, inputs, comparator, order);
    const SortedLines by(shape, axis);
    std::vector<Id> moved;
    if (!keys.empty()) {
        const std::vector<Key> words = words_of_keys(l, keys, order);
        moved = words.size() + parts.size() > most_moved ? sorted_by_places(l, words, by, parts)
                                                         : sorted_by(l, words, axis, parts);
    } else {
        if (by.n > 1024) l.unsupported("its comparator is supported for lines of up to 1024 elements");
        std::vector<Tensor> lines;
        for (const Tensor& x : inputs) lines.push_back(l.move(x, [&](Id id) { return by.of(l, id); }));
        const Key rank{by.back(l, ranks(l, comparator, lines, by.count, by.n)), {}};
        moved = parts.size() < most_moved ? sorted_by(l, {rank}, axis, parts) : sorted_by_places(l, {rank}, by, parts);
    }
    std::size_t next = 0;
    std::vector<Tensor> made;
    for (const Tensor& input : inputs) made.push_back(l.move(input, [&](Id) { return moved[next++]; }));
    return made;
}

std::span<const LoweringRow> sort_rows() {
    static constexpr LoweringRow rows[] = {
        {"sort", lower_sort},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

// Sorting: by SORT where the comparator compares one thing of each element after the other, else by the places that it
// gives each.
#include "frontends/stablehlo/comparators.hpp"
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/lower_custom.hpp"

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

/// By the last key first, of words by the lower one: what is alike in one before it stays in that order.
std::vector<Id> sorted_by(Lowering& l, const std::vector<Tensor>& keys, const std::vector<Comparison>& order,
                          std::size_t axis, std::vector<Id> parts) {
    std::vector<tosavk::Attributes> each;
    std::vector<Id> all;
    for (std::size_t k = 0; k < keys.size(); ++k) {
        const Tensor& key = keys[k];
        tosavk::Attributes attrs;
        attrs.axis = static_cast<std::int32_t>(axis);
        attrs.descending = order[k].direction == "GT";
        attrs.total_order = order[k].total_order && is_float(l.type(key.id));
        attrs.is_unsigned = is_unsigned_integer(key.element) && (bits_of(key.element) <= 32 || key.is_pair());
        if (key.is_pair()) {
            all.push_back(key.other);
            each.push_back(attrs);
            attrs.is_unsigned = true;
        }
        all.push_back(key.id);
        each.push_back(attrs);
    }
    std::size_t left = all.size();
    all.insert(all.end(), parts.begin(), parts.end());
    while (left-- > 0) {
        const auto key = all.begin() + static_cast<std::ptrdiff_t>(left);
        std::rotate(all.begin(), key, key + 1);
        all = l.sort(all, each[left]);
        all.erase(all.begin());
    }
    return all;
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
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0);
    const Id first = is_below(l, l.constant_i32({1, 1, n}, numbers), l.constant_i32({1, n, 1}, numbers));
    const Id tie = l.binary(Op::logical_and, l.logical_not(behind), first, DType::boolean);
    const Id ahead = l.cast(l.binary(Op::logical_or, before, tie, DType::boolean), DType::i32);
    tosavk::Attributes attrs;
    attrs.axis = 2;
    return l.reshape(l.add(Op::reduce_sum, {ahead}, DType::i32, attrs), {count, n});
}

void lower_sort(Lowering& l) {
    const std::vector<Tensor> inputs = l.all_given();
    std::int64_t dimension = l.integer("dimension");
    if (dimension < 0) dimension += static_cast<std::int64_t>(l.shape(inputs.at(0).id).size());
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
    std::vector<Id> moved;
    if (!keys.empty()) {
        moved = sorted_by(l, keys, order, axis, parts);
    } else {
        std::vector<std::int64_t> turn(shape.size());
        std::iota(turn.begin(), turn.end(), 0);
        std::swap(turn[axis], turn.back());
        const std::int64_t n = shape[axis], count = tosavk::element_count(shape) / n;
        if (n > 1024) l.unsupported("its comparator is supported for lines of up to 1024 elements");
        const auto line = [&](Id id) { return l.reshape(l.transpose(id, turn), {count, n}); };
        Shape turned = shape;
        std::swap(turned[axis], turned.back());
        std::vector<Tensor> lines;
        for (const Tensor& x : inputs) lines.push_back(l.move(x, line));
        std::vector<Id> all{ranks(l, comparator, lines, count, n)};
        for (const Id part : parts) all.push_back(line(part));
        tosavk::Attributes attrs;
        attrs.axis = 1;
        moved = l.sort(all, attrs);
        moved.erase(moved.begin());
        for (Id& id : moved) id = l.transpose(l.reshape(id, turned), turn);
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

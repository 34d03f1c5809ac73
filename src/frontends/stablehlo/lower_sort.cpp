// Sorting: by SORT where the comparator compares one thing of each element, else by the places that it gives each.
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/lower_custom.hpp"

#include <array>
#include <numeric>
#include <set>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

/// Whether all that `id` is made of are constants and arguments with the parity of `first`.
bool depends_on(const Region& region, stablehlo::ValueId id, std::size_t first) {
    std::vector<stablehlo::ValueId> todo{id};
    std::set<stablehlo::ValueId> seen;
    while (!todo.empty()) {
        const stablehlo::ValueId next = todo.back();
        todo.pop_back();
        if (!seen.insert(next).second) continue;
        const auto at = std::find(region.arguments.begin(), region.arguments.end(), next);
        if (at != region.arguments.end() && static_cast<std::size_t>(at - region.arguments.begin()) % 2 != first)
            return false;
        if (const Operation* made = Lowering::maker(region, next))
            todo.insert(todo.end(), made->operands.begin(), made->operands.end());
    }
    return true;
}

struct Comparison {
    const Operation* compare = nullptr;
    bool descending = false, total_order = false;
};

/// The comparator as a comparison of one key of each, made alike.
Comparison comparison_of(const Region& region) {
    const Operation& end = region.operations.back();
    const Operation* compare = end.operands.size() == 1 ? Lowering::maker(region, end.operands[0]) : nullptr;
    if (!compare || compare->name != "compare") return {};
    const Attribute* direction = find(compare->attributes, "comparison_direction");
    const Attribute* type = find(compare->attributes, "compare_type");
    const auto* word = direction ? direction->as<Keyword>() : nullptr;
    const auto* kind = type ? type->as<Keyword>() : nullptr;
    if (!word || (word->name != "LT" && word->name != "GT")) return {};
    const bool straight = depends_on(region, compare->operands[0], 0) && depends_on(region, compare->operands[1], 1);
    const bool swapped = depends_on(region, compare->operands[0], 1) && depends_on(region, compare->operands[1], 0);
    if (!straight && !swapped) return {};
    return {compare, (word->name == "GT") != swapped, kind && kind->name == "TOTALORDER"};
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
    const Comparison comparison = comparison_of(comparator);
    std::vector<Id> parts;  // all that is moved
    for (const Tensor& x : inputs) {
        parts.push_back(x.id);
        if (x.has_two()) parts.push_back(x.other);
    }
    Tensor key;
    bool has_key = false;
    if (comparison.compare) {
        std::vector<Tensor> arguments;
        for (const Tensor& x : inputs) arguments.insert(arguments.end(), 2, x);
        key = l.lifted(comparator, arguments, shape, comparison.compare).at(0);
        has_key = !key.is_complex();
    }
    std::vector<Id> moved;
    if (has_key) {
        tosavk::Attributes attrs;
        attrs.axis = static_cast<std::int32_t>(axis);
        attrs.descending = comparison.descending;
        attrs.total_order = comparison.total_order && is_float(l.type(key.id));
        attrs.is_unsigned = is_unsigned_integer(key.element) && bits_of(key.element) <= 32;
        const auto whole = [&](Id id) { return l.tile_to(l.with_rank_of(id, inputs[0].id), shape); };
        if (key.is_pair()) {
            // By the lower word first: what has the same upper word stays in that order.
            tosavk::Attributes of_low = attrs;
            of_low.is_unsigned = true;
            parts.insert(parts.begin(), {whole(key.id), whole(key.other)});
            parts = l.sort(parts, of_low);
            parts.erase(parts.begin());
            attrs.is_unsigned = key.element == Element::u64;
        } else {
            parts.insert(parts.begin(), whole(key.id));
        }
        moved = l.sort(parts, attrs);
        moved.erase(moved.begin());
    } else {
        std::vector<std::int64_t> order(shape.size());
        std::iota(order.begin(), order.end(), 0);
        std::swap(order[axis], order.back());
        const std::int64_t n = shape[axis], count = tosavk::element_count(shape) / n;
        if (n > 1024) l.unsupported("its comparator is supported for lines of up to 1024 elements");
        const auto line = [&](Id id) { return l.reshape(l.transpose(id, order), {count, n}); };
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
        for (Id& id : moved) id = l.transpose(l.reshape(id, turned), order);
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

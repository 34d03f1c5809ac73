// Reductions: TOSA's where the region does one thing, else the region itself on halves of what is left.
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/words.hpp"

#include <numeric>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

/// What the graph has for a combination of one element type; unknown where it has nothing.
Op reduction_of(std::string_view name, Element element) {
    const bool is_integer = is_integer_element(element);
    if (element == Element::pred) {
        if (name == "and" || name == "minimum" || name == "multiply") return Op::reduce_all;
        if (name == "or" || name == "maximum" || name == "add") return Op::reduce_any;
        return Op::unknown;
    }
    if (name == "add") return Op::reduce_sum;
    if (name == "maximum") return Op::reduce_max;
    if (name == "minimum") return Op::reduce_min;
    if (name == "multiply" && !is_integer) return Op::reduce_product;
    return Op::unknown;
}

Range range_of_sum(Range each, std::int64_t count) {
    return {std::min(each.least, saturated_product(each.least, count)),
            std::max(each.most, saturated_product(each.most, count))};
}

bool reduces_words(const Tensor& x, Op op, std::int64_t count) {
    if (!is_integer_element(x.element) || bits_of(x.element) != 64) return false;
    return x.is_pair() || (op == Op::reduce_sum && !whole_range(x.element).holds(range_of_sum(x.range, count)));
}

/// The greatest (or least) of the upper words, then of the lower words beside it.
Words extreme_of_words(Lowering& l, Words x, bool is_signed, Op op, const std::function<Id(Id)>& along) {
    const Id high = is_signed ? x.high : l.bits_xor(x.high, min_of(DType::i32)), best = along(high);
    const Id low = l.bits_xor(x.low, min_of(DType::i32));
    const Id none = l.splat_int(low, op == Op::reduce_max ? min_of(DType::i32) : max_of(DType::i32));
    const Id lowest = along(l.select(is_equal(l, high, best), low, none));
    return {l.bits_xor(lowest, min_of(DType::i32)), is_signed ? best : l.bits_xor(best, min_of(DType::i32))};
}

Tensor reduced(Lowering& l, const Tensor& x, Op op, std::span<const std::int64_t> dims, const Shape& result) {
    const bool sums = op == Op::reduce_sum || op == Op::reduce_product;
    const bool is_integer = is_integer_element(x.element);
    const auto along = [&](Id id) {
        for (const std::int64_t d : dims) {
            tosavk::Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(d);
            if (l.shape(id).at(static_cast<std::size_t>(d)) > 1) id = l.add(op, {id}, l.type(id), attrs);
        }
        return id;
    };
    std::int64_t count = 1;
    for (const std::int64_t d : dims) count *= l.shape(x.id)[static_cast<std::size_t>(d)];
    if (reduces_words(x, op, count)) {
        Words words = words_of(l, x);
        if (!sums) {
            words = extreme_of_words(l, words, x.element == Element::i64, op, along);
        } else {
            const Shape whole = l.shape(x.id);
            Quarters quarters = quarters_of(l, words);
            for (Id& part : quarters) part = along(l.tile_to(part, whole));
            words = words_of_sums(l, quarters);
        }
        Tensor made = from_words(l, words, x.element, sums ? pair_range(x.element) : x.range);
        return l.move(made, [&](Id id) { return l.reshape(id, result); });
    }
    const auto shaped = [&](Id id) { return l.reshape(along(id), result); };
    if (x.is_complex()) return {x.element, shaped(x.id), shaped(x.other), {}};
    Id id = l.wide(x);
    if (sums && l.type(id) != DType::i32) id = l.cast(id, DType::fp32);  // one rounding at the end
    Range range = x.range;
    if (sums && is_integer) range = range_of_sum(x.range, count);
    if (!sums) id = ordered(l, shaped(ordered(l, id, x.element)), x.element);
    else id = shaped(id);
    return l.narrow(id, x.element, range);
}

/// Reduced dimensions at the end, as one.
Id lines_of(Lowering& l, Id id, std::span<const std::int64_t> dims, std::int64_t count) {
    std::vector<std::int64_t> order;
    for (std::int64_t d = 0; d < static_cast<std::int64_t>(l.shape(id).size()); ++d)
        if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
    order.insert(order.end(), dims.begin(), dims.end());
    return l.reshape(l.transpose(id, order), {tosavk::element_count(l.shape(id)) / count, count});
}

/// Of several operands neighbours are combined, which keeps their order: JAX's argmax names the first NaN. What has no
/// other stays as it is: a number that changes nothing is not known.
std::vector<Tensor> halved(Lowering& l, const Region& region, std::vector<Tensor> lines, std::int64_t count) {
    while (count > 1) {
        const std::int64_t half = count / 2, outer = l.shape(lines[0].id)[0];
        std::vector<Tensor> halves, last;
        for (const bool upper : {false, true}) {
            for (const Tensor& x : lines) {
                halves.push_back(l.move(x, [&](Id id) {
                    if (lines.size() == 1) return l.slice_axis(id, 1, upper ? half : 0, half);
                    id = l.reshape(l.slice_axis(id, 1, 0, 2 * half), {outer, half, 2});
                    return l.reshape(l.slice_axis(id, 2, upper, 1), {outer, half});
                }));
            }
        }
        for (const Tensor& x : lines)
            last.push_back(l.move(x, [&](Id id) { return l.slice_axis(id, 1, 2 * half, count % 2); }));
        lines = l.lifted(region, halves, {outer, half});
        for (std::size_t k = 0; k < lines.size() && count % 2 != 0; ++k) {
            Tensor& x = lines[k];
            l.make_alike(x, last[k]);
            x.id = l.concat({x.id, last[k].id}, 1);
            if (x.has_two()) x.other = l.concat({x.other, last[k].other}, 1);
            x.range = x.range.joined(last[k].range);
        }
        count -= half;
    }
    return lines;
}

void lower_reduce(Lowering& l) {
    const std::vector<std::int64_t> dims = l.numbers("dimensions");
    const std::size_t n = l.operand_count() / 2;
    const Region& region = l.region(0);
    const Shape result = l.result_shape();
    std::vector<Tensor> inputs, initial;
    for (std::size_t k = 0; k < n; ++k) {
        inputs.push_back(l.given(k));
        initial.push_back(l.given(n + k));
    }
    std::int64_t count = 1;
    for (const std::int64_t d : dims) count *= l.operand_type(0).dims.at(static_cast<std::size_t>(d));
    if (count == 0) {
        for (std::size_t k = 0; k < n; ++k)
            l.set(l.move(initial[k], [&](Id id) { return l.broadcast(id, result, {}); }), k);
        return;
    }
    for (std::size_t k = 0; k < n; ++k) {
        const Element wanted = l.type_of(region.arguments.at(k)).element;
        if (inputs[k].element != wanted) inputs[k] = converted(l, inputs[k], wanted);
        if (initial[k].element != wanted) initial[k] = converted(l, initial[k], wanted);
    }
    std::vector<Op> ops;
    std::vector<std::string_view> names;
    for (std::size_t k = 0; k < n; ++k) {
        names.push_back(combination_of(l, region, k, n + k, k).name);
        const bool is_sum_of_pairs = inputs[k].is_complex() && names[k] == "add";
        ops.push_back(inputs[k].is_complex() && !is_sum_of_pairs ? Op::unknown
                                                                 : reduction_of(names[k], inputs[k].element));
        if (ops[k] == Op::reduce_sum && count > most_added && reduces_words(inputs[k], ops[k], count))
            ops[k] = Op::unknown;
    }
    std::vector<Tensor> results;
    bool combine = true;
    if (std::find(ops.begin(), ops.end(), Op::unknown) == ops.end()) {
        combine = false;
        for (std::size_t k = 0; k < n; ++k) {
            results.push_back(reduced(l, inputs[k], ops[k], dims, result));
            combine = combine || !is_neutral(l, names[k], initial[k]);
        }
    } else {
        std::vector<Tensor> lines;
        for (const Tensor& x : inputs) lines.push_back(l.move(x, [&](Id id) { return lines_of(l, id, dims, count); }));
        for (const Tensor& x : halved(l, region, lines, count))
            results.push_back(l.move(x, [&](Id id) { return l.reshape(id, result); }));
    }
    if (combine) {
        std::vector<Tensor> arguments;
        for (const Tensor& init : initial)
            arguments.push_back(l.move(init, [&](Id id) { return l.broadcast(id, result, {}); }));
        arguments.insert(arguments.end(), results.begin(), results.end());
        results = l.lifted(region, arguments, result);
    }
    for (std::size_t k = 0; k < n; ++k) l.set(results.at(k), k);
}

void lower_map(Lowering& l) { l.set(l.lifted(l.region(0), l.all_given(), l.result_shape()).at(0)); }

}  // namespace

std::span<const LoweringRow> reduce_rows() {
    static constexpr LoweringRow rows[] = {
        {"map", lower_map},
        {"reduce", lower_reduce},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

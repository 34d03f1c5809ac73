// Reductions of windows; sequences by CUMULATE.
#include "frontends/stablehlo/functions.hpp"
#include "frontends/stablehlo/windows.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

/// The dimension along which each result is that of all elements before (or behind) and its own.
std::optional<std::size_t> sequence_of(const std::vector<WindowDimension>& window, const Shape& shape) {
    std::optional<std::size_t> along;
    for (std::size_t d = 0; d < window.size(); ++d) {
        const WindowDimension& w = window[d];
        if (w.stride != 1 || w.dilation != 1 || w.base_dilation != 1) return std::nullopt;
        if (w.size == 1 && w.low == 0 && w.high == 0) continue;
        const bool is_sequence = w.size == shape[d] && w.low + w.high == w.size - 1 && (w.low == 0 || w.high == 0);
        if (!is_sequence || along) return std::nullopt;
        along = d;
    }
    return along;
}

std::optional<Combiner> combiner_named(std::string_view name) {
    if (name == "add") return Combiner::add;
    if (name == "multiply") return Combiner::multiply;
    if (name == "minimum") return Combiner::minimum;
    if (name == "maximum") return Combiner::maximum;
    return std::nullopt;
}

Tensor cumulated(Lowering& l, const Tensor& x, Combiner combiner, std::size_t axis, bool reverse) {
    tosavk::Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(axis);
    attrs.combiner = combiner;
    attrs.reverse = reverse;
    const bool extreme = combiner == Combiner::minimum || combiner == Combiner::maximum;
    Id id = l.wide(x);
    if (extreme) id = ordered(l, id, x.element);
    id = l.add(Op::cumulate, {id}, l.type(id), attrs);
    if (extreme) return l.narrow(ordered(l, id, x.element), x.element, x.range);
    Range range = whole_range(x.element);
    if (combiner == Combiner::add) {
        const std::int64_t n = l.shape(x.id)[axis];
        range = {std::min(x.range.least, x.range.least * n), std::max(x.range.most, x.range.most * n)};
    }
    return l.narrow(id, x.element, range);
}

/// Whether a sequence's numbers stay within those of one word.
bool stays_narrow(const Tensor& x, Combiner combiner, std::int64_t n) {
    if (!is_integer_element(x.element) || bits_of(x.element) != 64) return true;
    if (x.is_pair() || combiner == Combiner::multiply) return false;
    if (combiner != Combiner::add) return true;
    const Range range{std::min(x.range.least, x.range.least * n), std::max(x.range.most, x.range.most * n)};
    return whole_range(x.element).holds(range);
}

std::vector<Tensor> combined(Lowering& l, const Region& region, std::vector<Tensor> a, const std::vector<Tensor>& b) {
    a.insert(a.end(), b.begin(), b.end());
    const Shape over = l.shape(a[0].id);
    return l.lifted(region, a, over);
}

/// Whether the initial value may be counted any number of times.
bool may_repeat(const Lowering& l, std::string_view name, const Tensor& init) {
    static constexpr std::array same_twice = {"and", "maximum", "minimum", "or"};
    return std::find(same_twice.begin(), same_twice.end(), name) != same_twice.end() || is_neutral(l, name, init);
}

void lower_reduce_window(Lowering& l) {
    const std::size_t n = l.operand_count() / 2;
    const Region& region = l.region(0);
    const Shape out = l.result_shape();
    const std::vector<WindowDimension> window = window_of(l, out, true);
    std::vector<Tensor> x, initial;
    for (std::size_t k = 0; k < n; ++k) {
        const Element wanted = l.type_of(region.arguments.at(k)).element;
        x.push_back(converted(l, l.given(k), wanted));
        initial.push_back(converted(l, l.given(n + k), wanted));
    }
    // Sums and products of small floats are rounded once, at the end.
    const std::string_view name = n == 1 ? combination_of(l, region, 0, 1).name : std::string_view();
    const bool repeats = may_repeat(l, name, initial[0]);
    const Element element = x[0].element;
    const bool widens = (name == "add" || name == "multiply") && is_small_float(l.type(x[0].id));
    if (widens) x[0] = converted(l, x[0], Element::f32), initial[0] = converted(l, initial[0], Element::f32);
    const auto finish = [&](const std::vector<Tensor>& results) {
        for (std::size_t k = 0; k < n; ++k) l.set(widens ? converted(l, results.at(k), element) : results.at(k), k);
    };
    std::vector<Tensor> first;
    for (const Tensor& init : initial) first.push_back(l.move(init, [&](Id id) { return l.broadcast(id, out, {}); }));
    const auto along = sequence_of(window, l.shape(x[0].id));
    const auto combiner = combiner_named(name);
    if (along && combiner && x[0].element != Element::pred && !x[0].has_two() &&
        stays_narrow(x[0], *combiner, l.shape(x[0].id)[*along]))
        return finish(combined(l, region, first, {cumulated(l, x[0], *combiner, *along, window[*along].low == 0)}));
    std::vector<std::int64_t> low, high, between;
    for (const WindowDimension& w : window) {
        low.push_back(w.low);
        high.push_back(w.high);
        between.push_back(w.base_dilation - 1);
    }
    const Shape before = l.shape(x[0].id);
    for (std::size_t k = 0; k < n; ++k) {
        l.make_alike(x[k], initial[k]);
        const Tensor from = x[k];
        x[k].id = l.pad(from.id, initial[k].id, low, high, between);
        if (from.has_two()) x[k].other = l.pad(from.other, initial[k].other, low, high, between);
        x[k].range = from.range.joined(initial[k].range);
    }
    const Join join = [&](const auto& a, const auto& b) { return combined(l, region, a, b); };
    // XLA passes over what is padded: the initial value is there once for each window.
    const Shape padded = l.shape(x[0].id);
    std::vector<std::vector<bool>> there;
    for (std::size_t d = 0; d < window.size(); ++d) {
        Lines lines{x, repeats ? std::vector<bool>() : there_of(window[d], before[d], padded[d])};
        const bool nothing = window[d].size == 1 && window[d].stride == 1;
        if (!nothing) lines = along_dimension(l, join, lines, d, window[d]);
        x = lines.tensors;
        there.push_back(lines.there);
    }
    std::vector<Tensor> results = combined(l, region, first, x);
    for (std::size_t d = 0; d < there.size(); ++d)
        for (std::size_t k = 0; k < n && has_gaps(there[d]); ++k)
            results[k] = chosen(l, there[d], d, results[k], first[k]);
    finish(results);
}

}  // namespace

std::span<const LoweringRow> window_rows() {
    static constexpr LoweringRow rows[] = {
        {"reduce_window", lower_reduce_window},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

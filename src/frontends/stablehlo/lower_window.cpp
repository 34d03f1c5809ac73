// Windows: reduced one dimension after the other, each by few steps; sequences by CUMULATE. And what picks an element
// of each window.
#include "frontends/stablehlo/functions.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

struct WindowDimension {
    std::int64_t size = 1, stride = 1, dilation = 1, base_dilation = 1, low = 0, high = 0, out = 1;
};

std::vector<WindowDimension> window_of(Lowering& l, const Shape& out, bool with_dilations) {
    const auto sizes = l.small_numbers("window_dimensions"), strides = l.small_numbers("window_strides");
    const auto padding = l.small_numbers("padding");
    const std::vector<std::int64_t> ones(sizes.size(), 1);
    const auto dilations = with_dilations ? l.small_numbers("window_dilations") : ones;
    const auto base = with_dilations ? l.small_numbers("base_dilations") : ones;
    std::vector<WindowDimension> window;
    for (std::size_t d = 0; d < sizes.size(); ++d)
        window.push_back({sizes[d], strides.at(d), dilations.at(d), base.at(d), padding.at(2 * d),
                          padding.at(2 * d + 1), out.at(d)});
    return window;
}

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

/// Tensors, and where along the dimension in hand there is something: elsewhere they hold anything. Empty: everywhere.
struct Lines {
    std::vector<Tensor> tensors;
    std::vector<bool> there;
};

/// Where a padded dimension has elements that it had before.
std::vector<bool> there_of(const WindowDimension& w, std::int64_t before, std::int64_t padded) {
    std::vector<bool> there(static_cast<std::size_t>(padded));
    for (std::int64_t i = 0; i < before; ++i) {
        const std::int64_t at = w.low + i * w.base_dilation;
        if (at >= 0 && at < padded) there[static_cast<std::size_t>(at)] = true;
    }
    return there;
}

bool has_gaps(const std::vector<bool>& there) { return std::find(there.begin(), there.end(), false) != there.end(); }

/// `a` where there is something along the dimension, else `b`.
Tensor chosen(Lowering& l, const std::vector<bool>& there, std::size_t d, Tensor a, Tensor b) {
    Shape line(l.shape(a.id).size(), 1);
    line.at(d) = static_cast<std::int64_t>(there.size());
    Bytes bytes;
    for (const bool one : there) bytes.push_back(std::byte{one});
    const Id mask = l.constant("there", DType::boolean, line, std::move(bytes));
    l.make_alike(a, b);
    a.range = a.range.joined(b.range);
    a.id = l.select(mask, a.id, b.id);
    if (a.has_two()) a.other = l.select(mask, a.other, b.other);
    return a;
}

Lines shifted(Lowering& l, const Lines& x, std::size_t d, std::int64_t start, std::int64_t count, std::int64_t stride) {
    Lines parts;
    for (const Tensor& tensor : x.tensors) {
        parts.tensors.push_back(l.move(tensor, [&](Id id) {
            const Shape shape = l.shape(id);
            std::vector<std::int64_t> first(shape.size(), 0), limit(shape.begin(), shape.end()), step(shape.size(), 1);
            first[d] = start;
            limit[d] = start + (count - 1) * stride + 1;
            step[d] = stride;
            return l.strided_slice(id, first, limit, step);
        }));
    }
    for (std::int64_t i = 0; i < count && !x.there.empty(); ++i)
        parts.there.push_back(x.there.at(static_cast<std::size_t>(start + i * stride)));
    return parts;
}

std::vector<Tensor> combined(Lowering& l, const Region& region, std::vector<Tensor> a, const std::vector<Tensor>& b) {
    a.insert(a.end(), b.begin(), b.end());
    const Shape over = l.shape(a[0].id);
    return l.lifted(region, a, over);
}

Lines joined(Lowering& l, const Region& region, const Lines& a, const Lines& b, std::size_t d) {
    Lines made{combined(l, region, a.tensors, b.tensors), a.there};
    for (std::size_t k = 0; k < made.tensors.size(); ++k) {
        Tensor& x = made.tensors[k];
        if (has_gaps(a.there)) x = chosen(l, a.there, d, x, b.tensors[k]);
        if (has_gaps(b.there)) x = chosen(l, b.there, d, x, a.tensors[k]);
    }
    for (std::size_t i = 0; i < b.there.size(); ++i) made.there[i] = a.there[i] || b.there[i];
    return made;
}

/// Windows along one dimension. Long ones are joined from windows of 1, 2, 4, ... elements.
Lines along_dimension(Lowering& l, const Region& region, Lines x, std::size_t d, const WindowDimension& w) {
    if (w.size <= 4) {
        Lines sum;
        for (std::int64_t j = 0; j < w.size; ++j) {
            const Lines next = shifted(l, x, d, j * w.dilation, w.out, w.stride);
            sum = j == 0 ? next : joined(l, region, sum, next, d);
        }
        return sum;
    }
    Lines sum;
    std::int64_t done = 0, width = 1;
    while (true) {
        if ((w.size & width) != 0) {
            const Lines next = shifted(l, x, d, done * w.dilation, w.out, w.stride);
            sum = done == 0 ? next : joined(l, region, sum, next, d);
            done += width;
        }
        if (2 * width > w.size) return sum;
        const std::int64_t left = l.shape(x.tensors[0].id)[d] - width * w.dilation;
        x = joined(l, region, shifted(l, x, d, 0, left, 1), shifted(l, x, d, width * w.dilation, left, 1), d);
        width *= 2;
    }
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
    // XLA passes over what is padded: the initial value is there once for each window.
    const Shape padded = l.shape(x[0].id);
    std::vector<std::vector<bool>> there;
    for (std::size_t d = 0; d < window.size(); ++d) {
        Lines lines{x, repeats ? std::vector<bool>() : there_of(window[d], before[d], padded[d])};
        const bool nothing = window[d].size == 1 && window[d].stride == 1;
        if (!nothing) lines = along_dimension(l, region, lines, d, window[d]);
        x = lines.tensors;
        there.push_back(lines.there);
    }
    std::vector<Tensor> results = combined(l, region, first, x);
    for (std::size_t d = 0; d < there.size(); ++d)
        for (std::size_t k = 0; k < n && has_gaps(there[d]); ++k)
            results[k] = chosen(l, there[d], d, results[k], first[k]);
    finish(results);
}

/// The next place in a window, row-major; false behind the last one.
bool advance(std::vector<std::int64_t>& at, const std::vector<WindowDimension>& window) {
    for (std::size_t d = at.size(); d-- > 0;) {
        if (++at[d] < window[d].size) return true;
        at[d] = 0;
    }
    return false;
}

void lower_select_and_scatter(Lowering& l) {
    const Tensor x = l.given(0);
    Tensor source = l.given(1), init = l.given(2);
    const Shape whole = l.result_shape(), out = l.static_shape(l.operand_type(1));
    const std::vector<WindowDimension> window = window_of(l, out, false);
    std::int64_t places = 1;
    std::vector<std::int64_t> low, high;
    bool is_padded = false;
    for (const WindowDimension& w : window) {
        if ((places *= w.size) > 1024) l.unsupported("windows of more than 1024 elements are not supported");
        low.push_back(w.low);
        high.push_back(w.high);
        is_padded = is_padded || w.low != 0 || w.high != 0;
    }
    const Id no = l.constant("false", DType::boolean, {1}, Bytes(1));
    const Id zero = l.constant("zero", l.type(x.id), {1}, Bytes(size_of(l.type(x.id))));
    const Tensor padded = l.move(x, [&](Id id) { return l.pad(id, zero, low, high); });
    const Id inside = is_padded
                        ? l.pad(l.logical_not(l.tile_to(l.reshape(no, Shape(whole.size(), 1)), whole)), no, low, high)
                        : no_id;
    const auto window_slice = [&](Id id, const std::vector<std::int64_t>& at) {
        std::vector<std::int64_t> limit, stride;
        for (std::size_t d = 0; d < at.size(); ++d) {
            stride.push_back(window[d].stride);
            limit.push_back(at[d] + (out[d] - 1) * window[d].stride + 1);
        }
        return l.strided_slice(id, at, limit, stride);
    };
    // Which place of each window is chosen: -1 until one is inside.
    std::vector<std::int64_t> at(window.size(), 0);
    Tensor best = x;
    Id chosen = no_id;
    std::int64_t place = 0;
    do {
        const Tensor candidate = l.move(padded, [&](Id id) { return window_slice(id, at); });
        const Id valid = is_padded ? window_slice(inside, at) : no_id;
        const Id here = l.splat_int(candidate.id, place++);
        if (chosen == no_id) {
            best = candidate;
            const Id all = l.tile_to(here, out);
            chosen = valid == no_id ? all : l.select(valid, all, l.splat_int(candidate.id, -1));
            continue;
        }
        Id better = l.logical_not(l.lifted(l.region(0), {best, candidate}, out).at(0).id);
        if (valid != no_id) {
            const Id none = is_below(l, chosen, l.splat_int(chosen, 0));
            better = l.binary(Op::logical_and, valid, l.binary(Op::logical_or, none, better, DType::boolean),
                              DType::boolean);
        }
        best.id = l.select(better, candidate.id, best.id);
        if (best.has_two()) best.other = l.select(better, candidate.other, best.other);
        chosen = l.select(better, here, chosen);
    } while (advance(at, window));
    // One place after the other: no two windows meet at one.
    Tensor result = l.move(init, [&](Id id) { return l.broadcast(id, whole, {}); });
    std::fill(at.begin(), at.end(), 0);
    place = 0;
    do {
        std::vector<std::int64_t> before, after, between;
        for (std::size_t d = 0; d < at.size(); ++d) {
            before.push_back(at[d] - window[d].low);
            between.push_back(window[d].stride - 1);
            after.push_back(whole[d] - before[d] - ((out[d] - 1) * window[d].stride + 1));
        }
        const Id mask = l.pad(is_equal(l, chosen, l.splat_int(chosen, place++)), no, before, after, between);
        Tensor spread = l.move(source, [&](Id id) { return l.pad(id, zero, before, after, between); });
        spread.range = source.range.joined({0, 0});
        Tensor joined = l.lifted(l.region(1), {result, spread}, whole).at(0);
        l.make_alike(result, joined);
        result.range = result.range.joined(joined.range);
        result.id = l.select(mask, joined.id, result.id);
        if (result.has_two()) result.other = l.select(mask, joined.other, result.other);
    } while (advance(at, window));
    l.set(result);
}

}  // namespace

std::span<const LoweringRow> window_rows() {
    static constexpr LoweringRow rows[] = {
        {"reduce_window", lower_reduce_window},
        {"select_and_scatter", lower_select_and_scatter},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

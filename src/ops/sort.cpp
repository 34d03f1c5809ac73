// SORT: lists along an axis in the order of a key, other operands with it. Stable: equal keys keep their order.
// PARTIAL_SORT: the largest of each row, whose ties are another matter.
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tosavk {

namespace {

std::size_t checked_axis(const NodeView& view) {
    const auto rank = static_cast<std::int64_t>(view.in(0).shape.size());
    const std::int64_t axis = view.attrs().axis;
    if (axis < 0 || axis >= rank) view.fail(fmt::format("axis {} is not in 0..{}", axis, rank - 1), "axis");
    return static_cast<std::size_t>(axis);
}

std::vector<Shape> sort_infer(const NodeView& view) {
    checked_axis(view);
    if (view.output_count() != view.input_count())
        view.fail(fmt::format("has {} inputs, but {} outputs", view.input_count(), view.output_count()));
    const Shape& shape = view.in(0).shape;
    for (std::size_t k = 1; k < view.input_count(); ++k) {
        if (view.in(k).shape != shape)
            view.fail(fmt::format("value {} has shape {}, but the keys have {}", k, to_string(view.in(k).shape),
                                  to_string(shape)),
                      view.in(k).name);
    }
    return std::vector<Shape>(view.output_count(), shape);
}

void sort_check(const NodeView& view, const Level&) {
    const bool real = is_float(view.in(0).type);
    if (real && view.attrs().is_unsigned) view.fail("is_unsigned is for integers", "is_unsigned");
    if (!real && view.attrs().total_order) view.fail("total_order is for floats", "total_order");
    for (std::size_t k = 1; k < view.input_count(); ++k) {
        const DType type = view.in(k).type;
        if (type == DType::i4 || type == DType::i48 || type == DType::shape)
            view.fail(fmt::format("values of {} cannot follow the keys", name_of(type)), view.in(k).name);
        if (view.out(k).type != type)
            view.fail(
                fmt::format("output {} has type {}, but its value has {}", k, name_of(view.out(k).type), name_of(type)),
                view.out(k).name);
    }
}

/// Integers in the order of the keys. Floats are in the order of their bits without the sign: all NaN are alike and lie
/// above infinity, and both zeros are alike; in the total order the sign tells all of them apart.
std::vector<std::int64_t> key_numbers(const RefContext& ctx) {
    const DType type = ctx.view.in(0).type;
    const Bytes& bytes = ctx.inputs[0]->bytes;
    const std::size_t size = size_of(type);
    if (!is_float(type) && !ctx.attrs().is_unsigned) return ctx.ints(0);
    std::vector<std::int64_t> keys;
    for (std::size_t i = 0; i < bytes.size(); i += size) {
        std::int64_t bits = 0;
        for (std::size_t b = size; b-- > 0;) bits = bits << 8 | std::to_integer<std::int64_t>(bytes[i + b]);
        keys.push_back(bits);
    }
    if (!is_float(type)) return keys;
    const std::vector<double> values = decode_reals(type, bytes);
    const std::int64_t sign = std::int64_t{1} << (8 * size - 1);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        std::int64_t magnitude = keys[i] & (sign - 1);
        bool below = (keys[i] & sign) != 0;
        if (!ctx.attrs().total_order) {
            if (std::isnan(values[i])) magnitude = sign;
            if (std::isnan(values[i]) || magnitude == 0) below = false;
        }
        keys[i] = below ? -1 - magnitude : magnitude;
    }
    return keys;
}

void sort_reference(RefContext& ctx) {
    const Shape& shape = ctx.view.in(0).shape;
    const std::size_t axis = checked_axis(ctx.view);
    const std::int64_t length = shape[axis], inner = row_major_strides(shape)[axis],
                       lists = element_count(shape) / length;
    const std::vector<std::int64_t> keys = key_numbers(ctx);
    std::vector<std::size_t> source(keys.size());  // of each element of the outputs
    std::vector<std::size_t> list(static_cast<std::size_t>(length));
    for (std::int64_t l = 0; l < lists; ++l) {
        const std::int64_t first = l / inner * length * inner + l % inner;
        for (std::int64_t i = 0; i < length; ++i)
            list[static_cast<std::size_t>(i)] = static_cast<std::size_t>(first + i * inner);
        std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
            return ctx.attrs().descending ? keys[a] > keys[b] : keys[a] < keys[b];
        });
        for (std::int64_t i = 0; i < length; ++i)
            source[static_cast<std::size_t>(first + i * inner)] = list[static_cast<std::size_t>(i)];
    }
    for (std::size_t k = 0; k < ctx.view.input_count(); ++k) {
        const std::size_t size = size_of(ctx.view.in(k).type);
        Bytes out(source.size() * size);
        for (std::size_t i = 0; i < source.size(); ++i)
            std::memcpy(out.data() + i * size, ctx.inputs[k]->bytes.data() + source[i] * size, size);
        ctx.set_bytes(std::move(out), k);
    }
}

std::vector<Shape> partial_infer(const NodeView& view) {
    const Shape& shape = view.in(0).shape;
    const std::int32_t most = view.attrs().most;
    if (most < 1 || most > shape[1]) view.fail(fmt::format("most {} is not in 1..{}", most, shape[1]), "most");
    return {{shape[0], most}};
}

/// The places of the largest values, in a heap with the least of them first.
class Largest {
public:
    Largest(const float* values, std::size_t most) : values_(values), heap_(most) {
        std::iota(heap_.begin(), heap_.end(), std::int64_t{0});
        for (std::size_t top = most / 2; top-- > 0;) fill(top, most, heap_[top]);
    }
    void add(std::int64_t place) {
        if (values_[place] > values_[heap_[0]]) fill(0, heap_.size(), place);
    }
    const std::vector<std::int64_t>& take_apart() {
        for (std::size_t size = heap_.size() - 1; size > 0; --size) {
            const std::int64_t last = heap_[size];
            heap_[size] = heap_[0];
            fill(0, size, last);
        }
        return heap_;
    }

private:
    /// Puts a place where the hole is: down to the end by the lesser child, then up.
    void fill(std::size_t top, std::size_t size, std::int64_t place) {
        std::size_t hole = top;
        while (2 * hole + 1 < size) {
            const std::size_t left = 2 * hole + 1, right = left + 1;
            const bool takes_left = right == size || values_[heap_[right]] > values_[heap_[left]];
            heap_[hole] = heap_[takes_left ? left : right];
            hole = takes_left ? left : right;
        }
        for (; hole > top && values_[heap_[(hole - 1) / 2]] > values_[place]; hole = (hole - 1) / 2)
            heap_[hole] = heap_[(hole - 1) / 2];
        heap_[hole] = place;
    }

    const float* values_;
    std::vector<std::int64_t> heap_;
};

void partial_reference(RefContext& ctx) {
    const auto values = ctx.real<float>(0);
    const std::int64_t length = ctx.view.in(0).shape[1];
    std::vector<std::int64_t> places;
    for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(length)) {
        Largest largest(values.data() + row, static_cast<std::size_t>(ctx.attrs().most));
        for (std::int64_t i = ctx.attrs().most; i < length; ++i) largest.add(i);
        const std::vector<std::int64_t>& found = largest.take_apart();
        places.insert(places.end(), found.begin(), found.end());
    }
    ctx.set_ints(places);
}

}  // namespace

std::vector<OpDef> sort_ops() {
    OpDef sort;
    sort.op = Op::sort;
    sort.type_vars = {"in_out_t"};
    sort.inputs = {{.name = "keys", .type = "in_out_t", .min_rank = 1},
                   {.name = "values", .type = "any_t", .min_rank = 1, .list = true, .may_be_empty = true}};
    sort.outputs = {{.name = "sorted_keys", .type = "in_out_t", .min_rank = 1},
                    {.name = "sorted_values", .type = "any_t", .min_rank = 1, .list = true, .may_be_empty = true}};
    sort.attributes = {"axis", "descending", "total_order", "is_unsigned"};
    sort.rows = own_moved_rows();
    sort.infer = sort_infer;
    sort.check = sort_check;
    sort.reference = sort_reference;

    OpDef partial;
    partial.op = Op::partial_sort;
    partial.type_vars = {"in_t"};
    partial.inputs = {{.name = "values", .type = "in_t", .min_rank = 2, .max_rank = 2}};
    partial.outputs = {{.name = "places", .type = "i32", .min_rank = 2, .max_rank = 2}};
    partial.attributes = {"most"};
    partial.rows = own_rows({DType::fp32});
    partial.infer = partial_infer;
    partial.reference = partial_reference;
    return {sort, partial};
}

}  // namespace tosavk

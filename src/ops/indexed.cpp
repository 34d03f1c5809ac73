// GATHER_ND: rows of a tensor at tuples of indices. SCATTER_ND: a tensor with rows set to others, or combined with
// them. SEGMENT_REDUCE: rows that share an id become one. What they mean in full: docs/operators.md.
#include "ops/indexed.hpp"

#include "ops/combiner.hpp"
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tosavk {

namespace {

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
    return element_count(
        Shape(shape.begin() + static_cast<std::ptrdiff_t>(begin), shape.begin() + static_cast<std::ptrdiff_t>(end)));
}

/// The dimensions of `shape` from `begin` on.
Shape rest_of(const Shape& shape, std::size_t begin) {
    return Shape(shape.begin() + static_cast<std::ptrdiff_t>(begin), shape.end());
}

std::size_t checked_batch_dims(const NodeView& view) {
    const Shape &values = view.in(0).shape, &indices = view.in(1).shape;
    const std::int64_t batch_dims = view.attrs().batch_dims;
    const auto most = static_cast<std::int64_t>(std::min(values.size(), indices.size())) - 1;
    if (batch_dims < 0 || batch_dims > most)
        view.fail(fmt::format("batch_dims is {}, but values {} and indices {} allow 0 to {}", batch_dims,
                              to_string(values), to_string(indices), most));
    return static_cast<std::size_t>(batch_dims);
}

IndexedSizes tuple_sizes(const NodeView& view) {
    const Shape &values = view.in(0).shape, &indices = view.in(1).shape;
    const std::size_t batch = checked_batch_dims(view), depth = static_cast<std::size_t>(indices.back());
    for (std::size_t d = 0; d < batch; ++d) {
        if (values[d] != indices[d])
            view.fail(fmt::format("values {} and indices {} differ in batch dimension {}", to_string(values),
                                  to_string(indices), d),
                      "indices");
    }
    if (depth > values.size() - batch)
        view.fail(fmt::format("indices {} have tuples of {}, but values {} have {} dimensions behind the batch",
                              to_string(indices), depth, to_string(values), values.size() - batch),
                  "indices");
    IndexedSizes s;
    s.batches = product(values, 0, batch);
    s.dims.assign(values.begin() + static_cast<std::ptrdiff_t>(batch),
                  values.begin() + static_cast<std::ptrdiff_t>(batch + depth));
    s.slots = element_count(s.dims);
    s.row = product(values, batch + depth, values.size());
    s.tuples = product(indices, batch, indices.size() - 1);
    return s;
}

/// What a tuple becomes, for all tuples: [batch..., tuples..., row...].
Shape rows_shape(const NodeView& view) {
    const Shape &values = view.in(0).shape, &indices = view.in(1).shape;
    const auto batch = static_cast<std::size_t>(view.attrs().batch_dims);
    Shape shape(indices.begin(), indices.end() - 1);
    const Shape rest = rest_of(values, batch + static_cast<std::size_t>(indices.back()));
    shape.insert(shape.end(), rest.begin(), rest.end());
    return shape;
}

/// Calls at(slot, tuple) for every tuple that names a slot, in order.
template <class F> void for_each_tuple(const RefContext& ctx, const IndexedSizes& s, F at) {
    const auto indices = ctx.ints(1);
    for (std::int64_t t = 0; t < s.all_tuples(); ++t) {
        if (const auto slot = slot_of(s, indices, t, ctx.attrs().out_of_range)) at(*slot, t);
    }
}

void check_rule(const NodeView& view, OutOfRange other, const char* allowed) {
    const OutOfRange rule = view.attrs().out_of_range;
    if (rule != OutOfRange::clamp && rule != other)
        view.fail(fmt::format("its out_of_range must be {}", allowed), "out_of_range");
}

// ---- GATHER_ND

std::vector<Shape> gather_infer(const NodeView& view) {
    indexed_sizes(view);
    return {rows_shape(view)};
}

void gather_check(const NodeView& view, const Level&) { check_rule(view, OutOfRange::zero, "CLAMP or ZERO"); }

void gather_reference(RefContext& ctx) {
    const IndexedSizes s = indexed_sizes(ctx.view);
    const std::size_t row = static_cast<std::size_t>(s.row) * size_of(ctx.view.in(0).type);
    Bytes out(static_cast<std::size_t>(s.all_tuples()) * row);
    for_each_tuple(ctx, s, [&](std::int64_t slot, std::int64_t tuple) {
        std::memcpy(out.data() + static_cast<std::size_t>(tuple) * row,
                    ctx.inputs[0]->bytes.data() + static_cast<std::size_t>(slot) * row, row);
    });
    ctx.set_bytes(std::move(out));
}

// ---- combining

/// `held`, elements of all slots, to which combine(element, value) has added rows of `rows`, one after the other.
template <class T, class X, class F>
std::vector<T> combine_all(const RefContext& ctx, std::vector<T> held, const std::vector<X>& rows, F combine) {
    const IndexedSizes s = indexed_sizes(ctx.view);
    for_each_tuple(ctx, s, [&](std::int64_t slot, std::int64_t tuple) {
        for (std::int64_t c = 0; c < s.row; ++c)
            combine(held[static_cast<std::size_t>(slot * s.row + c)],
                    rows[static_cast<std::size_t>(tuple * s.row + c)]);
    });
    return held;
}

/// Which input has the rows: SCATTER_ND's third, SEGMENT_REDUCE's first.
std::size_t rows_operand(const NodeView& view) { return view.node().op == Op::scatter_nd ? 2 : 0; }

template <class Real> void combine_floats(RefContext& ctx) {
    const Combiner combiner = ctx.attrs().combiner;
    std::vector<Real> held(static_cast<std::size_t>(element_count(ctx.view.out().shape)),
                           neutral_of<Real>(combiner, ctx.view.out().type));
    if (rows_operand(ctx.view) == 2) held = ctx.real<Real>(0);
    ctx.set_reals(combine_all(ctx, std::move(held), ctx.real<Real>(rows_operand(ctx.view)),
                              [combiner](Real& a, Real b) { a = combine_reals(combiner, a, b); }));
}

void combine_reference(RefContext& ctx) {
    const Combiner combiner = ctx.attrs().combiner;
    if (is_float(ctx.view.out().type)) return ctx.fp64 ? combine_floats<double>(ctx) : combine_floats<float>(ctx);
    std::vector<std::int64_t> held(static_cast<std::size_t>(element_count(ctx.view.out().shape)),
                                   neutral_of<std::int64_t>(combiner, ctx.view.out().type));
    if (rows_operand(ctx.view) == 2) held = ctx.ints(0);
    ctx.set_ints(combine_all(ctx, std::move(held), ctx.ints(rows_operand(ctx.view)),
                             [combiner](std::int64_t& a, std::int64_t b) { a = combine_ints(combiner, a, b); }));
}

Tolerance combine_tolerance(RefContext& ctx, std::size_t k, std::span<const double> reference) {
    const Combiner combiner = ctx.attrs().combiner;
    Tolerance t;
    if (combiner != Combiner::add && combiner != Combiner::multiply) return t;
    t.kind = Tolerance::Kind::check;
    std::vector<CombinedTerms> terms(reference.size());
    if (rows_operand(ctx.view) == 2) {
        const std::vector<double> held = ctx.real<double>(0);
        for (std::size_t i = 0; i < held.size(); ++i) terms[i].add(held[i]);
    }
    terms = combine_all(ctx, std::move(terms), ctx.real<double>(rows_operand(ctx.view)),
                        [](CombinedTerms& of, double x) { of.add(x); });
    for (std::size_t i = 0; i < reference.size(); ++i)
        t.bound.push_back(combined_bound(combiner, ctx.view.out(k).type, terms[i], reference[i]));
    return t;
}

// ---- SCATTER_ND

std::vector<Shape> scatter_infer(const NodeView& view) {
    indexed_sizes(view);
    const Shape rows = rows_shape(view);
    if (view.in(2).shape != rows)
        view.fail(fmt::format("updates have shape {}, but values and indices need {}", to_string(view.in(2).shape),
                              to_string(rows)),
                  "updates");
    return {view.in(0).shape};
}

void check_combiner(const NodeView& view) {
    const Combiner combiner = view.attrs().combiner;
    const DType type = view.out().type;
    const bool extreme = combiner == Combiner::minimum || combiner == Combiner::maximum;
    if (combiner == Combiner::set) return;
    if (type == DType::boolean && !extreme)
        view.fail("of bool there is no sum and no product: its combiner must be SET, MINIMUM or MAXIMUM", "combiner");
    if (type == DType::fp8e4m3 || type == DType::fp8e5m2)
        view.fail(fmt::format("values of {} are not combined: its combiner must be SET", name_of(type)), "combiner");
}

void scatter_check(const NodeView& view, const Level&) {
    check_rule(view, OutOfRange::skip, "CLAMP or SKIP");
    check_combiner(view);
}

void scatter_reference(RefContext& ctx) {
    if (ctx.attrs().combiner != Combiner::set) return combine_reference(ctx);
    const IndexedSizes s = indexed_sizes(ctx.view);
    const std::size_t row = static_cast<std::size_t>(s.row) * size_of(ctx.view.in(0).type);
    Bytes out = ctx.inputs[0]->bytes;
    for_each_tuple(ctx, s, [&](std::int64_t slot, std::int64_t tuple) {
        std::memcpy(out.data() + static_cast<std::size_t>(slot) * row,
                    ctx.inputs[2]->bytes.data() + static_cast<std::size_t>(tuple) * row, row);
    });
    ctx.set_bytes(std::move(out));
}

// ---- SEGMENT_REDUCE

std::vector<Shape> segment_infer(const NodeView& view) {
    indexed_sizes(view);
    Shape shape = view.in(0).shape;
    shape[0] = view.attrs().segments;
    return {shape};
}

void segment_check(const NodeView& view, const Level&) {
    check_rule(view, OutOfRange::skip, "CLAMP or SKIP");
    if (view.attrs().combiner == Combiner::set) view.fail("its combiner cannot be SET", "combiner");
    check_combiner(view);
}

}  // namespace

IndexedSizes indexed_sizes(const NodeView& view) {
    if (view.node().op != Op::segment_reduce) return tuple_sizes(view);
    const Shape &rows = view.in(0).shape, &ids = view.in(1).shape;
    if (ids[0] != rows[0])
        view.fail(fmt::format("input {} has {} rows, but there are {} ids", to_string(rows), rows[0], ids[0]), "ids");
    if (view.attrs().segments < 1)
        view.fail(fmt::format("segments is {}, but must be at least 1", view.attrs().segments), "segments");
    IndexedSizes s;
    s.slots = view.attrs().segments;
    s.dims = {s.slots};
    s.row = product(rows, 1, rows.size());
    s.tuples = rows[0];
    return s;
}

std::optional<std::int64_t> slot_of(const IndexedSizes& sizes, std::span<const std::int64_t> indices,
                                    std::int64_t tuple, OutOfRange rule) {
    const auto depth = static_cast<std::int64_t>(sizes.dims.size());
    std::int64_t slot = 0;
    for (std::int64_t d = 0; d < depth; ++d) {
        const std::int64_t size = sizes.dims[static_cast<std::size_t>(d)];
        const std::int64_t index = indices[static_cast<std::size_t>(tuple * depth + d)];
        const std::int64_t near = std::clamp<std::int64_t>(index, 0, size - 1);
        if (index != near && rule != OutOfRange::clamp) return std::nullopt;
        slot = slot * size + near;
    }
    return tuple / sizes.tuples * sizes.slots + slot;
}

std::vector<OpDef> indexed_ops() {
    OpDef gather;
    gather.op = Op::gather_nd;
    gather.type_vars = {"in_out_t"};
    gather.inputs = {{.name = "values", .type = "in_out_t", .min_rank = 1},
                     {.name = "indices", .type = "i32", .min_rank = 1}};
    gather.outputs = {{.name = "output", .type = "in_out_t"}};
    gather.attributes = {"batch_dims", "out_of_range"};
    gather.rows = own_moved_rows();
    gather.infer = gather_infer;
    gather.check = gather_check;
    gather.reference = gather_reference;

    OpDef scatter = gather;
    scatter.op = Op::scatter_nd;
    scatter.inputs.push_back({.name = "updates", .type = "in_out_t"});
    scatter.outputs[0].min_rank = 1;
    scatter.attributes = {"batch_dims", "combiner", "out_of_range"};
    scatter.infer = scatter_infer;
    scatter.check = scatter_check;
    scatter.reference = scatter_reference;
    scatter.tolerance = combine_tolerance;
    scatter.accuracy = combined_accuracy;

    OpDef segment;
    segment.op = Op::segment_reduce;
    segment.type_vars = {"in_out_t"};
    segment.inputs = {{.name = "input", .type = "in_out_t", .min_rank = 1},
                      {.name = "ids", .type = "i32", .min_rank = 1, .max_rank = 1}};
    segment.outputs = {{.name = "output", .type = "in_out_t", .min_rank = 1}};
    segment.attributes = {"segments", "combiner", "out_of_range"};
    segment.rows = own_rows({DType::boolean, DType::i8, DType::i16, DType::i32, DType::fp16, DType::bf16, DType::fp32});
    segment.infer = segment_infer;
    segment.check = segment_check;
    segment.reference = combine_reference;
    segment.tolerance = combine_tolerance;
    segment.accuracy = combined_accuracy;

    return {gather, scatter, segment};
}

}  // namespace tosavk

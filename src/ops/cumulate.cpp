// CUMULATE: running sums, products, minima and maxima along an axis (docs/operators.md).
#include "ops/combiner.hpp"
#include "ops/op.hpp"
#include "ops/rows.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

using i64 = std::int64_t;

std::vector<Shape> cumulate_infer(const NodeView& view) {
    const auto rank = static_cast<i64>(view.in(0).shape.size());
    const i64 axis = view.attrs().axis;
    if (axis < 0 || axis >= rank) view.fail(fmt::format("axis {} is not in 0..{}", axis, rank - 1), "axis");
    return {view.in(0).shape};
}

void cumulate_check(const NodeView& view, const Level&) {
    if (view.attrs().combiner == Combiner::set) view.fail("combiner SET is for SCATTER_ND alone");
}

/// Goes along the axis of every line, in the order that `reverse` asks for: begin() at its first element, then
/// visit(element) for each.
template <class Begin, class Visit> void along_axis(const NodeView& view, Begin begin, Visit visit) {
    const AxisSplit s = split_at(view.in(0).shape, static_cast<std::size_t>(view.attrs().axis));
    for (i64 o = 0; o < s.outer; ++o)
        for (i64 i = 0; i < s.inner; ++i) {
            begin();
            for (i64 k = 0; k < s.axis; ++k) {
                const i64 step = view.attrs().reverse ? s.axis - 1 - k : k;
                visit(static_cast<std::size_t>((o * s.axis + step) * s.inner + i));
            }
        }
}

template <class T, class F> std::vector<T> scan(const NodeView& view, const std::vector<T>& in, T start, F combine) {
    std::vector<T> out(in.size());
    T total = start;
    along_axis(
        view, [&] { total = start; },
        [&](std::size_t e) {
            const T next = combine(total, in[e]);
            out[e] = view.attrs().exclusive ? total : next;
            total = next;
        });
    return out;
}

template <class Real> void cumulate_reals(RefContext& c) {
    const Combiner combiner = c.attrs().combiner;
    c.set_reals(scan(c.view, c.real<Real>(0), neutral_of<Real>(combiner, c.view.out().type),
                     [combiner](Real a, Real b) { return combine_reals(combiner, a, b); }));
}

void cumulate_ints(RefContext& c) {
    const Combiner combiner = c.attrs().combiner;
    c.set_ints(scan(c.view, c.ints(0), neutral_of<i64>(combiner, c.view.out().type),
                    [combiner](i64 a, i64 b) { return combine_ints(combiner, a, b); }));
}

void cumulate_reference(RefContext& c) {
    if (!is_float(c.view.out().type)) cumulate_ints(c);
    else if (c.fp64) cumulate_reals<double>(c);
    else cumulate_reals<float>(c);
}

Tolerance cumulate_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    Tolerance t;
    const Combiner combiner = c.attrs().combiner;
    if (combiner == Combiner::minimum || combiner == Combiner::maximum) return t;
    t.kind = Tolerance::Kind::check;
    t.bound.resize(reference.size());
    const std::vector<double> in = c.real<double>(0);
    const DType type = c.view.out().type;
    CombinedTerms terms;
    along_axis(
        c.view, [&] { terms = {}; },
        [&](std::size_t e) {
            if (c.attrs().exclusive) t.bound[e] = combined_bound(combiner, type, terms, reference[e]);
            terms.add(in[e]);
            if (!c.attrs().exclusive) t.bound[e] = combined_bound(combiner, type, terms, reference[e]);
        });
    return t;
}

}  // namespace

std::vector<OpDef> cumulate_ops() {
    OpDef def;
    def.op = Op::cumulate;
    def.type_vars = {"in_out_t"};
    def.inputs = {{.name = "input", .type = "in_out_t", .min_rank = 1}};
    def.outputs = {{.name = "output", .type = "in_out_t", .min_rank = 1}};
    def.attributes = {"axis", "combiner", "exclusive", "reverse"};
    def.rows = own_rows({DType::i8, DType::i16, DType::i32, DType::fp16, DType::bf16, DType::fp32});
    def.infer = cumulate_infer;
    def.check = cumulate_check;
    def.reference = cumulate_reference;
    def.tolerance = cumulate_tolerance;
    def.accuracy = combined_accuracy;
    return {def};
}

}  // namespace tosavk

// CUMULATE: running sums, products, minima and maxima along an axis (docs/operators.md).
#include "ops/dot_product.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

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
    const Shape& shape = view.in(0).shape;
    const auto at = static_cast<std::size_t>(view.attrs().axis);
    i64 outer = 1, inner = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) (d < at ? outer : inner) *= d == at ? 1 : shape[d];
    for (i64 o = 0; o < outer; ++o)
        for (i64 i = 0; i < inner; ++i) {
            begin();
            for (i64 k = 0; k < shape[at]; ++k) {
                const i64 step = view.attrs().reverse ? shape[at] - 1 - k : k;
                visit(static_cast<std::size_t>((o * shape[at] + step) * inner + i));
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

void cumulate_ints(RefContext& c) {
    using u64 = std::uint64_t;
    const std::vector<i64> in = c.ints(0);
    const DType type = c.view.out().type;
    // Wraps modulo 2^64, and so modulo 2 to the type's width, which is what remains of it.
    const auto wrapped = [](u64 v) { return static_cast<i64>(v); };
    switch (c.attrs().combiner) {
        case Combiner::multiply:
            return c.set_ints(scan<i64>(c.view, in, 1, [&](i64 a, i64 b) { return wrapped(u64(a) * u64(b)); }));
        case Combiner::minimum:
            return c.set_ints(scan<i64>(c.view, in, max_of(type), [](i64 a, i64 b) { return std::min(a, b); }));
        case Combiner::maximum:
            return c.set_ints(scan<i64>(c.view, in, min_of(type), [](i64 a, i64 b) { return std::max(a, b); }));
        default: return c.set_ints(scan<i64>(c.view, in, 0, [&](i64 a, i64 b) { return wrapped(u64(a) + u64(b)); }));
    }
}

template <class Real> void cumulate_reals(RefContext& c) {
    const std::vector<Real> in = c.real<Real>(0);
    const Real infinity = std::numeric_limits<Real>::infinity();
    const auto extreme = [](bool greater) {
        return [greater](Real a, Real b) {
            if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
            return (greater ? a > b : a < b) ? a : b;
        };
    };
    switch (c.attrs().combiner) {
        case Combiner::multiply: return c.set_reals(scan<Real>(c.view, in, 1, [](Real a, Real b) { return a * b; }));
        case Combiner::minimum: return c.set_reals(scan<Real>(c.view, in, infinity, extreme(false)));
        case Combiner::maximum: return c.set_reals(scan<Real>(c.view, in, -infinity, extreme(true)));
        default: return c.set_reals(scan<Real>(c.view, in, 0, [](Real a, Real b) { return a + b; }));
    }
}

void cumulate_reference(RefContext& c) {
    if (!is_float(c.view.out().type)) cumulate_ints(c);
    else if (c.fp64) cumulate_reals<double>(c);
    else cumulate_reals<float>(c);
}

/// What is known of the terms of one result.
struct Terms {
    double count = 0;
    double magnitude = 0;  ///< sum of the magnitudes of the finite ones
    /// log2 of the largest and of the smallest product of neighbours, and of the products that end at the last term.
    /// Zeros, infinities and NaN are no factors here: the products of all others that lie between two of them are.
    double largest = 0, smallest = 0, largest_here = 0, smallest_here = 0;

    void add(double x, double smallest_number) {
        ++count;
        if (!std::isfinite(x) || x == 0) {
            largest_here = smallest_here = 0;
            return;
        }
        magnitude += std::max(std::fabs(x), smallest_number);
        const double log = std::log2(std::fabs(x));
        largest_here = std::max(largest_here, 0.0) + log;
        smallest_here = std::min(smallest_here, 0.0) + log;
        largest = std::max(largest, largest_here);
        smallest = std::min(smallest, smallest_here);
    }
};

/// Sums and products are computed in fp32, in any order and grouping, and rounded once to the output's type. Nothing is
/// asked where a sum of magnitudes or a product of neighbouring terms leaves the range of fp32's normal numbers.
Tolerance cumulate_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    Tolerance t;
    const Combiner combiner = c.attrs().combiner;
    if (combiner == Combiner::minimum || combiner == Combiner::maximum) return t;
    t.kind = Tolerance::Kind::check;
    t.bound.resize(reference.size());
    const std::vector<double> in = c.real<double>(0);
    const DType type = c.view.out().type;
    const double unit = std::ldexp(1.0, -24), tiny = nmin(DType::fp32), infinity = HUGE_VAL;
    const double last_rounding = type == DType::fp32 ? 0 : 0.5;
    const auto bound = [&](const Terms& terms, double r) {
        const double steps = std::max(terms.count - 1, 0.0), share = std::expm1(steps * std::log1p(unit));
        double error = 0;
        if (combiner == Combiner::add) {
            if (terms.magnitude > nmax(DType::fp32) / (1 + share)) return infinity;
            error = share * terms.magnitude;
        } else {
            if (terms.largest > 127.9 || terms.smallest < -125.9) return infinity;
            error = share * std::fabs(r);
        }
        if (!std::isfinite(r)) return 0.0;
        return error + last_rounding * ulp(type, std::fabs(r) + error);
    };
    Terms terms;
    along_axis(
        c.view, [&] { terms = {}; },
        [&](std::size_t e) {
            if (c.attrs().exclusive) t.bound[e] = bound(terms, reference[e]);
            terms.add(in[e], tiny);
            if (!c.attrs().exclusive) t.bound[e] = bound(terms, reference[e]);
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
    for (const DType type : {DType::i8, DType::i16, DType::i32, DType::fp16, DType::bf16, DType::fp32})
        def.rows.push_back({{type}, own_domain.data()});
    def.infer = cumulate_infer;
    def.check = cumulate_check;
    def.reference = cumulate_reference;
    def.tolerance = cumulate_tolerance;
    def.accuracy = "((1 + 2^-24)^(n - 1) - 1) * sum|x| (product: |r|) and one rounding to the type; min, max: exact";
    return {def};
}

}  // namespace tosavk

// Building blocks of the elementwise families: shape rules, expression text, reference loops and bounds, so that an
// operator there is a few lines.
#pragma once

#include "ops/op.hpp"
#include "ops/tolerance.hpp"

#include <cmath>
#include <type_traits>

namespace tosavk::pointwise {

// ---- definitions --------------------------------------------------------------------------------------------------

using InferFn = std::vector<Shape> (*)(const NodeView&);
using ExprFn = std::string (*)(ExprContext&);
using ReferenceFn = void (*)(RefContext&);
using ToleranceFn = Tolerance (*)(RefContext&, std::size_t, std::span<const double>);

/// Output shape = shape of input 0.
std::vector<Shape> same_shape(const NodeView& view);
/// Output shape = bcast() of the first two or three inputs.
std::vector<Shape> broadcast2(const NodeView& view);
std::vector<Shape> broadcast3(const NodeView& view);

/// An operator of one or two inputs and one output, all of type in_out_t.
OpDef unary(Op op, std::vector<TypeRow> rows, ExprFn expression, ReferenceFn reference,
            ToleranceFn tolerance = nullptr);
OpDef binary(Op op, std::vector<TypeRow> rows, ExprFn expression, ReferenceFn reference,
             ToleranceFn tolerance = nullptr);

/// An operator whose expression is worth so many simple ones (OpDef::operations).
inline OpDef worth(int operations, OpDef def) {
    def.operations = operations;
    return def;
}

/// view.fail() unless input k has exactly one element.
void check_single(const NodeView& view, std::size_t k, const char* name);
/// The value of single-element input k if it is constant.
std::optional<std::int64_t> constant_value(const NodeView& view, std::size_t k);

// ---- expressions --------------------------------------------------------------------------------------------------

std::string infix(ExprContext& c, const char* op);  ///< "(a op b)"
/// "(a op b)", or of fp16 "name_fp16(a, b)" of small_floats.glsl: add, sub or mul, natively where the device can.
std::string arithmetic(ExprContext& c, const char* op, const char* name);
std::string call(ExprContext& c, const char* function);     ///< "function(a)"
std::string call2(ExprContext& c, const char* function);    ///< "function(a, b)"
std::string wrap_to(DType type, const std::string& expr);   ///< low bits of i8 and i16, sign-extended
std::string clamp_to(DType type, const std::string& expr);  ///< saturates to i8 and i16
/// Operand k; where it is one constant, as a parameter, so that other values need no other shader.
std::string uniform_operand(ExprContext& c, std::size_t k);
/// Zero point k as a term: "" when it is known to be 0, else a constant or the loaded operand, bits as in `mask`
/// (255 or 65535 for unsigned tensors, -1 otherwise).
std::string zero_point_term(ExprContext& c, std::size_t k, const char* sign, std::int32_t mask);

// ---- reference ----------------------------------------------------------------------------------------------------

/// Where the elements of a right-aligned broadcast operand lie: one index per element of `to`.
std::vector<std::size_t> broadcast_indices(const Shape& from, const Shape& to);

template <class T> std::vector<T> operand(const RefContext& c, std::size_t k) {
    std::vector<T> values;
    if constexpr (std::is_floating_point_v<T>) values = c.real<T>(k);
    else values = c.ints(k);
    const Shape& to = c.view.out().shape;
    if (c.view.in(k).shape == to) return values;
    const std::vector<std::size_t> indices = broadcast_indices(c.view.in(k).shape, to);
    std::vector<T> expanded(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) expanded[i] = values[indices[i]];
    return expanded;
}

/// Applies f to the first one, two or three inputs (as many as it takes), read as T; floats and integers as f returns.
template <class T, class F> void map(RefContext& c, F f) {
    const auto run = [&](auto compute) {
        using Result = std::conditional_t<std::is_floating_point_v<decltype(compute(0))>, double, std::int64_t>;
        std::vector<Result> out(static_cast<std::size_t>(element_count(c.view.out().shape)));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Result>(compute(i));
        if constexpr (std::is_floating_point_v<Result>) c.set_reals(out);
        else c.set_ints(out);
    };
    const std::vector<T> a = operand<T>(c, 0);
    if constexpr (std::is_invocable_v<F, T>) {
        run([&](std::size_t i) { return f(a[i]); });
    } else if constexpr (std::is_invocable_v<F, T, T>) {
        const std::vector<T> b = operand<T>(c, 1);
        run([&](std::size_t i) { return f(a[i], b[i]); });
    } else {
        const std::vector<T> b = operand<T>(c, 1), d = operand<T>(c, 2);
        run([&](std::size_t i) { return f(a[i], b[i], d[i]); });
    }
}

template <class F> void map_ints(RefContext& c, F f) { map<std::int64_t>(c, f); }
template <class F> void map_reals(RefContext& c, F f) { map<double>(c, f); }
/// By the type of the first operand.
template <class F> void map_either(RefContext& c, F f) {
    if (is_float(c.view.in(0).type)) map_reals(c, f);
    else map_ints(c, f);
}

// ---- bounds -------------------------------------------------------------------------------------------------------

/// bound = f(type, r, x) or f(type, r, x, y). An infinite reference asks for that infinity.
template <class F> Tolerance bound(RefContext& c, std::span<const double> reference, F f) {
    Tolerance t;
    const DType type = c.view.out().type;
    if (!is_float(type)) return t;
    t.kind = Tolerance::Kind::check;
    t.bound.resize(reference.size());
    const std::vector<double> x = operand<double>(c, 0);
    std::vector<double> y;
    if constexpr (!std::is_invocable_v<F, DType, double, double>) y = operand<double>(c, 1);
    for (std::size_t i = 0; i < reference.size(); ++i) {
        const double r = reference[i];
        if (!std::isfinite(r)) continue;
        if constexpr (std::is_invocable_v<F, DType, double, double>) t.bound[i] = f(type, r, x[i]);
        else t.bound[i] = f(type, r, x[i], y[i]);
    }
    return t;
}

/// So many half units in the last place.
template <int halves> Tolerance half_ulps(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double) { return 0.5 * halves * ulp(type, r); });
}

/// The constant of the transcendental bounds: 3 for fp32, 1 for fp16 and bf16.
inline double base_error(DType type) { return type == DType::fp32 ? 3 : 1; }

}  // namespace tosavk::pointwise

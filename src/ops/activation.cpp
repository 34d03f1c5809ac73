// CLAMP, ERF, SIGMOID and TANH.
#include "ops/pointwise.hpp"
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

using namespace pointwise;

// ---- CLAMP --------------------------------------------------------------------------------------------------------

void check_clamp(const NodeView& view, const Level&) {
    const DType type = view.in(0).type;
    const double lo = view.attrs().min_val, hi = view.attrs().max_val;
    if (std::isnan(lo) || std::isnan(hi)) view.fail("min_val and max_val must not be NaN");
    if (lo > hi) view.fail(fmt::format("min_val {} is greater than max_val {}", lo, hi));
    for (const double v : {lo, hi}) {
        const bool exact = decode_reals(type, encode_reals(type, std::span<const double>(&v, 1)))[0] == v;
        if (!exact) view.fail(fmt::format("bound {} is not a value of type {}", v, name_of(type)));
    }
}

void clamp_reference(RefContext& c) {
    const double lo = c.attrs().min_val, hi = c.attrs().max_val;
    if (is_float(c.view.out().type)) {
        const bool propagate = c.attrs().nan_mode == NanMode::propagate;
        map_reals(c, [=](double x) {
            if (std::isnan(x)) return propagate ? x : lo;
            return std::min(std::max(x, lo), hi);
        });
    } else {
        const auto from = static_cast<std::int64_t>(lo), to = static_cast<std::int64_t>(hi);
        map_ints(c, [=](std::int64_t x) { return std::clamp(x, from, to); });
    }
}

std::string clamp_text(ExprContext& c) {
    const Attributes& a = c.view().attrs();
    if (!is_float(c.view().out().type)) {
        return fmt::format("clamp({}, {}, {})", c.in(0), c.param(static_cast<std::int32_t>(a.min_val)),
                           c.param(static_cast<std::int32_t>(a.max_val)));
    }
    const char* function = a.nan_mode == NanMode::propagate ? "tosa_clamp" : "tosa_clamp_ignore";
    return fmt::format("{}({}, {}, {})", function, c.in(0), c.param_float(static_cast<float>(a.min_val)),
                       c.param_float(static_cast<float>(a.max_val)));
}

// ---- bounds -------------------------------------------------------------------------------------------------------

Tolerance sigmoid_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference,
                 [](DType type, double r, double x) { return absolute_bound(type, r, 2 * (1 + std::fabs(x)), 0, 1); });
}

Tolerance tanh_tolerance(RefContext& c, std::size_t, std::span<const double> reference) {
    return bound(c, reference, [](DType type, double r, double x) {
        return absolute_bound(type, r, 4 * (base_error(type) + 2 * std::fabs(x)), 0.5, 1);
    });
}

}  // namespace

std::vector<OpDef> activation_ops() {
    std::vector<OpDef> ops;
    OpDef clamp = unary(Op::clamp, with_floats({{{DType::i8}, "PRO-INT"}, {{DType::i16}, "EXT-INT16"}}), clamp_text,
                        clamp_reference);
    clamp.attributes = {"min_val", "max_val", "nan_mode"};
    clamp.check = check_clamp;
    ops.push_back(clamp);
    ops.push_back(
        worth(16, unary(
                      Op::erf, with_floats(), [](ExprContext& c) { return call(c, "tosa_erf"); },
                      [](RefContext& c) { map_reals(c, [](double x) { return std::erf(x); }); }, half_ulps<10>)));
    ops.push_back(worth(16, unary(
                                Op::sigmoid, with_floats(), [](ExprContext& c) { return call(c, "tosa_sigmoid"); },
                                [](RefContext& c) { map_reals(c, [](double x) { return 1 / (1 + std::exp(-x)); }); },
                                sigmoid_tolerance)));
    ops.push_back(
        worth(16, unary(
                      Op::tanh, with_floats(), [](ExprContext& c) { return call(c, "tosa_tanh"); },
                      [](RefContext& c) { map_reals(c, [](double x) { return std::tanh(x); }); }, tanh_tolerance)));
    for (OpDef& def : ops) def.inputs[0].name = "input";
    return ops;
}

}  // namespace tosavk

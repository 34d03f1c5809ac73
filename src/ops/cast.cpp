// CAST: integers widen by sign and narrow by dropping bits; floats round to the nearest integer and saturate.
#include "ops/pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

using namespace pointwise;

void cast_reference(RefContext& c) {
    const DType from = c.view.in(0).type, to = c.view.out().type;
    if (is_float(from) && is_float(to)) return map_reals(c, [](double x) { return x; });
    if (is_float(to)) return map_ints(c, [](std::int64_t x) { return static_cast<double>(x); });
    if (to == DType::boolean) return map_either(c, [](auto x) { return x != 0; });
    if (!is_float(from)) return map_ints(c, [](std::int64_t x) { return x; });
    map_reals(c, [to](double x) -> std::int64_t {
        if (std::isnan(x)) return 0;  // the specification leaves it open
        const double rounded = std::nearbyint(x);
        return static_cast<std::int64_t>(
            std::clamp(rounded, static_cast<double>(min_of(to)), static_cast<double>(max_of(to))));
    });
}

std::string cast_text(ExprContext& c) {
    const DType from = c.view().in(0).type, to = c.view().out().type;
    if (is_float(to)) return call(c, "tosa_int_to_float");
    if (is_float(from))
        return fmt::format("tosa_float_to_int({}, {}, {})", c.in(0), c.param(static_cast<std::int32_t>(min_of(to))),
                           c.param(static_cast<std::int32_t>(max_of(to))));
    if (to == DType::boolean) return fmt::format("ivec4(notEqual({}, ivec4(0)))", c.in(0));
    return size_of(to) < size_of(from) ? wrap_to(to, c.in(0)) : c.in(0);
}

}  // namespace

std::vector<OpDef> cast_ops() {
    OpDef def = unary(Op::cast, {}, cast_text, cast_reference, ulps<1>);
    def.type_vars = {"in_t", "out_t"};
    def.inputs = {{"input", "in_t"}};
    def.outputs = {{"output", "out_t"}};
    const std::vector<DType> ints{DType::i8, DType::i16, DType::i32};
    for (const DType t : ints) def.rows.push_back({{DType::boolean, t}, "PRO-INT"});
    for (const DType from : ints) {
        def.rows.push_back({{from, DType::boolean}, "PRO-INT"});
        for (const DType to : ints) {
            if (from != to) def.rows.push_back({{from, to}, "PRO-INT"});
        }
    }
    for (const DType t : ints) def.rows.push_back({{t, DType::fp32}, "PRO-FP"});
    for (const DType t : ints) def.rows.push_back({{DType::fp32, t}, "PRO-FP"});
    return {def};
}

}  // namespace tosavk

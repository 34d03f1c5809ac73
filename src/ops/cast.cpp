// CAST: integers widen by sign and narrow by dropping bits; floats round to the nearest integer and saturate.
#include "ops/pointwise.hpp"
#include "ops/rows.hpp"

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
    if (is_float(from) && is_float(to)) return c.in(0);  // rounded to the output's type like every result
    if (is_float(to)) {
        // i32 to bf16 passes through fp32: the bits that fp32 drops must still be seen by the second rounding.
        const bool sticky = from == DType::i32 && to == DType::bf16;
        return fmt::format("tosa_int_to_float({})", sticky ? fmt::format("sticky24({})", c.in(0)) : c.in(0));
    }
    if (is_float(from))
        return fmt::format("tosa_float_to_int({}, {}, {})", c.in(0), c.param(static_cast<std::int32_t>(min_of(to))),
                           c.param(static_cast<std::int32_t>(max_of(to))));
    if (to == DType::boolean) return fmt::format("ivec4(notEqual({}, ivec4(0)))", c.in(0));
    return size_of(to) < size_of(from) ? wrap_to(to, c.in(0)) : c.in(0);
}

}  // namespace

std::vector<OpDef> cast_ops() {
    OpDef def = unary(Op::cast, {}, cast_text, cast_reference, half_ulps<1>);
    def.operations = 4;
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
    for (const DType t : ints) {
        def.rows = with_floats(std::move(def.rows), [t](DType f) { return std::vector<DType>{t, f}; });
        def.rows = with_floats(std::move(def.rows), [t](DType f) { return std::vector<DType>{f, t}; });
    }
    def.rows.push_back({{DType::fp16, DType::fp32}, "PRO-FP"});
    def.rows.push_back({{DType::fp32, DType::fp16}, "PRO-FP"});
    def.rows.push_back({{DType::bf16, DType::fp32}, "EXT-BF16"});
    def.rows.push_back({{DType::fp32, DType::bf16}, "EXT-BF16"});
    for (const DType f : {DType::fp16, DType::fp32}) {
        def.rows = with_fp8(std::move(def.rows), [f](DType t) { return std::vector<DType>{t, f}; });
        def.rows = with_fp8(std::move(def.rows), [f](DType t) { return std::vector<DType>{f, t}; });
    }
    def.rows.push_back({{DType::bf16, DType::fp8e4m3}, "EXT-BF16+EXT-FP8E4M3"});
    def.rows.push_back({{DType::fp8e4m3, DType::bf16}, "EXT-FP8E4M3+EXT-BF16"});
    def.rows.push_back({{DType::bf16, DType::fp8e5m2}, "EXT-BF16+EXT-FP8E5M2"});
    def.rows.push_back({{DType::fp8e5m2, DType::bf16}, "EXT-FP8E5M2+EXT-BF16"});
    return {def};
}

}  // namespace tosavk

// EQUAL, GREATER and GREATER_EQUAL. NaN compares false, -0 equals +0.
#include "ops/pointwise.hpp"
#include "ops/rows.hpp"

namespace tosavk {

namespace {

using namespace pointwise;

OpDef comparison(Op op, ExprFn expression, ReferenceFn reference) {
    OpDef def = binary(op,
                       with_floats({{{DType::i32, DType::boolean}, "PRO-INT"}},
                                   [](DType t) { return std::vector<DType>{t, DType::boolean}; }),
                       expression, reference);
    def.type_vars = {"in_t", "out_t"};
    def.inputs = {{"input1", "in_t"}, {"input2", "in_t"}};
    def.outputs = {{"output", "out_t"}};
    return def;
}

}  // namespace

std::vector<OpDef> comparison_ops() {
    return {
        comparison(
            Op::equal, [](ExprContext& c) { return call2(c, "tosa_equal"); },
            [](RefContext& c) { map_either(c, [](auto a, auto b) { return a == b; }); }),
        comparison(
            Op::greater, [](ExprContext& c) { return call2(c, "tosa_greater"); },
            [](RefContext& c) { map_either(c, [](auto a, auto b) { return a > b; }); }),
        comparison(
            Op::greater_equal, [](ExprContext& c) { return call2(c, "tosa_greater_equal"); },
            [](RefContext& c) { map_either(c, [](auto a, auto b) { return a >= b; }); }),
    };
}

}  // namespace tosavk

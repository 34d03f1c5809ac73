// Random cases and error graphs of DIVIDE, REMAINDER, SQRT and CUMULATE.
#include "verify/conformance/breaking.hpp"
#include "verify/conformance/case_maker.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tosavk::conformance {

namespace {

/// Dividends and divisors: any, and pairs that divide without a rest, that differ a lot and that are nearly equal.
void division(CaseMaker& maker) {
    RandomData& data = maker.data();
    Attributes& attrs = maker.attrs();
    attrs.floored = data.chance(50);
    attrs.is_unsigned = data.chance(30);
    const DType type = maker.in_type(0);
    if (!is_float(type) && data.chance(60)) {
        attrs.by_zero = maker.def().op == Op::remainder ? ByZero::dividend : ByZero::ones;
    }
    if (is_float(type)) attrs.is_unsigned = false, attrs.by_zero = ByZero::zero;
    if (is_float(type) && maker.def().op == Op::divide) attrs.floored = false;
    const Shape shape = data.shape(0, 6), a = data.narrowed(shape), b = data.narrowed(shape);
    const auto operand = [&](const Shape& of) {
        if (is_float(type)) return data.any(type, of);
        return data.chance(50) ? data.any(type, of) : data.ints(type, of, -9, 9);
    };
    maker.operand(operand(a));
    maker.operand(operand(b));
}

void square_root(CaseMaker& maker) {
    HostTensor x = maker.data().any(maker.in_type(0), maker.data().shape(0, 6));
    // Half of them mostly positive: roots of negative numbers are all alike.
    if (maker.data().chance(50)) {
        std::vector<double> values = decode_reals(x.type, x.bytes);
        for (double& v : values)
            if (!maker.data().chance(5)) v = std::fabs(v);
        x.bytes = encode_reals(x.type, values);
    }
    maker.operand(std::move(x));
}

void cumulate(CaseMaker& maker) {
    RandomData& data = maker.data();
    Attributes& attrs = maker.attrs();
    constexpr std::array<Combiner, 4> combiners{Combiner::add, Combiner::multiply, Combiner::minimum,
                                                Combiner::maximum};
    attrs.combiner = combiners[static_cast<std::size_t>(data.pick(0, 3))];
    attrs.exclusive = data.chance(50);
    attrs.reverse = data.chance(50);
    Shape shape = data.shape(1, 6, 1500);
    attrs.axis = static_cast<std::int32_t>(data.pick(0, static_cast<std::int64_t>(shape.size()) - 1));
    std::int64_t& axis = shape[static_cast<std::size_t>(attrs.axis)];
    // Long axes are cut into parts.
    if (data.chance(40) && element_count(shape) / axis <= 12) axis = data.pick(50, maker.options().large ? 6000 : 700);
    const DType type = maker.in_type(0);
    const bool real = is_float(type),
               extreme = attrs.combiner == Combiner::minimum || attrs.combiner == Combiner::maximum;
    if (!real) return maker.operand(data.any(type, shape));
    if (extreme) return maker.operand(data.any(type, shape));
    if (attrs.combiner == Combiner::add) return maker.operand(data.reals(type, shape, data.chance(20)));
    // Factors near 1, so that long products stay finite; at times a zero or an infinity.
    HostTensor factors = data.reals(type, shape, false);
    std::vector<double> values = decode_reals(type, factors.bytes);
    const double narrow = 64.0 + static_cast<double>(axis);
    for (double& v : values) v = std::copysign(std::exp2(v / narrow), v);
    if (data.chance(30))
        values[static_cast<std::size_t>(data.pick(0, factors.count() - 1))] = data.chance(50) ? 0 : INFINITY;
    factors.bytes = encode_reals(type, values);
    maker.operand(std::move(factors));
}

}  // namespace

std::vector<OwnCases> own_arithmetic_cases() {
    return {{Op::divide, division}, {Op::remainder, division}, {Op::sqrt, square_root}, {Op::cumulate, cumulate}};
}

namespace breaking {

void add_own_arithmetic_errors(std::vector<ErrorGraph>& all) {
    const Fits floats = [](const TypeRow& row) { return is_float(row.types.at(0)); };
    const Fits integers = [](const TypeRow& row) { return !is_float(row.types.at(0)); };
    for (const Op op : {Op::divide, Op::remainder}) {
        Entries(op, all)
            .add("shape1 and shape2 cannot be broadcast",
                 [](Graph& g, Random& random) {
                     Shape shape = operand(g, 0).shape;
                     if (shape.empty()) return false;
                     shape[pick_axis(random, shape)] += 40;
                     set_shape(g, 1, shape);
                     return true;
                 })
            .add("the output's shape is not the broadcast one", wrong_output)
            .add(
                "is_unsigned for a float type", [](Graph& g, Random&) { return attrs(g).is_unsigned = true; }, floats)
            .add(
                "by_zero other than ZERO for a float type",
                [](Graph& g, Random&) {
                    attrs(g).by_zero = ByZero::ones;
                    return true;
                },
                floats)
            .add(
                "by_zero is a rule of another operator",
                [](Graph& g, Random&) {
                    attrs(g).by_zero = node(g).op == Op::divide ? ByZero::dividend : ByZero::ones;
                    return true;
                },
                integers);
    }
    Entries(Op::divide, all)
        .add("floored for a float type", [](Graph& g, Random&) { return attrs(g).floored = true; }, floats);
    Entries(Op::sqrt, all).add("the output's shape is not the input's", wrong_output);
    Entries(Op::cumulate, all)
        .add("axis < 0 || axis >= rank(shape)",
             [](Graph& g, Random& random) {
                 const auto rank = static_cast<std::int64_t>(operand(g, 0).shape.size());
                 attrs(g).axis = static_cast<std::int32_t>(pick(random, 0, 1) ? -1 : rank);
                 return true;
             })
        .add("the output's shape is not the input's", wrong_output)
        .add("combiner is SET", [](Graph& g, Random&) {
            attrs(g).combiner = Combiner::set;
            return true;
        });
}

}  // namespace breaking

}  // namespace tosavk::conformance

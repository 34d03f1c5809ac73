// Random cases and error graphs of DIVIDE, REMAINDER, SQRT, CUMULATE, SCALE_FP64, AFFINE_ZERO_POINT and the functions
// of floats.
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

/// Scales for which results fill their type, a third of them with so few bits that results are often halves.
void scale_fp64(CaseMaker& maker) {
    RandomData& data = maker.data();
    const DType in = maker.in_type(0), out = maker.type_of("out_t");
    const Shape shape = data.shape(0, 6);
    const std::int64_t channels = !shape.empty() && data.chance(50) ? shape.back() : 1;
    const std::int64_t bits = data.pick(1, in == DType::i48 ? 47 : 31);  // of the operand
    maker.operand(data.chance(20) ? data.any(in, shape)
                                  : data.ints(in, shape, -(std::int64_t{1} << bits), (std::int64_t{1} << bits) - 1));
    const bool halves = data.chance(33);
    maker.operand(data.ints(DType::i32, {channels}, halves ? 1 : 1 << 20, halves ? 7 : (1 << 21) - 1));
    maker.operand(halves ? data.ints(DType::i32, {channels}, 0, 0) : data.any(DType::i32, {channels}));
    // high * 2^32 has 34 or 53 bits; what is left of operand times scale are about as many as the output has.
    const std::int64_t left = bits + (halves ? 34 : 53) - 8 * static_cast<std::int64_t>(size_of(out));
    const std::int64_t least = std::clamp<std::int64_t>(left - 4, 1, 120);
    maker.operand(data.ints(DType::i8, {channels}, least, data.chance(80) ? least + 6 : 126));
    maker.scalar(out, out == DType::i32 ? 0 : data.pick(min_of(out), max_of(out)));
}

/// Ends of ranges; often such that 255 times a part over the whole lies in the middle of two integers.
void affine_zero_point(CaseMaker& maker) {
    RandomData& data = maker.data();
    const Shape shape = data.shape(0, 6);
    HostTensor low(DType::fp32, shape), high(DType::fp32, shape);
    for (std::size_t i = 0; i < low.as<float>().size(); ++i) {
        const auto unit = static_cast<float>(data.pick(1, 1 << 14));
        const float step = std::ldexp(unit, static_cast<int>(data.pick(-100, 80)));
        const std::int64_t part = data.pick(0, 254) * 2 + data.pick(0, 1);
        low.as<float>()[i] = -static_cast<float>(part) * step;
        high.as<float>()[i] = static_cast<float>(510 - part) * step;
    }
    if (data.chance(30)) low = data.any(DType::fp32, shape);
    if (data.chance(30)) high = data.any(DType::fp32, shape);
    maker.operand(std::move(low));
    maker.operand(std::move(high));
}

/// Numbers from low to high, a third of them moved near an end or a middle by a power of two.
HostTensor between(RandomData& data, DType type, const Shape& shape, double low, double high) {
    HostTensor x(type, shape);
    std::vector<double> values(static_cast<std::size_t>(x.count()));
    for (double& v : values) {
        v = low + (high - low) * std::ldexp(static_cast<double>(data.pick(0, 1 << 24)), -24);
        if (!data.chance(33)) continue;
        const double points[] = {low, high, (low + high) / 2, 0, 1};
        const double step = std::ldexp(data.chance(50) ? 1 : -1, -static_cast<int>(data.pick(1, 30)));
        v = std::clamp(points[data.pick(0, 4)] + step, low, high);
    }
    x.bytes = encode_reals(type, values);
    return x;
}

/// Half of the numbers where the function has something to show, the others any.
template <int low, int high> void function_of_one(CaseMaker& maker) {
    RandomData& data = maker.data();
    const Shape shape = data.shape(0, 6);
    maker.operand(data.chance(50) ? data.any(maker.in_type(0), shape)
                                  : between(data, maker.in_type(0), shape, low, high));
}

void angle(CaseMaker& maker) {
    RandomData& data = maker.data();
    const Shape shape = data.shape(0, 6), y = data.narrowed(shape), x = data.narrowed(shape);
    const bool any = data.chance(50);
    for (const Shape& of : {y, x})
        maker.operand(any ? data.any(maker.in_type(0), of) : between(data, maker.in_type(0), of, -2, 2));
}

}  // namespace

std::vector<OwnCases> own_arithmetic_cases() {
    return {{Op::divide, division},
            {Op::remainder, division},
            {Op::sqrt, square_root},
            {Op::cumulate, cumulate},
            {Op::scale_fp64, scale_fp64},
            {Op::affine_zero_point, affine_zero_point},
            {Op::expm1, function_of_one<-20, 90>},
            {Op::log1p, function_of_one<-1, 4>},
            {Op::cbrt, function_of_one<-30, 30>},
            {Op::erf_inv, function_of_one<-1, 1>},
            {Op::lgamma, function_of_one<-6, 12>},
            {Op::digamma, function_of_one<-6, 12>},
            {Op::atan2, angle}};
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
    for (const Op op : {Op::sqrt, Op::expm1, Op::log1p, Op::cbrt, Op::erf_inv, Op::lgamma, Op::digamma})
        Entries(op, all).add("the output's shape is not the input's", wrong_output);
    Entries(Op::atan2, all).add("the output's shape is not the broadcast one", wrong_output);
    Entries(Op::affine_zero_point, all).add("the output's shape is not the broadcast one", wrong_output);
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
    const auto known = [](std::size_t wrong, std::int64_t value) {
        return [=](Graph& g, Random&) {
            for (std::size_t k = 1; k < 5; ++k) {
                const std::int64_t plain = k == 4 ? 0 : 1;
                set_constant(g, k, operand(g, k).type, {1}, std::span(k == wrong ? &value : &plain, 1));
            }
            return true;
        };
    };
    Entries(Op::scale_fp64, all)
        .add("high < 0 || high >= 2^21", known(1, 1 << 21))
        .add("shift < 1 || shift > 126", known(3, 0))
        .add("output_zp is not 0 for out_t i32", known(4, 1),
             [](const TypeRow& row) { return row.types.at(1) == DType::i32; })
        .add("the output's shape is not the input's", wrong_output);
}

}  // namespace breaking

}  // namespace tosavk::conformance

// SVDF of floats and of int8 with a state of int16: a filter over the last inputs, in rank-one parts.
#include "frontends/tflite/recurrent.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

using T = tflite::TensorType;

struct Sizes {
    std::int64_t batch = 0, inputs = 0, filters = 0, memory = 0, rank = 1, units = 0;
};

Sizes read_sizes(Lowering& l, std::int64_t rank) {
    const Shape input = l.shape(l.value(0)), feature = l.shape(l.value(1)), time = l.shape(l.value(2));
    if (input.size() != 2 || feature.size() != 2 || time.size() != 2) l.fail("its input and its weights need rank 2");
    Sizes s{input[0], input[1], feature[0], time[1], rank, 0};
    if (rank < 1 || s.filters % rank != 0) l.fail(fmt::format("{} filters have no rank {}", s.filters, rank));
    s.units = s.filters / rank;
    check_shape(l, 1, {s.filters, s.inputs});
    check_shape(l, 2, {s.filters, s.memory});
    if (l.has_input(3)) check_shape(l, 3, {s.units});
    return s;
}

/// The state without its oldest column, and `now` [batch, filters] as its newest; [batch, filters, memory].
ValueId push(Lowering& l, const Sizes& s, ValueId now) {
    const ValueId state = l.reshape(read_state(l, 4, {s.batch, s.filters * s.memory}), {s.batch, s.filters, s.memory});
    const ValueId newest = l.reshape(now, {s.batch, s.filters, 1});
    const ValueId next = s.memory == 1 ? newest : l.concat({l.slice_axis(state, 2, 1, s.memory - 1), newest}, 2);
    l.set_state(4, l.reshape(next, {s.batch, s.filters * s.memory}));
    return next;
}

/// Sums over the memory and the parts of each unit.
ValueId sum_units(Lowering& l, const Sizes& s, ValueId products) {
    Attributes along;
    along.axis = 2;
    const DType type = l.type(products);
    ValueId sums = l.add(Op::reduce_sum, {products}, type, along);
    if (s.rank > 1) {
        sums = l.reshape(sums, {s.batch, s.units, s.rank});
        sums = l.add(Op::reduce_sum, {sums}, type, along);
    }
    return l.reshape(sums, {s.batch, s.units});
}

ValueId with_bias(Lowering& l, const Sizes& s, ValueId sums) {
    if (!l.has_input(3)) return sums;
    const std::size_t operand = 3;
    const ValueId bias = join_vectors(l, std::span(&operand, 1), s.units, l.type(sums));
    return l.add(Op::add, {sums, bias}, l.type(sums));
}

void lower_int8(Lowering& l, const Sizes& s, tflite::ActivationFunctionType activation) {
    if (l.in(1).type != T::INT8 || l.in(2).type != T::INT16 || l.in(4).type != T::INT16)
        l.unsupported(fmt::format("weights of types {} and {} with a state of type {} are not supported",
                                  name_of(l.in(1).type), name_of(l.in(2).type), name_of(l.in(4).type)));
    if (activation != tflite::ActivationFunctionType::RELU)
        l.unsupported("the integer kernel with another activation than RELU is not supported");
    const auto scale = [&](const TfliteTensor& t) { return static_cast<double>(l.quant(t).scale); };
    const Quant x = l.quant(l.in(0)), out = l.quant(l.out());
    const ValueId features = matrix_product(l, l.value(0), l.value(1), l.scalar(DType::i32, 0), x.zero_point);
    const QuantizedMultiplier first = quantize_multiplier(scale(l.in(0)) * scale(l.in(1)) / scale(l.in(4)));
    const ValueId state = push(l, s, l.requantize(features, DType::i16, first, 0, 0));
    const ValueId time = l.reshape(l.value(2), {1, s.filters, s.memory});
    const ValueId sums = with_bias(l, s, sum_units(l, s, l.mul(state, time, DType::i32)));
    // The kernel asks for RELU and leaves it to the output's range.
    const QuantizedMultiplier second = quantize_multiplier(scale(l.in(4)) * scale(l.in(2)) / scale(l.out()));
    l.set(l.requantize(sums, DType::i8, second, 0, out.zero_point));
}

void lower_svdf(Lowering& l) {
    const auto* options = l.options<tflite::SVDFOptions>();
    if (!options) l.fail("its options are missing");
    const Sizes s = read_sizes(l, options->rank());
    const T type = l.in(0).type;
    if (type == T::INT8 && l.out().type == T::INT8) return lower_int8(l, s, options->fused_activation_function());
    if (type != T::FLOAT32 || l.out().type != T::FLOAT32)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(type), name_of(l.out().type)));
    const std::size_t feature = 1;
    const Matrices weights(l, std::span(&feature, 1), s.filters, s.inputs);
    const ValueId state = push(l, s, weights.times(l, l.value(0), options->asymmetric_quantize_inputs()));
    const ValueId time = l.reshape(float_weights(l, 2), {1, s.filters, s.memory});
    const ValueId sums = with_bias(l, s, sum_units(l, s, l.mul(state, time, DType::fp32)));
    l.set(activate_any(l, sums, options->fused_activation_function()));
}

}  // namespace

OperatorRows svdf_rows() {
    static constexpr OperatorRow rows[] = {{tflite::BuiltinOperator::SVDF, lower_svdf}};
    return rows;
}

}  // namespace tosavk

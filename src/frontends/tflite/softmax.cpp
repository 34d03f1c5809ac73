// SOFTMAX along the last dimension: in floats, and TFLite's int8 fixed-point algorithm bit for bit.
#include "frontends/tflite/lowering.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tosavk {

namespace {

ValueId along_last(Lowering& l, Op op, ValueId x) {
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(l.shape(x).size()) - 1;
    return l.add(op, {x}, l.type(x), attrs);
}

void softmax_float(Lowering& l, ValueId x, double beta) {
    const auto mul = [&](ValueId a, ValueId b) { return l.mul(a, b, DType::fp32); };
    ValueId d = l.add(Op::sub, {x, along_last(l, Op::reduce_max, x)}, DType::fp32);
    if (beta != 1) d = mul(d, l.splat(d, DType::fp32, beta));
    const ValueId e = l.add(Op::exp, {d}, DType::fp32);
    l.set(mul(e, l.add(Op::reciprocal, {along_last(l, Op::reduce_sum, e)}, DType::fp32)));
}

// Row lengths: from 512 elements on a sum can reach what TFLite's last shift cannot express, from 4096 on it overflows.
constexpr std::int64_t long_row = 512, longest_row = 4095;

void softmax_int8(Lowering& l, ValueId x, double beta) {
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    if (out.zero_point != -128 || std::abs(out.scale * 256.0f - 1.0f) > 1e-3f) {
        l.unsupported(fmt::format("its output must have scale 1/256 and zero point -128, not {} and {}", out.scale,
                                  out.zero_point));
    }
    const Shape shape = l.shape(x);
    const std::int64_t count = element_count(shape);
    if (shape.back() > longest_row) l.unsupported(fmt::format("INT8 rows of {} elements are too long", shape.back()));
    SoftmaxTables tables;
    if (!make_softmax_tables(beta, in.scale, tables)) l.unsupported("its input scale is too small");

    const DType i32 = DType::i32;
    const auto binary = [&](Op op, ValueId a, ValueId b) { return l.add(op, {a, b}, i32); };
    const auto number = [&](double v) { return l.splat(x, i32, v); };
    const auto mul31 = [&](ValueId a, ValueId b) { return l.add(Op::mul, {a, b, l.scalar(DType::i8, 31)}, i32); };
    const auto shift_right = [&](ValueId a, ValueId n, bool round) {
        Attributes attrs;
        attrs.round = round;
        return l.add(Op::arithmetic_right_shift, {a, n}, i32, attrs);
    };

    // Exponentials of x - max by table, exact and with 19 fraction bits.
    const ValueId difference = binary(Op::sub, l.cast(x, i32), l.cast(along_last(l, Op::reduce_max, x), i32));
    const ValueId index = l.reshape(binary(Op::add, difference, number(255)), {1, count});
    const auto lookup = [&](const char* name, const std::array<std::int32_t, 256>& table) {
        const std::vector<std::int64_t> wide(table.begin(), table.end());
        const ValueId values = l.constant_ints(name, i32, {1, 256, 1}, wide);
        return l.reshape(l.add(Op::gather, {values, index}, i32), shape);
    };
    const ValueId exact = lookup("exp_q31", tables.exp_q31);
    const ValueId sum = along_last(l, Op::reduce_sum, lookup("exp_q19", tables.exp_q19));

    // sum = (1 + f) * 2^-z with f in [0, 1) as Q0.31, and 1 / (1 + f) by three Newton steps in Q2.29.
    const ValueId zeros = l.add(Op::clz, {sum}, i32);
    const ValueId f =
        binary(Op::sub, binary(Op::logical_left_shift, sum, zeros), number(std::numeric_limits<std::int32_t>::min()));
    const ValueId half = binary(Op::add, shift_right(f, number(1), false), number(1 << 30));
    ValueId r = binary(Op::add, mul31(half, number(-1010580540)), number(1515870810));
    for (int step = 0; step < 3; ++step) {
        const ValueId error = binary(Op::sub, number(1 << 29), mul31(half, r));
        r = binary(Op::add, r, binary(Op::logical_left_shift, mul31(r, error), number(2)));
    }
    const ValueId large = l.add(Op::greater, {r, number((1 << 30) - 1)}, DType::boolean);
    r = l.add(Op::select,
              {large, number(std::numeric_limits<std::int32_t>::max()), binary(Op::logical_left_shift, r, number(1))},
              i32);

    ValueId last_shift = binary(Op::sub, number(35), zeros);
    if (shape.back() >= long_row) last_shift = binary(Op::minimum, last_shift, number(31));
    const ValueId probability = shift_right(mul31(r, exact), last_shift, true);
    l.set(l.requantize(probability, DType::i8, unit_multiplier, 0, -128));
}

void lower_softmax(Lowering& l) {
    // Without options beta is 1; the format's default of 0 would make every output equal.
    const auto* options = l.options<tflite::SoftmaxOptions>();
    const float beta = options ? options->beta() : 1.0f;
    if (!std::isfinite(beta)) l.fail(fmt::format("beta is {}", beta));
    ValueId x = l.value(0);
    if (l.shape(x).empty()) l.fail("its input is a scalar");
    if (l.type(x) == DType::fp32) return softmax_float(l, x, static_cast<double>(beta));
    if (l.type(x) != DType::i8 || l.out().type != tflite::TensorType::INT8) {
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    }
    softmax_int8(l, x, static_cast<double>(beta));
}

}  // namespace

OperatorRows softmax_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::SOFTMAX, lower_softmax},
    };
    return rows;
}

}  // namespace tosavk

// SOFTMAX and LOG_SOFTMAX along the last dimension: in floats, and TFLite's fixed-point algorithms bit for bit.
#include "frontends/tflite/elementwise.hpp"
#include "frontends/tflite/fixed_values.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using namespace elementwise;
using T = tflite::TensorType;

ValueId along_last(Lowering& l, Op op, ValueId x) {
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(l.shape(x).size()) - 1;
    return l.add(op, {x}, l.type(x), attrs);
}

ValueId below_maximum(Lowering& l, ValueId x) { return binary(l, Op::sub, x, along_last(l, Op::reduce_max, x)); }

// ---- floats -------------------------------------------------------------------------------------------------------

void softmax_float(Lowering& l, double beta) {
    ValueId d = below_maximum(l, l.value(0));
    if (beta != 1) d = l.mul(d, l.splat(d, DType::fp32, beta), DType::fp32);
    const ValueId e = l.add(Op::exp, {d}, DType::fp32);
    l.set(l.mul(e, l.add(Op::reciprocal, {along_last(l, Op::reduce_sum, e)}, DType::fp32), DType::fp32));
}

void log_softmax_float(Lowering& l) {
    const ValueId d = below_maximum(l, l.value(0));
    const ValueId sum = along_last(l, Op::reduce_sum, l.add(Op::exp, {d}, DType::fp32));
    l.set(binary(l, Op::sub, d, l.add(Op::log, {sum}, DType::fp32)));
}

// ---- fixed point --------------------------------------------------------------------------------------------------

/// Where there are 256 differences to the maximum of a row: their place in tables, and those tables.
struct Rows8 {
    Fixed fixed;
    SoftmaxTables tables;
    ValueId difference, index;

    Rows8(Lowering& l, double beta) : fixed{l, l.value(0)} {
        const ValueId x = l.value(0);
        if (!make_softmax_tables(beta, l.quant(l.in(0)).scale, tables)) l.unsupported("its input scale is too small");
        difference = fixed.sub(l.cast(x, DType::i32), l.cast(along_last(l, Op::reduce_max, x), DType::i32));
        index = fixed.add(difference, fixed.number(255));
    }
    ValueId of(const char* name, const std::array<std::int32_t, 256>& table) const {
        const std::vector<std::int64_t> wide(table.begin(), table.end());
        return look_up(fixed.l, name, DType::i32, wide, index);
    }
    ValueId sum() const { return along_last(fixed.l, Op::reduce_sum, of("exp_q19", tables.exp_q19)); }
};

void softmax_8_bits(Lowering& l, double beta) {
    const T to = l.out().type;
    if (to == T::INT8) {
        const Quant out = l.quant(l.out());
        if (out.zero_point != -128 || std::abs(out.scale * 256.0f - 1.0f) > 1e-3f) {
            l.unsupported(fmt::format("its output must have scale 1/256 and zero point -128, not {} and {}", out.scale,
                                      out.zero_point));
        }
    }
    const Rows8 rows(l, beta);
    const Fixed& fixed = rows.fixed;
    // sum = (1 + f) * 2^-z with f in [0, 1) as Q0.31.
    const ValueId sum = rows.sum(), zeros = fixed.zeros(sum);
    const ValueId f = fixed.sub(fixed.left(sum, zeros), fixed.number(std::numeric_limits<std::int32_t>::min()));
    const ValueId product = fixed.mul31(fixed.reciprocal(f), rows.of("exp_q31", rows.tables.exp_q31));
    const bool wide = to == T::INT16;
    ValueId last_shift = fixed.sub(fixed.number(wide ? 27 : 35), zeros);
    // From 512 elements on a sum can reach what TFLite's last shift cannot express; from 8192 on, where it wraps, a
    // shift the other way. There TFLite ends the program.
    const std::int64_t length = l.shape(product).back();
    if (!wide && length >= 512) last_shift = binary(l, Op::minimum, last_shift, fixed.number(31));
    if (wide && length >= 8192) last_shift = binary(l, Op::maximum, last_shift, fixed.number(0));
    const ValueId probability = fixed.right(product, last_shift, true);
    if (!wide) return l.set(l.requantize(probability, DType::i8, unit_multiplier, 0, -128));
    const ValueId centred = fixed.add(probability, fixed.number(min_of(DType::i16)));
    l.set(l.cast(binary(l, Op::minimum, centred, fixed.number(max_of(DType::i16))), DType::i16));
}

/// Exponentials and 1 / (1 + x) come from tables with straight lines between their 513 entries.
void softmax_16_bits(Lowering& l, float beta) {
    const Quant out = l.quant(l.out());
    if (std::abs(out.scale * 32768.0f - 1.0f) > 1e-3f)
        l.unsupported(fmt::format("its output must have scale 1/32768, not {}", out.scale));
    constexpr double range = 65535, out_scale = 2 / range;
    const QuantizedMultiplier m =
        quantize_multiplier(static_cast<double>(l.quant(l.in(0)).scale * beta) / (10.0 / range));
    const ValueId x = l.value(0);
    const Fixed fixed{l, x};
    const auto narrow = [&](ValueId v) {
        return l.cast(fixed.clamp(v, min_of(DType::i16), max_of(DType::i16)), DType::i16);
    };
    const ValueId difference = fixed.sub(l.cast(x, DType::i32), l.cast(along_last(l, Op::reduce_max, x), DType::i32));
    const ValueId scaled = requantize_up_to(l, 65535, difference, DType::i32, m, 0);
    const ValueId argument = narrow(fixed.add(scaled, fixed.number(max_of(DType::i16))));
    const auto exponentials =
        interpolated_entries(10.0 / range, max_of(DType::i16), out_scale, [](double v) { return std::exp(v); });
    const ValueId e = l.cast(interpolate(l, "exponentials", argument, exponentials), DType::i32);
    const ValueId sum = along_last(l, Op::reduce_sum, e), zeros = fixed.zeros(sum);
    const ValueId shifted = fixed.right(fixed.left(sum, fixed.sub(zeros, fixed.number(1))), fixed.number(14), true);
    const auto reciprocals =
        interpolated_entries(1.0 / range, min_of(DType::i16), out_scale, [](double v) { return 1.0 / (1.0 + v); });
    const ValueId reciprocal =
        l.cast(interpolate(l, "reciprocals", narrow(fixed.sub(shifted, fixed.number(98304))), reciprocals), DType::i32);
    const ValueId product = l.mul(e, reciprocal, DType::i32);
    const ValueId probability = fixed.right(product, fixed.sub(fixed.number(31), zeros), true);
    l.set(l.cast(fixed.clamp(probability, 0, max_of(DType::i16)), DType::i16));
}

/// log(x) of x >= 1 in Q12.19, as Q5.26. x = 2^k r with r around sqrt(sqrt(1/2)), and a quotient of polynomials in r.
ValueId logarithm(const Fixed& fixed, ValueId x) {
    constexpr std::int64_t sqrt_half = 1518500250, sqrt_sqrt_half = 1805811301, log_2 = 1488522236;
    constexpr std::int64_t numerator = 117049297, one = 1057819769, linear = 638450708, square = 127690142;
    constexpr int quarter = 1 << 23, exponent_bits = 25;  // of Q6.25
    Lowering& l = fixed.l;
    const ValueId zeros = fixed.zeros(x);
    const ValueId normal = fixed.left(x, fixed.sub(zeros, fixed.number(1)));
    const ValueId r_a = fixed.saturated(fixed.left_by(fixed.mul31_by(normal, sqrt_half), 1));
    const ValueId k_a =
        fixed.add(fixed.left_by(fixed.sub(fixed.number(12), zeros), exponent_bits), fixed.number(quarter));
    const ValueId headroom = fixed.sub(fixed.zeros(fixed.mul31_by(x, sqrt_half)), fixed.number(1));
    const ValueId r_b = fixed.saturated(fixed.left(x, headroom));
    const ValueId k_b =
        fixed.sub(fixed.left_by(fixed.sub(fixed.number(12), headroom), exponent_bits), fixed.number(quarter));
    const ValueId r = binary(l, Op::minimum, r_a, r_b), k = binary(l, Op::maximum, k_a, k_b);

    const ValueId p = fixed.add(fixed.right(r, fixed.number(1), false), fixed.number((sqrt_sqrt_half + 1) / 2));
    const ValueId q = fixed.left_by(fixed.sub(r, fixed.number(sqrt_sqrt_half)), 1);
    const ValueId q2 = fixed.mul31(q, q);
    const ValueId num = fixed.add(fixed.mul31(q, r), fixed.mul31_by(fixed.mul31(q, q2), numerator));
    const ValueId inner = fixed.add(fixed.add(q, fixed.number(one)), fixed.mul31_by(q2, square));
    const ValueId denominator = fixed.add(fixed.mul31(p, inner), fixed.mul31_by(q, linear));  // less 1
    const ValueId quotient = fixed.mul31(divide_by_power(l, num, 6), fixed.reciprocal(denominator));
    return fixed.left_by(fixed.add(fixed.mul31_by(k, log_2), quotient), 1);
}

void log_softmax_8_bits(Lowering& l) {
    const Quant out = l.quant(l.out());
    if (out.scale != 1.0f / 16 || out.zero_point != 127) {
        l.unsupported(fmt::format("its output must have scale 1/16 and the largest zero point, not {} and {}",
                                  out.scale, out.zero_point + Lowering::stored_bias(l.out())));
    }
    const Rows8 rows(l, 1);
    const Fixed& fixed = rows.fixed;
    ValueId sum = rows.sum();
    // From 4096 elements on it may wrap, which TFLite takes the logarithm of; here it is the largest then.
    if (l.shape(rows.index).back() > 4095)
        sum = choose(l, compare(l, Op::greater_equal, sum, 1 << 19), sum,
                     fixed.number(std::numeric_limits<std::int32_t>::max()));
    const ValueId log_sum = logarithm(fixed, sum);
    // Differences from which on the result would leave Q5.26 have the smallest one.
    const QuantizedMultiplier inverse =
        quantize_multiplier(static_cast<double>(std::int64_t{1} << (31 - rows.tables.multiplier.exponent)) /
                            rows.tables.multiplier.multiplier);
    const ValueId least = fixed.add(log_sum, fixed.number(std::numeric_limits<std::int32_t>::min()));
    const ValueId limit =
        binary(l, Op::maximum, requantize_up_to(l, std::int64_t{1} << 31, least, DType::i32, inverse, 0),
               fixed.number(-rows.tables.radius - 1));
    const ValueId exact = fixed.sub(rows.of("argument_q26", rows.tables.argument_q26), log_sum);
    const ValueId rounded = fixed.add(divide_by_power(l, exact, 22), fixed.number(127));
    const ValueId result = choose(l, l.add(Op::greater, {rows.difference, limit}, DType::boolean),
                                  fixed.clamp(rounded, -128, 127), fixed.number(-128));
    l.set(l.cast(result, DType::i8));
}

void lower_softmax(Lowering& l) {
    // Absent options are zeros for TFLite too: every output of a row is equal then.
    const auto* options = l.options<tflite::SoftmaxOptions>();
    const float beta = options ? options->beta() : 0.0f;
    if (!std::isfinite(beta)) l.fail(fmt::format("beta is {}", beta));
    if (l.shape(l.value(0)).empty()) l.fail("its input is a scalar");
    const T from = l.in(0).type, to = l.out().type;
    if (from == T::FLOAT32 && to == from) return softmax_float(l, static_cast<double>(beta));
    if ((from == T::INT8 || from == T::UINT8) && (to == from || to == T::INT16))
        return softmax_8_bits(l, static_cast<double>(beta));
    if (from == T::INT16 && to == from) return softmax_16_bits(l, beta);
    refuse_types(l);
}

void lower_log_softmax(Lowering& l) {
    if (l.shape(l.value(0)).empty()) l.fail("its input is a scalar");
    if (one_type(l, 1, {T::FLOAT32, T::INT8, T::UINT8}) == T::FLOAT32) return log_softmax_float(l);
    log_softmax_8_bits(l);
}

}  // namespace

OperatorRows softmax_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::SOFTMAX, lower_softmax, rounds_halves},
        {B::LOG_SOFTMAX, lower_log_softmax},
    };
    return rows;
}

}  // namespace tosavk

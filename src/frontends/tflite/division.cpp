// DIV, FLOOR_DIV, FLOOR_MOD, POW, ATAN2. What TFLite refuses while it runs (a divisor of 0, a negative exponent) is
// refused here where it is a constant; else an integer divided by 0 is 0, and so is the remainder.
#include "frontends/tflite/elementwise.hpp"
#include "frontends/tflite/fixed_point.hpp"
#include "frontends/tflite/fixed_values.hpp"

#include "graph/host_tensor.hpp"

#include <algorithm>

namespace tosavk {

namespace {

using namespace elementwise;
using tflite::BuiltinOperator;
using T = tflite::TensorType;

Attributes floored() {
    Attributes attrs;
    attrs.floored = true;
    return attrs;
}

/// Whether input k is a constant with an integer for which `wrong` holds.
template <class F> bool constant_has(Lowering& l, std::size_t k, F wrong) {
    const Value& v = l.graph_value(l.value(k));
    if (!v.is_constant() || !is_integer(v.type)) return false;
    const std::vector<std::int64_t> values = decode_ints(v.type, *v.data);
    return std::any_of(values.begin(), values.end(), wrong);
}

// ---- DIV ----------------------------------------------------------------------------------------------------------

/// Every pair of 8-bit integers has its quotient in a table.
void div_8_bits(Lowering& l, tflite::ActivationFunctionType activation) {
    const Quant qa = l.quant(l.in(0)), qb = l.quant(l.in(1)), qo = l.quant(l.out());
    if (constant_has(l, 1, [&](std::int64_t b) { return b == qb.zero_point; })) l.fail("a divisor is 0");
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(qa.scale / (qb.scale * qo.scale)));
    const IntRange range = activation_range(activation, qo, DType::i8);
    std::vector<std::int64_t> quotients;
    for (int a = -128; a < 128; ++a) {
        for (int b = -128; b < 128; ++b) {
            const int divisor = b - qb.zero_point;
            const std::int64_t quotient =
                divisor == 0 ? 0 : quantized_quotient(a - qa.zero_point, divisor, m, l.rounding());
            quotients.push_back(std::clamp(quotient + qo.zero_point, range.min, range.max));
        }
    }
    const auto [a, b] = operands(l);
    const ValueId index = binary(l, Op::add, l.shift_left(a, -128, 8), l.shift_left(b, -128, 0));
    l.set(look_up(l, "quotients", DType::i8, quotients, index));
}

/// The same arithmetic on the device.
void div_16_bits(Lowering& l, tflite::ActivationFunctionType activation) {
    if (l.rounding() == Rounding::single_round) l.unsupported("INT16 quotients of single rounding are not supported");
    const Quant qa = l.quant(l.in(0)), qb = l.quant(l.in(1)), qo = l.quant(l.out());
    if (constant_has(l, 1, [](std::int64_t b) { return b == 0; })) l.fail("a divisor is 0");
    const QuantizedMultiplier m = quantize_multiplier(static_cast<double>(qa.scale / (qb.scale * qo.scale)));
    auto [a, b] = operands(l);
    a = l.widen(a, 0);
    b = l.widen(b, 0);
    const Fixed fixed{l, b};
    const auto is_negative = [&](ValueId x) { return l.add(Op::greater, {fixed.number(0), x}, DType::boolean); };
    const ValueId sign = choose(l, is_negative(b), fixed.number(-1), fixed.number(1));
    a = l.mul(a, sign, DType::i32);
    b = l.mul(b, sign, DType::i32);
    // The divisor is (1 + f) 2^k; the dividend goes as far left as its sign allows.
    const ValueId zeros = fixed.zeros(b);
    const ValueId f = fixed.sub(fixed.left(b, zeros), fixed.number(std::numeric_limits<std::int32_t>::min()));
    const ValueId magnitude = choose(l, is_negative(a), l.add(Op::bitwise_not, {a}, DType::i32), a);
    const ValueId headroom = fixed.sub(fixed.zeros(magnitude), fixed.number(1));
    const ValueId quotient = fixed.mul31(fixed.left(a, headroom), fixed.reciprocal(f));
    const ValueId x = fixed.mul31_by(quotient, m.multiplier);
    const ValueId n = fixed.add(fixed.sub(headroom, zeros), fixed.number(31 - m.exponent));

    const ValueId size = fixed.right(l.add(Op::abs, {x}, DType::i32), fixed.clamp(n, 0, 31), true);
    const ValueId rounded = choose(l, is_negative(x), negate(l, size), size);
    // Shifts by more than 31 bits as quantized_quotient() has them; by less than none, beyond every integer of 16 bits.
    const ValueId modulo = fixed.right(x, binary(l, Op::bitwise_and, n, fixed.number(31)), false);
    const ValueId beyond = fixed.add(modulo, choose(l, is_negative(x), fixed.number(0), fixed.number(1)));
    const ValueId far = fixed.left_by(fixed.clamp(x, -1, 1), 20);
    ValueId result = choose(l, compare(l, Op::greater, n, 31), beyond, rounded);
    result = choose(l, is_negative(n), far, result);
    const IntRange range = activation_range(activation, qo, DType::i16);
    l.set(l.cast(fixed.clamp(result, range.min, range.max), DType::i16));
}

void lower_div(Lowering& l) {
    const auto* options = l.options<tflite::DivOptions>();
    const auto activation = options ? options->fused_activation_function() : tflite::ActivationFunctionType::NONE;
    const T type = one_type(l, 2, {T::FLOAT32, T::INT32, T::INT8, T::UINT8, T::INT16});
    if (type == T::INT8 || type == T::UINT8) return div_8_bits(l, activation);
    if (type == T::INT16) return div_16_bits(l, activation);
    if (constant_has(l, 1, [](std::int64_t b) { return b == 0; })) l.fail("a divisor is 0");
    const auto [a, b] = operands(l);
    l.set(activate_number(l, binary(l, Op::divide, a, b), activation));
}

// ---- FLOOR_DIV, FLOOR_MOD -----------------------------------------------------------------------------------------

// Integers of any scale are numbers here.
void lower_floor_div_mod(Lowering& l) {
    one_type(l, 2, {T::FLOAT32, T::INT32, T::INT64, T::INT16, T::INT8});
    if (constant_has(l, 1, [](std::int64_t b) { return b == 0; })) l.fail("a divisor is 0");
    const auto [a, b] = operands(l);
    const DType type = l.type(a);
    if (l.op().code == BuiltinOperator::FLOOR_MOD) return l.set(l.add(Op::remainder, {a, b}, type, floored()));
    if (is_integer(type)) return l.set(l.add(Op::divide, {a, b}, type, floored()));
    // A rounded quotient may have reached the next integer. What the exact remainder leaves divides without a rest, and
    // is next to an integer after both roundings. Where there is none (a divisor of 0 or infinity) the quotient says
    // all.
    const ValueId quotient = binary(l, Op::divide, a, b);
    const ValueId rest = l.add(Op::remainder, {a, b}, type, floored());
    const ValueId whole = binary(l, Op::divide, binary(l, Op::sub, a, rest), b);
    const ValueId nearest = l.add(Op::floor, {binary(l, Op::add, whole, l.splat(whole, type, 0.5))}, type);
    const ValueId large = compare(l, Op::greater_equal, l.add(Op::abs, {whole}, type), 0x1p22);
    const ValueId exact = choose(l, large, whole, nearest);
    l.set(choose(l, is_number(l, whole), exact, l.add(Op::floor, {quotient}, type)));
}

// ---- POW ----------------------------------------------------------------------------------------------------------

/// By squaring. From an exponent of 32 on only powers of 0, 1 and -1 are in range, which its last bit tells.
void pow_int(Lowering& l, ValueId base, ValueId exponent) {
    const auto number = [&](double v) { return l.splat(exponent, DType::i32, v); };
    const auto last_bit = [&](ValueId x) { return binary(l, Op::bitwise_and, x, number(1)); };
    exponent = binary(l, Op::maximum, exponent, number(0));
    exponent = choose(l, compare(l, Op::greater_equal, exponent, 32),
                      binary(l, Op::add, last_bit(exponent), number(30)), exponent);
    ValueId power = no_id;
    for (int bit = 0; bit < 5; ++bit) {
        const ValueId shifted = bit == 0 ? exponent : binary(l, Op::logical_right_shift, exponent, number(bit));
        const ValueId factor = choose(l, compare(l, Op::equal, last_bit(shifted), 1), base, number(1));
        power = bit == 0 ? factor : l.mul(power, factor, DType::i32);
        if (bit < 4) base = l.mul(base, base, DType::i32);
    }
    l.set(power);
}

void lower_pow(Lowering& l) {
    const T type = one_type(l, 2, {T::FLOAT32, T::INT32});
    if (constant_has(l, 1, [](std::int64_t e) { return e < 0; })) l.fail("an exponent of type INT32 is negative");
    const auto [a, b] = operands(l);
    if (type == T::INT32) return pow_int(l, a, b);
    l.set(binary(l, Op::pow, a, b));
}

// ---- ATAN2 --------------------------------------------------------------------------------------------------------

void lower_atan2(Lowering& l) {
    one_type(l, 2, {T::FLOAT32});
    const ValueId y = l.value(0), x = l.value(1);
    if (l.shape(y) != l.shape(x)) l.fail("its operands have different shapes");  // TFLite does not broadcast them
    l.set(binary(l, Op::atan2, y, x));
}

}  // namespace

OperatorRows division_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::ATAN2, lower_atan2},
        {B::DIV, lower_div, rounds_halves},
        {B::FLOOR_DIV, lower_floor_div_mod},
        {B::FLOOR_MOD, lower_floor_div_mod},
        {B::POW, lower_pow},
    };
    return rows;
}

}  // namespace tosavk

// Exponentials by a polynomial around -1/8 and repeated products, quotients by three steps of Newton's method.
#include "frontends/tflite/fixed16.hpp"
#include "frontends/tflite/fixed_point.hpp"

#include <algorithm>
#include <limits>

namespace tosavk {

namespace {

using i16 = std::int16_t;

constexpr std::int32_t most = std::numeric_limits<i16>::max(), least = std::numeric_limits<i16>::min();

i16 wrap(std::int32_t v) { return static_cast<i16>(static_cast<std::uint16_t>(v)); }

/// a * b / 2^15, rounded half up.
i16 mul15(i16 a, i16 b) {
    if (a == b && a == least) return most;
    return static_cast<i16>((std::int32_t{a} * b + (1 << 14)) >> 15);
}

i16 shift_left(i16 x, int n) {
    const std::int32_t threshold = (1 << (15 - n)) - 1;
    return x > threshold ? static_cast<i16>(most) : x < -threshold ? static_cast<i16>(least) : wrap(x * (1 << n));
}

/// Constants are given with 31 bits.
i16 constant(std::int32_t v) { return static_cast<i16>((std::int64_t{v} + (v >= 0 ? 1 << 15 : (1 << 15) - 1)) >> 16); }

/// exp(a) for -1/4 <= a < 0 in Q0.15.
i16 exp_quarter(i16 a) {
    const i16 x = wrap(a + (1 << 12)), x2 = mul15(x, x), x3 = mul15(x2, x), x4 = mul15(x2, x2);
    const auto x4_over_4 = static_cast<i16>(divide_by_power(x4, 2));
    const i16 third = mul15(wrap(x4_over_4 + x3), constant(715827883));
    const auto tail = static_cast<i16>(divide_by_power(wrap(third + x2), 1));
    const i16 term = constant(1895147668);
    return static_cast<i16>(std::clamp(term + mul15(term, wrap(x + tail)), least, most));
}

/// exp(a) for a <= 0 with so many integer bits.
i16 exp_negative(i16 a, int integer_bits) {
    // exp(-2^e) for e = -2 .. 4.
    constexpr std::int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int fraction_bits = 15 - integer_bits;
    const std::int32_t quarter = 1 << (fraction_bits - 2);
    const i16 reduced = wrap((a & (quarter - 1)) - quarter);
    i16 result = exp_quarter(shift_left(reduced, integer_bits));
    const i16 remainder = wrap(reduced - a);
    for (int e = -2; e < integer_bits && e <= 4; ++e) {
        if (remainder & (1 << (fraction_bits + e))) result = mul15(result, constant(powers[e + 2]));
    }
    if (integer_bits > 5 && a < constant(-(1 << (36 - integer_bits)))) result = 0;
    return a == 0 ? static_cast<i16>(most) : result;
}

/// 1 / ((1 + a) / 2) in Q2.13, for a in Q0.15.
i16 reciprocal_of_half_sum(i16 a) {
    const std::int32_t sum = a + most;
    const auto half = static_cast<i16>((sum + (sum >= 0 ? 1 : -1)) / 2);
    i16 x = wrap(constant(1515870810) + mul15(half, constant(-1010580540)));
    for (int i = 0; i < 3; ++i) {
        const i16 rest = wrap((1 << 13) - mul15(half, x));
        x = wrap(x + shift_left(mul15(x, rest), 2));
    }
    return x;
}

i16 logistic(i16 a) {
    if (a == 0) return 1 << 14;
    const i16 size = a > 0 ? a : wrap(-a);
    const i16 positive = shift_left(reciprocal_of_half_sum(exp_negative(wrap(-size), 3)), 1);
    return a > 0 ? positive : wrap(most - positive);
}

i16 tanh16(i16 a, int integer_bits) {
    if (a == 0) return 0;
    const i16 negative = a < 0 ? a : wrap(-a);
    const i16 t = shift_left(wrap(reciprocal_of_half_sum(exp_negative(negative, integer_bits + 1)) - (1 << 13)), 2);
    return a < 0 ? wrap(-t) : t;
}

template <class F> Table16 tabulate(F f) {
    Table16 table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = f(static_cast<i16>(static_cast<std::int32_t>(i) - 32768));
    return table;
}

}  // namespace

Table16 logistic_table16() { return tabulate(logistic); }

Table16 tanh_table16(int integer_bits) {
    return tabulate([integer_bits](i16 a) { return tanh16(a, integer_bits); });
}

}  // namespace tosavk

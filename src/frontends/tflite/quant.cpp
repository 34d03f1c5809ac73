// Multipliers, activation ranges and softmax tables as TFLite's reference kernels compute them.
#include "frontends/tflite/quant.hpp"

#include "frontends/tflite/fixed_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tosavk {

namespace {

constexpr std::int64_t int32_min = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();

// exp(x) for -1/4 <= x < 0, both in Q0.31: a polynomial of degree 4 around -1/8.
std::int32_t exp_quarter(std::int32_t a) {
    constexpr std::int32_t exp_minus_eighth = 1895147668, one_third = 715827883;
    const std::int32_t x = a + (1 << 28);
    const std::int32_t x2 = mul31(x, x);
    const std::int32_t x3 = mul31(x2, x);
    const std::int32_t x4 = mul31(x2, x2);
    const auto x4_over_4 = static_cast<std::int32_t>(divide_by_power(x4, 2));
    const auto tail = static_cast<std::int32_t>(divide_by_power(mul31(x4_over_4 + x3, one_third) + x2, 1));
    return exp_minus_eighth + mul31(exp_minus_eighth, x + tail);
}

// exp(a) for a <= 0 in Q5.26; the result is in Q0.31.
std::int32_t exp_negative(std::int32_t a) {
    constexpr int fraction_bits = 26;
    constexpr std::int32_t quarter = 1 << (fraction_bits - 2);
    // exp(-2^e) in Q0.31 for e = -2 .. 4.
    constexpr std::int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    if (a == 0) return static_cast<std::int32_t>(int32_max);
    const std::int32_t reduced = (a & (quarter - 1)) - quarter;
    std::int32_t result = exp_quarter(saturate32(std::int64_t{reduced} * 32));
    const std::int32_t remainder = reduced - a;
    for (int k = 0; k < 7; ++k) {
        if (remainder & (1 << (fraction_bits - 2 + k))) result = mul31(result, powers[k]);
    }
    return result;
}

}  // namespace

QuantizedMultiplier quantize_multiplier(double real) {
    constexpr QuantizedMultiplier nothing{0, -31};
    if (real == 0 || !std::isfinite(real)) return nothing;
    QuantizedMultiplier out;
    const double fraction = std::frexp(real, &out.exponent);
    auto fixed = static_cast<std::int64_t>(std::round(fraction * static_cast<double>(std::int64_t{1} << 31)));
    if (fixed == (std::int64_t{1} << 31)) {
        fixed /= 2;
        ++out.exponent;
    }
    if (out.exponent < -31) return nothing;
    out.multiplier = static_cast<std::int32_t>(fixed);
    return out;
}

std::int32_t multiply_by_quantized(std::int32_t x, const QuantizedMultiplier& m, Rounding rounding) {
    const int left = std::max(m.exponent, 0), right = std::max(-m.exponent, 0);
    if (rounding != Rounding::double_round) {
        const int shift = 31 - m.exponent;
        if (shift <= 0) return saturate32(x < 0 ? int32_min : x > 0 ? int32_max : 0);
        const std::int64_t product = std::int64_t{x} * m.multiplier;
        return saturate32((product + (std::int64_t{1} << (shift - 1))) >> shift);
    }
    const std::int32_t shifted = left > 31 ? (x < 0   ? static_cast<std::int32_t>(int32_min)
                                              : x > 0 ? static_cast<std::int32_t>(int32_max)
                                                      : 0)
                                           : saturate32(std::int64_t{x} * (std::int64_t{1} << left));
    return saturate32(divide_by_power(mul31(shifted, m.multiplier), right));
}

IntRange activation_range(tflite::ActivationFunctionType activation, const Quant& quant, DType type) {
    using A = tflite::ActivationFunctionType;
    IntRange range{min_of(type), max_of(type)};
    const auto quantized = [&](float value) {
        const double steps = std::round(value / quant.scale);  // a float division, as in TFLite
        const double q = quant.zero_point + steps;
        return static_cast<std::int64_t>(
            std::clamp(q, static_cast<double>(min_of(type)), static_cast<double>(max_of(type))));
    };
    if (activation == A::RELU || activation == A::RELU6) range.min = quantized(0);
    if (activation == A::RELU6) range.max = quantized(6);
    if (activation == A::RELU_N1_TO_1) range = {quantized(-1), quantized(1)};
    return range;
}

bool make_softmax_tables(double beta, float scale, SoftmaxTables& out) {
    constexpr int integer_bits = 5;
    const double real = std::min(beta * static_cast<double>(scale) * (1 << (31 - integer_bits)), 2147483647.0);
    if (!(real > 1)) return false;
    const QuantizedMultiplier m = quantize_multiplier(real);
    out.multiplier = m;
    const std::int64_t radius = out.radius =
        (std::int64_t{(1 << integer_bits) - 1} << (31 - integer_bits)) >> m.exponent;
    for (int i = 0; i < 256; ++i) {
        const std::int64_t difference = i - 255;
        if (difference < -radius) continue;
        const std::int64_t wide =
            (difference * (std::int64_t{1} << m.exponent) * m.multiplier + (std::int64_t{1} << 30)) >> 31;
        out.argument_q26[static_cast<std::size_t>(i)] = saturate32(wide);
        const std::int32_t e = exp_negative(saturate32(wide));
        out.exp_q31[static_cast<std::size_t>(i)] = e;
        out.exp_q19[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(divide_by_power(e, 12));
    }
    return true;
}

}  // namespace tosavk

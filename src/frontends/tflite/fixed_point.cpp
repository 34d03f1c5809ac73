#include "frontends/tflite/fixed_point.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tosavk {

namespace {

constexpr std::int64_t int32_min = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();

std::int32_t saturate16(std::int64_t v) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(v, min_of(DType::i16), max_of(DType::i16)));
}

// (a * b) / 2^15 of 16-bit numbers, rounded half up.
std::int32_t mul15(std::int32_t a, std::int32_t b) { return saturate16((a * b + (1 << 14)) >> 15); }

std::int32_t shift_saturated(std::int32_t x, int n) { return saturate32(std::int64_t{x} * (std::int64_t{1} << n)); }

/// A multiplier of 31 bits as one of 15.
std::int32_t to_16_bits(std::int32_t multiplier) {
    return multiplier >= int32_max - (1 << 15) ? max_of(DType::i16) : (multiplier + (1 << 15)) >> 16;
}

}  // namespace

std::int32_t saturate32(std::int64_t v) { return static_cast<std::int32_t>(std::clamp(v, int32_min, int32_max)); }

std::int32_t mul31(std::int32_t a, std::int32_t b) {
    return saturate32((std::int64_t{a} * b + (std::int64_t{1} << 30)) >> 31);
}

std::int64_t divide_by_power(std::int64_t x, int n) {
    if (n == 0) return x;
    if (n > 40) return 0;
    const std::int64_t half = std::int64_t{1} << (n - 1);
    return x >= 0 ? (x + half) >> n : -((-x + half) >> n);
}

// x = (1 + f) 2^k; 1 / (1 + f) by three Newton steps in Q2.29 from 48/17 - 32/17 (1 + f) / 2.
FixedReciprocal fixed_reciprocal(std::int32_t x, int integer_bits) {
    const int zeros = std::countl_zero(static_cast<std::uint32_t>(x));
    const auto f = static_cast<std::int32_t>((static_cast<std::uint32_t>(x) << zeros) - 0x80000000u);
    const std::int32_t half = (f >> 1) + (1 << 30);
    std::int32_t r = 1515870810 + mul31(half, -1010580540);
    for (int step = 0; step < 3; ++step)
        r = saturate32(std::int64_t{r} + shift_saturated(mul31(r, (1 << 29) - mul31(half, r)), 2));
    return {shift_saturated(r, 1), integer_bits - zeros};
}

// x is moved to 2^27..2^29 by an even number of bits; five Newton steps in Q3.28 from 1.
QuantizedMultiplier fixed_inverse_sqrt(std::int32_t x) {
    if (x <= 1) return {static_cast<std::int32_t>(int32_max), 0};
    int shift = 11;
    for (; x >= 1 << 29; x /= 4) ++shift;
    const int pairs = (std::countl_zero(static_cast<std::uint32_t>(x)) - 1) / 2 - 1;
    shift -= pairs;
    x <<= 2 * pairs;
    const std::int32_t half = static_cast<std::int32_t>(divide_by_power(x >> 1, 1));
    constexpr std::int32_t three_halves = (1 << 28) + (1 << 27), half_sqrt_2 = 1518500250;
    std::int32_t y = 1 << 28;
    for (int step = 0; step < 5; ++step) {
        const std::int32_t cube = shift_saturated(mul31(mul31(y, y), y), 6);
        y = shift_saturated(mul31(three_halves, y) - mul31(half, cube), 3);
    }
    y = mul31(y, half_sqrt_2);
    if (shift < 0) {
        y <<= -shift;
        shift = 0;
    }
    return {y, -shift};
}

namespace {

// x / 2^n as TFLite's arithmetic has it where n leaves the bits that it is meant for, 31 or (of 16-bit numbers) 15: a
// processor shifts by n modulo 32, and all that is not negative goes one up. So 0 by anything may be 1.
std::int32_t shift_beyond(std::int32_t x, int n) { return (x >> (n & 31)) + (x >= 0 ? 1 : 0); }

}  // namespace

std::int32_t quantized_quotient(std::int32_t a, std::int32_t b, const QuantizedMultiplier& m, Rounding rounding) {
    if (b < 0) a = -a, b = -b;
    const FixedReciprocal inverse = fixed_reciprocal(b, 31);
    // As far left as its sign allows.
    const int headroom = std::countl_zero(static_cast<std::uint32_t>(a < 0 ? ~a : a)) - 1;
    const std::int32_t quotient = multiply_by_quantized(a, {inverse.value, headroom}, rounding);
    const int exponent = m.exponent - inverse.exponent - headroom;
    if (rounding == Rounding::double_round && exponent < -31)
        return shift_beyond(mul31(quotient, m.multiplier), -exponent);
    return multiply_by_quantized(quotient, {m.multiplier, exponent}, rounding);
}

// ---- HARD_SWISH ---------------------------------------------------------------------------------------------------

namespace {

std::int32_t divide_16_by_power(std::int32_t x, int n) {
    return n > 15 ? shift_beyond(x, n) : static_cast<std::int32_t>(divide_by_power(x, n));
}

}  // namespace

// x counts 2^-7 of the input's scale; the gate, which is x / 3 in -1..1, 2^-15.
HardSwish::HardSwish(const Quant& in, const Quant& out) {
    const float fine_scale = 1.0f / 128.0f * in.scale, gate_scale = 3.0f / 32768.0f;
    const QuantizedMultiplier output = quantize_multiplier(static_cast<double>(fine_scale / out.scale));
    const QuantizedMultiplier gate = quantize_multiplier(static_cast<double>(fine_scale / gate_scale));
    output_exponent = output.exponent;
    output_multiplier = to_16_bits(output.multiplier);
    gate_exponent = gate.exponent;
    gate_multiplier = to_16_bits(gate.multiplier);
}

std::int32_t HardSwish::operator()(std::int32_t x) const {
    const std::int32_t fine = x * 128;
    std::int32_t gate = fine;
    if (gate_exponent > 0) gate = saturate16(std::int64_t{gate} << std::min(gate_exponent - 1, 16));
    gate = mul15(gate, gate_multiplier);
    if (gate_exponent > 0) gate = saturate16(gate * 2);
    if (gate_exponent < 0) gate = divide_16_by_power(gate, -gate_exponent);
    gate = (gate + (1 << 15)) >> 1;                                                  // 0..1
    const std::int32_t product = gate * mul15(fine, output_multiplier) / (1 << 15);  // towards zero
    return divide_16_by_power(product, -output_exponent);
}

// ---- LOGISTIC, TANH -----------------------------------------------------------------------------------------------

// Entries lie above the function by half of what the line between two of them falls short in the middle.
Sigmoid16::Sigmoid16(float scale, bool tanh) : tanh_(tanh) {
    const auto sigmoid = [](double x) { return 65536 / (1 + std::exp(-x / 24)); };
    for (int i = 0; i < 255; ++i) {
        const double missing = sigmoid(i + 0.5) - (sigmoid(i) + sigmoid(i + 1)) / 2;
        table_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::lround(sigmoid(i) + missing / 2));
    }
    table_[255] = 65535;
    // Numbers count 2^-12 / 3. Powers of two that need no rounding are exact.
    const double log = std::log2(static_cast<double>(scale)), rounded = std::round(log);
    const int left = 12 + static_cast<int>(rounded);
    if (std::abs(log - rounded) < 1e-3 && (left == 0 || (tanh && left == 1))) {
        multiplier_ = 3 << left;
        return;
    }
    double multiplier = static_cast<double>(scale) * 4096.0 * 3.0;
    for (; multiplier <= 32767.0 / 2.0 && shift_ <= 30; ++shift_) multiplier *= 2;
    multiplier_ = static_cast<std::int32_t>(multiplier);
}

std::int32_t Sigmoid16::operator()(std::int32_t x) const {
    const std::int64_t half = shift_ > 0 ? std::int64_t{1} << (shift_ - 1) : 0;
    const std::int64_t scaled = (std::int64_t{x} * multiplier_ + half) >> shift_, size = std::abs(scaled);
    const int fraction_bits = tanh_ ? 8 : 9;
    const std::int64_t entry = size >> fraction_bits, fraction = size & ((1 << fraction_bits) - 1);
    std::int64_t result = std::int64_t{tanh_ ? 0xffff : 0xfffe} << fraction_bits;
    if (entry < 255) {
        const std::int64_t a = table_[static_cast<std::size_t>(entry)], b = table_[static_cast<std::size_t>(entry + 1)];
        result = (a << fraction_bits) + fraction * (b - a);
    }
    const std::int64_t one = std::int64_t{1} << (16 + fraction_bits);
    if (tanh_) return static_cast<std::int32_t>((scaled >= 0 ? result - one / 2 + 128 : one / 2 - result + 127) >> 8);
    return static_cast<std::int32_t>((scaled >= 0 ? result + 512 : one - result + 511) >> 10);
}

}  // namespace tosavk

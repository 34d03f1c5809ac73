// Fixed-point arithmetic of TFLite's reference kernels, done while importing: what their tables are made of. QN.M has N
// integer and M fraction bits.
#pragma once

#include "frontends/tflite/quant.hpp"
#include "graph/types.hpp"

#include <array>
#include <cstdint>

namespace tosavk {

std::int32_t saturate32(std::int64_t v);
/// (a * b) / 2^31, rounded half up: the doubling high multiply of fixed-point libraries.
std::int32_t mul31(std::int32_t a, std::int32_t b);
/// x / 2^n, rounded half away from zero.
std::int64_t divide_by_power(std::int64_t x, int n);

/// 1 / x for x > 0 as an integer with `integer_bits`: Q0.31, times 2^-exponent.
struct FixedReciprocal {
    std::int32_t value = 0;
    int exponent = 0;
};
FixedReciprocal fixed_reciprocal(std::int32_t x, int integer_bits);

/// 1 / sqrt(x) for x > 0 as multiply_by_quantized takes it.
QuantizedMultiplier fixed_inverse_sqrt(std::int32_t x);

/// The quotient of int8 and uint8 numbers, zero points taken off: a / b * m.
std::int32_t quantized_quotient(std::int32_t a, std::int32_t b, const QuantizedMultiplier& m, Rounding rounding);

/// HARD_SWISH of 8 bits, in 16-bit arithmetic.
struct HardSwish {
    /// Exponents above 0 of the output are refused by TFLite.
    HardSwish(const Quant& in, const Quant& out);
    bool representable() const { return output_exponent <= 0; }
    /// x and the result without their zero points.
    std::int32_t operator()(std::int32_t x) const;

private:
    int output_exponent = 0, gate_exponent = 0;
    std::int32_t output_multiplier = 0, gate_multiplier = 0;
};

/// LOGISTIC and TANH of int16, whose results have 15 fraction bits.
class Sigmoid16 {
public:
    Sigmoid16(float scale, bool tanh);
    std::int32_t operator()(std::int32_t x) const;

private:
    /// sigmoid(i / 24) with 16 fraction bits.
    std::array<std::int32_t, 256> table_{};
    std::int32_t multiplier_ = 0;
    int shift_ = 0;
    bool tanh_;
};

}  // namespace tosavk

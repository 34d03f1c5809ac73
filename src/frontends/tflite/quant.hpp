// The integer arithmetic of TFLite's reference kernels that is done while importing: multipliers, activation ranges
// and the tables of the int8 softmax.
#pragma once

#include "graph/types.hpp"

#include "tflite_generated.h"

#include <array>
#include <cstdint>

namespace tosavk {

/// real = multiplier / 2^31 * 2^exponent, 0.5 <= |multiplier| / 2^31 < 1.
struct QuantizedMultiplier {
    std::int32_t multiplier = 0;
    int exponent = 0;
    bool operator==(const QuantizedMultiplier&) const = default;
};
inline constexpr QuantizedMultiplier unit_multiplier{1 << 30, 1};

/// TFLite's QuantizeMultiplier; `real` may be negative. Exponents above 30 are left to the caller to refuse. What is
/// too small for any multiplier is 0 with the smallest exponent, -31: RESCALE's shift is then 62 and takes every value.
QuantizedMultiplier quantize_multiplier(double real);

/// TFLite's MultiplyByQuantizedMultiplier for the given rounding, saturated to int32.
std::int32_t multiply_by_quantized(std::int32_t x, const QuantizedMultiplier& m, Rounding rounding);

/// Per-tensor quantization: real = scale * (q - zero_point).
struct Quant {
    float scale = 0;
    std::int32_t zero_point = 0;
};

struct IntRange {
    std::int64_t min = 0, max = 0;
};
/// The values of `type` that a fused activation lets pass.
IntRange activation_range(tflite::ActivationFunctionType activation, const Quant& quant, DType type);

/// exp(beta * scale * (i - 255)) by TFLite's fixed-point algorithm, as Q0.31 and rounded to Q12.19; its argument in
/// Q5.26 comes by `multiplier`. Where i - 255 < -radius all are 0.
struct SoftmaxTables {
    std::array<std::int32_t, 256> exp_q31{}, exp_q19{}, argument_q26{};
    QuantizedMultiplier multiplier;
    std::int64_t radius = 0;
};
/// Returns false when beta * scale is too small for TFLite's algorithm.
bool make_softmax_tables(double beta, float scale, SoftmaxTables& out);

}  // namespace tosavk

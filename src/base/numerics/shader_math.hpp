// The functions of shaders/lib/math.glsl and lib/functions.glsl on the host, with the same operations in the same order
// and so the same bits (where the device keeps denormals). Used to fold constants and to check the shader functions on
// every input.
#pragma once

#include <cstdint>

namespace tosavk::shader_math {

float max(float a, float b);
float min(float a, float b);
float max_ignore(float a, float b);
float min_ignore(float a, float b);
float clamp(float x, float lo, float hi);
float clamp_ignore(float x, float lo, float hi);
float abs(float x);
float negate(float x);
float floor(float x);
float ceil(float x);
std::int32_t float_to_int(float x, std::int32_t lo, std::int32_t hi);
float int_to_float(std::int32_t i);

float exp(float x);
float over(float s);  ///< 1 / s, s in [1, 2], correctly rounded: as the shaders make it where the device's division is
                      ///< not known to be
float log(float x);
float tanh(float x);
float sigmoid(float x);
float erf(float x);
float sin(float x);
float cos(float x);
float reciprocal(float x);
float rsqrt(float x);
float pow(float a, float b);

// Those of shaders/lib/functions.glsl.
float expm1(float x);
float log1p(float x);
float cbrt(float x);
float erf_inv(float x);
float lgamma(float x);   ///< log(abs(gamma(x)))
float digamma(float x);  ///< NaN of 0 and of negative integers
float atan2(float y, float x);

}  // namespace tosavk::shader_math

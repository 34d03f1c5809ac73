// The logistic function and tanh in fixed point of 16 bits, as the integer LSTM of TFLite computes them.
#pragma once

#include <array>
#include <cstdint>

namespace tosavk {

/// By input + 32768, results in Q0.15.
using Table16 = std::array<std::int16_t, 65536>;

Table16 logistic_table16();              ///< of inputs in Q3.12
Table16 tanh_table16(int integer_bits);  ///< of inputs with so many integer bits, 0 to 6

}  // namespace tosavk

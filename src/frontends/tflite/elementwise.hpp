// What the lowerings of elementwise operators share: their types, nodes that many of them need, and tables of functions
// of one quantized number.
#pragma once

#include "frontends/tflite/lowering.hpp"

#include <array>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

namespace tosavk::elementwise {

[[noreturn]] void refuse_types(const Lowering& l);
/// The one type of inputs 0 to `inputs` - 1 and of the output; refused unless it is among `types`.
tflite::TensorType one_type(const Lowering& l, std::size_t inputs, std::initializer_list<tflite::TensorType> types);

/// Inputs 0 and 1, reshaped to one rank.
std::array<ValueId, 2> operands(Lowering& l);
/// Of two values of one type, which the result has too.
ValueId binary(Lowering& l, Op op, ValueId a, ValueId b);
ValueId negate(Lowering& l, ValueId x);
ValueId compare(Lowering& l, Op op, ValueId x, double with);
ValueId choose(Lowering& l, ValueId condition, ValueId a, ValueId b);
ValueId is_number(Lowering& l, ValueId x);  ///< no NaN
/// x / 2^n of i32, rounded half away from zero whatever the rounding mode.
ValueId divide_by_power(Lowering& l, ValueId x, int n);
/// A fused activation on numbers that are not quantized: floats or i32.
ValueId activate_number(Lowering& l, ValueId x, tflite::ActivationFunctionType activation);
/// Lowering::requantize for i32 values of at most `largest` in magnitude, refused where RESCALE does not take those.
ValueId requantize_up_to(Lowering& l, std::int64_t largest, ValueId x, DType to, const QuantizedMultiplier& m,
                         std::int64_t output_zp);

// ---- tables of functions of input 0 -------------------------------------------------------------------------------

/// Integers of 8 bits, from the smallest on.
ValueId table_8(Lowering& l, const std::function<std::int64_t(int)>& entry);
/// Every integer of 16 bits has its entry, whatever the function.
ValueId table_16(Lowering& l, const std::function<std::int64_t(int)>& entry);
/// As TFLite does it for most functions: 256 entries in float arithmetic for 8 bits; for 16 bits 513, with straight
/// lines between.
ValueId table_of(Lowering& l, const std::function<float(float)>& f);
/// table[index], in the shape of `index`, which is i32 and in range.
ValueId look_up(Lowering& l, const char* name, DType type, std::span<const std::int64_t> table, ValueId index);

/// The 513 entries of TABLE for int16 numbers of these scales.
std::vector<std::int64_t> interpolated_entries(float input_scale, float output_scale,
                                               const std::function<float(float)>& f);
/// The same in double arithmetic, as SOFTMAX has it.
std::vector<std::int64_t> interpolated_entries(double input_scale, std::int64_t input_zp, double output_scale,
                                               const std::function<double(double)>& f);
/// TABLE with such entries, rounded to int16.
ValueId interpolate(Lowering& l, const char* name, ValueId x, std::span<const std::int64_t> entries);

}  // namespace tosavk::elementwise

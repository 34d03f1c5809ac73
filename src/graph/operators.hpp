// The operators, by name: what each of them means stands in its OpDef (ops/op.hpp).
#pragma once

#include <cstdint>
#include <string_view>

// clang-format off
/// f(enumerator, "NAME"): TOSA 1.0 in the order of the specification, whose places equal `Op` in the 1.0 flatbuffer.
#define TOSAVK_OPERATORS(f) \
    f(argmax, "ARGMAX") \
    f(avg_pool2d, "AVG_POOL2D") \
    f(conv2d, "CONV2D") \
    f(conv3d, "CONV3D") \
    f(depthwise_conv2d, "DEPTHWISE_CONV2D") \
    f(fft2d, "FFT2D") \
    f(matmul, "MATMUL") \
    f(max_pool2d, "MAX_POOL2D") \
    f(rfft2d, "RFFT2D") \
    f(transpose_conv2d, "TRANSPOSE_CONV2D") \
    f(clamp, "CLAMP") \
    f(erf, "ERF") \
    f(sigmoid, "SIGMOID") \
    f(tanh, "TANH") \
    f(add, "ADD") \
    f(arithmetic_right_shift, "ARITHMETIC_RIGHT_SHIFT") \
    f(bitwise_and, "BITWISE_AND") \
    f(bitwise_or, "BITWISE_OR") \
    f(bitwise_xor, "BITWISE_XOR") \
    f(intdiv, "INTDIV") \
    f(logical_and, "LOGICAL_AND") \
    f(logical_left_shift, "LOGICAL_LEFT_SHIFT") \
    f(logical_right_shift, "LOGICAL_RIGHT_SHIFT") \
    f(logical_or, "LOGICAL_OR") \
    f(logical_xor, "LOGICAL_XOR") \
    f(maximum, "MAXIMUM") \
    f(minimum, "MINIMUM") \
    f(mul, "MUL") \
    f(pow, "POW") \
    f(sub, "SUB") \
    f(table, "TABLE") \
    f(abs, "ABS") \
    f(bitwise_not, "BITWISE_NOT") \
    f(ceil, "CEIL") \
    f(clz, "CLZ") \
    f(cos, "COS") \
    f(exp, "EXP") \
    f(floor, "FLOOR") \
    f(log, "LOG") \
    f(logical_not, "LOGICAL_NOT") \
    f(negate, "NEGATE") \
    f(reciprocal, "RECIPROCAL") \
    f(rsqrt, "RSQRT") \
    f(sin, "SIN") \
    f(select, "SELECT") \
    f(equal, "EQUAL") \
    f(greater, "GREATER") \
    f(greater_equal, "GREATER_EQUAL") \
    f(reduce_all, "REDUCE_ALL") \
    f(reduce_any, "REDUCE_ANY") \
    f(reduce_max, "REDUCE_MAX") \
    f(reduce_min, "REDUCE_MIN") \
    f(reduce_product, "REDUCE_PRODUCT") \
    f(reduce_sum, "REDUCE_SUM") \
    f(concat, "CONCAT") \
    f(pad, "PAD") \
    f(reshape, "RESHAPE") \
    f(reverse, "REVERSE") \
    f(slice, "SLICE") \
    f(tile, "TILE") \
    f(transpose, "TRANSPOSE") \
    f(gather, "GATHER") \
    f(scatter, "SCATTER") \
    f(resize, "RESIZE") \
    f(cast, "CAST") \
    f(rescale, "RESCALE") \
    f(constant, "CONST") \
    f(identity, "IDENTITY") \
    f(custom, "CUSTOM") \
    f(cond_if, "COND_IF") \
    f(while_loop, "WHILE_LOOP") \
    f(variable, "VARIABLE") \
    f(variable_write, "VARIABLE_WRITE") \
    f(variable_read, "VARIABLE_READ") \
    f(const_shape, "CONST_SHAPE")

/// The same for operators of our own, which say what TOSA cannot (docs/operators.md). In .tosa files they are CUSTOM with
/// the domain `own_domain`. Their places never move.
#define TOSAVK_OWN_OPERATORS(f) \
    f(sort, "SORT") \
    f(gather_nd, "GATHER_ND") \
    f(scatter_nd, "SCATTER_ND") \
    f(dynamic_slice, "DYNAMIC_SLICE") \
    f(dynamic_update_slice, "DYNAMIC_UPDATE_SLICE") \
    f(cumulate, "CUMULATE") \
    f(divide, "DIVIDE") \
    f(remainder, "REMAINDER") \
    f(sqrt, "SQRT") \
    f(segment_reduce, "SEGMENT_REDUCE") \
    f(scale_fp64, "SCALE_FP64") \
    f(affine_zero_point, "AFFINE_ZERO_POINT") \
    f(suppress, "SUPPRESS") \
    f(suppress_queued, "SUPPRESS_QUEUED") \
    f(bitcast, "BITCAST") \
    f(partial_sort, "PARTIAL_SORT") \
    f(expm1, "EXPM1") \
    f(log1p, "LOG1P") \
    f(cbrt, "CBRT") \
    f(erf_inv, "ERF_INV") \
    f(lgamma, "LGAMMA") \
    f(digamma, "DIGAMMA") \
    f(atan2, "ATAN2")
// clang-format on

namespace tosavk {

enum class Op : std::uint32_t {
    unknown,
#define TOSAVK_ENUMERATOR(op, name) op,
    TOSAVK_OPERATORS(TOSAVK_ENUMERATOR)
    // Far behind those of TOSA, so that no later version of it has the same places.
    before_own = 0xfff,
    TOSAVK_OWN_OPERATORS(TOSAVK_ENUMERATOR) after_own,
#undef TOSAVK_ENUMERATOR
};

/// The name in files, listings and messages; "UNKNOWN" for what is none. It ends with a zero.
std::string_view name_of(Op op);

/// The domain_name of our own operators in files.
inline constexpr std::string_view own_domain = "tosavk";
constexpr bool is_own(Op op) { return op > Op::before_own && op < Op::after_own; }

}  // namespace tosavk

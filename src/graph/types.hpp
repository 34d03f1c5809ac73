// Element types, shapes and enumerations of TOSA 1.0, and how elements lie in host and device memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tosavk {

enum class DType : std::uint8_t { boolean, i4, i8, i16, i32, i48, fp8e4m3, fp8e5m2, fp16, bf16, fp32, shape };

/// Spelling of the specification's tables: "bool", "i8", "fp32", ...
std::string_view name_of(DType type);

/// Bytes of one element in memory, on the host and on the device: i4 is kept unpacked in 1 byte, i48 in 8 bytes
/// (both sign-extended); shape values are int64.
std::size_t size_of(DType type);

constexpr bool is_float(DType t) {
    return t == DType::fp32 || t == DType::fp16 || t == DType::bf16 || t == DType::fp8e4m3 || t == DType::fp8e5m2;
}
/// Below fp32.
constexpr bool is_small_float(DType t) { return is_float(t) && t != DType::fp32; }
constexpr bool is_integer(DType t) {
    return t == DType::i4 || t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i48;
}
/// Element types that programs and files have and no graph does. The words of a 64-bit number lie side by side, the
/// lower one first, in a last dimension of two.
enum class HostKind : std::uint8_t { graph, u8, u16, u32, u64, i64, f64, u64_words, i64_words };

/// Smallest and largest value of a signed integer type (i4: -7..7, bool: 0..1).
std::int64_t min_of(DType type);
std::int64_t max_of(DType type);

/// Dimensions, outermost first; layout is row-major. Empty: rank 0, one element.
using Shape = std::vector<std::int64_t>;

/// Number of elements; throws Error(bad_model) when it exceeds 2^40 (nothing that large can be run).
std::int64_t element_count(const Shape& shape);

/// A tensor seen as [outer, axis, inner].
struct AxisSplit {
    std::int64_t outer = 1, axis = 1, inner = 1;
};

/// `axis`: below the rank.
AxisSplit split_at(const Shape& shape, std::size_t axis);
std::string to_string(const Shape& shape);  ///< "1x32x32x3"; "scalar" for rank 0
std::vector<std::int64_t> row_major_strides(const Shape& shape);

/// bcast() of the specification: equal ranks, dimensions equal or 1. Returns false when not broadcastable.
bool broadcast_shape(const Shape& a, const Shape& b, Shape& out);

enum class NanMode : std::uint8_t { propagate, ignore };
enum class ResizeMode : std::uint8_t { nearest, bilinear };
enum class Rounding : std::uint8_t { single_round, inexact_round, double_round };
/// What an operator does with two values: CUMULATE and SEGMENT_REDUCE with all of a sequence, SCATTER_ND with what is
/// there and what comes (`set`: the latter).
enum class Combiner : std::uint8_t { set, add, multiply, minimum, maximum };
/// What becomes of an index outside its tensor: it counts as the nearest one inside, what it would have read is zero,
/// or what it would have written is left out.
enum class OutOfRange : std::uint8_t { clamp, zero, skip };
/// What an integer divided by zero gives: 0, all bits set, or (the remainder) the dividend.
enum class ByZero : std::uint8_t { zero, ones, dividend };
enum class SpecVersion : std::uint8_t { v0_30, v1_0 };

/// Limits of a TOSA level.
struct Level {
    std::string_view name;
    int max_rank;
    std::int64_t max_kernel, max_stride, max_scale;
    int max_log2_size, max_nesting, max_list;
    /// Dimensions may be 0, which TOSA forbids: for graphs from calls (ops/empty.hpp) and packages made of them.
    bool empty_tensors = false;
    /// Of COND_IF and WHILE_LOOP; 0: max_list. Programs from calls carry what their authors' models have.
    int max_carried = 0;
};
extern const Level level_none, level_8k;
/// The same limits with empty_tensors; of those two only.
const Level& with_empty(const Level& level);
/// Some dimension is 0. Not asked of shape values, whose length is 0 for the shape of a scalar.
bool has_no_elements(const Shape& shape);
/// Whether a tensor is no larger than the level allows: its size in bytes is a tensor_size_t, a signed number of
/// max_log2_size + 1 bits.
bool fits(const Level& level, DType type, const Shape& shape);

}  // namespace tosavk

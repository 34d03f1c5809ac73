// What several families of lowerings do with elements, for any axis and rank.
#pragma once

#include "frontends/tflite/lowering.hpp"

namespace tosavk {

/// What stands for the number 0.
inline double zero_of(const TfliteTensor& tensor) { return -static_cast<double>(Lowering::stored_bias(tensor)); }
/// Between what stands for a UINT8 element and its bits; other types have theirs already.
ValueId flip_uint8(Lowering& l, ValueId x, const TfliteTensor& tensor);

/// Input k, whose elements are copied, so that what they mean must not change; booleans and floats have no
/// quantization.
ValueId moved_value(Lowering& l, std::size_t k = 0);

ValueId reverse(Lowering& l, ValueId x, std::size_t axis);
/// Every `step`th element of dimension `axis`, `count` of them, beginning with the first.
ValueId take_every(Lowering& l, ValueId x, std::size_t axis, std::int64_t step, std::int64_t count);
/// Dimensions that stay together count as one, so that ranks above the level's limit may do.
ValueId transpose(Lowering& l, ValueId x, std::span<const std::size_t> perms);
/// Dimension `from` goes to place `to`; those between move up.
ValueId move_axis(Lowering& l, ValueId x, std::size_t from, std::size_t to);
/// `amounts`: before and after, for each dimension. `fill` has one element of x's type.
ValueId pad(Lowering& l, ValueId x, std::span<const std::int64_t> amounts, ValueId fill);
/// As NumPy broadcasts, to a shape that must fit.
ValueId broadcast(Lowering& l, ValueId x, Shape to);
/// 0, 1, 2... along dimension `axis` of rank `rank`, whose other dimensions are 1.
ValueId positions(Lowering& l, std::size_t rank, std::size_t axis, std::int64_t count);
/// Rows of [N, K, C] by [N, W]; bool too.
ValueId gather_rows_of(Lowering& l, ValueId x, ValueId indices);
/// Input k as i32.
ValueId index_value(Lowering& l, std::size_t k);
/// Input k, a constant of one integer.
std::int64_t const_int(Lowering& l, std::size_t k, const char* what);
/// Input k, constant sizes that are not negative.
Shape const_shape(Lowering& l, std::size_t k);
ValueId zeros(Lowering& l, const TfliteTensor& like, Shape shape);

}  // namespace tosavk

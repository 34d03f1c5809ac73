// Matrices that linear algebra is written with: fp32, real or complex, one behind the other.
#pragma once

#include "frontends/stablehlo/functions.hpp"

#include <functional>
#include <vector>

namespace tosavk::stablehlo {

/// [n, rows, columns], real where `im` is no_id.
using Matrix = Complex;

template <class Step> Matrix each(const Matrix& m, const Step& step) {
    return {step(m.re), m.im == no_id ? no_id : step(m.im)};
}

Matrix transposed(Lowering& l, const Matrix& m, bool conjugated);
Matrix part(Lowering& l, const Matrix& m, std::size_t axis, std::int64_t start, std::int64_t size);
Matrix times(Lowering& l, const Matrix& a, const Matrix& b);
Matrix plus(Lowering& l, const Matrix& a, const Matrix& b);
Matrix minus(Lowering& l, const Matrix& a, const Matrix& b);
Matrix joined(Lowering& l, const std::vector<Matrix>& parts, std::size_t axis);
/// Element by element; of one dimension of 1 that goes for all.
Matrix product(Lowering& l, const Matrix& a, const Matrix& b);
/// Where the condition, which broadcasts, does not hold: zero.
Matrix where(Lowering& l, Id condition, const Matrix& m);

/// Numbers along one dimension of three: [1, count, 1] or [1, 1, count], from `first` on.
Id counted(Lowering& l, std::size_t axis, std::int64_t count, std::int64_t first = 0);

Id reduced(Lowering& l, tosavk::Op op, Id id, std::int32_t axis);  ///< to one element; fp32

/// How many rows or columns of so many are done at once: 64 and more, so that there are 8 such blocks at most.
std::int64_t block_of(std::int64_t size);
/// Of a triangular matrix: of what stands beside the diagonal, and the inverse of the diagonal alone.
Matrix triangle_inverse(Lowering& l, const Matrix& strict, Matrix inverse, bool lower);

/// A loop of `count` turns, each of which is told its number, an i32 [1, 1, 1], and changes what is carried.
using MatrixTurn = std::function<void(Lowering&, Id now, std::vector<Tensor>& carried)>;
std::vector<Tensor> turned_over(Lowering& l, std::int64_t count, std::vector<Tensor> carried, const MatrixTurn& turn);

/// Of an operand, of rank 2 or more, its leading dimensions as one.
Matrix matrix_of(Lowering& l, const Tensor& x);
/// As result number `k` of the operation in hand, of its shape.
void set_matrix(Lowering& l, const Matrix& m, Element element, std::size_t k = 0);

}  // namespace tosavk::stablehlo

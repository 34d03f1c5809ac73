// Triangular matrices: solving with them, and Cholesky's factor. In blocks of rows, with the inverse of each block on
// the diagonal, so that there are few operators, most of them products of matrices.
#include "frontends/stablehlo/matrices.hpp"

#include <fmt/format.h>

#include <limits>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

constexpr std::int64_t few_rows = 8;  ///< one after the other

Matrix over(Lowering& l, const Matrix& a, const Matrix& b) {
    if (a.im == no_id) return {l.binary(Op::divide, a.re, b.re, DType::fp32), no_id};
    return complex_quotient(l, a, b);
}

/// On the diagonal.
Id is_diagonal(Lowering& l, std::int64_t size) { return is_equal(l, counted(l, 1, size), counted(l, 2, size)); }
/// Beside it, on one side.
Id is_strict(Lowering& l, std::int64_t size, bool lower) {
    const Id row = counted(l, 1, size), column = counted(l, 2, size);
    return lower ? is_below(l, column, row) : is_below(l, row, column);
}

/// A triangular matrix that is solved with at once.
struct Block {
    Matrix whole, inverse;

    Block(Lowering& l, const Matrix& m, bool lower, bool unit) {
        const std::int64_t size = l.shape(m.re)[1];
        const Id diagonal = is_diagonal(l, size);
        const Matrix strict = where(l, is_strict(l, size, lower), m);
        const auto of_ones = [&](Id id) { return l.select(diagonal, float_splat(l, id, 1), float_splat(l, id, 0)); };
        const auto of_zeros = [&](Id id) { return l.zeros(DType::fp32, l.shape(id)); };
        const Matrix one{l.tile_to(of_ones(m.re), l.shape(m.re)), m.im == no_id ? no_id : of_zeros(m.im)};
        Matrix inverses = one;
        whole = unit ? plus(l, strict, one) : plus(l, strict, where(l, diagonal, m));
        if (!unit) {
            // Beside the diagonal 1 by 1, which is not looked at.
            const Matrix divisor{l.select(diagonal, m.re, one.re),
                                 m.im == no_id ? no_id : l.select(diagonal, m.im, one.im)};
            inverses = where(l, diagonal, over(l, one, divisor));
        }
        inverse = triangle_inverse(l, strict, inverses, lower);
    }

    /// Once more with what is left, which makes up for the rounding of the inverse.
    Matrix solved(Lowering& l, const Matrix& right) const {
        const Matrix first = times(l, inverse, right);
        const Matrix change = times(l, inverse, minus(l, right, times(l, whole, first)));
        return plus(l, first,
                    each(change, [&](Id id) { return l.select(is_finite(l, id), id, float_splat(l, id, 0)); }));
    }
};

/// One row of the result after the other, each from those before.
Matrix solved_by_rows(Lowering& l, const Matrix& matrix, const Matrix& right, bool lower, bool unit) {
    const std::int64_t rows = l.shape(matrix.re)[1];
    std::vector<Matrix> solved;
    for (std::int64_t step = 0; step < rows; ++step) {
        const std::int64_t i = lower ? step : rows - 1 - step;
        Matrix row = part(l, right, 1, i, 1);
        const Matrix of_row = part(l, matrix, 1, i, 1);
        if (step > 0) {
            const Matrix factors = part(l, of_row, 2, lower ? 0 : i + 1, step);
            row = minus(l, row, times(l, factors, joined(l, solved, 1)));
        }
        if (!unit) row = over(l, row, part(l, of_row, 2, i, 1));
        solved.insert(lower ? solved.end() : solved.begin(), row);
    }
    return joined(l, solved, 1);
}

Matrix solved_by_blocks(Lowering& l, const Matrix& matrix, const Matrix& right, bool lower, bool unit) {
    const std::int64_t rows = l.shape(matrix.re)[1], width = block_of(rows), count = (rows + width - 1) / width;
    std::vector<Matrix> solved;
    for (std::int64_t step = 0; step < count; ++step) {
        const std::int64_t at = (lower ? step : count - 1 - step) * width, size = std::min(width, rows - at);
        const Matrix of_rows = part(l, matrix, 1, at, size);
        Matrix block = part(l, right, 1, at, size);
        if (step > 0) {
            const Matrix factors =
                lower ? part(l, of_rows, 2, 0, at) : part(l, of_rows, 2, at + size, rows - at - size);
            block = minus(l, block, times(l, factors, joined(l, solved, 1)));
        }
        block = Block(l, part(l, of_rows, 2, at, size), lower, unit).solved(l, block);
        solved.insert(lower ? solved.end() : solved.begin(), block);
    }
    return joined(l, solved, 1);
}

void expect_square(Lowering& l, const Shape& shape) {
    if (shape.size() < 2 || shape.back() != shape[shape.size() - 2])
        l.fail(fmt::format("its operand of shape {} is no square matrix", to_string(shape)));
}

void lower_triangular_solve(Lowering& l) {
    const Tensor a = l.in(0), b = l.in(1);
    if (is_integer_element(a.element)) l.unsupported("integers are not supported");
    const bool left = l.flag("left_side"), unit = l.flag("unit_diagonal");
    const std::string how = l.keyword("transpose_a");
    bool lower = l.flag("lower");
    expect_square(l, l.shape(a.id));
    Matrix matrix = matrix_of(l, a), right = matrix_of(l, b);
    // x op(a) = b is op(a)^T x^T = b^T.
    const bool turned = how == "TRANSPOSE" || how == "ADJOINT";
    if (turned) matrix = transposed(l, matrix, how == "ADJOINT");
    if (!left) matrix = transposed(l, matrix, false), right = transposed(l, right, false);
    if (turned != !left) lower = !lower;
    const Shape &of_matrix = l.shape(matrix.re), &of_right = l.shape(right.re);
    const std::int64_t rows = of_matrix[1];
    if (of_matrix[0] != of_right[0] || rows != of_right[1]) l.fail("its operands do not fit each other");
    Matrix result = rows <= few_rows ? solved_by_rows(l, matrix, right, lower, unit)
                                     : solved_by_blocks(l, matrix, right, lower, unit);
    if (!left) result = transposed(l, result, false);
    set_matrix(l, result, a.element);
}

// ---- Cholesky -----------------------------------------------------------------------------------------------------

/// One column after the other, each in a turn of a loop; [n, size, size], of which the lower half is read.
Matrix factored_by_columns(Lowering& l, const Matrix& matrix) {
    const std::int64_t size = l.shape(matrix.re)[1];
    const bool complex = matrix.im != no_id;
    const Tensor start{complex ? Element::c64 : Element::f32, matrix.re, matrix.im, {}};
    const auto turn = [&](Lowering& inner, Id now, std::vector<Tensor>& x) {
        const Id row = counted(inner, 1, size), column = counted(inner, 2, size);
        const Id here = is_equal(inner, column, now), at = is_equal(inner, row, now);
        const Matrix a{x[0].id, x[0].other};
        const Matrix line = each(where(inner, here, a), [&](Id id) { return reduced(inner, Op::reduce_sum, id, 2); });
        const Id square = reduced(inner, Op::reduce_sum, inner.select(at, line.re, float_splat(inner, line.re, 0)), 1);
        const Id root = inner.unary(Op::sqrt, square);
        Matrix v = where(inner, is_below(inner, now, row),
                         each(line, [&](Id id) { return inner.binary(Op::divide, id, root, DType::fp32); }));
        v.re = inner.select(at, root, v.re);
        const Matrix change = where(inner, is_below(inner, now, column), product(inner, v, transposed(inner, v, true)));
        const Matrix rest = minus(inner, a, change);
        x[0].id = inner.select(here, v.re, rest.re);
        if (complex) x[0].other = inner.select(here, v.im, rest.im);
    };
    const Tensor done = turned_over(l, size, {start}, turn)[0];
    return where(l, l.logical_not(is_strict(l, size, false)), Matrix{done.id, done.other});
}

/// One block of columns after the other, from those before.
void lower_cholesky(Lowering& l) {
    const Tensor a = l.in(0);
    const bool lower = l.flag("lower");
    if (is_integer_element(a.element)) l.unsupported("integers are not supported");
    expect_square(l, l.shape(a.id));
    Matrix matrix = matrix_of(l, a);
    if (!lower) matrix = transposed(l, matrix, true);
    const std::int64_t n = l.shape(matrix.re)[0], rows = l.shape(matrix.re)[1], width = block_of(rows);
    std::vector<Matrix> columns;
    for (std::int64_t at = 0; at < rows; at += width) {
        const std::int64_t size = std::min(width, rows - at), behind = rows - at - size;
        // From the diagonal down.
        Matrix column = part(l, part(l, matrix, 2, at, size), 1, at, rows - at);
        if (at > 0) {
            const Matrix before = part(l, joined(l, columns, 2), 1, at, rows - at);
            column = minus(l, column, times(l, before, transposed(l, part(l, before, 1, 0, size), true)));
        }
        const Matrix factor = factored_by_columns(l, part(l, column, 1, 0, size));
        std::vector<Matrix> parts;
        if (at > 0) parts.push_back(each(factor, [&](Id) { return l.zeros(DType::fp32, {n, at, size}); }));
        parts.push_back(factor);
        if (behind > 0) {
            const Matrix right = transposed(l, part(l, column, 1, size, behind), true);
            parts.push_back(transposed(l, Block(l, factor, true, false).solved(l, right), true));
        }
        columns.push_back(joined(l, parts, 1));
    }
    Matrix result = joined(l, columns, 2);
    if (rows > 0) {
        // As LAPACK's callers have it, nothing is a result where a pivot was not positive: all that follow it are NaN.
        const Id last = part(l, part(l, result, 1, rows - 1, 1), 2, rows - 1, 1).re;
        const Id positive = is_below(l, float_splat(l, last, 0), last);
        constexpr double nan = std::numeric_limits<double>::quiet_NaN();
        result = each(result, [&](Id id) { return l.select(positive, id, float_splat(l, id, nan)); });
    }
    if (!lower) result = transposed(l, result, true);
    set_matrix(l, result, a.element);
}

}  // namespace

std::span<const LoweringRow> triangle_rows() {
    static constexpr LoweringRow rows[] = {
        {"cholesky", lower_cholesky},
        {"triangular_solve", lower_triangular_solve},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

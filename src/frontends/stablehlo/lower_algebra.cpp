// Linear algebra, Fourier transforms and normalization, step by step with the operators that there are.
#include "frontends/stablehlo/matrices.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

constexpr std::int64_t most_rows = 256;

Matrix over(Lowering& l, const Matrix& a, const Matrix& b) {
    if (a.im == no_id) return {l.binary(Op::divide, a.re, b.re, DType::fp32), no_id};
    return complex_quotient(l, a, b);
}

void check_rows(Lowering& l, std::int64_t rows) {
    if (rows > most_rows) l.unsupported(fmt::format("matrices of more than {} rows are not supported", most_rows));
}

/// One row of the result after the other, each from those before.
void lower_triangular_solve(Lowering& l) {
    const Tensor a = l.in(0), b = l.in(1);
    if (is_integer_element(a.element)) l.unsupported("integers are not supported");
    const bool left = l.flag("left_side"), unit = l.flag("unit_diagonal");
    const std::string how = l.keyword("transpose_a");
    bool lower = l.flag("lower");
    Matrix matrix = matrix_of(l, a), right = matrix_of(l, b);
    // x op(a) = b is op(a)^T x^T = b^T.
    const bool turned = how == "TRANSPOSE" || how == "ADJOINT";
    if (turned) matrix = transposed(l, matrix, how == "ADJOINT");
    if (!left) matrix = transposed(l, matrix, false), right = transposed(l, right, false);
    if (turned != !left) lower = !lower;
    const std::int64_t rows = l.shape(matrix.re)[1];
    check_rows(l, rows);
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
    Matrix result = joined(l, solved, 1);
    if (!left) result = transposed(l, result, false);
    set_matrix(l, result, a.element);
}

/// One column after the other; what stands above the diagonal is zero.
void lower_cholesky(Lowering& l) {
    const Tensor a = l.in(0);
    const bool lower = l.flag("lower");
    Matrix matrix = matrix_of(l, a);
    if (!lower) matrix = transposed(l, matrix, true);
    const std::int64_t rows = l.shape(matrix.re)[1], n = l.shape(matrix.re)[0];
    check_rows(l, rows);
    std::vector<Matrix> columns;
    for (std::int64_t j = 0; j < rows; ++j) {
        // From the diagonal down.
        Matrix column = part(l, part(l, matrix, 2, j, 1), 1, j, rows - j);
        if (j > 0) {
            const Matrix before = part(l, joined(l, columns, 2), 1, j, rows - j);
            column = minus(l, column, times(l, before, transposed(l, part(l, before, 1, 0, 1), true)));
        }
        const Id root = l.unary(Op::sqrt, l.slice_axis(column.re, 1, 0, 1));
        column = each(column, [&](Id id) { return l.binary(Op::divide, id, root, DType::fp32); });
        if (column.im != no_id && j + 1 < rows)
            column.im = l.concat({l.zeros(DType::fp32, {n, 1, 1}), l.slice_axis(column.im, 1, 1, rows - j - 1)}, 1);
        else if (column.im != no_id) column.im = l.zeros(DType::fp32, {n, 1, 1});
        if (j > 0) column = each(column, [&](Id id) { return l.concat({l.zeros(DType::fp32, {n, j, 1}), id}, 1); });
        columns.push_back(column);
    }
    Matrix result = joined(l, columns, 2);
    if (!lower) result = transposed(l, result, true);
    set_matrix(l, result, a.element);
}

// ---- Fourier transforms -------------------------------------------------------------------------------------------

/// Along the last of [n, length]. Lengths that are powers of two by FFT2D, others by the sum itself.
Complex transformed(Lowering& l, Complex x, bool inverse) {
    const Shape shape = l.shape(x.re);
    const std::int64_t length = shape[1];
    if (length == 1) return x;
    if (std::has_single_bit(static_cast<std::uint64_t>(length))) {
        tosavk::Attributes attrs;
        attrs.inverse = inverse;
        const std::array types{DType::fp32, DType::fp32};
        const Shape images{shape[0], 1, length};
        const auto made = l.add_all(Op::fft2d, {l.reshape(x.re, images), l.reshape(x.im, images)}, types, attrs);
        return {l.reshape(made[0], shape), l.reshape(made[1], shape)};
    }
    if (length > 4096) l.unsupported("lengths above 4096 that are no power of two are not supported");
    std::vector<float> cosines, sines;
    for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t k = 0; k < length; ++k) {
            const double angle =
                2 * std::numbers::pi * static_cast<double>(i * k % length) / static_cast<double>(length);
            cosines.push_back(static_cast<float>(std::cos(angle)));
            sines.push_back(static_cast<float>(inverse ? std::sin(angle) : -std::sin(angle)));
        }
    }
    const Matrix turn{l.constant_floats("cosines", {1, length, length}, cosines),
                      l.constant_floats("sines", {1, length, length}, sines)};
    const Shape one{1, shape[0], length};
    const Matrix made = times(l, {l.reshape(x.re, one), l.reshape(x.im, one)}, turn);
    return {l.reshape(made.re, shape), l.reshape(made.im, shape)};
}

Complex along_dimension_of(Lowering& l, Complex x, std::size_t d, bool inverse) {
    const Shape shape = l.shape(x.re);
    std::vector<std::int64_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[d], order.back());
    Shape turned = shape;
    std::swap(turned[d], turned.back());
    const Shape flat{tosavk::element_count(shape) / shape[d], shape[d]};
    const Complex made =
        transformed(l, each(x, [&](Id id) { return l.reshape(l.transpose(id, order), flat); }), inverse);
    return each(made, [&](Id id) { return l.transpose(l.reshape(id, turned), order); });
}

void lower_fft(Lowering& l) {
    const Tensor x = l.in(0);
    const std::string kind = l.keyword("fft_type");
    const std::vector<std::int64_t> lengths = l.numbers("fft_length");
    const bool inverse = kind == "IFFT" || kind == "IRFFT";
    Complex made{x.id, x.is_complex() ? x.other : l.zeros(DType::fp32, l.shape(x.id))};
    const Shape shape = l.shape(x.id);
    const std::size_t rank = shape.size(), first = rank - lengths.size(), last = rank - 1;
    if (lengths.empty() || lengths.size() > std::min<std::size_t>(rank, 3))
        l.fail(fmt::format("its fft_length has {} numbers for a tensor of rank {}", lengths.size(), rank));
    if (x.is_complex() == (kind == "RFFT")) l.fail("its operand is not of the numbers that its fft_type takes");
    for (std::size_t k = 0; k < lengths.size(); ++k) {
        const bool is_half = kind == "IRFFT" && k + 1 == lengths.size();
        if (lengths[k] < 1 || shape[first + k] != (is_half ? lengths[k] / 2 + 1 : lengths[k]))
            l.fail(fmt::format("its fft_length has {} for a dimension of {}", lengths[k], shape[first + k]));
    }
    double count = 1;
    for (const std::int64_t length : lengths) count *= static_cast<double>(length);
    for (std::size_t d = first; d < last; ++d) made = along_dimension_of(l, made, d, inverse);
    if (kind == "IRFFT") {
        // The other half is that of a real result: the conjugate, backwards.
        const std::int64_t n = lengths.back(), half = n / 2 + 1;
        if (n - half > 0) {
            tosavk::Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(last);
            const auto mirrored = [&](Id id) {
                const Id inner = l.slice_axis(id, last, 1, n - half);
                return n - half == 1 ? inner : l.add(Op::reverse, {inner}, DType::fp32, attrs);
            };
            made = {l.concat({made.re, mirrored(made.re)}, last),
                    l.concat({made.im, l.negated(mirrored(made.im))}, last)};
        }
    }
    made = along_dimension_of(l, made, last, inverse);
    if (kind == "RFFT") made = each(made, [&](Id id) { return l.slice_axis(id, last, 0, lengths.back() / 2 + 1); });
    if (inverse) made = each(made, [&](Id id) { return multiply(l, id, float_splat(l, id, 1 / count)); });
    if (kind == "IRFFT") return l.set({Element::f32, made.re, no_id, {}});
    l.set({Element::c64, made.re, made.im, {}});
}

// ---- batch normalization ------------------------------------------------------------------------------------------

struct Normalization {
    Lowering& l;
    std::size_t feature;
    Shape shape;
    Element element;

    explicit Normalization(Lowering& lowering)
        : l(lowering),
          feature(static_cast<std::size_t>(l.integer("feature_index"))),
          shape(l.static_shape(l.operand_type(0))),
          element(l.operand_type(0).element) {}

    Id along(std::size_t k) {  ///< one number a feature, beside the whole tensor
        return spread(l.cast(l.in(k).id, DType::fp32));
    }
    Id whole(std::size_t k) { return l.cast(l.in(k).id, DType::fp32); }
    Id spread(Id id) {
        Shape ones(shape.size(), 1);
        ones.at(feature) = shape.at(feature);
        return l.reshape(id, ones);
    }
    Id sum(Id id) {
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (d == feature || shape[d] == 1) continue;
            tosavk::Attributes attrs;
            attrs.axis = static_cast<std::int32_t>(d);
            id = l.add(Op::reduce_sum, {id}, DType::fp32, attrs);
        }
        return id;
    }
    double count() const {
        return static_cast<double>(tosavk::element_count(shape)) / static_cast<double>(shape.at(feature));
    }
    Id mean(Id id) { return multiply(l, sum(id), float_splat(l, id, 1 / count())); }
    Id plus(Id a, Id b) { return l.binary(Op::add, a, b, DType::fp32); }
    Id minus(Id a, Id b) { return l.binary(Op::sub, a, b, DType::fp32); }
    Id over(Id a, Id b) { return l.binary(Op::divide, a, b, DType::fp32); }
    Id deviation(Id variance) { return l.unary(Op::sqrt, plus(variance, float_splat(l, variance, l.real("epsilon")))); }
    void set(Id id, std::size_t k = 0) {
        const Shape to = l.result_shape(k);
        l.set({element, l.cast(l.reshape(id, to), l.dtype(element)), no_id, {}}, k);
    }
};

void lower_batch_norm_inference(Lowering& l) {
    Normalization n(l);
    const Id scale = n.along(1), offset = n.along(2), mean = n.along(3), variance = n.along(4);
    const Id normal = n.over(n.minus(n.whole(0), mean), n.deviation(variance));
    n.set(n.plus(multiply(l, normal, scale), offset));
}

void lower_batch_norm_training(Lowering& l) {
    Normalization n(l);
    const Id x = n.whole(0), mean = n.mean(x), centered = n.minus(x, mean);
    const Id variance = n.mean(multiply(l, centered, centered));
    const Id normal = n.over(centered, n.deviation(variance));
    n.set(n.plus(multiply(l, normal, n.along(1)), n.along(2)));
    n.set(mean, 1);
    n.set(variance, 2);
}

void lower_batch_norm_grad(Lowering& l) {
    Normalization n(l);
    const Id x = n.whole(0), scale = n.along(1), mean = n.along(2), variance = n.along(3), dy = n.whole(4);
    const Id centered = n.minus(x, mean), deviation = n.deviation(variance);
    const Id of_dy = n.sum(dy), of_both = n.sum(multiply(l, dy, centered));
    const Id square = multiply(l, deviation, deviation);
    const Id slope = n.over(multiply(l, centered, of_both), square);
    const Id all = n.minus(n.minus(multiply(l, dy, float_splat(l, dy, n.count())), of_dy), slope);
    const Id factor = multiply(l, n.over(scale, deviation), float_splat(l, dy, 1 / n.count()));
    n.set(multiply(l, all, factor));
    n.set(n.over(of_both, deviation), 1);
    n.set(of_dy, 2);
}

}  // namespace

std::span<const LoweringRow> algebra_rows() {
    static constexpr LoweringRow rows[] = {
        {"batch_norm_grad", lower_batch_norm_grad},
        {"batch_norm_inference", lower_batch_norm_inference},
        {"batch_norm_training", lower_batch_norm_training},
        {"cholesky", lower_cholesky},
        {"fft", lower_fft},
        {"triangular_solve", lower_triangular_solve},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

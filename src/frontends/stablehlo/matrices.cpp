#include "frontends/stablehlo/matrices.hpp"

#include <array>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

Matrix both(Lowering& l, Op op, const Matrix& a, const Matrix& b) {
    const Id re = l.binary(op, a.re, b.re, DType::fp32);
    return {re, a.im == no_id ? no_id : l.binary(op, a.im, b.im, DType::fp32)};
}

}  // namespace

Matrix transposed(Lowering& l, const Matrix& m, bool conjugated) {
    constexpr std::array<std::int64_t, 3> order{0, 2, 1};
    Matrix t = each(m, [&](Id id) { return l.transpose(id, order); });
    if (conjugated && t.im != no_id) t.im = l.negated(t.im);
    return t;
}

Matrix part(Lowering& l, const Matrix& m, std::size_t axis, std::int64_t start, std::int64_t size) {
    return each(m, [&](Id id) { return l.slice_axis(id, axis, start, size); });
}

Matrix times(Lowering& l, const Matrix& a, const Matrix& b) {
    const Id zero = l.zero_point(DType::fp32, 0);
    const auto real = [&](Id x, Id y) { return l.add(Op::matmul, {x, y, zero, zero}, DType::fp32); };
    if (a.im == no_id) return {real(a.re, b.re), no_id};
    return {l.binary(Op::sub, real(a.re, b.re), real(a.im, b.im), DType::fp32),
            l.binary(Op::add, real(a.re, b.im), real(a.im, b.re), DType::fp32)};
}

Matrix plus(Lowering& l, const Matrix& a, const Matrix& b) { return both(l, Op::add, a, b); }
Matrix minus(Lowering& l, const Matrix& a, const Matrix& b) { return both(l, Op::sub, a, b); }

Matrix joined(Lowering& l, const std::vector<Matrix>& parts, std::size_t axis) {
    std::vector<Id> re, im;
    for (const Matrix& m : parts) {
        re.push_back(m.re);
        if (m.im != no_id) im.push_back(m.im);
    }
    return {l.concat(re, axis), im.empty() ? no_id : l.concat(im, axis)};
}

Matrix product(Lowering& l, const Matrix& a, const Matrix& b) {
    if (a.im == no_id) return {multiply(l, a.re, b.re), no_id};
    return complex_product(l, a, b);
}

Matrix where(Lowering& l, Id condition, const Matrix& m) {
    return each(m, [&](Id id) { return l.select(condition, id, float_splat(l, id, 0)); });
}

Id counted(Lowering& l, std::size_t axis, std::int64_t count, std::int64_t first) {
    Shape shape{1, 1, 1};
    shape.at(axis) = count;
    return l.constant_i32(shape, l.counted(count, first));
}

Id reduced(Lowering& l, Op op, Id id, std::int32_t axis) {
    tosavk::Attributes attrs;
    attrs.axis = axis;
    return l.shape(id)[static_cast<std::size_t>(axis)] == 1 ? id : l.add(op, {id}, DType::fp32, attrs);
}

std::int64_t block_of(std::int64_t size) {
    constexpr std::int64_t least = 64, most = 8, step = 32;
    return std::max(least, ((size + most - 1) / most + step - 1) / step * step);
}

// From blocks on the diagonal that are twice as wide from step to step: the inverse of [A 0; B C] has -C^-1 B A^-1
// where B stood.
Matrix triangle_inverse(Lowering& l, const Matrix& strict, Matrix inverse, bool lower) {
    const std::int64_t k = l.shape(strict.re)[1];
    for (std::int64_t size = 1; size < k; size *= 2) {
        std::vector<std::int64_t> first, second;  // where both are alike, the block between a pair's
        for (std::int64_t i = 0; i < k; ++i) {
            first.push_back(i / size % 2 == 0 ? i / size + 1 : -1);
            second.push_back(i / size);
        }
        const Id between = is_equal(l, l.constant_i32({1, k, 1}, lower ? second : first),
                                    l.constant_i32({1, 1, k}, lower ? first : second));
        inverse = minus(l, inverse, times(l, times(l, inverse, where(l, between, strict)), inverse));
    }
    return inverse;
}

std::vector<Tensor> turned_over(Lowering& l, std::int64_t count, std::vector<Tensor> carried, const MatrixTurn& turn) {
    Tensor counter = l.number(Element::i32, 0);
    counter.range = {0, count};
    carried.push_back(counter);
    const auto goes_on = [&](Lowering& inner, std::vector<Tensor> x) {
        const Id now = x.back().id;
        return std::vector<Tensor>{{Element::pred, is_below(inner, now, inner.splat_int(now, count)), no_id, {0, 1}}};
    };
    const auto step = [&](Lowering& inner, std::vector<Tensor> x) {
        Tensor now = x.back();
        x.pop_back();
        turn(inner, inner.reshape(now.id, {1, 1, 1}), x);
        now.id = inner.binary(Op::add, now.id, inner.splat_int(now.id, 1), DType::i32);
        x.push_back(now);
        return x;
    };
    std::vector<Tensor> done = l.loop(carried, goes_on, step);
    done.pop_back();
    return done;
}

Matrix matrix_of(Lowering& l, const Tensor& x) {
    const Shape shape = l.shape(x.id);
    if (shape.size() < 2 || l.is_empty(x.id)) l.fail("its operands are no matrices of its result's size");
    const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
    const Shape flat{tosavk::element_count(shape) / (rows * columns), rows, columns};
    return each({x.id, x.other}, [&](Id id) { return l.reshape(l.cast(id, DType::fp32), flat); });
}

void set_matrix(Lowering& l, const Matrix& m, Element element, std::size_t k) {
    const Shape shape = l.result_shape(k);
    const DType type = l.dtype(element);
    const Matrix made = each(m, [&](Id id) { return l.cast(l.reshape(id, shape), type); });
    l.set({element, made.re, made.im, {}}, k);
}

}  // namespace tosavk::stablehlo

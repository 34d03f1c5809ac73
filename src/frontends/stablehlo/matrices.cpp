#include "frontends/stablehlo/matrices.hpp"

#include <array>
#include <numeric>

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
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), first);
    Shape shape{1, 1, 1};
    shape.at(axis) = count;
    return l.constant_i32(shape, numbers);
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

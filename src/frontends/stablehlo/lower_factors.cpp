// The custom calls that JAX's QR consists of, as LAPACK's geqrf and orgqr have them: reflectors H = I - tau v v^H of a
// panel of columns, one turn of a loop a column, and what is beside a panel by products of matrices.
#include "frontends/stablehlo/lower_custom.hpp"
#include "frontends/stablehlo/matrices.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

Id over(Lowering& l, Id a, Id b) { return l.binary(Op::divide, a, b, DType::fp32); }
Id sum_of(Lowering& l, Id a, Id b) { return l.binary(Op::add, a, b, DType::fp32); }

// ---- a panel ------------------------------------------------------------------------------------------------------

/// One turn: the reflector of column `now` and what it makes of the columns behind. Real and imaginary parts (`parts`
/// of them) lie behind each other, so that each step is one operator: `a` is [n, parts * rows, columns], a column of it
/// [n, parts, rows], `taus` [n, parts, columns].
struct Turn {
    Lowering& l;
    std::int64_t n, parts, rows, columns;

    Id first(Id id) { return parts == 1 ? id : l.slice_axis(id, 1, 0, 1); }
    Id second(Id id) { return l.slice_axis(id, 1, 1, 1); }
    Id line(Id id) { return l.reshape(id, {n, 1, parts * rows}); }
    Id upright(Id id) { return l.reshape(id, {n, parts * rows, 1}); }
    Id zero(Id like) { return float_splat(l, like, 0); }

    /// The real `re` with an imaginary part of 0.
    Id with_zero(Id re) { return parts == 1 ? re : l.concat({re, l.zeros(DType::fp32, l.shape(re))}, 1); }
    /// i times `x`.
    Id turned(Id x) { return l.concat({l.negated(second(x)), first(x)}, 1); }

    void step(Id now, Id& a, Id& taus) {
        const Id row = counted(l, 2, rows), column = counted(l, 2, columns);
        const Id at = is_equal(l, row, now), below = is_below(l, now, row), here = is_equal(l, column, now);
        const Id x = l.reshape(reduced(l, Op::reduce_sum, l.select(here, a, zero(a)), 2), {n, parts, rows});
        const Id alpha = reduced(l, Op::reduce_sum, l.select(at, x, zero(x)), 2);
        const Id tail = l.select(below, x, zero(x));
        // All is divided by the greatest magnitude first, so that no square is beyond fp32's range.
        const Id greatest = reduced(l, Op::reduce_max, line(l.unary(Op::abs, tail)), 2);
        const Id of_alpha = reduced(l, Op::reduce_max, l.unary(Op::abs, alpha), 1);
        Id scale = l.binary(Op::maximum, greatest, of_alpha, DType::fp32);
        scale = l.select(is_equal(l, scale, zero(scale)), float_splat(l, scale, 1), scale);
        const Id y = over(l, tail, scale), start = over(l, alpha, scale), re = first(start);
        Id nothing = is_equal(l, greatest, zero(greatest));  // below the diagonal: then tau is 0
        Id square = sum_of(l, multiply(l, re, re), reduced(l, Op::reduce_sum, line(multiply(l, y, y)), 2));
        if (parts == 2) {
            const Id im = second(start);
            nothing = l.binary(Op::logical_and, nothing, is_equal(l, im, zero(im)), DType::boolean);
            square = sum_of(l, square, multiply(l, im, im));
        }
        const Id norm = l.select(nothing, float_splat(l, square, 1), l.unary(Op::sqrt, square));
        const Id beta = l.select(sign_bit(l, re), norm, l.negated(norm));
        const Id difference = l.binary(Op::sub, re, beta, DType::fp32);
        const Id tau_re = l.select(nothing, zero(re), l.negated(over(l, difference, beta)));
        const Id diagonal = l.select(nothing, first(alpha), multiply(l, beta, scale));
        Id v = no_id, tau = tau_re;
        if (parts == 1) {
            v = over(l, y, difference);
        } else {
            const Id im = second(start);
            tau = l.concat({tau_re, l.select(nothing, zero(im), l.negated(over(l, im, beta)))}, 1);
            // By the conjugate of the divisor, whose square is between 1 and 8.
            const Id length = sum_of(l, multiply(l, difference, difference), multiply(l, im, im));
            const Id r = over(l, difference, length), i = over(l, im, length);
            v = l.binary(Op::sub, multiply(l, y, r), multiply(l, turned(y), i), DType::fp32);
        }
        const Id one =
            parts == 1 ? float_splat(l, v, 1) : l.constant_floats("one", {1, 2, 1}, std::vector<float>{1, 0});
        const Id whole = l.select(at, one, l.select(below, v, zero(v)));
        // w = conj(tau) v^H a, for the columns behind.
        const Id none = l.zero_point(DType::fp32, 0);
        const Id v_line = line(whole), i_line = parts == 1 ? no_id : line(turned(whole));
        const Id left = parts == 1 ? v_line : l.concat({v_line, i_line}, 1);
        Id w = l.add(Op::matmul, {left, a, none, none}, DType::fp32);
        if (parts == 1) {
            w = multiply(l, w, tau);
        } else {
            w = l.binary(Op::sub, multiply(l, w, first(tau)), multiply(l, turned(w), second(tau)), DType::fp32);
        }
        w = l.select(is_below(l, now, column), w, zero(w));
        Id change = multiply(l, upright(v_line), first(w));
        if (parts == 2) change = sum_of(l, change, multiply(l, upright(i_line), second(w)));
        const Id done = upright(l.select(at, with_zero(diagonal), l.select(below, v, x)));
        a = l.select(here, done, l.binary(Op::sub, a, change, DType::fp32));
        taus = l.select(here, tau, taus);
    }
};

struct Factored {
    Matrix packed, taus;  ///< [n, rows, columns], [n, 1, turns]
};

Factored panel_factored(Lowering& l, const Matrix& panel) {
    const Shape shape = l.shape(panel.re);
    const std::int64_t n = shape[0], rows = shape[1], columns = shape[2], turns = std::min(rows, columns);
    const std::int64_t parts = panel.im == no_id ? 1 : 2;
    const auto real = [](Id id) { return Tensor{Element::f32, id, no_id, {}}; };
    const Id both = parts == 1 ? panel.re : l.concat({panel.re, panel.im}, 1);
    const std::vector<Tensor> done =
        turned_over(l, turns, {real(both), real(l.zeros(DType::fp32, {n, parts, columns}))},
                    [&](Lowering& inner, Id now, std::vector<Tensor>& x) {
                        Turn{inner, n, parts, rows, columns}.step(now, x[0].id, x[1].id);
                    });
    const auto parted = [&](Id id, std::int64_t size) {
        if (parts == 1) return Matrix{id, no_id};
        return Matrix{l.slice_axis(id, 1, 0, size), l.slice_axis(id, 1, size, size)};
    };
    return {parted(done[0].id, rows), part(l, parted(done[1].id, 1), 2, 0, turns)};
}

// ---- several reflectors at once -----------------------------------------------------------------------------------

/// From packed columns: 1 on the diagonal, 0 above it.
Matrix vectors_of(Lowering& l, const Matrix& packed) {
    const Shape shape = l.shape(packed.re);
    const Id row = counted(l, 1, shape[1]), column = counted(l, 2, shape[2]);
    Matrix v = where(l, is_below(l, column, row), packed);
    v.re = l.select(is_equal(l, column, row), float_splat(l, v.re, 1), v.re);
    return v;
}

/// T of H_0 H_1 ... = I - V T V^H: the inverse of I + D U, times D, where D has the taus and U is what stands above the
/// diagonal of V^H V.
Matrix middle_of(Lowering& l, const Matrix& v, const Matrix& taus) {
    const std::int64_t k = l.shape(v.re)[2];
    const Id row = counted(l, 1, k), column = counted(l, 2, k);
    const Matrix scales = transposed(l, taus, false);  // [n, k, 1]
    const Matrix upper = product(l, where(l, is_below(l, row, column), times(l, transposed(l, v, true), v)), scales);
    Matrix inverse = each(upper, [&](Id id) { return l.zeros(DType::fp32, l.shape(id)); });
    inverse.re = l.select(is_equal(l, row, column), float_splat(l, inverse.re, 1), inverse.re);
    return product(l, triangle_inverse(l, upper, inverse, false), taus);
}

/// I - V T V^H times `x`, or with T^H its adjoint times `x`.
Matrix reflected(Lowering& l, const Matrix& v, const Matrix& middle, const Matrix& x) {
    return minus(l, x, times(l, v, times(l, middle, times(l, transposed(l, v, true), x))));
}

void check_numbers(Lowering& l, const Tensor& x) {
    const bool serves = x.is_complex() || x.element == Element::f64 || x.element == Element::f32 ||
                        x.element == Element::f16 || x.element == Element::bf16;
    if (!serves) l.unsupported(fmt::format("matrices of {} are not supported", stablehlo::name_of(x.element)));
}

/// The last dimensions of an operand's shape, of which there must be so many.
Shape dims_of(Lowering& l, std::size_t k, std::size_t least) {
    const Shape dims = l.static_shape(l.operand_type(k));
    if (dims.size() < least) l.fail(fmt::format("its operand {} has rank {}", k, dims.size()));
    return dims;
}

void expect_type(Lowering& l, const Type& type, Element element, const Shape& dims, std::string_view what) {
    if (type.element != element || l.static_shape(type) != dims)
        l.fail(fmt::format("{} is {} instead of {}", what, to_string(type), to_string(*tensor_type(element, dims))));
}

}  // namespace

/// a -> R with the reflectors below it, taus: geqrf.
void lower_qr(Lowering& l) {
    if (l.operand_count() != 1 || l.result_count() != 2)
        l.fail(fmt::format("it has {} operands and {} results", l.operand_count(), l.result_count()));
    const Tensor given = l.in(0);
    check_numbers(l, given);
    const Shape dims = dims_of(l, 0, 2);
    const std::int64_t rows = dims[dims.size() - 2], columns = dims.back(), turns = std::min(rows, columns);
    Shape of_taus(dims.begin(), dims.end() - 1);
    of_taus.back() = turns;
    expect_type(l, l.result_type(0), given.element, dims, "its first result");
    expect_type(l, l.result_type(1), given.element, of_taus, "its second result");
    Matrix a = matrix_of(l, given);
    std::vector<Matrix> taus;
    const std::int64_t width = block_of(turns);
    for (std::int64_t at = 0; at < turns; at += width) {
        // The last panel has the columns behind the diagonal, too, where they are few.
        std::int64_t size = std::min(width, turns - at);
        if (at + size == turns && columns - at <= 2 * width) size = columns - at;
        const std::int64_t behind = columns - at - size, here = rows - at;
        const auto below = [&](const Matrix& m) { return part(l, m, 1, at, here); };
        const auto set_below = [&](const Matrix& whole, const Matrix& m) {
            return at == 0 ? m : joined(l, {part(l, whole, 1, 0, at), m}, 1);
        };
        const Matrix panel = part(l, a, 2, at, size);
        const Factored made = panel_factored(l, below(panel));
        taus.push_back(made.taus);
        std::vector<Matrix> beside;
        if (at > 0) beside.push_back(part(l, a, 2, 0, at));
        beside.push_back(set_below(panel, made.packed));
        if (behind > 0) {
            const Matrix rest = part(l, a, 2, at + size, behind);
            const Matrix v = vectors_of(l, part(l, made.packed, 2, 0, std::min(here, size)));
            const Matrix middle = transposed(l, middle_of(l, v, made.taus), true);
            beside.push_back(set_below(rest, reflected(l, v, middle, below(rest))));
        }
        a = joined(l, beside, 2);
    }
    set_matrix(l, a, given.element);
    set_matrix(l, joined(l, taus, 2), given.element, 1);
}

/// a [m, n] and k taus -> the first n columns of H_0 H_1 ... H_k-1: orgqr, also for n above m.
void lower_householder_product(Lowering& l) {
    if (l.operand_count() != 2 || l.result_count() != 1)
        l.fail(fmt::format("it has {} operands and {} results", l.operand_count(), l.result_count()));
    const Tensor given = l.in(0), scales = l.in(1);
    check_numbers(l, given);
    const Shape dims = dims_of(l, 0, 2), of_taus = dims_of(l, 1, 1);
    const std::int64_t rows = dims[dims.size() - 2], columns = dims.back(), count = of_taus.back();
    Shape wanted(dims.begin(), dims.end() - 1);
    wanted.back() = count;
    expect_type(l, l.operand_type(1), given.element, wanted, "its second operand");
    expect_type(l, l.result_type(), given.element, dims, "its result");
    if (count > std::min(rows, columns))
        l.fail(fmt::format("it has {} reflectors for a matrix of {} by {}", count, rows, columns));
    const Matrix a = matrix_of(l, given);
    const std::int64_t n = l.shape(a.re)[0];
    Matrix q = each(a, [&](Id id) { return l.zeros(DType::fp32, l.shape(id)); });
    q.re = l.select(is_equal(l, counted(l, 1, rows), counted(l, 2, columns)), float_splat(l, q.re, 1), q.re);
    if (count > 0) {
        const Matrix taus =
            each({scales.id, scales.other}, [&](Id id) { return l.reshape(l.cast(id, DType::fp32), {n, 1, count}); });
        const std::int64_t width = block_of(count);
        for (std::int64_t at = (count - 1) / width * width; at >= 0; at -= width) {
            const std::int64_t size = std::min(width, count - at), here = rows - at;
            const Matrix v = vectors_of(l, part(l, part(l, a, 2, at, size), 1, at, here));
            const Matrix middle = middle_of(l, v, part(l, taus, 2, at, size));
            const Matrix made = reflected(l, v, middle, part(l, q, 1, at, here));
            q = at == 0 ? made : joined(l, {part(l, q, 1, 0, at), made}, 1);
        }
    }
    set_matrix(l, q, given.element);
}

}  // namespace tosavk::stablehlo

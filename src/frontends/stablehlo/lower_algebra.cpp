// Fourier transforms and normalization, step by step with the operators that there are.
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
        {"fft", lower_fft},
    };
    return rows;
}

}  // namespace tosavk::stablehlo

// Fourier transforms of any length: by FFT2D where it is a power of two, else by the sum itself or, where it is long,
// by a convolution with a chirp (Bluestein).
#include "base/numerics/roots.hpp"
#include "frontends/stablehlo/matrices.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <complex>
#include <numeric>

namespace tosavk::stablehlo {

using tosavk::Op;

namespace {

using Numbers = std::vector<std::complex<double>>;

constexpr std::int64_t longest_summed = 64;     ///< numbers of a line that is transformed by the sum itself
constexpr std::int64_t most_numbers = 1 << 24;  ///< of a line

/// exp(-pi i k / length), its conjugate where `inverse`.
std::complex<double> unit(std::int64_t k, std::int64_t length, bool inverse) {
    const std::complex<double> root = root_of_unity(k, 2 * length);
    return inverse ? root : std::conj(root);
}

/// Of a power of two, in place.
void transform(Numbers& x) {
    const auto length = static_cast<std::int64_t>(x.size());
    for (std::int64_t i = 1, j = 0; i < length; ++i) {  // by the reversed bits of the place
        std::int64_t bit = length / 2;
        for (; (j & bit) != 0; bit /= 2) j ^= bit;
        j ^= bit;
        if (i < j) std::swap(x[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(j)]);
    }
    for (std::int64_t half = 1; half < length; half *= 2) {
        for (std::int64_t k = 0; k < half; ++k) {
            const std::complex<double> root = unit(k, half, false);
            for (std::int64_t at = k; at < length; at += 2 * half) {
                std::complex<double>&a = x[static_cast<std::size_t>(at)], &b = x[static_cast<std::size_t>(at + half)];
                const std::complex<double> turned = b * root;
                b = a - turned;
                a += turned;
            }
        }
    }
}

Complex constant(Lowering& l, const char* name, const Numbers& numbers) {
    std::vector<float> re, im;
    for (const std::complex<double>& number : numbers) {
        re.push_back(static_cast<float>(number.real()));
        im.push_back(static_cast<float>(number.imag()));
    }
    const Shape shape{1, static_cast<std::int64_t>(numbers.size())};
    return {l.constant_floats(name, shape, re), l.constant_floats(name, shape, im)};
}

/// Along the last of [n, length], a power of two.
Complex powers_of_two(Lowering& l, const Complex& x, bool inverse) {
    const Shape shape = l.shape(x.re);
    tosavk::Attributes attrs;
    attrs.inverse = inverse;
    const std::array types{DType::fp32, DType::fp32};
    const Shape images{shape[0], 1, shape[1]};
    const auto made = l.add_all(Op::fft2d, {l.reshape(x.re, images), l.reshape(x.im, images)}, types, attrs);
    return {l.reshape(made[0], shape), l.reshape(made[1], shape)};
}

/// cos or sin of 2 pi j k / length as a matrix, a row for each j of [first, end), negative where `negated`.
Id waves(Lowering& l, const char* name, std::int64_t first, std::int64_t end, std::int64_t length, bool sine,
         bool negated) {
    std::vector<float> values;
    for (std::int64_t j = first; j < end; ++j) {
        for (std::int64_t k = 0; k < length; ++k) {
            const std::complex<double> root = unit(2 * (j * k % length), length, true);
            const auto value = static_cast<float>(sine ? root.imag() : root.real());
            values.push_back(negated ? -value : value);
        }
    }
    return l.constant_floats(name, {1, end - first, length}, values);
}

/// Along the last of [n, length]: the sum itself, as products of matrices. What stands as far from the beginning as
/// from the end is multiplied by the same cosines, and by sines that differ in sign: sums and differences of both, half
/// as many numbers, are multiplied, and half as many products lose less.
Complex sums(Lowering& l, const Complex& x, bool inverse) {
    const Shape shape = l.shape(x.re);
    const std::int64_t n = shape[0], length = shape[1], pairs = (length - 1) / 2;
    const Id both = l.concat({x.re, x.im}, 0), head = l.slice_axis(both, 1, 1, pairs);
    tosavk::Attributes attrs;
    attrs.axis = 1;
    Id tail = l.slice_axis(both, 1, length - pairs, pairs);
    if (pairs > 1) tail = l.add(Op::reverse, {tail}, DType::fp32, attrs);
    const auto sum = [&](Id a, Id b) { return l.binary(Op::add, a, b, DType::fp32); };
    const auto difference = [&](Id a, Id b) { return l.binary(Op::sub, a, b, DType::fp32); };
    std::vector<Id> alike = {l.slice_axis(both, 1, 0, 1), sum(head, tail)};
    if (length % 2 == 0) alike.push_back(l.slice_axis(both, 1, length / 2, 1));
    const auto times_waves = [&](Id id, Id of) {
        const Id matrix = l.reshape(id, {1, 2 * n, l.shape(id)[1]});
        return l.reshape(times(l, {matrix, no_id}, {of, no_id}).re, {2 * n, length});
    };
    const Id even = times_waves(l.concat(alike, 1), waves(l, "cosines", 0, length / 2 + 1, length, false, false)),
             odd = times_waves(difference(head, tail), waves(l, "sines", 1, pairs + 1, length, true, inverse));
    const auto re = [&](Id id) { return l.slice_axis(id, 0, 0, n); };
    const auto im = [&](Id id) { return l.slice_axis(id, 0, n, n); };
    return {sum(re(even), im(odd)), difference(im(even), re(odd))};
}

/// Along the last of [n, length]. With the chirp c[k] = exp(-pi i k^2 / length), 2 j k = j^2 + k^2 - (k - j)^2 makes
/// the transform c[k] sum_j (x[j] c[j]) conj(c[k - j]): a convolution, which transforms of a power of two do.
Complex by_chirp(Lowering& l, const Complex& x, bool inverse) {
    const Shape shape = l.shape(x.re);
    const std::int64_t length = shape[1];
    const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * length - 1)));
    Numbers chirp, filter(static_cast<std::size_t>(padded));
    for (std::int64_t k = 0; k < length; ++k) {
        chirp.push_back(unit(k * k % (2 * length), length, inverse));
        filter[static_cast<std::size_t>(k)] = filter[static_cast<std::size_t>(k == 0 ? 0 : padded - k)] =
            std::conj(chirp.back()) / static_cast<double>(padded);
    }
    transform(filter);
    const Complex turn = constant(l, "chirp", chirp), factors = constant(l, "chirp's transform", filter);
    const Id zeros = l.zeros(DType::fp32, {shape[0], padded - length});
    Complex line = each(complex_product(l, x, turn), [&](Id id) { return l.concat({id, zeros}, 1); });
    line = powers_of_two(l, complex_product(l, powers_of_two(l, line, false), factors), true);
    return complex_product(l, each(line, [&](Id id) { return l.slice_axis(id, 1, 0, length); }), turn);
}

/// Along the last of [n, length].
Complex transformed(Lowering& l, const Complex& x, bool inverse) {
    const std::int64_t length = l.shape(x.re)[1];
    if (length == 1) return x;
    if (length > most_numbers) l.unsupported(fmt::format("lengths above {} are not supported", most_numbers));
    if (std::has_single_bit(static_cast<std::uint64_t>(length))) return powers_of_two(l, x, inverse);
    return length <= longest_summed ? sums(l, x, inverse) : by_chirp(l, x, inverse);
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
    if (kind == "IRFFT") return l.set({l.result_type().element, made.re, no_id, {}});
    l.set({l.result_type().element, made.re, made.im, {}});
}

}  // namespace

std::span<const LoweringRow> fourier_rows() {
    static constexpr LoweringRow rows[] = {{"fft", lower_fft}};
    return rows;
}

}  // namespace tosavk::stablehlo

// FFT2D and RFFT2D: out(oy, ox) = sum over iy, ix of in(iy, ix) * exp(-+2 pi i (iy oy / H + ix ox / W)).
#include "base/numerics/roots.hpp"
#include "ops/dot_product.hpp"
#include "ops/window.hpp"

#include <fmt/format.h>

#include <complex>
#include <numeric>

namespace tosavk {

namespace {

using Complex = std::complex<double>;

struct Sizes {
    std::int64_t n, h, w, out_w;
    bool complex_input;
};

Sizes sizes_of(const NodeView& view) {
    const Shape& shape = view.in(0).shape;
    const bool complex_input = view.node().op == Op::fft2d;
    return {shape[0], shape[1], shape[2], complex_input ? shape[2] : shape[2] / 2 + 1, complex_input};
}

/// The imaginary part of a real input's transform is 0 where the result is its own conjugate; RFFT2D leaves it out.
bool is_self_conjugate(const Sizes& s, std::int64_t oy, std::int64_t ox) {
    return !s.complex_input && (oy == 0 || 2 * oy == s.h) && (ox == 0 || 2 * ox == s.w);
}

/// exp(+-2 pi i k / m) for k < m.
std::vector<Complex> roots(std::int64_t m, bool inverse) {
    std::vector<Complex> table(static_cast<std::size_t>(m));
    for (std::int64_t k = 0; k < m; ++k) {
        const Complex root = root_of_unity(k, m);
        table[static_cast<std::size_t>(k)] = inverse ? root : std::conj(root);
    }
    return table;
}

std::vector<Complex> input_of(const RefContext& ctx) {
    const std::vector<double> real = ctx.real<double>(0);
    const std::vector<double> imaginary =
        ctx.inputs.size() > 1 ? ctx.real<double>(1) : std::vector<double>(real.size());
    std::vector<Complex> in(real.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = {real[i], imaginary[i]};
    return in;
}

/// Calls take(input element, phase) for every term of one output; phases count 1/m turns, m = max(H, W).
template <class F> void for_each_term(const Sizes& s, std::int64_t n, std::int64_t oy, std::int64_t ox, F take) {
    const std::int64_t m = std::max(s.h, s.w);
    std::size_t at = static_cast<std::size_t>(n * s.h * s.w);
    for (std::int64_t iy = 0; iy < s.h; ++iy)
        for (std::int64_t ix = 0; ix < s.w; ++ix)
            take(at++, static_cast<std::size_t>((iy * oy % s.h * (m / s.h) + ix * ox % s.w * (m / s.w)) % m));
}

/// The sum itself, term by term.
std::vector<Complex> transform_directly(const Sizes& s, const std::vector<Complex>& in, bool inverse) {
    const std::vector<Complex> table = roots(std::max(s.h, s.w), inverse);
    std::vector<Complex> out;
    for (std::int64_t n = 0; n < s.n; ++n)
        for (std::int64_t oy = 0; oy < s.h; ++oy)
            for (std::int64_t ox = 0; ox < s.out_w; ++ox) {
                turn_of_loop();
                double real = 0, imaginary = 0;
                for_each_term(s, n, oy, ox, [&](std::size_t i, std::size_t phase) {
                    const double a = in[i].real(), b = in[i].imag(), c = table[phase].real(), d = table[phase].imag();
                    real += s.complex_input ? a * c - b * d : a * c;
                    imaginary += s.complex_input ? a * d + b * c : a * d;
                });
                out.emplace_back(real, is_self_conjugate(s, oy, ox) ? 0 : imaginary);
            }
    return out;
}

/// One axis after the other: the same sums in another order, for images too large for the direct form. In fp64 the
/// difference is far below the bound without local_bound.
std::vector<Complex> transform_by_axes(const Sizes& s, const std::vector<Complex>& in, bool inverse) {
    const std::vector<Complex> along_w = roots(s.w, inverse), along_h = roots(s.h, inverse);
    std::vector<Complex> rows(static_cast<std::size_t>(s.n * s.h * s.out_w)), out(rows.size());
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    for (std::int64_t row = 0; row < s.n * s.h; ++row)
        for (std::int64_t ox = 0; ox < s.out_w; ++ox) {
            turn_of_loop();
            Complex sum = 0;
            for (std::int64_t ix = 0; ix < s.w; ++ix) sum += in[at(row * s.w + ix)] * along_w[at(ix * ox % s.w)];
            rows[at(row * s.out_w + ox)] = sum;
        }
    for (std::int64_t n = 0; n < s.n; ++n)
        for (std::int64_t oy = 0; oy < s.h; ++oy) {
            turn_of_loop();
            Complex* line = out.data() + (n * s.h + oy) * s.out_w;
            for (std::int64_t iy = 0; iy < s.h; ++iy) {
                const Complex turn = along_h[at(iy * oy % s.h)];
                const Complex* row = rows.data() + (n * s.h + iy) * s.out_w;
                for (std::int64_t ox = 0; ox < s.out_w; ++ox) line[ox] += row[ox] * turn;
            }
            for (std::int64_t ox = 0; ox < s.out_w; ++ox)
                if (is_self_conjugate(s, oy, ox)) line[ox].imag(0);
        }
    return out;
}

/// Largest image whose direct sum is quick enough for tests of a whole graph.
constexpr std::int64_t direct_limit = 4096;

void reference(RefContext& ctx) {
    const Sizes s = sizes_of(ctx.view);
    const std::vector<Complex> in = input_of(ctx);
    const bool inverse = ctx.attrs().inverse;
    const bool direct = ctx.attrs().local_bound || s.h * s.w <= direct_limit;
    const std::vector<Complex> out = direct ? transform_directly(s, in, inverse) : transform_by_axes(s, in, inverse);
    std::vector<double> real, imaginary;
    for (const Complex& value : out) {
        real.push_back(value.real());
        imaginary.push_back(value.imag());
    }
    ctx.set_reals(real, 0);
    ctx.set_reals(imaginary, 1);
}

/// Sum of |cos| and sum of |sin| over the terms of one output. Phases are the multiples of 1/m of a turn, each equally
/// often, m the larger of the two axes' orders.
Complex magnitudes_of_roots(const Sizes& s, std::int64_t oy, std::int64_t ox, const std::vector<Complex>& table) {
    const auto order = [](std::int64_t size, std::int64_t o) { return size / std::gcd(size, o % size); };
    const std::int64_t m = std::max(order(s.h, oy), order(s.w, ox));
    const double smallest = nmin(DType::fp32), times = static_cast<double>(s.h * s.w / m);
    const std::int64_t step = static_cast<std::int64_t>(table.size()) / m;
    Complex sum = 0;
    for (std::int64_t k = 0; k < m; ++k) {
        const Complex root = table[static_cast<std::size_t>(k * step)];
        sum += Complex(std::max(std::fabs(root.real()), smallest), std::max(std::fabs(root.imag()), smallest));
    }
    return sum * times;
}

/// bound[k] of output k: the operator on magnitudes.
Tolerance tolerance(RefContext& ctx, std::size_t k, std::span<const double>) {
    const Sizes s = sizes_of(ctx.view);
    const bool local = ctx.attrs().local_bound;
    const std::vector<double> real = bound_operand(ctx, 0, local);
    const std::vector<double> imaginary =
        s.complex_input ? bound_operand(ctx, 1, local) : std::vector<double>(real.size());
    const std::vector<Complex> table = roots(std::max(s.h, s.w), false);
    const double smallest = nmin(DType::fp32);
    Tolerance t;
    t.kind = Tolerance::Kind::dot_product;
    t.terms = static_cast<double>(s.h * s.w * (s.complex_input ? 2 : 1));
    for (std::int64_t n = 0; n < s.n; ++n)
        for (std::int64_t oy = 0; oy < s.h; ++oy)
            for (std::int64_t ox = 0; ox < s.out_w; ++ox) {
                double sum = 0;
                if (k == 1 && is_self_conjugate(s, oy, ox)) {
                    t.bound.push_back(0);
                    continue;
                }
                if (local) {
                    for_each_term(s, n, oy, ox, [&](std::size_t i, std::size_t phase) {
                        const double c = std::max(std::fabs(table[phase].real()), smallest);
                        const double d = std::max(std::fabs(table[phase].imag()), smallest);
                        sum += real[i] * (k == 0 ? c : d) + imaginary[i] * (k == 0 ? d : c);
                    });
                } else {
                    // All magnitudes are one number: the largest of the tensor.
                    const Complex all = magnitudes_of_roots(s, oy, ox, table);
                    sum = real[0] * (k == 0 ? all.real() : all.imag()) +
                          imaginary[0] * (k == 0 ? all.imag() : all.real());
                }
                t.bound.push_back(sum);
            }
    return t;
}

void require_power_of_two(const NodeView& view, std::int64_t size, const char* axis) {
    if ((size & (size - 1)) != 0)
        view.fail(fmt::format("{} is {}, but must be a power of two", axis, size), "input_real");
}

std::vector<Shape> infer(const NodeView& view) {
    const Shape& shape = view.in(0).shape;
    if (shape.size() != 3) view.fail(fmt::format("input_real {} must have rank 3", to_string(shape)), "input_real");
    if (view.input_count() > 1 && view.in(1).shape != shape)
        view.fail(fmt::format("input_imag {} must have the shape of input_real {}", to_string(view.in(1).shape),
                              to_string(shape)),
                  "input_imag");
    require_power_of_two(view, shape[1], "H");
    require_power_of_two(view, shape[2], "W");
    const Sizes s = sizes_of(view);
    return {{s.n, s.h, s.out_w}, {s.n, s.h, s.out_w}};
}

void check(const NodeView& view, const Level& level) {
    for (const std::size_t axis : {1u, 2u}) {
        const std::int64_t size = view.in(0).shape[axis];
        if (size > level.max_kernel)
            view.fail(fmt::format("{} is {}, but level {} allows {}", axis == 1 ? "H" : "W", size, level.name,
                                  level.max_kernel),
                      "input_real");
    }
}

OpDef fft_op(Op op, std::vector<const char*> inputs, std::vector<const char*> attributes) {
    OpDef def;
    def.op = op;
    def.type_vars = {"in_out_t"};
    for (const char* input : inputs)
        def.inputs.push_back({.name = input, .type = "in_out_t", .min_rank = 3, .max_rank = 3});
    for (const char* output : {"output_real", "output_imag"})
        def.outputs.push_back({.name = output, .type = "in_out_t", .min_rank = 3, .max_rank = 3});
    def.attributes = std::move(attributes);
    def.rows = {{{DType::fp32}, "EXT-FFT"}};
    def.infer = infer;
    def.check = check;
    def.reference = reference;
    def.tolerance = tolerance;
    return def;
}

}  // namespace

std::vector<OpDef> fft_ops() {
    return {fft_op(Op::fft2d, {"input_real", "input_imag"}, {"inverse", "local_bound"}),
            fft_op(Op::rfft2d, {"input_real"}, {"local_bound"})};
}

}  // namespace tosavk

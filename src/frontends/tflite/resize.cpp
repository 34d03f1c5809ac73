// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR. TFLite finds its places in floats, or with 10 fraction bits. RESIZE goes
// by rational steps: it is used where it gives the same, else pixels are gathered at the places computed here.
#include "frontends/tflite/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace tosavk {

namespace {

using Type = tflite::TensorType;

struct Resize {
    bool align_corners = false, half_pixel = false;
    std::int64_t batch = 1, channels = 1;
    std::array<std::int64_t, 2> in{}, out{};  // y, x
    std::int64_t positions() const { return batch * out[0] * out[1]; }
    Shape result() const { return {batch, out[0], out[1], channels}; }
};

template <class Table> Resize read_resize(Lowering& l) {
    Resize r;
    if (const Table* options = l.options<Table>()) {
        r.align_corners = options->align_corners();
        r.half_pixel = options->half_pixel_centers();
    }
    if (r.align_corners && r.half_pixel) l.fail("align_corners and half_pixel_centers exclude each other");
    if (l.in(0).type != l.out().type)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    const Shape& from = l.shape(l.value(0));
    if (from.size() != 4) l.fail(fmt::format("its input has rank {}, not 4", from.size()));
    const std::vector<std::int64_t> size = l.const_ints(1);
    if (size.size() != 2) l.fail(fmt::format("its size has {} elements, not 2", size.size()));
    for (const std::int64_t s : size) {
        if (s < 1) l.fail(fmt::format("size {} must be at least 1", s));
        l.narrow(s, "size");
    }
    r.batch = from[0], r.channels = from[3];
    r.in = {from[1], from[2]};
    r.out = {size[0], size[1]};
    // What is computed here of every row and column, and maybe of every pixel, must be affordable.
    if (r.out[0] > (std::int64_t{1} << 23) / r.out[1] / std::max<std::int64_t>(r.batch, 1))
        l.unsupported(fmt::format("an output of {}x{} is too large", size[0], size[1]));
    return r;
}

// ---- RESIZE of TOSA -----------------------------------------------------------------------------------------------

/// Element k of the output lies at (k * d + offset) / n of the input.
struct Steps {
    std::int64_t n = 1, d = 1, offset = 0, border = 0;
    std::int64_t at(std::int64_t k) const { return k * d + offset; }
};

/// Both sides of the fraction without what they have in common, and the border that makes `out` elements.
Steps make_steps(std::int64_t n, std::int64_t d, std::int64_t offset, std::int64_t in, std::int64_t out) {
    const std::int64_t common = std::gcd(std::gcd(n, d), offset);
    Steps s{n / common, d / common, offset / common};
    s.border = (out - 1) * s.d + s.offset - (in - 1) * s.n;
    return s;
}

/// The exact places that TFLite's floats stand for. `nearest` rounds down where TOSA rounds half up.
Steps exact_steps(const Resize& r, std::size_t axis, bool nearest) {
    const std::int64_t in = r.in[axis], out = r.out[axis];
    if (r.align_corners && out > 1) return make_steps(2 * (out - 1), 2 * (in - 1), 0, in, out);
    const std::int64_t half = r.half_pixel ? in : 0;
    return make_steps(2 * out, 2 * in, half - (nearest || r.half_pixel ? out : 0), in, out);
}

bool tosa_takes(const Lowering& l, const Steps& s, std::int64_t in, std::int64_t out) {
    constexpr std::int64_t max_size = 16384;
    const std::int64_t common = std::gcd(s.n, s.d);
    return in < max_size && out < max_size && s.d > 0 && s.n <= 2048 && s.d < 16 * s.n && s.offset >= -s.n &&
           s.offset < 16 * s.n && s.border >= -16 * s.n && s.border < s.n &&
           s.n / common <= l.level().max_scale * (s.d / common);
}

ValueId add_resize(Lowering& l, ValueId x, ResizeMode mode, const std::array<Steps, 2>& steps, DType to) {
    const auto& [y, w] = steps;
    const std::int64_t scale[] = {y.n, y.d, w.n, w.d}, offset[] = {y.offset, w.offset}, border[] = {y.border, w.border};
    Attributes attrs;
    attrs.mode = mode;
    return l.add(
        Op::resize,
        {x, l.constant_ints("scale", DType::shape, {4}, scale), l.constant_ints("offset", DType::shape, {2}, offset),
         l.constant_ints("border", DType::shape, {2}, border)},
        to, attrs);
}

// ---- gathered pixels ----------------------------------------------------------------------------------------------

/// The pixel at row rows[y] and column columns[x], for each y and x of the output. TFLite computes addresses from both,
/// so that a column behind the last one is in the next row; what lies behind the tensor is its last pixel here.
ValueId gather_pixels(Lowering& l, const Resize& r, ValueId x, const std::vector<std::int64_t>& rows,
                      const std::vector<std::int64_t>& columns) {
    const std::int64_t pixels = r.batch * r.in[0] * r.in[1];
    std::vector<std::int64_t> indices;
    indices.reserve(static_cast<std::size_t>(r.positions()));
    for (std::int64_t b = 0; b < r.batch; ++b) {
        for (const std::int64_t row : rows) {
            for (const std::int64_t column : columns)
                indices.push_back(std::min((b * r.in[0] + row) * r.in[1] + column, pixels - 1));
        }
    }
    const ValueId at = l.constant_ints("pixels", DType::i32, {1, r.positions()}, indices);
    const ValueId y = l.add(Op::gather, {l.reshape(x, {1, pixels, r.channels}), at}, l.type(x));
    return l.reshape(y, r.result());
}

/// Where the elements of one axis lie: between `low` and `high`, at `weight` from `low` on (in 1024ths, if integers).
template <class T> struct Places {
    std::vector<std::int64_t> low, high;
    std::vector<T> weight;
};

/// TFLite's arithmetic for FLOAT32 and UINT8.
Places<float> float_places(const Resize& r, std::size_t axis, std::vector<float>* places = nullptr) {
    const std::int64_t in = r.in[axis], out = r.out[axis];
    float scale = static_cast<float>(in) / static_cast<float>(out);
    if (r.align_corners && out > 1) scale = static_cast<float>(in - 1) / static_cast<float>(out - 1);
    Places<float> p;
    for (std::int64_t k = 0; k < out; ++k) {
        const auto number = static_cast<float>(k);
        const float scaled = (r.half_pixel ? number + 0.5f : number) * scale;
        const float at = r.half_pixel ? scaled - 0.5f : scaled;
        if (places) places->push_back(at);
        p.low.push_back(std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(at)), 0));
        p.high.push_back(std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(at)), in - 1));
        p.weight.push_back(at - static_cast<float>(p.low.back()));
    }
    return p;
}

constexpr std::int64_t fine = 1024;  // the parts of a pixel for INT8 and INT16

Steps fixed_steps(const Resize& r, std::size_t axis) {
    const std::int64_t in = r.in[axis], out = r.out[axis];
    std::int64_t d = (fine * in + out / 2) / out;
    if (r.align_corners && out > 1) d = (fine * (in - 1) + (out - 1) / 2) / (out - 1);
    Steps s{fine, d, r.half_pixel ? d / 2 - fine / 2 : 0};
    s.border = (out - 1) * d + s.offset - (in - 1) * fine;
    return s;
}

/// TFLite's arithmetic for INT8 and INT16; its division rounds towards zero.
Places<std::int64_t> fixed_places(const Resize& r, std::size_t axis) {
    const Steps steps = fixed_steps(r, axis);
    Places<std::int64_t> p;
    for (std::int64_t k = 0; k < r.out[axis]; ++k) {
        const std::int64_t at = steps.at(k);
        p.low.push_back(std::max<std::int64_t>(at / fine, 0));
        p.high.push_back(std::min<std::int64_t>((at + fine - 1) / fine, r.in[axis] - 1));
        p.weight.push_back(at - fine * p.low.back());
    }
    return p;
}

// ---- bilinear -----------------------------------------------------------------------------------------------------

void float_bilinear(Lowering& l, const Resize& r, ValueId x) {
    const bool is_unsigned = l.type(x) == DType::i8;
    std::array<Steps, 2> steps;
    std::array<Places<float>, 2> places;
    bool takes = true, exact = true;
    double error = 0;
    for (std::size_t a = 0; a < 2; ++a) {
        steps[a] = exact_steps(r, a, false);
        takes = takes && tosa_takes(l, steps[a], r.in[a], r.out[a]);
        std::vector<float> at;
        places[a] = float_places(r, a, &at);
        const auto n = static_cast<double>(steps[a].n);
        for (std::int64_t k = 0; k < r.out[a]; ++k) {
            error = std::max(error, std::abs(static_cast<double>(at[static_cast<std::size_t>(k)]) -
                                             static_cast<double>(steps[a].at(k)) / n));
        }
        // Then no product and no sum of bytes is ever rounded.
        exact = exact && steps[a].n <= 256 && std::has_single_bit(static_cast<std::uint64_t>(steps[a].n));
    }
    // What the places differ by, the values differ by at most in the range of the values.
    if (!is_unsigned && takes && error < 1e-6) return l.set(add_resize(l, x, ResizeMode::bilinear, steps, DType::fp32));
    if (is_unsigned && takes && exact && error == 0) {
        const ValueId sums = add_resize(l, x, ResizeMode::bilinear, steps, DType::i32);
        Scaling half_up;
        half_up.multiplier = {1 << 30};
        half_up.shift = {30 + std::countr_zero(static_cast<std::uint64_t>(steps[0].n * steps[1].n))};
        return l.set(l.rescale(sums, DType::i8, half_up));
    }

    const auto weights = [&](std::size_t axis, bool high) {
        std::vector<float> w = places[axis].weight;
        if (!high) std::transform(w.begin(), w.end(), w.begin(), [](float v) { return 1.0f - v; });
        return l.constant_floats("weights", axis == 0 ? Shape{1, r.out[0], 1, 1} : Shape{1, 1, r.out[1], 1}, w);
    };
    const ValueId wy[] = {weights(0, false), weights(0, true)}, wx[] = {weights(1, false), weights(1, true)};
    const auto term = [&](std::size_t y, std::size_t w) {
        ValueId p = gather_pixels(l, r, x, y ? places[0].high : places[0].low, w ? places[1].high : places[1].low);
        if (is_unsigned) p = l.add(Op::add, {l.cast(p, DType::fp32), l.splat(p, DType::fp32, 128)}, DType::fp32);
        return l.mul(l.mul(p, wy[y], DType::fp32), wx[w], DType::fp32);
    };
    // In TFLite's order.
    ValueId sum = l.add(Op::add, {term(0, 0), term(1, 0)}, DType::fp32);
    sum = l.add(Op::add, {sum, term(0, 1)}, DType::fp32);
    sum = l.add(Op::add, {sum, term(1, 1)}, DType::fp32);
    if (!is_unsigned) return l.set(sum);
    const ValueId rounded =
        l.add(Op::floor, {l.add(Op::add, {sum, l.splat(sum, DType::fp32, 0.5)}, DType::fp32)}, DType::fp32);
    l.set(l.cast(l.add(Op::sub, {rounded, l.splat(sum, DType::fp32, 128)}, DType::fp32), DType::i8));
}

/// By RESIZE, whose sums are pixels times 2^20; TFLite rounds them half away from zero.
ValueId fixed_by_resize(Lowering& l, ValueId x, const std::array<Steps, 2>& steps) {
    if (l.type(x) == DType::i8) {
        const ValueId sum = add_resize(l, x, ResizeMode::bilinear, steps, DType::i32);
        Scaling doubled, rounded;
        doubled.multiplier = rounded.multiplier = {1 << 30};
        doubled.shift = {29};
        rounded.shift = {51};
        rounded.rounding = Rounding::double_round;
        return l.rescale(l.rescale(sum, DType::i32, doubled), DType::i8, rounded);
    }
    // i48 is only ever rounded half up. The same of all bits inverted, -x - 1, is the other side's rounding less 1.
    const auto half_up = [&](ValueId v) {
        Scaling s;
        s.scale32 = false;
        s.multiplier = {1 << 14};
        s.shift = {34};
        return l.rescale(add_resize(l, v, ResizeMode::bilinear, steps, DType::i48), DType::i32, s);
    };
    const ValueId up = half_up(x);
    const ValueId down = l.add(Op::bitwise_not, {half_up(l.add(Op::bitwise_not, {x}, DType::i16))}, DType::i32);
    const ValueId positive = l.add(Op::greater, {up, l.splat(up, DType::i32, 0)}, DType::boolean);
    return l.cast(l.add(Op::select, {positive, up, down}, DType::i32), DType::i16);
}

void fixed_bilinear(Lowering& l, const Resize& r, ValueId x) {
    const DType i32 = DType::i32;
    const std::array<Steps, 2> steps{fixed_steps(r, 0), fixed_steps(r, 1)};
    if (tosa_takes(l, steps[0], r.in[0], r.out[0]) && tosa_takes(l, steps[1], r.in[1], r.out[1]))
        return l.set(fixed_by_resize(l, x, steps));

    const std::array<Places<std::int64_t>, 2> places{fixed_places(r, 0), fixed_places(r, 1)};
    const auto weights = [&](std::size_t axis, bool high) {
        std::vector<std::int64_t> w = places[axis].weight;
        if (!high) std::transform(w.begin(), w.end(), w.begin(), [](std::int64_t v) { return fine - v; });
        return l.constant_ints("weights", i32, axis == 0 ? Shape{1, r.out[0], 1, 1} : Shape{1, 1, r.out[1], 1}, w);
    };
    const ValueId wy[] = {weights(0, false), weights(0, true)}, wx[] = {weights(1, false), weights(1, true)};
    const auto binary = [&](Op op, ValueId a, ValueId b) { return l.add(op, {a, b}, i32); };
    const auto number = [&](double v) { return l.splat(x, i32, v); };
    const auto shift_right = [&](ValueId v) { return binary(Op::arithmetic_right_shift, v, number(10)); };
    const auto low_bits = [&](ValueId v) { return binary(Op::bitwise_and, v, number(fine - 1)); };
    // Both rows of a column come to 26 bits at most. Their upper and lower parts are summed over the columns apart, so
    // that 32 bits are enough: the sum is high * 2^10 + low.
    std::array<ValueId, 2> column{};
    for (std::size_t w = 0; w < 2; ++w) {
        const auto& columns = w ? places[1].high : places[1].low;
        const ValueId upper = l.cast(gather_pixels(l, r, x, places[0].low, columns), i32);
        const ValueId lower = l.cast(gather_pixels(l, r, x, places[0].high, columns), i32);
        column[w] = binary(Op::add, l.mul(upper, wy[0], i32), l.mul(lower, wy[1], i32));
    }
    const auto across = [&](ValueId a, ValueId b) {
        return binary(Op::add, l.mul(a, wx[0], i32), l.mul(b, wx[1], i32));
    };
    const ValueId carry = across(low_bits(column[0]), low_bits(column[1]));
    const ValueId high = binary(Op::add, across(shift_right(column[0]), shift_right(column[1])), shift_right(carry));
    // Half away from zero. Below zero what `low` has decides whether a half is one.
    const auto bool_at = [&](Op op, ValueId v) { return l.add(op, {v, number(0)}, DType::boolean); };
    const ValueId rest = l.cast(bool_at(Op::greater, low_bits(carry)), i32);
    const ValueId up = shift_right(binary(Op::add, high, number(fine / 2)));
    const ValueId down = shift_right(binary(Op::add, binary(Op::add, high, rest), number(fine / 2 - 1)));
    const ValueId rounded = l.add(Op::select, {bool_at(Op::greater, high), up, down}, i32);
    l.set(l.cast(rounded, l.type(x)));
}

void lower_resize_bilinear(Lowering& l) {
    const Resize r = read_resize<tflite::ResizeBilinearOptions>(l);
    const Type type = l.in(0).type;
    const ValueId x = l.value(0);
    if (type == Type::FLOAT32 || type == Type::UINT8) return float_bilinear(l, r, x);
    if (type == Type::INT8 || type == Type::INT16) return fixed_bilinear(l, r, x);
    l.unsupported(fmt::format("type {} is not supported", name_of(type)));
}

// ---- nearest ------------------------------------------------------------------------------------------------------

/// TFLite's arithmetic.
std::vector<std::int64_t> nearest_places(const Resize& r, std::size_t axis) {
    const std::int64_t in = r.in[axis], out = r.out[axis];
    const float scale = r.align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                                   : static_cast<float>(in) / static_cast<float>(out);
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < out; ++k) {
        const float at = (static_cast<float>(k) + (r.half_pixel ? 0.5f : 0.0f)) * scale;
        const float whole = r.align_corners ? std::round(at) : std::floor(at);
        places.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(whole), 0, in - 1));
    }
    return places;
}

void lower_resize_nearest_neighbor(Lowering& l) {
    const Resize r = read_resize<tflite::ResizeNearestNeighborOptions>(l);
    ValueId x = l.value(0);
    const DType type = l.type(x);
    if (l.is_empty(x)) {
        const Shape to{r.batch, r.out[0], r.out[1], r.channels};
        if (!has_no_elements(to)) l.unsupported("it makes elements of a tensor without any");
        return l.set(l.empty(type, to));
    }
    std::array<Steps, 2> steps;
    std::array<std::vector<std::int64_t>, 2> places;
    bool takes = type == DType::i8 || type == DType::i16 || type == DType::fp32 || type == DType::fp16;
    for (std::size_t a = 0; a < 2; ++a) {
        steps[a] = exact_steps(r, a, !r.align_corners || r.out[a] == 1);
        places[a] = nearest_places(r, a);
        takes = takes && tosa_takes(l, steps[a], r.in[a], r.out[a]);
        for (std::int64_t k = 0; k < r.out[a] && takes; ++k) {
            const std::int64_t twice = 2 * steps[a].at(k) + steps[a].n, n = 2 * steps[a].n;
            const std::int64_t whole = twice >= 0 ? twice / n : -((n - 1 - twice) / n);
            takes = std::clamp<std::int64_t>(whole, 0, r.in[a] - 1) == places[a][static_cast<std::size_t>(k)];
        }
    }
    if (takes) return l.set(add_resize(l, x, ResizeMode::nearest, steps, type));
    if (type == DType::boolean) x = l.cast(x, DType::i8);
    x = gather_pixels(l, r, x, places[0], places[1]);
    l.set(l.cast(x, type));
}

}  // namespace

OperatorRows resize_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::RESIZE_BILINEAR, lower_resize_bilinear},
        {B::RESIZE_NEAREST_NEIGHBOR, lower_resize_nearest_neighbor, moves_data},
    };
    return rows;
}

}  // namespace tosavk

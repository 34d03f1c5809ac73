// L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION, over channels.
#include "frontends/tflite/fixed_values.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tosavk {

namespace {

using Type = tflite::TensorType;

ValueId squares_along_last(Lowering& l, ValueId x) {
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(l.shape(x).size()) - 1;
    return l.add(Op::reduce_sum, {l.mul(x, x, l.type(x))}, l.type(x), attrs);
}

/// Integer arithmetic on i32, with the constants that `like` broadcasts.
struct Integers {
    Lowering& l;
    ValueId like;

    ValueId number(std::int64_t v) const { return l.splat(like, DType::i32, static_cast<double>(v)); }
    ValueId binary(Op op, ValueId a, ValueId b) const { return l.add(op, {a, b}, DType::i32); }
    ValueId add(ValueId a, std::int64_t v) const { return binary(Op::add, a, number(v)); }
    ValueId left(ValueId a, std::int64_t bits) const { return binary(Op::logical_left_shift, a, number(bits)); }
    ValueId right(ValueId a, std::int64_t bits) const { return binary(Op::arithmetic_right_shift, a, number(bits)); }
    /// a * b / 2^31, rounded half up.
    ValueId mul31(ValueId a, ValueId b) const { return l.add(Op::mul, {a, b, l.scalar(DType::i8, 31)}, DType::i32); }
    ValueId less(ValueId a, std::int64_t v) const { return l.add(Op::greater, {number(v), a}, DType::boolean); }
    ValueId select(ValueId which, ValueId a, ValueId b) const { return l.add(Op::select, {which, a, b}, DType::i32); }
};

}  // namespace

elementwise::InverseRoot elementwise::inverse_root(Lowering& l, ValueId n) {
    const Integers i{l, n};
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    // n times 4^pairs has 3 or 4 leading zeros; pairs may be -1.
    const ValueId zeros = i.l.add(Op::clz, {n}, DType::i32);
    const ValueId pairs = i.add(i.right(i.add(zeros, -1), 1), -1);
    const ValueId bits = i.left(i.binary(Op::maximum, pairs, i.number(0)), 1);
    const ValueId normal = i.select(i.less(pairs, 0), i.right(n, 2), i.binary(Op::logical_left_shift, n, bits));
    // Five steps of Newton's with 28 fraction bits, from 1: x = 3/2 x - n/2 x^3.
    const ValueId half = i.right(i.add(i.right(normal, 1), 1), 1);
    ValueId x = i.number(1 << 28);
    for (int step = 0; step < 5; ++step) {
        const ValueId cube = i.mul31(i.mul31(x, x), x);  // with 22 fraction bits
        const ValueId fits = i.less(cube, 1 << 25);
        const ValueId cubed = i.select(fits, i.left(cube, 6), i.number(most));
        const ValueId next = i.binary(Op::sub, i.mul31(i.number((1 << 28) + (1 << 27)), x), i.mul31(half, cubed));
        x = i.left(next, 3);
    }
    x = i.mul31(x, i.number(1518500250));  // times sqrt(1/2)
    // A shift to the left goes into the multiplier.
    const ValueId shift = i.binary(Op::sub, i.number(11), pairs);
    const ValueId zero = i.number(0);
    const ValueId up = i.binary(Op::maximum, i.binary(Op::sub, zero, shift), zero);
    const ValueId tiny = i.less(n, 2);
    return {i.select(tiny, i.number(most), i.binary(Op::logical_left_shift, x, up)),
            i.select(tiny, zero, i.binary(Op::maximum, shift, zero))};
}

ValueId elementwise::multiply(Lowering& l, ValueId x, const InverseRoot& root) {
    const Integers i{l, x};
    const ValueId product = i.mul31(x, root.multiplier);
    // Half away from zero.
    Attributes rounded;
    rounded.round = true;
    const ValueId size =
        l.add(Op::arithmetic_right_shift, {l.add(Op::abs, {product}, DType::i32), root.shift}, DType::i32, rounded);
    return i.select(i.less(product, 0), i.binary(Op::sub, i.number(0), size), size);
}

namespace {

void l2_normalization_int8(Lowering& l, ValueId x) {
    const Quant in = l.quant(l.in(0)), out = l.quant(l.out());
    if (out.scale != 1.0f / 128 || out.zero_point != 0)
        l.fail(fmt::format("its output must have scale 1/128 and the middle as zero point, not {} and {}", out.scale,
                           out.zero_point));
    const Integers i{l, x};
    elementwise::InverseRoot root = elementwise::inverse_root(l, squares_along_last(l, l.widen(x, in.zero_point)));
    // The 7 bits of the result's scale: UINT8 has them in the number, INT8 in the shift, as far as it goes.
    ValueId number = l.widen(x, in.zero_point);
    if (l.in(0).type == Type::UINT8) {
        number = i.left(number, 7);
    } else {
        const ValueId rest = i.add(root.shift, -7), zero = i.number(0);
        const ValueId left = i.binary(Op::maximum, i.binary(Op::sub, zero, rest), zero);
        number = i.binary(Op::logical_left_shift, number, left);
        root.shift = i.binary(Op::maximum, rest, zero);
    }
    l.set(l.requantize(elementwise::multiply(l, number, root), DType::i8, unit_multiplier, 0, 0));
}

void lower_l2_normalization(Lowering& l) {
    const auto* options = l.options<tflite::L2NormOptions>();
    if (options && options->fused_activation_function() != tflite::ActivationFunctionType::NONE)
        l.fail("it has a fused activation, which its kernels do not know");
    const ValueId x = l.value(0);
    if (l.shape(x).empty()) l.fail("its input is a scalar");
    if (l.in(0).type != l.out().type || (l.type(x) != DType::fp32 && l.type(x) != DType::i8))
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    if (l.type(x) == DType::i8) return l2_normalization_int8(l, x);
    const ValueId norm = l.add(Op::sqrt, {squares_along_last(l, x)}, DType::fp32);
    const ValueId least = l.splat(x, DType::fp32, static_cast<double>(1e-6f));
    l.set(l.add(Op::divide, {x, l.add(Op::maximum, {norm, least}, DType::fp32)}, DType::fp32));
}

void lower_local_response_normalization(Lowering& l) {
    const auto* options = l.options<tflite::LocalResponseNormalizationOptions>();
    if (!options) l.fail("its options are missing");
    if (l.in(0).type != Type::FLOAT32 || l.out().type != Type::FLOAT32)
        l.unsupported(fmt::format("types {} -> {} are not supported", name_of(l.in(0).type), name_of(l.out().type)));
    const ValueId x = l.value(0);
    const Shape shape = l.shape(x);
    if (shape.size() != 4) l.fail(fmt::format("its input has rank {}, not 4", shape.size()));
    if (options->radius() < 0) l.fail(fmt::format("radius {} must be at least 0", options->radius()));
    for (const float v : {options->bias(), options->alpha(), options->beta()}) {
        if (!std::isfinite(v)) l.fail(fmt::format("one of its numbers is {}", v));
    }
    // The sum over channels from `radius` before to `radius` - 1 behind is a convolution along them with ones.
    const std::int64_t channels = shape[3], radius = std::min<std::int64_t>(options->radius(), channels);
    const DType real = DType::fp32;
    ValueId sums = l.splat(x, real, 0);
    if (radius > 0) {
        const std::int64_t window = 2 * radius;
        Attributes attrs;
        attrs.stride = attrs.dilation = {1, 1};
        attrs.pad = {0, 0, l.narrow(radius, "radius"), l.narrow(radius - 1, "radius")};
        attrs.acc_type = real;
        const std::vector<float> ones(static_cast<std::size_t>(window), 1.0f);
        const ValueId lines = l.reshape(l.mul(x, x, real), {element_count(shape) / channels, 1, channels, 1});
        const ValueId zero = l.scalar(real, 0), taps = l.constant_floats("ones", {1, 1, window, 1}, ones);
        sums = l.reshape(l.add(Op::conv2d, {lines, taps, zero, zero, zero}, real, attrs), shape);
    }
    const auto number = [&](float v) { return l.splat(x, real, static_cast<double>(v)); };
    const ValueId base = l.add(Op::add, {l.mul(sums, number(options->alpha()), real), number(options->bias())}, real);
    l.set(l.mul(x, l.add(Op::pow, {base, number(-options->beta())}, real), real));
}

}  // namespace

OperatorRows normalization_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::L2_NORMALIZATION, lower_l2_normalization},
        {B::LOCAL_RESPONSE_NORMALIZATION, lower_local_response_normalization},
    };
    return rows;
}

}  // namespace tosavk

// Softmax, layer norm and GELU in int8, in the steps that a quantizer's TFLite operators lower to: each tensor between
// two operators is i8 with a scale of its own, and RESCALE leads from one to the next.
#include "frontends/problems/networks.hpp"

#include <algorithm>
#include <cmath>

namespace tosavk {

namespace {

constexpr double top = 255;  // i8 above a zero point of -128

/// Operators of i32. A term or factor of i8 without its zero point is at most 255.
class Wide {
public:
    explicit Wide(Layers& layers) : layers_(layers) {}

    ValueId widen(ValueId x, double factor = 1) { return layers_.rescale(x, DType::i32, factor, 0, false); }
    ValueId constant(ValueId like, std::int64_t number) {
        const Shape ones(layers_.shape(like).size(), 1);
        return layers_.builder().constant_ints("number", DType::i32, ones, std::vector<std::int64_t>{number});
    }
    ValueId reduce(Op op, ValueId x) {
        Attributes attrs;
        attrs.axis = static_cast<std::int32_t>(layers_.shape(x).size()) - 1;
        const ValueId y = layers_.builder().add1(op, {x}, DType::i32, attrs);
        layers_.set_magnitude(y, layers_.magnitude(x));
        return y;
    }
    ValueId minus(ValueId a, std::int64_t number) { return layers_.binary(Op::sub, a, constant(a, number)); }
    ValueId mul(ValueId a, ValueId b) {
        const ValueId y = layers_.mul(a, b);
        layers_.set_magnitude(y, layers_.magnitude(a) * layers_.magnitude(b));
        return y;
    }
    ValueId shift_right(ValueId x, ValueId amount, bool round) {
        Attributes attrs;
        attrs.round = round;
        return layers_.builder().add1(Op::arithmetic_right_shift, {x, amount}, DType::i32, attrs);
    }
    /// TABLE of i16 for a function from 0 to 1 of the entry's number, in 15 bits: the 7 bits between entries go again.
    template <typename F> ValueId table(ValueId x, F f) {
        std::vector<std::int64_t> values;
        for (int k = 0; k <= 512; ++k) values.push_back(std::llround(max_of(DType::i16) * f(k)));
        const ValueId entries = layers_.builder().constant_ints("table", DType::i16, {513}, values);
        const ValueId y = layers_.builder().add1(Op::table, {x, entries}, DType::i32);
        return shift_right(y, constant(y, 7), true);
    }

private:
    Layers& layers_;
};

/// TFLite's MEAN over the last axis: `factor` from the scale of x to that of the mean.
ValueId mean(Layers& layers, ValueId x, double factor, std::int64_t zero_point) {
    Wide wide(layers);
    // At most 255 * channels: 2^18 for 768.
    const ValueId sum = wide.reduce(Op::reduce_sum, wide.widen(x));
    const auto channels = static_cast<double>(layers.shape(x).back());
    return layers.rescale(sum, DType::i8, factor / channels, zero_point, false);
}

}  // namespace

ValueId quantized_table(Layers& layers, ValueId x, std::int64_t zero_point, const std::function<double(int)>& f) {
    std::vector<std::int64_t> values;
    for (int q = -128; q < 128; ++q)
        values.push_back(std::clamp<std::int64_t>(std::llround(f(q)) + zero_point, -128, 127));
    const ValueId entries = layers.builder().constant_ints("table", DType::i8, {256}, values);
    const ValueId y = layers.builder().add1(Op::table, {x, entries}, DType::i8);
    layers.builder().value(y).zero_point = zero_point;
    return y;
}

ValueId quantized_softmax(Layers& layers, ValueId x, double deviation) {
    Wide wide(layers);
    const double scale = deviation / layers.magnitude(x);
    const ValueId scores = wide.widen(x);
    // -255 to 0: of the table's 513 entries one each, without interpolation, and 128 * 255 fits i16.
    const ValueId below = layers.binary(Op::sub, scores, wide.reduce(Op::reduce_max, scores));
    const ValueId e = wide.table(layers.rescale(below, DType::i16, 128, 0, false),
                                 [&](int k) { return std::exp(scale * std::min(k - 256, 0)); });

    // The largest e of a row is 2^15 - 1: sums of up to 8192 lie from there to below 2^28.
    const ValueId sum = wide.reduce(Op::reduce_sum, e);
    const ValueId zeros = layers.unary(Op::clz, sum);  // 4 to 17
    // sum = (1 + f) * 2^(31 - zeros): first as (1 + f) * 2^30 < 2^31, then f * 2^16 - 2^15, which fills i16.
    const ValueId leading = layers.binary(Op::logical_left_shift, sum, wide.minus(zeros, 1));
    const ValueId fraction = wide.minus(wide.shift_right(leading, wide.constant(leading, 14), false), 3 << 15);
    const ValueId inverse = wide.table(layers.cast(fraction, DType::i16), [](int k) { return 1 / (1 + k / 512.0); });

    // A product below 2^30; shifted by 14 to 27 it has 15 fraction bits, and TFLite's result 8.
    const ValueId amount = layers.binary(Op::sub, wide.constant(zeros, 31), zeros);
    const ValueId probability = wide.shift_right(wide.mul(e, inverse), amount, true);
    const ValueId y = layers.rescale(probability, DType::i8, 1.0 / 128, -128, false);
    // Few scores take most of the row.
    layers.set_magnitude(y, 256 * 0.5 / std::sqrt(static_cast<double>(layers.shape(x).back())));
    return y;
}

ValueId quantized_normalize(Layers& layers, ValueId x) {
    Wide wide(layers);
    const double deviation = layers.magnitude(x);
    constexpr double finer = 16;  // steps of the mean in one of x, for means are near 0
    const ValueId m = mean(layers, x, finer, -3);
    layers.set_magnitude(m, 24);
    // x - mean with `bits` more bits: below 272 << bits.
    const auto difference = [&](int bits) {
        const double unit = std::exp2(bits);
        const ValueId a = wide.widen(x, unit), b = wide.widen(m, unit / finer);
        const ValueId y = layers.binary(Op::sub, a, b);
        layers.set_magnitude(y, unit * deviation);
        return y;
    };
    const ValueId centred = layers.requantize(difference(20), DType::i8, Activation::none, false);

    // TFLite's SQUARED_DIFFERENCE, of 7 bits of which it halves one away: below (272 << 6)^2 < 2^29. Three deviations
    // of x become the top.
    const ValueId d = difference(6);
    const double square = std::pow(layers.magnitude(d), 2);
    const ValueId squares = layers.rescale(wide.mul(d, d), DType::i8, top / 9 / square, -128, false);
    // The usual variance, a ninth of the top, comes to lie in the middle of i8, and so does its root's inverse.
    const ValueId variance = mean(layers, squares, 4.5, -128);
    const ValueId inverse = quantized_table(
        layers, variance, -128, [](int q) { return top / 2 / std::sqrt(std::max(q + 128, 1) / (top / 2)); });
    layers.set_magnitude(inverse, top / 2);

    // Products of two without zero points are below 2^16.
    const auto times = [&](ValueId a, ValueId b) {
        const ValueId wide_a = wide.widen(a), wide_b = wide.widen(b);
        return layers.requantize(wide.mul(wide_a, wide_b), DType::i8, Activation::none, false);
    };
    Shape per_channel(layers.shape(x).size(), 1);
    per_channel.back() = layers.shape(x).back();
    const ValueId y = times(times(centred, inverse), layers.weights("gamma", DType::i8, per_channel, 1));
    // Terms of a tenth, with 20 more bits: below 2^29 together.
    const ValueId beta = layers.weights("beta", DType::i8, per_channel, 0.1);
    const double unit = std::exp2(20), tenth = 0.1 * layers.magnitude(y) / layers.magnitude(beta);
    const ValueId wide_y = wide.widen(y, unit), wide_beta = wide.widen(beta, unit * tenth);
    const ValueId sum = layers.binary(Op::add, wide_y, wide_beta);
    layers.set_magnitude(sum, unit * layers.magnitude(y));
    return layers.requantize(sum, DType::i8, Activation::none, false);
}

ValueId quantized_gelu(Layers& layers, ValueId x) {
    // From GELU's least value, -0.17, to that of 3 deviations.
    constexpr double step = 3.17 / top;
    const double deviation = layers.magnitude(x);
    const std::int64_t zero_point = -128 + std::llround(0.17 / step);
    const ValueId y = quantized_table(layers, x, zero_point, [&](int q) {
        const double real = static_cast<double>(q - layers.value(x).zero_point) / deviation;
        return real / 2 * (1 + std::erf(real * std::sqrt(0.5))) / step;
    });
    layers.set_magnitude(y, 0.65 / step);
    return y;
}

}  // namespace tosavk

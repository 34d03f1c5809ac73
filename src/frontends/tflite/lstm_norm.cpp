// Layer normalization of the integer LSTM's gates. TFLite's kernel computes the variance in 64 bits; here it is made of
// parts that fit 32.
#include "frontends/tflite/fixed_values.hpp"
#include "frontends/tflite/lstm.hpp"

namespace tosavk {

namespace {

/// Of [batch, n], 1024 times the mean, and the variance, both as the kernel cuts them off.
struct Moments {
    ValueId mean, variance;
};

Moments moments(Lowering& l, ValueId x) {
    const std::int64_t count = l.shape(x)[1];
    const elementwise::Fixed f{l, x};
    const auto mul = [&](ValueId a, ValueId b) { return l.mul(a, b, DType::i32); };
    const auto right = [&](ValueId a, int n) { return f.right(a, f.number(n), false); };
    const auto low = [&](ValueId a, int bits) {
        return l.add(Op::bitwise_and, {a, f.number((std::int64_t{1} << bits) - 1)}, DType::i32);
    };
    const auto divide = [&](ValueId a) { return l.add(Op::intdiv, {a, f.number(count)}, DType::i32); };
    const auto sum = [&](ValueId a) {
        Attributes along;
        along.axis = 1;
        return l.add(Op::reduce_sum, {a}, DType::i32, along);
    };
    const ValueId total = sum(x), whole = divide(total);
    const ValueId rest = f.sub(total, mul(whole, f.number(count)));
    const ValueId mean = f.add(f.left_by(whole, 10), divide(f.left_by(rest, 10)));
    // The sum of squares as a 2^20 + b 2^10 + c, the mean as p 2^10 + q.
    const ValueId squares = mul(x, x), lower = sum(low(squares, 15));
    const ValueId upper = f.add(sum(right(squares, 15)), right(lower, 15));
    const ValueId a = right(upper, 5), bc = f.add(f.left_by(low(upper, 5), 15), low(lower, 15));
    const ValueId b = right(bc, 10), c = low(bc, 10);
    const ValueId size = l.add(Op::abs, {mean}, DType::i32), p = right(size, 10), q = low(size, 10);
    // The kernel multiplies the sum of squares by 2^20 / n, of which it takes the integer.
    const ValueId share = f.number((1 << 20) / count);
    const ValueId units = f.sub(mul(c, share), mul(q, q));
    const ValueId middle = f.sub(mul(b, share), f.left_by(mul(p, q), 1));
    const ValueId most = f.sub(mul(a, share), mul(p, p));
    return {mean, f.add(most, right(f.add(middle, right(units, 10)), 10))};
}

}  // namespace

ValueId normalize_gate(Lowering& l, ValueId x, const GateNorm& norm) {
    const elementwise::Fixed f{l, x};
    const auto select = [&](ValueId which, ValueId a, ValueId b) {
        return l.add(Op::select, {which, a, b}, DType::i32);
    };
    const auto greater = [&](ValueId a, std::int64_t v) {
        return l.add(Op::greater, {a, f.number(v)}, DType::boolean);
    };
    const Moments of = moments(l, x);
    const ValueId variance = select(greater(of.variance, 0), of.variance, f.number(norm.least_variance));
    const ValueId centered = f.sub(f.left_by(x, 10), of.mean);
    const ValueId normal = elementwise::multiply(l, centered, elementwise::inverse_root(l, variance));
    const ValueId weighted = f.add(l.mul(normal, norm.weights, DType::i32), norm.bias);
    // weighted / 1024, half away from zero.
    const ValueId rest = l.add(Op::bitwise_and, {weighted, f.number(1023)}, DType::i32);
    const ValueId least = select(greater(weighted, 0), f.number(511), f.number(512));
    const ValueId up = select(l.add(Op::greater, {rest, least}, DType::boolean), f.number(1), f.number(0));
    const ValueId scaled = f.add(f.right(weighted, f.number(10), false), up);
    const QuantizedMultiplier m{norm.scale.multiplier, norm.scale.exponent + 12};
    return f.clamp(l.requantize(scaled, DType::i32, m, 0, 0), -32768, 32767);
}

}  // namespace tosavk

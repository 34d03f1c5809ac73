// Networks for sequences: a transformer's encoder layer and one step of an LSTM.
#include "frontends/problems/networks.hpp"

#include <cmath>

namespace tosavk {

namespace {

/// Elementwise helpers on a float value whose shape the constants follow.
class Floats {
public:
    explicit Floats(Layers& layers) : layers_(layers) {}

    ValueId constant(ValueId like, double number) {
        const Shape ones(layers_.shape(like).size(), 1);
        const float value = static_cast<float>(number);
        return layers_.builder().constant("factor", layers_.type(like), ones,
                                          encode_reals(layers_.type(like), std::vector<double>{value}));
    }
    ValueId times(ValueId x, double factor) { return layers_.mul(x, constant(x, factor)); }
    ValueId plus(ValueId x, double term) { return layers_.binary(Op::add, x, constant(x, term)); }
    ValueId reduce(Op op, ValueId x) {
        Attributes attrs;
        attrs.axis = static_cast<std::int32_t>(layers_.shape(x).size()) - 1;
        return layers_.builder().add1(op, {x}, layers_.type(x), attrs);
    }
    /// Over the last axis, with a factor and a term per channel.
    ValueId normalize(ValueId x) {
        const double channels = static_cast<double>(layers_.shape(x).back());
        const ValueId centred = layers_.binary(Op::sub, x, times(reduce(Op::reduce_sum, x), 1 / channels));
        const ValueId variance = times(reduce(Op::reduce_sum, layers_.mul(centred, centred)), 1 / channels);
        const ValueId scaled = layers_.mul(centred, layers_.unary(Op::rsqrt, plus(variance, 1e-5)));
        Shape per_channel(layers_.shape(x).size(), 1);
        per_channel.back() = layers_.shape(x).back();
        const DType type = layers_.type(x);
        const ValueId y = layers_.binary(Op::add, layers_.mul(scaled, layers_.weights("gamma", type, per_channel, 1)),
                                         layers_.weights("beta", type, per_channel, 0.1));
        layers_.set_magnitude(y, 1);
        return y;
    }
    /// x / 2 * (1 + erf(x / sqrt(2))).
    ValueId gelu(ValueId x) {
        const ValueId one_plus = plus(layers_.unary(Op::erf, times(x, std::sqrt(0.5))), 1);
        const ValueId y = layers_.mul(times(x, 0.5), one_plus);
        layers_.set_magnitude(y, 0.65 * layers_.magnitude(x));
        return y;
    }

private:
    Layers& layers_;
};

/// BERT-base's layer: 768 channels, 12 heads, 3072 channels inside.
Graph transformer(Layers& layers, DType type, NetworkSize size) {
    constexpr std::int64_t channels = 768, heads = 12, inner = 3072, per_head = channels / heads;
    if (size.batch != 1) throw Error(ErrorCode::usage, "the transformer layer takes one sequence at a time");
    const std::int64_t length = size.size;
    Network n(layers, type);
    Floats floats(layers);
    const ValueId x = n.input("tokens", {length, channels});
    const auto by_head = [&](std::vector<std::int32_t> perms) {
        return n.transpose(layers.reshape(n.fully_connected(x, channels), {length, heads, per_head}), std::move(perms));
    };
    const ValueId q = by_head({1, 0, 2}), k = by_head({1, 2, 0}), v = by_head({1, 0, 2});
    // Products of two tensors have one scale, not one per channel.
    const auto product = [&](ValueId a, ValueId b) {
        const ValueId y = layers.matmul(a, b);
        if (n.quantized()) return layers.requantize(y, DType::i8, Activation::none, false);
        return n.finish(y, Activation::none);
    };
    const auto softmax = [&](ValueId scores) {
        // Flat rows would fall into the few lowest of int8's probabilities.
        if (n.quantized()) return quantized_softmax(layers, scores, 2.5);
        const ValueId y = layers.softmax(floats.times(scores, 1 / std::sqrt(static_cast<double>(per_head))), 2);
        layers.set_magnitude(y, 1.0 / static_cast<double>(length));
        return y;
    };
    ValueId mixed = product(softmax(product(q, k)), v);
    mixed = layers.reshape(n.transpose(mixed, {1, 0, 2}), {length, channels});
    if (!n.quantized()) layers.set_magnitude(mixed, 0.2);
    const auto add_and_normalize = [&](ValueId a, ValueId b) {
        const ValueId y = n.add(a, b, Activation::none);
        return n.quantized() ? quantized_normalize(layers, y) : floats.normalize(y);
    };
    const ValueId middle = add_and_normalize(x, n.fully_connected(mixed, channels));
    const ValueId wide = n.fully_connected(middle, inner);
    const ValueId bent = n.quantized() ? quantized_gelu(layers, wide) : floats.gelu(wide);
    return layers.finish(add_and_normalize(middle, n.fully_connected(bent, channels)));
}

/// The table of a function for i8: inputs and results of +-127 stand for +-`in` and +-1.
ValueId table(Layers& layers, ValueId x, double in, double (*f)(double)) {
    const ValueId y = quantized_table(layers, x, 0, [&](int q) { return 127 * f(q * in / 127); });
    layers.set_magnitude(y, 70);
    return y;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double tangent(double x) { return std::tanh(x); }

/// 512 inputs, 512 cells: the four gates in one product, then the new state. Outputs: hidden state, cells.
Graph lstm(Layers& layers, DType type, NetworkSize size) {
    const std::int64_t cells = size.size, batch = size.batch;
    Network n(layers, type);
    const ValueId x = n.input("x", {batch, cells}), h = n.input("h", {batch, cells}), c = n.input("c", {batch, cells});
    const ValueId joined = n.concat({x, h}, 1);
    const bool quantized = n.quantized();
    ValueId gates = n.fully_connected(joined, 4 * cells);
    const auto gate = [&](std::int64_t k, Op op) {
        const ValueId part = n.slice(gates, {0, k * cells}, {batch, cells});
        if (quantized) return table(layers, part, 4, op == Op::tanh ? tangent : logistic);
        return layers.unary(op, part);
    };
    const ValueId input = gate(0, Op::sigmoid), forget = gate(1, Op::sigmoid), fresh = gate(2, Op::tanh),
                  output = gate(3, Op::sigmoid);
    const auto product = [&](ValueId a, ValueId b) {
        if (!quantized) return layers.mul(a, b);
        const ValueId y = layers.builder().add1(Op::mul, {a, b, layers.builder().scalar(DType::i8, 0)}, DType::i32);
        layers.set_magnitude(y, layers.magnitude(a) * layers.magnitude(b));
        return y;
    };
    // In int8, products of two numbers of 7 fraction bits have 14.
    const auto narrow = [&](ValueId y) { return quantized ? layers.rescale(y, DType::i8, 1.0 / 128, 0, false) : y; };
    const ValueId new_cells = narrow(layers.binary(Op::add, product(forget, c), product(input, fresh)));
    const ValueId bounded = quantized ? table(layers, new_cells, 1, tangent) : layers.unary(Op::tanh, new_cells);
    return layers.finish({narrow(product(output, bounded)), new_cells});
}

const NetworkDef networks[] = {{"transformer", 128, 9, transformer}, {"lstm", 512, 20, lstm}};

}  // namespace

std::span<const NetworkDef> sequence_networks() { return networks; }

}  // namespace tosavk

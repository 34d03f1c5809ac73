// CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV and FULLY_CONNECTED: a convolution into int32, int48 or fp32, then
// requantization and activation.
#include "frontends/tflite/hybrid.hpp"
#include "frontends/tflite/lowering.hpp"

#include "graph/host_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

namespace tosavk {

namespace {

using T = tflite::TensorType;

constexpr std::int64_t max_groups = 16384;

struct ConvOptions {
    tflite::Padding padding = tflite::Padding::SAME;
    std::array<std::int64_t, 2> stride{}, dilation{1, 1};  // y, x
    tflite::ActivationFunctionType activation = tflite::ActivationFunctionType::NONE;
};

template <class Table> ConvOptions read_options(const Lowering& l) {
    ConvOptions out;
    if (const Table* t = l.options<Table>()) {
        out.padding = t->padding();
        out.stride = {t->stride_h(), t->stride_w()};
        out.dilation = {t->dilation_h_factor(), t->dilation_w_factor()};
        out.activation = t->fused_activation_function();
    }
    return out;
}

// The kinds of arithmetic of the family. With int16 activations TFLite sums in the type of the bias, and scales 64-bit
// sums by other multipliers than 32-bit ones.
enum class Kind { floating, hybrid, int8, int16_sum32, int16_sum64 };

bool is_int16(Kind kind) { return kind == Kind::int16_sum32 || kind == Kind::int16_sum64; }
DType input_type(Kind kind) { return kind == Kind::floating ? DType::fp32 : is_int16(kind) ? DType::i16 : DType::i8; }
DType sum_type(Kind kind) { return kind == Kind::floating ? DType::fp32 : is_int16(kind) ? DType::i48 : DType::i32; }
DType bias_type(Kind kind) { return kind == Kind::hybrid ? DType::fp32 : sum_type(kind); }

// Which inputs of the operator are its operands; the weights are always input 1.
struct Operands {
    std::size_t x = 0, bias = 2;
};

Kind kind_of(const Lowering& l, const Operands& k = {}) {
    const T x = l.in(k.x).type, w = l.in(1).type, y = l.out().type;
    const bool narrow = w == T::INT8 || w == T::INT4 || w == T::INT2;
    if (x == T::FLOAT32 && y == T::FLOAT32) {  // weights may be constants of a narrower type
        return k.x == 0 && is_hybrid(l, 1) ? Kind::hybrid : Kind::floating;
    }
    if (x == T::INT8 && narrow && y == T::INT8) return Kind::int8;
    const bool to_16_bits = y == T::INT16 && l.op().code == tflite::BuiltinOperator::FULLY_CONNECTED;
    if (x == T::UINT8 && w == T::UINT8 && (y == T::UINT8 || to_16_bits)) return Kind::int8;  // the same less 128
    if (x == T::INT16 && narrow && y == T::INT16) {
        const bool wide = l.has_input(k.bias) && l.in(k.bias).type == T::INT64;
        return wide ? Kind::int16_sum64 : Kind::int16_sum32;
    }
    l.unsupported(fmt::format("types {} x {} -> {} are not supported", name_of(x), name_of(w), name_of(y)));
}

ValueId weights_of(Lowering& l, Kind kind) {
    return kind == Kind::floating && l.in(1).block_size == 0 ? float_weights(l, 1) : l.value(1);
}

template <class Table> bool is_asymmetric(const Table* options) {
    return options && options->asymmetric_quantize_inputs();
}

ValueId bias_of(Lowering& l, Kind kind, std::int64_t channels, const Operands& k = {}) {
    const DType type = bias_type(kind);
    if (!l.has_input(k.bias)) return l.scalar(type, 0);
    const TfliteTensor& tensor = l.in(k.bias);
    const auto check_count = [&](std::int64_t count) {
        if (count != channels)
            l.fail(fmt::format("bias {} has {} elements for {} channels", tensor.title(), count, channels));
    };
    if (is_int16(kind)) {
        const std::vector<std::int64_t> values = l.const_ints(k.bias);
        check_count(static_cast<std::int64_t>(values.size()));
        for (const std::int64_t v : values) {
            if (v < min_of(type) || v > max_of(type))
                l.unsupported(fmt::format("the value {} of bias {} exceeds 48 bits", v, tensor.title()));
        }
        return l.constant_ints("bias", type, {channels}, values);
    }
    const ValueId bias = type == DType::fp32 ? l.float_value(k.bias) : l.value(k.bias);
    if (l.type(bias) != type) l.unsupported(fmt::format("bias type {} is not supported", name_of(tensor.type)));
    check_count(element_count(l.shape(bias)));
    return l.reshape(bias, {channels});
}

struct ConvAttributes {
    Op op;
    Kind kind;
    Attributes attrs;
    std::int64_t input_zp = 0, weight_zp = 0;
};

ValueId add_conv(Lowering& l, const ConvAttributes& c, ValueId x, ValueId weights, ValueId bias) {
    Attributes attrs = c.attrs;
    attrs.acc_type = sum_type(c.kind);
    return l.add(c.op,
                 {x, weights, bias, l.scalar(input_type(c.kind), static_cast<double>(c.input_zp)),
                  l.scalar(c.kind == Kind::floating ? DType::fp32 : DType::i8, static_cast<double>(c.weight_zp))},
                 attrs.acc_type, attrs);
}

std::int64_t input_zero_point(const Lowering& l, Kind kind, const Operands& k = {}) {
    return bias_type(kind) == DType::fp32 ? 0 : l.quant(l.in(k.x)).zero_point;
}

// Of CONV_2D and its like only UINT8 weights have one.
std::int64_t weight_zero_point(const Lowering& l) {
    const bool is_unsigned = l.in(0).type != tflite::TensorType::FLOAT32 && l.in(1).type == tflite::TensorType::UINT8;
    return is_unsigned ? l.quant(l.in(1)).zero_point : 0;
}

// TFLite multiplies the two scales as floats where there is one for all channels and nobody expects more.
QuantizedMultiplier float_multiplier(const Lowering& l, const Operands& k = {}) {
    const float product = l.quant(l.in(k.x)).scale * l.quant(l.in(1)).scale;
    return quantize_multiplier(static_cast<double>(product) / static_cast<double>(l.quant(l.out()).scale));
}

// One multiplier, or one per output channel.
std::vector<QuantizedMultiplier> conv_multipliers(const Lowering& l, std::int32_t filter_axis, std::int64_t channels,
                                                  const Operands& k = {}) {
    if (l.in(1).type == tflite::TensorType::UINT8) return {float_multiplier(l, k)};
    const double in = l.quant(l.in(k.x)).scale, out = l.quant(l.out()).scale;
    std::vector<QuantizedMultiplier> m;
    for (const float filter : l.channel_scales(l.in(1), filter_axis, channels)) {
        m.push_back(quantize_multiplier(in * static_cast<double>(filter) / out));
    }
    return m;
}

// From the sum to the output's type, without activation.
ValueId requantize(Lowering& l, Kind kind, ValueId sum, std::span<const QuantizedMultiplier> m) {
    const Quant out = l.quant(l.out());
    if (kind == Kind::int16_sum64) return l.requantize_sums(sum, DType::i16, m);
    // 32-bit sums take 32-bit multipliers, which no RESCALE of an i48 offers.
    if (kind == Kind::int16_sum32) sum = l.requantize_sums(sum, DType::i32, {&unit_multiplier, 1});
    return l.requantize_channels(sum, l.dtype(l.out()), m, out.zero_point);
}

// CONV_2D quantizes with a zero point where the scales of channels differ.
bool scales_differ(std::span<const float> scales) {
    return std::adjacent_find(scales.begin(), scales.end(), std::not_equal_to<>()) != scales.end();
}

ValueId finish_conv(Lowering& l, Kind kind, ValueId acc, std::int32_t filter_axis, std::int64_t channels,
                    tflite::ActivationFunctionType activation, const Operands& k = {}) {
    if (kind == Kind::floating) return l.activate_float(acc, activation);
    return l.activate_int(requantize(l, kind, acc, conv_multipliers(l, filter_axis, channels, k)), activation, l.out());
}

std::vector<std::int32_t> narrow_pair(const Lowering& l, const std::array<std::int64_t, 2>& v, const char* what) {
    return {l.narrow(v[0], what), l.narrow(v[1], what)};
}

// [OC,KH,KW,1] to [KH,KW,OC/M,M]: a grouped convolution with one input channel per group is a depthwise one.
ValueId depthwise_weights(Lowering& l, ValueId weights, std::int64_t groups) {
    const Value& v = l.graph_value(weights);
    const Shape from = v.shape;
    const std::size_t element = size_of(v.type), taps = static_cast<std::size_t>(from[1] * from[2]),
                      oc = static_cast<std::size_t>(from[0]);
    Bytes bytes(v.data->size());
    for (std::size_t o = 0; o < oc; ++o) {
        for (std::size_t t = 0; t < taps; ++t) {
            std::memcpy(bytes.data() + (t * oc + o) * element, v.data->data() + (o * taps + t) * element, element);
        }
    }
    return l.constant("depthwise_weights", v.type, {from[1], from[2], groups, from[0] / groups}, std::move(bytes));
}

void lower_conv_2d(Lowering& l) {
    const ConvOptions options = read_options<tflite::Conv2DOptions>(l);
    const Kind kind = kind_of(l);
    ValueId x = l.value(0);
    ValueId weights = weights_of(l, kind);
    const Shape filter = l.shape(weights), input = l.shape(x);
    if (filter.size() != 4) l.fail(fmt::format("its filter has rank {}, not 4", filter.size()));
    if (input.size() != 4) l.fail(fmt::format("its input has rank {}, not 4", input.size()));
    const std::int64_t channels = filter[0], per_group = filter[3];
    if (input[3] % per_group != 0)
        l.fail(fmt::format("{} input channels do not divide into groups of {}", input[3], per_group));
    const std::int64_t groups = input[3] / per_group;
    if (groups > max_groups) l.unsupported(fmt::format("{} groups are too many", groups));
    if (channels % groups != 0)
        l.fail(fmt::format("{} output channels do not divide into {} groups", channels, groups));
    const ValueId real_bias = bias_of(l, kind, channels);
    ValueId bias = real_bias;

    ConvAttributes conv{Op::conv2d, kind, {}, input_zero_point(l, kind), weight_zero_point(l)};
    std::optional<HybridConv> hybrid;
    if (kind == Kind::hybrid) {
        if (groups > 1 && l.in(1).scale.size() == 1)
            l.unsupported("groups of weights with one scale are not supported");
        hybrid.emplace(l, 0, groups > 1 || scales_differ(l.in(1).scale));
        x = hybrid->rounded();
        weights = hybrid->weights();
        bias = l.scalar(DType::i32, 0);
    }
    const std::array<std::int64_t, 2> kernel{filter[1], filter[2]};
    conv.attrs.pad = pad_image(l, x, kernel, options.stride, options.dilation, options.padding);
    conv.attrs.stride = narrow_pair(l, options.stride, "stride");
    conv.attrs.dilation = narrow_pair(l, options.dilation, "dilation");
    if (hybrid) x = hybrid->quantized(x, conv.attrs.pad);

    ValueId acc;
    if (groups == 1) {
        acc = add_conv(l, conv, x, weights, bias);
    } else if (per_group == 1 && l.graph_value(weights).is_constant()) {
        conv.op = Op::depthwise_conv2d;
        acc = add_conv(l, conv, x, depthwise_weights(l, weights, groups), bias);
    } else {
        const std::int64_t out_per_group = channels / groups;
        const bool one_bias = l.shape(bias)[0] == 1 && channels != 1;
        // CONCAT takes no i48, so that 48-bit sums are scaled group by group.
        const bool wide = is_int16(kind);
        const auto m = wide ? conv_multipliers(l, 0, channels) : std::vector<QuantizedMultiplier>();
        const auto group_multipliers = [&](std::int64_t g) {
            return m.size() == 1 ? std::span(m)
                                 : std::span(m).subspan(static_cast<std::size_t>(g * out_per_group),
                                                        static_cast<std::size_t>(out_per_group));
        };
        std::vector<ValueId> parts;
        for (std::int64_t g = 0; g < groups; ++g) {
            const ValueId part = l.slice_axis(x, 3, g * per_group, per_group);
            const ValueId w = l.slice_axis(weights, 0, g * out_per_group, out_per_group);
            const ValueId b = one_bias ? bias : l.slice_axis(bias, 0, g * out_per_group, out_per_group);
            const ValueId sum = add_conv(l, conv, part, w, b);
            parts.push_back(wide ? requantize(l, kind, sum, group_multipliers(g)) : sum);
        }
        acc = l.concat(std::move(parts), 3);
        if (wide) return l.set(l.activate_int(acc, options.activation, l.out()));
    }
    l.set(hybrid ? hybrid->finish(acc, real_bias, options.activation)
                 : finish_conv(l, kind, acc, 0, channels, options.activation));
}

void lower_depthwise_conv_2d(Lowering& l) {
    const ConvOptions options = read_options<tflite::DepthwiseConv2DOptions>(l);
    const Kind kind = kind_of(l);
    ValueId x = l.value(0);
    ValueId weights = weights_of(l, kind);
    const Shape filter = l.shape(weights), input = l.shape(x);
    if (filter.size() != 4 || filter[0] != 1)
        l.fail(fmt::format("its filter has shape {}, not 1xKHxKWxC", to_string(filter)));
    if (input.size() != 4) l.fail(fmt::format("its input has rank {}, not 4", input.size()));
    // The recorded depth multiplier is not always right; the shapes are.
    const std::int64_t channels = filter[3];
    if (channels % input[3] != 0)
        l.fail(fmt::format("{} filter channels are no multiple of {} input channels", channels, input[3]));
    weights = l.reshape(weights, {filter[1], filter[2], input[3], channels / input[3]});
    const ValueId bias = bias_of(l, kind, channels);

    ConvAttributes conv{Op::depthwise_conv2d, kind, {}, input_zero_point(l, kind), weight_zero_point(l)};
    std::optional<HybridConv> hybrid;
    if (kind == Kind::hybrid) {
        if (channels > 1 && l.in(1).scale.size() == 1)
            l.unsupported("weights with one scale for several channels are not supported");
        hybrid.emplace(l, 3, true);
        x = hybrid->rounded();
    }
    const std::array<std::int64_t, 2> kernel{filter[1], filter[2]};
    conv.attrs.pad = pad_image(l, x, kernel, options.stride, options.dilation, options.padding);
    conv.attrs.stride = narrow_pair(l, options.stride, "stride");
    conv.attrs.dilation = narrow_pair(l, options.dilation, "dilation");
    if (hybrid) {
        x = hybrid->quantized(x, conv.attrs.pad);
        const ValueId sums = add_conv(l, conv, x, weights, l.scalar(DType::i32, 0));
        return l.set(hybrid->finish(sums, bias, options.activation));
    }
    l.set(finish_conv(l, kind, add_conv(l, conv, x, weights, bias), 3, channels, options.activation));
}

void lower_transpose_conv(Lowering& l) {
    const Operands k{2, 3};
    const auto* options = l.options<tflite::TransposeConvOptions>();
    if (!options) l.fail("its options are missing");
    Kind kind = kind_of(l, k);
    // Here the options say the type of the sums, whatever that of the bias.
    if (is_int16(kind)) {
        kind = options->quantized_bias_type() == tflite::TensorType::INT32 ? Kind::int16_sum32 : Kind::int16_sum64;
    }
    ValueId x = l.value(k.x);
    const ValueId weights = weights_of(l, kind);
    const Shape filter = l.shape(weights), input = l.shape(x);
    if (filter.size() != 4) l.fail(fmt::format("its filter has rank {}, not 4", filter.size()));
    if (input.size() != 4) l.fail(fmt::format("its input has rank {}, not 4", input.size()));
    // The kernel quantizes the activations only to multiply and add floats.
    ValueId scale = no_id;
    if (kind == Kind::floating && is_hybrid(l, 1)) {
        if (l.in(1).type != tflite::TensorType::INT8)
            l.unsupported(fmt::format("weights of type {} with float activations have no kernel in TFLite",
                                      name_of(l.in(1).type)));
        hybrid_weights(l, 1, 0);  // which checks them
        const HybridRows images = round_rows(l, x, /*asymmetric=*/true);
        x = l.cast(quantize_rounded(l, images, images.rounded), DType::fp32);
        x = l.add(Op::sub, {x, l.cast(images.zero_point, DType::fp32)}, DType::fp32);
        scale = images.scale;
    }
    // Where the output's shape is computed at run time, it is the recorded one.
    Shape output = l.out().shape;
    if (l.constant(0)) output = l.const_ints(0);
    if (output.size() != 4) l.fail(fmt::format("its output has rank {}, not 4", output.size()));
    const ValueId bias = bias_of(l, kind, filter[0], k);

    ConvAttributes conv{Op::transpose_conv2d, kind, {}, input_zero_point(l, kind, k), weight_zero_point(l)};
    const std::array<std::int64_t, 2> stride{options->stride_h(), options->stride_w()};
    for (std::size_t i = 0; i < 2; ++i) {
        if (stride[i] < 1) l.fail(fmt::format("stride {} must be at least 1", stride[i]));
        const std::int64_t whole = (input[1 + i] - 1) * stride[i] + filter[1 + i];  // without padding
        const bool same = options->padding() == tflite::Padding::SAME;
        const std::int64_t before = same ? std::max<std::int64_t>(whole - output[1 + i], 0) / 2 : 0;
        conv.attrs.pad.push_back(l.narrow(-before, "padding"));
        conv.attrs.pad.push_back(l.narrow(output[1 + i] - whole + before, "padding"));
    }
    conv.attrs.stride = narrow_pair(l, stride, "stride");
    if (scale != no_id) {
        const ValueId sums = l.mul(add_conv(l, conv, x, weights, l.scalar(DType::fp32, 0)), scale, DType::fp32);
        const ValueId biased = l.add(Op::add, {sums, l.reshape(bias, {1, 1, 1, l.shape(bias)[0]})}, DType::fp32);
        return l.set(l.activate_float(biased, options->fused_activation_function()));
    }
    const ValueId acc = add_conv(l, conv, x, weights, bias);
    l.set(finish_conv(l, kind, acc, 0, filter[0], options->fused_activation_function(), k));
}

// As TFLite from 2.3.0 of ai-edge-litert on: round(sum * (in * weights / out)), all in doubles.
ValueId finish_in_doubles(Lowering& l, ValueId sum, std::int64_t channels) {
    const Quant out = l.quant(l.out());
    const double in_scale = l.quant(l.in(0)).scale;
    std::vector<double> scales;
    const bool one = l.in(1).scale.size() == 1;
    const std::vector<float> weights =
        one ? std::vector<float>{l.quant(l.in(1)).scale} : l.channel_scales(l.in(1), 0, channels);
    for (const float w : weights) {
        scales.push_back(in_scale * static_cast<double>(w) / static_cast<double>(out.scale));
        if (!(scales.back() < 0x1p52)) l.unsupported("the ratio of its scales is too large");
    }
    if (std::adjacent_find(scales.begin(), scales.end(), std::not_equal_to<>()) == scales.end()) scales.resize(1);
    return l.scale_fp64(sum, l.dtype(l.out()), scales, out.zero_point);
}

// Sums of int16 times int16, which no convolution has: a product of matrices. Six more columns add the bias: 2^14 times
// five parts of its upper bits, and 1 times the lower ones.
ValueId sums_of_int16(Lowering& l, ValueId x, ValueId weights, tflite::TensorType bias_type) {
    const std::int64_t rows = l.shape(x)[0], depth = l.shape(x)[1], units = l.shape(weights)[0];
    constexpr std::int64_t parts = 5, base = 1 << 14, most = 32767;
    weights = l.reshape(weights, {1, units, depth});
    Attributes turn;
    turn.perms = {0, 2, 1};
    weights = l.add(Op::transpose, {weights}, DType::i16, turn);
    x = l.reshape(x, {1, rows, depth});
    if (l.has_input(2)) {
        const tflite::TensorType held = l.in(2).type;
        // TFLite reads numbers of the type that its options say, whatever the tensor is.
        if (held != (bias_type == tflite::TensorType::INT64 ? bias_type : tflite::TensorType::INT32))
            l.unsupported(fmt::format("a bias of type {} is not what its options say", name_of(held)));
        const std::vector<std::int64_t> bias = l.const_ints(2);
        if (static_cast<std::int64_t>(bias.size()) != units)
            l.fail(fmt::format("bias {} has {} elements for {} channels", l.in(2).title(), bias.size(), units));
        std::vector<std::int64_t> digits;
        for (std::int64_t part = 0; part <= parts; ++part) {
            for (const std::int64_t b : bias) {
                std::int64_t high = b >> 14;
                if (high < -parts * most || high > parts * most)
                    l.unsupported(fmt::format("the value {} of bias {} is too large", b, l.in(2).title()));
                for (std::int64_t k = 0; k < part; ++k) high -= std::clamp(high, -most, most);
                digits.push_back(part < parts ? std::clamp(high, -most, most) : b & (base - 1));
            }
        }
        std::vector<std::int64_t> ones(static_cast<std::size_t>(rows * (parts + 1)), base);
        for (std::size_t r = parts; r < ones.size(); r += parts + 1) ones[r] = 1;
        weights = l.concat({weights, l.constant_ints("bias", DType::i16, {1, parts + 1, units}, digits)}, 1);
        x = l.concat({x, l.constant_ints("bias_factors", DType::i16, {1, rows, parts + 1}, ones)}, 2);
    }
    const ValueId zero = l.scalar(DType::i16, 0);
    return l.reshape(l.add(Op::matmul, {x, weights, zero, zero}, DType::i48), {rows, 1, 1, units});
}

void lower_fully_connected(Lowering& l) {
    const auto* options = l.options<tflite::FullyConnectedOptions>();
    const auto activation = options ? options->fused_activation_function() : tflite::ActivationFunctionType::NONE;
    if (options && options->weights_format() != tflite::FullyConnectedOptionsWeightsFormat::DEFAULT) {
        l.unsupported("shuffled weights are not supported");
    }
    const bool wide = l.in(0).type == T::INT16 && l.in(1).type == T::INT16 && l.out().type == T::INT16;
    const Kind kind = wide ? Kind::int16_sum64 : kind_of(l);
    ValueId x = l.value(0);
    ValueId weights = weights_of(l, kind);
    const Shape input = l.shape(x), filter = l.shape(weights);
    if (filter.size() != 2) l.fail(fmt::format("its weights have rank {}, not 2", filter.size()));
    const std::int64_t channels = filter[0], depth = filter[1], count = element_count(input);
    if (count % depth != 0)
        l.fail(fmt::format("an input of shape {} does not divide into rows of {}", to_string(input), depth));
    const std::int64_t rows = count / depth;
    Shape output{rows, channels};
    if (options && options->keep_num_dims()) {
        if (input.empty() || input.back() != depth)
            l.fail(fmt::format("its input has shape {}, but the weights have {} columns", to_string(input), depth));
        output = input;
        output.back() = channels;
    }
    if (bias_type(kind) == DType::fp32 && l.in(1).block_size > 0) {
        ValueId y = blockwise_product(l, l.reshape(x, {rows, depth}), 1);
        if (l.has_input(2)) y = l.add(Op::add, {y, l.reshape(bias_of(l, kind, channels), {1, channels})}, DType::fp32);
        return l.set(l.reshape(y, output));  // whatever the activation: the kernel leaves it out
    }
    if (kind == Kind::hybrid) {
        const HybridRows images = round_rows(l, l.reshape(x, {rows, depth}), is_asymmetric(options));
        ValueId y = hybrid_product(l, images, hybrid_weights(l, 1, 0, true));
        if (l.has_input(2)) y = l.add(Op::add, {y, l.reshape(bias_of(l, kind, channels), {1, channels})}, DType::fp32);
        return l.set(l.reshape(activate_any(l, y, activation), output));
    }
    const bool per_tensor = l.in(1).scale.size() == 1;
    // The kernel of sparse weights rounds as before.
    const bool in_doubles = l.scales_in_doubles() && !wide && !l.in(1).sparsity;
    ValueId sum;
    if (wide) {
        const T bias_type = options ? options->quantized_bias_type() : T::FLOAT32;
        sum = sums_of_int16(l, l.reshape(x, {rows, depth}), weights, bias_type);
    } else {
        ConvAttributes conv{Op::conv2d, kind, {}, input_zero_point(l, kind)};
        conv.attrs.pad = {0, 0, 0, 0};
        conv.attrs.stride = conv.attrs.dilation = {1, 1};
        // Only one scale may come with a zero point of the weights.
        if (kind != Kind::floating && per_tensor) conv.weight_zp = l.quant(l.in(1)).zero_point;
        const ValueId bias = bias_of(l, kind, channels);
        sum = add_conv(l, conv, l.reshape(x, {rows, 1, 1, depth}), l.reshape(weights, {channels, 1, 1, depth}), bias);
    }
    if (kind == Kind::floating) return l.set(l.reshape(l.activate_float(sum, activation), output));
    ValueId y;
    if (in_doubles) {
        y = finish_in_doubles(l, sum, channels);
    } else if (per_tensor) {
        const QuantizedMultiplier m = float_multiplier(l);
        y = requantize(l, kind, sum, {&m, 1});
    } else {
        y = requantize(l, kind, sum, conv_multipliers(l, 0, channels));
    }
    l.set(l.reshape(l.activate_int(y, activation, l.out()), output));
}

}  // namespace

OperatorRows conv_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::CONV_2D, lower_conv_2d},
        {B::DEPTHWISE_CONV_2D, lower_depthwise_conv_2d},
        {B::TRANSPOSE_CONV, lower_transpose_conv},
        {B::FULLY_CONNECTED, lower_fully_connected},
    };
    return rows;
}

}  // namespace tosavk

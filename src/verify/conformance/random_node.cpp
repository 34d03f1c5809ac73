#include "verify/conformance/random_node.hpp"

#include "ops/print.hpp"
#include "verify/conformance/case_maker.hpp"
#include "verify/conformance/random_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tosavk::conformance {
namespace {

/// The families of own_*.cpp.
const OwnCases* own_cases(Op op) {
    static const std::vector<OwnCases> all = [] {
        std::vector<OwnCases> gathered;
        for (const auto& family : {own_arithmetic_cases(), own_indexed_cases(), own_suppress_cases()})
            gathered.insert(gathered.end(), family.begin(), family.end());
        return gathered;
    }();
    const auto found = std::find_if(all.begin(), all.end(), [op](const OwnCases& cases) { return cases.op == op; });
    return found == all.end() ? nullptr : &*found;
}

class Maker : public CaseMaker {
public:
    using CaseMaker::CaseMaker;

    RandomCase make() {
        attrs_.acc_type = variable("acc_t").value_or(DType::i32);
        if (has("nan_mode")) attrs_.nan_mode = data_.chance(50) ? NanMode::propagate : NanMode::ignore;
        if (has("local_bound")) attrs_.local_bound = data_.chance(50);
        fill();
        if (output_types_.empty()) {
            for (const ArgDef& output : def_.outputs) output_types_.push_back(type_of(output.type));
        }
        std::vector<ValueId> results = builder_.add(def_.op, ids_, attrs_, output_types_, "node");
        if (options_.follower) results[0] = follow(results[0], output_types_[0]);
        for (const ValueId result : results) builder_.output(result);
        return {builder_.finish(), std::move(inputs_)};
    }

private:
    /// Any zero point of i8; 0 for the other types.
    void zero_point(DType type) { scalar(type, type == DType::i8 ? data_.pick(-128, 127) : 0); }

    /// Operands of dot products: integers over the whole range, floats tame or special.
    HostTensor factor(DType type, const Shape& shape) {
        return is_float(type) ? data_.reals(type, shape, data_.chance(20)) : data_.any(type, shape);
    }

    ValueId follow(ValueId value, DType type) {
        const Shape& shape = builder_.value(value).shape;
        if (size_of(type) == 1 && is_float(type)) return value;  // nothing but data movement takes fp8
        if (type == DType::i4) return value;
        if (type == DType::i48) return follow_wide(value);
        if (type == DType::boolean) return builder_.add1(Op::logical_not, {value}, type);
        if (type == DType::i8 || type == DType::i16) return builder_.add1(Op::bitwise_not, {value}, type);
        const HostTensor other = type == DType::fp32 ? data_.reals(type, data_.narrowed(shape, 50), false)
                                                     : data_.any(type, data_.narrowed(shape, 50));
        return builder_.add1(Op::add, {value, builder_.constant("addend", type, other.shape, other.bytes)}, type);
    }

    /// What a network does with a 48-bit sum: back to fewer bits, one multiplier per channel or one for all.
    ValueId follow_wide(ValueId value) {
        const Shape& shape = builder_.value(value).shape;
        constexpr DType types[] = {DType::i8, DType::i16, DType::i32};
        const DType out = types[data_.pick(0, 2)];
        Attributes attrs;
        attrs.scale32 = false;
        attrs.per_channel = !shape.empty() && data_.chance(50);
        const Shape channels{attrs.per_channel ? shape.back() : 1};
        const HostTensor multiplier = data_.ints(DType::i16, channels, 0, 32767),
                         shift = data_.ints(DType::i8, channels, 32, 40);
        const ValueId m = builder_.constant("multiplier", multiplier.type, channels, multiplier.bytes);
        const ValueId s = builder_.constant("shift", shift.type, channels, shift.bytes);
        return builder_.add1(Op::rescale, {value, m, s, builder_.scalar(DType::i48, 0), builder_.scalar(out, 0)}, out,
                             attrs);
    }

    // ---- families ---------------------------------------------------------------------------------------------

    void fill() {
        switch (def_.op) {
            case Op::argmax:
            case Op::reduce_all:
            case Op::reduce_any:
            case Op::reduce_max:
            case Op::reduce_min:
            case Op::reduce_product:
            case Op::reduce_sum: return reduce();
            case Op::avg_pool2d:
            case Op::max_pool2d: return pool();
            case Op::conv2d:
            case Op::conv3d:
            case Op::depthwise_conv2d:
            case Op::transpose_conv2d: return convolve();
            case Op::matmul: return matmul();
            case Op::fft2d:
            case Op::rfft2d: return transform();
            case Op::concat:
            case Op::pad:
            case Op::reshape:
            case Op::reverse:
            case Op::slice:
            case Op::tile:
            case Op::transpose:
            case Op::identity: return move();
            case Op::gather:
            case Op::scatter: return gather();
            case Op::rescale: return rescale();
            case Op::resize: return resize();
            case Op::table: return table();
            default: break;
        }
        const OwnCases* own = own_cases(def_.op);
        own ? own->fill(*this) : pointwise();
    }

    void pointwise() {
        if (!def_.expression || def_.expression_if) {
            throw Error(ErrorCode::unsupported, fmt::format("there are no random cases of {} yet", def_.name));
        }
        const Shape shape = data_.shape(0, 6);
        if (def_.op == Op::clamp) clamp_bounds();
        if (def_.op == Op::arithmetic_right_shift) attrs_.round = data_.chance(50);
        const DType type = in_type(def_.inputs.size() > 1 ? 1 : 0);
        const std::int64_t lo = is_float(type) ? 0 : min_of(type), hi = is_float(type) ? 0 : max_of(type);
        const std::int64_t width = static_cast<std::int64_t>(size_of(type)) * 8;
        switch (def_.op) {
            case Op::add:
            case Op::sub:
                for (int k = 0; k < 2; ++k)
                    operand(is_float(type) ? data_.any(type, data_.narrowed(shape))
                                           : data_.ints(type, data_.narrowed(shape), lo / 2, hi / 2));
                return;
            case Op::abs:
            case Op::negate:
                operand(type == DType::i32 ? data_.ints(type, shape, lo + 1, hi) : data_.any(type, shape));
                if (def_.op == Op::negate) zero_point(type), zero_point(type);
                return;
            case Op::arithmetic_right_shift:
            case Op::logical_left_shift:
            case Op::logical_right_shift:
                operand(data_.any(type, data_.narrowed(shape)));
                operand(data_.ints(type, data_.narrowed(shape), 0, width - 1));
                return;
            case Op::intdiv:
                operand(data_.ints(type, data_.narrowed(shape), lo + 1, hi));
                operand(data_.chance(50) ? data_.ints(type, data_.narrowed(shape), 1, data_.chance(50) ? 9 : hi)
                                         : data_.ints(type, data_.narrowed(shape), lo, -1));
                return;
            case Op::mul: return multiply(shape);
            default: break;
        }
        const bool one = def_.inputs.size() == 1;
        for (std::size_t k = 0; k < def_.inputs.size(); ++k)
            operand(data_.any(in_type(k), one ? shape : data_.narrowed(shape)));
    }

    void clamp_bounds() {
        const DType type = in_type(0);
        const HostTensor bounds = is_float(type) ? data_.reals(type, {2}, false) : data_.any(type, {2});
        const auto values = decode_reals(type, bounds.bytes);
        attrs_.min_val = std::min(values[0], values[1]);
        attrs_.max_val = std::max(values[0], values[1]);
        if (is_float(type) && data_.chance(25)) attrs_.max_val = INFINITY;
    }

    void multiply(const Shape& shape) {
        const DType type = in_type(0);
        std::int64_t shift = 0, limit = max_of(DType::i32);
        if (type == DType::i32 && data_.chance(70)) {
            shift = data_.pick(1, 63);
            limit = std::min(limit, (std::int64_t{1} << std::min<std::int64_t>((30 + shift) / 2, 31)) - 1);
        }
        for (int k = 0; k < 2; ++k) {
            operand(type == DType::i32 ? data_.ints(type, data_.narrowed(shape), -limit, limit)
                                       : data_.any(type, data_.narrowed(shape)));
        }
        scalar(DType::i8, shift);
    }

    void table() {
        const bool narrow = in_type(0) == DType::i8;
        operand(data_.any(in_type(0), data_.shape(0, 6)));
        // Steps of an i16 table must fit i16.
        operand(narrow ? data_.any(DType::i8, {256}) : data_.ints(DType::i16, {513}, -16384, 16383));
    }

    void rescale() {
        const DType in = in_type(0), out = type_of(def_.outputs[0].type);
        const bool narrow = in != DType::i32 && in != DType::i48 && out != DType::i32;
        attrs_.input_unsigned = narrow && data_.chance(25);
        attrs_.output_unsigned = narrow && !attrs_.input_unsigned && data_.chance(25);
        const bool wide = in == DType::i48;
        attrs_.scale32 = !wide && data_.chance(60);
        if (attrs_.scale32 && data_.chance(40)) attrs_.rounding = Rounding::double_round;
        else if (data_.chance(25)) attrs_.rounding = Rounding::inexact_round;
        const Shape shape = data_.shape(0, 6);
        attrs_.per_channel = !shape.empty() && data_.chance(50);
        const std::int64_t channels = attrs_.per_channel ? shape.back() : 1;
        // Small values go with small shifts: multiplied by 15 bits and shifted, they fit in 31.
        const std::int64_t small = wide && data_.chance(50) ? data_.pick(2, 31) : 0;
        operand(small > 0 ? data_.ints(in, shape, -(std::int64_t{1} << (small + 15)), std::int64_t{1} << (small + 15))
                          : data_.any(in, shape));
        const DType multiplier = attrs_.scale32 ? DType::i32 : DType::i16;
        operand(data_.ints(multiplier, {channels}, data_.chance(20) ? 0 : max_of(multiplier) / 2, max_of(multiplier)));
        // Small enough that every value is in range and every result fits, else anything.
        const std::int64_t least = small > 0 ? small : in == DType::i8 ? 10 : in == DType::i16 ? 18 : 32;
        operand(data_.ints(DType::i8, {channels}, least, data_.chance(70) ? least + 8 : 62));
        const auto zero = [&](DType type, bool is_unsigned) {
            if (type == DType::i16 && is_unsigned && data_.chance(50)) return scalar(type, -32768);
            zero_point(type);
        };
        zero(in, attrs_.input_unsigned);
        zero(out, attrs_.output_unsigned);
    }

    void reduce() {
        const DType type = in_type(0);
        Shape shape = data_.shape(1, 6, 1500);
        attrs_.axis = static_cast<std::int32_t>(data_.pick(0, static_cast<std::int64_t>(shape.size()) - 1));
        std::int64_t& axis = shape[static_cast<std::size_t>(attrs_.axis)];
        // Long axes are spread over lanes.
        if (data_.chance(40) && element_count(shape) / axis <= 40) axis = data_.pick(20, 300);
        if (def_.op == Op::reduce_product) {
            axis = std::min<std::int64_t>(axis, 60);
            HostTensor factors = data_.reals(type, shape, false);
            auto values = decode_reals(type, factors.bytes);
            for (double& v : values) v = std::copysign(1 + std::fabs(v) / 16, v);
            if (data_.chance(30))
                values[static_cast<std::size_t>(data_.pick(0, factors.count() - 1))] = data_.chance(50) ? 0 : INFINITY;
            factors.bytes = encode_reals(type, values);
            return operand(std::move(factors));
        }
        if (def_.op == Op::reduce_sum && !is_float(type)) {
            return operand(data_.ints(type, shape, min_of(type) / axis, max_of(type) / axis));
        }
        if (def_.op == Op::reduce_sum) return operand(factor(type, shape));
        // Ties for ARGMAX.
        if (!is_float(type) && type != DType::boolean && data_.chance(40))
            return operand(data_.ints(type, shape, -2, 2));
        operand(data_.any(type, shape));
    }

    // ---- windows ----------------------------------------------------------------------------------------------

    /// Draws kernel, stride, dilation and padding of one axis until an input size fits; returns it.
    std::int64_t window(std::int64_t kernel, std::int64_t outputs, bool is_pool) {
        for (;;) {
            const std::int64_t stride = data_.pick(1, 3), dilation = is_pool ? 1 : data_.pick(1, 2);
            const std::int64_t before = data_.pick(0, is_pool ? kernel - 1 : kernel),
                               after = data_.pick(0, is_pool ? kernel - 1 : kernel);
            const std::int64_t in = (outputs - 1) * stride + (kernel - 1) * dilation + 1 - before - after;
            if (in < 1) continue;
            add_axis(stride, dilation, before, after);
            return in;
        }
    }
    void add_axis(std::int64_t stride, std::int64_t dilation, std::int64_t before, std::int64_t after) {
        attrs_.stride.push_back(static_cast<std::int32_t>(stride));
        attrs_.dilation.push_back(static_cast<std::int32_t>(dilation));
        attrs_.pad.push_back(static_cast<std::int32_t>(before));
        attrs_.pad.push_back(static_cast<std::int32_t>(after));
    }

    void pool() {
        Shape shape{data_.pick(1, 2)};
        for (int axis = 0; axis < 2; ++axis) {
            const std::int64_t kernel = data_.pick(1, 5);
            attrs_.kernel.push_back(static_cast<std::int32_t>(kernel));
            shape.push_back(window(kernel, data_.pick(1, 6), true));
        }
        shape.push_back(data_.pick(1, 9));
        const DType type = in_type(0);
        const bool average = def_.op == Op::avg_pool2d;
        operand(average ? factor(type, shape) : data_.any(type, shape));
        if (average) zero_point(type), zero_point(type);
    }

    void convolve() {
        const bool depthwise = def_.op == Op::depthwise_conv2d, transposed = def_.op == Op::transpose_conv2d;
        const int axes = def_.op == Op::conv3d ? 3 : 2;
        const std::int64_t most = options_.large ? 1 : data_.pick(1, 2);
        Shape input{data_.pick(1, most)}, kernel;
        for (int axis = 0; axis < axes; ++axis) {
            kernel.push_back(data_.pick(1, axes == 3 ? 3 : 4));
            const std::int64_t size = options_.large ? 33 : data_.pick(1, axes == 3 ? 4 : 7);
            if (!transposed) {
                input.push_back(window(kernel.back(), size, false));
                continue;
            }
            const std::int64_t stride = data_.pick(1, 3);
            std::int64_t before = 0, after = 0;
            do {
                before = data_.pick(1 - kernel.back(), 2);
                after = data_.pick(1 - kernel.back(), 2);
            } while ((size - 1) * stride + before + after + kernel.back() < 1);
            add_axis(stride, 1, before, after);
            input.push_back(size);
        }
        if (transposed) attrs_.dilation.clear();
        const std::int64_t in_channels = data_.pick(1, options_.large ? 3 : 9);
        const std::int64_t out_channels = depthwise      ? data_.pick(1, 3)
                                        : options_.large ? data_.pick(13, 16)
                                                         : data_.pick(1, 9);
        input.push_back(in_channels);
        Shape weight = kernel;
        if (depthwise) weight.insert(weight.end(), {in_channels, out_channels});
        else {
            weight.insert(weight.begin(), out_channels);
            weight.push_back(in_channels);
        }
        const std::int64_t channels = depthwise ? in_channels * out_channels : out_channels;
        operand(factor(in_type(0), input));
        operand(factor(in_type(1), weight));
        const DType bias = in_type(2);
        const Shape bias_shape{data_.chance(30) ? 1 : channels};
        const std::int64_t most_bias = std::int64_t{1} << (bias == DType::i48 ? 46 : 30);
        operand(is_float(bias) ? factor(bias, bias_shape) : data_.ints(bias, bias_shape, -most_bias, most_bias));
        zero_point(in_type(3));
        zero_point(in_type(4));
    }

    void matmul() {
        const std::int64_t n = data_.pick(1, 3), h = options_.large ? data_.pick(61, 70) : data_.pick(1, 9);
        const std::int64_t c = data_.pick(1, 19), w = options_.large ? data_.pick(253, 260) : data_.pick(1, 18);
        operand(factor(in_type(0), {n, h, c}));
        operand(factor(in_type(1), {n, c, w}));
        zero_point(in_type(2));
        zero_point(in_type(3));
    }

    void transform() {
        if (has("inverse")) attrs_.inverse = data_.chance(50);
        // The direct sum of local_bound costs the square of the size.
        const std::int64_t largest = options_.large ? (attrs_.local_bound ? 5 : 10) : 4;
        const std::int64_t log_h = data_.pick(0, largest), log_w = data_.pick(0, std::min(largest, 12 - log_h));
        const Shape shape{data_.pick(1, 2), std::int64_t{1} << log_h, std::int64_t{1} << log_w};
        for (std::size_t k = 0; k < def_.inputs.size(); ++k) operand(factor(in_type(k), shape));
    }

    /// Half-pixel centres between any two sizes: n/d = 2*out / 2*in.
    void resize() {
        const std::int64_t ih = data_.pick(1, 9), iw = data_.pick(1, 9), oh = data_.pick(1, 12), ow = data_.pick(1, 12);
        attrs_.mode = in_type(0) == type_of(def_.outputs.at(0).type) && (!is_float(in_type(0)) || data_.chance(50))
                        ? ResizeMode::nearest
                        : ResizeMode::bilinear;
        const DType type = in_type(0);
        operand(is_float(type) ? data_.reals(type, {data_.pick(1, 2), ih, iw, data_.pick(1, 9)}, false)
                               : data_.any(type, {data_.pick(1, 2), ih, iw, data_.pick(1, 9)}));
        // Larger terms of the same ratios make larger results of integers.
        const std::int64_t ky = data_.chance(40) ? data_.pick(1, 1024 / oh) : 1,
                           kx = data_.chance(40) ? data_.pick(1, 1024 / ow) : 1;
        shape_operand({2 * oh * ky, 2 * ih * ky, 2 * ow * kx, 2 * iw * kx});
        shape_operand({(ih - oh) * ky, (iw - ow) * kx});
        shape_operand({(oh - ih) * ky, (ow - iw) * kx});
    }

    // ---- data movement ----------------------------------------------------------------------------------------

    void gather() {
        Shape values = data_.shape(3, 3);
        if (def_.op == Op::gather && data_.chance(25)) values[0] = values[2] = 1;
        const std::int64_t updates = data_.chance(20) ? data_.pick(30, 200) : data_.pick(1, 9);
        const std::int64_t outside = data_.chance(40) ? 3 : 0;
        operand(data_.noise(in_type(0), values));
        HostTensor indices = data_.ints(DType::i32, {values[0], updates}, -outside, values[1] - 1 + outside);
        if (outside > 0 && data_.chance(50)) indices = data_.any(DType::i32, indices.shape);
        operand(std::move(indices));
        if (def_.op == Op::scatter) operand(data_.noise(in_type(2), {values[0], updates, values[2]}));
    }

    void move() {
        const DType type = in_type(0);
        const bool scalar_too = def_.op == Op::reshape || def_.op == Op::identity;
        const Shape shape = data_.shape(scalar_too ? 0 : 1, 6);
        const auto rank = static_cast<std::int64_t>(shape.size());
        if (has("axis")) attrs_.axis = static_cast<std::int32_t>(data_.pick(0, rank - 1));
        operand(data_.noise(type, shape));
        switch (def_.op) {
            case Op::concat:
                for (std::int64_t more = data_.pick(0, 3); more > 0; --more) {
                    Shape other = shape;
                    other[static_cast<std::size_t>(attrs_.axis)] = data_.pick(1, 9);
                    operand(data_.noise(type, other));
                }
                return;
            case Op::pad: {
                Shape padding;
                for (std::int64_t i = 0; i < 2 * rank; ++i) padding.push_back(data_.chance(50) ? 0 : data_.pick(0, 3));
                shape_operand(padding);
                return operand(data_.noise(type, {1}));
            }
            case Op::reshape: return shape_operand(reshaped(shape));
            case Op::slice: {
                Shape start, size;
                for (const std::int64_t n : shape) {
                    start.push_back(data_.chance(40) ? 0 : data_.pick(0, n - 1));
                    size.push_back(data_.chance(40) ? n - start.back() : data_.pick(1, n - start.back()));
                }
                shape_operand(start);
                return shape_operand(size);
            }
            case Op::tile: {
                Shape multiples;
                for (std::int64_t i = 0; i < rank; ++i) multiples.push_back(data_.chance(60) ? 1 : data_.pick(1, 3));
                return shape_operand(multiples);
            }
            case Op::transpose:
                for (std::int64_t i = 0; i < rank; ++i) attrs_.perms.push_back(static_cast<std::int32_t>(i));
                for (std::size_t i = shape.size(); i > 1; --i) {
                    std::swap(attrs_.perms[i - 1],
                              attrs_.perms[static_cast<std::size_t>(data_.pick(0, static_cast<std::int64_t>(i) - 1))]);
                }
                return;
            default: return;
        }
    }

    /// Another shape of as many elements: neighbours joined, ones inserted.
    Shape reshaped(const Shape& shape) {
        Shape result;
        for (const std::int64_t n : shape) {
            if (!result.empty() && data_.chance(40)) result.back() *= n;
            else result.push_back(n);
            if (result.size() < 4 && data_.chance(20)) result.push_back(1);
        }
        while (result.size() > 6) {
            result[4] *= result[5];
            result.erase(result.begin() + 5);
        }
        return result;
    }
};

}  // namespace

RandomCase random_case(const OpDef& def, const TypeRow& row, std::mt19937_64& random, const RandomOptions& options) {
    if (def.structural) return random_structural_case(def, row, random, options);
    return Maker(def, row, random, options).make();
}

std::string row_text(const TypeRow& row) {
    std::string text;
    for (const DType type : row.types) text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(type));
    return text;
}

std::string describe(const RandomCase& made) { return print_graph(made.graph); }

}  // namespace tosavk::conformance

// One random node of 0.30 for each row. Longer than 500 lines: one function after another, an operator each.
#include "verify/conformance/random_node_0_30.hpp"

#include "verify/conformance/random_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tosavk::conformance {
namespace {

using v0_30::OpInfo;
using v0_30::Row;
using v0_30::Type;

class Maker {
public:
    Maker(const OpInfo& info, const Row& row, std::mt19937_64& random) : info_(info), row_(row), data_(random) {}

    RandomOperator030 make() {
        if (info_.rows.empty()) {
            throw Error(ErrorCode::unsupported,
                        fmt::format("there are no random cases of {}", v0_30::op_name(info_.op)));
        }
        made_.op = info_.op;
        for (const char* type : info_.outputs) made_.results.push_back(type_of(type));
        if (std::strcmp(info_.type_vars.back(), "acc_t") == 0) made_.attributes.acc_type = row_.types.back().type;
        fill();
        for (std::size_t k = 0; k < made_.operands.size(); ++k) made_.is_constant.push_back(k > 0 && data_.chance(50));
        return std::move(made_);
    }

private:
    Type type_of(std::string_view variable) const {
        for (std::size_t v = 0; v < info_.type_vars.size(); ++v) {
            if (info_.type_vars[v] == variable) return row_.types[v];
        }
        throw Error(ErrorCode::internal, fmt::format("{} has no type {}", v0_30::op_name(info_.op), variable));
    }
    Type in_type(std::size_t k) const { return type_of(info_.inputs.at(std::min(k, info_.inputs.size() - 1))); }
    DType type(std::size_t k = 0) const { return in_type(k).type; }

    void operand(HostTensor tensor) {
        made_.types.push_back(in_type(made_.operands.size()));
        made_.operands.push_back(std::move(tensor));
    }
    HostTensor factor(DType type, const Shape& shape) {
        return is_float(type) ? data_.reals(type, shape, data_.chance(20)) : data_.any(type, shape);
    }
    std::int64_t zero_point(DType type) { return type == DType::i8 ? data_.pick(-128, 127) : 0; }
    static std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

    /// Shapes of the operands of an elementwise operator; now and then the result is larger than both.
    std::vector<Shape> operand_shapes(std::size_t count) {
        const Shape shape = data_.shape(0, 4);
        std::vector<Shape> shapes;
        for (std::size_t k = 0; k < count; ++k) shapes.push_back(count == 1 ? shape : data_.narrowed(shape));
        if (count > 1 && data_.chance(40)) made_.shape = shape;
        return shapes;
    }

    void fill() {
        if (info_.op == v0_30::fully_connected) return dense();
        switch (info_.op) {
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
            case Op::depthwise_conv2d: return convolve();
            case Op::transpose_conv2d: return transpose_convolve();
            case Op::matmul: return matmul();
            case Op::fft2d:
            case Op::rfft2d: return fft();
            case Op::gather:
            case Op::scatter: return gather();
            case Op::rescale: return rescale();
            case Op::resize: return resize();
            case Op::table: return table();
            case Op::concat:
            case Op::pad:
            case Op::reshape:
            case Op::reverse:
            case Op::slice:
            case Op::tile:
            case Op::transpose:
            case Op::identity:
            case Op::constant: return move();
            default: return pointwise();
        }
    }

    // ---- elementwise ------------------------------------------------------------------------------------------

    void pointwise() {
        const std::vector<Shape> shapes = operand_shapes(info_.inputs.size());
        const DType t = type(shapes.size() - 1);
        const std::int64_t lo = is_float(t) ? 0 : min_of(t), hi = is_float(t) ? 0 : max_of(t);
        v0_30::Attributes& a = made_.attributes;
        switch (info_.op) {
            case Op::add:
            case Op::sub:
                for (const Shape& s : shapes) operand(is_float(t) ? data_.any(t, s) : data_.ints(t, s, lo / 2, hi / 2));
                return;
            case Op::abs: return operand(is_float(t) ? data_.any(t, shapes[0]) : data_.ints(t, shapes[0], lo + 1, hi));
            case Op::negate:
                operand(t == DType::i32 ? data_.ints(t, shapes[0], lo + 1, hi) : data_.any(t, shapes[0]));
                a.input1_zp = zero_point(t);
                a.output_zp = zero_point(t);
                return;
            case Op::arithmetic_right_shift:
                a.round = data_.chance(50);
                operand(data_.any(t, shapes[0]));
                return operand(data_.ints(t, shapes[1], 0, static_cast<std::int64_t>(size_of(t)) * 8 - 1));
            case Op::logical_left_shift:
            case Op::logical_right_shift:
                operand(data_.any(t, shapes[0]));
                return operand(data_.ints(t, shapes[1], 0, 31));
            case Op::intdiv:
                operand(data_.ints(t, shapes[0], lo + 1, hi));
                return operand(data_.chance(50) ? data_.ints(t, shapes[1], 1, data_.chance(50) ? 9 : hi)
                                                : data_.ints(t, shapes[1], lo, -1));
            case Op::mul: {
                std::int64_t limit = max_of(DType::i32);
                if (t == DType::i32 && data_.chance(70)) {
                    a.shift = narrow(data_.pick(1, 63));
                    limit = std::min(limit, (std::int64_t{1} << std::min<std::int64_t>((30 + a.shift) / 2, 31)) - 1);
                }
                for (const Shape& s : shapes)
                    operand(t == DType::i32 ? data_.ints(t, s, -limit, limit) : data_.any(t, s));
                return;
            }
            case Op::clamp: {
                const HostTensor bounds = is_float(t) ? data_.reals(t, {2}, false) : data_.any(t, {2});
                const auto values = decode_reals(t, bounds.bytes);
                a.min_val = std::min(values[0], values[1]);
                a.max_val = std::max(values[0], values[1]);
                return operand(data_.any(t, shapes[0]));
            }
            default: break;
        }
        for (std::size_t k = 0; k < shapes.size(); ++k) operand(data_.any(type(k), shapes[k]));
    }

    void table() {
        const bool bytes = type() == DType::i8;
        operand(data_.any(type(), data_.shape(0, 4)));
        // Steps of an i16 table must fit i16.
        const HostTensor entries = bytes ? data_.any(DType::i8, {256}) : data_.ints(DType::i16, {513}, -16384, 16383);
        made_.attributes.table = decode_ints(entries.type, entries.bytes);
    }

    void rescale() {
        v0_30::Attributes& a = made_.attributes;
        const Type in = in_type(0), out = made_.results[0];
        a.scale32 = in.type != DType::i48 && data_.chance(60);
        a.double_round = a.scale32 && data_.chance(40);
        const Shape shape = data_.shape(1, 4);
        a.per_channel = data_.chance(50);
        const std::int64_t channels = a.per_channel ? shape.back() : 1;
        operand(data_.any(in.type, shape));
        const DType multiplier = a.scale32 ? DType::i32 : DType::i16;
        const auto list = [&](const HostTensor& tensor) { return decode_ints(tensor.type, tensor.bytes); };
        a.multiplier =
            list(data_.ints(multiplier, {channels}, data_.chance(20) ? 0 : max_of(multiplier) / 2, max_of(multiplier)));
        // Large enough that every value is in range and every result fits.
        const std::int64_t least = in.type == DType::i8  ? 10
                                 : in.type == DType::i16 ? 18
                                 : in.type == DType::i32 ? 32
                                                         : 48;
        a.rescale_shift = list(data_.ints(DType::i8, {channels}, least, data_.chance(70) ? least + 8 : 62));
        const auto zero = [&](Type t) -> std::int64_t {
            if (t.is_unsigned) return t.type == DType::i8 ? data_.pick(0, 255) : data_.chance(50) ? 32768 : 0;
            return zero_point(t.type);
        };
        a.input_zp = zero(in);
        a.output_zp = zero(out);
    }

    // ---- reductions and windows -------------------------------------------------------------------------------

    void reduce() {
        const DType t = type();
        Shape shape = data_.shape(1, 4, 1500);
        made_.attributes.axis = narrow(data_.pick(0, static_cast<std::int64_t>(shape.size()) - 1));
        std::int64_t& axis = shape[static_cast<std::size_t>(made_.attributes.axis)];
        if (data_.chance(40) && element_count(shape) / axis <= 40) axis = data_.pick(20, 300);
        if (info_.op == Op::reduce_product) {
            axis = std::min<std::int64_t>(axis, 60);
            HostTensor factors = data_.reals(t, shape, false);
            auto values = decode_reals(t, factors.bytes);
            for (double& v : values) v = std::copysign(1 + std::fabs(v) / 16, v);
            factors.bytes = encode_reals(t, values);
            return operand(std::move(factors));
        }
        if (info_.op == Op::reduce_sum && !is_float(t)) {
            return operand(data_.ints(t, shape, min_of(t) / axis, max_of(t) / axis));
        }
        if (info_.op == Op::reduce_sum) return operand(factor(t, shape));
        if (is_integer(t) && data_.chance(40)) return operand(data_.ints(t, shape, -2, 2));  // ties
        operand(data_.any(t, shape));
    }

    /// Kernel, stride, dilation and padding of one axis for some input size; returns the size.
    std::int64_t window(std::int64_t kernel, std::int64_t outputs, bool is_pool) {
        for (;;) {
            const std::int64_t stride = data_.pick(1, 3), dilation = is_pool ? 1 : data_.pick(1, 2);
            const std::int64_t most = is_pool ? kernel - 1 : kernel;
            const std::int64_t before = data_.pick(0, most), after = data_.pick(0, most);
            const std::int64_t in = (outputs - 1) * stride + (kernel - 1) * dilation + 1 - before - after;
            if (in < 1) continue;
            made_.attributes.stride.push_back(narrow(stride));
            made_.attributes.dilation.push_back(narrow(dilation));
            made_.attributes.pad.insert(made_.attributes.pad.end(), {narrow(before), narrow(after)});
            return in;
        }
    }

    void pool() {
        Shape shape{data_.pick(1, 2)};
        for (int axis = 0; axis < 2; ++axis) {
            const std::int64_t kernel = data_.pick(1, 5);
            made_.attributes.kernel.push_back(narrow(kernel));
            shape.push_back(window(kernel, data_.pick(1, 6), true));
        }
        shape.push_back(data_.pick(1, 9));
        const bool average = info_.op == Op::avg_pool2d;
        operand(average ? factor(type(), shape) : data_.any(type(), shape));
        if (average) made_.attributes.input_zp = zero_point(type()), made_.attributes.output_zp = zero_point(type());
    }

    void weigh(const Shape& input, const Shape& weight, std::int64_t channels) {
        operand(factor(type(0), input));
        operand(factor(type(1), weight));
        const DType bias = type(2);
        operand(is_float(bias) ? factor(bias, {channels}) : data_.ints(bias, {channels}, -(1 << 30), 1 << 30));
        made_.attributes.input_zp = zero_point(type(0));
        made_.attributes.weight_zp = zero_point(type(1));
    }

    void convolve() {
        const bool depthwise = info_.op == Op::depthwise_conv2d;
        const int axes = info_.op == Op::conv3d ? 3 : 2;
        Shape input{data_.pick(1, 2)}, weight;
        for (int axis = 0; axis < axes; ++axis) {
            weight.push_back(data_.pick(1, axes == 3 ? 3 : 4));
            input.push_back(window(weight.back(), data_.pick(1, axes == 3 ? 4 : 7), false));
        }
        const std::int64_t in_channels = data_.pick(1, 9), out_channels = data_.pick(1, depthwise ? 3 : 9);
        input.push_back(in_channels);
        if (depthwise) weight.insert(weight.end(), {in_channels, out_channels});
        else {
            weight.insert(weight.begin(), out_channels);
            weight.push_back(in_channels);
        }
        weigh(input, weight, depthwise ? in_channels * out_channels : out_channels);
    }

    // out_pad may reach beyond the kernel, so that whole rows of products go.
    void transpose_convolve() {
        v0_30::Attributes& a = made_.attributes;
        Shape input{data_.pick(1, 2)}, weight{data_.pick(1, 9)};
        for (int axis = 0; axis < 2; ++axis) {
            const std::int64_t size = data_.pick(1, 7), kernel = data_.pick(1, 4), stride = data_.pick(1, 3);
            const std::int64_t whole = (size - 1) * stride + kernel;
            const std::int64_t before = data_.pick(0, std::min(whole - 1, kernel + 1));
            const std::int64_t after = data_.pick(0, std::min(whole - 1 - before, kernel + 1));
            a.stride.push_back(narrow(stride));
            a.out_pad.insert(a.out_pad.end(), {narrow(before), narrow(after)});
            input.push_back(size);
            weight.push_back(kernel);
        }
        const std::int64_t channels = data_.pick(1, 9);
        input.push_back(channels);
        weight.push_back(channels);
        weigh(input, weight, weight[0]);
    }

    void dense() {
        const std::int64_t n = data_.pick(1, 5), in = data_.pick(1, 40), out = data_.pick(1, 20);
        weigh({n, in}, {out, in}, out);
    }

    void matmul() {
        const std::int64_t n = data_.pick(1, 3), h = data_.pick(1, 9), c = data_.pick(1, 19), w = data_.pick(1, 18);
        operand(factor(type(0), {n, h, c}));
        operand(factor(type(1), {n, c, w}));
        made_.attributes.a_zp = zero_point(type(0));
        made_.attributes.b_zp = zero_point(type(1));
    }

    void fft() {
        const Shape shape{data_.pick(1, 2), std::int64_t{1} << data_.pick(0, 4), std::int64_t{1} << data_.pick(0, 4)};
        for (std::size_t k = 0; k < info_.inputs.size(); ++k) operand(data_.reals(type(), shape, false));
        made_.attributes.inverse = info_.op == Op::fft2d && data_.chance(50);
    }

    // ---- data movement ----------------------------------------------------------------------------------------

    void gather() {
        const Shape values = data_.shape(3, 3);
        // Indices of SCATTER must be different.
        const bool scatter = info_.op == Op::scatter;
        const std::int64_t updates = scatter ? data_.pick(1, values[1]) : data_.pick(1, 9);
        operand(data_.noise(type(0), values));
        std::vector<std::int64_t> indices;
        for (std::int64_t n = 0; n < values[0]; ++n) {
            std::vector<std::int64_t> order(static_cast<std::size_t>(values[1]));
            for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int64_t>(k);
            for (std::size_t k = order.size(); k > 1; --k) {
                std::swap(order[k - 1],
                          order[static_cast<std::size_t>(data_.pick(0, static_cast<std::int64_t>(k) - 1))]);
            }
            for (std::int64_t w = 0; w < updates; ++w) {
                indices.push_back(scatter ? order[static_cast<std::size_t>(w)] : data_.pick(0, values[1] - 1));
            }
        }
        HostTensor list(DType::i32, {values[0], updates});
        list.bytes = encode_ints(DType::i32, indices);
        operand(std::move(list));
        if (scatter) operand(data_.noise(type(2), {values[0], updates, values[2]}));
    }

    void move() {
        v0_30::Attributes& a = made_.attributes;
        const DType t = info_.op == Op::constant ? row_.types[0].type : type();
        const Shape shape = data_.shape(1, 4);
        const auto rank = static_cast<std::int64_t>(shape.size());
        a.axis = narrow(data_.pick(0, rank - 1));
        if (info_.op == Op::constant) {
            made_.types.push_back(row_.types[0]);
            made_.operands.push_back(data_.noise(t, shape));
            return;
        }
        operand(data_.noise(t, shape));
        switch (info_.op) {
            case Op::concat:
                for (std::int64_t more = data_.pick(0, 3); more > 0; --more) {
                    Shape other = shape;
                    other[static_cast<std::size_t>(a.axis)] = data_.pick(1, 9);
                    operand(data_.noise(t, other));
                }
                return;
            case Op::pad: {
                for (std::int64_t i = 0; i < 2 * rank; ++i)
                    a.padding.push_back(data_.chance(50) ? 0 : data_.pick(0, 3));
                // A constant of a float type must be one of its numbers.
                const HostTensor value = is_float(t) ? data_.reals(t, {1}, false) : data_.any(t, {1});
                a.pad_const = decode_reals(t, value.bytes)[0];
                return;
            }
            case Op::reshape:
                if (rank > 1 && data_.chance(50)) {
                    a.new_shape.assign(shape.begin() + 1, shape.end());
                    a.new_shape[0] *= shape[0];
                } else {
                    a.new_shape.assign(shape.rbegin(), shape.rend());
                }
                return;
            case Op::slice:
                for (const std::int64_t n : shape) {
                    a.start.push_back(data_.chance(40) ? 0 : data_.pick(0, n - 1));
                    a.size.push_back(data_.chance(40) ? n - a.start.back() : data_.pick(1, n - a.start.back()));
                }
                return;
            case Op::tile:
                for (std::int64_t i = 0; i < rank; ++i) a.multiples.push_back(data_.chance(60) ? 1 : data_.pick(1, 3));
                return;
            case Op::transpose:
                for (std::int64_t i = 0; i < rank; ++i) a.perms.push_back(narrow(i));
                for (std::size_t i = shape.size(); i > 1; --i) {
                    std::swap(a.perms[i - 1],
                              a.perms[static_cast<std::size_t>(data_.pick(0, static_cast<std::int64_t>(i) - 1))]);
                }
                return;
            default: return;
        }
    }

    // ---- RESIZE -----------------------------------------------------------------------------------------------

    /// Samples from inside the image: rows -1 to IH - 1. Of the floats some are fractions, some are any numbers.
    void resize() {
        v0_30::Attributes& a = made_.attributes;
        const DType in = type();
        const bool real = is_float(in);
        a.mode =
            in == made_.results[0].type && (!real || data_.chance(50)) ? ResizeMode::nearest : ResizeMode::bilinear;
        Shape shape{data_.pick(1, 2)};
        a.border.emplace();
        if (!real) a.shift = narrow(data_.pick(1, data_.chance(70) ? 7 : 11));
        for (int axis = 0; axis < 2; ++axis) {
            const std::int64_t size = data_.pick(1, 9);
            shape.push_back(size);
            if (real) resize_real(size);
            else resize_integer(size);
        }
        shape.push_back(data_.pick(1, 9));
        operand(real ? data_.reals(in, shape, false) : data_.any(in, shape));
        if (data_.chance(40)) a.border.reset();  // as files of 0.30 have it
    }

    void resize_integer(std::int64_t size) {
        v0_30::Attributes& a = made_.attributes;
        const std::int64_t unit = std::int64_t{1} << a.shift;
        // No level limits the scale in 0.30, but level 8K does: up to 256.
        const std::int64_t stride =
            data_.pick(std::max<std::int64_t>(1, unit / 256), std::min(3 * unit, 16 * unit - 1));
        const std::int64_t offset = data_.chance(30) ? 0 : data_.pick(-unit, std::min(size * unit - 1, 4 * unit));
        std::int64_t most = (size * unit - 1 - offset) / stride + 1;  // the last sample is below `size`
        most = std::min<std::int64_t>(most, 40);
        const std::int64_t out = data_.pick(1, most);
        add_resize(static_cast<double>(stride), static_cast<double>(offset),
                   out - (((size - 1) * unit - offset) / stride + 1), out);
    }

    void resize_real(std::int64_t size) {
        float stride = 1, offset = 0;
        std::int64_t out = data_.pick(1, 20);
        const auto in = static_cast<float>(size), outputs = static_cast<float>(out);
        switch (data_.pick(0, 2)) {
            case 0:  // corners meet
                stride = out > 1 && size > 1 ? (in - 1) / (outputs - 1) : 1;
                break;
            case 1:  // half-pixel centres
                stride = in / outputs;
                offset = stride * 0.5F - 0.5F;
                break;
            default:  // anything
                stride = static_cast<float>(data_.pick(1, 1 << 20)) * 0x1p-20F * std::min(in, 3.0F);
                offset = static_cast<float>(data_.pick(-(1 << 20), (1 << 20) - 1)) * 0x1p-20F;
        }
        // As many as stay inside, by the very arithmetic of 0.30.
        const auto position = [&](std::int64_t o) { return static_cast<float>(o) * stride + offset; };
        while (out > 1 && position(out - 1) >= in) --out;
        if (position(0) < -1 || position(0) >= in) offset = 0;
        const auto natural = static_cast<std::int64_t>((in - 1 - offset) / stride) + 1;
        add_resize(static_cast<double>(stride), static_cast<double>(offset), out - natural, out);
    }

    void add_resize(double stride, double offset, std::int64_t border, std::int64_t out) {
        made_.attributes.resize_stride.push_back(stride);
        made_.attributes.resize_offset.push_back(offset);
        made_.attributes.border->push_back(border);
        made_.attributes.output_size.push_back(out);
    }

    const OpInfo& info_;
    const Row& row_;
    RandomData data_;
    RandomOperator030 made_;
};

}  // namespace

RandomOperator030 random_operator_0_30(const v0_30::OpInfo& info, const v0_30::Row& row, std::mt19937_64& random) {
    return Maker(info, row, random).make();
}

RandomCase upgraded_case(const RandomOperator030& drawn) {
    v0_30::Builder builder("random " + std::string(v0_30::op_name(drawn.op)));
    RandomCase made;
    std::vector<ValueId> ids;
    for (std::size_t k = 0; k < drawn.operands.size(); ++k) {
        const HostTensor& tensor = drawn.operands[k];
        const std::string name = fmt::format("operand_{}", k);
        if (drawn.is_constant[k] || drawn.op == Op::constant) {
            ids.push_back(builder.constant(name, drawn.types[k], tensor.shape, tensor.bytes));
        } else {
            ids.push_back(builder.input(name, drawn.types[k], tensor.shape));
            made.inputs.push_back(tensor);
        }
    }
    if (drawn.op == Op::constant) {
        // A graph needs a node to run.
        builder.output(builder.add1(Op::identity, ids, drawn.types[0], {}, "node"));
        made.graph = builder.finish();
        return made;
    }
    std::vector<v0_30::Result> results;
    for (std::size_t k = 0; k < drawn.results.size(); ++k) {
        results.push_back({fmt::format("node_{}", k), drawn.results[k], drawn.shape});
    }
    for (const ValueId id : builder.add(drawn.op, ids, drawn.attributes, results, "node")) builder.output(id);
    made.graph = builder.finish();
    return made;
}

RandomCase random_case_0_30(const v0_30::OpInfo& info, const v0_30::Row& row, std::mt19937_64& random) {
    return upgraded_case(random_operator_0_30(info, row, random));
}

std::string row_text(const v0_30::Row& row) {
    std::string text;
    for (const v0_30::Type type : row.types)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", v0_30::type_name(type));
    return text;
}

}  // namespace tosavk::conformance

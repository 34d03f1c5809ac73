// Data movement, reductions and conversions as problem lines.
#include "frontends/problems/operators.hpp"
#include "ops/builder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace tosavk {

namespace {

using Results = std::vector<ValueId>;

std::int32_t take_axis(Line& line, const Shape& shape) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    return static_cast<std::int32_t>(line.take_number("axis", rank - 1, 0, rank - 1));
}

ValueId data(Line& line, Layers& layers, const Shape& shape) { return layers.input("input", line.type(), shape); }

template <Op op> Results reduce(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    Attributes attrs;
    attrs.axis = take_axis(line, shape);
    ValueId x = data(line, layers, shape);
    const auto length = static_cast<double>(shape[static_cast<std::size_t>(attrs.axis)]);
    const ValueId y = layers.builder().add1(op, {x}, op == Op::argmax ? DType::i32 : line.type(), attrs);
    layers.set_magnitude(y, layers.magnitude(x) * (op == Op::reduce_sum ? std::sqrt(length) : 1));
    return {y};
}

Results softmax(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const std::int32_t axis = take_axis(line, shape);
    return {layers.softmax(data(line, layers, shape), axis)};
}

Results concat(Line& line, Layers& layers) {
    const Shape first = line.take_shape("first shape");
    Attributes attrs;
    attrs.axis = take_axis(line, first);
    std::vector<ValueId> parts{data(line, layers, first)};
    while (const auto more = line.take_shape_if_any())
        parts.push_back(layers.input(fmt::format("input_{}", parts.size()), line.type(), *more));
    if (parts.size() == 1) parts.push_back(layers.input("input_1", line.type(), first));
    return {layers.builder().add1(Op::concat, parts, line.type(), attrs)};
}

Results pad(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto padding = line.take_list("padding (before,after of every axis)", 2 * shape.size());
    const ValueId x = data(line, layers, shape);
    return {layers.builder().add1(
        Op::pad, {x, layers.builder().shape(padding), layers.builder().scalar(line.type(), 0)}, line.type())};
}

Results reshape(Line& line, Layers& layers) {
    const Shape from = line.take_shape("shape"), to = line.take_shape("new shape");
    return {layers.reshape(data(line, layers, from), to)};
}

Results reverse(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    Attributes attrs;
    attrs.axis = take_axis(line, shape);
    return {layers.builder().add1(Op::reverse, {data(line, layers, shape)}, line.type(), attrs)};
}

Results slice(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto start = line.take_list("start", shape.size());
    const Shape size = line.take_shape("size", shape.size());
    const ValueId x = data(line, layers, shape);
    return {layers.builder().add1(Op::slice, {x, layers.builder().shape(start), layers.builder().shape(size)},
                                  line.type())};
}

Results tile(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const Shape multiples = line.take_shape("multiples", shape.size());
    const ValueId x = data(line, layers, shape);
    return {layers.builder().add1(Op::tile, {x, layers.builder().shape(multiples)}, line.type())};
}

Results transpose(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    Attributes attrs;
    for (const std::int64_t axis : line.take_list("permutation", shape.size())) {
        if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
            line.fail(fmt::format("the permutation names axis {}, which there is not", axis));
        attrs.perms.push_back(static_cast<std::int32_t>(axis));
    }
    return {layers.builder().add1(Op::transpose, {data(line, layers, shape)}, line.type(), attrs)};
}

Results identity(Line& line, Layers& layers) {
    return {layers.unary(Op::identity, data(line, layers, line.take_shape("shape")))};
}

Results gather(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("values NxKxC", 3);
    const Shape count = line.take_shape("number of indices", 1);
    const ValueId x = data(line, layers, shape);
    const ValueId indices = layers.integers("indices", DType::i32, {shape[0], count[0]}, 0, shape[1] - 1);
    return {layers.builder().add1(Op::gather, {x, indices}, line.type())};
}

/// Every index once: the specification asks for that. A step without a common divisor visits all places.
Results scatter(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("values NxKxC", 3);
    const Shape count = line.take_shape("number of indices", 1);
    if (count[0] > shape[1])
        line.fail(fmt::format("{} different indices into {} places are too many", count[0], shape[1]));
    const ValueId x = data(line, layers, shape);  // refuses sizes that the loop below could not end with
    std::int64_t step = shape[1] / 2 + 1;
    while (std::gcd(step, shape[1]) != 1) ++step;
    std::vector<std::int64_t> indices;
    for (std::int64_t n = 0; n < shape[0]; ++n)
        for (std::int64_t k = 0; k < count[0]; ++k) indices.push_back((n + k * step) % shape[1]);
    GraphBuilder& builder = layers.builder();
    const ValueId where = builder.constant_ints("indices", DType::i32, {shape[0], count[0]}, indices);
    const ValueId updates = layers.input("updates", line.type(), {shape[0], count[0], shape[2]});
    return {builder.add1(Op::scatter, {x, where, updates}, line.type())};
}

/// Positions between the centres of elements, as image libraries do by default.
Results resize(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("input NxHxWxC", 4);
    const Shape size = line.take_shape("output OHxOW", 2);
    Attributes attrs;
    attrs.mode = line.take_word("nearest") ? ResizeMode::nearest : ResizeMode::bilinear;
    if (attrs.mode == ResizeMode::bilinear) line.take_word("bilinear");
    Shape scale, offset, border;
    double gain = 1;
    for (std::size_t k = 0; k < 2; ++k) {
        const std::int64_t g = std::gcd(size[k], shape[k + 1]), out = size[k] / g, in = shape[k + 1] / g;
        scale.insert(scale.end(), {2 * out, 2 * in});
        offset.push_back(in - out);
        border.push_back(out - in);
        gain *= static_cast<double>(2 * out);
    }
    const bool wide = is_integer(line.type()) && attrs.mode == ResizeMode::bilinear;
    const DType out = !wide ? line.type() : line.type() == DType::i8 ? DType::i32 : DType::i48;
    GraphBuilder& builder = layers.builder();
    const ValueId x = data(line, layers, shape);
    const ValueId y =
        builder.add1(Op::resize, {x, builder.shape(scale), builder.shape(offset), builder.shape(border)}, out, attrs);
    layers.set_magnitude(y, layers.magnitude(x) * (wide ? gain : 1));
    return {y};
}

Results cast(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto to = line.take_type();
    if (!to) line.fail("the type to cast to is missing");
    return {layers.builder().add1(Op::cast, {data(line, layers, shape)}, *to)};
}

Results rescale(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto to = line.take_type();
    if (!to) line.fail("the type to rescale to is missing");
    if (!is_integer(line.type()) || !is_integer(*to)) line.fail("RESCALE is from integers to integers");
    const bool per_channel = line.take_word("per_channel");
    const ValueId x = data(line, layers, shape);
    // To wider types by a factor that needs all bits of the multiplier; to others so that most of the range is used.
    const double factor = static_cast<double>(max_of(*to)) / static_cast<double>(max_of(line.type()));
    return {layers.rescale(x, *to, factor * 0.9, 0, per_channel)};
}

Results table(Line& line, Layers& layers) {
    const ValueId x = data(line, layers, line.take_shape("shape"));
    const bool narrow = line.type() == DType::i8;
    const ValueId values = narrow ? layers.integers("table", DType::i8, {256}, -128, 127)
                                  : layers.integers("table", DType::i16, {513}, -16384, 16383);
    return {layers.builder().add1(Op::table, {x, values}, narrow ? DType::i8 : DType::i32)};
}

const ProblemForm forms[] = {
    {"argmax", "TYPE SHAPE [axisA]", "f32 1x256x256x64 axis3", "f32 3x5x17 axis2", reduce<Op::argmax>},
    {"reduce_all", "bool SHAPE [axisA]", "bool 1x256x256x64 axis3", "bool 3x5x2 axis2", reduce<Op::reduce_all>},
    {"reduce_any", "bool SHAPE [axisA]", "bool 1x256x256x64 axis3", "bool 3x5x2 axis2", reduce<Op::reduce_any>},
    {"reduce_max", "TYPE SHAPE [axisA] [FOLLOWER...]", "f32 1x256x256x64 axis2", "i8 3x5x7 axis1",
     reduce<Op::reduce_max>},
    {"reduce_min", "TYPE SHAPE [axisA] [FOLLOWER...]", "f32 1x256x256x64 axis2", "f32 3x5x7 axis1",
     reduce<Op::reduce_min>},
    {"reduce_product", "TYPE SHAPE [axisA] [FOLLOWER...]", "f32 1x256x256x64 axis2", "f32 3x5x7 axis1",
     reduce<Op::reduce_product>},
    {"reduce_sum", "TYPE SHAPE [axisA] [FOLLOWER...]", "f32 1x256x256x64 axis2", "f32 3x5x37 axis2",
     reduce<Op::reduce_sum>},
    {"softmax", "TYPE SHAPE [axisA]", "f32 1x256x256x64 axis3", "f32 3x5x7 axis1", softmax},
    {"concat", "TYPE SHAPE [SHAPE...] [axisA] (one shape: twice)", "f32 1x256x256x32 1x256x256x32 axis3",
     "i8 2x3x4 2x5x4 axis1", concat},
    {"pad", "TYPE SHAPE BEFORE,AFTER,... (per axis)", "f32 1x256x256x64 0,0,1,1,1,1,0,0", "i8 2x3x4 0,1,2,0,1,1", pad},
    {"reshape", "TYPE SHAPE NEW_SHAPE [FOLLOWER...]", "f32 1x256x256x64 65536x64", "i8 2x3x4 6x4", reshape},
    {"reverse", "TYPE SHAPE [axisA]", "f32 1x256x256x64 axis2", "i8 2x3x5 axis1", reverse},
    {"slice", "TYPE SHAPE START,... SIZE", "f32 1x256x256x64 0,1,1,0 1x254x254x64", "f32 4x7x5 1,0,2 2x7x3", slice},
    {"tile", "TYPE SHAPE MULTIPLES", "f32 1x128x256x64 1x2x1x1", "i8 2x3x4 1x2x3", tile},
    {"transpose", "TYPE SHAPE PERMUTATION,...", "f32 2048x2048 1,0", "f32 3x4x5 2,0,1", transpose},
    {"identity", "TYPE SHAPE [FOLLOWER...]", "f32 1x256x256x64", "f32 3x4x5", identity},
    {"gather", "TYPE NxKxC COUNT", "f32 1x65536x64 65536", "f32 2x7x5 4", gather},
    {"scatter", "TYPE NxKxC COUNT", "f32 1x65536x64 32768", "i32 2x7x5 4", scatter},
    {"resize", "TYPE NxHxWxC OHxOW [nearest | bilinear] [rescale] [FOLLOWER...]", "f32 1x128x128x64 256x256 bilinear",
     "i8 1x4x5x3 8x7 bilinear rescale", resize},
    {"cast", "TYPE SHAPE TYPE [FOLLOWER...]", "f32 4194304 i8", "f32 70 i8", cast},
    {"rescale", "TYPE SHAPE TYPE [per_channel] [FOLLOWER...]", "i32 1x256x256x64 i8 per_channel",
     "i32 3x4x5 i8 per_channel", rescale},
    {"table", "TYPE SHAPE [FOLLOWER...]", "i8 4194304", "i16 70", table},
};

}  // namespace

std::span<const ProblemForm> movement_forms() { return forms; }

}  // namespace tosavk

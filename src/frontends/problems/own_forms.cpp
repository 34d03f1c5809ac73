// Operators of our own domain as problem lines; the elementwise ones need no entry.
#include "frontends/problems/operators.hpp"
#include "ops/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tosavk {

namespace {

using Results = std::vector<ValueId>;

/// The combiner that a word names; `fallback` when none does.
Combiner take_combiner(Line& line, Combiner fallback) {
    for (const auto& [word, combiner] :
         {std::pair("set", Combiner::set), std::pair("sum", Combiner::add), std::pair("product", Combiner::multiply),
          std::pair("min", Combiner::minimum), std::pair("max", Combiner::maximum)}) {
        if (line.take_word(word)) return combiner;
    }
    return fallback;
}

Results cumulate(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto rank = static_cast<std::int64_t>(shape.size());
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(line.take_number("axis", rank - 1, 0, rank - 1));
    attrs.combiner = take_combiner(line, Combiner::add);
    attrs.exclusive = line.take_word("exclusive");
    attrs.reverse = line.take_word("reverse");
    const ValueId x = layers.input("input", line.type(), shape);
    const ValueId y = layers.builder().add1(Op::cumulate, {x}, line.type(), attrs);
    const auto length = static_cast<double>(rank == 0 ? 1 : shape[static_cast<std::size_t>(attrs.axis)]);
    layers.set_magnitude(y, layers.magnitude(x) * (attrs.combiner == Combiner::add ? std::sqrt(length / 2 + 1) : 1));
    return {y};
}

Results sort(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto rank = static_cast<std::int64_t>(shape.size());
    Attributes attrs;
    attrs.axis = static_cast<std::int32_t>(line.take_number("axis", rank - 1, 0, rank - 1));
    attrs.descending = line.take_word("descending");
    std::vector<ValueId> operands{layers.input("keys", line.type(), shape)};
    std::vector<DType> types{line.type()};
    for (std::int64_t k = line.take_number("values", 0, 0, 8); k > 0; --k) {
        operands.push_back(layers.input(fmt::format("values_{}", types.size()), DType::i32, shape));
        types.push_back(DType::i32);
    }
    return layers.builder().add(Op::sort, operands, attrs, types);
}

/// Tuples of indices into the first dimensions of `shape`, each of them inside.
ValueId take_tuples(Line& line, Layers& layers, const Shape& shape, std::int64_t count) {
    const std::int64_t depth = line.take_number("d", 1, 1, static_cast<std::int64_t>(shape.size()));
    std::int64_t least = shape[0];
    for (std::int64_t d = 1; d < depth; ++d) least = std::min(least, shape[static_cast<std::size_t>(d)]);
    return layers.integers("indices", DType::i32, {count, depth}, 0, least - 1);
}

/// The dimensions of `shape` that tuples do not index, behind the number of tuples.
Shape rows_of(const Shape& shape, const Shape& indices) {
    Shape rows{indices[0]};
    rows.insert(rows.end(), shape.begin() + indices[1], shape.end());
    return rows;
}

Results gather_nd(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("values");
    const Shape count = line.take_shape("number of tuples", 1);
    const ValueId values = layers.input("values", line.type(), shape);
    return {layers.builder().add1(Op::gather_nd, {values, take_tuples(line, layers, shape, count[0])}, line.type())};
}

Results scatter_nd(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("values");
    const Shape count = line.take_shape("number of tuples", 1);
    Attributes attrs;
    attrs.combiner = take_combiner(line, Combiner::set);
    const ValueId values = layers.input("values", line.type(), shape);
    const ValueId indices = take_tuples(line, layers, shape, count[0]);
    const ValueId updates = layers.input("updates", line.type(), rows_of(shape, layers.shape(indices)));
    return {layers.builder().add1(Op::scatter_nd, {values, indices, updates}, line.type(), attrs)};
}

Results segment_reduce(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const Shape segments = line.take_shape("number of segments", 1);
    Attributes attrs;
    attrs.segments = static_cast<std::int32_t>(std::min<std::int64_t>(segments[0], max_of(DType::i32)));
    attrs.combiner = take_combiner(line, Combiner::add);
    const ValueId x = layers.input("input", line.type(), shape);
    const ValueId ids = layers.integers("ids", DType::i32, {shape[0]}, 0, attrs.segments - 1);
    return {layers.builder().add1(Op::segment_reduce, {x, ids}, line.type(), attrs)};
}

/// Where the window begins is an input: any numbers, which are clamped.
Results dynamic_slice(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape"), size = line.take_shape("size", shape.size());
    const ValueId x = layers.input("input", line.type(), shape);
    const ValueId start = layers.input("start", DType::i32, {static_cast<std::int64_t>(shape.size())});
    return {layers.builder().add1(Op::dynamic_slice, {x, start, layers.builder().shape(size)}, line.type())};
}

Results dynamic_update_slice(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape"), size = line.take_shape("update", shape.size());
    const ValueId x = layers.input("input", line.type(), shape), update = layers.input("update", line.type(), size);
    const ValueId start = layers.input("start", DType::i32, {static_cast<std::int64_t>(shape.size())});
    return {layers.builder().add1(Op::dynamic_update_slice, {x, update, start}, line.type())};
}

Results scale_fp64(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto to = line.take_type();
    if (!to) line.fail("the type to scale to is missing");
    if (!is_integer(line.type()) || !is_integer(*to)) line.fail("SCALE_FP64 is from integers to integers");
    const bool per_channel = line.take_word("per_channel");
    const ValueId x = layers.input("input", line.type(), shape);
    const double factor = static_cast<double>(max_of(*to)) / static_cast<double>(max_of(line.type()));
    return {layers.scale_fp64(x, *to, factor * 0.9, per_channel)};
}

Results partial_sort(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape", 2);
    Attributes attrs;
    attrs.most = static_cast<std::int32_t>(std::min<std::int64_t>(line.take_shape("most", 1)[0], max_of(DType::i32)));
    if (line.type() != DType::fp32) line.fail("values are f32");
    return {layers.builder().add1(Op::partial_sort, {layers.input("values", line.type(), shape)}, DType::i32, attrs)};
}

Results bitcast(Line& line, Layers& layers) {
    const Shape shape = line.take_shape("shape");
    const auto to = line.take_type();
    if (!to) line.fail("the type of the result is missing");
    const ValueId x = layers.input("input", line.type(), shape);
    return {layers.builder().add1(Op::bitcast, {x}, *to)};
}

/// Boxes with corners that are any numbers, so that about half of them overlap.
Results suppress(Line& line, Layers& layers) {
    const std::int64_t count = line.take_shape("number of boxes", 1)[0], most = line.take_shape("most", 1)[0];
    const std::int64_t lists = line.take_number("lists", 1, 1, 1 << 16);
    if (line.type() != DType::fp32) line.fail("boxes are f32");
    Attributes attrs;
    attrs.most = static_cast<std::int32_t>(std::min<std::int64_t>(most, max_of(DType::i32)));
    const ValueId boxes = layers.input("boxes", DType::fp32, {count, 4});
    const ValueId order = layers.integers("order", DType::i32, {lists, count}, 0, count - 1);
    const ValueId counts = layers.integers("counts", DType::i32, {lists}, count, count);
    const ValueId limit = layers.builder().scalar(DType::fp32, 0.5);
    return layers.builder().add(Op::suppress, {boxes, order, counts, limit}, attrs, std::array{DType::i32, DType::i32});
}

Results suppress_queued(Line& line, Layers& layers) {
    const std::int64_t count = line.take_shape("number of boxes", 1)[0], most = line.take_shape("most", 1)[0];
    if (line.type() != DType::fp32) line.fail("boxes are f32");
    Attributes attrs;
    attrs.most = static_cast<std::int32_t>(std::min<std::int64_t>(most, max_of(DType::i32)));
    attrs.sigma = line.take_word("soft") ? 0.5 : 0;
    const ValueId boxes = layers.input("boxes", DType::fp32, {count, 4});
    const ValueId scores = layers.input("scores", DType::fp32, {count});
    const ValueId overlap = layers.builder().scalar(DType::fp32, 0.5), score = layers.builder().scalar(DType::fp32, 0);
    return layers.builder().add(Op::suppress_queued, {boxes, scores, overlap, score}, attrs,
                                std::array{DType::i32, DType::fp32, DType::i32});
}

const ProblemForm forms[] = {
    {"sort", "TYPE SHAPE [axisA] [descending] [valuesN]", "f32 4194304", "f32 3x37x2 axis1 descending values1", sort},
    {"gather_nd", "TYPE SHAPE COUNT [dDEPTH]", "f32 256x256x64 65536 d2", "f32 4x5x3 7 d2", gather_nd},
    {"scatter_nd", "TYPE SHAPE COUNT [dDEPTH] [set | sum | product | min | max]", "f32 256x256x64 65536 d2 sum",
     "f32 4x5x3 9 d2 sum", scatter_nd},
    {"dynamic_slice", "TYPE SHAPE SIZE [FOLLOWER...]", "f32 8x1024x512 8x256x512", "f32 4x7x5 2x7x3", dynamic_slice},
    {"dynamic_update_slice", "TYPE SHAPE UPDATE [FOLLOWER...]", "f32 8x1024x512 8x1x512", "f32 4x7x5 2x1x5",
     dynamic_update_slice},
    {"segment_reduce", "TYPE SHAPE SEGMENTS [sum | product | min | max]", "f32 1048576x4 10000", "f32 37x3 5 max",
     segment_reduce},
    {"cumulate", "TYPE SHAPE [axisA] [sum | product | min | max] [exclusive] [reverse] [FOLLOWER...]", "f32 16777216",
     "f32 3x37x2 axis1 max exclusive", cumulate},
    {"scale_fp64", "TYPE SHAPE TYPE [per_channel] [FOLLOWER...]", "i32 1x256x256x64 i8 per_channel",
     "i32 3x5x7 i16 per_channel", scale_fp64},
    {"partial_sort", "TYPE ROWSxLENGTH MOST", "f32 2000x90 3", "f32 5x7 3", partial_sort},
    {"bitcast", "TYPE SHAPE TYPE [FOLLOWER...]", "f32 16777216 i32", "i16 3x5x2 f32", bitcast},
    {"suppress", "TYPE BOXES MOST [listsN]", "f32 2000 100 lists90", "f32 70 5 lists3", suppress},
    {"suppress_queued", "TYPE BOXES MOST [soft]", "f32 2000 100", "f32 70 5 soft", suppress_queued},
};

}  // namespace

std::span<const ProblemForm> own_forms() { return forms; }

}  // namespace tosavk

// Operators that give every element another place: blocks to depth or batch, reversals, repetition, diagonals.
#include "frontends/tflite/moves.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

using tflite::BuiltinOperator;

ValueId image(Lowering& l) {
    const ValueId x = l.value(0);
    if (l.shape(x).size() != 4) l.fail(fmt::format("its input has rank {}, not 4", l.shape(x).size()));
    return x;
}

void lower_depth_to_space(Lowering& l) {
    const auto* options = l.options<tflite::DepthToSpaceOptions>();
    const std::int64_t block = options ? options->block_size() : 0;
    ValueId x = image(l);
    const Shape from = l.shape(x);
    if (block < 1 || from[3] % (block * block) != 0)
        l.fail(fmt::format("{} channels are no blocks of {} x {}", from[3], block, block));
    const std::int64_t depth = from[3] / (block * block);
    x = l.reshape(x, {from[0], from[1], from[2], block, block, depth});
    const std::size_t perms[] = {0, 1, 3, 2, 4, 5};
    l.set(l.reshape(transpose(l, x, perms), {from[0], from[1] * block, from[2] * block, depth}));
}

void lower_space_to_depth(Lowering& l) {
    const auto* options = l.options<tflite::SpaceToDepthOptions>();
    const std::int64_t block = options ? options->block_size() : 0;
    ValueId x = image(l);
    const Shape from = l.shape(x);
    if (block < 1 || from[1] % block != 0 || from[2] % block != 0)
        l.fail(fmt::format("an image of {} x {} has no blocks of {} x {}", from[1], from[2], block, block));
    const std::int64_t height = from[1] / block, width = from[2] / block;
    x = l.reshape(x, {from[0], height, block, width, block, from[3]});
    const std::size_t perms[] = {0, 1, 3, 2, 4, 5};
    l.set(l.reshape(transpose(l, x, perms), {from[0], height, width, block * block * from[3]}));
}

/// Of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: a block for each of the one or two dimensions between batch and depth,
/// and two numbers for each, what is padded or cropped before and after.
struct Blocks {
    std::vector<std::int64_t> size, ends;
    std::int64_t product = 1;
};

Blocks blocks_of(Lowering& l, const Shape& from, const char* ends) {
    if (from.size() != 3 && from.size() != 4) l.unsupported(fmt::format("rank {} is not supported", from.size()));
    Blocks blocks{l.const_ints(1), l.const_ints(2)};
    const std::size_t spatial = from.size() - 2;
    if (blocks.size.size() != spatial || blocks.ends.size() != 2 * spatial)
        l.fail(
            fmt::format("{} blocks and {} {} for rank {}", blocks.size.size(), blocks.ends.size(), ends, from.size()));
    for (const std::int64_t size : blocks.size) {
        if (size < 1 || size >= std::int64_t{1} << 31) l.fail(fmt::format("block {} is out of range", size));
        if (size > (std::int64_t{1} << 40) / blocks.product) l.fail("its blocks are too large");
        blocks.product *= size;
    }
    for (const std::int64_t end : blocks.ends) {
        if (end < 0 || end >= std::int64_t{1} << 31) l.fail(fmt::format("{} {} are out of range", ends, end));
    }
    return blocks;
}

void lower_batch_to_space(Lowering& l) {
    ValueId x = l.value(0);
    const Shape from = l.shape(x);
    const Blocks blocks = blocks_of(l, from, "crops");
    if (from[0] % blocks.product != 0)
        l.fail(fmt::format("a batch of {} is no multiple of {}", from[0], blocks.product));
    const std::size_t spatial = blocks.size.size();
    // [blocks.., batch, space.., depth] to [batch, (space, block).., depth]
    Shape split = blocks.size, to{from[0] / blocks.product};
    split.push_back(to[0]);
    split.insert(split.end(), from.begin() + 1, from.end());
    std::vector<std::size_t> perms{spatial};
    Shape start(from.size(), 0);
    for (std::size_t d = 0; d < spatial; ++d) {
        perms.push_back(spatial + 1 + d);
        perms.push_back(d);
        to.push_back(from[1 + d] * blocks.size[d]);
        start[1 + d] = blocks.ends[2 * d];
    }
    perms.push_back(2 * spatial + 1);
    to.push_back(from.back());
    x = l.reshape(transpose(l, l.reshape(x, split), perms), to);
    for (std::size_t d = 0; d < spatial; ++d) {
        to[1 + d] -= blocks.ends[2 * d] + blocks.ends[2 * d + 1];
        if (to[1 + d] < 0) l.fail(fmt::format("crops take away more than dimension {} has", 1 + d));
    }
    l.set(l.slice(x, start, to));
}

void lower_space_to_batch(Lowering& l) {
    ValueId x = l.value(0);
    const Blocks blocks = blocks_of(l, l.shape(x), "paddings");
    const std::size_t spatial = blocks.size.size();
    std::vector<std::int64_t> padding(2, 0);
    padding.insert(padding.end(), blocks.ends.begin(), blocks.ends.end());
    padding.insert(padding.end(), 2, 0);
    const bool quantized = l.is_quantized(l.out()) && !l.out().scale.empty();
    const double fill = quantized ? l.quant(l.out()).zero_point : zero_of(l.out());
    x = pad(l, x, padding, l.scalar(l.type(x), fill));
    const Shape padded = l.shape(x);
    // [batch, (space, block).., depth] to [blocks.., batch, space.., depth]
    Shape split{padded[0]}, to{padded[0] * blocks.product};
    std::vector<std::size_t> perms, space;
    for (std::size_t d = 0; d < spatial; ++d) {
        if (padded[1 + d] % blocks.size[d] != 0)
            l.fail(fmt::format("dimension {} is {} with its padding, no multiple of {}", 1 + d, padded[1 + d],
                               blocks.size[d]));
        split.push_back(padded[1 + d] / blocks.size[d]);
        split.push_back(blocks.size[d]);
        to.push_back(split[1 + 2 * d]);
        perms.push_back(2 + 2 * d);
        space.push_back(1 + 2 * d);
    }
    split.push_back(padded.back());
    to.push_back(padded.back());
    perms.push_back(0);
    perms.insert(perms.end(), space.begin(), space.end());
    perms.push_back(2 * spatial + 1);
    l.set(l.reshape(transpose(l, l.reshape(x, split), perms), to));
}

void lower_reverse(Lowering& l) {
    ValueId x = l.value(0);
    const std::vector<std::int64_t> axes = l.const_ints(1);
    std::vector<bool> done(l.shape(x).size(), false);
    for (const std::int64_t a : axes) {
        const std::size_t d = l.axis(a, done.size());
        if (done[d]) l.fail(fmt::format("axis {} occurs twice", a));
        done[d] = true;
        if (l.shape(x)[d] > 1) x = reverse(l, x, d);
    }
    l.set(x);
}

void lower_reverse_sequence(Lowering& l) {
    const auto* options = l.options<tflite::ReverseSequenceOptions>();
    ValueId x = l.value(0);
    const Shape from = l.shape(x);
    const std::size_t along = l.axis(options ? options->seq_dim() : 0, from.size()),
                      batch = l.axis(options ? options->batch_dim() : 0, from.size());
    if (along == batch) l.fail(fmt::format("dimension {} is both batch and sequence", along));
    ValueId lengths = index_value(l, 1);
    if (l.shape(lengths) != Shape{from[batch]})
        l.fail(fmt::format("lengths {} for a batch of {}", to_string(l.shape(lengths)), from[batch]));
    if (l.is_empty(x)) return l.set(x);
    lengths = l.reshape(lengths, {from[batch], 1});
    const ValueId place = positions(l, 2, 1, from[along]);
    const ValueId last = l.add(Op::sub, {lengths, l.splat(lengths, DType::i32, 1)}, DType::i32);
    const ValueId inside = l.add(Op::greater, {lengths, place}, DType::boolean);
    const ValueId indices = l.add(Op::select, {inside, l.add(Op::sub, {last, place}, DType::i32), place}, DType::i32);
    // [batch, sequence, rest..] and back
    std::vector<std::size_t> perms{batch, along};
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (d != along && d != batch) perms.push_back(d);
    }
    std::vector<std::size_t> back(perms.size());
    for (std::size_t d = 0; d < perms.size(); ++d) back[perms[d]] = d;
    x = transpose(l, x, perms);
    const Shape moved = l.shape(x);
    x = l.reshape(x, {from[batch], from[along], element_count(from) / (from[batch] * from[along])});
    x = l.reshape(gather_rows_of(l, x, indices), moved);
    l.set(transpose(l, x, back));
}

void lower_tile(Lowering& l) {
    ValueId x = l.value(0);
    const Shape from = l.shape(x), times = const_shape(l, 1);
    if (times.size() != from.size()) l.fail(fmt::format("{} multiples for rank {}", times.size(), from.size()));
    Shape to;
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (times[d] > 0 && from[d] > (std::int64_t{1} << 40) / times[d]) l.fail("its output is too large");
        to.push_back(from[d] * times[d]);
    }
    if (has_no_elements(to)) return l.set(l.empty(l.type(x), to));
    if (to == from) return l.set(x);
    const ValueId list = l.constant_ints("multiples", DType::shape, {static_cast<std::int64_t>(times.size())}, times);
    l.set(l.add(Op::tile, {x, list}, l.type(x)));
}

void lower_broadcast_to(Lowering& l) { l.set(broadcast(l, l.value(0), const_shape(l, 1))); }

void lower_dilate(Lowering& l) {
    ValueId x = l.value(0), fill = l.value(2);
    const std::vector<std::int64_t> steps = l.const_ints(1);
    const DType type = l.type(x);
    if (steps.size() != l.shape(x).size())
        l.fail(fmt::format("{} dilations for rank {}", steps.size(), l.shape(x).size()));
    if (l.type(fill) != type || element_count(l.shape(fill)) != 1)
        l.fail("its value must be one element of the input's type");
    const bool known = l.graph_value(fill).is_constant();
    fill = l.reshape(fill, known ? Shape{1} : Shape{1, 1, 1, 1});
    for (std::size_t d = 0; d < steps.size(); ++d) {
        const Shape from = l.shape(x);
        const std::int64_t step = steps[d];
        if (step < 1 || step > (std::int64_t{1} << 40) / std::max<std::int64_t>(from[d], 1))
            l.fail(fmt::format("dilation {} is out of range", step));
        if (step == 1 || from[d] < 2) continue;
        const AxisSplit split = split_at(from, d);
        // After each element what goes before the next one.
        x = l.reshape(x, {split.outer, split.axis, 1, split.inner});
        if (known) {
            const std::int64_t padding[] = {0, 0, 0, 0, 0, step - 1, 0, 0};
            x = pad(l, x, padding, fill);
        } else {
            const ValueId gap = broadcast(l, fill, {split.outer, split.axis, step - 1, split.inner});
            x = l.concat({x, gap}, 2);
        }
        Shape to = from;
        to[d] = (from[d] - 1) * step + 1;
        x = l.slice_axis(l.reshape(x, {split.outer, split.axis * step, split.inner}), 1, 0, to[d]);
        x = l.reshape(x, to);
    }
    l.set(x);
}

/// Which of the elements of matrices [rows, columns] lie on the diagonal, with leading dimensions of 1.
ValueId diagonal(Lowering& l, std::size_t rank, std::int64_t rows, std::int64_t columns) {
    return l.add(Op::equal, {positions(l, rank, rank - 2, rows), positions(l, rank, rank - 1, columns)},
                 DType::boolean);
}

void lower_matrix_diag(Lowering& l) {
    ValueId x = l.value(0);
    Shape to = l.shape(x);
    if (to.empty()) l.fail("its input has rank 0");
    const std::int64_t size = to.back();
    // All leading dimensions are one here, so that the rank grows where the level allows it only.
    const std::int64_t outer = size == 0 ? 0 : element_count(to) / size;
    to.push_back(size);
    x = l.reshape(x, {outer, 1, size});
    const ValueId zero = l.splat(x, l.type(x), zero_of(l.in(0)));
    l.set(l.reshape(l.add(Op::select, {diagonal(l, 3, size, size), x, zero}, l.type(x)), to));
}

void lower_matrix_set_diag(Lowering& l) {
    ValueId x = l.value(0), entries = l.value(1);
    const Shape from = l.shape(x);
    const std::size_t rank = from.size();
    if (rank < 2) l.fail(fmt::format("its input has rank {}", rank));
    const std::int64_t rows = from[rank - 2], columns = from[rank - 1];
    Shape expected(from.begin(), from.end() - 2);
    expected.push_back(std::min(rows, columns));
    if (l.shape(entries) != expected || l.type(entries) != l.type(x))
        l.fail(fmt::format("a diagonal of {} for matrices {}", to_string(l.shape(entries)), to_string(from)));
    if (rows < columns) expected.push_back(1);
    else expected.insert(expected.end() - 1, 1);
    entries = l.reshape(entries, expected);
    l.set(l.add(Op::select, {diagonal(l, rank, rows, columns), entries, x}, l.type(x)));
}

}  // namespace

OperatorRows rearrange_rows() {
    using B = tflite::BuiltinOperator;
    static constexpr OperatorRow rows[] = {
        {B::DEPTH_TO_SPACE, lower_depth_to_space, moves_data},
        {B::SPACE_TO_DEPTH, lower_space_to_depth, moves_data},
        {B::BATCH_TO_SPACE_ND, lower_batch_to_space, moves_data},
        {B::SPACE_TO_BATCH_ND, lower_space_to_batch, moves_data},
        {B::REVERSE_V2, lower_reverse, moves_data},
        {B::REVERSE_SEQUENCE, lower_reverse_sequence, moves_data},
        {B::TILE, lower_tile, moves_data},
        {B::BROADCAST_TO, lower_broadcast_to, moves_data},
        {B::DILATE, lower_dilate, moves_data},
        {B::MATRIX_DIAG, lower_matrix_diag, moves_data},
        {B::MATRIX_SET_DIAG, lower_matrix_set_diag, moves_data},
    };
    return rows;
}

}  // namespace tosavk

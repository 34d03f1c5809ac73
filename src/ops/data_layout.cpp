// CONCAT, PAD, RESHAPE, REVERSE, SLICE, TILE, TRANSPOSE and IDENTITY: operators that move elements and change none.
// Each is an index map (ViewDef); the references below are written without it, so that tests can compare the two.
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <cstring>

namespace tosavk {

namespace {

constexpr const char* any_profile = "PRO-INT|PRO-FP";

std::vector<TypeRow> movement_rows(const char* i16_profile = "PRO-INT", const char* integer_profile = "PRO-INT") {
    return with_floats(with_fp8({{{DType::boolean}, any_profile},
                                 {{DType::i8}, integer_profile},
                                 {{DType::i16}, i16_profile},
                                 {{DType::i32}, integer_profile}}));
}

void require_rank(const NodeView& view, const Shape& shape, std::size_t values, const char* operand,
                  std::size_t per_axis = 1) {
    if (values != shape.size() * per_axis)
        view.fail(fmt::format("{} has {} values, but input {} needs {}", operand, values, to_string(shape),
                              shape.size() * per_axis),
                  operand);
}

std::size_t checked_axis(const NodeView& view, std::size_t rank) {
    const std::int32_t axis = view.attrs().axis;
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank)
        view.fail(fmt::format("axis {} is not in 0..{}", axis, static_cast<std::int64_t>(rank) - 1), "axis");
    return static_cast<std::size_t>(axis);
}

/// Calls at(coordinates, flat) for every element of a shape in row-major order.
template <class F> void for_each_element(const Shape& shape, F at) {
    const std::int64_t count = element_count(shape);
    Shape c(shape.size(), 0);
    for (std::int64_t flat = 0; flat < count; ++flat) {
        at(c, flat);
        for (std::size_t d = shape.size(); d-- > 0;) {
            if (++c[d] < shape[d]) break;
            c[d] = 0;
        }
    }
}

std::int64_t flat_index(const Shape& shape, const Shape& c) {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + c[d];
    return flat;
}

/// Copies from input 0 to every output element, from the coordinates that `where` makes of the output's; false: none,
/// the element keeps what `fill` holds.
template <class F> void move_elements(RefContext& ctx, const Bytes& fill, F where) {
    const Shape &in = ctx.view.in(0).shape, &out = ctx.view.out().shape;
    const std::size_t size = size_of(ctx.view.out().type);
    Bytes bytes(static_cast<std::size_t>(element_count(out)) * size);
    Shape source(in.size(), 0);
    for_each_element(out, [&](const Shape& c, std::int64_t flat) {
        const std::byte* from =
            where(c, source) ? ctx.inputs[0]->bytes.data() + static_cast<std::size_t>(flat_index(in, source)) * size
                             : fill.data();
        std::memcpy(bytes.data() + static_cast<std::size_t>(flat) * size, from, size);
    });
    ctx.set_bytes(std::move(bytes));
}

void copy_reference(RefContext& ctx) { ctx.set_bytes(ctx.inputs[0]->bytes); }

ViewDef alias_view(const NodeView&) {
    ViewDef view;
    view.kind = ViewDef::Kind::alias;
    return view;
}

ViewDef read_view(IndexMap map) {
    ViewDef view;
    view.kind = ViewDef::Kind::read;
    view.maps.push_back(std::move(map));
    return view;
}

// ---- CONCAT

std::vector<Shape> concat_infer(const NodeView& view) {
    if (view.input_count() == 0) view.fail("it needs at least one input");
    Shape out = view.in(0).shape;
    const std::size_t axis = checked_axis(view, out.size());
    for (std::size_t k = 1; k < view.input_count(); ++k) {
        const Shape& shape = view.in(k).shape;
        bool fits = shape.size() == out.size();
        for (std::size_t d = 0; fits && d < out.size(); ++d) fits = d == axis || shape[d] == out[d];
        if (!fits)
            view.fail(fmt::format("input {} has shape {}, which differs from input 0's {} outside axis {}", k,
                                  to_string(shape), to_string(view.in(0).shape), axis),
                      "input1");
        out[axis] += shape[axis];
    }
    return {out};
}

void concat_reference(RefContext& ctx) {
    const Shape& out = ctx.view.out().shape;
    const auto axis = static_cast<std::size_t>(ctx.attrs().axis);
    const std::size_t size = size_of(ctx.view.out().type);
    Bytes bytes(static_cast<std::size_t>(element_count(out)) * size);
    Shape to;
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < ctx.inputs.size(); ++k) {
        const Shape& in = ctx.view.in(k).shape;
        for_each_element(in, [&](const Shape& c, std::int64_t flat) {
            to = c;
            to[axis] += offset;
            std::memcpy(bytes.data() + static_cast<std::size_t>(flat_index(out, to)) * size,
                        ctx.inputs[k]->bytes.data() + static_cast<std::size_t>(flat) * size, size);
        });
        offset += in[axis];
    }
    ctx.set_bytes(std::move(bytes));
}

ViewDef concat_view(const NodeView& view) {
    ViewDef def;
    def.kind = ViewDef::Kind::write;
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    const auto strides = row_major_strides(view.out().shape);
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < view.input_count(); ++k) {
        const Shape& in = view.in(k).shape;
        def.maps.push_back({.dims = in, .strides = strides, .base = offset * strides[axis]});
        offset += in[axis];
    }
    return def;
}

// ---- PAD

std::vector<Shape> pad_infer(const NodeView& view) {
    Shape out = view.in(0).shape;
    const auto padding = view.constant_ints(1);
    require_rank(view, out, padding.size(), "padding", 2);
    for (std::size_t d = 0; d < out.size(); ++d) {
        for (const std::int64_t p : {padding[2 * d], padding[2 * d + 1]}) {
            if (p < 0) view.fail(fmt::format("padding {} of axis {} is negative", p, d), "padding");
            if (p > std::int64_t{1} << 40)
                view.fail(fmt::format("padding {} of axis {} is too large", p, d), "padding");
        }
        out[d] += padding[2 * d] + padding[2 * d + 1];
    }
    return {out};
}

void pad_check(const NodeView& view, const Level&) {
    if (view.in(2).shape != Shape{1})
        view.fail(fmt::format("pad_const has shape {}, but needs 1", to_string(view.in(2).shape)), "pad_const");
}

void pad_reference(RefContext& ctx) {
    const Shape& in = ctx.view.in(0).shape;
    const auto padding = ctx.ints(1);
    move_elements(ctx, ctx.inputs[2]->bytes, [&](const Shape& c, Shape& source) {
        for (std::size_t d = 0; d < c.size(); ++d) {
            source[d] = c[d] - padding[2 * d];
            if (source[d] < 0 || source[d] >= in[d]) return false;
        }
        return true;
    });
}

ViewDef pad_view(const NodeView& view) {
    const Shape& in = view.in(0).shape;
    const auto padding = view.constant_ints(1);
    IndexMap map{.dims = view.out().shape, .strides = row_major_strides(in)};
    for (std::size_t d = 0; d < in.size(); ++d) {
        map.base -= padding[2 * d] * map.strides[d];
        map.lo.push_back(padding[2 * d]);
        map.hi.push_back(padding[2 * d] + in[d]);
    }
    ViewDef def = read_view(std::move(map));
    def.padded = true;
    def.pad_operand = 2;
    return def;
}

// ---- RESHAPE

std::vector<Shape> reshape_infer(const NodeView& view) {
    const Shape out = view.constant_ints(1);
    for (const std::int64_t n : out)
        if (n < 0 || (n == 0 && !has_no_elements(view.in(0).shape)))
            view.fail(fmt::format("dimension {} of the new shape {} is less than 1", n, to_string(out)), "shape");
    if (element_count(out) != element_count(view.in(0).shape))
        view.fail(fmt::format("{} elements of shape {} cannot become shape {} with {}", element_count(view.in(0).shape),
                              to_string(view.in(0).shape), to_string(out), element_count(out)),
                  "shape");
    return {out};
}

// ---- REVERSE

std::vector<Shape> reverse_infer(const NodeView& view) {
    checked_axis(view, view.in(0).shape.size());
    return {view.in(0).shape};
}

void reverse_reference(RefContext& ctx) {
    const auto axis = static_cast<std::size_t>(ctx.attrs().axis);
    const std::int64_t n = ctx.view.in(0).shape[axis];
    move_elements(ctx, {}, [&](const Shape& c, Shape& source) {
        source = c;
        source[axis] = n - 1 - c[axis];
        return true;
    });
}

ViewDef reverse_view(const NodeView& view) {
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    const Shape& shape = view.in(0).shape;
    IndexMap map{.dims = shape, .strides = row_major_strides(shape)};
    map.base = (shape[axis] - 1) * map.strides[axis];
    map.strides[axis] = -map.strides[axis];
    return read_view(std::move(map));
}

// ---- SLICE

std::vector<Shape> slice_infer(const NodeView& view) {
    const Shape& in = view.in(0).shape;
    const auto start = view.constant_ints(1), size = view.constant_ints(2);
    require_rank(view, in, start.size(), "start");
    require_rank(view, in, size.size(), "size");
    for (std::size_t d = 0; d < in.size(); ++d)
        if (start[d] < 0 || size[d] < 0 || start[d] > in[d] || size[d] > in[d] - start[d])
            view.fail(fmt::format("axis {}: start {} and size {} do not lie inside the input's {}", d, start[d],
                                  size[d], in[d]),
                      start[d] < 0 || start[d] > in[d] ? "start" : "size");
    return {size};
}

void slice_reference(RefContext& ctx) {
    const auto start = ctx.ints(1);
    move_elements(ctx, {}, [&](const Shape& c, Shape& source) {
        for (std::size_t d = 0; d < c.size(); ++d) source[d] = c[d] + start[d];
        return true;
    });
}

ViewDef slice_view(const NodeView& view) {
    const auto start = view.constant_ints(1);
    IndexMap map{.dims = view.out().shape, .strides = row_major_strides(view.in(0).shape)};
    for (std::size_t d = 0; d < start.size(); ++d) map.base += start[d] * map.strides[d];
    return read_view(std::move(map));
}

// ---- TILE

std::vector<Shape> tile_infer(const NodeView& view) {
    Shape out = view.in(0).shape;
    const auto multiples = view.constant_ints(1);
    require_rank(view, out, multiples.size(), "multiples");
    for (std::size_t d = 0; d < out.size(); ++d) {
        if (multiples[d] < 1 || multiples[d] > (std::int64_t{1} << 40) / std::max<std::int64_t>(out[d], 1))
            view.fail(fmt::format("multiple {} of axis {} is {}", multiples[d], d,
                                  multiples[d] < 1 ? "less than 1" : "too large"),
                      "multiples");
        out[d] *= multiples[d];
    }
    return {out};
}

void tile_reference(RefContext& ctx) {
    const Shape& in = ctx.view.in(0).shape;
    move_elements(ctx, {}, [&](const Shape& c, Shape& source) {
        for (std::size_t d = 0; d < c.size(); ++d) source[d] = c[d] % in[d];
        return true;
    });
}

/// Every axis that repeats becomes two: which copy (stride 0), and where inside it.
ViewDef tile_view(const NodeView& view) {
    const Shape& in = view.in(0).shape;
    const auto multiples = view.constant_ints(1), strides = row_major_strides(in);
    IndexMap map;
    for (std::size_t d = 0; d < in.size(); ++d) {
        if (multiples[d] > 1) {
            map.dims.push_back(multiples[d]);
            map.strides.push_back(0);
        }
        if (multiples[d] == 1 || in[d] > 1) {
            map.dims.push_back(in[d]);
            map.strides.push_back(strides[d]);
        }
    }
    return read_view(std::move(map));
}

// ---- TRANSPOSE

std::vector<Shape> transpose_infer(const NodeView& view) {
    const Shape& in = view.in(0).shape;
    const auto& perms = view.attrs().perms;
    require_rank(view, in, perms.size(), "perms");
    std::vector<bool> seen(in.size(), false);
    Shape out;
    for (const std::int32_t p : perms) {
        if (p < 0 || static_cast<std::size_t>(p) >= in.size())
            view.fail(fmt::format("perms holds {}, which is not an axis of {}", p, to_string(in)), "perms");
        if (seen[static_cast<std::size_t>(p)]) view.fail(fmt::format("perms holds {} twice", p), "perms");
        seen[static_cast<std::size_t>(p)] = true;
        out.push_back(in[static_cast<std::size_t>(p)]);
    }
    return {out};
}

void transpose_reference(RefContext& ctx) {
    const auto& perms = ctx.attrs().perms;
    move_elements(ctx, {}, [&](const Shape& c, Shape& source) {
        for (std::size_t d = 0; d < c.size(); ++d) source[static_cast<std::size_t>(perms[d])] = c[d];
        return true;
    });
}

ViewDef transpose_view(const NodeView& view) {
    const auto strides = row_major_strides(view.in(0).shape);
    IndexMap map{.dims = view.out().shape};
    for (const std::int32_t p : view.attrs().perms) map.strides.push_back(strides[static_cast<std::size_t>(p)]);
    return read_view(std::move(map));
}

// ---- IDENTITY

std::vector<Shape> identity_infer(const NodeView& view) { return {view.in(0).shape}; }

OpDef movement_op(Op op, int min_rank, std::vector<TypeRow> rows) {
    OpDef def;
    def.op = op;
    def.type_vars = {"in_out_t"};
    def.inputs = {{.name = "input1", .type = "in_out_t", .min_rank = min_rank}};
    def.outputs = {{.name = "output", .type = "in_out_t", .min_rank = min_rank}};
    def.rows = std::move(rows);
    return def;
}

ArgDef shape_operand(const char* name) {
    return {.name = name, .type = "shape", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host};
}

}  // namespace

std::vector<OpDef> data_layout_ops() {
    OpDef concat = movement_op(Op::concat, 1, movement_rows("EXT-INT16"));
    concat.inputs[0].list = true;
    concat.attributes = {"axis"};
    concat.infer = concat_infer;
    concat.reference = concat_reference;
    concat.view = concat_view;

    OpDef pad = movement_op(Op::pad, 1, movement_rows());
    pad.inputs.push_back(shape_operand("padding"));
    pad.inputs.push_back(
        {.name = "pad_const", .type = "in_out_t", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host});
    pad.infer = pad_infer;
    pad.check = pad_check;
    pad.reference = pad_reference;
    pad.view = pad_view;

    OpDef reshape = movement_op(Op::reshape, 0, movement_rows());
    reshape.inputs.push_back(shape_operand("shape"));
    // FULLY_CONNECTED of 0.30 takes and gives matrices of these.
    reshape.upgrade_rows = {{{DType::i4}, "EXT-INT4"}, {{DType::i48}, "EXT-INT16"}};
    reshape.infer = reshape_infer;
    reshape.reference = copy_reference;
    reshape.view = alias_view;

    OpDef reverse = movement_op(Op::reverse, 1, movement_rows());
    reverse.attributes = {"axis"};
    reverse.infer = reverse_infer;
    reverse.reference = reverse_reference;
    reverse.view = reverse_view;

    OpDef slice = movement_op(Op::slice, 1, movement_rows());
    slice.inputs.push_back(shape_operand("start"));
    slice.inputs.push_back(shape_operand("size"));
    slice.infer = slice_infer;
    slice.reference = slice_reference;
    slice.view = slice_view;

    OpDef tile = movement_op(Op::tile, 1, movement_rows());
    tile.inputs.push_back(shape_operand("multiples"));
    tile.infer = tile_infer;
    tile.reference = tile_reference;
    tile.view = tile_view;

    OpDef transpose = movement_op(Op::transpose, 1, movement_rows());
    transpose.attributes = {"perms"};
    transpose.infer = transpose_infer;
    transpose.reference = transpose_reference;
    transpose.view = transpose_view;

    OpDef identity = movement_op(Op::identity, 0, movement_rows(any_profile, any_profile));
    identity.rows.insert(identity.rows.end(), {{{DType::i4}, "EXT-INT4"}, {{DType::i48}, "EXT-INT16"}});
    identity.infer = identity_infer;
    identity.reference = copy_reference;
    identity.view = alias_view;

    return {concat, pad, reshape, reverse, slice, tile, transpose, identity};
}

}  // namespace tosavk

// DYNAMIC_SLICE: a window of a tensor that begins where run-time indices say. DYNAMIC_UPDATE_SLICE: the tensor with the
// window replaced. A start is clamped so that the window lies inside.
#include "ops/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tosavk {

namespace {

void check_start(const NodeView& view, const Value& start) {
    const Shape& shape = view.in(0).shape;
    if (start.shape[0] != static_cast<std::int64_t>(shape.size()))
        view.fail(
            fmt::format("start has {} values, but input1 {} needs {}", start.shape[0], to_string(shape), shape.size()),
            "start");
}

/// Refuses a window that is not within the tensor wherever it begins.
void check_window(const NodeView& view, const Shape& window, const char* what) {
    const Shape& shape = view.in(0).shape;
    if (window.size() != shape.size())
        view.fail(fmt::format("{} has {} dimensions, but input1 {} has {}", what, window.size(), to_string(shape),
                              shape.size()),
                  what);
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (window[d] < 0 || window[d] > shape[d])
            view.fail(fmt::format("{} {} of axis {} is not in 0..{}", what, window[d], d, shape[d]), what);
    }
}

std::vector<Shape> slice_infer(const NodeView& view) {
    check_start(view, view.in(1));
    const Shape size = view.constant_ints(2);
    check_window(view, size, "size");
    return {size};
}

std::vector<Shape> update_infer(const NodeView& view) {
    check_start(view, view.in(2));
    check_window(view, view.in(1).shape, "update");
    return {view.in(0).shape};
}

/// Calls at(element of the tensor, element of the window, elements) for every row of the window.
template <class F>
void for_each_row(const Shape& shape, const Shape& window, const std::vector<std::int64_t>& start, F at) {
    const std::vector<std::int64_t> strides = row_major_strides(shape);
    const std::int64_t row = window.back();
    for (std::int64_t i = 0, all = element_count(window); i < all; i += row) {
        std::int64_t rest = i, element = 0;
        for (std::size_t d = shape.size(); d-- > 0;) {
            const std::int64_t begin = std::clamp<std::int64_t>(start[d], 0, shape[d] - window[d]);
            element += (begin + rest % window[d]) * strides[d];
            rest /= window[d];
        }
        at(element, i, row);
    }
}

void slice_reference(RefContext& ctx) {
    const Shape& window = ctx.view.out().shape;
    const std::size_t size = size_of(ctx.view.out().type);
    Bytes out(static_cast<std::size_t>(element_count(window)) * size);
    for_each_row(ctx.view.in(0).shape, window, ctx.ints(1),
                 [&](std::int64_t from, std::int64_t to, std::int64_t count) {
                     std::memcpy(out.data() + static_cast<std::size_t>(to) * size,
                                 ctx.inputs[0]->bytes.data() + static_cast<std::size_t>(from) * size,
                                 static_cast<std::size_t>(count) * size);
                 });
    ctx.set_bytes(std::move(out));
}

void update_reference(RefContext& ctx) {
    const std::size_t size = size_of(ctx.view.out().type);
    Bytes out = ctx.inputs[0]->bytes;
    for_each_row(ctx.view.in(0).shape, ctx.view.in(1).shape, ctx.ints(2),
                 [&](std::int64_t to, std::int64_t from, std::int64_t count) {
                     std::memcpy(out.data() + static_cast<std::size_t>(to) * size,
                                 ctx.inputs[1]->bytes.data() + static_cast<std::size_t>(from) * size,
                                 static_cast<std::size_t>(count) * size);
                 });
    ctx.set_bytes(std::move(out));
}

}  // namespace

std::vector<OpDef> dynamic_slice_ops() {
    OpDef slice;
    slice.op = Op::dynamic_slice;
    slice.type_vars = {"in_out_t"};
    slice.inputs = {
        {.name = "input1", .type = "in_out_t", .min_rank = 1},
        {.name = "start", .type = "i32", .min_rank = 1, .max_rank = 1},
        {.name = "size", .type = "shape", .min_rank = 1, .max_rank = 1, .ctc = true, .access = Access::host}};
    slice.outputs = {{.name = "output", .type = "in_out_t", .min_rank = 1}};
    slice.rows = own_moved_rows();
    slice.infer = slice_infer;
    slice.reference = slice_reference;

    OpDef update = slice;
    update.op = Op::dynamic_update_slice;
    update.inputs = {{.name = "input1", .type = "in_out_t", .min_rank = 1},
                     {.name = "update", .type = "in_out_t", .min_rank = 1},
                     {.name = "start", .type = "i32", .min_rank = 1, .max_rank = 1}};
    update.infer = update_infer;
    update.reference = update_reference;

    return {slice, update};
}

}  // namespace tosavk

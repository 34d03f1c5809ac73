#include "compile/group/rows.hpp"

#include "graph/index_map.hpp"
#include "kernels/kernels.hpp"

namespace tosavk {

std::optional<Rows> row_reduction(const NodeView& view, const DevicePlan& device) {
    if (!op_def(view.node().op).combine) return std::nullopt;
    const Shape& shape = view.in(0).shape;
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    if (inner != 1 || shape[axis] < 2) return std::nullopt;

    Rows rows;
    rows.axis = shape[axis];
    rows.count = element_count(shape) / rows.axis;
    // One workgroup reads so much in the time of a few dispatches.
    if (rows.axis > (1 << 16) && rows.count < 64) return std::nullopt;
    // As many lanes along a row as keep the device busy. Each has four quads at least, so that its first one is whole.
    const std::int64_t quads = (rows.axis + 3) / 4;
    const auto too_long = [&] {
        return device.max_loop_passes != 0 &&
               quads / rows.lanes > device.max_loop_passes / static_cast<std::int64_t>(max_row_loops);
    };
    while (rows.lanes < device.workgroup_size && rows.lanes * 8 <= quads &&
           (rows.lanes * rows.count < 1024 || too_long())) {
        rows.lanes *= 2;
    }
    if (too_long()) return std::nullopt;
    const auto row_bytes = rows.axis * static_cast<std::int64_t>(size_of(view.in(0).type));
    if (rows.lanes == 1) rows.in_turn = pieces_in_turn(rows.count, row_bytes, device);
    return rows;
}

std::optional<Rows> column_reduction(const NodeView& view, const DevicePlan& device) {
    if (!op_def(view.node().op).combine) return std::nullopt;
    const Shape& shape = view.in(0).shape;
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    Rows rows;
    for (std::size_t i = axis + 1; i < shape.size(); ++i) rows.inner *= shape[i];
    if (!rows.are_columns() || shape[axis] < 2) return std::nullopt;

    rows.axis = shape[axis];
    rows.count = element_count(shape) / rows.axis;
    rows.length = column_length(view, device);
    // Measured: what walks down far rows, each in another page, should do so once.
    const std::int64_t row_bytes = rows.inner * static_cast<std::int64_t>(size_of(view.in(0).type));
    if (device.far_rows != 0 && row_bytes >= 4096 && rows.length > device.far_rows) return std::nullopt;
    while (rows.lanes * rows.length < rows.axis) rows.lanes *= 2;
    if (rows.lanes > device.workgroup_size) return std::nullopt;
    const std::int64_t passes = (rows.length + rows.lanes) * static_cast<std::int64_t>(max_row_loops);
    if (device.max_loop_passes != 0 && passes > device.max_loop_passes) return std::nullopt;
    return rows;
}

bool order_matters(const NodeView& reduction) {
    const Op op = reduction.node().op;
    return is_float(reduction.in(0).type) && (op == Op::reduce_sum || op == Op::reduce_product);
}

bool spreads_over_rows(const Shape& from, const Shape& to, const Rows& rows) {
    if (element_count(from) != rows.count || element_count(to) != rows.count * rows.axis) return false;
    return simplify(broadcast_map(from, to)) ==
           simplify({{rows.count / rows.inner, rows.axis, rows.inner}, {rows.inner, 0, 1}});
}

}  // namespace tosavk

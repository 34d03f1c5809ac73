#include "compile/group/rows.hpp"

#include "graph/index_map.hpp"
#include "kernels/kernels.hpp"
#include "ops/storage.hpp"

#include <algorithm>
#include <set>

namespace tosavk {
namespace {

/// By value that the group makes: the number of reductions that lie before it, one behind the other.
std::map<ValueId, std::size_t> depths_of(const Graph& graph, const Group& group) {
    std::map<ValueId, std::size_t> depths;
    for (const NodeId id : group.members) {
        const Node& node = graph.node(id);
        std::size_t depth = 0;
        for (const ValueId in : node.inputs) {
            if (const auto found = depths.find(storage_of(graph, in)); found != depths.end())
                depth = std::max(depth, found->second);
        }
        depths[node.outputs.front()] = depth + (op_def(node.op).combine ? 1 : 0);
    }
    return depths;
}

/// The members over the rows' elements that these values need, in execution order.
std::vector<NodeId> behind(const Graph& graph, const Rows& rows, const std::map<ValueId, std::size_t>& depths,
                           std::vector<ValueId> open) {
    std::set<NodeId> found;
    while (!open.empty()) {
        const ValueId id = storage_of(graph, open.back());
        open.pop_back();
        const bool ours = depths.contains(id) && element_count(graph.value(id).shape) != rows.count;
        if (!ours || !found.insert(graph.value(id).producer).second) continue;
        const auto& inputs = graph.node(graph.value(id).producer).inputs;
        open.insert(open.end(), inputs.begin(), inputs.end());
    }
    return {found.begin(), found.end()};
}

bool is_stored(const Graph& graph, const Group& group, ValueId id) {
    return std::find(group.outputs.begin(), group.outputs.end(), id) != group.outputs.end() ||
           std::any_of(group.stores.begin(), group.stores.end(),
                       [&](const auto& part) { return stored_by(graph, part) == id; });
}

}  // namespace

ValueId stored_by(const Graph& graph, const Group::Store& part) {
    return storage_of(graph, graph.node(part.node).inputs.at(part.input));
}

RowPasses row_passes(const Graph& graph, const Group& group, Outputs outputs) {
    const Rows& rows = *group.rows;
    RowPasses result{{}, depths_of(graph, group)};
    const auto& depths = result.depths;
    std::size_t most = 0;
    for (const auto& [value, depth] : depths) most = std::max(most, depth);
    for (std::size_t depth = 0; depth <= most; ++depth) {
        RowPass pass;
        std::vector<ValueId> roots;
        for (const NodeId id : group.members) {
            const NodeView view(graph, id);
            const ValueId in = storage_of(graph, view.node().inputs.front()), out = view.node().outputs.front();
            const bool of_rows = element_count(view.out().shape) == rows.count;
            if (op_def(view.node().op).combine) {
                const auto found = depths.find(in);
                if ((found == depths.end() ? 0 : found->second) != depth) continue;
                pass.reductions.push_back(id);
                roots.push_back(in);
            } else if (depths.at(out) == depth) {
                if (of_rows) pass.of_rows.push_back(id);
                else if (outputs == Outputs::open || is_stored(graph, group, out)) roots.push_back(out);
            }
        }
        pass.has_loop = !roots.empty();
        pass.over_elements = behind(graph, rows, depths, std::move(roots));
        result.passes.push_back(std::move(pass));
    }
    return result;
}

std::optional<Rows> row_reduction(const NodeView& view, const DevicePlan& device) {
    if (!op_def(view.node().op).combine) return std::nullopt;
    const Shape& shape = view.in(0).shape;
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    if (split_at(shape, axis).inner != 1 || shape[axis] < 2) return std::nullopt;

    Rows rows;
    rows.axis = shape[axis];
    rows.count = element_count(shape) / rows.axis;
    // One workgroup reads so much in the time of a few dispatches (docs/performance.md, "Row groups and shared rows").
    if (rows.axis > (1 << 16) && rows.count < 64) return std::nullopt;
    const SizeChoices::Scope scope(device.sizes, view.node().name + "/row");
    // As many lanes along a row as keep the device busy, with four quads each (that a CPU wants 1024 is a guess), and
    // as read it side by side. The first quad of each is a whole one. Where few rows would leave a device idle, each
    // has a workgroup larger than others.
    const DType type = view.in(0).type;
    // Alike for a reduction alone and within a group, since it is the order of a sum. Where devices compute functions
    // element by element in a loop, that goes round four times for one as well.
    const bool may_go_by_elements =
        is_float(type) && row_step(rows.axis, type, type, device) == 1 && device.function_elements == 4;
    const std::int64_t step = may_go_by_elements ? 1 : 4;
    const std::int64_t quads = (rows.axis + 3) / 4;
    const std::int64_t busy = std::max<std::int64_t>(1024, device.busy_invocations);
    const std::int64_t most =
        device.product_tiles && device.busy_invocations > 4096 ? max_invocations : device.workgroup_size;
    const auto too_long = [&] {
        return device.max_loop_passes != 0 && quotient_up(rows.axis, step) / rows.lanes >
                                                  device.max_loop_passes / static_cast<std::int64_t>(max_row_loops);
    };
    while (rows.lanes < most && rows.lanes * 8 <= quads &&
           (!device.chooses(rows.lanes * rows.count >= busy, "lanes", rows.lanes) || too_long())) {
        rows.lanes *= 2;
    }
    const std::int64_t side_by_side =
        may_go_by_elements ? device.lanes_together
                           : lanes_of_row(rows.axis / 4, 4 * static_cast<std::int64_t>(size_of(type)), device);
    while (rows.lanes < device.workgroup_size && rows.lanes * 8 <= rows.axis &&
           device.chooses(rows.lanes < side_by_side, "lanes side by side", rows.lanes)) {
        rows.lanes *= 2;
    }
    if (too_long()) return std::nullopt;
    rows.by_elements = may_go_by_elements && rows.lanes > 1;
    const auto row_bytes = rows.axis * static_cast<std::int64_t>(size_of(view.in(0).type));
    if (rows.lanes == 1) rows.in_turn = pieces_in_turn(rows.count, row_bytes, device);
    return rows;
}

std::optional<Rows> column_reduction(const NodeView& view, const DevicePlan& device) {
    if (!op_def(view.node().op).combine) return std::nullopt;
    const Shape& shape = view.in(0).shape;
    const auto axis = static_cast<std::size_t>(view.attrs().axis);
    Rows rows;
    rows.inner = split_at(shape, axis).inner;
    if (!rows.are_columns() || shape[axis] < 2) return std::nullopt;

    rows.axis = shape[axis];
    rows.count = element_count(shape) / rows.axis;
    rows.length = column_length(view, device);
    // What walks down far rows, each in another page, should do so once (docs/performance.md, "Row groups and shared
    // rows").
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

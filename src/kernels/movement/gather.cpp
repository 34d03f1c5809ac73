// GPU kernels of GATHER and SCATTER.
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"

#include <fmt/format.h>

namespace tosavk {
namespace {

std::optional<KernelChoice> plan_gather(const NodeView& view, const DevicePlan& device, std::string& why) {
    const DType type = view.in(0).type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const Shape& values = view.in(0).shape;
    const Shape& out = view.out().shape;
    KernelChoice choice;
    choice.kernel = "gather";
    choice.by_eights = out[2] % 8 == 0 && wants_eights(element_count(out), device);
    const std::int64_t each = choice.by_eights ? 8 : row_step(out[2], type, type, device);
    choice.defines = {{"X_FLOAT", is_float(type) ? "1" : "0"}, {"EACH", std::to_string(each)}};
    const std::int64_t rows = out[0] * out[1];
    const std::int64_t side_by_side =
        each > 1 && out[2] % each == 0 && rows >= device.gathered_rows ? device.gathered_rows : 1;
    set_constants(choice, {{"K", values[1]},
                           {"W", out[1]},
                           {"C", out[2]},
                           {"COUNT", element_count(out)},
                           {"SIDE_BY_SIDE", side_by_side}});
    const double share = static_cast<double>(element_count(out)) / static_cast<double>(element_count(values));
    add_operand(choice, view, 0, out[2] % 4 == 0 ? share : 4 * share);
    add_operand(choice, view, 1);
    choice.aligned = each > 1;
    const std::int64_t whole_tiles = (rows + side_by_side - 1) / side_by_side * side_by_side;
    choice.groups = linear_groups(
        side_by_side > 1 ? whole_tiles * (out[2] / each) : (element_count(out) + each - 1) / each, device);
    return choice;
}

std::optional<KernelChoice> plan_scatter(const NodeView& view, const DevicePlan& device, std::string& why) {
    const DType type = view.in(0).type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const Shape& values = view.in(0).shape;
    const std::int64_t rows = values[0] * values[1], updates = view.in(1).shape[1], all_updates = values[0] * updates;
    KernelChoice choice;
    choice.kernel = "scatter";
    const auto set = [&](KernelPass& pass, const char* number, std::int64_t count, std::int64_t invocations) {
        pass.kernel = "scatter";
        pass.defines = {{"PASS", number}, {"X4", is_float(type) ? "vec4" : "ivec4"}};
        set_constants(pass, {{"K", values[1]}, {"W", updates}, {"C", values[2]}, {"COUNT", count}});
        pass.groups = linear_groups(invocations, device);
        pass.writes_type = DType::i32;
    };
    KernelPass clear, mark;
    set(clear, "0", rows, rows);
    set(mark, "1", all_updates, all_updates);
    set(choice, "2", rows, rows * ((values[2] + 3) / 4));
    clear.writes = mark.writes = 0;
    add_operand(mark, view, 1);
    add_operand(choice, view, 0, quad_waste(values[2]));
    choice.operands.push_back({no_id, DType::i32, {}, {}, 0});
    add_operand(choice, view, 2, static_cast<double>(rows) / static_cast<double>(all_updates) * quad_waste(values[2]));
    choice.earlier = {std::move(clear), std::move(mark)};
    choice.scratch_bytes = {static_cast<std::uint64_t>(rows) * size_of(DType::i32)};
    choice.aligned = values[2] % 4 == 0;
    return choice;
}

}  // namespace

std::vector<KernelCandidate> gather_kernels() { return {{"direct", plan_gather}}; }
std::vector<KernelCandidate> scatter_kernels() { return {{"marked rows", plan_scatter}}; }

}  // namespace tosavk

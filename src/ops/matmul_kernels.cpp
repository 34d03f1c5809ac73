// The GPU kernel of MATMUL. Both operands are run-time tensors, so nothing is packed.
#include "ops/gemm.hpp"
#include "ops/kernel_operands.hpp"
#include "ops/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

std::optional<KernelChoice> plan_gemm(const NodeView& view, const DevicePlan& device, std::string& why, int tile) {
    if (device.subgroup_lanes == 1) {
        why = "invocations of this device do not share rows";
        return std::nullopt;
    }
    const DType type = view.in(0).type;
    if (type != DType::i8 && !is_float(type)) {
        why = fmt::format("it takes i8 and floats, not {}", name_of(type));
        return std::nullopt;
    }
    const Shape& a = view.in(0).shape;
    const std::int64_t batch = a[0], height = a[1], inner = a[2], width = view.in(1).shape[2];
    if (height < std::max(tile, 4)) {
        why = "so few rows do not fill its tile";
        return std::nullopt;
    }
    if (loop_steps(device, 1, (inner + 3) / 4, why) != 1) return std::nullopt;
    KernelChoice choice;
    set_gemm(choice, device, true, is_float(type), batch, height, width, inner, tile);
    add_constants(choice, {batch, height, width, inner});
    add_operand(choice, view, 0);
    add_operand(choice, view, 1);
    define_scalar(choice, view, 2, "ROW_ZP");
    define_scalar(choice, view, 3, "COLUMN_ZP");
    return choice;
}

std::optional<KernelChoice> plan_matmul(const NodeView& view, const DevicePlan& device, std::string& why, int fixed_tile) {
    const DType type = view.in(0).type;
    if (type != DType::i8 && type != DType::i16 && !is_float(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const Shape& a = view.in(0).shape;
    const std::int64_t batch = a[0], height = a[1], inner = a[2], width = view.in(1).shape[2], quads = (width + 3) / 4;
    // Four rows share every quad of B that an invocation loads; small outputs need the invocations more.
    const std::int64_t tile = fixed_tile != 0 ? fixed_tile : height >= 4 && batch * height * quads >= 4096 ? 4 : 1;

    const auto steps = loop_steps(device, 1, (inner + 3) / 4 + (type == DType::i16 ? chunk_steps(inner) : 0), why);
    if (!steps) return std::nullopt;

    KernelChoice choice;
    choice.kernel = "matmul";
    choice.defines = {{"X_FLOAT", is_float(type) ? "1" : "0"},
                      {"WIDE", type == DType::i16 ? "1" : "0"},
                      {"TM", std::to_string(tile)},
                      {"STEPS", std::to_string(*steps)}};
    add_constants(choice, {batch, height, inner, width});
    add_operand(choice, view, 0);
    add_operand(choice, view, 1);
    define_scalar(choice, view, 2, "A_ZP");
    define_scalar(choice, view, 3, "B_ZP");
    choice.groups = linear_groups(batch * ((height + tile - 1) / tile) * quads, device);
    choice.aligned = width % 4 == 0;
    choice.work = 2.0 * static_cast<double>(batch * height * width * inner);
    choice.note = fmt::format("{}x4 tile", tile);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> matmul_kernels() {
    std::vector<KernelCandidate> all = {{"shared rows", fixed(plan_gemm, 0)}, {"register tile", fixed(plan_matmul, 0)}};
    for (const int rows : {4, 8, 16}) all.push_back({fmt::format("shared rows, {}x4", rows), fixed(plan_gemm, rows), true});
    for (const int rows : {1, 4}) all.push_back({fmt::format("register tile, {}x4", rows), fixed(plan_matmul, rows), true});
    return all;
}

}  // namespace tosavk

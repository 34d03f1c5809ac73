#include "ops/gemm.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

/// Subgroups that the product occupies.
std::int64_t subgroups(const DevicePlan& device, std::int64_t batch, std::int64_t rows, std::int64_t columns, std::int64_t tile) {
    const std::int64_t lanes = device.subgroup_lanes, quads = (columns + 3) / 4;
    return batch * ((rows + tile - 1) / tile) * ((quads + lanes - 1) / lanes);
}

/// Rows that an invocation makes: 16, or fewer where the product would leave invocations idle.
int tile_rows(const DevicePlan& device, std::int64_t batch, std::int64_t rows, std::int64_t columns) {
    for (const int tile : {16, 8}) {
        // An invocation that loads many rows itself is a long shader, slow to compile and no faster.
        if (tile > 2 * static_cast<int>(device.subgroup_lanes)) continue;
        if (rows >= tile && subgroups(device, batch, rows, columns, tile) * device.subgroup_lanes >= 512) return tile;
    }
    return 4;
}

}  // namespace

void set_gemm(KernelChoice& choice, const DevicePlan& device, bool is_matrix, bool is_float, std::int64_t batch,
              std::int64_t rows, std::int64_t columns, std::int64_t inner, int tile) {
    if (tile == 0) tile = tile_rows(device, batch, rows, columns);
    choice.kernel = "gemm";
    choice.defines = {{"MATRIX", is_matrix ? "1" : "0"},
                      {"X_FLOAT", is_float ? "1" : "0"},
                      {"TM", std::to_string(tile)},
                      {"LANES", std::to_string(device.subgroup_lanes)}};
    choice.groups = linear_groups(subgroups(device, batch, rows, columns, tile) * device.subgroup_lanes, device);
    choice.aligned = columns % 4 == 0;
    choice.work = 2.0 * static_cast<double>(batch * rows * columns * inner);
    choice.note = fmt::format("{}x4 tile, rows shared by {}", tile, device.subgroup_lanes);
}

}  // namespace tosavk

// GPU kernel of TRANSPOSE; what it declines is a view that reads element by element.
#include "graph/index_map.hpp"
#include "kernels/common/operands.hpp"
#include "kernels/kernels.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

/// Blocks that neighbouring invocations make: rows of the output times columns.
struct Tile {
    std::int64_t tall, along;
};

/// `count` in as few parts of `most` as take them, and these of one length.
std::int64_t spread(std::int64_t count, std::int64_t most) {
    const std::int64_t parts = (count + most - 1) / most;
    return (count + parts - 1) / parts;
}

std::optional<KernelChoice> plan_tiles(const NodeView& view, const DevicePlan& device, std::string& why, Tile tile) {
    const DType type = view.in(0).type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    const IndexMap map = simplify(op_def(Op::transpose).view(view).maps.front());
    const std::size_t rank = map.dims.size();
    const auto tall =
        static_cast<std::size_t>(std::find(map.strides.begin(), map.strides.end(), 1) - map.strides.begin());
    if (tall + 1 >= rank) {
        why = "it has nothing to turn: the last axis stays the last";
        return std::nullopt;
    }
    if (rank > 5) {
        why = "it moves more than five axes";
        return std::nullopt;
    }
    const auto in_wholes_of = [&](std::int64_t n) {
        for (std::size_t i = 0; i < rank; ++i) {
            if (i != tall && map.strides[i] % n != 0) return false;
            if ((i == tall || i + 1 == rank) && map.dims[i] % n != 0) return false;
        }
        return true;
    };
    // Of bytes a block of four makes rows of a word only, of which a subgroup's are far from whole segments.
    const bool bytes = size_of(type) == 1 && device.lanes_together > 1;
    const bool whole = in_wholes_of(4),
               eights = in_wholes_of(8) && (bytes || wants_eights(element_count(view.out().shape), device));
    const std::int64_t block = eights ? 8 : 4;
    if (!whole && size_of(type) < 4) {
        why = "its blocks would not be whole quads, and single bytes are stored slowly";
        return std::nullopt;
    }
    const auto out_strides = row_major_strides(map.dims);
    // Outer axes: those that are neither end, filled up with ones behind the first, whose size may be known late.
    std::vector<std::int64_t> dims, in_strides, outer_strides;
    for (std::size_t i = 0; i + 1 < rank; ++i) {
        if (i == tall) continue;
        dims.push_back(map.dims[i]);
        in_strides.push_back(map.strides[i]);
        outer_strides.push_back(out_strides[i]);
    }
    while (dims.size() < 3) {
        const std::ptrdiff_t place = dims.empty() ? 0 : 1;
        dims.insert(dims.begin() + place, 1);
        in_strides.insert(in_strides.begin() + place, 0);
        outer_strides.insert(outer_strides.begin() + place, 0);
    }
    const std::int64_t tall_blocks = (map.dims[tall] + block - 1) / block,
                       long_blocks = (map.dims.back() + block - 1) / block;
    const std::int64_t tall_tile = spread(tall_blocks, tile.tall), long_tile = spread(long_blocks, tile.along);
    const std::int64_t tiles = (tall_blocks + tall_tile - 1) / tall_tile * ((long_blocks + long_tile - 1) / long_tile);

    KernelChoice choice;
    choice.kernel = "transpose";
    choice.defines = {{"X4", is_float(type) ? "vec4" : "ivec4"},
                      {"WHOLE_BLOCKS", whole ? "1" : "0"},
                      {"BLOCK", fmt::to_string(block)}};
    set_constants(choice, {{"A", dims[0]},
                           {"B", dims[1]},
                           {"C", dims[2]},
                           {"TALL", map.dims[tall]},
                           {"LONG", map.dims.back()},
                           {"A_IN", in_strides[0]},
                           {"B_IN", in_strides[1]},
                           {"C_IN", in_strides[2]},
                           {"LONG_IN", map.strides.back()},
                           {"A_OUT", outer_strides[0]},
                           {"B_OUT", outer_strides[1]},
                           {"C_OUT", outer_strides[2]},
                           {"TALL_OUT", out_strides[tall]},
                           {"TALL_TILE", tall_tile},
                           {"LONG_TILE", long_tile}});
    add_operand(choice, view, 0, quad_waste(map.dims[tall]) * quad_waste(map.dims.back()));
    choice.groups = linear_groups(dims[0] * dims[1] * dims[2] * tiles * tall_tile * long_tile, device);
    choice.aligned = whole;
    choice.by_eights = choice.reads_eights = eights;
    choice.note = fmt::format("{0}x{0} blocks in tiles of {1}x{2}", block, tall_tile, long_tile);
    return choice;
}

/// Tiles are square, so that neither side wastes lines of a cache; where loads are loops over the lanes, whole lines
/// of the output are written one after the other instead (docs/performance.md, "First kernels" and "Blocks of eight").
std::optional<KernelChoice> plan_blocks(const NodeView& view, const DevicePlan& device, std::string& why) {
    return plan_tiles(view, device, why, loads_are_loops(device) ? Tile{1, 64} : Tile{8, 8});
}

}  // namespace

std::vector<KernelCandidate> transpose_kernels() {
    std::vector<KernelCandidate> all = {{"blocks", plan_blocks}};
    for (const int tile : {2, 4, 16, 32})
        all.push_back({fmt::format("blocks, tiles of {}", tile), fixed(plan_tiles, Tile{tile, tile}), true});
    all.push_back({"blocks, rows of 64", fixed(plan_tiles, Tile{1, 64}), true});
    return all;
}

}  // namespace tosavk

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

/// The axes of a TRANSPOSE: two that change places as the contiguous one, and up to three around them.
struct Turn {
    IndexMap map;
    std::size_t tall = 0;                                       ///< the input's contiguous axis among the output's
    std::vector<std::int64_t> dims, in_strides, outer_strides;  ///< three others, of 1 where there are fewer
    std::int64_t tall_out = 0;                                  ///< stride of `tall` in the output

    std::int64_t tall_size() const { return map.dims[tall]; }
    std::int64_t outer() const { return dims[0] * dims[1] * dims[2]; }
};

std::optional<Turn> turn_of(const NodeView& view, std::string& why) {
    const DType type = view.in(0).type;
    if (!is_plain_type(type)) {
        why = fmt::format("it does not take {}", name_of(type));
        return std::nullopt;
    }
    Turn turn;
    turn.map = simplify(op_def(Op::transpose).view(view).maps.front());
    const IndexMap& map = turn.map;
    const std::size_t rank = map.dims.size();
    turn.tall = static_cast<std::size_t>(std::find(map.strides.begin(), map.strides.end(), 1) - map.strides.begin());
    if (turn.tall + 1 >= rank) {
        why = "it has nothing to turn: the last axis stays the last";
        return std::nullopt;
    }
    if (rank > 5) {
        why = "it moves more than five axes";
        return std::nullopt;
    }
    const auto out_strides = row_major_strides(map.dims);
    turn.tall_out = out_strides[turn.tall];
    // Outer axes: those that are neither end, filled up with ones behind the first, whose size may be known late.
    for (std::size_t i = 0; i + 1 < rank; ++i) {
        if (i == turn.tall) continue;
        turn.dims.push_back(map.dims[i]);
        turn.in_strides.push_back(map.strides[i]);
        turn.outer_strides.push_back(out_strides[i]);
    }
    while (turn.dims.size() < 3) {
        const std::ptrdiff_t place = turn.dims.empty() ? 0 : 1;
        turn.dims.insert(turn.dims.begin() + place, 1);
        turn.in_strides.insert(turn.in_strides.begin() + place, 0);
        turn.outer_strides.insert(turn.outer_strides.begin() + place, 0);
    }
    return turn;
}

/// Both axes and all strides but that of 1 are multiples of n.
bool in_wholes_of(const Turn& turn, std::int64_t n) {
    for (std::size_t i = 0; i < turn.map.dims.size(); ++i) {
        const bool is_end = i == turn.tall || i + 1 == turn.map.dims.size();
        if ((i != turn.tall && turn.map.strides[i] % n != 0) || (is_end && turn.map.dims[i] % n != 0)) return false;
    }
    return true;
}

void set_turn(KernelChoice& choice, const Turn& turn, std::int64_t tall_tile, std::int64_t long_tile) {
    set_constants(choice, {{"A", turn.dims[0]},
                           {"B", turn.dims[1]},
                           {"C", turn.dims[2]},
                           {"TALL", turn.tall_size()},
                           {"LONG", turn.map.dims.back()},
                           {"A_IN", turn.in_strides[0]},
                           {"B_IN", turn.in_strides[1]},
                           {"C_IN", turn.in_strides[2]},
                           {"LONG_IN", turn.map.strides.back()},
                           {"A_OUT", turn.outer_strides[0]},
                           {"B_OUT", turn.outer_strides[1]},
                           {"C_OUT", turn.outer_strides[2]},
                           {"TALL_OUT", turn.tall_out},
                           {"TALL_TILE", tall_tile},
                           {"LONG_TILE", long_tile}});
}

std::optional<KernelChoice> plan_tiles(const NodeView& view, const DevicePlan& device, std::string& why, Tile tile) {
    const std::optional<Turn> turn = turn_of(view, why);
    if (!turn) return std::nullopt;
    const DType type = view.in(0).type;
    // Of bytes a block of four makes rows of a word only, of which a subgroup's are far from whole segments.
    const bool bytes = size_of(type) == 1 && device.lanes_together > 1;
    const bool whole = in_wholes_of(*turn, 4),
               eights = in_wholes_of(*turn, 8) && (bytes || wants_eights(element_count(view.out().shape), device));
    const std::int64_t block = eights ? 8 : 4;
    if (!whole && size_of(type) < 4) {
        why = "its blocks would not be whole quads, and single bytes are stored slowly";
        return std::nullopt;
    }
    const std::int64_t tall_blocks = quotient_up(turn->tall_size(), block),
                       long_blocks = quotient_up(turn->map.dims.back(), block);
    const std::int64_t tall_tile = spread(tall_blocks, tile.tall), long_tile = spread(long_blocks, tile.along);
    const std::int64_t tiles = quotient_up(tall_blocks, tall_tile) * quotient_up(long_blocks, long_tile);

    KernelChoice choice;
    choice.kernel = "transpose";
    choice.defines = {{"X4", is_float(type) ? "vec4" : "ivec4"},
                      {"WHOLE_BLOCKS", whole ? "1" : "0"},
                      {"BLOCK", fmt::to_string(block)}};
    set_turn(choice, *turn, tall_tile, long_tile);
    add_operand(choice, view, 0, quad_waste(turn->tall_size()) * quad_waste(turn->map.dims.back()));
    choice.groups = linear_groups(turn->outer() * tiles * tall_tile * long_tile, device);
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

/// Of words whose axes are no whole quads, where neighbouring invocations' words are one access.
std::optional<KernelChoice> plan_shared(const NodeView& view, const DevicePlan& device, std::string& why) {
    const std::optional<Turn> turn = turn_of(view, why);
    if (!turn) return std::nullopt;
    const DType type = view.in(0).type;
    if (size_of(type) != 4 || in_wholes_of(*turn, 4)) {
        why = "it is read and written in whole quads";
        return std::nullopt;
    }
    if (!device.shared_tiles || device.lanes_together == 1) {
        why = "neighbouring invocations gain nothing from neighbouring words";
        return std::nullopt;
    }
    // Small workgroups have smaller tiles, so that shared memory leaves room for as many. Nearly square, or as long as
    // one axis is short.
    const std::int64_t square = device.product_tiles ? 32 : 16;
    const auto side = [&](std::int64_t size, std::int64_t least, std::int64_t other) {
        return std::min(size, std::max(least, 32 * square / other));
    };
    const std::int64_t tall_size = turn->tall_size(), long_size = turn->map.dims.back();
    const std::int64_t tall_tile = side(tall_size, square, long_size), long_tile = side(long_size, 32, tall_size);
    KernelChoice choice;
    choice.kernel = "transpose_shared";
    choice.defines = {{"X1", is_float(type) ? "float" : "int"}, {"X4", is_float(type) ? "vec4" : "ivec4"}};
    set_turn(choice, *turn, tall_tile, long_tile);
    add_operand(choice, view, 0);
    const std::int64_t tiles = quotient_up(tall_size, tall_tile) * quotient_up(long_size, long_tile);
    choice.groups = spill_groups(turn->outer() * tiles, device);
    if (device.product_tiles) choice.invocations = max_invocations;  // more of them to a tile's memory
    choice.aligned = false;
    choice.note = fmt::format("tiles of {}x{} in shared memory", tall_tile, long_tile);
    return choice;
}

}  // namespace

std::vector<KernelCandidate> transpose_kernels() {
    std::vector<KernelCandidate> all = {{"shared tiles", plan_shared}, {"blocks", plan_blocks}};
    for (const int tile : {2, 4, 16, 32})
        all.push_back({fmt::format("blocks, tiles of {}", tile), fixed(plan_tiles, Tile{tile, tile}), true});
    all.push_back({"blocks, rows of 64", fixed(plan_tiles, Tile{1, 64}), true});
    return all;
}

}  // namespace tosavk

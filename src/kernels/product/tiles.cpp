// Products through tiles in shared memory, whose inner dimension may have parts in workgroups of their own.
#include "kernels/common/operands.hpp"
#include "kernels/product/product_choice.hpp"

#include <fmt/format.h>

namespace tosavk {

namespace {

/// How invocations share a tile: x times y of them, each with so many rows and quads of columns; `depth` blocks of the
/// inner dimension lie in shared memory at a time; `split` such groups share the inner dimension: `by_taps` each has
/// taps of its own, else its part of the blocks of each.
struct Grid {
    int x, y, rows, quads, depth, split;
    bool by_taps = false;

    std::int64_t tile_rows() const { return y * rows; }
    std::int64_t tile_quads() const { return x * quads; }
    std::int64_t tiles(const Product& p) const {
        return p.batch * quotient_up(p.rows, tile_rows()) * quotient_up(p.quads(), tile_quads());
    }
    std::int64_t invocations() const { return std::int64_t{x} * y * split; }
    /// Blocks of a tap, of those that a product multiplies at once, that its groups take in a turn.
    std::int64_t step(const Product& p) const {
        return std::int64_t{depth} * (p.dot4 != Dot4::none ? 4 : 1) * (by_taps ? 1 : split);
    }
};

/// Of shared memory, with blocks of 16 bytes, or of 8 where they are fp16.
std::int64_t bytes_of(const Product& p, const Grid& grid) {
    const std::int64_t tiles = grid.depth * (grid.tile_rows() + 1 + 4 * (grid.tile_quads() + 1));
    return (p.is_half ? 8 : 16) * grid.split * tiles + 16 * (grid.split - 1) * grid.x * grid.y * grid.quads;
}

/// Whether a compiler may make all turns of a loop over so many taps at once, which 128 registers do not hold: Intel's
/// do of two.
bool is_unrolled(const Product& p, std::int64_t taps, const DevicePlan& device) {
    return !p.is_matrix && taps == 2 && device.registers <= 128;
}

/// How many blocks lie in shared memory at a time: those with which the loop over the inner dimension costs least, of
/// all that fit.
int depth_of(const Product& p, Grid grid, const DevicePlan& device) {
    // Words of MATMUL's columns are turned before they are stored, which takes registers.
    const bool turns_few = p.is_matrix && p.dot4 != Dot4::none && !p.turns && device.registers <= 128;
    const int most = (grid.tile_rows() > 128 || turns_few ? 2 : 4) * (p.is_half ? 2 : 1);
    int best = 0;
    std::int64_t least = 0;
    for (int depth = most; depth > 0; depth /= 2) {
        grid.depth = depth;
        // Each invocation loads at least one block of the rows.
        if (depth * grid.rows < grid.x || (depth > 1 && bytes_of(p, grid) > device.product_tile_bytes)) continue;
        // Elements of a transposed convolution's blocks that are no whole quads have places of their own, which take
        // registers: two loads at most.
        if (p.is_transposed && p.inner % 4 != 0 && depth * grid.rows > 2 * grid.x && device.registers <= 128) continue;
        // Rows of a convolution have places and bits of padding of their own: four loads of them at most, or two.
        const int loads = is_unrolled(p, p.taps, device) ? 2 : 4;
        if (!p.is_matrix && depth > 1 && depth * grid.rows > loads * grid.x && device.registers <= 128) continue;
        // A step waits twice for all invocations, which is about what two of its loads cost. Where taps are less than a
        // step all blocks stand in one row, and the tap of each is found in every step. All are guesses.
        const std::int64_t blocks = (p.inner + 3) / 4, step = grid.step(p);
        const bool in_one_row = !p.is_matrix && blocks < step;
        // The taps of four blocks of a load take registers, and so do those of several loads from a volume.
        const bool finds =
            p.is_volume ? depth > 1 && depth * grid.rows > grid.x : p.dot4 != Dot4::none && depth * grid.rows > 8;
        if (in_one_row && finds && device.registers <= 128) continue;
        const std::int64_t steps = in_one_row ? quotient_up(p.taps * blocks, step) : p.taps * quotient_up(blocks, step);
        const std::int64_t no_whole = blocks % step == 0 ? 0 : p.taps;
        const std::int64_t cost = steps * (2 + depth * (!in_one_row ? 1 : p.dot4 != Dot4::none ? 4 : 2)) + no_whole;
        if (best == 0 || cost < least) {
            best = depth;
            least = cost;
        }
    }
    return std::max(best, 1);
}

/// The grid with groups of a workgroup that have taps of their own, where each then has more blocks at a time: all of
/// them wait for each other once a turn.
Grid with_own_taps(const Product& p, const Grid& grid, const DevicePlan& device) {
    const std::int64_t blocks = (p.inner + 3) / 4;
    // Where a group's first tap lies takes registers, which a volume does not leave.
    if (p.is_matrix || p.is_transposed || grid.split == 1 || (p.is_volume && device.registers <= 128)) return grid;
    for (int groups = 4; groups > 1; --groups) {
        Grid taps = grid;
        taps.split = groups;
        taps.by_taps = true;
        if (is_unrolled(p, p.taps / groups, device)) continue;
        if (p.taps % groups != 0 || 2 * groups < grid.split || taps.invocations() > max_invocations) continue;
        taps.depth = depth_of(p, taps, device);
        if (bytes_of(p, taps) > device.product_tile_bytes || blocks < taps.step(p)) continue;
        if (taps.rows * taps.depth < taps.x) continue;
        if (taps.depth > grid.depth || blocks % grid.step(p) != 0) return taps;
    }
    return grid;
}

/// A tile as wide as the columns want: 64, 32 or 16 of them. It is long where enough of them keep the device busy,
/// since it reads less then; parts share the inner dimension where it does not.
Grid grid_of(const Product& p, const DevicePlan& device, bool may_split = true) {
    Grid best{};
    double least = 0;
    for (const int x : {8, 4, 2}) {
        for (const int size : {128, 64}) {
            // Sums of 48 bits take three or four times the registers; so does it take some to find the rows of a
            // volume or of a phase, and to convert what lies there, or to sum up rows beside the products.
            const bool fits_little = device.registers <= 128;
            const bool converts = p.is_float && !p.is_fp32;
            const bool finds = (p.is_volume && converts) || (p.is_transposed && (converts || p.inner % 4 != 0));
            const bool crowded = p.is_wide || (fits_little && (finds || p.sums_rows)) || is_unrolled(p, p.taps, device);
            const int rows = !crowded ? 8 : p.is_wide && (p.is_matrix || p.is_transposed) && fits_little ? 2 : 4;
            const Grid grid{x, size / x, rows, p.is_wide ? 1 : static_cast<int>(device.tile_quads), 1, 1};
            if (grid.y > 32) continue;
            // What is computed in vain, and what is read more than by the largest tile.
            const double area = static_cast<double>(grid.tiles(p) * grid.tile_rows() * grid.tile_quads());
            const double reads =
                1.0 / static_cast<double>(grid.tile_rows()) + 0.25 / static_cast<double>(grid.tile_quads());
            const double cost = area * (1 + 4 * reads);
            const std::int64_t enough_tiles = device.tile_parts > 1 ? device.least_tiles : 16;
            if (size == 128 && !device.chooses(grid.tiles(p) >= enough_tiles, "long tile", x)) continue;
            if (best.x == 0 || device.chooses(cost < least, "grid", 1000 * x + size)) {
                best = grid;
                least = cost;
            }
        }
    }
    // Invocations of a workgroup: 256 at most.
    const auto enough = [&] {
        return best.tiles(p) * best.invocations() >= device.busy_invocations ||
               p.blocks() < std::int64_t{16} * (p.dot4 != Dot4::none ? 4 : 1) * best.split;
    };
    while (may_split && !p.is_wide && best.invocations() < 256 && !device.chooses(enough(), "parts", best.split))
        best.split *= 2;
    best.depth = depth_of(p, best, device);
    // Each invocation loads at least one block of the rows, and what lies in shared memory fits there.
    while (best.split > 1 && (best.rows * best.depth < best.x || bytes_of(p, best) > device.product_tile_bytes)) {
        best.split /= 2;
        best.depth = depth_of(p, best, device);
    }
    return with_own_taps(p, best, device);
}

ProductChoice choice_of_tiles(const Product& p, const Grid& grid, std::int64_t parts, const DevicePlan& device) {
    const std::int64_t rows = grid.tile_rows(), quads = grid.tile_quads(), tiles = grid.tiles(p);
    if (grid.rows * grid.depth < grid.x)
        throw Error(ErrorCode::internal, fmt::format("a tile of {}x{} has too few blocks at a time", rows, 4 * quads));
    KernelChoice choice = choice_of(p, "gemm_tiles");
    define(choice, "TX", grid.x);
    define(choice, "TY", grid.y);
    define(choice, "TM", grid.rows);
    define(choice, "TN", grid.quads);
    define(choice, "DEPTH", grid.depth);
    define(choice, "SPLIT", grid.split);
    define(choice, "TAP_SPLIT", grid.by_taps);
    define(choice, "SHORT_ROWS", has_short_rows(p, device));
    const bool any_size = has_any_size(p) && !grid.by_taps && p.inner / 4 % grid.step(p) == 0;
    define(choice, "FLAT", any_size);
    define(choice, "PARTS", any_size ? std::min<std::int64_t>(parts, 2) : parts);
    if (any_size && parts > 1) set_constants(choice, {{"PART_COUNT", parts}});
    define(choice, "DOT4", static_cast<int>(p.dot4));
    define(choice, "HALF", p.is_half);
    choice.invocations = static_cast<std::uint32_t>(grid.invocations());
    if (device.paired_products && p.is_float) choice.subgroup_size = device.subgroup_size;
    choice.groups = spill_groups(tiles * parts, device);
    choice.note = fmt::format("{} tiles of {}x{} in shared memory{}", tiles, rows, 4 * quads,
                              p.dot4 != Dot4::none ? at_once : "");
    return ProductChoice{.choice = std::move(choice),
                         .row_reads = times(p.quads(), quads),
                         .column_reads = times(p.rows, rows),
                         .dot4 = p.dot4,
                         .parts = parts};
}

/// Turns of a workgroup's loop over the inner dimension, each with a step of its tiles.
std::int64_t turns(const Product& p, const Grid& grid) { return quotient_up(p.blocks(), grid.step(p)); }

/// Whether the sums of all parts do.
bool fits(const Product& p, std::int64_t parts, const DevicePlan& device, std::string& why) {
    const std::int64_t sums = parts * p.batch * p.rows * p.quads() * 4;
    if (sums <= max_elements && static_cast<std::uint64_t>(sums) * 4 <= device.max_binding_bytes) return true;
    why = "its parts take more memory than a binding may have";
    return false;
}

}  // namespace

std::optional<ProductChoice> plan_shared_tiles(const Product& p, const DevicePlan& device, std::string& why,
                                               int however_few) {
    if (!device.product_tiles) {
        why = "this device has no use for tiles in shared memory";
        return std::nullopt;
    }
    const Grid grid = grid_of(p, device);
    const std::int64_t rows = grid.tile_rows(), quads = grid.tile_quads(), tiles = grid.tiles(p);
    // Where they keep the device busy even half-empty ones do more than sums that are shared. Where all
    // but an eighth would be empty they multiply for nothing more than they save (of sums of 48 bits less is shared).
    const std::int64_t all = tiles * rows * quads, full = p.batch * p.rows * p.quads();
    const bool keeps_busy = tiles * grid.invocations() >= device.busy_invocations && (p.is_wide || all <= 8 * full);
    if (however_few == 0 && !device.chooses(2 * all <= 3 * full || keeps_busy, "full tiles")) {
        why = fmt::format("a third of its tiles of {}x{} would be empty", rows, 4 * quads);
        return std::nullopt;
    }
    if (however_few == 0 && !p.is_wide && !device.chooses(tiles >= device.least_tiles, "enough tiles")) {
        why = fmt::format("{} tiles of {}x{} leave the device idle", tiles, rows, 4 * quads);
        return std::nullopt;
    }
    return choice_of_tiles(p, grid, 1, device);
}

std::optional<ProductChoice> plan_tiles_in_parts(const Product& p, const DevicePlan& device, std::string& why,
                                                 int fixed_parts) {
    if (p.is_wide || p.is_transposed) {
        why = p.is_wide ? "sums of 48 bits are made in one piece" : "each phase has taps of its own";
        return std::nullopt;
    }
    if (!device.product_tiles) {
        auto planned = plan_rows_in_parts(p, device, why, fixed_parts);
        return planned && fits(p, planned->parts, device, why) ? planned : std::nullopt;
    }
    // The parts are what keeps the device busy: none are needed within a workgroup.
    const Grid grid = grid_of(p, device, false);
    const std::int64_t tiles = grid.tiles(p);
    if (fixed_parts == 0 && !device.chooses(tiles < device.least_tiles, "few tiles")) {
        why = "there are enough tiles";
        return std::nullopt;
    }
    if (fixed_parts == 0 &&
        !device.chooses(2 * tiles * grid.tile_rows() * grid.tile_quads() <= 3 * p.batch * p.rows * p.quads(),
                        "full tiles in parts")) {
        why = fmt::format("a third of its tiles of {}x{} would be empty", grid.tile_rows(), 4 * grid.tile_quads());
        return std::nullopt;
    }
    // Each should have four turns: less than what it takes to begin, and to add up, is a guess.
    std::int64_t parts = std::max(fixed_parts, 1);
    while (fixed_parts == 0 && 2 * parts <= device.tile_parts && 8 * parts <= turns(p, grid) &&
           !device.chooses(parts * tiles >= device.least_tiles, "tile parts", parts))
        parts *= 2;
    if (parts == 1 || parts > turns(p, grid)) {
        why = "its inner dimension is short, or has no parts on this device";
        return std::nullopt;
    }
    if (!fits(p, parts, device, why)) return std::nullopt;
    return choice_of_tiles(p, grid, parts, device);
}

KernelChoice in_parts(KernelChoice&& tiles, const Product& p, std::int64_t parts, const DevicePlan& device) {
    const std::int64_t rows = p.batch * p.rows;
    const bool floats = p.is_float && !p.integers;
    const DType type = floats ? DType::fp32 : DType::i32;
    KernelChoice last;
    last.kernel = "gemm_parts";
    last.scratch_bytes = tiles.scratch_bytes;
    last.earlier = std::move(tiles.earlier);
    last.defines = {{"MATRIX", p.is_matrix ? "1" : "0"}, {"SUM4", floats ? "vec4" : "ivec4"}};
    set_constants(last, {{"ROWS", rows}, {"COLUMNS", p.columns}, {"PARTS", parts}});
    const int scratch = add_scratch(last, parts * rows * p.quads() * 4);
    last.operands.push_back(scratch_operand(scratch, type));
    last.groups = linear_groups(rows * p.quads(), device);
    last.aligned = tiles.aligned;
    last.in_rows = tiles.in_rows;
    last.work = static_cast<double>(parts * rows * p.columns);
    last.note = fmt::format("{}, the inner dimension in {} parts", tiles.note, parts);

    KernelPass first = std::move(static_cast<KernelPass&>(tiles));
    if (!p.is_matrix) {
        last.constants.emplace("BIAS", first.constants.at("BIAS"));
        last.operands.push_back(std::move(first.operands.back()));
        first.operands.pop_back();
    }
    define(first, "NO_BIAS", 1);
    set_constants(first, {{"OUT_ROWS", rows}});
    first.writes = scratch;
    first.writes_type = type;
    first.stores_quads = true;
    last.earlier.push_back(std::move(first));
    return last;
}

}  // namespace tosavk

#include "kernels/common/operands.hpp"
#include "kernels/product/product_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tosavk {

namespace {

/// Subgroups that the product occupies.
std::int64_t subgroups(const Product& p, const DevicePlan& device, std::int64_t tile) {
    return p.batch * quotient_up(p.rows, tile) * quotient_up(p.quads(), device.row_lanes());
}

/// Rows that an invocation makes: 16, or fewer where the product would leave invocations idle. Measured:
/// docs/performance.md, "Workgroups and tiles", and for 32 "Tried and left".
int tile_rows(const Product& p, const DevicePlan& device) {
    for (const int tile : {16, 8}) {
        // An invocation that loads many rows itself is a long shader, slow to compile.
        const std::uint32_t most = device.row_lanes() == 1 ? device.own_rows : 2 * device.row_lanes();
        if (tile > static_cast<int>(most)) continue;
        if (device.chooses(
                p.rows >= tile && subgroups(p, device, tile) * device.row_lanes() >= 2 * device.workgroup_size, "tile",
                tile))
            return tile;
    }
    return 4;
}

/// Whether tiles of so many rows fill the lines of a convolution's output, or all but few of them: the last one of a
/// line makes rows of the one before again. Few registers leave tiles of few rows otherwise.
bool is_in_line(const Product& p, int rows, const DevicePlan& device) {
    const std::int64_t made = rows * quotient_up(p.line, rows);
    return rows <= p.line && made - p.line <= p.line / (device.has_few_registers() ? 8 : 16);
}

/// What takes registers beside the sums: unpacking, rows that end within a quad; of a convolution the places of rows.
int rows_of_few_registers(const Product& p) {
    if (p.unpacks) return p.inner % 4 == 0 ? 2 : 1;
    if (p.inner % 4 != 0 && p.is_transposed) return 2;
    if (p.inner % 4 != 0 || (p.is_matrix && p.columns % 4 != 0)) return 4;
    return p.is_matrix ? 8 : 7;
}

/// What an invocation of gemm_direct makes: so many rows of so many quads of columns.
struct DirectTile {
    int rows, quads = 1;
    bool in_line = false;  ///< its rows are pixels of one line

    std::int64_t count(const Product& p) const {
        const std::int64_t across = in_line ? p.line : p.rows;
        return p.batch * (p.rows / across) * quotient_up(across, rows) * quotient_up(p.quads(), quads);
    }
    int detail() const { return rows + 16 * (quads - 1); }  ///< of a choice that hangs on sizes
};

/// A tile in registers alone, of as many rows as `enough` takes. Where its pixels are not in one line, each has an
/// address of its own.
template <class Enough> DirectTile high_tile(const Product& p, const DevicePlan& device, Enough&& enough) {
    // Sums of 48 bits take three or four times the registers, and rows that end within a quad more.
    if (p.is_wide) return {device.has_few_registers() && p.inner % 4 != 0 ? 1 : 2};
    const int most = device.has_few_registers() ? rows_of_few_registers(p) : 8;
    const int large = std::min(most, static_cast<int>(device.own_rows));
    for (const int rows : {8, 7}) {
        if (rows > large) continue;
        if (p.is_matrix && rows != 8) break;
        const DirectTile tile{.rows = rows, .in_line = !p.is_matrix && !has_any_size(p)};
        // Rows of an input that has the output's pixels lie as those of a matrix.
        const bool fills = has_any_size(p) ? device.chooses(15 * rows * quotient_up(p.rows, rows) <= 16 * p.rows,
                                                            "filled flat rows", rows)
                                           : p.is_matrix || is_in_line(p, rows, device);
        if (fills && enough(tile)) return tile;
    }
    // Where there are registers for it, pixels of several lines have addresses of their own.
    if (!p.is_matrix && device.registers >= 96 && large >= 8 && enough(DirectTile{8})) return {8};
    return {std::min(most, 4)};
}

/// Whether an invocation of gemm_direct has registers for words of several blocks, and of several quads of columns.
bool has_room_for_words(const Product& p, const DevicePlan& device) {
    return p.dot4 != Dot4::none && (!p.is_matrix || p.turns) && !device.has_few_registers();
}

/// A row's word may be made unsigned, or four of fp32, before it is multiplied, which more columns share: two quads, of
/// which few may be empty, of six rows, of which fewer may be (docs/gpu-compilers.md), or four. Else as many rows as
/// `enough` takes.
template <class Enough> DirectTile direct_tile(const Product& p, const DevicePlan& device, Enough&& enough) {
    if ((has_room_for_words(p, device) || (p.converts == Converts::rows && !device.has_few_registers())) &&
        8 * quotient_up(p.quads(), 2) <= 5 * p.quads()) {
        for (const DirectTile wide : {DirectTile{6, 2}, DirectTile{4, 2}}) {
            const bool fits =
                wide.rows == 4 || (p.inner % 4 == 0 && 15 * wide.rows * quotient_up(p.rows, wide.rows) <= 16 * p.rows);
            if (device.chooses(fits, "filled six", wide.detail()) && enough(wide)) return wide;
        }
    }
    return high_tile(p, device, enough);
}

/// One that keeps the device busy, as half as many invocations do that load and multiply much at once, or an eighth
/// less: twice as many of smaller tiles would take two rounds.
DirectTile busy_direct_tile(const Product& p, const DevicePlan& device) {
    return direct_tile(p, device, [&](const DirectTile& tile) {
        return device.chooses(p.rows >= tile.rows && 16 * tile.count(p) >= 7 * device.busy_invocations, "rows",
                              tile.detail());
    });
}

/// Whether invocations make tiles of up to so many rows in registers alone.
bool takes_direct(const DevicePlan& device, int rows) {
    return device.row_lanes() == 1 && device.own_rows > 0 && !loads_are_loops(device) && rows <= 8;
}

/// Each invocation makes a tile, or a part of one.
ProductChoice choice_of_direct(const Product& p, const DevicePlan& device, const DirectTile& tile, std::int64_t parts) {
    KernelChoice choice = choice_of(p, "gemm_direct");
    const bool whole_loads = has_room_for_words(p, device) && p.inner % 16 == 0;
    choice.reads_sixteens = whole_loads;
    choice.held_registers = static_cast<std::size_t>((p.is_wide ? 8 : 4) * (tile.rows * tile.quads - 1));
    define(choice, "TM", tile.rows);
    define(choice, "TN", tile.quads);
    define(choice, "ROW_BLOCKS", whole_loads ? 4 : 1);
    define(choice, "DOT4", static_cast<int>(p.dot4));
    // Its inner elements are a constant's, without which addresses take too many registers. Fewer rows than a tile's,
    // for which a model of open sizes has it nevertheless, take the form of any convolution.
    const bool any_size = has_any_size(p) && p.rows >= tile.rows;
    define(choice, "FLAT", any_size ? 2 : 0);
    define(choice, "LINE", tile.in_line || (!any_size && p.line > 0 && p.line % tile.rows == 0));
    define(choice, "HALF", p.is_half);
    // Of texel buffers an address is one sum as it is; factors that are unpacked leave no registers for more. Words of
    // four blocks share what it costs.
    define(choice, "STEPPED",
           whole_loads || ((p.is_fp32 || p.is_half) && p.converts == Converts::none && device.registers >= 96 &&
                           device.texel_elements == 0));
    define(choice, "COUNTS_BLOCKS", device.has_few_registers() || p.is_wide || !device.bottom_tests);
    define(choice, "SHORT_ROWS", has_short_rows(p, device));
    define(choice, "PARTS", any_size ? std::min<std::int64_t>(parts, 2) : parts);
    if (any_size && parts > 1) set_constants(choice, {{"PART_COUNT", parts}});
    choice.groups = linear_groups(tile.count(p) * parts, device);
    choice.note = fmt::format("{}x{} tile{}", tile.rows, 4 * tile.quads, p.dot4 != Dot4::none ? at_once : "");
    return ProductChoice{.choice = std::move(choice),
                         .row_reads = times(p.quads(), tile.quads),
                         .column_reads = times(p.rows, tile.rows),
                         .dot4 = p.dot4,
                         .parts = parts};
}

/// How subgroups share a tile of gemm_cooperative: x times y of them, each with so many rows and columns.
struct Form {
    std::int64_t x, y, rows, columns;

    /// Results that an invocation holds.
    std::int64_t sums(const DevicePlan& device) const { return rows * columns / device.subgroup_size; }
};

/// Whether subgroups hold so few results that their shares of a tile are small.
bool has_few_sums(const DevicePlan& device) { return std::int64_t{device.matrix_sums} * device.subgroup_size < 1024; }

/// In the order in which they are asked. Of those with few sums more spill, and fewer leave a loop with more of
/// everything else (docs/gpu-compilers.md); the others are guesses.
std::vector<Form> forms(DType type, const DevicePlan& device) {
    if (has_few_sums(device)) return {{2, 4, 16, 32}, {4, 4, 16, 16}, {2, 2, 16, 32}, {4, 2, 16, 16}, {2, 2, 16, 16}};
    const bool many = std::int64_t{device.matrix_sums} * device.subgroup_size >= 64 * 64;
    const Form small = many && type == DType::fp16 ? Form{2, 1, 64, 64} : Form{2, 2, 32, 32};
    std::vector<Form> all = {{2, 2, 64, 64}, {4, 2, 64, 32}, small, {1, 2, 32, 64}, {4, 2, 16, 32}, {2, 2, 16, 16}};
    // Of fp16 a matrix is two loads from shared memory, so that more products should share each.
    if (type != DType::fp16) std::swap(all[0], all[1]);
    return all;
}

/// How many blocks an invocation of so many loads at a time: 16 bytes, or fewer where all are to load as much. 0: they
/// cannot.
std::int64_t unit_of(const Product& p, DType type, const Form& form, std::int64_t depth, std::int64_t size) {
    const std::int64_t words = type == DType::fp16 ? 2 : 1, rows = form.y * form.rows, columns = form.x * form.columns;
    if (p.is_matrix && columns / 4 * depth * words % size != 0) return 0;
    for (std::int64_t unit = 4 / words; unit > 0; unit /= 2) {
        const std::int64_t units = depth / unit;
        if (rows * units % size == 0 && (p.is_matrix || (columns * units % size == 0 && size % (4 * units) == 0)))
            return unit;
    }
    return 0;
}

/// Of how many blocks a tap has a multiple: whole steps, or units, where few are empty then.
std::int64_t tap_unit_of(const Product& p, std::int64_t unit, std::int64_t depth) {
    const std::int64_t blocks = quotient_up(p.inner, 4);
    const auto filled = [&](std::int64_t of) { return quotient_up(blocks, of) * of; };
    if (p.inner % 4 != 0) return 1;
    // A step within one tap asks less: of 100 channels Intel's compilers have 24 instead of 30 other instructions for
    // each of their unit's.
    if (p.taps > 1 && 10 * filled(depth) <= 13 * blocks) return depth;
    return 4 * filled(unit) <= 5 * blocks ? unit : 1;
}

}  // namespace

bool unpacks(DType type, const DevicePlan& device) {
    if (type == DType::fp16) return !device.native_fp16 && !device.fast_fp16;
    return type == DType::fp8e4m3 || type == DType::fp8e5m2;
}

Dot4 dot4_of(DType type, const DevicePlan& device) {
    if (type != DType::i8 || !device.dot4) return Dot4::none;
    return device.dot4_mixed ? Dot4::is_mixed : Dot4::is_signed;
}

std::optional<ProductChoice> plan_shared_rows(const Product& p, const DevicePlan& device, std::string& why,
                                              int fixed_rows) {
    const std::uint32_t lanes = device.row_lanes();
    if (lanes == 1 && device.own_rows == 0) {
        why = "invocations of this device do not share rows, and should not load many themselves";
        return std::nullopt;
    }
    if (p.is_wide && loads_are_loops(device)) {
        why = "sums of 48 bits are made no faster by more rows where loads are loops";
        return std::nullopt;
    }
    if (!device.chooses(p.rows >= std::max(fixed_rows, 4), "filled tile", fixed_rows)) {
        why = "so few rows do not fill its tile";
        return std::nullopt;
    }
    // Sums of 48 bits are two words each: sixteen rows of them spill from the registers of GPUs (AMD's by ACO).
    const int registers = p.is_wide && device.product_tiles ? 8 : 16;
    const int most = lanes == 1 ? std::min(registers, static_cast<int>(device.own_rows)) : registers;
    if (fixed_rows > most) {
        why = "so many sums of 48 bits do not fit into registers";
        return std::nullopt;
    }
    if (takes_direct(device, std::max(fixed_rows, most)))
        return choice_of_direct(p, device, fixed_rows != 0 ? DirectTile{fixed_rows} : busy_direct_tile(p, device), 1);
    const int tile = fixed_rows != 0 ? fixed_rows : std::min(tile_rows(p, device), most);
    KernelChoice choice = choice_of(p, "gemm");
    define(choice, "TM", tile);
    define(choice, "LANES", lanes);
    define(choice, "DOT4", 0);
    // Where each loads all its rows itself, and loads are dear: more of a row at a time, and for more columns
    // (docs/performance.md, "Without texel buffers or subgroups"). How many columns may be wasted is a guess.
    const bool dear_loads = loads_are_loops(device) && device.int64 && lanes == 1;
    const bool whole_eights = dear_loads && p.inner % 8 == 0;
    choice.reads_eights = whole_eights || (dear_loads && !p.is_matrix && p.is_float);
    const auto tiles = [&](std::int64_t quads) {
        return p.batch * quotient_up(p.rows, tile) * quotient_up(p.quads(), lanes * quads);
    };
    const auto wastes = [&](std::int64_t quads) { return 4 * quads * quotient_up(p.quads(), quads) > 5 * p.quads(); };
    std::int64_t quads = !dear_loads ? 1 : p.is_float ? 4 : 2;
    while (quads > 1 && !device.chooses(!wastes(quads) && tiles(quads) >= device.busy_invocations, "quads", quads))
        quads /= 2;
    define(choice, "STEP_K", whole_eights ? 8 : 4);
    define(choice, "TN", quads);
    choice.groups = linear_groups(tiles(quads) * lanes, device);
    choice.note = lanes == 1 ? fmt::format("{}x{} tile", tile, 4 * quads)
                             : fmt::format("{}x4 tile, rows shared by {}", tile, lanes);
    // More lanes than rows: several load the same.
    const double by_lanes = std::max(1.0, lanes / static_cast<double>(tile));
    return ProductChoice{.choice = std::move(choice),
                         .row_reads = times(p.quads(), lanes * quads) * by_lanes,
                         .column_reads = times(p.rows, tile)};
}

std::optional<ProductChoice> plan_rows_in_parts(const Product& p, const DevicePlan& device, std::string& why,
                                                int fixed_parts) {
    if (!takes_direct(device, static_cast<int>(device.own_rows))) {
        why = "this device has no use for tiles that have parts";
        return std::nullopt;
    }
    // Which part it is takes registers that eight rows would need, beside zero points or tiles that end within a batch.
    const bool takes_more =
        device.has_few_registers() && p.is_matrix &&
        (p.is_float ? device.chooses(p.batch > 1 && p.rows % 8 != 0, "rest of a batch") : p.dot4 == Dot4::none);
    const auto tile_of = [&](const Product& product) {
        return direct_tile(product, device, [&](const DirectTile& any) {
            return !takes_more && device.chooses(p.rows >= any.rows, "whole rows", any.detail());
        });
    };
    // Sums of floats have one order whatever is folded into a convolution: how many parts is asked for its output
    // alone.
    Product whole = p;
    whole.is_flat = p.is_pointwise;
    const DirectTile tile = tile_of(whole);
    const std::int64_t tiles = tile.count(whole);
    if (fixed_parts == 0 && !device.chooses(p.rows >= tile.rows, "filled rows", tile.detail())) {
        why = "so few rows do not fill its tile";
        return std::nullopt;
    }
    if (fixed_parts == 0 && !device.chooses(2 * tiles < device.busy_invocations, "few rows", tile.detail())) {
        why = "there are enough tiles of its rows";
        return std::nullopt;
    }
    // Each should multiply far more than what its sums cost, which are written, read and added up; how much is a guess.
    constexpr std::int64_t least_blocks = 16;
    std::int64_t parts = std::max(fixed_parts, 1);
    while (fixed_parts == 0 && 2 * parts <= device.tile_parts && 2 * parts * least_blocks <= p.blocks() &&
           !device.chooses(2 * parts * tiles >= device.busy_invocations, "row parts", parts))
        parts *= 2;
    if (parts == 1 || parts > p.blocks()) {
        why = "its inner dimension is short, or has no parts on this device";
        return std::nullopt;
    }
    return choice_of_direct(p, device, p.is_flat == whole.is_flat ? tile : tile_of(p), parts);
}

std::optional<ProductChoice> plan_cooperative(const Product& p, DType type, DType result, bool row_sums,
                                              bool column_sums, const DevicePlan& device, std::string& why,
                                              int fixed_rows) {
    const MatrixShape shape = type == DType::i8   ? device.cooperative_i8
                            : type == DType::fp16 ? device.cooperative_fp16
                                                  : MatrixShape();
    if (!shape) {
        why = fmt::format("the device has no cooperative matrices for {}", name_of(type));
        return std::nullopt;
    }
    if (result == DType::fp32 && !device.cooperative_fp32_sums) {
        why = "cooperative matrices of this device do not add accurately enough for fp32";
        return std::nullopt;
    }
    why = "no tile suits subgroups of this size";
    for (const Form& form : forms(type, device)) {
        const std::int64_t size = form.x * form.y * device.subgroup_size, sums = form.sums(device);
        const std::int64_t rows = form.y * form.rows, columns = form.x * form.columns;
        if (fixed_rows != 0 && rows != fixed_rows) continue;
        if (sums > device.matrix_sums || size > max_invocations) continue;
        if (form.rows % shape.m != 0 || form.columns % shape.n != 0) continue;
        if (form.rows == shape.m && form.columns == shape.n) continue;  // two loads for each product
        // Of each row and column 8 blocks at a time, or 4 where sums leave few registers.
        const bool few_registers = sums > 64 || has_few_sums(device);
        const std::int64_t depth = few_registers && type == DType::fp16 && 4 * 4 % shape.k == 0 ? 4 : 8;
        const std::int64_t unit = unit_of(p, type, form, depth, size);
        if (unit == 0) continue;
        const std::int64_t tiles = p.batch * quotient_up(p.rows, rows) * quotient_up(p.columns, columns);
        if (!device.chooses(tiles * rows * columns <= 3 * p.batch * p.rows * p.columns, "full",
                            1000 * rows + columns)) {
            why = fmt::format("most of its tiles of {}x{} would be empty", rows, columns);
            continue;
        }
        // A device's matrix units are kept busy by fewer invocations than its other units: by a workgroup for 512 of
        // them with large tiles, which read less, for 2048 with small ones. Both are guesses.
        if (fixed_rows == 0 && !device.keeps_busy(tiles * (rows == 128 ? 512 : 2048), "busy", 1000 * rows + columns)) {
            why = fmt::format("{} tiles leave the device idle", tiles);
            continue;
        }
        const InnerUnits units{unit, p.is_matrix ? 1 : tap_unit_of(p, unit, depth)};
        KernelChoice choice = choice_of(p, "gemm_cooperative");
        const std::pair<const char*, std::int64_t> defines[] = {{"COOPERATIVE", 1},
                                                                {"SX", form.x},
                                                                {"SY", form.y},
                                                                {"FR", form.rows / shape.m},
                                                                {"FC", form.columns / shape.n},
                                                                {"CM", shape.m},
                                                                {"CN", shape.n},
                                                                {"CK", shape.k},
                                                                {"SUBGROUP", device.subgroup_size},
                                                                {"DEPTH", depth},
                                                                {"UNIT", units.blocks},
                                                                {"TAP_UNIT", units.of_tap},
                                                                {"FIRST_STEP", has_few_sums(device)},
                                                                {"DOT4", dot4_of(type, device) == Dot4::is_signed},
                                                                {"ROW_SUMS", row_sums},
                                                                {"COLUMN_SUMS", column_sums}};
        for (const auto& [name, value] : defines) define(choice, name, value);
        choice.groups = spill_groups(tiles, device);
        choice.invocations = static_cast<std::uint32_t>(size);
        choice.subgroup_size = device.subgroup_size;
        choice.note = fmt::format("{} tiles of {}x{} by cooperative matrices of {}x{}x{}", tiles, rows, columns,
                                  shape.m, shape.n, shape.k);
        return ProductChoice{.choice = std::move(choice),
                             .row_reads = times(p.columns, columns),
                             .column_reads = times(p.rows, rows),
                             .moves_bits = true,
                             .units = units};
    }
    return std::nullopt;
}

std::optional<ProductChoice> plan_split_sums(const Product& p, const DevicePlan& device, std::string& why,
                                             int fixed_lanes) {
    if (!device.shared_tiles) {
        why = "this device has no use for sums in shared memory";
        return std::nullopt;
    }
    // Four places of rows, and what they are multiplied by, are too much for few registers; two, too, where more
    // numbers tell a place or a sum.
    const std::int64_t most = !device.has_few_registers() ? 4 : p.unpacks || p.is_wide || p.is_volume ? 1 : 2;
    const std::int64_t rows = device.chooses(p.rows >= most, "four rows") ? most : std::min<std::int64_t>(p.rows, most),
                       tiles = p.batch * quotient_up(p.rows, rows) * p.quads();
    // A matrix times a vector of fp16 is read by two quads that lie side by side, of `each` quads of columns that an
    // invocation makes, or of inner elements, which it takes in `pairs`: most devices load them as one. A texel is one
    // quad, of the vector too.
    const bool halves = p.loads_halves && rows == 1, texels = halves && device.half_texels,
               is_single = p.is_vector && rows == 1 && !texels,
               eights = halves && !texels && (p.is_matrix ? p.columns % 8 == 0 : is_single && p.inner % 4 == 0);
    const std::int64_t each = eights && p.is_matrix ? 2 : 1, pairs = eights && is_single ? 2 : 1;
    // Half of what keeps the device busy is enough where each then reads far less. The phases of TRANSPOSE_CONV2D have
    // no parts, which others have by now where large tiles are too few.
    const std::int64_t own_rows = std::min<std::int64_t>(device.own_rows, p.is_transposed ? 4 : device.own_rows);
    if (fixed_lanes == 0 && !device.product_tiles && device.row_lanes() == 1 && own_rows > 0 &&
        device.chooses(2 * p.batch * quotient_up(p.rows, own_rows) * p.quads() >= device.busy_invocations, "split")) {
        why = "there are enough tiles of its rows";
        return std::nullopt;
    }
    if (fixed_lanes > static_cast<int>(device.workgroup_size)) {
        why = "a workgroup has fewer invocations";
        return std::nullopt;
    }
    // A vector's matrix is read at the rate of memory by those whose loads are on their way together.
    static_assert(2 * max_invocations * 16 <= 16384, "sums of two quads fit the least shared memory");
    const std::int64_t size = device.product_tiles && rows == 1 ? max_invocations : device.workgroup_size;
    std::int64_t lanes = fixed_lanes != 0 ? fixed_lanes : 4, side = 1;
    // Columns that are neighbours in memory are read in whole segments of 64 bytes.
    const auto few_bytes = [&] { return p.quad_bytes != 0 && side * each * p.quad_bytes < 64; };
    while (few_bytes() && 2 * side * each <= p.quads() && 2 * side * lanes <= size) side *= 2;
    // The copy rate takes several times as many loads at once as keep a device busy with arithmetic.
    const std::int64_t busy = (device.product_tiles && rows == 1 ? 4 : 1) * device.busy_invocations;
    const auto enough = [&] { return lanes * tiles >= busy * each || p.blocks() < 4 * lanes; };
    while (fixed_lanes == 0 && 2 * lanes * side <= size && !device.chooses(enough(), "lanes", lanes)) lanes *= 2;
    KernelChoice choice = choice_of(p, "gemm_split");
    define(choice, "TM", rows);
    // Columns that come at run time would be packed by everyone who reads them.
    const Dot4 dot4 = p.is_matrix ? Dot4::none : p.dot4;
    define(choice, "DOT4", static_cast<int>(dot4));
    define(choice, "HALF", p.is_half);
    define(choice, "SIDE", side);
    define(choice, "EACH", each);
    choice.reads_eights = eights;
    define(choice, "SINGLE", is_single ? pairs : 0);
    // Loads that are on their way together, of inner elements, of pairs of these or of blocks.
    std::int64_t many = is_single ? 8 : rows == 1 ? 4 : 2;
    const std::int64_t least = is_single ? 4 : 1, all = is_single ? p.inner / pairs : p.blocks();
    if (device.has_few_registers() || loads_are_loops(device) || p.is_wide) many = least;
    const bool any_size = device.product_tiles && has_any_size(p) && !is_single;
    // Where a tap lies an invocation asks once for the blocks that it takes of it. What cuts a convolution's input out
    // may be folded into it, and sums of floats have one order: those that may be of any size then stay apart.
    const bool is_joined = !p.is_matrix && !any_size && !is_single && !p.is_wide && !loads_are_loops(device) &&
                           p.inner % 8 == 0 && (p.taps > 1 || p.is_transposed || !p.is_float || p.integers);
    if (is_joined) {
        // Four blocks of bytes are loaded as one, and take the registers of one of floats.
        if (dot4 != Dot4::none) many = 4;
        while (many > 1 && (p.inner % (4 * many) != 0 || !device.chooses(p.blocks() >= many * lanes, "many", many)))
            many /= 2;
    } else {
        while (many > least && !device.chooses(all % (many * lanes) == 0, "many", many)) many /= 2;
    }
    define(choice, "MANY", many);
    define(choice, "JOINED", is_joined && many > 1);
    define(choice, "FLAT", any_size);
    if (any_size) {
        define(choice, "WHOLE_TURNS", (many > 1 || p.is_half) && p.blocks() % (many * lanes) == 0);
        set_constants(choice, {{"LANES_LOG2", std::countr_zero(static_cast<std::uint64_t>(lanes))}});
    } else {
        define(choice, "LANES", lanes);
    }
    const std::int64_t invocations = std::max<std::int64_t>(device.workgroup_size, lanes * side),
                       across = tiles / p.quads() * quotient_up(p.quads(), side * each);
    choice.invocations = static_cast<std::uint32_t>(invocations);
    choice.groups = spill_groups(quotient_up(across, invocations / (lanes * side)), device);
    choice.note =
        fmt::format("{}x{} tile, sums shared by {}{}", rows, 4 * each, lanes, dot4 != Dot4::none ? at_once : "");
    return ProductChoice{.choice = std::move(choice),
                         .row_reads = times(p.quads(), each),
                         .column_reads = times(p.rows, rows),
                         .dot4 = dot4,
                         .lane_blocks = many * quotient_up(p.blocks(), many * lanes)};
}

std::vector<KernelCandidate> product_kernels(const ProductKernels& plans) {
    std::vector<KernelCandidate> all = {{"cooperative matrices", fixed(plans.matrices, 0)},
                                        {"shared tiles", fixed(plans.product, plan_shared_tiles, 0)},
                                        {"tiles in parts", fixed(plans.product, plan_tiles_in_parts, 0)},
                                        {"split sums", fixed(plans.product, plan_split_sums, 0)},
                                        {"shared rows", fixed(plans.product, plan_shared_rows, 0)},
                                        {plans.own_name, fixed(plans.own, 0)}};
    all.push_back({"shared tiles, however few", fixed(plans.product, plan_shared_tiles, 1), true});
    for (const int parts : {2, 4, 8, 16})
        all.push_back(
            {fmt::format("tiles in {} parts", parts), fixed(plans.product, plan_tiles_in_parts, parts), true});
    for (const int rows : {32, 64, 128}) {
        all.push_back({fmt::format("cooperative matrices, {} rows", rows), fixed(plans.matrices, rows), true});
    }
    for (const int rows : {4, 8, 16}) {
        all.push_back({fmt::format("shared rows, {}x4", rows), fixed(plans.product, plan_shared_rows, rows), true});
    }
    for (const int rows : {1, 4}) {
        all.push_back({fmt::format("{}, {}x4", plans.own_name, rows), fixed(plans.own, rows), true});
    }
    for (const int lanes : {4, 16, 64}) {
        all.push_back({fmt::format("split sums, {} lanes", lanes), fixed(plans.product, plan_split_sums, lanes), true});
    }
    return all;
}

}  // namespace tosavk

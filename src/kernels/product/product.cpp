#include "kernels/product/product.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

/// How often something is read that `n` invocations need, `together` of them at a time.
double times(std::int64_t n, std::int64_t together) { return static_cast<double>(quotient_up(n, together)); }

/// Subgroups that the product occupies.
std::int64_t subgroups(const Product& p, const DevicePlan& device, std::int64_t tile) {
    return p.batch * quotient_up(p.rows, tile) * quotient_up(p.quads(), device.subgroup_lanes);
}

/// Rows that an invocation makes: 16, or fewer where the product would leave invocations idle. Measured:
/// docs/performance.md, "Workgroups and tiles", and for 32 "Tried and left".
int tile_rows(const Product& p, const DevicePlan& device) {
    for (const int tile : {16, 8}) {
        // An invocation that loads many rows itself is a long shader, slow to compile.
        const std::uint32_t most = device.subgroup_lanes == 1 ? device.own_rows : 2 * device.subgroup_lanes;
        if (tile > static_cast<int>(most)) continue;
        if (device.chooses(
                p.rows >= tile && subgroups(p, device, tile) * device.subgroup_lanes >= 2 * device.workgroup_size,
                "tile", tile))
            return tile;
    }
    return 4;
}

KernelChoice choice_of(const Product& p, const char* kernel) {
    KernelChoice choice;
    choice.kernel = kernel;
    choice.defines = {{"MATRIX", p.is_matrix ? "1" : "0"},
                      {"VOLUME", p.is_volume ? "1" : "0"},
                      {"TRANSPOSED", p.is_transposed ? "1" : "0"},
                      {"X_FLOAT", p.is_float ? "1" : "0"},
                      {"WIDE", p.is_wide ? "1" : "0"}};
    choice.aligned = p.columns % 4 == 0;
    choice.in_rows = true;
    choice.work = p.work();
    return choice;
}

void define(KernelChoice& choice, const char* name, std::int64_t value) {
    choice.defines.emplace_back(name, std::to_string(value));
}

constexpr const char* at_once = ", four products at once";

/// How a workgroup's invocations share a tile of 64 rows and 16 quads of columns. A guess, like the other sizes of what
/// uses shared memory below (docs/performance.md, "GPUs").
struct Grid {
    int x, y, rows, quads;  ///< invocations; rows and quads of each
};

Grid grid_of(const DevicePlan& device) {
    if (device.workgroup_size >= 256) return {16, 16, 4, 1};
    if (device.workgroup_size >= 128) return {16, 8, 8, 1};
    return {8, 8, 8, 2};
}

}  // namespace

std::optional<ProductChoice> plan_shared_rows(const Product& p, const DevicePlan& device, std::string& why,
                                              int fixed_rows) {
    if (device.subgroup_lanes == 1 && device.own_rows == 0) {
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
    const int most = p.is_wide && device.shared_tiles ? 8 : 16;
    if (fixed_rows > most) {
        why = "so many sums of 48 bits do not fit into registers";
        return std::nullopt;
    }
    const int tile = fixed_rows != 0 ? fixed_rows : std::min(tile_rows(p, device), most);
    KernelChoice choice = choice_of(p, "gemm");
    define(choice, "TM", tile);
    define(choice, "LANES", device.subgroup_lanes);
    // Where each loads all its rows itself, and loads are dear: more of a row at a time, and for more columns
    // (docs/performance.md, "Without texel buffers or subgroups"). How many columns may be wasted is a guess.
    const bool dear_loads = loads_are_loops(device) && device.int64 && device.subgroup_lanes == 1;
    const bool whole_eights = dear_loads && p.inner % 8 == 0;
    choice.reads_eights = whole_eights || (dear_loads && !p.is_matrix && p.is_float);
    const auto tiles = [&](std::int64_t quads) {
        return p.batch * quotient_up(p.rows, tile) * quotient_up(p.quads(), device.subgroup_lanes * quads);
    };
    const auto wastes = [&](std::int64_t quads) { return 4 * quads * quotient_up(p.quads(), quads) > 5 * p.quads(); };
    std::int64_t quads = !dear_loads ? 1 : p.is_float ? 4 : 2;
    while (quads > 1 && !device.chooses(!wastes(quads) && tiles(quads) >= device.busy_invocations, "quads", quads))
        quads /= 2;
    define(choice, "STEP_K", whole_eights ? 8 : 4);
    define(choice, "TN", quads);
    choice.groups = linear_groups(tiles(quads) * device.subgroup_lanes, device);
    choice.note = device.subgroup_lanes == 1 ? fmt::format("{}x{} tile", tile, 4 * quads)
                                             : fmt::format("{}x4 tile, rows shared by {}", tile, device.subgroup_lanes);
    // More lanes than rows: several load the same.
    const double by_lanes = std::max(1.0, device.subgroup_lanes / static_cast<double>(tile));
    return ProductChoice{std::move(choice), times(p.quads(), device.subgroup_lanes * quads) * by_lanes,
                         times(p.rows, tile)};
}

std::optional<ProductChoice> plan_shared_tiles(const Product& p, const DevicePlan& device, std::string& why,
                                               int however_few) {
    if (!device.shared_tiles) {
        why = "this device has no use for tiles in shared memory";
        return std::nullopt;
    }
    const Grid grid = grid_of(device);
    const std::int64_t rows = grid.y * grid.rows, quads = grid.x * grid.quads;
    const std::int64_t tiles = p.batch * quotient_up(p.rows, rows) * quotient_up(p.quads(), quads);
    if (however_few == 0 &&
        !device.chooses(2 * tiles * grid.x * grid.y >= device.busy_invocations || p.blocks() < 8, "tiles")) {
        why = fmt::format("{} tiles leave the device idle", tiles);
        return std::nullopt;
    }
    KernelChoice choice = choice_of(p, "gemm_tiles");
    define(choice, "TX", grid.x);
    define(choice, "TY", grid.y);
    define(choice, "TM", grid.rows);
    define(choice, "TN", grid.quads);
    define(choice, "DOT4", p.dot4);
    choice.groups = spill_groups(tiles, device);
    choice.note = fmt::format("{} tiles of {}x{} in shared memory{}", tiles, rows, 4 * quads, p.dot4 ? at_once : "");
    return ProductChoice{.choice = std::move(choice),
                         .row_reads = times(p.quads(), quads),
                         .column_reads = times(p.rows, rows),
                         .dot4 = p.dot4};
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
    // Subgroups, and the rows and columns of each: a guess.
    struct Form {
        std::int64_t x, y, rows, columns;
    };
    why = "no tile suits subgroups of this size";
    for (const Form form : {Form{4, 2, 64, 32}, Form{2, 2, 64, 64}, Form{2, 2, 32, 32}, Form{1, 2, 32, 64}}) {
        const std::int64_t size = form.x * form.y * device.subgroup_size;
        const std::int64_t rows = form.y * form.rows, columns = form.x * form.columns;
        if (fixed_rows != 0 && rows != fixed_rows) continue;
        // Invocations share what there is to load: 8 blocks of each row and quad of columns at a time.
        if (size > max_invocations || rows * 8 % size != 0 || columns / 4 * 8 % size != 0) continue;
        const std::int64_t tiles = p.batch * quotient_up(p.rows, rows) * quotient_up(p.columns, columns);
        if (!device.chooses(tiles * rows * columns <= 3 * p.batch * p.rows * p.columns, "full", rows * columns)) {
            why = fmt::format("most of its tiles of {}x{} would be empty", rows, columns);
            continue;
        }
        // A device's matrix units are kept busy by fewer invocations than its other units: by a workgroup for 512 of
        // them with large tiles, which read less, for 2048 with small ones. Both are guesses.
        if (fixed_rows == 0 && !device.keeps_busy(tiles * (rows == 128 ? 512 : 2048), "busy", rows * columns)) {
            why = fmt::format("{} tiles leave the device idle", tiles);
            continue;
        }
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
                                                                {"ROW_SUMS", row_sums},
                                                                {"COLUMN_SUMS", column_sums}};
        for (const auto& [name, value] : defines) define(choice, name, value);
        choice.groups = spill_groups(tiles, device);
        choice.invocations = static_cast<std::uint32_t>(size);
        choice.whole_subgroups = true;
        choice.note = fmt::format("{} tiles of {}x{} by cooperative matrices of {}x{}x{}", tiles, rows, columns,
                                  shape.m, shape.n, shape.k);
        return ProductChoice{std::move(choice), times(p.columns, columns), times(p.rows, rows), true};
    }
    return std::nullopt;
}

std::optional<ProductChoice> plan_split_sums(const Product& p, const DevicePlan& device, std::string& why,
                                             int fixed_lanes) {
    if (!device.shared_tiles) {
        why = "this device has no use for sums in shared memory";
        return std::nullopt;
    }
    const std::int64_t rows = device.chooses(p.rows >= 4, "four rows") ? 4 : std::min<std::int64_t>(p.rows, 4),
                       tiles = p.batch * quotient_up(p.rows, rows) * p.quads();
    if (fixed_lanes > static_cast<int>(device.workgroup_size)) {
        why = "a workgroup has fewer invocations";
        return std::nullopt;
    }
    std::int64_t lanes = fixed_lanes != 0 ? fixed_lanes : 4;
    const auto enough = [&] { return lanes * tiles >= device.busy_invocations || p.blocks() < 4 * lanes; };
    while (fixed_lanes == 0 && 2 * lanes <= device.workgroup_size && !device.chooses(enough(), "lanes", lanes))
        lanes *= 2;
    KernelChoice choice = choice_of(p, "gemm_split");
    define(choice, "TM", rows);
    define(choice, "LANES", lanes);
    // Columns that come at run time would be packed by everyone who reads them.
    const bool dot4 = p.dot4 && !p.is_matrix;
    define(choice, "DOT4", dot4);
    choice.groups = spill_groups(quotient_up(tiles, device.workgroup_size / lanes), device);
    choice.note = fmt::format("{}x4 tile, sums shared by {}{}", rows, lanes, dot4 ? at_once : "");
    return ProductChoice{.choice = std::move(choice),
                         .row_reads = times(p.quads(), 1),
                         .column_reads = times(p.rows, rows),
                         .dot4 = dot4};
}

std::vector<KernelCandidate> product_kernels(const ProductKernels& plans) {
    std::vector<KernelCandidate> all = {{"cooperative matrices", fixed(plans.matrices, 0)},
                                        {"shared tiles", fixed(plans.product, plan_shared_tiles, 0)},
                                        {"split sums", fixed(plans.product, plan_split_sums, 0)},
                                        {"shared rows", fixed(plans.product, plan_shared_rows, 0)},
                                        {plans.own_name, fixed(plans.own, 0)}};
    all.push_back({"shared tiles, however few", fixed(plans.product, plan_shared_tiles, 1), true});
    for (const int rows : {64, 128}) {
        all.push_back({fmt::format("cooperative matrices, {0}x{0}", rows), fixed(plans.matrices, rows), true});
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

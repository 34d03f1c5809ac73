#include "kernels/attention/attention.hpp"

#include "kernels/common/operands.hpp"

#include <fmt/format.h>

#include <numbers>

namespace tosavk {

namespace {

/// How a workgroup is divided: x by y invocations of `rows` rows each, `split` such parts.
struct Parts {
    std::int64_t x, y, rows, split;
    bool shares_q;

    std::int64_t tile_rows() const { return y * rows; }
    std::int64_t tile_keys() const { return 4 * x; }
    std::int64_t invocations() const { return x * y * split; }
    /// Of shared memory, as shaders/attention.comp has it.
    std::int64_t bytes(const Attention& a) const {
        const std::int64_t scores = split * tile_rows() * (16 * (x + x / rows) + 8);
        return scores + 4 * invocations() + (shares_q ? 8 * tile_rows() * (a.inner / 4 + 1) : 0);
    }
    std::int64_t workgroups(const Attention& a) const { return a.batch * quotient_up(a.rows, tile_rows()); }
};

Parts parts_of(const Attention& a, const DevicePlan& device) {
    // Eight rows take 110 to 200 registers, four 60 to 90 (scripts/gpu-compilers).
    Parts parts{.x = 8, .y = 1, .rows = device.registers >= 192 ? 8 : 4, .split = 1, .shares_q = device.product_tiles};
    while (4 * parts.x < a.columns) parts.x *= 2;
    // Short tiles read keys and values more often, so wide heads take twice the invocations.
    const std::int64_t most_bytes = device.product_tiles ? std::min(device.product_tile_bytes, 32768u) : 16384,
                       most = device.product_tiles ? max_invocations : device.workgroup_size,
                       wanted = parts.x >= 32 && device.product_tiles ? 128 : 64;
    const auto fits = [&] { return parts.bytes(a) <= most_bytes && parts.invocations() <= most; };
    while (parts.x * parts.y < wanted) parts.y *= 2;
    while (parts.y > 1 && !fits()) parts.y /= 2;
    // Few rows are no reason for tiles of many.
    while (parts.y > 1 && parts.tile_rows() >= 2 * a.rows && parts.invocations() > 32) parts.y /= 2;
    const auto doubled = [&](std::int64_t Parts::* member, bool wants) {
        parts.*member *= 2;
        if (wants && fits()) return true;
        parts.*member /= 2;
        return false;
    };
    const auto busy = [&](std::int64_t factor) {
        return device.keeps_busy(factor * parts.workgroups(a) * parts.invocations(), "attention", factor * parts.split);
    };
    while (!busy(1) && doubled(&Parts::split, a.keys >= 2 * parts.split * parts.tile_keys())) {}
    return parts;
}

}  // namespace

std::optional<KernelChoice> plan_attention(const Graph& graph, const Attention& a, const DevicePlan& device,
                                           std::string& why) {
    if (!device.shared_tiles) {
        why = "this device has no use for scores in shared memory";
        return std::nullopt;
    }
    if (a.inner % 4 != 0 || a.columns % 4 != 0 || a.inner > 256 || a.columns > 256) {
        why = fmt::format("its heads have {} and {} elements, no whole quads up to 256", a.inner, a.columns);
        return std::nullopt;
    }
    const Parts parts = parts_of(a, device);
    if (!device.chooses(2 * a.rows > parts.tile_rows(), "rows of attention", parts.tile_rows())) {
        why = fmt::format("{} rows leave most of its tiles of {} empty", a.rows, parts.tile_rows());
        return std::nullopt;
    }
    const std::int64_t tiles = quotient_up(a.keys, parts.tile_keys() * parts.split),
                       passes = a.inner / 4 + parts.x + 2 * parts.rows + 16;
    if (loop_steps(device, 1, tiles * passes, why) != 1) return std::nullopt;

    KernelChoice choice;
    choice.kernel = "attention";
    const auto define = [&](const char* name, std::int64_t value) {
        choice.defines.emplace_back(name, std::to_string(value));
    };
    define("XL", parts.x);
    define("TY", parts.y);
    define("TM", parts.rows);
    define("SPLIT", parts.split);
    define("SHARED_Q", parts.shares_q);
    define("MASK", a.mask != no_id);
    constexpr auto log2_e = std::numbers::log2e_v<float>;
    set_constants(choice, {{"BATCH", a.batch},
                           {"ROWS", a.rows},
                           {"KEYS", a.keys},
                           {"K", a.inner},
                           {"COLUMNS", a.columns},
                           {"SCALE", a.scale * log2_e}});
    for (const ValueId id : {a.q, a.k, a.v}) choice.operands.push_back({id, graph.value(id).type, {}, {}, -1, {}});
    if (a.mask != no_id) {
        define("ROUNDS_MASK", a.rounds_mask);
        const auto whole = [](std::int64_t step) { return step % 4 == 0; };
        define("MASK_QUADS",
               a.mask_key == 1 && whole(a.keys) && whole(a.mask_outer) && whole(a.mask_inner) && whole(a.mask_row));
        choice.operands.push_back({a.mask, graph.value(a.mask).type, {}, {}, -1, {}});
        set_constants(choice, {{"MASK_SCALE", a.mask_scale * log2_e},
                               {"MASK_HEADS", a.mask_heads},
                               {"MASK_OUTER", a.mask_outer},
                               {"MASK_INNER", a.mask_inner},
                               {"MASK_ROW", a.mask_row},
                               {"MASK_KEY", a.mask_key}});
    }
    choice.groups = spill_groups(parts.workgroups(a), device);
    choice.invocations = static_cast<std::uint32_t>(parts.invocations());
    choice.in_rows = true;
    choice.candidate = "attention";
    // Eight operations for the exponential of a score: a guess.
    choice.work = 2.0 * static_cast<double>(a.batch * a.rows * a.keys) * static_cast<double>(a.inner + a.columns + 4);
    choice.note = fmt::format("{} heads, {} rows by {} keys at a time{}", a.batch, parts.tile_rows(), parts.tile_keys(),
                              parts.split > 1 ? fmt::format(", keys shared by {}", parts.split) : "");
    return choice;
}

}  // namespace tosavk

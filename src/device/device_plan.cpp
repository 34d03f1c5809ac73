// What the library makes of a device: the pure function from DeviceCaps to DevicePlan, one sentence per choice. What is
// chosen by the kind of the device stands in the table of architectures.cpp.
#include "device/device_plan.hpp"

#include "base/error.hpp"
#include "device/architectures.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

namespace tosavk {

namespace {

/// "128 MiB", or plain bytes where that is not a whole number.
std::string bytes_text(std::uint64_t bytes) {
    constexpr std::uint64_t mib = 1024 * 1024;
    return bytes >= mib && bytes % mib == 0 ? fmt::format("{} MiB", bytes / mib) : fmt::format("{} bytes", bytes);
}

/// What a submit may take: below the watchdog of every system that is known (Windows ends them after two seconds), and
/// short enough that others get their turn on the device.
constexpr double submit_ms = 200;

/// A number of the environment; `least` to `most`.
std::optional<double> number_from(const char* name, double least, double most) {
    const char* text = std::getenv(name);
    if (text == nullptr || text[0] == '\0') return std::nullopt;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end != '\0' || !(value >= least && value <= most)) {
        throw Error(ErrorCode::usage, fmt::format("{}='{}' is no number from {} to {}", name, text, least, most));
    }
    return value;
}

void because(DevicePlan& plan, std::string sentence) { plan.reasons.push_back(std::move(sentence)); }

void choose_sizes(const DeviceCaps& caps, const Facts& facts, DevicePlan& plan) {
    // A power of two, which reductions halve.
    plan.workgroup_size = std::bit_floor(
        std::max(1u, std::min({*facts.workgroup_size, caps.max_workgroup_invocations, caps.max_workgroup_size_x})));
    because(plan, fmt::format("workgroups have {} invocations: the device takes {} (x {}), and {}", plan.workgroup_size,
                              caps.max_workgroup_invocations, caps.max_workgroup_size_x, facts.workgroup_size.why));

    const std::uint64_t alignment =
        std::max(caps.min_storage_buffer_offset_alignment, caps.min_texel_buffer_offset_alignment);
    plan.buffer_alignment = std::max<std::uint64_t>(256, alignment);
    because(plan, fmt::format("tensors are aligned to {} bytes: the device asks for {}, and 256 covers every "
                              "nonCoherentAtomSize",
                              plan.buffer_alignment, alignment));

    // A multiple of 16, as tensors are padded to 16 bytes; below 2 GiB, as no device promises more in earnest.
    plan.max_binding_bytes = std::min<std::uint64_t>(caps.max_storage_buffer_range, 0x7ffffff0) / 16 * 16;
    because(plan,
            fmt::format("a buffer binding holds up to {} and larger tensors take several: maxStorageBufferRange is {}",
                        bytes_text(plan.max_binding_bytes), bytes_text(caps.max_storage_buffer_range)));

    plan.max_buffers = std::min(caps.max_storage_buffers_per_stage, 32u);
    because(plan, fmt::format("a dispatch uses up to {} buffers: the device takes {}, and more than 32 help neither "
                              "fusion nor large tensors",
                              plan.max_buffers, caps.max_storage_buffers_per_stage));

    // Invocation indices stay below 2^31, so that shaders may keep them in an int.
    plan.max_groups_x = std::min(caps.max_workgroup_count_x, 0x7fffffffu / std::max(1u, plan.workgroup_size));
    because(plan, fmt::format("a dispatch has up to {} workgroups in x: the device takes {}, and indices stay below "
                              "2^31",
                              plan.max_groups_x, caps.max_workgroup_count_x));
}

void choose_loops(const DeviceCaps& caps, const Facts& facts, DevicePlan& plan) {
    plan.busy_invocations = *facts.busy_invocations;
    because(plan, fmt::format("work is split until {} invocations share it: {}", plan.busy_invocations,
                              facts.busy_invocations.why));

    plan.far_rows = *facts.far_rows;
    because(plan, plan.far_rows > 0 ? fmt::format("columns of long rows are walked down in parts of {} rows where they "
                                                  "are few or loads are loops: {}",
                                                  plan.far_rows, facts.far_rows.why)
                                    : fmt::format("columns are walked down whole: {}", facts.far_rows.why));

    plan.row_quads = *facts.row_quads;
    because(plan, plan.row_quads > 1
                      ? fmt::format("{} quads of a row are read at a time down columns: {}", plan.row_quads,
                                    facts.row_quads.why)
                      : fmt::format("one quad of a row is read at a time down columns: {}", facts.row_quads.why));

    plan.walk_bytes = *facts.walk_bytes;
    because(plan, plan.walk_bytes > 0
                      ? fmt::format("an invocation walks through {} bytes of memory, row by row or eight by eight: {}",
                                    plan.walk_bytes, facts.walk_bytes.why)
                      : fmt::format("an invocation reads no more than it needs: {}", facts.walk_bytes.why));

    plan.gathered_rows = *facts.gathered_rows;
    because(plan, plan.gathered_rows > 1
                      ? fmt::format("rows are gathered {} at a time: {}", plan.gathered_rows, facts.gathered_rows.why)
                      : fmt::format("gathered rows are read one after the other: {}", facts.gathered_rows.why));

    // Where the driver does not say how many invocations a subgroup has, 32 are a guess.
    if (*facts.coalesces) plan.lanes_together = caps.subgroup_size == 0 ? 32 : std::min(caps.subgroup_size, 64u);
    because(plan, plan.lanes_together > 1
                      ? fmt::format("a long row is read by {} invocations side by side: {}", plan.lanes_together,
                                    facts.coalesces.why)
                      : fmt::format("an invocation reads a row by itself: {}", facts.coalesces.why));

    plan.max_loop_passes = *facts.max_loop_passes;
    because(plan, plan.max_loop_passes > 0 ? fmt::format("loops are kept below {} passes: {}", plan.max_loop_passes,
                                                         facts.max_loop_passes.why)
                                           : fmt::format("loops have no bound: {}", facts.max_loop_passes.why));
}

std::string shape_text(const MatrixShape& s) { return s ? fmt::format("{}x{}x{}", s.m, s.n, s.k) : "none"; }

void choose_products(const DeviceCaps& caps, const Facts& facts, DevicePlan& plan) {
    const bool known = std::has_single_bit(caps.subgroup_size) && caps.subgroup_size <= plan.workgroup_size;
    plan.subgroup_lanes = known && caps.subgroup_shuffle && *facts.shuffles ? caps.subgroup_size : 1;
    plan.shared_rows = plan.subgroup_lanes > 1 && *facts.shared_rows;
    because(plan, plan.shared_rows          ? fmt::format("matrix products share rows within subgroups of {}, and "
                                                                   "neighbours the words they store: the device shuffles",
                                                          caps.subgroup_size)
                  : plan.subgroup_lanes > 1 ? fmt::format("neighbours within subgroups of {} share the words they "
                                                          "store: the device shuffles; but not matrix products their "
                                                          "rows: {}",
                                                          caps.subgroup_size, facts.shared_rows.why)
                  : !*facts.shuffles        ? fmt::format("matrix products do not share rows: {}", facts.shuffles.why)
                  : !known ? "matrix products do not share rows: the subgroup size is unknown or does not "
                             "divide a workgroup"
                           : "matrix products do not share rows: subgroups do not shuffle, or have no ballots");

    const bool folds =
        plan.lanes_together > 1 && plan.subgroup_lanes >= 8 && plan.subgroup_lanes <= 64 && caps.subgroup_size_control;
    const std::uint32_t fewer = *facts.fold_subgroup;
    const bool takes_fewer = fewer >= std::max(caps.min_subgroup_size, 8u) && fewer <= plan.subgroup_lanes;
    plan.fold_lanes = !folds ? 0 : takes_fewer ? fewer : plan.subgroup_lanes;
    because(plan,
            folds ? fmt::format("invocations that share a row fold their results by shuffles, in whole subgroups of "
                                "{}: the device makes them",
                                plan.fold_lanes)
                  : "invocations that share a row fold their results in shared memory: they are few, or no whole "
                    "subgroups of 8 to 64 can be asked for");

    plan.registers = *facts.registers;
    because(plan,
            fmt::format("an invocation keeps up to {} values in registers: {}", plan.registers, facts.registers.why));

    plan.function_elements = *facts.function_elements;
    because(plan, fmt::format("an invocation takes {} elements at a time through a long function: {}",
                              plan.function_elements, facts.function_elements.why));

    plan.own_rows = *facts.own_rows;
    because(plan, plan.own_rows > 0
                      ? fmt::format("without shared rows an invocation loads up to {} itself: {}", plan.own_rows,
                                    facts.own_rows.why)
                      : fmt::format("without shared rows an invocation loads few: {}", facts.own_rows.why));

    const bool grid = plan.workgroup_size >= 64 && plan.workgroup_size <= 256;
    plan.shared_tiles = *facts.shared_tiles && grid && caps.max_shared_memory >= 16384;
    because(plan, plan.shared_tiles
                      ? fmt::format("sums, scans and transforms go through shared memory, 16 KiB at most: {}",
                                    facts.shared_tiles.why)
                  : !*facts.shared_tiles
                      ? fmt::format("kernels use no shared memory: {}", facts.shared_tiles.why)
                      : fmt::format("kernels use no shared memory: the device has {} of it and workgroups of {}",
                                    bytes_text(caps.max_shared_memory), plan.workgroup_size));

    plan.product_tiles = plan.shared_tiles && *facts.product_tiles && caps.max_workgroup_invocations >= 256 &&
                         caps.max_workgroup_size_x >= 256;
    because(plan, plan.product_tiles
                      ? fmt::format("matrix products go through tiles in shared memory: {}", facts.product_tiles.why)
                  : !*facts.product_tiles
                      ? fmt::format("matrix products have no tiles in shared memory: {}", facts.product_tiles.why)
                      : "matrix products have no tiles in shared memory: there is too little, or workgroups are small");
    plan.product_tile_bytes = caps.max_shared_memory;
    plan.tile_quads = *facts.tile_quads;
    because(plan,
            fmt::format("an invocation makes 8x{} of such a tile: {}", 4 * plan.tile_quads, facts.tile_quads.why));
    plan.least_tiles = *facts.least_tiles;
    plan.tile_parts = *facts.tile_parts;
    because(plan, fmt::format("products of fewer than {} such tiles are made otherwise: {}", plan.least_tiles,
                              facts.least_tiles.why));
    because(plan, fmt::format("their inner dimension has up to {} parts, each in workgroups of its own: {}",
                              plan.tile_parts, facts.tile_parts.why));

    plan.bottom_tests = *facts.bottom_tests;
    because(plan, fmt::format("loops of products ask {} whether they go on: {}",
                              plan.bottom_tests ? "at their end" : "before each turn", facts.bottom_tests.why));
    plan.fma_chains = *facts.fma_chains;
    because(plan, fmt::format("sums of products of floats are {}: {}",
                              plan.fma_chains ? "chains of fma()" : "products and sums", facts.fma_chains.why));

    plan.dot4 = caps.integer_dot_product && (caps.dot_4x8_accelerated || caps.dot_4x8_mixed_accelerated) &&
                (plan.shared_tiles || !plan.shared_rows);
    plan.dot4_mixed = plan.dot4 && !caps.dot_4x8_accelerated;
    because(plan, plan.dot4_mixed
                      ? "four products of 8-bit integers are one instruction: the device has it for signed by "
                        "unsigned numbers, so that one side has 128 added"
                  : plan.dot4 ? "four products of 8-bit integers are one instruction: the device has it"
                  : plan.shared_tiles || !plan.shared_rows
                      ? "8-bit integers are multiplied one by one: the device has no fast instruction for four"
                      : "8-bit integers are multiplied one by one: shared rows are not taken four at once");

    const std::uint32_t wanted = *facts.matrix_subgroup;
    const std::uint32_t size = wanted != 0 && wanted >= caps.min_subgroup_size && wanted <= caps.max_subgroup_size
                                 ? wanted
                                 : caps.subgroup_size;
    // A workgroup's two tiles take 20 KiB, and its invocations are whole subgroups, 4 to 8 of them.
    const bool cooperates = *facts.cooperative_matrices && caps.subgroup_size_control && caps.vulkan_memory_model &&
                            caps.max_shared_memory >= 24576 && caps.max_workgroup_invocations >= 256 &&
                            caps.max_workgroup_size_x >= 256 && std::has_single_bit(size) && size >= 8 && size <= 64;
    if (cooperates && caps.int8) plan.cooperative_i8 = caps.cooperative_i8;
    if (cooperates && caps.fp16) plan.cooperative_fp16 = caps.cooperative_fp16;
    plan.paired_products = *facts.paired_products && caps.subgroup_size_control && size == wanted;
    because(plan, plan.paired_products
                      ? fmt::format("tiles of products ask for subgroups of {}: {}", size, facts.paired_products.why)
                  : *facts.paired_products
                      ? "tiles of products take subgroups as they come: their size cannot be chosen"
                      : fmt::format("tiles of products take subgroups as they come: {}", facts.paired_products.why));
    plan.subgroup_size = plan.cooperative_i8 || plan.cooperative_fp16 || plan.paired_products ? size : 0;
    plan.matrix_sums = *facts.matrix_sums;
    because(plan, cooperates
                      ? fmt::format("cooperative matrices: i8 {}, fp16 {} if its sums pass a check, by subgroups "
                                    "of {} ({}), {} sums an invocation ({})",
                                    shape_text(plan.cooperative_i8), shape_text(plan.cooperative_fp16), size,
                                    facts.matrix_subgroup.why, plan.matrix_sums, facts.matrix_sums.why)
                  : !*facts.cooperative_matrices
                      ? fmt::format("cooperative matrices are not used: {}", facts.cooperative_matrices.why)
                      : "cooperative matrices are not used: that takes subgroups of a chosen size, the Vulkan memory "
                        "model, 24 KiB of shared memory and workgroups of 256");
}

void choose_access(const DeviceCaps& caps, const Facts& facts, DevicePlan& plan) {
    plan.texel_elements = *facts.texel_reads ? caps.max_texel_buffer_elements : 0;
    because(plan, plan.texel_elements > 0
                      ? fmt::format("tensors of up to {} texels are read through uniform texel buffers: {}",
                                    plan.texel_elements, facts.texel_reads.why)
                  : *facts.texel_reads
                      ? "tensors are read through storage buffers: the device has no texel buffers"
                      : fmt::format("tensors are read through storage buffers: {}", facts.texel_reads.why));

    plan.slow_storage = *facts.wide_storage && caps.int64;
    because(plan, plan.slow_storage
                      ? "storage buffers are accessed in components of 64 bits: each component costs the same"
                  : *facts.wide_storage
                      ? "storage buffers are accessed in words of 32 bits: the device has no shaderInt64"
                      : fmt::format("storage buffers are accessed in words of 32 bits: {}", facts.wide_storage.why));
}

void choose_arithmetic(const DeviceCaps& caps, const Facts& facts, DevicePlan& plan) {
    plan.int64 = caps.int64;
    because(plan, caps.int64 ? "64-bit integers are used in shaders: the device has shaderInt64"
                             : "64-bit integers are made of 32-bit words: the device has no shaderInt64");

    plan.nan_preserve = caps.signed_zero_inf_nan_preserve32;
    because(plan, caps.signed_zero_inf_nan_preserve32
                      ? "SignedZeroInfNanPreserve is requested for fp32: the device offers it"
                      : "SignedZeroInfNanPreserve is not requested for fp32: the device does not offer it");

    plan.rte = caps.rounding_rte32;
    because(plan, caps.rounding_rte32
                      ? "rounding to nearest even is requested for fp32: the device offers it"
                      : "rounding to nearest even is not requested for fp32: the device does not offer it");

    plan.exact_reciprocals = *facts.exact_reciprocals;
    because(plan,
            fmt::format("reciprocals are {}: {}",
                        plan.exact_reciprocals ? "the device's quotients" : "made of products and an integer remainder",
                        facts.exact_reciprocals.why));

    // Which promise is missing; a rounding to fp16 must be the same everywhere, subnormal results included.
    const std::string_view missing =
        !caps.fp16                             ? "it has no shaderFloat16"
        : !caps.rounding_rte16                 ? "it does not offer RoundingModeRTE for fp16"
        : !caps.denorm_preserve16              ? "it does not offer DenormPreserve for fp16"
        : !caps.signed_zero_inf_nan_preserve16 ? "it does not offer SignedZeroInfNanPreserve for fp16"
        : !caps.rounding_independence32 && !plan.rte
            ? "it rounds fp16 as fp32, and does not offer RoundingModeRTE for that"
        : !caps.denorm_independence32 ? "it treats subnormal numbers of fp16 as those of fp32"
                                      : std::string_view();
    plan.native_fp16 = missing.empty();
    plan.half_roundings = plan.native_fp16 && *facts.half_roundings;
    because(
        plan,
        !missing.empty() ? fmt::format("fp16 is computed in fp32 and rounded by integer operations: {}", missing)
        : plan.half_roundings
            ? "fp16 is added, multiplied and rounded natively: the device rounds to nearest even, and keeps "
              "subnormal numbers and NaN"
            : fmt::format("fp16 is read natively, but rounded by integer operations: {}", facts.half_roundings.why));
    plan.has_fp16 = caps.fp16;
    because(plan, caps.fp16 ? "precision fast is fp16 as the device computes it: it has shaderFloat16"
                            : "precision fast is precision fp16: the device has no shaderFloat16");
    plan.storage16 = caps.fp16 && caps.storage16 && *facts.half_loads;
    plan.half_texels = caps.fp16 && plan.texel_elements > 0 && *facts.half_loads;
    plan.half_products = caps.fp16 && *facts.half_products;
    if (!caps.fp16) return;
    because(plan, plan.half_texels ? fmt::format("precision fast reads texels of fp16: {}", facts.half_loads.why)
                  : plan.storage16 ? fmt::format("precision fast loads and stores float16_t: {}", facts.half_loads.why)
                  : *facts.half_loads
                      ? "precision fast takes fp16 out of words: the device has no storageBuffer16BitAccess"
                      : fmt::format("precision fast takes fp16 out of words: {}", facts.half_loads.why));
    because(plan, fmt::format("precision fast multiplies matrices in {}: {}", plan.half_products ? "fp16" : "fp32",
                              facts.half_products.why));
}

void choose_transfers(const DeviceCaps& caps, const Facts& facts, DevicePlan& plan) {
    plan.map_in_place = caps.unified_memory && *facts.maps_memory;
    because(plan, plan.map_in_place     ? fmt::format("inputs and outputs are mapped in place: device memory is "
                                                          "host-visible, and {}",
                                                      facts.maps_memory.why)
                  : caps.unified_memory ? fmt::format("inputs and outputs are staged: {}", facts.maps_memory.why)
                                        : "inputs and outputs are staged: device memory is not host-visible");
    if (!plan.map_in_place) {
        because(plan,
                fmt::format("staging takes up to {}: what is larger goes in pieces", bytes_text(plan.staging_bytes)));
    }

    plan.timeline_semaphores = caps.timeline_semaphores;
    because(plan, caps.timeline_semaphores ? "the host waits for values of a timeline semaphore: the device has them"
                                           : "the host waits for fences: the device has no timeline semaphores");

    plan.submit_work = *facts.work_per_s * submit_ms / 1e3;
    plan.submit_bytes = *facts.bytes_per_s * submit_ms / 1e3;
    because(plan, fmt::format("a submit has up to {:.3g} operations or {:.3g} bytes: about {} ms at {}, which no "
                              "watchdog minds",
                              plan.submit_work, plan.submit_bytes, submit_ms, facts.work_per_s.why));
}

}  // namespace

DevicePlan device_plan(const DeviceCaps& caps) {
    DevicePlan plan;
    const Facts facts = facts_of(caps);
    because(plan, fmt::format("the device is taken for {}, by its driver, type and ids", architecture_of(caps).name));
    choose_sizes(caps, facts, plan);
    choose_loops(caps, facts, plan);
    choose_products(caps, facts, plan);
    choose_access(caps, facts, plan);
    choose_arithmetic(caps, facts, plan);
    choose_transfers(caps, facts, plan);
    return plan;
}

void apply_cooperative_sums(DevicePlan& plan, CooperativeSums sums) {
    if (!sums.fp16) plan.cooperative_fp16 = {};
    plan.cooperative_fp32_sums = sums.fp16 && sums.fp32;
    if (!plan.cooperative_i8 && !plan.cooperative_fp16 && !plan.paired_products) plan.subgroup_size = 0;
    plan.reasons.push_back(
        plan.cooperative_fp32_sums
            ? "cooperative matrices of fp16 make fp16 and fp32: their sums pass TOSA's check of dot products"
        : sums.fp16 ? "cooperative matrices of fp16 do not make fp32: their sums fail TOSA's check of dot products"
                    : "cooperative matrices of fp16 are not used: their sums fail TOSA's check of dot products");
}

void apply_environment(DevicePlan& plan, std::optional<double> wanted_submit_ms) {
    const char* who = wanted_submit_ms ? "an option" : "TOSAVK_SUBMIT_MS";
    if (const auto ms = wanted_submit_ms ? wanted_submit_ms : number_from("TOSAVK_SUBMIT_MS", 0, 1e6)) {
        plan.submit_work *= *ms / submit_ms;
        plan.submit_bytes *= *ms / submit_ms;
        plan.reasons.push_back(*ms > 0 ? fmt::format("{}: a submit is meant to take {} ms at most", who, *ms)
                                       : fmt::format("{}: submits have no bound", who));
    }
    if (const auto bytes = number_from("TOSAVK_STAGING_BYTES", 4096, 4294967295.0)) {
        plan.staging_bytes = static_cast<std::uint64_t>(*bytes);
        plan.reasons.push_back(
            fmt::format("TOSAVK_STAGING_BYTES: staging takes up to {}", bytes_text(plan.staging_bytes)));
    }
}

}  // namespace tosavk

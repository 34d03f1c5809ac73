// What the library makes of a device: the pure function from DeviceCaps to DevicePlan, one sentence per choice.
#include "device/device_plan.hpp"

#include "base/error.hpp"
#include "device/quirks.hpp"

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

/// Careful guesses: the slow ones of each kind, at kernels that suit them badly. Operations and bytes per second.
struct Rate {
    double work, bytes;
};
Rate careful_rate(const DeviceCaps& caps) {
    if (caps.type == "discrete") return {1e12, 50e9};
    if (caps.type == "cpu") return {20e9, 5e9};
    return {30e9, 5e9};
}

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

}  // namespace

DevicePlan device_plan(const DeviceCaps& caps) {
    DevicePlan plan;
    const auto because = [&plan](std::string sentence) { plan.reasons.push_back(std::move(sentence)); };

    // A power of two, which reductions halve.
    const bool host = caps.type == "cpu";
    const std::uint32_t wanted = host ? 128 : 64;
    plan.workgroup_size =
        std::bit_floor(std::max(1u, std::min({wanted, caps.max_workgroup_invocations, caps.max_workgroup_size_x})));
    because(fmt::format("workgroups have {} invocations: the device takes {} (x {}), and {}", plan.workgroup_size,
                        caps.max_workgroup_invocations, caps.max_workgroup_size_x,
                        host ? "a CPU spends a third of a microsecond on each" : "64 fill every known subgroup size"));

    plan.buffer_alignment = std::max<std::uint64_t>(256, caps.min_storage_buffer_offset_alignment);
    because(
        fmt::format("tensors are aligned to {} bytes: the device asks for {}, and 256 covers every nonCoherentAtomSize",
                    plan.buffer_alignment, caps.min_storage_buffer_offset_alignment));

    // A multiple of 16, as tensors are padded to 16 bytes; below 2 GiB, as no device promises more in earnest.
    plan.max_binding_bytes = std::min<std::uint64_t>(caps.max_storage_buffer_range, 0x7ffffff0) / 16 * 16;
    because(fmt::format("a buffer binding holds up to {} and larger tensors take several: maxStorageBufferRange is {}",
                        bytes_text(plan.max_binding_bytes), bytes_text(caps.max_storage_buffer_range)));

    plan.max_buffers = std::min(caps.max_storage_buffers_per_stage, 32u);
    because(fmt::format(
        "a dispatch uses up to {} buffers: the device takes {}, and more than 32 help neither fusion nor large tensors",
        plan.max_buffers, caps.max_storage_buffers_per_stage));

    // Invocation indices stay below 2^31, so that shaders may keep them in an int.
    plan.max_groups_x = std::min(caps.max_workgroup_count_x, 0x7fffffffu / std::max(1u, plan.workgroup_size));
    because(fmt::format("a dispatch has up to {} workgroups in x: the device takes {}, and indices stay below 2^31",
                        plan.max_groups_x, caps.max_workgroup_count_x));

    plan.busy_invocations = host ? 512 : caps.type == "discrete" ? 65536 : 8192;
    because(fmt::format("work is split until {} invocations share it: the device is {}", plan.busy_invocations,
                        host                      ? "a CPU, whose few cores like long loops"
                        : caps.type == "discrete" ? "a discrete GPU"
                                                  : "no discrete GPU"));

    plan.far_rows = host ? 16 : 0;
    because(host ? "columns of long rows are walked down in parts of 16 rows where they are few or loads are loops: a "
                   "CPU's caches and prefetchers follow no more"
                 : "columns are walked down whole: neighbouring invocations read a row together");

    plan.row_quads = host ? 2 : 1;
    because(host ? "two quads of a row are read at a time down columns: a CPU's prefetchers follow whole cache lines"
                 : "one quad of a row is read at a time down columns: the next invocation reads the next one");

    plan.walk_bytes = host ? 4096 : 0;
    because(host ? "an invocation walks through a page of memory, row by row or eight by eight: a CPU's prefetchers "
                   "follow each page by itself"
                 : "an invocation reads no more than it needs: neighbouring ones read neighbouring memory");

    plan.gathered_rows = host ? 8 : 1;
    because(host ? "rows are gathered eight at a time: a CPU waits for each that is not in its caches"
                 : "gathered rows are read one after the other: neighbouring invocations read neighbouring memory");

    if (const Quirk* quirk = find_quirk(caps, "llvmpipe_loop_limit")) {
        plan.max_loop_passes = 60000;
        because(fmt::format("loops are kept below {} passes: {}", plan.max_loop_passes, quirk->symptom));
    }

    const bool known = std::has_single_bit(caps.subgroup_size) && caps.subgroup_size <= plan.workgroup_size;
    const Quirk* slow = find_quirk(caps, "swiftshader_slow_compiler");
    plan.subgroup_lanes = known && caps.subgroup_shuffle && !slow ? caps.subgroup_size : 1;
    because(plan.subgroup_lanes > 1 ? fmt::format("matrix products share rows within subgroups of {}, and neighbours "
                                                  "the words they store: the device shuffles",
                                                  caps.subgroup_size)
            : slow                  ? fmt::format("matrix products do not share rows: {}", slow->symptom)
            : !known ? "matrix products do not share rows: the subgroup size is unknown or does not divide a workgroup"
                     : "matrix products do not share rows: subgroups do not shuffle, or have no ballots");

    plan.own_rows = slow ? 0 : host ? 16 : 8;
    because(plan.own_rows > 0
                ? fmt::format("without shared rows an invocation loads up to {} itself: each serves 4 to 16 columns",
                              plan.own_rows)
                : "without shared rows an invocation loads few: longer shaders would take seconds to compile");

    const bool grid = plan.workgroup_size >= 64 && plan.workgroup_size <= 256;
    plan.shared_tiles = !host && !slow && grid && caps.max_shared_memory >= 16384;
    because(plan.shared_tiles
                ? "matrix products and transforms go through shared memory: what they keep there takes 16 KiB at most"
            : host ? "matrix products use no shared memory: a CPU's caches are as near"
                   : fmt::format("matrix products use no shared memory: the device has {} of it and workgroups of {}",
                                 bytes_text(caps.max_shared_memory), plan.workgroup_size));

    plan.dot4 = plan.shared_tiles && caps.integer_dot_product && caps.dot_4x8_accelerated;
    because(plan.dot4 ? "four products of 8-bit integers are one instruction: the device has it"
                      : "8-bit integers are multiplied one by one: the device has no fast instruction for four");

    const Quirk* slow_loads = find_quirk(caps, "llvmpipe_slow_storage_loads");
    plan.texel_elements = slow_loads != nullptr ? caps.max_texel_buffer_elements : 0;
    because(plan.texel_elements > 0
                ? fmt::format("tensors of up to {} texels are read through uniform texel buffers: {}",
                              plan.texel_elements, slow_loads->symptom)
            : slow_loads ? "tensors are read through storage buffers: the device has no texel buffers"
                         : "tensors are read through storage buffers: nothing is known against it");

    plan.slow_storage = slow_loads != nullptr && caps.int64;
    because(plan.slow_storage ? "storage buffers are accessed in components of 64 bits: each component costs the same"
                              : "storage buffers are accessed in words of 32 bits: nothing is known for wider ones");

    plan.int64 = caps.int64;
    because(caps.int64 ? "64-bit integers are used in shaders: the device has shaderInt64"
                       : "64-bit integers are made of 32-bit words: the device has no shaderInt64");

    plan.nan_preserve = caps.signed_zero_inf_nan_preserve32;
    because(caps.signed_zero_inf_nan_preserve32
                ? "SignedZeroInfNanPreserve is requested for fp32: the device offers it"
                : "SignedZeroInfNanPreserve is not requested for fp32: the device does not offer it");

    plan.rte = caps.rounding_rte32;
    because(caps.rounding_rte32 ? "rounding to nearest even is requested for fp32: the device offers it"
                                : "rounding to nearest even is not requested for fp32: the device does not offer it");

    const Quirk* exact = find_quirk(caps, "exact_reciprocals");
    plan.exact_reciprocals = exact != nullptr;
    because(
        exact
            ? fmt::format("reciprocals are the device's quotients: {}", exact->symptom)
            : "reciprocals are made of products and an integer remainder: Vulkan allows quotients an error of 2.5 ulp");

    // Which promise is missing; a rounding to fp16 must be the same everywhere, subnormal results included.
    const char* const missing = !caps.fp16              ? "it has no shaderFloat16"
                              : !caps.rounding_rte16    ? "it does not offer RoundingModeRTE for fp16"
                              : !caps.denorm_preserve16 ? "it does not offer DenormPreserve for fp16"
                              : !caps.signed_zero_inf_nan_preserve16
                                  ? "it does not offer SignedZeroInfNanPreserve for fp16"
                              : !caps.rounding_independence32 && !plan.rte
                                  ? "it rounds fp16 as fp32, and does not offer RoundingModeRTE for that"
                              : !caps.denorm_independence32 ? "it treats subnormal numbers of fp16 as those of fp32"
                                                            : nullptr;
    plan.native_fp16 = missing == nullptr;
    because(missing ? fmt::format("fp16 is computed in fp32 and rounded by integer operations: {}", missing)
                    : "fp16 is added, multiplied and rounded natively: the device rounds to nearest even, and keeps "
                      "subnormal numbers and NaN");

    // A workgroup's two tiles take 18 KiB, and its invocations are whole subgroups, 4 to 8 of them.
    const bool cooperates = !host && !slow && caps.subgroup_size_control && caps.vulkan_memory_model &&
                            caps.max_shared_memory >= 24576 && caps.max_workgroup_invocations >= 256 &&
                            caps.max_workgroup_size_x >= 256 && std::has_single_bit(caps.subgroup_size) &&
                            caps.subgroup_size >= 8 && caps.subgroup_size <= 64;
    if (cooperates && caps.int8) plan.cooperative_i8 = caps.cooperative_i8;
    if (cooperates && caps.fp16) plan.cooperative_fp16 = caps.cooperative_fp16;
    plan.subgroup_size = plan.cooperative_i8 || plan.cooperative_fp16 ? caps.subgroup_size : 0;
    const auto shape_text = [](const MatrixShape& s) {
        return s ? fmt::format("{}x{}x{}", s.m, s.n, s.k) : std::string("none");
    };
    because(cooperates ? fmt::format("cooperative matrices: i8 {}, fp16 {} if its sums pass a check",
                                     shape_text(plan.cooperative_i8), shape_text(plan.cooperative_fp16))
            : host     ? "cooperative matrices are not used: a CPU has none that are faster"
                       : "cooperative matrices are not used: that takes subgroups of a chosen size, the Vulkan memory "
                         "model, 24 KiB of shared "
                         "memory and workgroups of 256");

    plan.map_in_place = caps.unified_memory && caps.type != "discrete";
    because(plan.map_in_place ? "inputs and outputs are mapped in place: device memory is host-visible"
            : caps.unified_memory
                ? "inputs and outputs are staged: reading a discrete device's memory over the bus is slow"
                : "inputs and outputs are staged: device memory is not host-visible");
    if (!plan.map_in_place) {
        because(fmt::format("staging takes up to {}: what is larger goes in pieces", bytes_text(plan.staging_bytes)));
    }

    plan.timeline_semaphores = caps.timeline_semaphores;
    because(caps.timeline_semaphores ? "the host waits for values of a timeline semaphore: the device has them"
                                     : "the host waits for fences: the device has no timeline semaphores");

    const Rate rate = careful_rate(caps);
    plan.submit_work = rate.work * submit_ms / 1e3;
    plan.submit_bytes = rate.bytes * submit_ms / 1e3;
    because(fmt::format(
        "a submit has up to {:.3g} operations or {:.3g} bytes: about {} ms at a careful guess of the device's rate, "
        "which no watchdog minds",
        plan.submit_work, plan.submit_bytes, submit_ms));
    return plan;
}

void apply_cooperative_sums(DevicePlan& plan, CooperativeSums sums) {
    if (!sums.fp16) plan.cooperative_fp16 = {};
    plan.cooperative_fp32_sums = sums.fp16 && sums.fp32;
    if (!plan.cooperative_i8 && !plan.cooperative_fp16) plan.subgroup_size = 0;
    plan.reasons.push_back(
        plan.cooperative_fp32_sums
            ? "cooperative matrices of fp16 make fp16 and fp32: their sums pass TOSA's check of dot products"
        : sums.fp16 ? "cooperative matrices of fp16 do not make fp32: their sums fail TOSA's check of dot products"
                    : "cooperative matrices of fp16 are not used: their sums fail TOSA's check of dot products");
}

void apply_environment(DevicePlan& plan) {
    if (const auto ms = number_from("TOSAVK_SUBMIT_MS", 0, 1e6)) {
        plan.submit_work *= *ms / submit_ms;
        plan.submit_bytes *= *ms / submit_ms;
        plan.reasons.push_back(*ms > 0 ? fmt::format("TOSAVK_SUBMIT_MS: a submit is meant to take {} ms at most", *ms)
                                       : "TOSAVK_SUBMIT_MS: submits have no bound");
    }
    if (const auto bytes = number_from("TOSAVK_STAGING_BYTES", 4096, 4294967295.0)) {
        plan.staging_bytes = static_cast<std::uint64_t>(*bytes);
        plan.reasons.push_back(
            fmt::format("TOSAVK_STAGING_BYTES: staging takes up to {}", bytes_text(plan.staging_bytes)));
    }
}

}  // namespace tosavk

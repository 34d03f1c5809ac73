// DevicePlan: what this library makes of a device. Plain data, made by a pure function of DeviceCaps and of what is
// known of the device's kind (architectures.hpp).
#pragma once

#include "device/caps.hpp"
#include "device/size_choices.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tosavk {

struct DevicePlan {
    std::uint32_t workgroup_size = 64;     ///< invocations in x for every kernel
    std::uint64_t buffer_alignment = 256;  ///< of every tensor in an arena, bytes
    std::uint64_t max_binding_bytes = 0;   ///< of one storage buffer binding
    std::uint32_t max_buffers = 8;         ///< storage buffers of one dispatch
    std::uint32_t max_groups_x = 65535;
    std::int64_t busy_invocations = 4096;  ///< so many keep the device busy: work is split up to there
    std::int64_t far_rows = 0;  ///< rows of 4 KiB and more that one of few invocations (or any, where loads are loops)
                                ///< walks down at most; 0: no bound
    std::int64_t row_quads =
        1;  ///< neighbouring quads of a row that an invocation reads when it walks down columns (twice as many of
            ///< 64 and more rows of 4 KiB); above 1, long rows go one by one, and rows in turn
    std::int64_t walk_bytes =
        0;  ///< consecutive memory that an invocation walks through where enough of them stay busy; 0: what it needs
    std::int64_t gathered_rows = 1;  ///< rows that neighbouring invocations gather side by side
    std::uint32_t lanes_together =
        1;  ///< neighbouring invocations whose loads of neighbouring memory are one: so many read a long row
    std::int64_t max_loop_passes = 0;  ///< of all loops of one invocation together; 0: no bound
    std::uint32_t texel_elements = 0;  ///< largest uniform texel buffer that kernels read through, texels; 0: none
    std::uint32_t subgroup_lanes = 1;  ///< size of subgroups that exchange values by shuffle; 1: none do
    bool shared_rows = false;          ///< invocations of a subgroup share the rows of matrix products
    std::uint32_t registers = 64;      ///< of 32 bits, that an invocation has at most without spilling any
    std::uint32_t function_elements =
        4;  ///< of a long floating-point function, computed at once by an invocation: 4, 2 or 1
    std::uint32_t own_rows =
        0;  ///< of a matrix product, that an invocation loads where none are shared; 0: gemm is not for it
    bool slow_storage = false;     ///< storage buffers are read and written in components of 64 bits
    bool shared_tiles = false;     ///< sums, scans and lines of transforms go through shared memory (16 KiB at most)
    bool product_tiles = false;    ///< matrix products go through tiles in shared memory
    std::uint32_t tile_quads = 1;  ///< quads of columns that an invocation makes of such a tile, of 8 rows
    std::int64_t least_tiles = 1;  ///< of a product: fewer such tiles leave the device idle
    std::int64_t tile_parts = 1;   ///< of the inner dimension, in workgroups of their own, where tiles are fewer than
                                   ///< that; 1: sums are shared within workgroups instead
    std::uint32_t product_tile_bytes = 0;  ///< shared memory that a workgroup may take for them
    bool fma_chains = false;               ///< sums of products of floats are chains of fma(), one instruction each
    bool bottom_tests = false;             ///< loops may ask at their end whether they go on
    bool dot4 = false;                     ///< products of four pairs of i8 by one instruction
    bool dot4_mixed = false;               ///< that of signed by unsigned numbers, which rows then are
    MatrixShape cooperative_i8, cooperative_fp16;  ///< matrix products by whole subgroups, of subgroup_size invocations
    bool cooperative_fp32_sums = false;            ///< cooperative_fp16 adds accurately enough for fp32 results
    std::uint32_t matrix_sums = 64;                ///< of such a product, that an invocation holds at most
    bool paired_products = false;                  ///< products of floats ask for whole subgroups, which pair them
    std::uint32_t subgroup_size = 0;               ///< of products that ask for whole subgroups
    std::uint32_t fold_lanes = 0;                  ///< of whole subgroups that fold by shuffles (folds_of()); 0: none
    bool int64 = false;                            ///< int64 arithmetic in shaders (else 32-bit words)
    bool nan_preserve = false;                     ///< request SignedZeroInfNanPreserve 32
    bool rte = false;                              ///< request RoundingModeRTE 32
    bool exact_reciprocals =
        false;                 ///< the device rounds 1.0 / s correctly, s in [1, 2] (else made of + - * and integers)
    bool native_fp16 = false;  ///< fp16 is read, and with half_roundings computed, in float16_t (else by integer work)
    bool half_roundings = false;  ///< native_fp16: + - * and roundings too (else in fp32, rounded by integer work)
    bool has_fp16 = false;        ///< float16_t, whatever its roundings
    bool storage16 = false;       ///< precision fast has float16_t in storage buffers, not words with two of them
    bool half_texels = false;     ///< precision fast reads numbers of fp16 as texels, not words with two of them
    bool half_products = false;   ///< precision fast multiplies matrices in float16_t, not in fp32
    bool fast_fp16 = false;       ///< of the plan in the making: fp16 is computed in float16_t as the device does it
    bool map_in_place = false;    ///< unified memory: no staging copies
    std::uint64_t staging_bytes = 32u << 20;  ///< host memory for staging copies of one context at most
    bool timeline_semaphores = false;         ///< submits are waited for by a timeline semaphore, else by fences
    double submit_work = 0;                   ///< arithmetic operations of one submit at most; 0: no bound
    double submit_bytes = 0;                  ///< bytes that its dispatches read and write at most; 0: no bound
    std::vector<std::string> reasons;         ///< one sentence per choice, for `tosa-vk info`
    SizeChoices* sizes = nullptr;             ///< of the plan in the making; null: each plan chooses for its own sizes

    /// Of whole subgroups in which so many lanes of a row fold their results; 0: they do in shared memory.
    std::uint32_t folds_of(std::int64_t lanes) const { return lanes > 1 && subgroup_lanes > 1 ? fold_lanes : 0; }
    /// Whether 32 sums and what they are made of are nearly all that an invocation has, or more.
    bool has_few_registers() const { return registers <= 64; }
    /// Invocations that share the rows of a matrix product.
    std::uint32_t row_lanes() const { return shared_rows ? subgroup_lanes : 1; }
    /// A choice by size alone, see SizeChoices. Whatever it is must give right results at every size.
    bool chooses(bool now, std::string_view what, std::int64_t detail = 0) const {
        return sizes ? sizes->choose(now, what, detail) : now;
    }
    bool keeps_busy(std::int64_t invocations, std::string_view what, std::int64_t detail = 0) const {
        return chooses(invocations >= busy_invocations, what, detail);
    }
};

DevicePlan device_plan(const DeviceCaps& caps);

/// For which results sums of cooperative matrices of fp16 are accurate enough.
struct CooperativeSums {
    bool fp16 = false, fp32 = false;

    bool operator==(const CooperativeSums&) const = default;
};

/// What a check of the device's cooperative matrices changes of it: for which results sums of fp16 are accurate enough.
void apply_cooperative_sums(DevicePlan& plan, CooperativeSums sums);
/// What the environment changes of it, for tests and trials: TOSAVK_SUBMIT_MS (the milliseconds that a submit is meant
/// to take at most; 0: a run is one submit; `submit_ms` goes before it) and TOSAVK_STAGING_BYTES. Throws Error(usage)
/// for a value that is none.
void apply_environment(DevicePlan& plan, std::optional<double> submit_ms = {});

}  // namespace tosavk

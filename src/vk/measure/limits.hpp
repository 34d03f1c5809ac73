// What a device can do at most, measured with small kernels: the yardstick of the benchmark.
#pragma once

#include "vk/core/device.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tosavk {

/// Rates count 1e9 per second. A multiply-add counts two operations, a copied byte counts two: read and written.
struct DeviceLimits {
    double copy_gbytes_per_s = 0;  ///< through a shader, the best of several ways
    double fp32_gflops = 0;        ///< multiply-adds in independent chains
    double fp16_gflops = 0;        ///< the same; 0 where the device has no fp16
    double int32_gops = 0;         ///< the same in integers
    double int8_gops = 0;  ///< multiply-adds of 8-bit numbers in words of four, unpacked by tiles as the kernels do it,
                           ///< or by packed dot products where the device plan has them
    double matrix_fp16_gflops =
        0;  ///< multiply-adds by cooperative matrices, fp16 into fp32; 0 where the device plan has none
    double matrix_int8_gops = 0;  ///< the same, i8 into i32
    double dispatch_us = 0;       ///< each further dispatch of one workgroup behind a barrier
    double submit_us = 0;         ///< a run of one such dispatch: submit and wait
    bool stored = false;          ///< measured by an earlier process and found in the disk cache
};

/// From the disk cache where it has them, for this device, driver and library; else, or when they are wanted `anew`,
/// measured (a few seconds) and put there. Later calls of the process return the same. Thread-safe.
DeviceLimits measure_limits(const std::shared_ptr<Device>& device, bool anew = false);

/// What the disk cache holds of them, and back; nothing for bytes that are none.
std::vector<std::byte> limits_to_bytes(const DeviceLimits& limits);
std::optional<DeviceLimits> limits_from_bytes(std::span<const std::byte> bytes);

}  // namespace tosavk

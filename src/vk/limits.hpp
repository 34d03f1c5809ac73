// What a device can do at most, measured with small kernels: the yardstick of the benchmark.
#pragma once

#include "vk/device.hpp"

namespace tosavk {

/// Rates count 1e9 per second. A multiply-add counts two operations, a copied byte counts two: read and written.
struct DeviceLimits {
    double copy_gbytes_per_s = 0;  ///< through a shader, the best of several ways
    double fp32_gflops = 0;        ///< multiply-adds in independent chains
    double int32_gops = 0;         ///< the same in integers, which 8-bit products are computed in
    double dispatch_us = 0;        ///< each further dispatch of one workgroup behind a barrier
    double submit_us = 0;          ///< a run of one such dispatch: submit and wait
};

/// Takes one or two seconds once per device and process; later calls return the same. Thread-safe.
DeviceLimits measure_limits(const std::shared_ptr<Device>& device);

}  // namespace tosavk

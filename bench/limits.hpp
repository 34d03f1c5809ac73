// The device's measured limits, and how near to them a dispatch comes.
#pragma once

#include "tools/cli/common.hpp"

namespace tosavk::bench {

/// In the units of tosavk_device_limits.
struct Limits {
    double copy_gbytes_per_s = 0, fp32_gflops = 0, int32_gops = 0, int8_gops = 0, dispatch_us = 0, submit_us = 0;
    double fp16_gflops = 0;                               ///< 0: the device does not compute it natively
    double matrix_fp16_gflops = 0, matrix_int8_gops = 0;  ///< 0: the device has no cooperative matrices of the type
    bool stored = false;                                  ///< measured by an earlier process

    bool known() const { return copy_gbytes_per_s > 0; }  ///< false: they were not measured
};
/// `anew`: measured now, even where the disk cache has them.
Limits limits_of(const cpp::Device& device, bool anew);
cli::Json to_json(const Limits& limits);
std::string to_text(const Limits& limits);

/// The least time that some work can take, and which limit says so: "memory", "fp32", "fp16", "int32", "int8",
/// "fp16 matrices", "int8 matrices" or "dispatch"; nothing when the limits are not known.
struct Floor {
    double ms = 0;
    const char* limit = "";
};
/// `work` counts operations, `bytes` what is read and written.
Floor floor_of(const Limits& limits, double work, double bytes, tosavk_arithmetic arithmetic);

}  // namespace tosavk::bench

// The device's measured limits, and how near to them a dispatch comes.
#pragma once

#include "cli/common.hpp"

namespace tosavk::bench {

/// In the units of tosavk_device_limits.
struct Limits {
    double copy_gbytes_per_s = 0, fp32_gflops = 0, int32_gops = 0, dispatch_us = 0, submit_us = 0;

    bool known() const { return copy_gbytes_per_s > 0; }  ///< false: they were not measured
};
Limits limits_of(const cpp::Device& device);
cli::Json to_json(const Limits& limits);
std::string to_text(const Limits& limits);

/// The least time that some work can take, and which limit says so: "memory", "fp32", "int32" or "dispatch"; nothing
/// when the limits are not known.
struct Floor {
    double ms = 0;
    const char* limit = "";
};
/// `work` counts operations, `bytes` what is read and written.
Floor floor_of(const Limits& limits, double work, double bytes, bool is_integer);

}  // namespace tosavk::bench

// The conformance sweep on a device.
#pragma once

#include "verify/conformance/sweep.hpp"
#include "vk/core/device.hpp"

#include <memory>

namespace tosavk::conformance {

/// Compares the device with the reference by the Checker: unfused nodes against fp64, fused bits against unfused ones.
/// A device that was opened to compile only compiles: what fails there, and what spills registers, has failed.
/// Graphs of fp16 are compiled with precision fast, too.
/// With `all_candidates` again for every kernel and variant that a tuner could choose.
Judge judge_on(std::shared_ptr<Device> device, bool all_candidates = false);

}  // namespace tosavk::conformance

// CONV2D with 3x3 windows by Winograd's algorithm, for graphs of precision fast: its error is outside of TOSA's bound.
#pragma once

#include "kernels/common/kernel_choice.hpp"

#include <optional>
#include <string>

namespace tosavk {

/// `outputs`: of a tile, 2 (2x2, a multiplication for 2.25) or 4 (4x4, one for 4); 0: by the rule, which asks for
/// enough channels that what is saved is worth the copies. In between elements of the input are up to 4 times as large
/// (of 4x4, less than twice), and must fit fp16.
std::optional<KernelChoice> plan_winograd(const NodeView& view, const DevicePlan& device, std::string& why,
                                          int outputs);

}  // namespace tosavk

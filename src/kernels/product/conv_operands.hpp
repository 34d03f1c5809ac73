// What the kernels of all convolutions share: operands, the window's numbers, and the kernel that takes any.
#pragma once

#include "kernels/common/kernel_choice.hpp"
#include "ops/window.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tosavk {

/// Defines of all these shaders: the arithmetic of the sums.
std::vector<std::pair<std::string, std::string>> sum_defines(const NodeView& view);

/// What the shaders that read packed weights need to know about operands.
struct ConvOperands {
    std::int64_t input_zp = 0, weight_zp = 0;
    bool is_float = false;
};
/// Declines when types are none of these, or what must be known is computed at run time: zero points, and weights other
/// than of floats.
std::optional<ConvOperands> conv_operands(const NodeView& view, std::string& why);

/// Whether all numbers of a value are known to be finite: those of a constant.
bool is_finite(const Value& value);

/// Specialization constants of the window.
void set_window_constants(KernelChoice& choice, const ConvGeometry& g);

/// Any convolution, with nothing known but the shapes.
std::optional<KernelChoice> plan_direct_convolution(const NodeView& view, const DevicePlan& device, std::string& why);

}  // namespace tosavk

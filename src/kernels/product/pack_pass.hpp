// Weights that are computed at run time in the order in which the kernels read them.
#pragma once

#include "kernels/common/kernel_choice.hpp"
#include "kernels/product/pack_weights.hpp"

#include <optional>

namespace tosavk {

/// Float weights [OC,...,IC], the node's input 1, as pack_conv_weights() makes them of constants, or with `units` as
/// pack_conv_units() does: by a pass before all others of `choice`, into a scratch buffer of it, `widened` as fp32.
/// Returns what the kernel reads.
KernelOperand pack_at_run_time(KernelChoice& choice, const NodeView& view, std::optional<InnerUnits> units,
                               bool widened, const DevicePlan& device);

}  // namespace tosavk

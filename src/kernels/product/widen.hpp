// Operands of products that become fp32 before, each element once.
#pragma once

#include "kernels/common/kernel_choice.hpp"
#include "kernels/product/product.hpp"

namespace tosavk {

/// `plan` of the product of the node's inputs 0 and 1. Where operands would become fp32 by integer work so often that a
/// pass before saves some of it, of `product` with operands in fp32, which it is then (Product::widens).
std::optional<ProductChoice> plan_widened(Product& product, const NodeView& view, const DevicePlan& device,
                                          std::string& why, ProductPlan plan, int setting);

/// Adds a pass to `choice` that makes fp32 of input k of the node, in a scratch buffer of it. Returns what the kernel
/// reads.
KernelOperand widen(KernelChoice& choice, const NodeView& view, std::size_t k, const DevicePlan& device);

}  // namespace tosavk

// Operands of products that become fp32: small floats, and i8 where the device has no packed dot products, whose
// multiply-adds of fp32 are faster than its integers'. By passes before, each element once, or of i8 where it is read.
#pragma once

#include "kernels/common/kernel_choice.hpp"
#include "kernels/product/product.hpp"

#include <functional>

namespace tosavk {

constexpr std::int64_t whole_in_fp32 = 1 << 24;  ///< all whole numbers up to it are numbers of fp32

/// Whether there are so many rows that weights of more bytes than theirs, which are constants or packed at any rate,
/// are not what they wait for: by few they are read as fast as their bytes come, of which there are two to eight times
/// as many then. A guess.
inline bool has_many_rows(const Product& p, DType weight) {
    return p.batch * p.rows >= (weight == DType::i4 ? 128 : 64 / static_cast<std::int64_t>(size_of(weight)));
}

/// What no sum of some of a result's products exceeds where its blocks are summed in so many parts (gemm_direct's);
/// nothing where it is not known.
using LargestSum = std::function<std::optional<std::int64_t>(std::int64_t parts, Converts converts)>;

/// `plan` of the product of the node's inputs 0 and 1. Where operands would become fp32 by integer work so often that a
/// pass before saves some of it, of `product` with operands in fp32, which it is then (Product::widens); of i8 that is
/// read less often, of one whose operands become so where they are read (Product::converts). Of i8 where fp32 holds all
/// sums, or those of parts or of lanes that share one (`largest`, which is asked for these alone). Such a pass makes
/// quads of taps of two or three elements too, which alone is worth one where they are read often. `reads`: how many
/// taps read an element of input 0.
std::optional<ProductChoice> plan_widened(Product& product, const NodeView& view, double reads,
                                          const LargestSum& largest, const DevicePlan& device, std::string& why,
                                          ProductPlan plan, int setting);

/// Adds a pass to `choice` that makes of input k of the node, in a scratch buffer of it, fp32, integers less the zero
/// point (Product::widens), or quads of its innermost elements with zeros at their ends (Product::fills), or both.
/// Returns what the kernel reads.
KernelOperand widen(KernelChoice& choice, const NodeView& view, std::size_t k, std::int64_t zero_point,
                    const Product& product, const DevicePlan& device);

}  // namespace tosavk

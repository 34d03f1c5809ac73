// What the kernel candidates of several families share: operands that may be known while planning or only at run time.
#pragma once

#include "kernels/common/kernel_choice.hpp"

#include <initializer_list>

namespace tosavk {

/// The types that every kernel here takes: bool, i8, i16, i32 and the floats.
bool is_plain_type(DType type);

/// Input k of the node as the kernel's next operand; `reads` as in KernelOperand. With `moves_bits` fp16 is read as
/// i16.
void add_operand(KernelPass& choice, const NodeView& view, std::size_t k, double reads = 0, bool moves_bits = false);
/// Another scratch buffer of the choice, of so many 32-bit words; returns its number.
int add_scratch(KernelChoice& choice, std::int64_t words);
/// What an earlier pass left in a scratch buffer, as an operand.
KernelOperand scratch_operand(int number, DType type = DType::i32);
/// By how much the quads that hold `count` elements in a row are more than these.
double quad_waste(std::int64_t count);
/// By the names in the kernel's text. Throws Error(internal) for one that has a value already.
void set_constants(KernelPass& choice, std::initializer_list<std::pair<const char*, KernelConstant>> values);

/// How many steps the innermost loop of a kernel takes in a pass: 1, or 8 where the device bounds the passes of all
/// loops and one step a pass would exceed that; nothing, and a sentence in `why`, where 8 would too. `outer` counts the
/// passes of the enclosing loops, `inner` the steps of one innermost loop.
std::optional<int> loop_steps(const DevicePlan& device, std::int64_t outer, std::int64_t inner, std::string& why);
/// What the loop over chunks of 256 products adds to `inner` in kernels of 48-bit sums, counted in steps of 8.
inline std::int64_t chunk_steps(std::int64_t products) { return 8 * ((products + 255) / 256); }

/// Defines `name` in the kernel's text as the single element of input k: the kernel's
/// specialization constant NAME_CONSTANT, or, where the element is not known yet, a load from the kernel's next
/// operand. Zero points of floats are always 0 and never loaded.
void define_scalar(KernelChoice& choice, const NodeView& view, std::size_t k, const char* name);

/// A plan function for a device that `factor` times as many invocations keep busy: work is split further, or less.
inline auto for_busy(KernelCandidate::Plan* plan, double factor) {
    return [=](const NodeView& view, const DevicePlan& device, std::string& why) {
        DevicePlan other = device;
        other.busy_invocations = static_cast<std::int64_t>(static_cast<double>(device.busy_invocations) * factor);
        return plan(view, other, why);
    };
}

}  // namespace tosavk

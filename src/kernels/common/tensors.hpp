// How large tensors are in memory, and how kernels read them.
#pragma once

#include "kernels/common/kernel_choice.hpp"

namespace tosavk {

/// Bytes that the planner allocates for a value.
std::uint64_t value_bytes(const Graph& graph, ValueId id);
/// And for an operand; `scratch`: sizes of scratch buffers.
std::uint64_t operand_bytes(const Graph& graph, const KernelOperand& operand,
                            const std::vector<std::uint64_t>& scratch);
/// Texels where the device plan has a use for them and the tensor is not too large.
ReadPath path_of(std::uint64_t bytes, DType type, const DevicePlan& device);

/// Whether a tensor can have in<index>_load8 (of fp16 load2q and load8q too): i8 in texels; in one storage buffer i8,
/// i32 and fp32 where those are slow, i8 where lanes load together, and fp16 of precision fast.
bool has_load8(std::uint64_t bytes, DType type, const DevicePlan& device);
/// Whether it can have in<index>_words16: i8 in one storage buffer.
bool has_words16(std::uint64_t bytes, DType type, const DevicePlan& device);

}  // namespace tosavk

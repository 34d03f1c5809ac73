// What the kernels with tuples of indices share (shaders/lib/index_tuple.glsl).
#pragma once

#include "kernels/common/kernel_choice.hpp"
#include "ops/indexed.hpp"

namespace tosavk {

/// Dimensions that a tuple may index.
constexpr std::size_t max_tuple = 6;

/// Whether the kernels take the node; else says why not.
bool takes_tuples(const NodeView& view, std::string& why);
/// The defines and the eight constants of lib/index_tuple.glsl, of a pass without constants as yet. `operand`: its
/// number of the tensor of indices.
void add_tuples(KernelPass& pass, const NodeView& view, const IndexedSizes& sizes, std::size_t operand);

}  // namespace tosavk

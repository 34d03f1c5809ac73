// The GPU kernels of the operators that are neither elementwise nor views: per operator, the candidates in the order
// in which they are asked. Each family has a folder.
#pragma once

#include "graph/graph.hpp"
#include "kernels/common/kernel_choice.hpp"

#include <vector>

namespace tosavk {

/// The candidates of an operator, in the order in which they are asked; none where an expression or a view serves it,
/// or the executors carry it out themselves. The last one takes any operands of the operator's types.
const std::vector<KernelCandidate>& kernels_of(Op op);

// The families.

std::vector<KernelCandidate> conv_kernels();  ///< CONV2D, CONV3D and TRANSPOSE_CONV2D
std::vector<KernelCandidate> depthwise_kernels();
std::vector<KernelCandidate> matmul_kernels();
std::vector<KernelCandidate> fft_kernels();     ///< FFT2D and RFFT2D
std::vector<KernelCandidate> pool_kernels();    ///< AVG_POOL2D and MAX_POOL2D
std::vector<KernelCandidate> reduce_kernels();  ///< every REDUCE_*
/// How many steps of its axis, which is not the last one, an invocation of a REDUCE_* goes down. It adds every other
/// one to the same of two sums, adds the two, and so are the parts added: the order of a float sum.
std::int64_t column_length(const NodeView& reduction, const DevicePlan& device);
std::vector<KernelCandidate> argmax_kernels();
std::vector<KernelCandidate> gather_kernels();
std::vector<KernelCandidate> scatter_kernels();
std::vector<KernelCandidate> resize_kernels();
std::vector<KernelCandidate> transpose_kernels();  ///< what they decline is a view
std::vector<KernelCandidate> cumulate_kernels();
std::vector<KernelCandidate> dynamic_slice_kernels();  ///< DYNAMIC_SLICE and DYNAMIC_UPDATE_SLICE
std::vector<KernelCandidate> gather_nd_kernels();
std::vector<KernelCandidate> scatter_nd_kernels();
std::vector<KernelCandidate> segment_reduce_kernels();
std::vector<KernelCandidate> sort_kernels();
std::vector<KernelCandidate> partial_sort_kernels();
std::vector<KernelCandidate> bitcast_kernels();
std::vector<KernelCandidate> suppress_kernels();
std::vector<KernelCandidate> suppress_queued_kernels();

}  // namespace tosavk

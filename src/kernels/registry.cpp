// Which family runs which operator.
#include "kernels/kernels.hpp"

#include <map>

namespace tosavk {

namespace {

std::map<Op, std::vector<KernelCandidate>> gather_families() {
    std::map<Op, std::vector<KernelCandidate>> all;
    for (const Op op : {Op::conv2d, Op::conv3d, Op::transpose_conv2d}) all[op] = conv_kernels();
    all[Op::depthwise_conv2d] = depthwise_kernels();
    all[Op::matmul] = matmul_kernels();
    for (const Op op : {Op::fft2d, Op::rfft2d}) all[op] = fft_kernels();
    for (const Op op : {Op::avg_pool2d, Op::max_pool2d}) all[op] = pool_kernels();
    for (const Op op :
         {Op::reduce_all, Op::reduce_any, Op::reduce_max, Op::reduce_min, Op::reduce_product, Op::reduce_sum})
        all[op] = reduce_kernels();
    all[Op::argmax] = argmax_kernels();
    all[Op::gather] = gather_kernels();
    all[Op::scatter] = scatter_kernels();
    all[Op::resize] = resize_kernels();
    all[Op::transpose] = transpose_kernels();
    all[Op::cumulate] = cumulate_kernels();
    for (const Op op : {Op::dynamic_slice, Op::dynamic_update_slice}) all[op] = dynamic_slice_kernels();
    all[Op::gather_nd] = gather_nd_kernels();
    all[Op::scatter_nd] = scatter_nd_kernels();
    all[Op::segment_reduce] = segment_reduce_kernels();
    all[Op::sort] = sort_kernels();
    all[Op::partial_sort] = partial_sort_kernels();
    all[Op::bitcast] = bitcast_kernels();
    all[Op::suppress] = suppress_kernels();
    all[Op::suppress_queued] = suppress_queued_kernels();
    return all;
}

}  // namespace

const std::vector<KernelCandidate>& kernels_of(Op op) {
    static const std::map<Op, std::vector<KernelCandidate>> all = gather_families();
    static const std::vector<KernelCandidate> none;
    const auto found = all.find(op);
    return found == all.end() ? none : found->second;
}

}  // namespace tosavk

// Attention, softmax(Q K + mask) V, as one dispatch (shaders/attention.comp). No operator of TOSA is one: which nodes
// of a graph are is found by compile/group/attention.hpp.
#pragma once

#include "kernels/common/kernel_choice.hpp"

#include <optional>

namespace tosavk {

/// Of `batch` heads, the softmax over `keys` scores of each of `rows` rows.
struct Attention {
    /// [batch,rows,inner], [batch,inner,keys], [batch,keys,columns], in other shapes maybe: fp16, or fp32 that is
    /// rounded to it.
    ValueId q = no_id, k = no_id, v = no_id;
    std::int64_t batch = 1, rows = 1, keys = 1, inner = 1, columns = 1;
    float scale = 1;  ///< of the scores

    ValueId mask = no_id;      ///< fp16 or fp32, times `mask_scale` added to the scaled scores; no_id: none
    bool rounds_mask = false;  ///< it is fp32, and rounded to fp16 before that
    float mask_scale = 1;
    /// From one element of the mask to that of the next head (in two digits, `mask_heads` to one of the first), row and
    /// key; 0 where it is broadcast.
    std::int64_t mask_heads = 1, mask_outer = 0, mask_inner = 0, mask_row = 0, mask_key = 0;
};

/// Declines with a sentence in `why`.
std::optional<KernelChoice> plan_attention(const Graph& graph, const Attention& attention, const DevicePlan& device,
                                           std::string& why);

}  // namespace tosavk

// Attention as graphs make it: a product of queries and keys, scaled, with a mask added to it, its softmax, and a
// product of that with values.
#pragma once

#include "compile/group/group_graph.hpp"
#include "kernels/attention/attention.hpp"

namespace tosavk {

struct FoundAttention {
    Attention attention;
    std::vector<NodeId> nodes;  ///< what is computed on the way, in execution order; without the last product
};

/// The attention that ends in this MATMUL. Nothing, and no sentence in `why`, where it is a product of something else;
/// a sentence where it is of a softmax of scores that must be in memory or are not simply those.
std::optional<FoundAttention> find_attention(const GroupGraph& fusion, NodeId last, std::string& why);

}  // namespace tosavk

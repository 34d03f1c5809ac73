// What a file says of its inputs before those dimensions that it leaves open have sizes.
#pragma once

#include "graph/graph.hpp"

#include <string>
#include <vector>

namespace tosavk {

struct InputSignature {
    std::string name;  ///< as in the graph that the file becomes
    DType type = DType::fp32;
    Shape shape;             ///< an open dimension is 1 here
    std::vector<bool> open;  ///< by dimension
    double scale = 0;        ///< these as of Value
    std::int64_t zero_point = 0;
    HostKind declared = HostKind::graph;
};

struct Signature {
    std::vector<InputSignature> inputs;
    std::size_t output_count = 0;
};

/// Of a graph that leaves nothing open.
Signature signature_of(const Graph& graph);

}  // namespace tosavk

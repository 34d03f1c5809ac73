// Random legal graphs of one node for any operator and type row of the registry, with inputs to run them on.
#pragma once

#include "graph/host_tensor.hpp"
#include "ops/op.hpp"

#include <random>
#include <string>

namespace tosavk::conformance {

struct RandomCase {
    Graph graph;
    std::vector<HostTensor> inputs;  ///< one per input of the graph
};

struct RandomOptions {
    bool run_time_operands = false;  ///< operands that TOSA wants constant may be graph inputs (EXT-DYNAMIC)
    bool follower = false;           ///< an elementwise node after the one in question, for fusion
    bool large = false;              ///< dot products large enough for the kernels' larger tiles
};

/// Shapes, attributes, values, and which operands are constants are drawn from `random`. Values stay where the
/// specification predicts the result; indices of GATHER and SCATTER may lie outside, as this library defines that.
/// Throws Error(unsupported) for an operator that it does not know.
RandomCase random_case(const OpDef& def, const TypeRow& row, std::mt19937_64& random,
                       const RandomOptions& options = {});

/// "i8, i8, i32, i32"
std::string row_text(const TypeRow& row);

/// The graph as text.
std::string describe(const RandomCase& made);

}  // namespace tosavk::conformance

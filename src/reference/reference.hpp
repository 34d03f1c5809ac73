// The oracle: runs a graph node by node with each operator's reference function. Plain and slow on purpose.
#pragma once

#include "graph/graph.hpp"
#include "graph/host_tensor.hpp"
#include "ops/op.hpp"

#include <map>

namespace tosavk {

/// The variables of a graph from run to run, by name. A variable that is missing has its initial value.
using VariableState = std::map<std::string, HostTensor>;

/// The variable's value in `state`, which takes up its initial value if it is missing.
HostTensor& variable_value(VariableState& state, const Variable& variable);

/// Runs one node in declared types on these inputs.
/// Regions are run by reference_run; without `state` every variable has its initial value.
std::vector<HostTensor> reference_node(const NodeView& view, std::span<const HostTensor* const> inputs,
                                       VariableState* state = nullptr);

/// Runs the whole graph in declared types; inputs in graph order (types and shapes checked). Returns the outputs, or
/// every value by ValueId when `keep_all`. Reads and writes of variables go to `state`, which the next run sees.
std::vector<HostTensor> reference_run(const Graph& graph, std::span<const HostTensor> inputs, bool keep_all = false,
                                      VariableState* state = nullptr);

/// Deterministic test data for a graph input: integers over the type's whole range, floats from a scaled normal
/// distribution, both from `seed` and the input's index; the same on every platform.
HostTensor random_tensor(DType type, const Shape& shape, std::uint64_t seed);

/// The worst difference of one output of one node against the reference, by that operator's own rule.
struct CheckResult {
    bool passed = true;
    double worst = 0;           ///< error as a share of the bound (integers: 1 or more means different)
    double variance = 0;        ///< dot products: sum of squared errors as a share of its bound
    double bias = 0;            ///< dot products: |sum of errors| as a share of its bound; matters for data sets 3 to 5
    std::int64_t element = -1;  ///< flat index of the worst element
    std::string expected, got;  ///< its values as text
    std::string rule;           ///< "exact", "ULP", "dot product, KS=...", ...
};
/// Compares `actual` (what a device made of `inputs`) with output k of the node computed in fp64.
CheckResult check_node_result(const NodeView& view, std::span<const HostTensor* const> inputs, std::size_t k,
                              const HostTensor& actual);

}  // namespace tosavk

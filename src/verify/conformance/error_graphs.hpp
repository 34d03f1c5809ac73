// Graphs that the specification calls errors: a legal random graph with one thing broken, which must be refused with a
// sentence that names the operator. The same for graphs beyond the limits of level 8K.
#pragma once

#include "verify/conformance/random_node.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tosavk::conformance {

/// One way of breaking the graphs of one operator.
struct ErrorGraph {
    enum class Kind {
        condition,  ///< an ERROR_IF of the operator
        argument,   ///< a rule for the arguments of every operator
        level,      ///< a limit of level 8K
    };
    Op op = Op::unknown;
    Kind kind = Kind::condition;
    std::string error_if;                      ///< what is broken, as the condition that then holds
    std::function<bool(const TypeRow&)> fits;  ///< rows whose graphs can be broken so; null: all
    /// Breaks a graph of one node; false when the drawn graph cannot be broken so (another one is drawn).
    std::function<bool(Graph&, std::mt19937_64&)> apply;
};

/// For every operator of the registry. Conditions that no type row of the registry can break are left out.
std::vector<ErrorGraph> error_graphs();

struct ErrorResult {
    std::uint64_t cases = 0, failures = 0;
    std::string detail;  ///< of the first failure: what was accepted, or how the refusal falls short
};
/// Breaks `per_row` graphs of every row that fits.
ErrorResult run_error_graph(const ErrorGraph& entry, std::uint64_t seed, int per_row = 2);

/// Empty when check_graph refuses the graph with Error(bad_model or unsupported) and a sentence that names `op`; else
/// what is wrong.
std::string refusal_fault(const Graph& graph, std::string_view op);

}  // namespace tosavk::conformance

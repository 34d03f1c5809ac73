// Small tools for breaking a graph of one node. For error_graphs*.cpp alone.
#pragma once

#include "verify/conformance/error_graphs.hpp"
#include "verify/conformance/random_data.hpp"

#include <initializer_list>
#include <string>
#include <vector>

namespace tosavk::conformance::breaking {

using Random = std::mt19937_64;
using Kind = ErrorGraph::Kind;
using Apply = std::function<bool(Graph&, Random&)>;
using Fits = std::function<bool(const TypeRow&)>;

inline Node& node(Graph& g) { return g.nodes.at(0); }
inline Attributes& attrs(Graph& g) { return node(g).attrs; }
inline const Value& operand(const Graph& g, std::size_t k) { return g.values.at(g.nodes.at(0).inputs.at(k)); }
inline Value& output(Graph& g, std::size_t k = 0) { return g.values.at(node(g).outputs.at(k)); }

/// Operand k becomes a constant of these integers (for float types: of their values).
void set_constant(Graph& g, std::size_t k, DType type, const Shape& shape, std::span<const std::int64_t> values);
/// The same with the operand's own type, as a list.
void set_values(Graph& g, std::size_t k, const std::vector<std::int64_t>& values);
/// Operand k takes another shape: a constant then holds zeros.
void set_shape(Graph& g, std::size_t k, const Shape& shape);
/// Appends an operand: a new graph input.
void add_operand(Graph& g, DType type, const Shape& shape);
/// Gives the outputs the shapes that follow from inputs and attributes. False when these are illegal by themselves.
bool refit(Graph& g);

inline std::int64_t pick(Random& random, std::int64_t lo, std::int64_t hi) { return RandomData(random).pick(lo, hi); }
inline std::size_t pick_axis(Random& random, const Shape& shape) {
    return static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(shape.size()) - 1));
}

/// Makes entries for one operator: make(op)(...)(...).take().
class Entries {
public:
    explicit Entries(Op op, std::vector<ErrorGraph>& all) : op_(op), all_(all) {}

    Entries& add(std::string error_if, Apply apply, Fits fits = nullptr) {
        all_.push_back({op_, Kind::condition, std::move(error_if), std::move(fits), std::move(apply)});
        return *this;
    }
    Entries& level(std::string error_if, Apply apply, Fits fits = nullptr) {
        all_.push_back({op_, Kind::level, std::move(error_if), std::move(fits), std::move(apply)});
        return *this;
    }

private:
    Op op_;
    std::vector<ErrorGraph>& all_;
};

/// Breaks one dimension of the output, or its rank.
bool wrong_output(Graph& g, Random& random);
/// Operand k (a zero point) becomes 1.
Apply zero_point_of_one(std::size_t k);

void add_window_errors(std::vector<ErrorGraph>& all);    ///< convolutions, pools, FFT2D, RFFT2D
void add_movement_errors(std::vector<ErrorGraph>& all);  ///< data movement and RESIZE
void add_rescale_errors(std::vector<ErrorGraph>& all);
void add_control_errors(std::vector<ErrorGraph>& all);         ///< COND_IF, WHILE_LOOP, variables
void add_own_arithmetic_errors(std::vector<ErrorGraph>& all);  ///< DIVIDE, REMAINDER, CUMULATE
void add_own_indexed_errors(
    std::vector<ErrorGraph>& all);  ///< SORT, GATHER_ND, SCATTER_ND, dynamic slices, SEGMENT_REDUCE
void add_own_suppress_errors(std::vector<ErrorGraph>& all);  ///< SUPPRESS, SUPPRESS_QUEUED

}  // namespace tosavk::conformance::breaking

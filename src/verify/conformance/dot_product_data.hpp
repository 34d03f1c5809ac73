// The specification's test data for dot products of floats: sets 0 to 5, in graphs of at least 1000 results.
#pragma once

#include "verify/conformance/random_node.hpp"

namespace tosavk::conformance {

inline constexpr int dot_product_sets = 6;

/// Element i of the specification's pseudo-random sequence `set`, in -1..1, as an fp32 division gives it.
double generated(std::uint32_t set, std::uint64_t i);

/// What one operand element is made of.
struct DotProductElement {
    enum class Operand { input, weight, bias } operand = Operand::input;
    std::int64_t terms = 1;  ///< KS: products per result
    std::int64_t k = 0;      ///< which of them the element belongs to
    std::int64_t i = 0;      ///< its flat index
};
/// Data(S, KS, p, k, i) of the specification; `large` is B, the largest operand whose products stay in range.
double dot_product_value(int set, const DotProductElement& element, double large);

/// Does the operator sum products of floats in this row?
bool has_dot_product_data(const OpDef& def, const TypeRow& row);

/// A graph of one node with the data of set 0..5; the sizes are drawn from `random`.
RandomCase dot_product_case(const OpDef& def, const TypeRow& row, int set, std::mt19937_64& random);

}  // namespace tosavk::conformance

// Random cases of control flow, variables and CUSTOM; part of random_case().
#pragma once

#include "verify/conformance/random_node.hpp"

namespace tosavk::conformance {

/// For operators with OpDef::structural.
RandomCase random_structural_case(const OpDef& def, const TypeRow& row, std::mt19937_64& random,
                                  const RandomOptions& options);

}  // namespace tosavk::conformance

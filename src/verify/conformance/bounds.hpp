// What the specification asks of each operator's results, in words for reports. The rule itself is OpDef::tolerance.
#pragma once

#include "ops/op.hpp"

#include <string>

namespace tosavk::conformance {

/// "exact", "1 ulp", ...
std::string bound_text(const OpDef& def, const TypeRow& row);

}  // namespace tosavk::conformance

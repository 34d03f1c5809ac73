// CONST and CONST_SHAPE: operators of files only, since a constant of a Graph is a value. They have type rows like any
// other operator, and anything that runs a graph has them.
#pragma once

#include "ops/op.hpp"

namespace tosavk {

/// Name and type rows; nothing to infer, compute or run.
const std::vector<OpDef>& constant_ops();

}  // namespace tosavk

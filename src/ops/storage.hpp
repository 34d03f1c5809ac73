// Values that are other names of values.
#pragma once

#include "ops/op.hpp"

namespace tosavk {

/// Whether a value is another one under a different shape (RESHAPE, IDENTITY): follows aliases to the value that owns
/// the memory.
ValueId storage_of(const Graph& graph, ValueId id);

}  // namespace tosavk

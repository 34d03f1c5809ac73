// What the numbers of a .tosa file stand for: its types and its operators.
#pragma once

#include "frontends/tosa/file.hpp"

namespace tosavk {

/// Sets the tensor's type, or says in `unusable` why it has none here.
void read_tosa_type(TosaGeneration generation, std::uint32_t number, TosaFileTensor& tensor);

/// From `code` and `index`: the operator and its name; says in `unsupported` why there is none here.
void identify_tosa_operator(TosaGeneration generation, TosaFileOperator& op);

}  // namespace tosavk

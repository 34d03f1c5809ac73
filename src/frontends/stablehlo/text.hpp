// StableHLO text to a Program: MLIR's generic form, and the operations' own forms as JAX prints them.
#pragma once

#include "frontends/stablehlo/program.hpp"

#include <string_view>

namespace tosavk::stablehlo {

/// Throws Error(bad_model), or Error(unsupported) for what is of another dialect, with line and column.
Program read_text(std::string_view text);

}  // namespace tosavk::stablehlo

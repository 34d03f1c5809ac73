// MLIR bytecode with VHLO (a "portable artifact") to a Program.
#pragma once

#include "frontends/stablehlo/program.hpp"

#include <span>

namespace tosavk::stablehlo {

bool is_bytecode(std::span<const std::byte> file);
/// Constants may be views into `file`. Throws Error(bad_model), or Error(unsupported) for what is newer or of another
/// dialect, with the place in the file.
Program read_bytecode(const SharedBytes& file);

}  // namespace tosavk::stablehlo

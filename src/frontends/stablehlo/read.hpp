// A file in any of the forms of StableHLO to a Program: a portable artifact, alone or wrapped by jax.export, or text.
#pragma once

#include "frontends/stablehlo/program.hpp"

#include <span>

namespace tosavk::stablehlo {

/// By what stands at its begin. Text is recognised by its first word, "module" or "func.func" (quoted or not), behind
/// definitions of aliases and comments.
bool is_stablehlo(std::span<const std::byte> file);

/// Constants may be views into `file`. Throws Error(bad_model) or Error(unsupported) with the place in the file, of a
/// wrapped artifact in the artifact.
Program read_program(const SharedBytes& file);

}  // namespace tosavk::stablehlo

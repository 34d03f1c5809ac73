// tosavk_load_options as the library has them.
#pragma once

#include "api/package.hpp"
#include "frontends/common/options.hpp"
#include "tosavk/tosavk.h"

namespace tosavk::api {

/// All but the precision; `given` may be null. Throws Error(usage) or Error(bad_input).
ImportOptions import_options(const tosavk_load_options* given);
/// Throws Error(usage).
tosavk_precision precision_of(const tosavk_load_options* given);
/// What no front end does: refuses an input's shape that the graph has not taken, and makes the graph one of
/// `precision`.
void apply_options(LoadedModel& model, const ImportOptions& options, tosavk_precision precision);

}  // namespace tosavk::api

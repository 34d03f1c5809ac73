// tosavk_load_options as the front ends have them.
#pragma once

#include "frontends/common/options.hpp"
#include "tosavk/tosavk.h"

namespace tosavk::api {

/// All but the precision; `given` may be null. Throws Error(usage) or Error(bad_input).
ImportOptions import_options(const tosavk_load_options* given);

}  // namespace tosavk::api

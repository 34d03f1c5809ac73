// tosavk_load_options as the library has them.
#pragma once

#include "api/package.hpp"
#include "frontends/common/options.hpp"
#include "tosavk/tosavk.h"

namespace tosavk::api {

/// All but the precision; `given` may be null. Throws Error(usage) or Error(bad_input).
ImportOptions import_options(const tosavk_load_options* given);
/// Throw Error(usage) for a number that is no value of the enumeration.
const Level& level_of(std::int32_t level);
std::int32_t checked_precision(std::int32_t precision);
/// The graph as it computes in a checked precision.
Graph in_precision(const Graph& graph, std::int32_t precision);
std::int32_t precision_of(const tosavk_load_options* given);
/// What no front end does: refuses an input's shape that the graph has not taken, and makes the graph one of
/// `precision`.
void apply_options(LoadedModel& model, const ImportOptions& options, std::int32_t precision);

}  // namespace tosavk::api

// --tune: what the library's tuner found for one model.
#pragma once

#include "measure.hpp"

namespace tosavk::bench {

/// Measures and keeps the choices. The JSON of tosavk_tune.
cli::Json tune(const cpp::Device& device, const cli::ModelOptions& model, const MeasureOptions& options);

/// A line for every candidate of every kind of kernel node: best times, and their ratio to the library's own choice.
std::string tuning_text(const std::string& name, const cli::Json& tuning);

}  // namespace tosavk::bench

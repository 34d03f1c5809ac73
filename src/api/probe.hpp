// The JSON of tosavk_probe_file and tosavk_builder_probe.
#pragma once

#include "frontends/common/probe.hpp"

#include <string>

namespace tosavk::api {

std::string probe_json(const ProbeReport& report);

}  // namespace tosavk::api

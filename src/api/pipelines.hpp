// What the driver's compiler made of an executable, as JSON (TOSAVK_EXECUTABLE_PIPELINES).
#pragma once

#include "vk/record/executable.hpp"

#include <string>

namespace tosavk::api {

std::string pipelines_json(const Executable& executable, bool assembly);

}  // namespace tosavk::api

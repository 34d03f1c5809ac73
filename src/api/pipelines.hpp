// What the driver's compiler made of an executable (TOSAVK_EXECUTABLE_PIPELINES), and how its kernels touch memory
// (TOSAVK_EXECUTABLE_ACCESSES), as JSON.
#pragma once

#include "vk/record/executable.hpp"

#include <string>

namespace tosavk::api {

std::string pipelines_json(const Executable& executable, bool assembly);
std::string accesses_json(const Executable& executable);

}  // namespace tosavk::api

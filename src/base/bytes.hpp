#pragma once

#include <cstddef>
#include <vector>

namespace tosavk {

using Bytes = std::vector<std::byte>;

}  // namespace tosavk

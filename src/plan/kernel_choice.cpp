#include "plan/kernel_choice.hpp"

#include <algorithm>

namespace tosavk {

std::array<std::uint32_t, 3> spill_groups(std::int64_t groups, const DevicePlan& device) {
    const std::int64_t most = device.max_groups_x;
    const std::int64_t x = std::clamp<std::int64_t>(groups, 1, most);
    const std::int64_t y = (groups + x - 1) / x;
    return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(std::max<std::int64_t>(y, 1)), 1};
}

std::array<std::uint32_t, 3> linear_groups(std::int64_t invocations, const DevicePlan& device) {
    const std::int64_t size = device.workgroup_size;
    return spill_groups((invocations + size - 1) / size, device);
}

}  // namespace tosavk

// What drivers do without saying so, defects that the library works around above all: each with a name, the device and the
// symptom.
#pragma once

#include "vk/device_plan.hpp"

#include <string_view>

namespace tosavk {

struct Quirk {
    std::string_view name;
    std::string_view driver;   ///< part of DeviceCaps::driver_name or name
    std::string_view symptom;  ///< what the driver does: for a defect, what goes wrong without the workaround
    std::string_view where;    ///< where the cause can be read
};

/// The quirk of that name if the device has it, else nullptr.
const Quirk* find_quirk(const DeviceCaps& caps, std::string_view name);

}  // namespace tosavk

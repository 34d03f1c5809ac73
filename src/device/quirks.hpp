// What drivers do beyond or against the specification, mostly defects that the library works around: each with a name.
#pragma once

#include "device/device_plan.hpp"

#include <string_view>

namespace tosavk {

struct Quirk {
    std::string_view name;
    std::string_view driver;   ///< part of DeviceCaps::driver_name or name
    std::string_view symptom;  ///< what the driver does
    std::string_view where;    ///< where the cause can be read
};

/// The quirk of that name if the device has it, else nullptr.
const Quirk* find_quirk(const DeviceCaps& caps, std::string_view name);

}  // namespace tosavk

// What drivers do beyond or against the specification, mostly defects that the library works around: each with a name.
#pragma once

#include "device/caps.hpp"
#include "device/facts.hpp"

#include <string_view>
#include <vector>

namespace tosavk {

struct Quirk {
    std::string_view name;
    std::string_view driver;      ///< part of DeviceCaps::driver_name or name
    std::string_view symptom;     ///< what the driver does
    std::string_view where;       ///< where the cause can be read
    Facts facts;                  ///< what follows; `symptom` and `where` are the reason and the source of each
    bool speed_only = false;      ///< without it results are the same
    std::uint32_t driver_id = 0;  ///< VkDriverId; 0: any of `driver`
};

/// Those that the device has. A device from a file (TOSAVK_CAPS) keeps those of the driver that runs it, unless it says
/// otherwise of those for speed (DeviceCaps::speed_quirks).
std::vector<const Quirk*> quirks_of(const DeviceCaps& caps);

}  // namespace tosavk

// The kinds of devices that the library knows: a table of rows, each with how it is recognised and the facts known of
// it. To add one: a row in architectures.cpp above the unknown devices, with the facts in which it differs from them.
#pragma once

#include "device/caps.hpp"
#include "device/facts.hpp"

#include <span>
#include <string_view>

namespace tosavk {

struct IdRange {
    std::uint32_t first = 0, last = 0;  ///< both included
};

/// What a device must be; a member that is left out does not matter.
struct Pattern {
    std::string_view type = {};    ///< DeviceCaps::type
    std::uint32_t driver_id = 0;   ///< VkDriverId
    std::string_view driver = {};  ///< part of DeviceCaps::driver_name or name
    std::uint32_t vendor_id = 0;
    std::span<const IdRange> device_ids = {};            ///< one of these
    bool (*features)(const DeviceCaps& caps) = nullptr;  ///< what else it shows itself by

    bool takes(const DeviceCaps& caps) const;
};

struct Architecture {
    std::string_view name;
    std::span<const Pattern> patterns;  ///< one of these takes the device
    Facts facts = {};                   ///< those that are known

    bool takes(const DeviceCaps& caps) const;
};

/// The whole table. The last row takes every device and states every fact.
std::span<const Architecture> architectures();

/// The first row that takes the device.
const Architecture& architecture_of(const DeviceCaps& caps);

/// Every fact of the device: as its driver's quirks state it, else the first row that takes the device and states it.
Facts facts_of(const DeviceCaps& caps);

}  // namespace tosavk

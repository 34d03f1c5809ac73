// Every Vulkan call that can fail goes through call(): a VkResult becomes an Error that names the call, and tests can
// inject a failure at each of them (fault.hpp).
#pragma once

#include "base/error.hpp"

#include <volk.h>
#include <string>

namespace tosavk {

const char* result_name(VkResult result);

/// Out of host or device memory -> out_of_memory, VK_ERROR_DEVICE_LOST -> device_lost, everything else -> device.
/// `what` says in a few words what the call was for.
[[noreturn]] void throw_result(VkResult result, const char* call, const std::string& what = {});

/// Counts one checked call; true when it has to fail.
bool take_fault();

/// Sets how many checked calls of this thread are left until one fails (0: none does), and answers with what was left.
int exchange_fault(int calls);

/// Makes the call, or fails in its place. An injected failure comes before the call, so nothing is left behind.
template <class Function, class... Arguments> VkResult try_call(Function function, Arguments... arguments) {
    return take_fault() ? VK_ERROR_OUT_OF_DEVICE_MEMORY : function(arguments...);
}

template <class Function, class... Arguments> void call(const char* name, Function function, Arguments... arguments) {
    const VkResult result = try_call(function, arguments...);
    if (result < VK_SUCCESS) {
        throw_result(result, name);
    }
}

}  // namespace tosavk

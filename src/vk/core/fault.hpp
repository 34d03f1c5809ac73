// Failure injection for tests: lets the n-th checked Vulkan call of this thread fail as if memory had run out.
#pragma once

namespace tosavk {

/// Arms the fault: the n-th checked call from now on (1 = the next) is not made and counts as
/// VK_ERROR_OUT_OF_DEVICE_MEMORY; then the fault is spent. n <= 0 disarms.
void fail_nth_vulkan_call(int n);

/// True while an armed fault has not been reached.
bool vulkan_fault_pending();

}  // namespace tosavk

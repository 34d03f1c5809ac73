// VkResult -> Error, and the counter behind the injected failures.
#include "vk/core/check.hpp"

#include "vk/core/fault.hpp"

#include <fmt/format.h>

#include <utility>

namespace tosavk {

namespace {
thread_local int calls_until_fault = 0;
}

void fail_nth_vulkan_call(int n) { calls_until_fault = n > 0 ? n : 0; }

bool vulkan_fault_pending() { return calls_until_fault > 0; }

int exchange_fault(int calls) { return std::exchange(calls_until_fault, calls); }

bool take_fault() { return calls_until_fault > 0 && --calls_until_fault == 0; }

const char* result_name(VkResult result) {
    switch (result) {
        case VK_SUCCESS: return "VK_SUCCESS";
        case VK_NOT_READY: return "VK_NOT_READY";
        case VK_TIMEOUT: return "VK_TIMEOUT";
        case VK_INCOMPLETE: return "VK_INCOMPLETE";
        case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
        case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
        case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
        case VK_ERROR_DEVICE_LOST: return "VK_ERROR_DEVICE_LOST";
        case VK_ERROR_MEMORY_MAP_FAILED: return "VK_ERROR_MEMORY_MAP_FAILED";
        case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
        case VK_ERROR_EXTENSION_NOT_PRESENT: return "VK_ERROR_EXTENSION_NOT_PRESENT";
        case VK_ERROR_FEATURE_NOT_PRESENT: return "VK_ERROR_FEATURE_NOT_PRESENT";
        case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
        case VK_ERROR_TOO_MANY_OBJECTS: return "VK_ERROR_TOO_MANY_OBJECTS";
        case VK_ERROR_FRAGMENTED_POOL: return "VK_ERROR_FRAGMENTED_POOL";
        case VK_ERROR_OUT_OF_POOL_MEMORY: return "VK_ERROR_OUT_OF_POOL_MEMORY";
        case VK_ERROR_INVALID_SHADER_NV: return "VK_ERROR_INVALID_SHADER_NV";
        case VK_ERROR_UNKNOWN: return "VK_ERROR_UNKNOWN";
        case VK_ERROR_INVALID_EXTERNAL_HANDLE: return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
        case VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS: return "VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS";
        case VK_ERROR_FORMAT_NOT_SUPPORTED: return "VK_ERROR_FORMAT_NOT_SUPPORTED";
        case VK_ERROR_FRAGMENTATION: return "VK_ERROR_FRAGMENTATION";
        default: return nullptr;
    }
}

void throw_result(VkResult result, const char* call, const std::string& what) {
    ErrorCode code = ErrorCode::device;
    switch (result) {
        case VK_ERROR_OUT_OF_HOST_MEMORY:
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        case VK_ERROR_OUT_OF_POOL_MEMORY:
        case VK_ERROR_FRAGMENTED_POOL: code = ErrorCode::out_of_memory; break;
        case VK_ERROR_DEVICE_LOST: code = ErrorCode::device_lost; break;
        default: break;
    }
    const char* known = result_name(result);
    const std::string name = known ? std::string(known) : fmt::format("VkResult {}", static_cast<int>(result));
    throw Error(code, what.empty() ? fmt::format("{} failed with {}", call, name)
                                   : fmt::format("{} ({}) failed with {}", call, what, name));
}

}  // namespace tosavk

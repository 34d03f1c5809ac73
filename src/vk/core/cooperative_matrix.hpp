// VK_KHR_cooperative_matrix: names and layouts of the extension, which the Vulkan headers of Debian 12 do not have yet.
// Values are those of the Vulkan registry (extension 507).
#pragma once

#include <volk.h>

#include <cstdint>

namespace tosavk::khr {

constexpr const char* cooperative_matrix_extension = "VK_KHR_cooperative_matrix";

constexpr auto cooperative_matrix_features_type = static_cast<VkStructureType>(1000506000);
constexpr auto cooperative_matrix_properties_type = static_cast<VkStructureType>(1000506001);

enum class ComponentType : std::int32_t { float16 = 0, float32 = 1, sint8 = 3, sint32 = 5 };
enum class Scope : std::int32_t { subgroup = 3 };

struct CooperativeMatrixFeatures {
    VkStructureType sType = cooperative_matrix_features_type;
    void* pNext = nullptr;
    VkBool32 cooperativeMatrix = VK_FALSE;
    VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

/// One form of product that a device has: A (MSize x KSize) times B (KSize x NSize) plus C.
struct CooperativeMatrixProperties {
    VkStructureType sType = cooperative_matrix_properties_type;
    void* pNext = nullptr;
    std::uint32_t MSize = 0, NSize = 0, KSize = 0;
    ComponentType AType{}, BType{}, CType{}, ResultType{};
    VkBool32 saturatingAccumulation = VK_FALSE;
    Scope scope{};
};

using GetCooperativeMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice device, std::uint32_t* count,
                                                            CooperativeMatrixProperties* properties);

}  // namespace tosavk::khr

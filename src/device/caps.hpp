// DeviceCaps: a plain snapshot of what a Vulkan device offers, its JSON text, and what a snapshot from a file may
// change (TOSAVK_CAPS=file.json), so that a test can plan for a phone it does not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tosavk {

/// What a subgroup multiplies at once: m x k by k x n elements. 0 x 0 x 0: nothing.
struct MatrixShape {
    std::uint32_t m = 0, n = 0, k = 0;

    explicit operator bool() const { return m != 0; }
    bool operator==(const MatrixShape&) const = default;
};

struct DeviceCaps {
    std::string name, driver_name, driver_info;
    std::uint32_t vendor_id = 0, device_id = 0, driver_version = 0, api_version = 0;
    std::uint32_t driver_id = 0;  ///< VkDriverId; 0: the driver does not say
    std::string type;             ///< "discrete", "integrated", "virtual", "cpu" or "other"
    std::string pipeline_cache_uuid;
    /// Of this very device, in hexadecimal, not in its JSON; `luid` is empty where the driver has none.
    std::string uuid, luid;

    bool int64 = false, int16 = false, int8 = false, fp16 = false, fp64 = false;
    bool storage8 = false, storage16 = false;
    bool push_descriptors = false, timeline_semaphores = false;
    bool signed_zero_inf_nan_preserve32 = false, rounding_rte32 = false, denorm_preserve32 = false;
    bool signed_zero_inf_nan_preserve16 = false, rounding_rte16 = false, denorm_preserve16 = false;
    bool rounding_independence32 = false, denorm_independence32 = false;  ///< fp32's mode may differ from fp16's
    bool integer_dot_product = false;
    bool dot_4x8_accelerated = false;        ///< integer_dot_product is one instruction for four signed pairs in words
    bool dot_4x8_mixed_accelerated = false;  ///< the same of signed by unsigned numbers
    bool unified_memory = false;             ///< the largest device-local heap is host-visible
    std::uint32_t subgroup_size = 0;
    std::uint32_t min_subgroup_size = 0, max_subgroup_size = 0;  ///< that may be asked for; 0: none
    bool subgroup_shuffle = false;                               ///< and ballot
    bool subgroup_size_control = false;  ///< compute pipelines may ask for whole subgroups of subgroup_size
    bool vulkan_memory_model = false;
    /// VK_KHR_cooperative_matrix, the largest product of a subgroup: i8 into i32, fp16 into fp32.
    MatrixShape cooperative_i8, cooperative_fp16;

    std::uint64_t max_storage_buffer_range = 0, min_storage_buffer_offset_alignment = 0;
    std::uint64_t min_texel_buffer_offset_alignment = 0;
    std::uint32_t max_storage_buffers_per_stage = 0, max_texel_buffer_elements = 0;
    std::uint32_t max_workgroup_invocations = 0, max_workgroup_size_x = 0, max_shared_memory = 0;
    std::uint32_t max_workgroup_count_x = 0, max_workgroup_count_y = 0, max_push_constants = 0;
    std::uint32_t timestamp_valid_bits = 0;
    double timestamp_period_ns = 0;
    /// False in a file for TOSAVK_CAPS: quirks that only make kernels faster on the driver at hand (Quirk::speed_only)
    /// are left out, so that the plan is that of the pretended device.
    bool speed_quirks = true;
    std::uint64_t device_memory_bytes = 0;
};

/// True where the driver's name or the device's has `part` in it.
bool is_driver(const DeviceCaps& caps, std::string_view part);

/// JSON text of a snapshot, and back (throws Error(usage) naming the key that is wrong). Missing keys keep `base`.
std::string caps_to_json(const DeviceCaps& caps);
DeviceCaps caps_from_json(const std::string& text, const DeviceCaps& base);
/// What TOSAVK_CAPS may do: `wanted` takes abilities away from `real` and lowers limits, it never adds any.
DeviceCaps restrict_caps(const DeviceCaps& real, const DeviceCaps& wanted);

}  // namespace tosavk

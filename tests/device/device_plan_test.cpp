// What is made of a device, its JSON form, restriction, and the choice of memory types.
#include "device/device_plan.hpp"
#include "base/error.hpp"
#include "support/require.hpp"
#include "vk/core/caps.hpp"
#include "vk/core/memory.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace tosavk;

namespace {

DeviceCaps desktop() {
    DeviceCaps caps;
    caps.name = "Desktop \"GPU\"";
    caps.driver_name = "driver";
    caps.driver_info = "1.2.3";
    caps.vendor_id = 0x10de;
    caps.device_id = 0xffffffff;
    caps.driver_version = 7;
    caps.api_version = VK_API_VERSION_1_3;
    caps.driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    caps.type = "discrete";
    caps.pipeline_cache_uuid = "00ff";
    caps.int64 = caps.int16 = caps.int8 = caps.fp16 = caps.fp64 = caps.storage8 = caps.storage16 = true;
    caps.push_descriptors = caps.timeline_semaphores = true;
    caps.signed_zero_inf_nan_preserve32 = caps.rounding_rte32 = caps.denorm_preserve32 = true;
    caps.signed_zero_inf_nan_preserve16 = caps.rounding_rte16 = caps.denorm_preserve16 = true;
    caps.rounding_independence32 = caps.denorm_independence32 = true;
    caps.integer_dot_product = caps.subgroup_size_control = caps.vulkan_memory_model = true;
    caps.cooperative_i8 = {16, 16, 32};
    caps.cooperative_fp16 = {16, 16, 16};
    caps.subgroup_size = 32;
    caps.subgroup_shuffle = true;
    caps.max_storage_buffer_range = 0xffffffff;
    caps.min_storage_buffer_offset_alignment = 16;
    caps.max_storage_buffers_per_stage = 1048576;
    caps.max_texel_buffer_elements = 134217728;
    caps.max_workgroup_invocations = caps.max_workgroup_size_x = 1024;
    caps.max_shared_memory = 49152;
    caps.max_workgroup_count_x = 2147483647;
    caps.max_workgroup_count_y = 65535;
    caps.max_push_constants = 256;
    caps.timestamp_valid_bits = 64;
    caps.timestamp_period_ns = 52.083333;
    caps.device_memory_bytes = std::uint64_t{24} << 30;
    return caps;
}

/// The least that Vulkan 1.1 lets a device have.
DeviceCaps phone() {
    DeviceCaps caps;
    caps.name = "Phone";
    caps.type = "integrated";
    caps.unified_memory = true;
    caps.api_version = VK_API_VERSION_1_1;
    caps.subgroup_size = 4;
    caps.max_storage_buffer_range = 1u << 27;
    caps.min_storage_buffer_offset_alignment = 512;
    caps.max_storage_buffers_per_stage = 4;
    caps.max_texel_buffer_elements = 65536;
    caps.max_workgroup_invocations = caps.max_workgroup_size_x = 128;
    caps.max_shared_memory = 16384;
    caps.max_workgroup_count_x = caps.max_workgroup_count_y = 65535;
    caps.max_push_constants = 128;
    return caps;
}

void expect_usage(const std::string& text, const std::string& part) {
    try {
        caps_from_json(text, phone());
        ADD_FAILURE() << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::usage);
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

}  // namespace

TEST(DevicePlan, Desktop) {
    const DevicePlan plan = device_plan(desktop());
    EXPECT_EQ(plan.workgroup_size, 64u);
    EXPECT_EQ(plan.buffer_alignment, 256u);
    EXPECT_EQ(plan.max_binding_bytes, 0x7ffffff0u);
    EXPECT_EQ(plan.max_buffers, 32u);
    EXPECT_EQ(plan.max_groups_x, 0x7fffffffu / 64);
    EXPECT_TRUE(plan.int64);
    EXPECT_TRUE(plan.nan_preserve);
    EXPECT_TRUE(plan.rte);
    EXPECT_TRUE(plan.native_fp16);
    EXPECT_FALSE(plan.map_in_place);
}

TEST(DevicePlan, Phone) {
    const DevicePlan plan = device_plan(phone());
    EXPECT_EQ(plan.workgroup_size, 64u);
    EXPECT_EQ(plan.buffer_alignment, 512u);
    EXPECT_EQ(plan.max_binding_bytes, 1u << 27);
    EXPECT_EQ(plan.max_buffers, 4u);
    EXPECT_EQ(plan.max_groups_x, 65535u);
    EXPECT_FALSE(plan.int64);
    EXPECT_FALSE(plan.nan_preserve);
    EXPECT_FALSE(plan.rte);
    EXPECT_FALSE(plan.native_fp16);
    EXPECT_TRUE(plan.map_in_place);
}

TEST(DevicePlan, TrustsOnlyDivisionsThatAreKnownToRoundCorrectly) {
    DeviceCaps caps = desktop();
    EXPECT_FALSE(device_plan(caps).exact_reciprocals);
    for (const char* driver : {"llvmpipe", "SwiftShader driver"}) {
        caps.driver_name = driver;
        EXPECT_TRUE(device_plan(caps).exact_reciprocals) << driver;
    }
}

TEST(DevicePlan, TexelBuffersWhereStorageLoadsAreSlow) {
    DeviceCaps caps = desktop();
    EXPECT_EQ(device_plan(caps).texel_elements, 0u);
    caps.driver_name = "llvmpipe";
    EXPECT_EQ(device_plan(caps).texel_elements, caps.max_texel_buffer_elements);
}

TEST(DevicePlan, MatrixProducts) {
    DeviceCaps caps = desktop();
    caps.integer_dot_product = caps.dot_4x8_accelerated = true;
    EXPECT_TRUE(device_plan(caps).shared_tiles);
    EXPECT_TRUE(device_plan(caps).dot4);
    EXPECT_FALSE(device_plan(caps).dot4_mixed);
    caps.dot_4x8_accelerated = false;
    EXPECT_FALSE(device_plan(caps).dot4) << "emulated, it is slower than what the kernels do";
    caps.dot_4x8_mixed_accelerated = true;
    EXPECT_TRUE(device_plan(caps).dot4 && device_plan(caps).dot4_mixed);
    caps.max_shared_memory = 8192;
    EXPECT_FALSE(device_plan(caps).shared_tiles);
    caps = desktop();
    caps.type = "cpu";
    EXPECT_FALSE(device_plan(caps).shared_tiles);
    EXPECT_EQ(device_plan(caps).workgroup_size, 128u);
    EXPECT_EQ(device_plan(desktop()).workgroup_size, 64u);
}

TEST(DevicePlan, CooperativeMatrices) {
    DeviceCaps caps = desktop();
    EXPECT_EQ(device_plan(caps).cooperative_i8, caps.cooperative_i8);
    EXPECT_EQ(device_plan(caps).cooperative_fp16, caps.cooperative_fp16);
    EXPECT_EQ(device_plan(caps).subgroup_size, 32u);
    caps.fp16 = false;
    EXPECT_FALSE(device_plan(caps).cooperative_fp16);
    EXPECT_TRUE(device_plan(caps).cooperative_i8);
    caps.subgroup_size_control = false;
    EXPECT_FALSE(device_plan(caps).cooperative_i8) << "a kernel must know how many invocations share a matrix";
    EXPECT_EQ(device_plan(caps).subgroup_size, 0u);
    caps = desktop();
    caps.vulkan_memory_model = false;
    EXPECT_FALSE(device_plan(caps).cooperative_i8);
    caps = desktop();
    caps.type = "cpu";
    EXPECT_FALSE(device_plan(caps).cooperative_i8);
}

TEST(DevicePlan, EveryChoiceHasASentence) {
    for (const DeviceCaps& caps : {desktop(), phone()}) {
        const DevicePlan plan = device_plan(caps);
        EXPECT_EQ(plan.reasons.size(), (plan.map_in_place ? 39u : 40u) + (plan.has_fp16 ? 2u : 0u));
        for (const std::string& reason : plan.reasons) {
            EXPECT_GT(reason.size(), 20u);
        }
        EXPECT_EQ(device_plan(caps).reasons, plan.reasons);
    }
}

TEST(DevicePlan, NativeFp16NeedsEveryPromise) {
    for (bool DeviceCaps::* promise :
         {&DeviceCaps::fp16, &DeviceCaps::rounding_rte16, &DeviceCaps::denorm_preserve16,
          &DeviceCaps::signed_zero_inf_nan_preserve16, &DeviceCaps::denorm_independence32}) {
        DeviceCaps caps = desktop();
        caps.*promise = false;
        EXPECT_FALSE(device_plan(caps).native_fp16);
    }
    // One rounding mode for all floats is enough where fp32 has that mode too.
    DeviceCaps caps = desktop();
    caps.rounding_independence32 = false;
    EXPECT_TRUE(device_plan(caps).native_fp16);
    caps.rounding_rte32 = false;
    EXPECT_FALSE(device_plan(caps).native_fp16);
}

TEST(DevicePlan, ADriverThatDropsRoundingsReadsFp16Natively) {
    DeviceCaps caps = desktop();
    EXPECT_TRUE(device_plan(caps).half_roundings);
    caps.name = "NVIDIA GeForce RTX 2060 (NVK TU106)";
    caps.driver_name = "NVK";
    caps.driver_id = 24;
    EXPECT_TRUE(device_plan(caps).half_roundings);
    caps.driver_name = "NVIDIA";
    caps.driver_id = 4;
    EXPECT_TRUE(device_plan(caps).native_fp16);
    EXPECT_FALSE(device_plan(caps).half_roundings);
}

TEST(DevicePlan, ADiscreteDeviceWithMappableMemoryIsStaged) {
    DeviceCaps caps = desktop();
    caps.unified_memory = true;
    EXPECT_FALSE(device_plan(caps).map_in_place);
}

TEST(CapsJson, RoundTrip) {
    for (const DeviceCaps& caps : {desktop(), phone(), DeviceCaps{}}) {
        const std::string text = caps_to_json(caps);
        EXPECT_EQ(caps_to_json(caps_from_json(text, DeviceCaps{})), text);
        EXPECT_EQ(caps_to_json(caps_from_json(text, desktop())), text);
    }
    const DeviceCaps read = caps_from_json(caps_to_json(desktop()), DeviceCaps{});
    EXPECT_EQ(read.name, "Desktop \"GPU\"");
    EXPECT_EQ(read.device_memory_bytes, std::uint64_t{24} << 30);
    EXPECT_EQ(read.timestamp_period_ns, 52.083333);
    EXPECT_TRUE(read.subgroup_shuffle);
}

TEST(CapsJson, EveryKeyCountsAlone) {
    // Each key taken from the desktop changes the phone's text (but for values that both share).
    const auto all = nlohmann::json::parse(caps_to_json(desktop()));
    const auto base = nlohmann::json::parse(caps_to_json(phone()));
    ASSERT_EQ(all.size(), 54u);
    for (const auto& [key, value] : all.items()) {
        const DeviceCaps changed = caps_from_json(nlohmann::json{{key, value}}.dump(), phone());
        auto expected = base;
        expected[key] = value;
        EXPECT_EQ(nlohmann::json::parse(caps_to_json(changed)), expected) << key;
    }
}

TEST(CapsJson, MissingKeysKeepTheBase) {
    const DeviceCaps caps = caps_from_json(R"({"int64": true})", phone());
    EXPECT_TRUE(caps.int64);
    EXPECT_EQ(caps.name, "Phone");
    EXPECT_EQ(caps.max_storage_buffers_per_stage, 4u);
}

TEST(CapsJson, NamesThatAreNotUtf8) {
    DeviceCaps caps = phone();
    caps.driver_info = "\xff\xfe";
    EXPECT_NO_THROW(caps_from_json(caps_to_json(caps), DeviceCaps{}));
}

TEST(CapsJson, WrongTextNamesTheKey) {
    expect_usage("", "not JSON");
    expect_usage("{", "not JSON");
    expect_usage("[1]", "object");
    expect_usage(R"({"int46": true})", "'int46' is unknown");
    expect_usage(R"({"int64": 1})", "'int64'");
    expect_usage(R"({"name": null})", "'name'");
    expect_usage(R"({"vendor_id": -1})", "'vendor_id'");
    expect_usage(R"({"vendor_id": 4294967296})", "'vendor_id'");
    expect_usage(R"({"vendor_id": 1.5})", "'vendor_id'");
    expect_usage(R"({"max_storage_buffer_range": "big"})", "'max_storage_buffer_range'");
    expect_usage(R"({"timestamp_period_ns": -1})", "'timestamp_period_ns'");
}

TEST(RestrictCaps, TakesAwayAndNeverAdds) {
    const DeviceCaps small = restrict_caps(desktop(), phone());
    EXPECT_EQ(small.name, "Phone");
    EXPECT_FALSE(small.int64);
    EXPECT_FALSE(small.unified_memory);  // the desktop has none
    EXPECT_EQ(small.min_storage_buffer_offset_alignment, 512u);
    EXPECT_EQ(small.max_storage_buffer_range, 1u << 27);
    EXPECT_EQ(small.max_workgroup_invocations, 128u);

    const DeviceCaps same = restrict_caps(phone(), desktop());
    EXPECT_FALSE(same.int64);
    EXPECT_FALSE(same.subgroup_shuffle);
    EXPECT_EQ(same.min_storage_buffer_offset_alignment, 512u);
    EXPECT_EQ(same.max_storage_buffers_per_stage, 4u);
    EXPECT_EQ(same.max_storage_buffer_range, 1u << 27);

    EXPECT_EQ(caps_to_json(restrict_caps(desktop(), desktop())), caps_to_json(desktop()));
}

TEST(RestrictCaps, AnotherSubgroupSizeForbidsShuffles) {
    DeviceCaps wanted = desktop();
    wanted.subgroup_size = 4;
    EXPECT_FALSE(restrict_caps(desktop(), wanted).subgroup_shuffle);
}

TEST(Profiles, PlansObeyThePretendedDevice) {
    const char* folder = std::getenv("TOSAVK_TEST_CAPS");
    TOSAVK_NEEDS_VARIABLE("TOSAVK_TEST_CAPS");
    int profiles = 0, phones = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        SCOPED_TRACE(entry.path().string());
        ++profiles;
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        const DeviceCaps wanted = caps_from_json(text, desktop());
        const DeviceCaps caps = restrict_caps(desktop(), wanted);
        const DevicePlan plan = device_plan(caps);
        EXPECT_EQ(caps.driver_name, "driver") << "a driver's quirks stay, whatever it pretends to be";
        EXPECT_LE(plan.workgroup_size, caps.max_workgroup_invocations);
        EXPECT_LE(plan.workgroup_size, caps.max_workgroup_size_x);
        EXPECT_LE(plan.max_binding_bytes, caps.max_storage_buffer_range);
        EXPECT_EQ(plan.buffer_alignment % caps.min_storage_buffer_offset_alignment, 0u);
        EXPECT_LE(plan.max_buffers, caps.max_storage_buffers_per_stage);
        EXPECT_LE(plan.max_groups_x, caps.max_workgroup_count_x);
        EXPECT_TRUE(caps.int64 || !plan.int64);
        EXPECT_TRUE(caps.rounding_rte32 || !plan.rte);
        EXPECT_TRUE((caps.fp16 && caps.rounding_rte16 && caps.denorm_preserve16) || !plan.native_fp16);
        EXPECT_TRUE(caps.signed_zero_inf_nan_preserve32 || !plan.nan_preserve);
        const std::string name = entry.path().stem();
        EXPECT_TRUE(name != "storage_only" || (plan.subgroup_lanes == 1 && plan.texel_elements == 0));
        if (!name.ends_with("_like")) continue;
        ++phones;
        EXPECT_FALSE(caps.int64 || caps.storage8 || caps.storage16 || caps.fp16 || caps.push_descriptors ||
                     caps.timeline_semaphores);
        EXPECT_EQ(caps.max_storage_buffer_range, 128u << 20);
        EXPECT_EQ(caps.max_shared_memory, 16u << 10);
        EXPECT_EQ(caps.max_workgroup_invocations, 128u);
        EXPECT_EQ(caps.min_storage_buffer_offset_alignment, 256u);
        EXPECT_EQ(caps.api_version, VK_API_VERSION_1_1);
        EXPECT_FALSE(caps.subgroup_shuffle);
    }
    EXPECT_EQ(profiles, 4);
    EXPECT_EQ(phones, 2);
}

TEST(MemoryTypes, TheBestOfEachKind) {
    constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    constexpr VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    VkPhysicalDeviceMemoryProperties memory{};
    const VkMemoryPropertyFlags types[] = {
        local | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD,  // 0: not for us
        local,                                               // 1
        visible | coherent,                                  // 2
        local | visible | coherent,                          // 3: the mapped window
        visible | coherent | cached,                         // 4
    };
    for (const VkMemoryPropertyFlags flags : types) {
        memory.memoryTypes[memory.memoryTypeCount++].propertyFlags = flags;
    }
    EXPECT_EQ(choose_memory_type(memory, ~0u, MemoryUse::device), 1u);
    EXPECT_EQ(choose_memory_type(memory, ~0u, MemoryUse::shared), 3u);
    EXPECT_EQ(choose_memory_type(memory, ~0u, MemoryUse::staging), 4u);
    EXPECT_EQ(choose_memory_type(memory, 0b00100, MemoryUse::device), 2u);
    EXPECT_EQ(choose_memory_type(memory, 0b01100, MemoryUse::staging), 2u);
    EXPECT_THROW(choose_memory_type(memory, 0b00011, MemoryUse::staging), Error);
    EXPECT_THROW(choose_memory_type(memory, 0b00001, MemoryUse::device), Error);
    EXPECT_THROW(choose_memory_type(memory, 0, MemoryUse::device), Error);
}

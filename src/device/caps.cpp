// DeviceCaps as JSON text and back, and what a snapshot from a file may change (TOSAVK_CAPS).
#include "device/caps.hpp"
#include "base/error.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

namespace tosavk {

namespace {

using Json = nlohmann::ordered_json;

/// The one list of the fields; keys equal the members' names.
template <class Caps, class Visit> void each_field(Caps& caps, Visit&& visit) {
    visit("name", caps.name);
    visit("driver_name", caps.driver_name);
    visit("driver_info", caps.driver_info);
    visit("vendor_id", caps.vendor_id);
    visit("device_id", caps.device_id);
    visit("driver_version", caps.driver_version);
    visit("api_version", caps.api_version);
    visit("driver_id", caps.driver_id);
    visit("type", caps.type);
    visit("pipeline_cache_uuid", caps.pipeline_cache_uuid);
    visit("int64", caps.int64);
    visit("int16", caps.int16);
    visit("int8", caps.int8);
    visit("fp16", caps.fp16);
    visit("fp64", caps.fp64);
    visit("storage8", caps.storage8);
    visit("storage16", caps.storage16);
    visit("push_descriptors", caps.push_descriptors);
    visit("timeline_semaphores", caps.timeline_semaphores);
    visit("signed_zero_inf_nan_preserve32", caps.signed_zero_inf_nan_preserve32);
    visit("rounding_rte32", caps.rounding_rte32);
    visit("denorm_preserve32", caps.denorm_preserve32);
    visit("signed_zero_inf_nan_preserve16", caps.signed_zero_inf_nan_preserve16);
    visit("rounding_rte16", caps.rounding_rte16);
    visit("denorm_preserve16", caps.denorm_preserve16);
    visit("rounding_independence32", caps.rounding_independence32);
    visit("denorm_independence32", caps.denorm_independence32);
    visit("integer_dot_product", caps.integer_dot_product);
    visit("dot_4x8_accelerated", caps.dot_4x8_accelerated);
    visit("dot_4x8_mixed_accelerated", caps.dot_4x8_mixed_accelerated);
    visit("unified_memory", caps.unified_memory);
    visit("subgroup_size", caps.subgroup_size);
    visit("min_subgroup_size", caps.min_subgroup_size);
    visit("max_subgroup_size", caps.max_subgroup_size);
    visit("subgroup_shuffle", caps.subgroup_shuffle);
    visit("subgroup_size_control", caps.subgroup_size_control);
    visit("vulkan_memory_model", caps.vulkan_memory_model);
    visit("cooperative_i8", caps.cooperative_i8);
    visit("cooperative_fp16", caps.cooperative_fp16);
    visit("max_storage_buffer_range", caps.max_storage_buffer_range);
    visit("min_storage_buffer_offset_alignment", caps.min_storage_buffer_offset_alignment);
    visit("min_texel_buffer_offset_alignment", caps.min_texel_buffer_offset_alignment);
    visit("max_storage_buffers_per_stage", caps.max_storage_buffers_per_stage);
    visit("max_texel_buffer_elements", caps.max_texel_buffer_elements);
    visit("max_workgroup_invocations", caps.max_workgroup_invocations);
    visit("max_workgroup_size_x", caps.max_workgroup_size_x);
    visit("max_shared_memory", caps.max_shared_memory);
    visit("max_workgroup_count_x", caps.max_workgroup_count_x);
    visit("max_workgroup_count_y", caps.max_workgroup_count_y);
    visit("max_push_constants", caps.max_push_constants);
    visit("timestamp_valid_bits", caps.timestamp_valid_bits);
    visit("timestamp_period_ns", caps.timestamp_period_ns);
    visit("device_memory_bytes", caps.device_memory_bytes);
    visit("speed_quirks", caps.speed_quirks);
}

[[noreturn]] void wrong_key(const std::string& key, const char* expected) {
    throw Error(ErrorCode::usage, fmt::format("device capabilities: key '{}' must be {}", key, expected));
}

void read_field(const std::string& key, const Json& json, bool& field) {
    if (!json.is_boolean()) {
        wrong_key(key, "true or false");
    }
    field = json.get<bool>();
}

void read_field(const std::string& key, const Json& json, std::string& field) {
    if (!json.is_string()) {
        wrong_key(key, "a string");
    }
    field = json.get<std::string>();
}

void read_field(const std::string& key, const Json& json, double& field) {
    if (!json.is_number() || json.get<double>() < 0) {
        wrong_key(key, "a number that is not negative");
    }
    field = json.get<double>();
}

void read_field(const std::string& key, const Json& json, MatrixShape& field) {
    const auto is_size = [](const Json& size) {
        return size.is_number_unsigned() && size.get<std::uint64_t>() <= 1024;
    };
    if (!json.is_array() || json.size() != 3 || !std::all_of(json.begin(), json.end(), is_size)) {
        wrong_key(key, "a list of three integers from 0 to 1024");
    }
    field = {json[0].get<std::uint32_t>(), json[1].get<std::uint32_t>(), json[2].get<std::uint32_t>()};
}

template <class Unsigned> void read_field(const std::string& key, const Json& json, Unsigned& field) {
    static_assert(std::is_unsigned_v<Unsigned>);
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > std::numeric_limits<Unsigned>::max()) {
        wrong_key(key, sizeof(Unsigned) == 4 ? "an integer from 0 to 4294967295" : "an integer that is not negative");
    }
    field = json.get<Unsigned>();
}

template <class T> const T& to_json_value(const T& field) { return field; }
Json to_json_value(const MatrixShape& field) { return {field.m, field.n, field.k}; }

/// Limits of which less is weaker.
constexpr std::uint32_t DeviceCaps::* lower_is_weaker[] = {
    &DeviceCaps::api_version,
    &DeviceCaps::max_storage_buffers_per_stage,
    &DeviceCaps::max_texel_buffer_elements,
    &DeviceCaps::max_workgroup_invocations,
    &DeviceCaps::max_workgroup_size_x,
    &DeviceCaps::max_shared_memory,
    &DeviceCaps::max_workgroup_count_x,
    &DeviceCaps::max_workgroup_count_y,
    &DeviceCaps::max_push_constants,
    &DeviceCaps::timestamp_valid_bits,
};

constexpr bool DeviceCaps::* abilities[] = {
    &DeviceCaps::int64,
    &DeviceCaps::int16,
    &DeviceCaps::int8,
    &DeviceCaps::fp16,
    &DeviceCaps::fp64,
    &DeviceCaps::storage8,
    &DeviceCaps::storage16,
    &DeviceCaps::push_descriptors,
    &DeviceCaps::timeline_semaphores,
    &DeviceCaps::signed_zero_inf_nan_preserve32,
    &DeviceCaps::rounding_rte32,
    &DeviceCaps::denorm_preserve32,
    &DeviceCaps::signed_zero_inf_nan_preserve16,
    &DeviceCaps::rounding_rte16,
    &DeviceCaps::denorm_preserve16,
    &DeviceCaps::rounding_independence32,
    &DeviceCaps::denorm_independence32,
    &DeviceCaps::integer_dot_product,
    &DeviceCaps::dot_4x8_accelerated,
    &DeviceCaps::dot_4x8_mixed_accelerated,
    &DeviceCaps::unified_memory,
    &DeviceCaps::subgroup_shuffle,
    &DeviceCaps::subgroup_size_control,
    &DeviceCaps::vulkan_memory_model,
    &DeviceCaps::speed_quirks,
};

}  // namespace

bool is_driver(const DeviceCaps& caps, std::string_view part) {
    return caps.driver_name.find(part) != std::string::npos || caps.name.find(part) != std::string::npos;
}

std::string caps_to_json(const DeviceCaps& caps) {
    Json json = Json::object();
    each_field(caps, [&json](const char* key, const auto& field) { json[key] = to_json_value(field); });
    // Driver strings are not promised to be UTF-8.
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

DeviceCaps caps_from_json(const std::string& text, const DeviceCaps& base) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) {
        throw Error(ErrorCode::usage, "device capabilities: the text is not JSON");
    }
    if (!json.is_object()) {
        throw Error(ErrorCode::usage, "device capabilities: the JSON text must be an object");
    }
    DeviceCaps caps = base;
    std::vector<std::string> known;
    each_field(caps, [&](const char* key, auto& field) {
        known.emplace_back(key);
        const auto found = json.find(key);
        if (found != json.end()) {
            read_field(key, *found, field);
        }
    });
    for (const auto& [key, value] : json.items()) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            throw Error(ErrorCode::usage, fmt::format("device capabilities: key '{}' is unknown", key));
        }
    }
    return caps;
}

DeviceCaps restrict_caps(const DeviceCaps& real, const DeviceCaps& wanted) {
    DeviceCaps caps = wanted;
    for (const auto field : abilities) {
        caps.*field = real.*field && wanted.*field;
    }
    for (const auto field : lower_is_weaker) {
        caps.*field = std::min(real.*field, wanted.*field);
    }
    caps.max_storage_buffer_range = std::min(real.max_storage_buffer_range, wanted.max_storage_buffer_range);
    caps.device_memory_bytes = std::min(real.device_memory_bytes, wanted.device_memory_bytes);
    caps.min_storage_buffer_offset_alignment =
        std::max(real.min_storage_buffer_offset_alignment, wanted.min_storage_buffer_offset_alignment);
    caps.min_texel_buffer_offset_alignment =
        std::max(real.min_texel_buffer_offset_alignment, wanted.min_texel_buffer_offset_alignment);
    caps.timestamp_period_ns = real.timestamp_period_ns;
    // Shaders that exchange values within a subgroup must know its true size.
    const bool same_subgroups = real.subgroup_size == wanted.subgroup_size;
    caps.subgroup_shuffle = caps.subgroup_shuffle && same_subgroups;
    for (MatrixShape DeviceCaps::* shape : {&DeviceCaps::cooperative_i8, &DeviceCaps::cooperative_fp16}) {
        if (!same_subgroups || !(wanted.*shape == real.*shape)) caps.*shape = {};
    }
    return caps;
}

}  // namespace tosavk

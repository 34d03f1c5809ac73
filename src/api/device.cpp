// Devices of the C ABI: listing, describing, opening.
#include "api/device_options.hpp"
#include "base/text.hpp"
#include "device/architectures.hpp"
#include "device/quirks.hpp"
#include "vk/measure/limits.hpp"
#include "vk/measure/open_device.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace tosavk;
using namespace tosavk::api;

namespace {

std::vector<DeviceCaps> devices() {
    std::vector<DeviceCaps> found = Device::enumerate();
    if (found.empty()) throw Error(ErrorCode::no_device, "no Vulkan device was found");
    return found;
}

std::string driver_text(const DeviceCaps& caps) {
    return caps.driver_info.empty() ? caps.driver_name : caps.driver_name + " " + caps.driver_info;
}

nlohmann::ordered_json plan_json(const DevicePlan& plan) {
    return {{"workgroup_size", plan.workgroup_size},
            {"buffer_alignment", plan.buffer_alignment},
            {"max_binding_bytes", plan.max_binding_bytes},
            {"max_buffers", plan.max_buffers},
            {"max_groups_x", plan.max_groups_x},
            {"int64", plan.int64},
            {"nan_preserve", plan.nan_preserve},
            {"rte", plan.rte},
            {"exact_reciprocals", plan.exact_reciprocals},
            {"native_fp16", plan.native_fp16},
            {"half_roundings", plan.half_roundings},
            {"has_fp16", plan.has_fp16},
            {"storage16", plan.storage16},
            {"half_texels", plan.half_texels},
            {"half_products", plan.half_products},
            {"map_in_place", plan.map_in_place},
            {"staging_bytes", plan.staging_bytes},
            {"timeline_semaphores", plan.timeline_semaphores},
            {"submit_work", plan.submit_work},
            {"submit_bytes", plan.submit_bytes}};
}

/// Which row of the table of architectures the device is, its driver's quirks, and each fact with its source.
nlohmann::ordered_json architecture_json(const DeviceCaps& caps) {
    nlohmann::ordered_json result;
    result["name"] = architecture_of(caps).name;
    result["quirks"] = nlohmann::ordered_json::array();
    for (const Quirk* quirk : quirks_of(caps)) result["quirks"].push_back(quirk->name);
    const Facts facts = facts_of(caps);
    each_fact([&](const char* name, auto member) {
        const auto& fact = facts.*member;
        result["facts"][name] = {{"value", *fact}, {"source", fact.source}};
    });
    return result;
}

nlohmann::ordered_json limits_json(const DeviceLimits& limits) {
    const auto if_any = [](double rate) {
        return rate > 0 ? nlohmann::ordered_json(rate) : nlohmann::ordered_json(nullptr);
    };
    nlohmann::ordered_json result;
    result["copy_gbytes_per_s"] = limits.copy_gbytes_per_s;
    result["fp32_gflops"] = limits.fp32_gflops;
    result["fp16_gflops"] = if_any(limits.fp16_gflops);
    result["int32_gops"] = limits.int32_gops;
    result["int8_gops"] = limits.int8_gops;
    result["matrix_fp16_gflops"] = if_any(limits.matrix_fp16_gflops);
    result["matrix_int8_gops"] = if_any(limits.matrix_int8_gops);
    result["dispatch_us"] = limits.dispatch_us;
    result["submit_us"] = limits.submit_us;
    result["stored"] = limits.stored;
    return result;
}

/// Of so many bytes; none, where the caller gives none.
std::string digits_of(const std::uint8_t* bytes, std::size_t count) {
    return bytes ? hexadecimal(std::as_bytes(std::span(bytes, count))) : std::string();
}

const char* type_of(std::int32_t type) {
    switch (type) {
        case TOSAVK_DEVICE_ANY: return "";
        case TOSAVK_DEVICE_DISCRETE: return "discrete";
        case TOSAVK_DEVICE_INTEGRATED: return "integrated";
        case TOSAVK_DEVICE_VIRTUAL: return "virtual";
        case TOSAVK_DEVICE_CPU: return "cpu";
        default: throw Error(ErrorCode::usage, fmt::format("{} is not a tosavk_device_type", type));
    }
}

tosavk_device* open(const DeviceOptions& options) { return make_device(open_device(options), options); }

}  // namespace

namespace tosavk::api {

DeviceOptions device_options(const tosavk_device_options& given) {
    DeviceOptions options(given.name ? given.name : "");
    options.uuid = digits_of(given.uuid, 16);
    options.luid = digits_of(given.luid, 8);
    options.type = type_of(given.type);
    options.vendor_id = given.vendor_id;
    options.ordinal = given.ordinal;
    if (given.threads > 1024)
        throw Error(ErrorCode::usage,
                    fmt::format("tosavk_device_options.threads is {}, more than 1024", given.threads));
    options.threads = given.threads;
    require_zero(static_cast<std::int32_t>(given.reserved), "tosavk_device_options.reserved");
    options.compile_only = is_set(given.compile_only, "compile_only");
    options.inspect = is_set(given.inspect, "inspect");
    if (is_set(given.no_cache, "no_cache") || given.cache_dir || given.cache_limit_bytes > 0) {
        CacheSettings cache = cache_settings();
        if (is_set(given.no_cache, "no_cache")) cache.off = "an option says so";
        else if (given.cache_dir && !caches_are_off()) {
            cache.off.clear();
            cache.directory = given.cache_dir;
        }
        if (given.cache_limit_bytes > 0) cache.limit_bytes = given.cache_limit_bytes;
        else if (cache.limit_bytes == 0) cache.limit_bytes = std::uint64_t{64} << 20;
        options.cache = std::move(cache);
    }
    if (!(given.submit_ms >= -1e6 && given.submit_ms <= 1e6))
        throw Error(ErrorCode::usage,
                    fmt::format("tosavk_device_options.submit_ms is {}, beyond 1e6", given.submit_ms));
    if (given.submit_ms != 0) options.submit_ms = std::max(0.0, given.submit_ms);
    return options;
}

tosavk_device* make_device(std::shared_ptr<Device> device, std::optional<DeviceOptions> opened_with) {
    auto made = std::make_unique<tosavk_device>();
    made->opened_with = std::move(opened_with);
    made->device = std::move(device);
    made->name = made->device->caps().name;
    made->driver = driver_text(made->device->caps());
    return made.release();
}

}  // namespace tosavk::api

tosavk_status tosavk_device_count(uint32_t* count, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(count, "count");
        *count = static_cast<std::uint32_t>(devices().size());
    });
}

tosavk_status tosavk_device_describe(uint32_t index, tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(json, "json");
        const std::vector<DeviceCaps> found = devices();
        if (index >= found.size()) {
            throw Error(ErrorCode::no_device,
                        fmt::format("there is no device {}; the number of devices is {}", index, found.size()));
        }
        const DeviceCaps& caps = found[index];
        DevicePlan plan = device_plan(caps);
        apply_environment(plan);
        nlohmann::ordered_json result;
        result["index"] = index;
        result["name"] = caps.name;
        result["driver"] = driver_text(caps);
        result["type"] = caps.type;
        result["uuid"] = caps.uuid;
        result["luid"] = caps.luid;
        result["caps"] = nlohmann::ordered_json::parse(caps_to_json(caps));
        result["architecture"] = architecture_json(caps);
        result["plan"] = plan_json(plan);
        result["reasons"] = plan.reasons;
        // Names come from drivers: bytes that are no UTF-8 are replaced rather than thrown over.
        *json = make_text(result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    });
}

tosavk_status tosavk_device_open(const char* name, tosavk_device** device, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        *device = open(name ? name : "");
    });
}

tosavk_status tosavk_device_open_with(const tosavk_device_options* options, tosavk_device** device,
                                      tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        *device = open(device_options(read_struct(options, "tosavk_device_options")));
    });
}

tosavk_status tosavk_device_limits(tosavk_device* device, tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(json, "json");
        *json = make_text(limits_json(measure_limits(device->device)).dump(2));
    });
}

tosavk_status tosavk_device_measure_limits(tosavk_device* device, tosavk_text** json, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(json, "json");
        *json = make_text(limits_json(measure_limits(device->device, true)).dump(2));
    });
}

tosavk_status tosavk_device_memory(const tosavk_device* device, tosavk_memory_info* info, tosavk_error** error) {
    return guard(__func__, error, [&](const Call& call) {
        call.require(device, "device");
        call.require(info, "info");
        const Device::MemoryReport report = device->device->memory_report();
        tosavk_memory_info result{};
        result.in_use = report.in_use;
        result.peak = report.peak;
        result.allocations = report.allocations;
        result.heap = report.heap;
        result.budget = report.budget;
        result.used = report.used;
        write_struct(info, result, "tosavk_memory_info");
    });
}

const char* tosavk_device_name(const tosavk_device* device) { return device ? device->name.c_str() : ""; }
const char* tosavk_device_driver(const tosavk_device* device) { return device ? device->driver.c_str() : ""; }
void tosavk_device_release(tosavk_device* device) { delete device; }

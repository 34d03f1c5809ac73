#include "limits.hpp"

#include <fmt/format.h>

namespace tosavk::bench {

using cli::Json;

Limits limits_of(const cpp::Device& device) {
    const Json json = Json::parse(device.limits());
    return {json.at("copy_gbytes_per_s"), json.at("fp32_gflops"), json.at("int32_gops"), json.at("dispatch_us"),
            json.at("submit_us")};
}

Json to_json(const Limits& limits) {
    if (!limits.known()) return Json::object();
    return {{"copy_gbytes_per_s", limits.copy_gbytes_per_s},
            {"fp32_gflops", limits.fp32_gflops},
            {"int32_gops", limits.int32_gops},
            {"dispatch_us", limits.dispatch_us},
            {"submit_us", limits.submit_us}};
}

std::string to_text(const Limits& limits) {
    if (!limits.known()) return "limits: not measured\n";
    return fmt::format(
        "limits: copy {:.1f} GB/s, fp32 {:.1f} GFLOP/s, int32 {:.1f} Gop/s, dispatch {:.1f} us, submit {:.1f} "
        "us\n",
        limits.copy_gbytes_per_s, limits.fp32_gflops, limits.int32_gops, limits.dispatch_us, limits.submit_us);
}

Floor floor_of(const Limits& limits, double work, double bytes, bool is_integer) {
    if (!limits.known()) return {0, ""};
    Floor floor{limits.dispatch_us / 1e3, "dispatch"};
    const auto raise = [&](double amount, double per_second_1e9, const char* limit) {
        const double ms = per_second_1e9 > 0 ? amount / (per_second_1e9 * 1e6) : 0;
        if (ms > floor.ms) floor = {ms, limit};
    };
    raise(bytes, limits.copy_gbytes_per_s, "memory");
    raise(work, is_integer ? limits.int32_gops : limits.fp32_gflops, is_integer ? "int32" : "fp32");
    return floor;
}

}  // namespace tosavk::bench

#include "limits.hpp"

#include <fmt/format.h>

namespace tosavk::bench {

using cli::Json;

Limits limits_of(const cpp::Device& device, bool anew) {
    const Json json = Json::parse(device.limits(anew));
    Limits limits;
    limits.copy_gbytes_per_s = json.at("copy_gbytes_per_s");
    limits.fp32_gflops = json.at("fp32_gflops");
    const auto if_any = [&](const char* name) { return json.at(name).is_null() ? 0.0 : json.at(name).get<double>(); };
    limits.fp16_gflops = if_any("fp16_gflops");
    limits.matrix_fp16_gflops = if_any("matrix_fp16_gflops");
    limits.matrix_int8_gops = if_any("matrix_int8_gops");
    limits.int32_gops = json.at("int32_gops");
    limits.int8_gops = json.at("int8_gops");
    limits.dispatch_us = json.at("dispatch_us");
    limits.submit_us = json.at("submit_us");
    limits.stored = json.at("stored");
    return limits;
}

Json to_json(const Limits& limits) {
    if (!limits.known()) return Json::object();
    const auto if_any = [](double rate) { return rate > 0 ? Json(rate) : Json(nullptr); };
    return {{"copy_gbytes_per_s", limits.copy_gbytes_per_s},
            {"fp32_gflops", limits.fp32_gflops},
            {"fp16_gflops", if_any(limits.fp16_gflops)},
            {"int32_gops", limits.int32_gops},
            {"int8_gops", limits.int8_gops},
            {"matrix_fp16_gflops", if_any(limits.matrix_fp16_gflops)},
            {"matrix_int8_gops", if_any(limits.matrix_int8_gops)},
            {"dispatch_us", limits.dispatch_us},
            {"submit_us", limits.submit_us},
            {"stored", limits.stored}};
}

std::string to_text(const Limits& limits) {
    if (!limits.known()) return "limits: not measured\n";
    const std::string fp16 = limits.fp16_gflops > 0 ? fmt::format("{:.1f} GFLOP/s", limits.fp16_gflops) : "-";
    std::string matrices;
    if (limits.matrix_fp16_gflops > 0)
        matrices += fmt::format("fp16 matrices {:.1f} GFLOP/s, ", limits.matrix_fp16_gflops);
    if (limits.matrix_int8_gops > 0) matrices += fmt::format("int8 matrices {:.1f} Gop/s, ", limits.matrix_int8_gops);
    return fmt::format(
        "limits: copy {:.1f} GB/s, fp32 {:.1f} GFLOP/s, fp16 {}, int32 {:.1f} Gop/s, int8 {:.1f} Gop/s, {}dispatch "
        "{:.1f} us, "
        "submit {:.1f} us{}\n",
        limits.copy_gbytes_per_s, limits.fp32_gflops, fp16, limits.int32_gops, limits.int8_gops, matrices,
        limits.dispatch_us, limits.submit_us,
        limits.stored ? " (measured earlier; --measure-limits measures anew)" : "");
}

Floor floor_of(const Limits& limits, double work, double bytes, tosavk_arithmetic arithmetic) {
    if (!limits.known()) return {0, ""};
    Floor floor{limits.dispatch_us / 1e3, "dispatch"};
    const auto raise = [&](double amount, double per_second_1e9, const char* limit) {
        const double ms = per_second_1e9 > 0 ? amount / (per_second_1e9 * 1e6) : 0;
        if (ms > floor.ms) floor = {ms, limit};
    };
    raise(bytes, limits.copy_gbytes_per_s, "memory");
    switch (arithmetic) {
        case TOSAVK_ARITHMETIC_FP16: raise(work, limits.fp16_gflops, "fp16"); break;
        case TOSAVK_ARITHMETIC_INT32: raise(work, limits.int32_gops, "int32"); break;
        case TOSAVK_ARITHMETIC_INT8: raise(work, limits.int8_gops, "int8"); break;
        case TOSAVK_ARITHMETIC_MATRIX_FP16: raise(work, limits.matrix_fp16_gflops, "fp16 matrices"); break;
        case TOSAVK_ARITHMETIC_MATRIX_INT8: raise(work, limits.matrix_int8_gops, "int8 matrices"); break;
        default: raise(work, limits.fp32_gflops, "fp32"); break;
    }
    return floor;
}

}  // namespace tosavk::bench

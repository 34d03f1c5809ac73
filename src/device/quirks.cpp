#include "device/quirks.hpp"

namespace tosavk {

namespace {

constexpr std::uint32_t driver_id_nvidia = 4;  // VkDriverId; its name is also in those of Mesa's devices

constexpr Quirk quirks[] = {
    {"llvmpipe_loop_limit",
     "llvmpipe",
     "the driver ends the loops of an invocation after 65535 passes in all, without an error",
     "Mesa, src/gallium/auxiliary/gallivm: LP_MAX_TGSI_LOOP_ITERATIONS",
     {.max_loop_passes = {60000}}},
    {"llvmpipe_slow_storage_loads",
     "llvmpipe",
     "a load from a storage buffer is compiled to a loop over the lanes with a bounds check each",
     "Mesa, src/gallium/auxiliary/gallivm: emit_load_mem",
     {.texel_reads = {true}, .wide_storage = {true}},
     true},
    {"exact_reciprocals",
     "llvmpipe",
     "1.0 / s, s from 1 to 2, is the host's division, which rounds correctly",
     "Mesa, src/gallium/auxiliary/gallivm: lp_build_rcp; shader_math_gpu_test checks every s",
     {.exact_reciprocals = {true}}},
    {"exact_reciprocals",
     "SwiftShader",
     "1.0 / s, s from 1 to 2, is the host's division, which rounds correctly",
     "SwiftShader, src/Reactor: createFDiv; shader_math_gpu_test checks every s",
     {.exact_reciprocals = {true}}},
    {"swiftshader_bottom_tests",
     "SwiftShader",
     "invocations that turn differently often get wrong results of loops that ask at their end",
     "seen with shaders/gemm_direct.comp in parts: direct_lines_gpu_test",
     {.bottom_tests = {false}}},
    {"swiftshader_slow_compiler",
     "SwiftShader",
     "shaders with large register tiles take seconds to compile",
     "seen with the tiles of shaders/gemm.comp in fp16",
     {.own_rows = {0}, .shuffles = {false}, .shared_tiles = {false}, .cooperative_matrices = {false}}},
    {"nvidia_dropped_roundings",
     "NVIDIA",
     "the compiler leaves out a rounding to fp16 that is converted back",
     "seen on 580.159 with vec4(f16vec4(x)): fp16_gpu_test",
     {.half_roundings = {false}},
     false,
     driver_id_nvidia},
};

}  // namespace

std::vector<const Quirk*> quirks_of(const DeviceCaps& caps) {
    std::vector<const Quirk*> found;
    for (const Quirk& quirk : quirks) {
        const bool same = quirk.driver_id == 0 || caps.driver_id == quirk.driver_id;
        if (same && is_driver(caps, quirk.driver) && (caps.speed_quirks || !quirk.speed_only)) found.push_back(&quirk);
    }
    return found;
}

}  // namespace tosavk

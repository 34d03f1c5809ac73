#include "compile/codegen/dialect.hpp"

#include "compile/codegen/single_elements.hpp"
#include "kernels/common/shader_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {
namespace {

/// Adds one of the modes of SPV_KHR_float_controls for floats of `bits`.
std::string float_mode(int capability, int mode, int bits) {
    return fmt::format(
        "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [{}], {}, {});\n", capability,
        mode, bits);
}
std::string denorm_preserve(int bits) { return float_mode(4464, 4459, bits); }
std::string signed_zero_inf_nan_preserve(int bits) { return float_mode(4466, 4461, bits); }
std::string rounding_mode_rte(int bits) { return float_mode(4467, 4462, bits); }

}  // namespace

const char* vector_type(DType t) {
    return t == DType::fp16 ? "half4" : is_float(t) ? "vec4" : t == DType::i48 ? "wide4" : "ivec4";
}
const char* splat_function(DType t) { return t == DType::i48 ? "wide_splat" : vector_type(t); }
const char* quad_function(DType t) { return t == DType::i48 ? "wide_quad" : vector_type(t); }
std::string element(DType t, const std::string& quad, int k) {
    return t == DType::i48 ? fmt::format("wide_get({}, {})", quad, k) : fmt::format("{}.{}", quad, "xyzw"[k]);
}

std::string rounded(DType t, const std::string& expression) {
    return is_small_float(t) ? fmt::format("round_{}({})", name_of(t), expression) : expression;
}

std::string_view library_text(const std::string& file, const DevicePlan& device) {
    const std::string_view text = shader_file(file);
    return device.function_elements < 4 ? in_single_elements(text, device.function_elements) : text;
}

std::string preamble(const DevicePlan& device, StoreForm stores, const Defines& defines, bool small_floats, bool fp16) {
    const bool fast_fp16 = fp16 && device.fast_fp16, native_fp16 = fp16 && device.native_fp16 && !fast_fp16;
    const bool cooperative =
        std::any_of(defines.begin(), defines.end(), [](const auto& define) { return define.first == "COOPERATIVE"; });
    std::string text = "#version 450\n";
    if (device.nan_preserve || device.rte || native_fp16 || device.dot4 || cooperative)
        text += "#extension GL_EXT_spirv_intrinsics : require\n";
    if (device.subgroup_lanes > 1)
        text +=
            "#extension GL_KHR_shader_subgroup_shuffle : require\n#extension GL_KHR_shader_subgroup_ballot : require\n";
    if (cooperative) {
        text +=
            "#pragma use_vulkan_memory_model\n#extension GL_KHR_memory_scope_semantics : require\n"
            "#extension GL_KHR_shader_subgroup_basic : require\n#extension GL_EXT_control_flow_attributes : require\n";
    }
    if (device.int64) text += "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
    if (native_fp16 || fast_fp16) text += "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n";
    const bool storage16 = fast_fp16 && device.storage16;
    if (storage16) text += "#extension GL_EXT_shader_16bit_storage : require\n";
    if (device.nan_preserve) text += signed_zero_inf_nan_preserve(32);
    if (device.rte) text += rounding_mode_rte(32);
    if (native_fp16) text += signed_zero_inf_nan_preserve(16) + rounding_mode_rte(16) + denorm_preserve(16);
    text += fmt::format("#define TOSAVK_INT64 {}\n#define TOSAVK_QUAD_STORES {}\n", int(device.int64),
                        int(stores == StoreForm::quads));
    text += fmt::format("#define TOSAVK_PAIRS {}\n#define TOSAVK_EIGHTS {}\n", int(device.slow_storage && device.int64),
                        int(stores == StoreForm::eights));
    text += fmt::format("#define TOSAVK_LANES {}\n#define TOSAVK_EXACT_RECIPROCALS {}\n#define TOSAVK_FMA {}\n",
                        device.subgroup_lanes, int(device.exact_reciprocals), int(device.fma_chains));
    for (const auto& [name, value] : defines) text += fmt::format("#define {} {}\n", name, value);
    text += "layout(local_size_x = 64, local_size_x_id = 1000) in;\n";
    for (const char* file : {"lib/types.glsl", "lib/index.glsl", "lib/wide.glsl", "lib/scale.glsl"}) {
        text += shader_file(file);
    }
    if (device.function_elements < 4) text += shader_file("lib/single_elements.glsl");
    text += library_text("lib/math.glsl", device);
    if (small_floats) {
        text += fmt::format(
            "#define TOSAVK_NATIVE_FP16 {}\n#define TOSAVK_HALF_ROUNDINGS {}\n#define TOSAVK_FAST_FP16 {}\n"
            "#define TOSAVK_STORAGE16 {}\n",
            int(native_fp16), int(native_fp16 && device.half_roundings), int(fast_fp16), int(storage16));
        text += library_text("lib/small_floats.glsl", device);
        if (fast_fp16) text += shader_file("lib/fast_fp16.glsl");
    }
    return text;
}

void Declarations::read(KernelOperand& operand, std::size_t index, std::uint64_t bytes, LoadForm form) {
    operand.path = path_of(bytes, operand.type, device_);
    const std::string name = fmt::format("in{}", index);
    const bool texels = is_texels(operand.path);
    const std::uint32_t parts = texels ? 1 : binding_count(bytes, device_);
    if (parts > 1) {
        for (std::uint32_t p = 0; p < parts; ++p) text += fmt::format("READ_PART({}, {}, {})\n", name, p, bindings + p);
        pick("int", name, "word", "", "w", 4, parts, "return {}");
        pick("ivec4", name, "quad", "", "q", 16, parts, "return {}");
        text +=
            fmt::format("ivec2 {0}_pair(uint i) {{ return ivec2({0}_word(2u * i), {0}_word(2u * i + 1u)); }}\n", name);
    }
    const bool eights = form == LoadForm::eights && has_load8(bytes, operand.type, device_);
    const bool halves = texels && operand.type == DType::fp16 && device_.fast_fp16 && device_.half_texels;
    if (halves) operand.path = ReadPath::half_texels;
    const char* from = halves    ? "HALF_TEXELS"
                     : texels    ? (eights ? "TEXEL_PAIRS" : "TEXELS")
                     : parts > 1 ? "PARTS"
                                 : "BUFFER";
    text += fmt::format("READ_{}({}, {}, {})\n", name_of(operand.type), name, bindings, from);
    if (eights) {
        if (texels) operand.path = ReadPath::texel_pairs;
        else text += fmt::format("EIGHTS_{}({}, {})\n", name_of(operand.type), name, bindings);
        text += fmt::format("#define IN{}_EIGHTS\n", index);
    }
    if (form == LoadForm::sixteens && has_words16(bytes, operand.type, device_))
        text += fmt::format("SIXTEENS_i8({}, {})\n#define IN{}_SIXTEENS\n", name, bindings, index);
    bindings += parts;
}

void Declarations::write(DType type, std::size_t index, std::uint64_t bytes) {
    const std::uint32_t parts = binding_count(bytes, device_);
    if (parts > 1) {
        const std::string name = fmt::format("out{}{}", index, is_small_float(type) ? "_bits" : "");
        const bool words = size_of(type) < 4;
        for (std::uint32_t p = 0; p < parts; ++p) {
            text += fmt::format("WRITE_PART_{}({}, {}, {})\n", words ? 1 : 4, name, p, bindings + p);
        }
        if (words || !quad_stores_) pick("void", name, "put", ", int x", "w", 4, parts, "{} = x");
        else pick("void", name, "put4", ", ivec4 x", "q", 16, parts, "{} = x");
        if (!words && !quad_stores_) pick("void", name, "raise", ", int x", "w", 4, parts, "atomicMax({}, x)");
        if (words) pick("void", name, "mix", ", int mask, int x", "w", 4, parts, "MIX({}, mask, x)");
    }
    text +=
        fmt::format("WRITE_{}(out{}, {}, {})\n", name_of(type), index, bindings, parts > 1 ? "PART_STORES" : "STORES");
    bindings += parts;
}

/// A function of element `i` (of `bytes` bytes) that does something to the part which has it.
void Declarations::pick(const char* type, const std::string& name, const char* function, const char* more,
                        const char* array, std::uint64_t bytes, std::uint32_t parts, const char* statement) {
    text += fmt::format("{} {}_{}(uint i{}) {{\n    uint p = i / {}u, k = i % {}u;\n", type, name, function, more,
                        part_bytes(device_) / bytes, part_bytes(device_) / bytes);
    for (std::uint32_t p = 0; p < parts; ++p) {
        const std::string element = fmt::format("{}_{}{}[k]", name, array, p);
        text +=
            fmt::format("    {}{}{};\n", p == 0 ? "" : "else ", p + 1 == parts ? "" : fmt::format("if (p == {}u) ", p),
                        fmt::format(fmt::runtime(statement), element));
    }
    text += "}\n";
}

}  // namespace tosavk

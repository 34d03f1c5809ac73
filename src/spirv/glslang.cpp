#include "spirv/glslang.hpp"

#include "base/error.hpp"
#include "spirv/cooperative_types.hpp"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <fmt/format.h>

#include <atomic>
#include <mutex>

namespace tosavk {

namespace {

std::atomic<bool> initialised_once{false};

// Goes up when compile_glsl comes to ask for something else, or changes what it gets in another way.
constexpr int settings_revision = 1;

}  // namespace

std::string glslang_identity() {
    const glslang::Version version = glslang::GetVersion();
    return fmt::format("glslang {}.{}.{} generator {} settings {}", version.major, version.minor, version.patch,
                       glslang::GetSpirvGeneratorVersion(), settings_revision);
}

bool glslang_initialised() { return initialised_once; }

std::vector<std::uint32_t> compile_glsl(const std::string& glsl, const std::string& name) {
    static std::mutex mutex;  // glslang shares symbol tables between threads
    const std::lock_guard lock(mutex);
    initialised_once = true;
    static const bool initialised = glslang::InitializeProcess();
    if (!initialised) throw Error(ErrorCode::internal, "glslang cannot be initialised");

    glslang::TShader shader(EShLangCompute);
    const char* text = glsl.c_str();
    const char* label = name.c_str();
    shader.setStringsWithLengthsAndNames(&text, nullptr, &label, 1);
    shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 110);
    shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_1);
    shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_3);
    const auto messages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
    if (!shader.parse(GetDefaultResources(), 450, false, messages)) {
        throw Error(ErrorCode::internal,
                    fmt::format("the generated shader '{}' does not compile: {}", name, shader.getInfoLog()));
    }
    glslang::TProgram program;
    program.addShader(&shader);
    if (!program.link(messages)) {
        throw Error(ErrorCode::internal,
                    fmt::format("the generated shader '{}' does not link: {}", name, program.getInfoLog()));
    }
    std::vector<std::uint32_t> spirv;
    glslang::SpvOptions options;
    options.disableOptimizer = true;
    glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), spirv, &options);
    set_cooperative_types(spirv);
    return spirv;
}

}  // namespace tosavk

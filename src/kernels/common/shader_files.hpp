// The GLSL files under shaders/, compiled into the library (cmake/embed_shaders.cmake).
#pragma once

#include <span>
#include <string_view>

namespace tosavk {

struct ShaderFile {
    std::string_view name;  ///< relative to shaders/: "conv.comp", "lib/math.glsl"
    std::string_view text;
};

std::span<const ShaderFile> embedded_shaders();

}  // namespace tosavk

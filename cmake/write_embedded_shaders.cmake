# Writes OUTPUT: a table of file name (relative to ROOT) and text for every file in FILES.
set(text "#include \"kernels/common/shader_files.hpp\"\n\nnamespace tosavk {\n\nstd::span<const ShaderFile> embedded_shaders() {\n    static const ShaderFile files[] = {\n")
foreach(file IN LISTS FILES)
  file(READ ${file} body)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND text "        {\"${name}\", R\"glsl(${body})glsl\"},\n")
endforeach()
string(APPEND text "    };\n    return files;\n}\n\n}  // namespace tosavk\n")
file(WRITE ${OUTPUT} "${text}")

# All from Debian packages; scripts/install-dependencies names them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

find_program(TOSAVK_FLATC flatc REQUIRED)
find_path(TOSAVK_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_path(TOSAVK_VOLK_INCLUDE volk.h REQUIRED)
find_path(TOSAVK_LIBMD_INCLUDE sha2.h REQUIRED)
find_library(TOSAVK_LIB_MD NAMES libmd.a md REQUIRED)

# glslang and SPIRV-Tools come as static archives without usable CMake files in Debian 12.
add_library(tosavk_glslang INTERFACE)
foreach(library glslang MachineIndependent GenericCodeGen OSDependent OGLCompiler SPIRV glslang-default-resource-limits SPIRV-Tools-opt SPIRV-Tools)
  find_library(TOSAVK_LIB_${library} NAMES lib${library}.a ${library} REQUIRED)
  target_link_libraries(tosavk_glslang INTERFACE ${TOSAVK_LIB_${library}})
endforeach()
target_link_libraries(tosavk_glslang INTERFACE Threads::Threads)

# Turns shaders/**/*.{glsl,comp} into one C++ file, so that the library needs no files at run time.
file(GLOB_RECURSE TOSAVK_SHADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/shaders/*.glsl ${CMAKE_SOURCE_DIR}/shaders/*.comp)
set(TOSAVK_EMBEDDED_SHADERS ${CMAKE_BINARY_DIR}/generated/embedded_shaders.cpp)
add_custom_command(
  OUTPUT ${TOSAVK_EMBEDDED_SHADERS}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${TOSAVK_EMBEDDED_SHADERS} -DROOT=${CMAKE_SOURCE_DIR}/shaders
          "-DFILES=${TOSAVK_SHADERS}" -P ${CMAKE_SOURCE_DIR}/cmake/write_embedded_shaders.cmake
  DEPENDS ${TOSAVK_SHADERS} ${CMAKE_SOURCE_DIR}/cmake/write_embedded_shaders.cmake
  VERBATIM)

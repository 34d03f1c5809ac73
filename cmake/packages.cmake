# cpack: the Debian packages libtosavk1, libtosavk-dev, libtosavk-tflite-delegate, libtosavk-pjrt and tosavk-tools, one for
# each component of install.cmake.
# scripts/packages configures a build for them, with /usr as its prefix.
set(CMAKE_SKIP_INSTALL_RPATH ON)  # the library lies where the system looks
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tosa-vk)
set(CPACK_PACKAGE_VENDOR "tosa-vk")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development delegate pjrt tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "tosa-vk maintainers <maintainers@tosa-vk.example>")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "runs TOSA graphs on any Vulkan device - library
tosa-vk compiles neural networks, as TOSA graphs or TensorFlow Lite files, to
compute shaders for one Vulkan device and runs them there. This package has
the shared library, and shaders of common graphs compiled ahead of time.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtosavk1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# Opened at run time, so that no tool can see it.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS libvulkan1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS mesa-vulkan-drivers)
file(WRITE ${CMAKE_BINARY_DIR}/control/shlibs "libtosavk 1 libtosavk1 (>= ${PROJECT_VERSION})\n")
file(WRITE ${CMAKE_BINARY_DIR}/control/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/control/shlibs ${CMAKE_BINARY_DIR}/control/triggers)

set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "runs TOSA graphs on any Vulkan device - development files
tosa-vk compiles neural networks, as TOSA graphs or TensorFlow Lite files, to
compute shaders for one Vulkan device and runs them there. This package has
the headers for C and C++, and what CMake and pkg-config read.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtosavk-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# vulkan.h includes Vulkan's headers.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtosavk1 (= ${PROJECT_VERSION}), libvulkan-dev")

set(CPACK_COMPONENT_DELEGATE_DESCRIPTION "runs TOSA graphs on any Vulkan device - TFLite delegate
tosa-vk compiles neural networks, as TOSA graphs or TensorFlow Lite files, to
compute shaders for one Vulkan device and runs them there. This package has
the external delegate that makes a TensorFlow Lite runtime do so.")
set(CPACK_DEBIAN_DELEGATE_PACKAGE_NAME libtosavk-tflite-delegate)
set(CPACK_DEBIAN_DELEGATE_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DELEGATE_PACKAGE_DEPENDS "libtosavk1 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DELEGATE_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/control/triggers)

set(CPACK_COMPONENT_PJRT_DESCRIPTION "runs TOSA graphs on any Vulkan device - PJRT plug-in
tosa-vk compiles neural networks, as TOSA graphs or TensorFlow Lite files, to
compute shaders for one Vulkan device and runs them there. This package has
the PJRT plug-in that makes JAX do so.")
set(CPACK_DEBIAN_PJRT_PACKAGE_NAME libtosavk-pjrt)
set(CPACK_DEBIAN_PJRT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PJRT_PACKAGE_DEPENDS "libtosavk1 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PJRT_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/control/triggers)

set(CPACK_COMPONENT_TOOLS_DESCRIPTION "runs TOSA graphs on any Vulkan device - programs
tosa-vk compiles neural networks, as TOSA graphs or TensorFlow Lite files, to
compute shaders for one Vulkan device and runs them there. This package has
the programs tosa-vk, which runs, checks and converts networks, and
tosa-vk-bench, which measures them.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME tosavk-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libtosavk1 (= ${PROJECT_VERSION})")

# Each package says its licence and its history.
string(TIMESTAMP build_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${CMAKE_BINARY_DIR}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tosa-vk

Files: *
Copyright: 2026, the authors of tosa-vk
License: Apache-2.0
Comment: what is linked into the programs and the library is under the licences
 that lie in the folder licences beside this file.

License: Apache-2.0
 On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.
")
file(WRITE ${CMAKE_BINARY_DIR}/changelog "tosa-vk (${PROJECT_VERSION}) unstable; urgency=medium

  * Version ${PROJECT_VERSION}.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${build_date}
")
execute_process(COMMAND gzip -9nkf ${CMAKE_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
foreach(pair library:libtosavk1 development:libtosavk-dev delegate:libtosavk-tflite-delegate
        pjrt:libtosavk-pjrt tools:tosavk-tools)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  if(NOT component STREQUAL development)
    foreach(linked ${TOSAVK_LINKED_PACKAGES})
      if(EXISTS /usr/share/doc/${linked}/copyright)
        install(FILES /usr/share/doc/${linked}/copyright RENAME ${linked}
                DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}/licences COMPONENT ${component})
      endif()
    endforeach()
  endif()
  install(FILES ${CMAKE_BINARY_DIR}/copyright ${CMAKE_BINARY_DIR}/changelog.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()
include(CPack)

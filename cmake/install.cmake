# cmake --install: the library, its headers, the programs, and what find_package(tosa-vk) and pkg-config read.
if(TARGET tosavk)
  include(CMakePackageConfigHelpers)
  # Components are the Debian packages of packages.cmake.
  install(TARGETS tosavk EXPORT tosa-vk LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
          NAMELINK_COMPONENT development)
  if(TARGET tosavk_tflite_delegate)
    set_target_properties(tosavk_tflite_delegate PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS tosavk_tflite_delegate LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT delegate)
  endif()
  if(TARGET tosavk_pjrt)
    set_target_properties(tosavk_pjrt PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS tosavk_pjrt LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT pjrt)
  endif()
  install(DIRECTORY include/tosavk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  foreach(program tosa-vk tosa-vk-bench)
    if(TARGET ${program})
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
      install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
    endif()
  endforeach()
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tosa-vk)
  install(EXPORT tosa-vk FILE tosa-vk-config.cmake NAMESPACE tosa-vk:: DESTINATION ${package_dir}
          COMPONENT development)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/tosa-vk-config-version.cmake COMPATIBILITY SameMajorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/tosa-vk-config-version.cmake DESTINATION ${package_dir}
          COMPONENT development)
  # Written when it is installed, which is when the prefix is known; where it goes, so that two installations at once do
  # not meet.
  install(CODE "
    set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
    set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    set(file \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/tosa-vk.pc\")
    message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
    configure_file(\"${CMAKE_CURRENT_SOURCE_DIR}/cmake/tosa-vk.pc.in\" \"\$ENV{DESTDIR}\${file}\" @ONLY)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")"
    COMPONENT development)
  if(NOT TOSAVK_PACKAGES)
    install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tosa-vk)
  endif()
endif()

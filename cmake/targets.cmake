# tosavk_target(NAME): the compile settings of every target of this project.
function(tosavk_target name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wshadow -Wno-missing-field-initializers -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${name} PRIVATE -Wno-restrict)  # false alarms on std::string operator+ (GCC bug 105651)
  endif()
  if(TOSAVK_WHOLE_BUILDS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With a precompiled <string>, GCC warns of what it else knows to be the standard library's.
    target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    # No garbage collection below a GB: a tenth of the compiler's time.
    target_compile_options(${name} PRIVATE "SHELL:--param ggc-min-heapsize=1000000")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE -Wno-deprecated-declarations)  # the standard library uses its own
  endif()
  if(TOSAVK_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  if(TOSAVK_SANITIZE)
    # Debian's glslang is built without RTTI, which the vptr check would need.
    target_compile_options(${name} PRIVATE -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_link_options(${name} PRIVATE -fsanitize=address,undefined)
  elseif(TOSAVK_SANITIZE_THREADS)
    target_compile_options(${name} PRIVATE -fsanitize=thread -fno-omit-frame-pointer)
    target_link_options(${name} PRIVATE -fsanitize=thread)
  endif()
endfunction()

# tosavk_quick_to_build(NAME): for programs and tests, which spend their time in the library. Templates of CLI11,
# nlohmann-json and GoogleTest take the compiler twice as long at -O3.
function(tosavk_quick_to_build name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# tosavk_precompile(NAME HEADER...) or tosavk_precompile(NAME REUSE_FROM OTHER): headers whose templates take longer to
# read than the file itself takes to compile.
function(tosavk_precompile name)
  if(TOSAVK_WHOLE_BUILDS)
    if("${ARGV1}" STREQUAL REUSE_FROM)
      target_precompile_headers(${name} REUSE_FROM ${ARGV2})
    else()
      target_precompile_headers(${name} PRIVATE ${ARGN})
    endif()
  endif()
endfunction()

# tosavk_compile_fast(NAME): for tests, half of whose compile time is the optimizer's.
function(tosavk_compile_fast name)
  if(TOSAVK_WHOLE_BUILDS)
    target_compile_options(${name} PRIVATE -O0)
    target_link_options(${name} PRIVATE -fuse-ld=gold)
  else()
    tosavk_quick_to_build(${name})
  endif()
endfunction()

# tosavk_compile_plainly(NAME): for rooms in which little is computed.
function(tosavk_compile_plainly name)
  if(TOSAVK_WHOLE_BUILDS)
    tosavk_quick_to_build(${name})
  endif()
endfunction()

# tosavk_join_files(NAME): a few files at a time are compiled as one, since reading headers takes most of the time (CLI11
# and nlohmann-json seconds for each file of the programs).
function(tosavk_join_files name)
  if(TOSAVK_WHOLE_BUILDS)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

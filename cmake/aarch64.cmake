# Toolchain: Debian's cross compiler for 64-bit Arm, with headers, libraries and lavapipe of Debian's arm64 packages in a
# folder of their own, which scripts/aarch64 makes. Programs of the build run there under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(TOSAVK_AARCH64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build-aarch64/root CACHE PATH "Unpacked arm64 packages")
get_filename_component(root ${TOSAVK_AARCH64_ROOT} ABSOLUTE)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TOSAVK_AARCH64_ROOT)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${root})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${root})

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)  # flatc is the host's
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

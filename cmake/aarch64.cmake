# SPDX-License-Identifier: Apache-2.0
#
# Toolchain file for aarch64 with Debian's cross compiler. Libraries for the target lie in
# OPSCOPE_SYSROOT (scripts/aarch64-sysroot.sh makes it); the unit tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(OPSCOPE_CROSS_CXX aarch64-linux-gnu-g++)
if(OPSCOPE_CROSS_CXX)
  set(CMAKE_CXX_COMPILER ${OPSCOPE_CROSS_CXX})
else()
  set(CMAKE_CXX_COMPILER "") # never the host's
endif()

set(OPSCOPE_SYSROOT "" CACHE PATH "Folder with Debian's arm64 packages unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OPSCOPE_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${OPSCOPE_SYSROOT} /usr/aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${OPSCOPE_SYSROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -L /usr/aarch64-linux-gnu
    -E LD_LIBRARY_PATH=${OPSCOPE_SYSROOT}/usr/lib/aarch64-linux-gnu)

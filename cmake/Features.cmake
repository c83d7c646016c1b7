# SPDX-License-Identifier: Apache-2.0
#
# Finds what the build can use and writes build_config.h, from which `opscope doctor` says what this build
# has and lacks. OPSCOPE_MINIMAL hides everything that is optional.

set(features "")
set(missing "")

find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_LIBRARY zstd)
if(NOT ZSTD_INCLUDE_DIR OR NOT ZSTD_LIBRARY)
  message(FATAL_ERROR "opscope needs zstd to store traces (Debian: apt-get install libzstd-dev)")
endif()
file(STRINGS ${ZSTD_INCLUDE_DIR}/zstd.h zstd_lines REGEX "define ZSTD_VERSION_(MAJOR|MINOR|RELEASE) +[0-9]+")
string(REGEX REPLACE "[^0-9;]" "" ZSTD_VERSION "${zstd_lines}")
string(REPLACE ";" "." ZSTD_VERSION "${ZSTD_VERSION}")
list(APPEND features "zstd ${ZSTD_VERSION}")

list(APPEND features "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}" "${CMAKE_SYSTEM_PROCESSOR}")
if(OPSCOPE_SANITIZE)
  list(APPEND features "sanitizers ${OPSCOPE_SANITIZE}")
endif()

if(CMAKE_CXX_COMPILER AND NOT OPSCOPE_MINIMAL)
  set(OPSCOPE_HAVE_CXX 1)
  list(APPEND features "C++ examples and tests")
else()
  set(OPSCOPE_HAVE_CXX 0)
  list(APPEND missing "C++ compiler (C++ examples and tests are not built)")
endif()

if(NOT OPSCOPE_MINIMAL)
  find_path(CMOCKA_INCLUDE_DIR cmocka.h)
  find_library(CMOCKA_LIBRARY cmocka)
endif()
if(CMOCKA_INCLUDE_DIR AND CMOCKA_LIBRARY AND NOT OPSCOPE_MINIMAL)
  set(OPSCOPE_HAVE_CMOCKA 1)
  list(APPEND features "unit tests")
else()
  set(OPSCOPE_HAVE_CMOCKA 0)
  list(APPEND missing "cmocka (unit tests are not built)")
endif()

if(OPSCOPE_PYTHON_BUILT)
  list(JOIN OPSCOPE_PYTHON_BUILT ", " python_versions)
  list(APPEND features "Python ${python_versions}")
else()
  list(APPEND missing "Python extension (${OPSCOPE_PYTHON_LEFT_OUT})")
endif()

list(JOIN features "; " OPSCOPE_BUILD_FEATURES)
list(JOIN missing "; " OPSCOPE_BUILD_MISSING)
configure_file(${CMAKE_SOURCE_DIR}/cmake/build_config.h.in ${CMAKE_BINARY_DIR}/generated/build_config.h @ONLY)
message(STATUS "opscope: built with ${OPSCOPE_BUILD_FEATURES}")
if(missing)
  message(STATUS "opscope: left out: ${OPSCOPE_BUILD_MISSING}")
endif()

# SPDX-License-Identifier: Apache-2.0
#
# Flags that make a fault harder to use, and builds that are the same wherever they are made. They are in every default
# build: the program reads files of strangers, the recorder lives in programs of others (SECURITY.md). What they cost
# is in docs/decisions/021-hardened-by-default.md; tests/system/test_hardening.py looks at what was linked.
#
# -DOPSCOPE_HARDEN=OFF leaves them out, to measure that. Builds with sanitizers have checks of their own.
option(OPSCOPE_HARDEN "Stack protector, FORTIFY, full RELRO, control-flow and stack-clash protection" ON)
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

# Paths of the checkout are in asserts, in debug information and in run paths; none of them may make two builds differ.
foreach(map "${CMAKE_SOURCE_DIR}=." "${CMAKE_BINARY_DIR}=build")
  add_compile_options(-ffile-prefix-map=${map})
endforeach()
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

if(NOT OPSCOPE_HARDEN OR OPSCOPE_SANITIZE OR OPSCOPE_FUZZ)
  return()
endif()
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
  string(MAKE_C_IDENTIFIER "OPSCOPE_HAS${flag}" known)
  check_c_compiler_flag("-Werror ${flag}" ${known})
  if(${known})
    add_compile_options(${flag})
  endif()
endforeach()
# FORTIFY needs an optimizing compiler; a distribution's own setting of it is replaced, not defined a second time.
add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
foreach(flag -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  string(MAKE_C_IDENTIFIER "OPSCOPE_LINKS${flag}" known)
  check_linker_flag(C ${flag} ${known})
  if(${known})
    add_link_options(${flag})
  endif()
endforeach()

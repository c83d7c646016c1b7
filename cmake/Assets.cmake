# SPDX-License-Identifier: Apache-2.0
#
# src/present/assets/* as data of the program (present/assets.h), so that pages need no other file.
# Run at build time with -DASSETS=folder -DOUT=file.c; included, it declares the rule.

if(OUT)
  file(GLOB files ${ASSETS}/*)
  set(code "/* Made from the files of src/present/assets/. */\n#include \"present/assets.h\"\n\n")
  foreach(path ${files})
    get_filename_component(name ${path} NAME)
    string(MAKE_C_IDENTIFIER ${name} name)
    file(READ ${path} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND code "const char asset_${name}[] = {${bytes}0};\n")
  endforeach()
  file(WRITE ${OUT} "${code}")
  return()
endif()

file(GLOB asset_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/present/assets/*)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/generated/assets.c
  COMMAND ${CMAKE_COMMAND} -DASSETS=${CMAKE_SOURCE_DIR}/src/present/assets -DOUT=${CMAKE_BINARY_DIR}/generated/assets.c
          -P ${CMAKE_SOURCE_DIR}/cmake/Assets.cmake
  DEPENDS ${asset_files} ${CMAKE_SOURCE_DIR}/cmake/Assets.cmake VERBATIM)
target_sources(opscope_present PRIVATE ${CMAKE_BINARY_DIR}/generated/assets.c)

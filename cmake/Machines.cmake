# SPDX-License-Identifier: Apache-2.0
#
# machines/*.json as data of the program (analyze/machine.h: machine_builtin_files), so that it needs no other file.
# Run at build time with -DMACHINES=folder -DOUT=file.c; included, it declares the rule.

if(OUT)
  file(GLOB files ${MACHINES}/*.json)
  set(code "/* Made from the files of machines/. */\n#include \"analyze/machine.h\"\n\n")
  set(list "")
  set(count 0)
  foreach(path ${files})
    get_filename_component(name ${path} NAME_WE)
    file(READ ${path} hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND code "static const char file_${count}[] = {${bytes}0};\n")
    string(APPEND list "    {\"${name}\", file_${count}, ${size}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  string(APPEND code "\nconst struct machine_file machine_builtin_files[] = {\n${list}};\n")
  string(APPEND code "const size_t machine_builtin_count = ${count};\n")
  file(WRITE ${OUT} "${code}")
  return()
endif()

file(GLOB machine_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/machines/*.json)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/generated/machines.c
  COMMAND ${CMAKE_COMMAND} -DMACHINES=${CMAKE_SOURCE_DIR}/machines -DOUT=${CMAKE_BINARY_DIR}/generated/machines.c
          -P ${CMAKE_SOURCE_DIR}/cmake/Machines.cmake
  DEPENDS ${machine_files} ${CMAKE_SOURCE_DIR}/cmake/Machines.cmake VERBATIM)
target_sources(opscope_analyze PRIVATE ${CMAKE_BINARY_DIR}/generated/machines.c)
install(FILES ${machine_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/opscope/machines)

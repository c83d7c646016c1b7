# SPDX-License-Identifier: Apache-2.0
#
# What a folder of sources becomes. Every glob is re-read at build time (CONFIGURE_DEPENDS), so that a new
# file needs no edit here.

# One static library per folder of src/, with its sub-folders.
function(opscope_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
  if(sources)
    add_library(opscope_${name} STATIC ${sources})
    target_link_libraries(opscope_${name} PUBLIC ${ARGN})
  else()
    add_library(opscope_${name} INTERFACE)
    target_link_libraries(opscope_${name} INTERFACE ${ARGN})
  endif()
endfunction()

# The recorder: libc alone. It stays loaded once it is loaded (nodelete): a plug-in that brought it in may be
# unloaded while threads still hold its thread-local cursors.
function(opscope_recorder)
  set(map ${CMAKE_SOURCE_DIR}/src/record/opscope.map)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/record/*.c)
  list(APPEND sources ${CMAKE_SOURCE_DIR}/src/session/cgroup.c) # libc alone as well; the collector has it, too
  foreach(kind SHARED STATIC)
    string(TOLOWER ${kind} suffix)
    set(target opscope_record_${suffix})
    if(NOT sources)
      add_library(${target} INTERFACE)
      continue()
    endif()
    add_library(${target} ${kind} ${sources})
    target_compile_options(${target} PRIVATE -fno-semantic-interposition -fno-plt -ftls-model=initial-exec)
    if(NOT OPSCOPE_SANITIZE AND NOT OPSCOPE_FUZZ AND NOT OPSCOPE_COVERAGE)
      target_compile_options(${target} PRIVATE -Wframe-larger-than=1280) # the first event may be on a signal stack
    endif()
    target_link_libraries(${target} PUBLIC Threads::Threads)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME opscope EXPORT_NAME ${suffix}
                          VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                          ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    target_include_directories(${target} INTERFACE
      $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  if(sources)
    target_link_options(opscope_record_shared PRIVATE -Wl,--version-script=${map} -Wl,-z,nodelete)
    if(NOT OPSCOPE_SANITIZE AND NOT OPSCOPE_FUZZ)
      target_link_options(opscope_record_shared PRIVATE -Wl,-z,defs)
    endif()
    set_property(TARGET opscope_record_shared APPEND PROPERTY LINK_DEPENDS ${map})
  endif()
endfunction()

# src/record/NAME/*.c becomes libopscope_NAME.so, which the runtime of a device loads into the profiled program. It lies
# beside the recorder's library and goes through it, so that what it records lands on the program's own tracks; and it
# stays loaded, as the recorder does: runtimes keep addresses of what is in it. Names that it shares with a runtime are
# its own ones inside it (-Bsymbolic).
function(opscope_adapters)
  add_custom_target(opscope_adapters)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_SOURCE_DIR}/src/record/*)
  foreach(folder ${folders})
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
    if(NOT IS_DIRECTORY ${folder} OR NOT sources)
      continue()
    endif()
    get_filename_component(name ${folder} NAME)
    add_library(opscope_${name} MODULE ${sources})
    add_dependencies(opscope_adapters opscope_${name})
    target_link_libraries(opscope_${name} PRIVATE opscope_record_shared opscope_base Threads::Threads ${CMAKE_DL_LIBS})
    target_compile_options(opscope_${name} PRIVATE -fno-plt)
    target_link_options(opscope_${name} PRIVATE -Wl,-z,nodelete -Wl,-Bsymbolic)
    set_target_properties(opscope_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                          BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
    install(TARGETS opscope_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endforeach()
endfunction()

# The program is main.c; the commands are a library, which tests link as well.
function(opscope_commands)
  set(main ${CMAKE_SOURCE_DIR}/src/cli/main.c)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
  list(REMOVE_ITEM sources ${main})
  add_library(opscope_cli STATIC ${sources})
  target_link_libraries(opscope_cli PUBLIC opscope_serve opscope_measure opscope_collect opscope_load opscope_import opscope_compat
                        opscope_doctor Threads::Threads)
endfunction()

function(opscope_program)
  add_executable(opscope ${CMAKE_SOURCE_DIR}/src/cli/main.c)
  target_link_libraries(opscope PRIVATE opscope_cli)
  set_target_properties(opscope PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()

# Keeps the sources that this build has a compiler for.
function(opscope_buildable_sources out)
  set(sources ${ARGN})
  if(NOT OPSCOPE_HAVE_CXX)
    list(FILTER sources EXCLUDE REGEX "\\.cpp$")
  endif()
  if(NOT OPSCOPE_HAVE_OPENCL)
    list(FILTER sources EXCLUDE REGEX "/(bench_)?opencl[^/]*\\.c$")
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Programs that use OpenCL are built where its headers and its loader are.
if(NOT OPSCOPE_MINIMAL AND NOT CMAKE_CROSSCOMPILING)
  find_path(OPENCL_INCLUDE_DIR CL/cl.h)
  find_library(OPENCL_LIBRARY OpenCL)
endif()
set(OPSCOPE_HAVE_OPENCL FALSE)
if(OPENCL_INCLUDE_DIR AND OPENCL_LIBRARY)
  set(OPSCOPE_HAVE_OPENCL TRUE)
endif()

# One that opens OpenCL by itself calls nothing of it, and is not linked with it.
function(opscope_link_opencl target name)
  if(name MATCHES "opencl")
    target_link_libraries(${target} PRIVATE -Wl,--as-needed ${OPENCL_LIBRARY})
  endif()
endfunction()

# examples/<name>/*.c(pp) becomes build/examples/<name>.
function(opscope_examples)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_SOURCE_DIR}/examples/*)
  foreach(folder ${folders})
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*.cpp)
    opscope_buildable_sources(sources ${sources})
    if(IS_DIRECTORY ${folder} AND sources)
      get_filename_component(name ${folder} NAME)
      add_executable(example_${name} ${sources})
      target_link_libraries(example_${name} PRIVATE opscope_record_shared Threads::Threads m ${CMAKE_DL_LIBS})
      opscope_link_opencl(example_${name} ${name})
      set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
                            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
    endif()
  endforeach()
endfunction()

# bench/bench_*.c(pp) becomes build/bench/bench_*, with the recorder and everything up to the reports.
function(opscope_benchmarks)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/bench_*.c ${CMAKE_SOURCE_DIR}/bench/bench_*.cpp)
  opscope_buildable_sources(sources ${sources})
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE opscope_record_shared opscope_collect opscope_load opscope_import opscope_compat
                          Threads::Threads ${CMAKE_DL_LIBS})
    opscope_link_opencl(${name} ${name})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  endforeach()
endfunction()

# tests/system/programs/: what the system tests profile. NAME.c(pp) is a program with the shared recorder,
# NAME_static.c one that is linked statically as a whole, NAME_plugin.c a module for dlopen (NAME_static_plugin.c one
# with a recorder of its own), trace_NAME.c one that writes a trace by itself.
function(opscope_test_programs)
  set(folder ${CMAKE_SOURCE_DIR}/tests/system/programs)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*.cpp)
  opscope_buildable_sources(sources ${sources})
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(target program_${name})
    if(name MATCHES "_plugin$")
      add_library(${target} MODULE ${source})
      set_target_properties(${target} PROPERTIES PREFIX "")
      if(name MATCHES "_static_plugin$")
        target_link_libraries(${target} PRIVATE opscope_record_static)
      else()
        target_link_libraries(${target} PRIVATE opscope_record_shared)
      endif()
    elseif(name MATCHES "_static$")
      if(OPSCOPE_SANITIZE)
        continue() # the sanitizers' run-time libraries refuse -static
      endif()
      add_executable(${target} ${source})
      target_link_libraries(${target} PRIVATE opscope_record_static Threads::Threads m -static)
    elseif(name MATCHES "^trace_")
      add_executable(${target} ${source})
      target_link_libraries(${target} PRIVATE opscope_trace)
    elseif(name MATCHES "^mlir_")
      add_executable(${target} ${source})
      target_link_libraries(${target} PRIVATE opscope_import)
    else()
      add_executable(${target} ${source})
      target_link_libraries(${target} PRIVATE opscope_record_shared Threads::Threads m ${CMAKE_DL_LIBS})
      opscope_link_opencl(${target} ${name})
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/programs
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/programs)
  endforeach()
  opscope_tracy_programs()
endfunction()

# tests/system/programs/tracy/NAME.c(pp), which are marked up for Tracy, with our headers in place of Tracy's: off, on
# and on demand, as build/tests/programs/NAME_(c|cpp)_(off|on|demand).
function(opscope_tracy_programs)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/system/programs/tracy/*.c
       ${CMAKE_SOURCE_DIR}/tests/system/programs/tracy/*.cpp)
  opscope_buildable_sources(sources ${sources})
  set(off "")
  set(on TRACY_ENABLE TRACY_FIBERS)
  set(demand TRACY_ENABLE TRACY_FIBERS TRACY_ON_DEMAND)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME)
    string(REPLACE "." "_" name ${name})
    foreach(mode off on demand)
      set(target program_${name}_${mode})
      add_executable(${target} ${source})
      target_compile_definitions(${target} PRIVATE ${${mode}})
      target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include/opscope/compat)
      target_link_libraries(${target} PRIVATE Threads::Threads)
      if(NOT mode STREQUAL "off")
        target_link_libraries(${target} PRIVATE opscope_record_shared)
      endif()
      set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}_${mode}
                            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/programs)
    endforeach()
  endforeach()
endfunction()

function(opscope_unit_tests)
  if(NOT OPSCOPE_HAVE_CMOCKA)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/test_*.c)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/unit/test_trace_golden.c PROPERTIES
                              COMPILE_DEFINITIONS OPSCOPE_SOURCE_FOLDER="${CMAKE_SOURCE_DIR}")
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_include_directories(${name} SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
    target_link_libraries(${name} PRIVATE opscope_cli opscope_record_static ${CMOCKA_LIBRARY})
    add_test(NAME unit/${name} COMMAND ${name})
    set_tests_properties(unit/${name} PROPERTIES TIMEOUT 1200 LABELS unit)
  endforeach()
endfunction()

# tests/fuzz/fuzz_*.c: libFuzzer programs over everything that reads what others wrote.
function(opscope_fuzz_targets)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "OPSCOPE_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE opscope_cli)
    if(OPSCOPE_FUZZ_COVERAGE)
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
      target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    endif()
  endforeach()
  target_sources(fuzz_commands PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/trace_commands.c)
endfunction()

# tests/fuzz/mutants.c: damaged traces through every command, without libFuzzer.
function(opscope_mutants)
  add_executable(mutants EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/fuzz/mutants.c
                 ${CMAKE_SOURCE_DIR}/tests/fuzz/trace_commands.c)
  target_link_libraries(mutants PRIVATE opscope_cli)
endfunction()

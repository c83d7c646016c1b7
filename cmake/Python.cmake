# SPDX-License-Identifier: Apache-2.0
#
# The Python extension, for each interpreter that is found and whose headers are there: `python3` on the PATH, Debian's
# /usr/bin/python3, python3.9 to python3.15, Debian's debug build python3-dbg, and those of pyenv, whose commands work
# only for the version that is chosen (OPSCOPE_PYTHONS names others). Interpreters of the same binary interface share
# one. Free-threaded builds are left out: the extension relies on the GIL. The package lies in build/python/opscope as
# it would be installed, so that `opscope run python3 x.py` and PYTHONPATH=build/python work from the build folder.
#
# Sets OPSCOPE_PYTHON_BUILT (a list of versions) and OPSCOPE_PYTHON_LEFT_OUT (why there is none).

set(OPSCOPE_PYTHONS "" CACHE STRING "Interpreters to build the Python extension for (default: those found)")
set(OPSCOPE_PYTHON_BUILT "")
set(OPSCOPE_PYTHON_LEFT_OUT "no Python with its headers was found (Debian: python3-dev)")
set(OPSCOPE_PYTHON_QUERY "import sys, sysconfig, os
inc = sysconfig.get_paths()['include']
print(';'.join(['%d.%d' % sys.version_info[:2], sysconfig.get_config_var('EXT_SUFFIX') or '', inc,
                str(int(os.path.exists(os.path.join(inc, 'Python.h')))), sys.implementation.name, sys.executable, sys.prefix,
                str(int(hasattr(sys, 'gettotalrefcount'))), str(int('t' in getattr(sys, 'abiflags', '')))]))")

# Finds the interpreters; must come before the list of features is written.
function(opscope_find_pythons)
  if(OPSCOPE_MINIMAL OR OPSCOPE_SANITIZE OR OPSCOPE_FUZZ OR CMAKE_CROSSCOMPILING)
    set(OPSCOPE_PYTHON_LEFT_OUT "not built in minimal, sanitizer, fuzz and cross builds" PARENT_SCOPE)
    return()
  endif()
  set(candidates ${OPSCOPE_PYTHONS})
  if(NOT candidates)
    set(candidates python3 /usr/bin/python3 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14
        python3.15 python3-dbg)
    set(pyenv "$ENV{PYENV_ROOT}")
    if(NOT pyenv)
      set(pyenv "$ENV{HOME}/.pyenv")
    endif()
    file(GLOB installed ${pyenv}/versions/3.*/bin/python3)
    list(SORT installed COMPARE NATURAL)
    list(APPEND candidates ${installed})
  endif()
  set(suffixes "")
  set(built "")
  set(interpreters "")
  set(debug_interpreters "")
  set(seen "") # python3 and python3.11 of one installation
  foreach(python ${candidates})
    execute_process(COMMAND ${python} -c "${OPSCOPE_PYTHON_QUERY}" RESULT_VARIABLE status OUTPUT_VARIABLE answer
                    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0)
      continue()
    endif()
    list(GET answer 0 version)
    list(GET answer 1 suffix)
    list(GET answer 2 include)
    list(GET answer 3 has_headers)
    list(GET answer 4 implementation)
    list(GET answer 5 executable)
    list(GET answer 6 prefix)
    list(GET answer 7 is_debug)
    list(GET answer 8 is_free_threaded)
    if(NOT implementation STREQUAL "cpython" OR version VERSION_LESS 3.9 OR "${prefix} ${version} ${suffix}" IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${prefix} ${version} ${suffix}")
    if(is_free_threaded)
      message(STATUS "opscope: no Python extension for ${executable}, which is free-threaded")
      set(OPSCOPE_PYTHON_LEFT_OUT "the one Python that was found is free-threaded" PARENT_SCOPE)
      continue()
    endif()
    if(is_debug AND has_headers)
      list(APPEND debug_interpreters ${executable})
    elseif(has_headers OR suffix IN_LIST suffixes)
      list(APPEND interpreters ${executable})
    endif()
    if(NOT has_headers OR suffix IN_LIST suffixes)
      continue()
    endif()
    list(APPEND suffixes ${suffix})
    if(is_debug)
      list(APPEND built "${version} (debug)")
    else()
      list(APPEND built ${version})
    endif()
    set(OPSCOPE_PYTHON_INCLUDE_${suffix} ${include} PARENT_SCOPE)
  endforeach()
  list(JOIN interpreters "\n" lines)
  file(WRITE ${CMAKE_BINARY_DIR}/python/interpreters.txt "${lines}\n") # for the tests
  list(JOIN debug_interpreters "\n" lines)
  file(WRITE ${CMAKE_BINARY_DIR}/python/debug-interpreters.txt "${lines}\n")
  set(OPSCOPE_PYTHON_SUFFIXES "${suffixes}" PARENT_SCOPE)
  set(OPSCOPE_PYTHON_BUILT "${built}" PARENT_SCOPE)
endfunction()

function(opscope_python_extensions)
  set(folder ${CMAKE_BINARY_DIR}/python/opscope)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/src/*.c)
  foreach(suffix ${OPSCOPE_PYTHON_SUFFIXES})
    string(MAKE_C_IDENTIFIER "opscope_python${suffix}" target)
    add_library(${target} MODULE ${sources})
    target_include_directories(${target} SYSTEM PRIVATE ${OPSCOPE_PYTHON_INCLUDE_${suffix}})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}) # its headers are "python/src/..."
    # Debian's headers of the debug build are links to those of the other, beside a pyconfig.h of their own, which GCC
    # would not find once it has followed the links.
    target_compile_options(${target} PRIVATE -fno-semantic-interposition -fno-plt -ftls-model=initial-exec
                           $<$<C_COMPILER_ID:GNU>:-fno-canonical-system-headers>)
    target_link_libraries(${target} PRIVATE opscope_record_shared)
    # Beside the recorder in a wheel, two folders below it in a build, three in an installation.
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX ${suffix}
                          LIBRARY_OUTPUT_DIRECTORY ${folder} BUILD_WITH_INSTALL_RPATH ON
                          INSTALL_RPATH "$ORIGIN;$ORIGIN/../..;$ORIGIN/../../../../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${target} LIBRARY DESTINATION lib/opscope/python/opscope)
  endforeach()
  if(OPSCOPE_PYTHON_SUFFIXES)
    # The Python files as links: an edit in the tree is an edit in the build folder.
    file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python/opscope
         ${CMAKE_SOURCE_DIR}/python/opscope/*.py ${CMAKE_SOURCE_DIR}/python/opscope/py.typed)
    foreach(file ${files})
      get_filename_component(parent ${folder}/${file} DIRECTORY)
      file(MAKE_DIRECTORY ${parent})
      file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/opscope/${file} ${folder}/${file} SYMBOLIC)
      get_filename_component(parent ${file} DIRECTORY)
      install(FILES ${CMAKE_SOURCE_DIR}/python/opscope/${file} DESTINATION lib/opscope/python/opscope/${parent})
    endforeach()
    # What _torch.py compiles for the torch that it finds.
    file(MAKE_DIRECTORY ${folder}/observer/opscope)
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/record/torch.cpp ${folder}/observer/torch.cpp SYMBOLIC)
    foreach(header opscope.h zone.h)
      file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/opscope/${header} ${folder}/observer/opscope/${header} SYMBOLIC)
      install(FILES ${CMAKE_SOURCE_DIR}/include/opscope/${header} DESTINATION lib/opscope/python/opscope/observer/opscope)
    endforeach()
    install(FILES ${CMAKE_SOURCE_DIR}/src/record/torch.cpp DESTINATION lib/opscope/python/opscope/observer)
  endif()
endfunction()

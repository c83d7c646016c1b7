# SPDX-License-Identifier: Apache-2.0
#
# The observer of torch's ops, where torch's C++ headers are found: Debian's libtorch-dev, or the folder of an installed
# torch package (-DOPSCOPE_TORCH=.../site-packages/torch). Named after the release it is built for, since it uses that
# release's C++ interface.
set(OPSCOPE_TORCH "" CACHE PATH "Folder of a torch package to build the observer of torch's ops for")

function(opscope_torch)
  if(NOT OPSCOPE_HAVE_CXX OR OPSCOPE_MINIMAL OR OPSCOPE_SANITIZE OR NOT OPSCOPE_PYTHON_SUFFIXES)
    return()
  endif()
  find_path(TORCH_INCLUDE_DIR ATen/record_function.h HINTS ${OPSCOPE_TORCH}/include)
  find_path(TORCH_API_INCLUDE_DIR torch/version.h HINTS ${TORCH_INCLUDE_DIR}/torch/csrc/api/include)
  find_library(TORCH_CPU_LIBRARY torch_cpu HINTS ${OPSCOPE_TORCH}/lib)
  find_library(TORCH_C10_LIBRARY c10 HINTS ${OPSCOPE_TORCH}/lib)
  if(NOT TORCH_INCLUDE_DIR OR NOT TORCH_API_INCLUDE_DIR OR NOT TORCH_CPU_LIBRARY OR NOT TORCH_C10_LIBRARY)
    message(STATUS "opscope: left out: the ops of PyTorch (Debian: libtorch-dev, or -DOPSCOPE_TORCH=FOLDER)")
    return()
  endif()
  set(lines "")
  foreach(header ${TORCH_API_INCLUDE_DIR}/torch/version.h ${TORCH_INCLUDE_DIR}/torch/headeronly/version.h) # 1.x; 2.x
    if(NOT lines AND EXISTS ${header})
      file(STRINGS ${header} lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
    endif()
  endforeach()
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  string(REPLACE ";" "." release "${numbers}")
  if(NOT release MATCHES "^[0-9]+[.][0-9]+$")
    message(STATUS "opscope: left out: the ops of PyTorch (no version in ${TORCH_API_INCLUDE_DIR}/torch/version.h)")
    return()
  endif()
  add_library(opscope_torch MODULE ${CMAKE_SOURCE_DIR}/src/record/torch.cpp)
  target_include_directories(opscope_torch SYSTEM PRIVATE ${TORCH_INCLUDE_DIR})
  target_compile_definitions(opscope_torch PRIVATE NDEBUG) # else at::RecordFunction has other members
  target_compile_options(opscope_torch PRIVATE -ftls-model=initial-exec)
  target_link_libraries(opscope_torch PRIVATE opscope_record_shared ${TORCH_CPU_LIBRARY} ${TORCH_C10_LIBRARY})
  set_target_properties(opscope_torch PROPERTIES OUTPUT_NAME opscope_torch-${release} CXX_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/opscope BUILD_WITH_INSTALL_RPATH ON
                        INSTALL_RPATH "$ORIGIN;$ORIGIN/../..;$ORIGIN/../../../../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS opscope_torch LIBRARY DESTINATION lib/opscope/python/opscope)
  # It fits this library alone: python/opscope/_torch.py.
  get_filename_component(library ${TORCH_CPU_LIBRARY} REALPATH)
  set(list ${CMAKE_BINARY_DIR}/python/opscope/torch-prebuilt.txt)
  file(WRITE ${list} "libopscope_torch-${release}.so\t${library}\n")
  install(FILES ${list} DESTINATION lib/opscope/python/opscope)
  message(STATUS "opscope: the ops of torch ${release}")
endfunction()

# SPDX-License-Identifier: Apache-2.0
#
# find_package(opscope) gives opscope::shared and opscope::static, and opscope::opscope for the former.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/opscopeTargets.cmake)
if(NOT TARGET opscope::opscope)
  add_library(opscope::opscope INTERFACE IMPORTED)
  set_target_properties(opscope::opscope PROPERTIES INTERFACE_LINK_LIBRARIES opscope::shared)
endif()

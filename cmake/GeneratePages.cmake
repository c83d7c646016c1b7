# SPDX-License-Identifier: Apache-2.0
#
# Asks the built program for its man pages and its shell completions. A program that cannot answer (an
# unfinished build) leaves the folder empty and says so; the build goes on.

file(REMOVE_RECURSE ${OUT}/man ${OUT}/completion)
file(MAKE_DIRECTORY ${OUT}/man ${OUT}/completion)
execute_process(COMMAND ${PROGRAM} help --man-all ${OUT}/man RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE why)
if(NOT status EQUAL 0)
  message(STATUS "opscope: no man pages (opscope help --man-all: ${status}) ${why}")
endif()
foreach(shell bash zsh fish)
  execute_process(COMMAND ${PROGRAM} completion ${shell} RESULT_VARIABLE status
                  OUTPUT_FILE ${OUT}/completion/${shell} ERROR_VARIABLE why)
  if(NOT status EQUAL 0)
    file(REMOVE ${OUT}/completion/${shell})
    message(STATUS "opscope: no completion for ${shell} (${status}) ${why}")
  endif()
endforeach()
file(TOUCH ${OUT}/pages.stamp)

# SPDX-License-Identifier: Apache-2.0
#
# Installation. Man pages and completions come from the built program itself (one option table for --help,
# manual and completion), so they are made after the build and only where that program can run.

set(generated ${CMAKE_BINARY_DIR}/generated)

if(TARGET opscope)
  install(TARGETS opscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # make install COMPAT=1: the same program under the names of the tools whose arguments it takes.
  file(STRINGS ${CMAKE_SOURCE_DIR}/src/cli/command/names.def tools REGEX "^TOOL")
  list(TRANSFORM tools REPLACE "^TOOL.\"([^\"]*)\".*" "\\1")
  set(folder \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR})
  foreach(tool ${tools})
    install(CODE "
      if(\"\$ENV{COMPAT}\" STREQUAL \"1\")
        if(EXISTS \"${folder}/${tool}\" AND NOT IS_SYMLINK \"${folder}/${tool}\")
          message(\"-- Left alone, another program: ${folder}/${tool}\")
        else()
          file(CREATE_LINK opscope \"${folder}/${tool}\" SYMBOLIC)
          message(STATUS \"Installing: ${folder}/${tool}\")
        endif()
      endif()")
  endforeach()
  if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(OUTPUT ${generated}/pages.stamp
      COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:opscope> -DOUT=${generated}
              -P ${CMAKE_SOURCE_DIR}/cmake/GeneratePages.cmake
      DEPENDS opscope ${CMAKE_SOURCE_DIR}/cmake/GeneratePages.cmake
      COMMENT "Writing man pages and completions" VERBATIM)
    add_custom_target(pages ALL DEPENDS ${generated}/pages.stamp)
    install(DIRECTORY ${generated}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL
            FILES_MATCHING PATTERN "*.1")
    install(FILES ${generated}/completion/bash RENAME opscope
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
    install(FILES ${generated}/completion/zsh RENAME _opscope
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
    install(FILES ${generated}/completion/fish RENAME opscope.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
  endif()
endif()

get_target_property(recorder_type opscope_record_shared TYPE)
if(recorder_type STREQUAL "SHARED_LIBRARY")
  install(TARGETS opscope_record_shared opscope_record_static EXPORT opscope
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/opscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.hmm" PATTERN "*.cuh")
  install(FILES ${CMAKE_SOURCE_DIR}/src/record/opscope.map DESTINATION ${CMAKE_INSTALL_DATADIR}/opscope)

  # The prefix is known only at installation (cmake --install --prefix), so the .pc file is made there.
  install(CODE "
    set(PROJECT_VERSION ${PROJECT_VERSION})
    set(LIBDIR ${CMAKE_INSTALL_LIBDIR})
    set(INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
    foreach(name opscope opscope-tracy)
      configure_file(\"${CMAKE_SOURCE_DIR}/cmake/\${name}.pc.in\" \"${generated}/\${name}.pc\" @ONLY)
    endforeach()")
  install(FILES ${generated}/opscope.pc ${generated}/opscope-tracy.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

  include(CMakePackageConfigHelpers)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/opscope)
  write_basic_package_version_file(${generated}/opscopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(EXPORT opscope NAMESPACE opscope:: FILE opscopeTargets.cmake DESTINATION ${package_folder})
  install(FILES ${CMAKE_SOURCE_DIR}/cmake/opscopeConfig.cmake ${generated}/opscopeConfigVersion.cmake
          DESTINATION ${package_folder})

  # Tracy's name is not on the search path: only a build that asks for this folder gets it.
  file(RELATIVE_PATH TRACY_TO_INCLUDE /${package_folder}/tracy /${CMAKE_INSTALL_INCLUDEDIR})
  file(RELATIVE_PATH TRACY_TO_LIBRARY /${package_folder}/tracy
       /${CMAKE_INSTALL_LIBDIR}/${CMAKE_SHARED_LIBRARY_PREFIX}opscope${CMAKE_SHARED_LIBRARY_SUFFIX})
  configure_file(${CMAKE_SOURCE_DIR}/cmake/TracyConfig.cmake.in ${generated}/TracyConfig.cmake @ONLY)
  install(FILES ${generated}/TracyConfig.cmake ${CMAKE_SOURCE_DIR}/cmake/tracy/TracyConfigVersion.cmake
          ${CMAKE_SOURCE_DIR}/cmake/tracy/CMakeLists.txt DESTINATION ${package_folder}/tracy)
endif()

install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

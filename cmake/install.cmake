# `cmake --install` puts the libraries, their headers, a CMake package and a
# pkg-config file in place, so that another project says find_package(smdebug)
# and links smdebug::smdebug or smdebug::shared (tests/cmake_package does). The
# wheel installs nothing but the component "python" (pyproject.toml).

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/smdebug)

install(TARGETS smdebug_static
  EXPORT smdebugStatic
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS smdebug_shared
  EXPORT smdebugShared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS smdebug_program
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN *.h)
foreach(kind IN ITEMS Static Shared)
  install(EXPORT smdebug${kind}
    NAMESPACE smdebug::
    FILE smdebug${kind}Targets.cmake
    DESTINATION ${package_dir} COMPONENT development)
endforeach()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/smdebugConfig.cmake.in
  ${PROJECT_BINARY_DIR}/smdebugConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/smdebugConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/smdebugConfig.cmake
  ${PROJECT_BINARY_DIR}/smdebugConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

file(RELATIVE_PATH pkgconfig_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(
  ${PROJECT_SOURCE_DIR}/cmake/smdebug.pc.in ${PROJECT_BINARY_DIR}/smdebug.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/smdebug.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

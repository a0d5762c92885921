# `cmake --install` puts the libraries, their headers and a CMake package in
# place, so that another project says find_package(smdebug) and links
# smdebug::smdebug (tests/cmake_package does). The wheel installs nothing but
# the component "python" (pyproject.toml).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/smdebug)

install(TARGETS smdebug ${SMDEBUG_LIBRARIES}
  EXPORT smdebug
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(TARGETS smdebug_program
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(EXPORT smdebug
  NAMESPACE smdebug::
  FILE smdebugTargets.cmake
  DESTINATION ${package_dir} COMPONENT development)

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

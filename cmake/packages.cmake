# `cpack` makes the Debian packages `smdebug`, with the program and libsmdebug.so.2, and
# `libsmdebug-dev`, with headers, libsmdebug.a and the files for CMake and pkg-config.

# As dh_installdocs does it.
install(FILES LICENSE RENAME copyright
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/smdebug COMPONENT runtime)
install(FILES LICENSE RENAME copyright
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libsmdebug-dev COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_CONTACT "smdebug maintainers <maintainers@smdebug.invalid>" CACHE STRING
  "The maintainer that the packages name")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME smdebug)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The command smdebug lists, reads and judges the runs \
of trainings. C++ programs record and judge trainings with the shared library.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# Packages whose programs link libsmdebug.so.2 learn from it what they depend on.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libsmdebug-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers and libraries for C++20 programs, static and \
shared, with files for CMake and pkg-config.")
# What links libsmdebug.a needs them (cmake/libraries.cmake).
string(JOIN ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "smdebug (= ${PROJECT_VERSION})"
  libcurl4-openssl-dev libfmt-dev libhwy-dev libisal-dev libpcre2-dev libpugixml-dev libsimdjson-dev
  libspdlog-dev libsqlite3-dev libssl-dev)

include(CPack)

# The folders of src/ and the command line as one library, which `cmake --install` puts in place:
# libsmdebug.a and libsmdebug.so. Both consist of the objects that the folders have compiled.
#
# The shared library exports what the public headers declare (docs/decisions/0023).

# Where Debian's packages have their libraries, in every prefix: what is built once can be installed
# anywhere and packaged.
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "Folder of the libraries")
endif()
include(GNUInstallDirs)
file(RELATIVE_PATH SMDEBUG_BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})

list(TRANSFORM SMDEBUG_LIBRARIES REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(smdebug_static STATIC ${objects})
add_library(smdebug_shared SHARED ${objects})
foreach(library IN ITEMS smdebug_static smdebug_shared)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME smdebug LINKER_LANGUAGE CXX)
  target_compile_features(${library} INTERFACE cxx_std_20)
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Third-party libraries that do not consist of headers alone. What links libsmdebug.a needs them:
  # smdebugConfig.cmake.in, smdebug.pc.in and packages.cmake name them too.
  target_link_libraries(${library} PRIVATE
    fmt::fmt spdlog::spdlog simdjson::simdjson hwy::hwy PkgConfig::isal PkgConfig::pcre2
    PkgConfig::pugixml PkgConfig::sqlite3 CURL::libcurl OpenSSL::Crypto Threads::Threads)
endforeach()
set_target_properties(smdebug_static PROPERTIES EXPORT_NAME smdebug)

set(exports ${PROJECT_SOURCE_DIR}/cmake/libsmdebug.map)
add_library(smdebug::shared ALIAS smdebug_shared)
set_target_properties(smdebug_shared PROPERTIES
  EXPORT_NAME shared
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${exports})
target_link_options(smdebug_shared PRIVATE LINKER:--version-script=${exports} LINKER:-z,defs)

# The program finds the library beside it wherever the prefix was moved to.
set_target_properties(smdebug_program PROPERTIES INSTALL_RPATH $ORIGIN/${SMDEBUG_BIN_TO_LIB})

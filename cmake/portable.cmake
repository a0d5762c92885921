# SMDEBUG_PORTABLE makes an extension that loads on any Linux with glibc 2.28 or newer:
# third-party libraries and the C++ runtime are linked into it, and zig's linker, which
# knows the symbols of older C libraries, links it. tools/wheel sets the options.
#
#   SMDEBUG_STATIC_LIBRARIES   the folder that tools/static_libraries wrote
#   SMDEBUG_ZIG                the program zig, of the Python package ziglang

option(SMDEBUG_PORTABLE "Link the Python extension for other Linux distributions" OFF)
set(SMDEBUG_STATIC_LIBRARIES "" CACHE PATH "Static libraries of tools/static_libraries")
set(SMDEBUG_ZIG "" CACHE FILEPATH "The program zig of the Python package ziglang")

# smdebug_link_statically(TARGET ARCHIVE...): links an imported library as archives. Its
# headers and definitions stay those of the shared library, so that ccache finds objects
# that any other build has compiled.
function(smdebug_link_statically target)
  get_target_property(aliased ${target} ALIASED_TARGET)
  if(aliased)
    set(target ${aliased})
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${ARGN}")
    return()
  endif()
  list(POP_FRONT ARGN archive)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(suffix IN ITEMS "" ${configurations})
    if(suffix)
      set(suffix _${suffix})
    endif()
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION${suffix} ${archive})
  endforeach()
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${ARGN})
endfunction()

# smdebug_debian_archive(NAME): sets NAME to the path of lib<NAME>.a of a -dev package.
function(smdebug_debian_archive name)
  find_library(SMDEBUG_ARCHIVE_${name} lib${name}.a REQUIRED)
  set(${name} ${SMDEBUG_ARCHIVE_${name}} PARENT_SCOPE)
endfunction()

# smdebug_link_for_old_glibc(TARGET NAME): links the extension TARGET, which is imported
# as NAME, and exports nothing but the function that initializes the module.
macro(smdebug_link_for_old_glibc target name)
  set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/${target}.exports)
  file(WRITE ${exports} "{ global: PyInit_${name}; local: *; };\n")
  foreach(archive IN ITEMS libstdc++.a libgcc_eh.a libgcc.a)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${archive}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(APPEND runtime " ${path}")
  endforeach()
  string(CONCAT CMAKE_CXX_CREATE_SHARED_MODULE
    "${SMDEBUG_ZIG} cc -target ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.2.28 -shared -O2 "
    "-fno-sanitize=undefined <LINK_FLAGS> "
    "-Wl,--version-script=${exports} -o <TARGET> <OBJECTS> <LINK_LIBRARIES> "
    "${CMAKE_CURRENT_SOURCE_DIR}/src/portable/newer_glibc.c ${runtime} "
    "-lm -lpthread -ldl -lrt")
endmacro()

if(SMDEBUG_PORTABLE)
  smdebug_debian_archive(ssl)
  smdebug_debian_archive(crypto)
  smdebug_debian_archive(pcre2-8)
  smdebug_debian_archive(pugixml)
  smdebug_debian_archive(sqlite3)
  set(built ${SMDEBUG_STATIC_LIBRARIES})
  smdebug_link_statically(fmt::fmt ${built}/libfmt.a)
  smdebug_link_statically(spdlog::spdlog ${built}/libspdlog.a)
  smdebug_link_statically(simdjson::simdjson ${built}/libsimdjson.a)
  smdebug_link_statically(hwy::hwy ${built}/libhwy.a)
  smdebug_link_statically(PkgConfig::isal ${built}/libisal.a)
  smdebug_link_statically(PkgConfig::pcre2 ${pcre2-8})
  smdebug_link_statically(PkgConfig::pugixml ${pugixml})
  smdebug_link_statically(PkgConfig::sqlite3 ${sqlite3})
  smdebug_link_statically(OpenSSL::Crypto ${crypto})
  smdebug_link_statically(CURL::libcurl ${built}/libcurl.a ${ssl} ${crypto})
endif()

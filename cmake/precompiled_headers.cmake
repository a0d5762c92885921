# With SMDEBUG_PRECOMPILED_HEADERS, which the preset `asan` sets, the headers of other libraries are
# parsed once for all sources, and once for all tests: a build that does not optimize spends nearly
# half of its time in parsing. The sources still include what they use: the other presets compile
# them without.

option(SMDEBUG_PRECOMPILED_HEADERS "Parse the headers of other libraries once" OFF)

set(SMDEBUG_HEADERS_OF_SOURCES
  <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <fstream>
  <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string>
  <string_view> <thread> <utility> <vector> <fmt/format.h>)
set(SMDEBUG_HEADERS_OF_TESTS ${SMDEBUG_HEADERS_OF_SOURCES}
  <random> <gmock/gmock.h> <gtest/gtest.h>)

if(SMDEBUG_PRECOMPILED_HEADERS)
  file(WRITE ${PROJECT_BINARY_DIR}/generated/empty.cc "")
  add_library(smdebug_headers_of_sources OBJECT ${PROJECT_BINARY_DIR}/generated/empty.cc)
  add_executable(smdebug_headers_of_tests ${PROJECT_BINARY_DIR}/generated/empty.cc)
  target_link_libraries(smdebug_headers_of_sources PRIVATE smdebug_warnings fmt::fmt)
  target_link_libraries(smdebug_headers_of_tests
    PRIVATE smdebug_warnings fmt::fmt GTest::gmock GTest::gtest_main)
  target_precompile_headers(smdebug_headers_of_sources PRIVATE ${SMDEBUG_HEADERS_OF_SOURCES})
  target_precompile_headers(smdebug_headers_of_tests PRIVATE ${SMDEBUG_HEADERS_OF_TESTS})
  # Precompiled headers have the paths of this clone: another one must not find them in the cache.
  set_target_properties(smdebug_headers_of_sources smdebug_headers_of_tests
    PROPERTIES CXX_COMPILER_LAUNCHER "")
endif()

# smdebug_precompile(TARGET sources|tests)
function(smdebug_precompile target kind)
  if(SMDEBUG_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM smdebug_headers_of_${kind})
  endif()
endfunction()

# smdebug_library(NAME base HEADERS a.h SOURCES a.cc TESTS a_test.cc
#                 DEPENDS core LINKS PkgConfig::x BENCHES a_bench.cc
#                 FUZZERS a_fuzz.cc ALONE a.cc)
#
# One target per folder of src/: smdebug::<name>. HEADERS lie in
# include/smdebug/<name>/ and are public; each is compiled alone. SOURCES,
# TESTS, BENCHES and FUZZERS lie in src/<name>/. DEPENDS are other folders, LINKS are
# third-party libraries. With OPTIMIZED_TESTS the tests also run in a release
# build, for code that the optimizer changes much. The presets that are built, and the
# Python package, compile several sources as one; ALONE lists those whose local names
# collide there.
function(smdebug_library)
  cmake_parse_arguments(ARG "OPTIMIZED_TESTS" "NAME"
    "HEADERS;SOURCES;TESTS;BENCHES;FUZZERS;ALONE;DEPENDS;LINKS" ${ARGN})
  set(target smdebug_${ARG_NAME})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(smdebug::${ARG_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_NAME})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/smdebug/${ARG_NAME}/)
  target_sources(${target} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${ARG_HEADERS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # The headers need it, so whoever links this needs it too.
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:smdebug_warnings> ${ARG_LINKS})
  if(ARG_NAME IN_LIST SMDEBUG_CHECKED_FOLDERS)
    smdebug_add_checks(${target})
  endif()
  smdebug_optimize(${target} ${ARG_NAME})
  smdebug_precompile(${target} sources)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PUBLIC smdebug_${dependency})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY SMDEBUG_LIBRARIES ${target})
  if(ARG_TESTS AND (SMDEBUG_TESTS OR (SMDEBUG_RELEASE_TESTS AND ARG_OPTIMIZED_TESTS)))
    smdebug_test(NAME ${ARG_NAME} SOURCES ${ARG_TESTS} DEPENDS ${ARG_NAME})
  endif()
  if(SMDEBUG_BENCHMARKS AND ARG_BENCHES)
    add_executable(${target}_bench ${ARG_BENCHES})
    target_include_directories(${target}_bench PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target}_bench PRIVATE ${target} smdebug_warnings
      benchmark::benchmark benchmark::benchmark_main)
  endif()
  foreach(source IN LISTS ARG_FUZZERS)
    smdebug_fuzzer(SOURCE ${source} DEPENDS ${ARG_NAME})
  endforeach()
endfunction()

# smdebug_test(NAME x SOURCES x_test.cc DEPENDS base core [SHARDS 1])
#
# One program, smdebug_<name>_test. ctest runs it in SHARDS processes, 4 by default, each with its
# share of the cases: most cases take less time than a process needs to start. Each process writes
# the results of its cases to test_reports/<name>.<shard>.xml in the build folder.
function(smdebug_test)
  cmake_parse_arguments(ARG "" "NAME;SHARDS" "SOURCES;DEPENDS;LINKS" ${ARGN})
  set(target smdebug_${ARG_NAME}_test)
  add_executable(${target} ${ARG_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}
    ${PROJECT_BINARY_DIR}/generated)
  list(TRANSFORM ARG_DEPENDS PREPEND smdebug_)
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS} ${ARG_LINKS}
    smdebug_warnings GTest::gmock GTest::gtest_main)
  smdebug_precompile(${target} tests)
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 4)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    set(test ${ARG_NAME}.${shard})
    add_test(NAME ${test}
      COMMAND ${target} --gtest_output=xml:${PROJECT_BINARY_DIR}/test_reports/${test}.xml)
    set_tests_properties(${test} PROPERTIES TIMEOUT 600
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# smdebug_fuzzer(SOURCE a_fuzz.cc DEPENDS format)
#
# A function LLVMFuzzerTestOneInput. Preset `fuzz` builds smdebug_a_fuzz, which
# searches for inputs that it cannot bear; with SMDEBUG_TESTS any compiler
# builds smdebug_a_replay, and ctest gives it the inputs in tests/fuzz/a/.
function(smdebug_fuzzer)
  cmake_parse_arguments(ARG "" "SOURCE" "DEPENDS" ${ARGN})
  list(TRANSFORM ARG_DEPENDS PREPEND smdebug_)
  get_filename_component(name ${ARG_SOURCE} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  if(SMDEBUG_FUZZERS)
    smdebug_fuzz_program(smdebug_${name}_fuzz)
    target_link_options(smdebug_${name}_fuzz PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY SMDEBUG_FUZZERS smdebug_${name}_fuzz)
  endif()
  if(SMDEBUG_TESTS)
    smdebug_fuzz_program(smdebug_${name}_replay ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cc)
    add_test(NAME Fuzz.${name}
      COMMAND smdebug_${name}_replay ${PROJECT_SOURCE_DIR}/tests/fuzz/${name})
    set_tests_properties(Fuzz.${name} PROPERTIES TIMEOUT 120)
  endif()
endfunction()

# Sees ARG_SOURCE and ARG_DEPENDS of smdebug_fuzzer.
function(smdebug_fuzz_program target)
  add_executable(${target} ${ARG_SOURCE} ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS} smdebug_warnings)
endfunction()

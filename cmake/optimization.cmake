# Code that runs a few times in a run is optimized for size in a release build: its machine code is
# half as large, and compiles faster. All other code runs inside a training step or for each file,
# record or observation, and is optimized for speed.

set(SMDEBUG_COLD_FOLDERS net config actions report monitor xgboost_report cli)

# smdebug_optimize(TARGET FOLDER)
function(smdebug_optimize target folder)
  if(folder IN_LIST SMDEBUG_COLD_FOLDERS)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Os>)
  elseif(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC inlines less in a large unit, such as several sources that are compiled as one:
    # tests/instructions counts a third more instructions there.
    target_compile_options(${target} PRIVATE --param=large-unit-insns=100000)
  endif()
endfunction()

# smdebug_optimize_in_sanitizers(SOURCE...)
#
# Sources of this folder that compute so much that the preset `asan`, which optimizes nothing, would
# spend most of its time in them.
function(smdebug_optimize_in_sanitizers)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O1>)
  # Those are compiled without -O1.
  set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

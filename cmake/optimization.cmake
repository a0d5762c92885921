# How far the compiler optimizes a release build, by how often the code of a folder runs:
#
#   inside a training step                     -O3
#   for each file, record or observation       -O2: as fast there (src/rules/engine/rules_bench.cc)
#   a few times in a run                       -Os: half the machine code

set(SMDEBUG_STEP_FOLDERS core reduce capture)
set(SMDEBUG_COLD_FOLDERS net config actions report monitor xgboost_report cli)

# smdebug_optimize(TARGET FOLDER)
function(smdebug_optimize target folder)
  if(folder IN_LIST SMDEBUG_COLD_FOLDERS)
    set(level -Os)
  elseif(folder IN_LIST SMDEBUG_STEP_FOLDERS)
    set(level -O3)
  else()
    set(level -O2)
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
endfunction()

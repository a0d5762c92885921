# Sets SMDEBUG_COMMIT to the commit of the sources, and empty if they have no history.

set(SMDEBUG_COMMIT "")
find_package(Git QUIET)
if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --short=8 HEAD
    OUTPUT_VARIABLE SMDEBUG_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # Git appends a line to this file with each commit.
  if(EXISTS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
  endif()
endif()

# Makes a memory error in an optimized build hard to exploit and easy to notice.
# Sanitizers check more, and not all of these options work with them.
# tests/packaging/test_hardening.py reads the result.

if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo)$")
  # Some distributions define _FORTIFY_SOURCE for all programs.
  set(SMDEBUG_CHECKS -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  # Relocations are read-only once the program is loaded; no executable stack.
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
  # CMAKE_POSITION_INDEPENDENT_CODE alone links no position-independent programs.
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
endif()

# The folders whose code reads bytes from files, the network or other programs
# check the stack and the copies of the C library. The others compute on values
# of the training: the code inside a training step is among them.
set(SMDEBUG_CHECKED_FOLDERS base net config format store index read query actions)

function(smdebug_add_checks target)
  target_compile_options(${target} PRIVATE ${SMDEBUG_CHECKS})
endfunction()

# A toolchain file: compiles for 64-bit Arm with Debian's cross compiler, and runs the
# programs of configure checks under qemu.
#
#   SMDEBUG_SYSROOT   the folder that tools/sysroot wrote

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${SMDEBUG_SYSROOT})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SMDEBUG_SYSROOT)

set(CMAKE_SYSROOT ${SMDEBUG_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# First there, then here: nanobind is a Python package of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SMDEBUG_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${SMDEBUG_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SMDEBUG_SYSROOT}/usr/share/pkgconfig)

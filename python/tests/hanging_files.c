// Preloaded into a process: the system call that HANG_CALL names blocks forever on paths that
// contain HANG_PATH, once the file HANG_SWITCH exists. This is what a file system does whose
// server is gone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void hang(const char* call, const char* path) {
  const char* chosen = getenv("HANG_CALL");
  const char* part = getenv("HANG_PATH");
  const char* file = getenv("HANG_SWITCH");
  if (!chosen || strcmp(chosen, call) != 0) return;
  if (!path || !part || !strstr(path, part)) return;
  if (!file || syscall(SYS_access, file, F_OK) != 0) return;
  if (write(STDOUT_FILENO, "hangs\n", 6) != 6) return;
  for (;;) pause();
}

static void hang_file(const char* call, int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (n <= 0) return;
  path[n] = 0;
  hang(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list list) {
  return flags & O_CREAT ? va_arg(list, mode_t) : 0;
}
#define OPEN(name)                          \
  int name(const char* path, int flags, ...) { \
    va_list list;                           \
    va_start(list, flags);                  \
    const mode_t mode = mode_of(flags, list); \
    va_end(list);                           \
    hang("open", path);                     \
    return REAL(name)(path, flags, mode);   \
  }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                   \
  int name(int folder, const char* path, int flags, ...) { \
    va_list list;                                      \
    va_start(list, flags);                             \
    const mode_t mode = mode_of(flags, list);          \
    va_end(list);                                      \
    hang("open", path);                                \
    return REAL(name)(folder, path, flags, mode);      \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t writev(int file, const struct iovec* parts, int count) {
  hang_file("writev", file);
  return REAL(writev)(file, parts, count);
}
int close(int file) {
  hang_file("close", file);
  return REAL(close)(file);
}
int rename(const char* from, const char* to) {
  hang("rename", from);
  return REAL(rename)(from, to);
}
int link(const char* from, const char* to) {
  hang("link", from);
  return REAL(link)(from, to);
}
int linkat(int a, const char* from, int b, const char* to, int flags) {
  hang("link", from);
  return REAL(linkat)(a, from, b, to, flags);
}
int unlink(const char* path) {
  hang("unlink", path);
  return REAL(unlink)(path);
}
int mkdir(const char* path, mode_t mode) {
  hang("mkdir", path);
  return REAL(mkdir)(path, mode);
}
int lstat(const char* path, struct stat* status) {
  hang("lstat", path);
  return REAL(lstat)(path, status);
}

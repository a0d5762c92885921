// Preloaded into a process: the system call that HANG_CALL names blocks forever on paths that
// contain HANG_PATH, once the file HANG_SWITCH exists. This is what a file system does whose
// server is gone.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool is_hanging(const char* call, const char* path) {
  const char* chosen = getenv("HANG_CALL");
  const char* part = getenv("HANG_PATH");
  const char* file = getenv("HANG_SWITCH");
  if (!chosen || strcmp(chosen, call) != 0) return false;
  if (!path || !part || !strstr(path, part)) return false;
  return file && syscall(SYS_access, file, F_OK) == 0;
}

// A caller of readdir tells its end from a failure by `errno`.
static void hang(const char* call, const char* path) {
  const int before = errno;
  if (!is_hanging(call, path)) {
    errno = before;
    return;
  }
  if (write(STDOUT_FILENO, "hangs\n", 6) != 6) return;
  for (;;) pause();
}

// The path of an open file or folder; empty if it has none.
static void path_of(int file, char* path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
  path[n > 0 ? n : 0] = 0;
}

static void hang_file(const char* call, int file) {
  char path[4096];
  path_of(file, path, sizeof path);
  hang(call, path);
}

// For calls that name a file in an open folder.
static void hang_at(const char* call, int folder, const char* name) {
  char path[4096];
  if (name[0] == '/' || folder == AT_FDCWD) return hang(call, name);
  path_of(folder, path, sizeof path / 2);
  const size_t n = strlen(path);
  snprintf(path + n, sizeof path - n, "/%s", name);
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
    hang_at("open", folder, path);                     \
    return REAL(name)(folder, path, flags, mode);      \
  }
OPENAT(openat)
OPENAT(openat64)

// openat2 has no function of its own.
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_openat2) hang_at("open", (int)a[0], (const char*)a[1]);
  return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(
      number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
ssize_t pread(int file, void* bytes, size_t count, off_t start) {
  hang_file("pread", file);
  return REAL(pread)(file, bytes, count, start);
}
ssize_t pread64(int file, void* bytes, size_t count, off64_t start) {
  hang_file("pread", file);
  return REAL(pread64)(file, bytes, count, start);
}
struct dirent* readdir(DIR* folder) {
  hang_file("readdir", dirfd(folder));
  return REAL(readdir)(folder);
}
struct dirent64* readdir64(DIR* folder) {
  hang_file("readdir", dirfd(folder));
  return REAL(readdir64)(folder);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  hang_file("writev", file);
  return REAL(writev)(file, parts, count);
}
int close(int file) {
  hang_file("close", file);
  return REAL(close)(file);
}
int fsync(int file) {
  hang_file("fsync", file);
  return REAL(fsync)(file);
}
int fdatasync(int file) {
  hang_file("fdatasync", file);
  return REAL(fdatasync)(file);
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
  hang_at("link", a, from);
  return REAL(linkat)(a, from, b, to, flags);
}
int renameat(int a, const char* from, int b, const char* to) {
  hang_at("rename", a, from);
  return REAL(renameat)(a, from, b, to);
}
int unlinkat(int folder, const char* name, int flags) {
  hang_at("unlink", folder, name);
  return REAL(unlinkat)(folder, name, flags);
}
int mkdirat(int folder, const char* name, mode_t mode) {
  hang_at("mkdir", folder, name);
  return REAL(mkdirat)(folder, name, mode);
}
int fstatat(int folder, const char* name, struct stat* status, int flags) {
  hang_at("lstat", folder, name);
  return REAL(fstatat)(folder, name, status, flags);
}
int unlink(const char* path) {
  hang("unlink", path);
  return REAL(unlink)(path);
}
int mkdir(const char* path, mode_t mode) {
  hang("mkdir", path);
  return REAL(mkdir)(path, mode);
}
int stat(const char* path, struct stat* status) {
  hang("stat", path);
  return REAL(stat)(path, status);
}
int fstat(int file, struct stat* status) {
  hang_file("stat", file);
  return REAL(fstat)(file, status);
}
int lstat(const char* path, struct stat* status) {
  hang("lstat", path);
  return REAL(lstat)(path, status);
}

// The names of those calls in libraries that are linked for a C library older than 2.33, such as
// the wheel.
int __xstat(int version, const char* path, struct stat* status) {
  (void)version;
  return stat(path, status);
}
int __fxstat(int version, int file, struct stat* status) {
  (void)version;
  return fstat(file, status);
}
int __lxstat(int version, const char* path, struct stat* status) {
  (void)version;
  return lstat(path, status);
}
int __fxstatat(int version, int folder, const char* name, struct stat* status, int flags) {
  (void)version;
  return fstatat(folder, name, status, flags);
}

// Preloaded into a process: writes each call that changes the files below RECORD_BELOW, or syncs
// them, to RECORD_LOG, in the order in which they take effect. A line has the id of the thread, the
// call and its paths, with tabs between them. The bytes of a write follow each other in RECORD_BYTES;
// its line has their number. The sync of a path that ends with FAIL_PATH fails with FAIL_ERROR.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

typedef char Path[4096];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int log_file(const char* variable) {
  return (int)syscall(SYS_openat, AT_FDCWD, getenv(variable),
                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void append_to(const char* variable, const void* bytes, size_t size) {
  const int file = log_file(variable);
  if (syscall(SYS_write, file, bytes, size) != (long)size) abort();
  syscall(SYS_close, file);
}

static int is_recorded(const char* path) {
  const char* below = getenv("RECORD_BELOW");
  return below && strncmp(path, below, strlen(below)) == 0;
}

static void record(const char* call, const char* path, const char* more) {
  const int before = errno;
  if (is_recorded(path)) {
    char line[3 * sizeof(Path)];
    const int n = snprintf(line, sizeof line, "%ld\t%s\t%s\t%s\n", syscall(SYS_gettid), call, path,
                           more);
    append_to("RECORD_LOG", line, (size_t)n);
  }
  errno = before;
}

static void path_of(int file, Path path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(Path) - 1);
  path[n > 0 ? n : 0] = 0;
}

static void path_at(int folder, const char* name, Path path) {
  if (name[0] == '/' || folder == AT_FDCWD) {
    snprintf(path, sizeof(Path), "%s", name);
    return;
  }
  path_of(folder, path);
  const size_t n = strlen(path);
  snprintf(path + n, sizeof(Path) - n, "/%s", name);
}

// Makes a call and records it if it succeeds, before another thread makes one.
#define RECORDED(call, name, path, more)  \
  pthread_mutex_lock(&mutex);             \
  const long result = (call);             \
  if (result >= 0) record(name, path, more); \
  pthread_mutex_unlock(&mutex);           \
  return result

#define OPENAT(function)                                             \
  int function(int folder, const char* name, int flags, ...) {       \
    va_list list;                                                    \
    va_start(list, flags);                                           \
    const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;  \
    va_end(list);                                                    \
    if (!(flags & O_CREAT)) return REAL(function)(folder, name, flags, mode); \
    Path path;                                                       \
    path_at(folder, name, path);                                     \
    RECORDED(REAL(function)(folder, name, flags, mode), "create", path, ""); \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t writev(int file, const struct iovec* parts, int count) {
  Path path;
  path_of(file, path);
  if (!is_recorded(path)) return REAL(writev)(file, parts, count);
  pthread_mutex_lock(&mutex);
  const ssize_t written = REAL(writev)(file, parts, count);
  size_t left = written > 0 ? (size_t)written : 0;
  for (int i = 0; i < count && left > 0; ++i) {
    const size_t n = parts[i].iov_len < left ? parts[i].iov_len : left;
    append_to("RECORD_BYTES", parts[i].iov_base, n);
    left -= n;
  }
  char size[32];
  snprintf(size, sizeof size, "%zd", written);
  if (written > 0) record("write", path, size);
  pthread_mutex_unlock(&mutex);
  return written;
}

static int fails(const char* path) {
  const char* part = getenv("FAIL_PATH");
  const size_t size = part ? strlen(part) : 0, n = strlen(path);
  if (size == 0 || n < size || strcmp(path + n - size, part) != 0 || !is_recorded(path)) return 0;
  record("failed sync", path, "");
  errno = atoi(getenv("FAIL_ERROR"));
  return 1;
}

#define SYNC(function)                                       \
  int function(int file) {                                   \
    Path path;                                               \
    path_of(file, path);                                     \
    if (fails(path)) return -1;                              \
    RECORDED(REAL(function)(file), "sync", path, #function); \
  }
SYNC(fsync)
SYNC(fdatasync)

int renameat(int a, const char* from, int b, const char* to) {
  Path source, target;
  path_at(a, from, source);
  path_at(b, to, target);
  RECORDED(REAL(renameat)(a, from, b, to), "rename", source, target);
}
int linkat(int a, const char* from, int b, const char* to, int flags) {
  Path source, target;
  path_at(a, from, source);
  path_at(b, to, target);
  RECORDED(REAL(linkat)(a, from, b, to, flags), "link", source, target);
}
int unlinkat(int folder, const char* name, int flags) {
  Path path;
  path_at(folder, name, path);
  RECORDED(REAL(unlinkat)(folder, name, flags), "unlink", path, "");
}
int mkdirat(int folder, const char* name, mode_t mode) {
  Path path;
  path_at(folder, name, path);
  RECORDED(REAL(mkdirat)(folder, name, mode), "mkdir", path, "");
}
int mkdir(const char* path, mode_t mode) {
  RECORDED(REAL(mkdir)(path, mode), "mkdir", path, "");
}
int rmdir(const char* path) {
  RECORDED(REAL(rmdir)(path), "unlink", path, "");
}
char* mkdtemp(char* pattern) {
  char* made = REAL(mkdtemp)(pattern);
  if (made) record("mkdir", made, "");
  return made;
}

// What our objects take from C libraries that are newer than glibc 2.28, for
// the extension of cmake/portable.cmake. Nothing here is exported.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

// glibc 2.32: whether the process has never had a second thread. libstdc++ then
// counts references without atomic operations. A training has threads.
HIDDEN char __libc_single_threaded = 0;

struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

// Returns 1 for the object that contains the address, 0 for others, and -1 if
// it has no unwind table.
static int find_in_object(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  const struct search* search = data;
  uintptr_t start = 0, end = 0, table = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    const uintptr_t first = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) table = first;
    if (segment->p_type == PT_LOAD &&
        search->address - first < segment->p_memsz) {
      start = first;
      end = first + segment->p_memsz;
    }
  }
  if (end == 0) return 0;
  if (table == 0) return -1;
  *search->found = (struct dl_find_object){.dlfo_map_start = (void*)start,
                                           .dlfo_map_end = (void*)end,
                                           .dlfo_eh_frame = (void*)table};
  return 1;
}

// glibc 2.35: the unwind table of the code at an address, for exceptions.
HIDDEN int _dl_find_object(void* address, struct dl_find_object* found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(find_in_object, &search) == 1 ? 0 : -1;
}

static int64_t nanoseconds(const struct timespec* time) {
  return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

// glibc 2.30: waits until a time of any clock. Conditions of C++ use the clock
// CLOCK_REALTIME; waits are short and in loops, so a jump of it only makes a
// wait too short or too long once.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition,
                                  pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  struct timespec now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  int64_t end = nanoseconds(&real) + nanoseconds(until) - nanoseconds(&now);
  if (end < 0) end = 0;
  const struct timespec at = {end / 1000000000, end % 1000000000};
  return pthread_cond_timedwait(condition, mutex, &at);
}

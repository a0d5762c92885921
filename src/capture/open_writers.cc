#include "capture/open_writers.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include <pthread.h>

#include "smdebug/base/clock.h"

namespace smdebug {
namespace {

struct OpenWriters {
  std::mutex mutex;
  std::vector<WriteThread*> writers;
};

OpenWriters& open_writers();

void before_fork() { open_writers().mutex.lock(); }
void after_fork() { open_writers().mutex.unlock(); }
// The threads did not come along.
void after_fork_in_child() {
  open_writers().writers.clear();
  open_writers().mutex.unlock();
}

// Never destroyed: SIGTERM may come while the program ends.
OpenWriters& open_writers() {
  static auto* const writers = [] {
    ::pthread_atfork(before_fork, after_fork, after_fork_in_child);
    return new OpenWriters;
  }();
  return *writers;
}

}  // namespace

void add_open_writer(WriteThread& writer) {
  OpenWriters& open = open_writers();
  const std::lock_guard lock(open.mutex);
  open.writers.push_back(&writer);
}

void remove_open_writer(WriteThread& writer) {
  OpenWriters& open = open_writers();
  const std::lock_guard lock(open.mutex);
  std::erase(open.writers, &writer);
}

void drain_open_writers(std::chrono::milliseconds at_most) {
  const auto end = system_clock().monotonic() + at_most;
  OpenWriters& open = open_writers();
  const std::lock_guard lock(open.mutex);
  for (WriteThread* writer : open.writers) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - system_clock().monotonic());
    (void)writer->drain(std::max(left, std::chrono::milliseconds(0)));
  }
}

}  // namespace smdebug

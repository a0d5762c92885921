#pragma once

// Marks the time in which a thread waits for something outside of this process,
// such as a server. A module of an interpreter lets the other threads of its
// program run meanwhile.

#include <mutex>

namespace [[gnu::visibility("default")]] smdebug {

/// Both are called on the thread that waits.
struct WaitCalls {
  bool (*begin)();  // returns whether `end` is to be called
  void (*end)();
};

/// Sets the calls of the process, which last as long as it. Call it before
/// other threads wait.
void set_wait_calls(const WaitCalls& calls);

/// A wait, from its construction on. They may nest.
class BlockingWait {
 public:
  BlockingWait();
  ~BlockingWait();
  BlockingWait(const BlockingWait&) = delete;
  BlockingWait& operator=(const BlockingWait&) = delete;

 private:
  const WaitCalls* begun_;
};

/// Locks a mutex whose owner may be in a wait. The owner may need what this
/// thread has in order to end its wait, and so this is a wait as well.
template <typename Mutex>
[[nodiscard]] std::unique_lock<Mutex> lock_of_waiters(Mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) {
    const BlockingWait wait;
    lock.lock();
  }
  return lock;
}

}  // namespace smdebug

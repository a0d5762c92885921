#pragma once

// Work that takes its time while its owner goes on: each task has a thread of
// its own, so that one that hangs holds up no other. For a handful of tasks
// that end by themselves.

#include <functional>
#include <thread>
#include <vector>

namespace smdebug {

class BackgroundTasks {
 public:
  BackgroundTasks() = default;
  // Waits for all of them.
  ~BackgroundTasks() { wait(); }
  BackgroundTasks(const BackgroundTasks&) = delete;
  BackgroundTasks& operator=(const BackgroundTasks&) = delete;

  // Begins `task`, which must not throw. Where no thread is to be had, it is
  // done in this one before the call returns.
  void start(std::function<void()> task);

  // Returns when every task that was started has ended.
  void wait() { threads_.clear(); }

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace smdebug

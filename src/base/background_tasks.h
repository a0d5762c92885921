#pragma once

// Runs tasks in the background, each on its own thread, so that a task that
// hangs does not delay the others. For a small number of tasks that end by
// themselves.

#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace smdebug {

class BackgroundTasks {
 public:
  BackgroundTasks() = default;
  // Waits for all tasks.
  ~BackgroundTasks() { wait(); }
  BackgroundTasks(const BackgroundTasks&) = delete;
  BackgroundTasks& operator=(const BackgroundTasks&) = delete;

  // Starts `task`, which must not throw. If no thread can be created, runs it
  // before this returns.
  void start(const std::function<void()>& task) {
    try {
      threads_.emplace_back(task);
    } catch (const std::system_error&) {
      task();
    }
  }

  // Returns when all tasks have ended.
  void wait() { threads_.clear(); }

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace smdebug

#pragma once

// While an `InterruptWatch` exists, SIGINT, SIGTERM and SIGHUP do not end this
// program: the watch records them until `take` returns them. Its destructor
// restores the previous handlers. Only one watch may exist at a time, because
// signal handlers belong to the whole process.

#include <array>
#include <csignal>

namespace smdebug {

class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Removes a recorded signal and returns it; 0 if there is none.
  int take();
  // Whether a signal is recorded. False if there is no watch.
  static bool is_pending();

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_;
};

}  // namespace smdebug

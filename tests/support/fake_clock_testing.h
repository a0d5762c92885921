#pragma once

// A clock for tests: time advances only when the test or a sleep advances it.

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>

#include "smdebug/base/clock.h"

namespace smdebug {

// Wall time starts at `wall_seconds` and moves with monotonic time, which
// starts at 0. Safe to use from several threads, except `on_sleep`.
class FakeClock : public Clock {
 public:
  explicit FakeClock(double wall_seconds = 0) : wall_start_(wall_seconds) {}

  double wall_seconds() const override {
    const std::lock_guard lock(mutex_);
    return wall_start_ + std::chrono::duration<double>(now_).count();
  }
  std::chrono::nanoseconds monotonic() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void sleep_for(std::chrono::nanoseconds duration) const override {
    {
      const std::lock_guard lock(mutex_);
      now_ += std::max(duration, shortest_sleep_);
      ++sleeps_;
    }
    if (on_sleep) on_sleep();
  }

  void advance(std::chrono::nanoseconds duration) {
    const std::lock_guard lock(mutex_);
    now_ += duration;
  }
  void set_wall_seconds(double seconds) {
    const std::lock_guard lock(mutex_);
    wall_start_ = seconds - std::chrono::duration<double>(now_).count();
  }
  // Each sleep takes at least this long, for tests of long waits.
  void set_shortest_sleep(std::chrono::nanoseconds duration) {
    const std::lock_guard lock(mutex_);
    shortest_sleep_ = duration;
  }
  int sleeps() const {
    const std::lock_guard lock(mutex_);
    return sleeps_;
  }

  // Called at the end of each sleep, to simulate events during it.
  std::function<void()> on_sleep;

 private:
  mutable std::mutex mutex_;
  double wall_start_;
  mutable std::chrono::nanoseconds now_{0};
  std::chrono::nanoseconds shortest_sleep_{0};
  mutable int sleeps_ = 0;
};

}  // namespace smdebug

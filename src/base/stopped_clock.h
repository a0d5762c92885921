#pragma once

// A clock of tests that need the same bytes each time.

#include <chrono>

#include "smdebug/base/clock.h"

namespace smdebug {

class StoppedClock : public Clock {
 public:
  explicit StoppedClock(double wall_seconds) : wall_seconds_(wall_seconds) {}

  double wall_seconds() const override { return wall_seconds_; }
  std::chrono::nanoseconds monotonic() const override { return {}; }
  void sleep_for(std::chrono::nanoseconds) const override {}

 private:
  double wall_seconds_;
};

}  // namespace smdebug

#include "smdebug/base/clock.h"

#include <thread>

namespace smdebug {
namespace {

class SystemClock : public Clock {
 public:
  double wall_seconds() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }

  std::chrono::nanoseconds monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  void sleep_for(std::chrono::nanoseconds duration) const override {
    std::this_thread::sleep_for(duration);
  }
};

}  // namespace

const Clock& system_clock() {
  // Never destroyed: the write thread may outlive static destruction.
  static const Clock& clock = *new SystemClock;
  return clock;
}

}  // namespace smdebug

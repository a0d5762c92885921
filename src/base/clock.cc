#include "smdebug/base/clock.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <thread>

#include <fmt/chrono.h>

#include "smdebug/base/blocking_wait.h"

namespace smdebug {
namespace {

constexpr double kLastSecond = 253402300799;  // 9999-12-31 23:59:59

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
    const BlockingWait wait;
    std::this_thread::sleep_for(duration);
  }
};

}  // namespace

const Clock& system_clock() {
  // Never destroyed: the write thread may outlive static destruction.
  static const Clock& clock = *new SystemClock;
  return clock;
}

std::string utc_text(double wall_seconds, std::string_view pattern) {
  const double bounded =
      std::isnan(wall_seconds) ? 0 : std::clamp(wall_seconds, 0.0, kLastSecond);
  const auto seconds = static_cast<std::time_t>(std::floor(bounded));
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  return fmt::format(fmt::runtime("{:" + std::string(pattern) + "}"), parts);
}

}  // namespace smdebug

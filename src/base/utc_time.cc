#include "base/utc_time.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>

namespace smdebug {
namespace {

constexpr double kLastSecond = 253402300799;  // 9999-12-31 23:59:59

}  // namespace

std::string utc_text(double wall_seconds, std::string_view pattern) {
  const double bounded =
      std::isnan(wall_seconds) ? 0 : std::clamp(wall_seconds, 0.0, kLastSecond);
  const auto seconds = static_cast<std::time_t>(std::floor(bounded));
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  return fmt::format(fmt::runtime("{:" + std::string(pattern) + "}"), parts);
}

}  // namespace smdebug

#include "smdebug/base/wait_limit.h"

#include <utility>

#include "base/environment.h"

namespace smdebug {

WaitLimit WaitLimit::from_environment(std::function<bool()> check_interrupt) {
  WaitLimit limit;
  const int seconds =
      environment_number("SMDEBUG_STORAGE_TIMEOUT", 0, default_logger());
  if (seconds > 0) limit.at_most = std::chrono::seconds(seconds);
  limit.check_interrupt = std::move(check_interrupt);
  return limit;
}

}  // namespace smdebug

#include "smdebug/base/wait_limit.h"

#include <utility>

#include "base/environment.h"

namespace smdebug {

WaitLimit WaitLimit::from_environment(std::function<bool()> check_interrupt) {
  WaitLimit limit;
  const auto usual =
      std::chrono::duration_cast<std::chrono::seconds>(limit.at_most);
  const int seconds =
      environment_number("SMDEBUG_STORAGE_TIMEOUT",
                         static_cast<int>(usual.count()), default_logger());
  if (seconds > 0) limit.at_most = std::chrono::seconds(seconds);
  limit.check_interrupt = std::move(check_interrupt);
  return limit;
}

}  // namespace smdebug

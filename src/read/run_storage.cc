#include "read/run_storage.h"

#include <chrono>
#include <limits>

#include "smdebug/base/try.h"
#include "smdebug/read/trial.h"
#include "smdebug/store/open_storage.h"

namespace smdebug {

Result<std::shared_ptr<Storage>> find_run_storage(const std::string& location) {
  TrialOptions options;
  options.timeout = std::chrono::nanoseconds(0);
  options.first_step = std::numeric_limits<Step>::max();
  SMD_TRY(const auto trial, Trial::open(location, std::move(options)));
  return open_storage(trial->location());
}

}  // namespace smdebug

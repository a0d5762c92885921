#include "base/background_tasks.h"

#include <system_error>
#include <utility>

namespace smdebug {

void BackgroundTasks::start(std::function<void()> task) {
  try {
    threads_.emplace_back(task);
  } catch (const std::system_error&) {
    task();
  }
}

}  // namespace smdebug

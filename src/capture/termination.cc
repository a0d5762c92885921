#include "smdebug/capture/termination.h"

#include <atomic>

#include "base/termination_signal.h"
#include "capture/write_thread.h"

namespace smdebug {
namespace {

std::atomic<std::chrono::milliseconds> longest_wait = kTerminationWait;

void flush_sessions() { WriteThread::drain_all(longest_wait.load()); }

}  // namespace

bool install_termination_flush(std::chrono::milliseconds at_most) {
  longest_wait.store(at_most);
  return watch_termination_signal(flush_sessions);
}

}  // namespace smdebug

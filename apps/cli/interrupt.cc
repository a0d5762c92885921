#include "interrupt.h"

#include <algorithm>
#include <atomic>

namespace smdebug {
namespace {

// The number of recorded signals of each kind. The handler may use it because
// it is lock-free.
std::array<std::atomic<int>, NSIG> pending;
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
  pending[static_cast<std::size_t>(signal)].fetch_add(1);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    pending[static_cast<std::size_t>(kSignals[i])] = 0;
    ::sigaction(kSignals[i], &action, &before_[i]);
  }
}

InterruptWatch::~InterruptWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}

int InterruptWatch::take() {
  for (const int signal : kSignals) {
    std::atomic<int>& count = pending[static_cast<std::size_t>(signal)];
    if (count.load() > 0) {
      count.fetch_sub(1);
      return signal;
    }
  }
  return 0;
}

bool InterruptWatch::is_pending() {
  return std::ranges::any_of(kSignals, [](int signal) {
    return pending[static_cast<std::size_t>(signal)].load() > 0;
  });
}

}  // namespace smdebug

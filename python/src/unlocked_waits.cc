#include "unlocked_waits.h"

namespace smdebug {
namespace {

thread_local bool may_unlock = false;
thread_local PyThreadState* state_of_wait = nullptr;

constexpr WaitCalls kCalls = {
    [] {
      if (!may_unlock) return false;
      may_unlock = false;
      state_of_wait = PyEval_SaveThread();
      return true;
    },
    [] {
      PyEval_RestoreThread(state_of_wait);
      may_unlock = true;
    },
};

}  // namespace

void unlock_waits() { set_wait_calls(kCalls); }

// A wait may call Python, whose calls of this module wait as well.
UnlockedWaits::UnlockedWaits()
    : state_before_(state_of_wait), before_(std::exchange(may_unlock, true)) {}

UnlockedWaits::~UnlockedWaits() {
  may_unlock = before_;
  state_of_wait = state_before_;
}

}  // namespace smdebug

#pragma once

// Lets the other threads of Python run while a call of the library waits for
// something outside of this process. The call keeps the GIL otherwise: a thread
// that gives it up to one that computes waits 5 ms until it has it back.

#include <mutex>
#include <utility>

#include <nanobind/nanobind.h>

#include "smdebug/base/blocking_wait.h"

namespace smdebug {

/// Registers this module with the library. Call it once, when the module is
/// imported.
void unlock_waits();

/// While it exists, waits of this thread release the GIL, which its creator
/// holds. Objects that other threads may use meanwhile need a lock of their
/// own.
class UnlockedWaits {
 public:
  UnlockedWaits();
  ~UnlockedWaits();
  UnlockedWaits(const UnlockedWaits&) = delete;
  UnlockedWaits& operator=(const UnlockedWaits&) = delete;

 private:
  PyThreadState* const state_before_;
  const bool before_;
};

namespace one_at_a_time_detail {

template <typename R, typename Self, typename... A, typename Call>
auto bind(Call call) {
  return [call](Self& self, A... arguments) -> R {
    const UnlockedWaits unlocked;
    const auto turn = lock_of_waiters(self.turn());
    return call(self, std::forward<A>(arguments)...);
  };
}

template <typename F, typename R, typename Self, typename... A>
auto bind_lambda(F call, R (F::*)(Self&, A...) const) {
  return bind<R, Self, A...>(std::move(call));
}

}  // namespace one_at_a_time_detail

/// Returns the function for a binding of an object with a `turn()`, which is a
/// mutex: one thread at a time calls it, and its waits release the GIL.
template <typename R, typename Self, typename... A>
auto one_at_a_time(R (Self::*member)(A...)) {
  return one_at_a_time_detail::bind<R, Self, A...>(
      [member](Self& self, A... arguments) -> R {
        return (self.*member)(std::forward<A>(arguments)...);
      });
}

template <typename R, typename Self, typename... A>
auto one_at_a_time(R (Self::*member)(A...) const) {
  return one_at_a_time_detail::bind<R, Self, A...>(
      [member](Self& self, A... arguments) -> R {
        return (self.*member)(std::forward<A>(arguments)...);
      });
}

template <typename R, typename Self, typename... A>
auto one_at_a_time(R (*function)(Self&, A...)) {
  return one_at_a_time_detail::bind<R, Self, A...>(function);
}

template <typename F>
auto one_at_a_time(F lambda) {
  return one_at_a_time_detail::bind_lambda(std::move(lambda), &F::operator());
}

}  // namespace smdebug

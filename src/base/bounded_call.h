#pragma once

// Makes a call that may never return, such as one of a file system whose server
// does not respond. The call runs on a thread of its own, and the caller waits
// for a limited time. After that the thread is abandoned: it ends when the call
// returns, or with the process. The call must therefore own everything it uses.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "smdebug/base/wait_limit.h"

namespace smdebug {

enum class WaitEnd { done, timed_out, interrupted };

// Counts the time of one wait against its limit.
class WaitMeter {
 public:
  explicit WaitMeter(const WaitLimit& limit);

  // The time between two checks.
  static constexpr std::chrono::milliseconds kLook{50};
  // An interrupt ends a wait after this long. A storage that merely is slow
  // gets to finish.
  static constexpr std::chrono::milliseconds kInterruptAfter{1000};

  // Call it after each `kLook`, without a lock. Returns the reason to end the
  // wait, or none.
  std::optional<WaitEnd> check() const;
  // Counts from `start`, a monotonic time of the system's clock.
  void restart(std::chrono::nanoseconds start) { start_ = start; }

 private:
  const WaitLimit& limit_;
  std::chrono::nanoseconds start_;
};

// Runs `work` on a detached thread with all signals blocked. Runs it before
// this returns if no thread can be created. `work` must not throw.
void start_detached(std::function<void()> work);

// Runs `work` on a detached thread, and waits for its end.
WaitEnd run_within(const WaitLimit& limit, std::function<void()> work);

// Returns the result of `call`, or the reason why there is none.
template <typename R>
struct BoundedResult {
  std::optional<R> value;
  WaitEnd end = WaitEnd::done;
};

template <typename R>
BoundedResult<R> call_within(const WaitLimit& limit, std::function<R()> call) {
  auto value = std::make_shared<std::optional<R>>();
  const WaitEnd end = run_within(
      limit, [value, call = std::move(call)] { value->emplace(call()); });
  // The thread may still write to `value` if it was abandoned.
  if (end != WaitEnd::done) return {std::nullopt, end};
  return {std::move(*value), end};
}

}  // namespace smdebug

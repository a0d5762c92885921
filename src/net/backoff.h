#pragma once

// Waits between the attempts of a request: twice as long each time, and for a
// random part of that, so that many clients of a busy server do not return at
// the same moment.

#include <chrono>
#include <random>

#include "smdebug/base/clock.h"
#include "smdebug/base/wait_limit.h"

namespace smdebug {

struct RetryPolicy {
  int attempts = 6;
  std::chrono::milliseconds first_wait{100};
  std::chrono::milliseconds longest_wait{5000};
  // No attempt begins later than this after the first one. With the longest
  // silence of the last one, that is less than the limit of a storage
  // (smdebug/base/wait_limit.h).
  std::chrono::milliseconds deadline{40'000};
  // Of one attempt (`HttpRequest`).
  std::chrono::seconds longest_silence{15};
  std::chrono::milliseconds longest_attempt{120'000};

  // Returns the times above, shortened in proportion if the limit of a storage
  // is: otherwise a single attempt could take all of it.
  static RetryPolicy within(std::chrono::milliseconds limit_of_storage);
};

class Backoff {
 public:
  // Begins with the first attempt.
  Backoff(const RetryPolicy& policy, const Clock& clock);

  // Waits before the next attempt, at least for `least`, which the server asked
  // for. Returns false, without waiting, if there is none.
  bool wait(std::chrono::nanoseconds least = {});

  int attempts() const { return attempts_; }
  std::chrono::nanoseconds elapsed() const {
    return clock_.monotonic() - start_;
  }

 private:
  RetryPolicy policy_;
  const Clock& clock_;
  std::chrono::nanoseconds start_;
  int attempts_ = 1;
  std::minstd_rand random_;
};

}  // namespace smdebug

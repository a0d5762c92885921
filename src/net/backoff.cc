#include "net/backoff.h"

#include <algorithm>

#include <unistd.h>

namespace smdebug {

namespace {

// A static libstdc++ reads std::random_device with a function that glibc 2.28,
// which the wheel is for, does not have.
unsigned random_seed() {
  unsigned seed = 0;
  if (::getentropy(&seed, sizeof seed) != 0) {
    seed = static_cast<unsigned>(::getpid());
  }
  return seed;
}

}  // namespace

RetryPolicy RetryPolicy::within(std::chrono::milliseconds limit_of_storage) {
  const auto shortened = [&](std::chrono::milliseconds usual) {
    return std::min(usual,
                    usual * limit_of_storage.count() / kStorageTimeout.count());
  };
  RetryPolicy policy;
  policy.deadline = shortened(policy.deadline);
  policy.longest_attempt = shortened(policy.longest_attempt);
  policy.longest_silence = std::max(
      std::chrono::seconds(1), std::chrono::duration_cast<std::chrono::seconds>(
                                   shortened(policy.longest_silence)));
  return policy;
}

Backoff::Backoff(const RetryPolicy& policy, const Clock& clock)
    : policy_(policy),
      clock_(clock),
      start_(clock.monotonic()),
      random_(random_seed()) {}

bool Backoff::wait(std::chrono::nanoseconds least) {
  if (attempts_ >= policy_.attempts) return false;
  const int doublings = std::min(attempts_ - 1, 20);
  const std::chrono::nanoseconds longest = std::min<std::chrono::nanoseconds>(
      policy_.first_wait * (std::int64_t{1} << doublings),
      policy_.longest_wait);
  std::uniform_int_distribution<std::int64_t> part(longest.count() / 2,
                                                   longest.count());
  const std::chrono::nanoseconds duration =
      std::max(least, std::chrono::nanoseconds(part(random_)));
  if (elapsed() + duration > policy_.deadline) return false;
  clock_.sleep_for(duration);
  ++attempts_;
  return true;
}

}  // namespace smdebug

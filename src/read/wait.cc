#include "read/wait.h"

#include <algorithm>

#include <fmt/format.h>

namespace smdebug {
namespace {

constexpr std::chrono::nanoseconds kPoll = std::chrono::milliseconds(100);
constexpr std::chrono::nanoseconds kReminder = std::chrono::seconds(10);

}  // namespace

Wait::Wait(const TrialOptions& options,
           std::optional<std::chrono::nanoseconds> timeout)
    : options_(options),
      start_(options.clock->monotonic()),
      timeout_(timeout),
      next_reminder_(start_ + kReminder) {}

bool Wait::is_over() const {
  return timeout_ && options_.clock->monotonic() - start_ >= *timeout_;
}

Status Wait::pause(std::string_view what) {
  if (options_.clock->monotonic() >= next_reminder_) {
    next_reminder_ += kReminder;
    options_.logger->warning(fmt::format("still waiting for {}", what));
  }
  return sleep_for(kPoll, *options_.clock, options_.check_interrupt);
}

Status sleep_for(std::chrono::nanoseconds duration, const Clock& clock,
                 const std::function<bool()>& check_interrupt) {
  if (!check_interrupt) {
    clock.sleep_for(duration);
    return {};
  }
  while (duration > std::chrono::nanoseconds(0)) {
    const std::chrono::nanoseconds piece = std::min(duration, kPoll);
    clock.sleep_for(piece);
    duration -= piece;
    if (check_interrupt()) {
      return Error{Error::Code::interrupted, "the wait was interrupted"};
    }
  }
  return {};
}

}  // namespace smdebug

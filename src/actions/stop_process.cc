#include "smdebug/actions/stop_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <sys/types.h>

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPollInterval(20);
// A process that is killed goes at once, unless it waits for a disk.
constexpr std::chrono::seconds kKillPatience(10);

// Returns whether there was a process to send it to.
Result<bool> send(pid_t group, int signal) {
  if (::kill(-group, signal) == 0) return true;
  if (errno == ESRCH) return false;
  return Error{Error::Code::io, "cannot send signal " + std::to_string(signal) +
                                    " to process group " +
                                    std::to_string(group) + ": " +
                                    std::strerror(errno)};
}

}  // namespace

Result<StopOutcome> stop_process_group(std::int64_t group,
                                       const StopOptions& options) {
  if (group <= 0) {
    return Error{Error::Code::invalid_argument,
                 "there is no process group " + std::to_string(group)};
  }
  const auto id = static_cast<pid_t>(group);
  const Clock& clock = options.clock ? *options.clock : system_clock();
  const auto has_ended = [&] {
    if (options.has_ended) return options.has_ended();
    return ::kill(-id, 0) != 0 && errno == ESRCH;
  };
  const auto ends_within = [&](std::chrono::nanoseconds patience) {
    const auto deadline = clock.monotonic() + patience;
    while (!has_ended()) {
      if (clock.monotonic() >= deadline) return false;
      clock.sleep_for(kPollInterval);
    }
    return true;
  };

  if (has_ended()) return StopOutcome::was_gone;
  SMD_TRY(const bool was_there, send(id, SIGTERM));
  if (!was_there) return StopOutcome::was_gone;
  // A process that was stopped by its terminal does not see SIGTERM.
  SMD_CHECK_OK(send(id, SIGCONT));
  if (ends_within(options.grace)) return StopOutcome::ended;
  SMD_CHECK_OK(send(id, SIGKILL));
  if (ends_within(kKillPatience)) return StopOutcome::killed;
  return Error{Error::Code::unavailable,
               "process group " + std::to_string(group) +
                   " is still there after it was killed"};
}

}  // namespace smdebug

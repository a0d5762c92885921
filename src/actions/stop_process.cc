#include "smdebug/actions/stop_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>

#include <sys/types.h>
#include <unistd.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/environment.h"
#include "base/strings.h"

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPollInterval(20);
// A killed process ends at once, unless it waits for a disk.
constexpr std::chrono::seconds kKillTimeout(10);

// The target of a signal, as in kill(2): a process, or a negated group.
struct Target {
  pid_t id = 0;

  std::string text() const {
    return id < 0 ? "process group " + std::to_string(-id)
                  : "process " + std::to_string(id);
  }
};

// Returns whether a process received it.
Result<bool> send(Target target, int signal) {
  if (::kill(target.id, signal) == 0) return true;
  if (errno == ESRCH) return false;
  return Error{Error::Code::io, "cannot send signal " + std::to_string(signal) +
                                    " to " + target.text() + ": " +
                                    std::strerror(errno)};
}

// Returns true if a process of the group is running. kill(2) also counts
// processes that have ended but were not reaped, so this reads /proc.
bool is_group_alive(pid_t group) {
  if (::kill(-group, 0) != 0 && errno == ESRCH) return false;
  std::error_code failure;
  std::filesystem::directory_iterator entry("/proc", failure);
  if (failure) return true;
  for (; entry != std::filesystem::directory_iterator();
       entry.increment(failure)) {
    const auto id = find_number<pid_t>(entry->path().filename().string());
    if (id && ::getpgid(*id) == group && process_start_ticks(*id)) return true;
    if (failure) return true;
  }
  return false;
}

Result<StopOutcome> stop(Target target, const std::function<bool()>& has_ended,
                         const StopOptions& options) {
  const Clock& clock = options.clock ? *options.clock : system_clock();
  const auto ends_within = [&](std::chrono::nanoseconds limit) {
    const auto deadline = clock.monotonic() + limit;
    while (!has_ended()) {
      if (clock.monotonic() >= deadline) return false;
      clock.sleep_for(kPollInterval);
    }
    return true;
  };

  if (has_ended()) return StopOutcome::was_gone;
  SMD_TRY(const bool was_running, send(target, SIGTERM));
  if (!was_running) return StopOutcome::was_gone;
  // A process suspended by its terminal does not receive SIGTERM.
  SMD_CHECK_OK(send(target, SIGCONT));
  if (ends_within(options.grace)) return StopOutcome::ended;
  SMD_CHECK_OK(send(target, SIGKILL));
  if (ends_within(kKillTimeout)) return StopOutcome::killed;
  return Error{Error::Code::unavailable,
               target.text() + " is still running after SIGKILL"};
}

}  // namespace

Result<StopOutcome> stop_process_group(std::int64_t group,
                                       const StopOptions& options) {
  if (group <= 0) {
    return Error{Error::Code::invalid_argument,
                 "no process group " + std::to_string(group)};
  }
  const auto id = static_cast<pid_t>(group);
  const auto has_ended = [&] {
    return options.has_ended ? options.has_ended() : !is_group_alive(id);
  };
  return stop({-id}, has_ended, options);
}

Result<StopOutcome> stop_training_process(const TrainingProcess& process,
                                          const StopOptions& options) {
  const std::string name = "process " + std::to_string(process.process_id);
  if (process.host != host_name()) {
    return Error{Error::Code::not_found, "the training is " + name + " on '" +
                                             printable(process.host) +
                                             "', not on this machine"};
  }
  const auto has_ended = [&process] {
    return process_start_ticks(process.process_id) != process.start_ticks;
  };
  if (has_ended()) return StopOutcome::was_gone;
  const auto id = static_cast<pid_t>(process.process_id);
  if (id == ::getpid()) {
    SMD_CHECK_OK(send({id}, SIGTERM));
    return StopOutcome::asked;
  }
  const bool leads_group = ::getpgid(id) == id;
  if (leads_group && id != ::getpgrp()) {
    StopOptions group_options = options;
    group_options.has_ended = nullptr;
    return stop_process_group(id, group_options);
  }
  return stop({id}, has_ended, options);
}

}  // namespace smdebug

// Runs the user's program in a shell, with the alert on its standard input.
// Input and output are files in memory, so that no pipe can fill up and block,
// however much the program reads or writes. The program has its own process
// group, which is terminated after the time limit.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "actions/actions.h"

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPollInterval(20);
constexpr std::size_t kOutputShown = 300;

// A file without a name, removed when it is closed.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name)
      : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }

  bool fill(std::string_view text) const {
    while (!text.empty()) {
      const auto n = ::write(descriptor_, text.data(), text.size());
      if (n < 0 && errno != EINTR) return false;
      if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
    return ::lseek(descriptor_, 0, SEEK_SET) == 0;
  }

  std::string last_bytes(std::size_t limit) const {
    const off_t size = ::lseek(descriptor_, 0, SEEK_END);
    const off_t start = std::max<off_t>(0, size - static_cast<off_t>(limit));
    std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - start)),
                     '\0');
    const auto n = ::pread(descriptor_, text.data(), text.size(), start);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
    return text;
  }

 private:
  int descriptor_;
};

// Starts a child with its own files and process group, and with the default
// signal settings, as a shell does.
class SpawnPlan {
 public:
  SpawnPlan(int input, int output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP |
                                                 POSIX_SPAWN_SETSIGDEF |
                                                 POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  Result<pid_t> start(std::string program) const {
    std::string shell = "sh", option = "-c";
    char* const words[] = {shell.data(), option.data(), program.data(),
                           nullptr};
    pid_t child = 0;
    const int failure =
        ::posix_spawn(&child, "/bin/sh", &files_, &attributes_, words, environ);
    if (failure == 0) return child;
    return Error{Error::Code::io, "cannot start the command: " +
                                      std::string(std::strerror(failure))};
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// Waits for a child. Returns nothing after the time limit.
std::optional<int> status_within(pid_t child, std::chrono::nanoseconds time,
                                 const Clock& clock) {
  const auto deadline = clock.monotonic() + time;
  while (true) {
    int status = 0;
    const pid_t reaped = ::waitpid(child, &status, WNOHANG);
    if (reaped == child) return status;
    // Other code in this process reaps every child.
    if (reaped < 0 && errno != EINTR) return 0;
    if (clock.monotonic() >= deadline) return std::nullopt;
    clock.sleep_for(kPollInterval);
  }
}

class CommandAction : public Action {
 public:
  CommandAction(ActionRequest request, const ActionSettings& settings)
      : Action(std::move(request)), settings_(settings) {}

  Result<std::string> perform(const Alert& alert) override {
    const MemoryFile input("smdebug-alert"), output("smdebug-output");
    if (input.descriptor() < 0 || output.descriptor() < 0 ||
        !input.fill(alert_json(alert) + "\n")) {
      return Error{Error::Code::io, "cannot write the input of the command: " +
                                        std::string(std::strerror(errno))};
    }
    const SpawnPlan plan(input.descriptor(), output.descriptor());
    SMD_TRY(const pid_t child, plan.start(request().target));
    const auto status =
        status_within(child, settings_.command_timeout, clock_of(settings_));
    if (!status) return give_up(child);
    if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) {
      return std::string("the command ended with exit code 0");
    }
    return Error{Error::Code::io, ending(*status) + output_text(output)};
  }

 private:
  Error give_up(pid_t child) const {
    StopOptions options;
    options.grace = std::chrono::seconds(2);
    options.clock = settings_.clock;
    options.has_ended = [child] {
      ::waitpid(child, nullptr, WNOHANG);
      return ::kill(-child, 0) != 0 && errno == ESRCH;
    };
    (void)stop_process_group(child, options);
    const std::chrono::duration<double> time = settings_.command_timeout;
    return {Error::Code::unavailable,
            fmt::format("the command was terminated after {} s", time.count())};
  }

  static std::string ending(int status) {
    if (WIFSIGNALED(status)) {
      return fmt::format("the command was killed by signal {}",
                         WTERMSIG(status));
    }
    return fmt::format("the command ended with exit code {}",
                       WEXITSTATUS(status));
  }

  static std::string output_text(const MemoryFile& output) {
    std::string text = output.last_bytes(kOutputShown);
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text.empty() ? "" : ": " + printable(text);
  }

  const ActionSettings settings_;
};

}  // namespace

std::unique_ptr<Action> make_command_action(ActionRequest request,
                                            const ActionSettings& settings) {
  return std::make_unique<CommandAction>(std::move(request), settings);
}

}  // namespace smdebug

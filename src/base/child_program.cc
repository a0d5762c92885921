#include "base/child_program.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPollInterval(20);
// The time after SIGTERM, and after SIGKILL.
constexpr std::chrono::seconds kGrace(2);

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

  // Frees the memory of everything but the last bytes: a program may write
  // without end.
  void keep_last(std::size_t limit) const {
    const off_t start = size() - static_cast<off_t>(limit);
    if (start <= 0) return;
    (void)::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      0, start);
  }

  std::string last_bytes(std::size_t limit) const {
    const off_t start = std::max<off_t>(0, size() - static_cast<off_t>(limit));
    std::string text(static_cast<std::size_t>(size() - start), '\0');
    const auto n = ::pread(descriptor_, text.data(), text.size(), start);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
    return text;
  }

 private:
  off_t size() const {
    struct stat status = {};
    return ::fstat(descriptor_, &status) == 0 ? status.st_size : 0;
  }

  int descriptor_;
};

// Starts a child with its own files and process group, and with the default
// signal settings, as a shell does.
class SpawnPlan {
 public:
  SpawnPlan(int input, int output, int errors) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
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

  Result<pid_t> start(std::vector<std::string> words) const {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int failure =
        words.empty() ? EINVAL
                      : ::posix_spawnp(&child, words[0].c_str(), &files_,
                                       &attributes_, arguments.data(), environ);
    if (failure == 0) return child;
    return Error{Error::Code::io, std::strerror(failure)};
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// Waits for the end of a child, and calls `look` now and then. Returns nothing
// after the time limit.
std::optional<int> status_within(std::chrono::nanoseconds limit, pid_t child,
                                 const std::function<void()>& look,
                                 const Clock& clock) {
  const auto deadline = clock.monotonic() + limit;
  while (true) {
    int status = 0;
    const pid_t reaped = ::waitpid(child, &status, WNOHANG);
    if (reaped == child) return status;
    // Other code in this process reaps every child.
    if (reaped < 0 && errno != EINTR) return 0;
    if (clock.monotonic() >= deadline) return std::nullopt;
    look();
    clock.sleep_for(kPollInterval);
  }
}

// Ends the process group of a child that is still running.
void end_group(pid_t child, const Clock& clock) {
  const auto has_ended = [child] {
    ::waitpid(child, nullptr, WNOHANG);
    return ::kill(-child, 0) != 0 && errno == ESRCH;
  };
  for (const int signal : {SIGTERM, SIGKILL}) {
    ::kill(-child, signal);
    // A program suspended by its terminal does not receive SIGTERM.
    ::kill(-child, SIGCONT);
    const auto deadline = clock.monotonic() + kGrace;
    while (!has_ended()) {
      if (clock.monotonic() >= deadline) break;
      clock.sleep_for(kPollInterval);
    }
    if (has_ended()) return;
  }
}

std::string ending(int status) {
  return WIFSIGNALED(status)
             ? fmt::format("was killed by signal {}", WTERMSIG(status))
             : fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

Result<ProgramEnd> run_program(const ProgramCall& call, const Clock& clock) {
  const MemoryFile input("smdebug-input"), output("smdebug-output"),
      errors("smdebug-errors");
  if (input.descriptor() < 0 || output.descriptor() < 0 ||
      errors.descriptor() < 0 || !input.fill(call.input)) {
    return Error{Error::Code::io, fmt::format("the input of {} cannot be "
                                              "written: {}",
                                              call.name, std::strerror(errno))};
  }
  const SpawnPlan plan(input.descriptor(), output.descriptor(),
                       (call.joins_errors ? output : errors).descriptor());
  const auto child = plan.start(call.words);
  if (!child) {
    return Error{Error::Code::io,
                 fmt::format("{} cannot be started: {}", call.name,
                             child.error().message)};
  }
  const auto forget_the_start = [&] {
    output.keep_last(call.kept_bytes);
    errors.keep_last(call.kept_bytes);
  };
  const auto status =
      status_within(call.time_limit, *child, forget_the_start, clock);
  if (!status) {
    end_group(*child, clock);
    const std::chrono::duration<double> limit = call.time_limit;
    return Error{
        Error::Code::unavailable,
        fmt::format("{} was terminated after {} s", call.name, limit.count())};
  }
  return ProgramEnd{*status == 0, call.name + " " + ending(*status),
                    output.last_bytes(call.kept_bytes),
                    errors.last_bytes(call.kept_bytes)};
}

}  // namespace smdebug

#include "trainer.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smdebug {
namespace {

constexpr std::chrono::seconds kSweepPatience(2);
constexpr std::chrono::milliseconds kSweepInterval(20);

// Programs that embed us may have changed these; a trainer starts with what a
// shell would give it.
constexpr int kRestoredSignals[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP, SIGPIPE,
                                    SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD};

bool holds_terminal() {
  return ::isatty(STDIN_FILENO) && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

// A group in the background that takes the terminal gets SIGTTOU.
void give_terminal(pid_t group) {
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  ::tcsetpgrp(STDIN_FILENO, group);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::string& variable) {
  const std::string prefix = variable.substr(0, variable.find('=') + 1);
  std::vector<std::string> all = {variable};
  for (char** entry = environ; *entry; ++entry) {
    if (!std::string_view(*entry).starts_with(prefix)) all.emplace_back(*entry);
  }
  return all;
}

// Runs in the child between fork and exec, so it must not allocate or lock.
[[noreturn]] void become(char* const* arguments, char* const* environment,
                         pid_t parent, bool takes_terminal, int failure_pipe) {
  ::setpgid(0, 0);
  if (takes_terminal) give_terminal(::getpid());
  for (const int signal : kRestoredSignals) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  ::execvpe(arguments[0], arguments, environment);
  const int failure = errno;
  [[maybe_unused]] const auto told =
      ::write(failure_pipe, &failure, sizeof failure);
  ::_exit(127);
}

Error start_error(const std::string& program, int failure) {
  std::string text =
      "cannot start '" + program + "': " + std::strerror(failure);
  if (program.ends_with(".py") && ::access(program.c_str(), F_OK) == 0) {
    text += "; use 'python " + program + "'";
  } else if (failure == ENOENT && program.find(' ') != program.npos) {
    text += "; it is one word with spaces, remove its quotes: " + program;
  } else if (failure == ENOENT) {
    text += program.find('/') == program.npos
                ? "; no folder of PATH has this program, check its name"
                : "; check the path of the program";
  }
  return {failure == ENOENT ? Error::Code::not_found : Error::Code::io,
          std::move(text)};
}

}  // namespace

std::string find_program(const std::string& program) {
  if (program.find('/') != program.npos) return program;
  std::string_view folders = "/bin:/usr/bin";
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable = *entry;
    if (variable.starts_with("PATH=")) folders = variable.substr(5);
  }
  while (true) {
    const std::size_t colon = folders.find(':');
    std::string path = std::string(folders.substr(0, colon)) + "/" + program;
    if (::access(path.c_str(), X_OK) == 0) return path;
    if (colon == folders.npos) return "";
    folders.remove_prefix(colon + 1);
  }
}

Result<std::unique_ptr<Trainer>> Trainer::start(
    const std::vector<std::string>& command, const std::string& variable,
    const Clock& clock) {
  std::vector<std::string> words = command;
  std::vector<std::string> variables = environment_with(variable);
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  const bool takes_terminal = holds_terminal();
  const pid_t parent = ::getpid();
  int failure_pipe[2];
  if (::pipe2(failure_pipe, O_CLOEXEC) != 0) {
    return start_error(command.front(), errno);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    become(arguments.data(), environment.data(), parent, takes_terminal,
           failure_pipe[1]);
  }
  const int fork_failure = errno;
  ::close(failure_pipe[1]);
  int failure = child < 0 ? fork_failure : 0;
  if (child > 0) {
    ::setpgid(child, child);  // as in the child: whichever runs first
    while (::read(failure_pipe[0], &failure, sizeof failure) < 0 &&
           errno == EINTR) {
    }
  }
  ::close(failure_pipe[0]);
  if (failure != 0) {
    if (child > 0) ::waitpid(child, nullptr, 0);
    if (takes_terminal) give_terminal(::getpgrp());
    return start_error(command.front(), failure);
  }
  return std::unique_ptr<Trainer>(new Trainer(child, takes_terminal, clock));
}

Trainer::Trainer(pid_t group, bool owns_terminal, const Clock& clock)
    : group_(group), owns_terminal_(owns_terminal), clock_(clock) {
  // Adopts processes that the trainer leaves behind, to reap them.
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Trainer::~Trainer() {
  if (!group_has_ended()) (void)stop();
  take_terminal_back();
  ::prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_);
}

std::optional<Trainer::Ending> Trainer::poll() {
  reap();
  if (is_stopped_) follow_into_stop();
  return ending_;
}

void Trainer::reap() {
  int status = 0;
  pid_t reaped = 0;
  while ((reaped = ::waitpid(-group_, &status, WNOHANG | WUNTRACED)) > 0) {
    if (WIFSTOPPED(status)) {
      if (reaped == group_) is_stopped_ = true;
      continue;
    }
    if (reaped != group_) continue;
    ending_ = Ending{};
    if (WIFSIGNALED(status)) {
      ending_->signal = WTERMSIG(status);
      ending_->exit_code = 128 + WTERMSIG(status);
    } else {
      ending_->exit_code = WEXITSTATUS(status);
    }
  }
}

// Suspends this program after the terminal (Ctrl-Z) has suspended the trainer,
// because the shell waits for this program, and resumes the trainer with it.
// Without a terminal, whoever suspended the trainer also resumes it.
void Trainer::follow_into_stop() {
  is_stopped_ = false;
  if (!owns_terminal_) return;
  give_terminal(::getpgrp());
  ::kill(0, SIGSTOP);
  give_terminal(group_);
  send(SIGCONT);
}

bool Trainer::group_has_ended() {
  reap();
  return ::kill(-group_, 0) != 0 && errno == ESRCH;
}

void Trainer::send(int signal) { ::kill(-group_, signal); }

Result<StopOutcome> Trainer::stop() {
  StopOptions options;
  options.has_ended = [this] { return group_has_ended(); };
  options.clock = &clock_;
  return stop_process_group(group_, options);
}

void Trainer::sweep() {
  const auto deadline = clock_.monotonic() + kSweepPatience;
  while (!group_has_ended() && clock_.monotonic() < deadline) {
    clock_.sleep_for(kSweepInterval);
  }
  if (!group_has_ended()) (void)stop();
  take_terminal_back();
}

void Trainer::take_terminal_back() {
  if (owns_terminal_) give_terminal(::getpgrp());
  owns_terminal_ = false;
}

}  // namespace smdebug

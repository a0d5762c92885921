#pragma once

// `Trainer` is the user's training as a child of this program: started in a
// process group of its own, with its input and output untouched. Where this
// program holds the terminal, the trainer gets it, so that Ctrl-C, Ctrl-Z and
// a debugger's prompt reach it as if it had been started by the shell.
//
// When a trainer ends, so does every process that it left in its group, and
// none stays a zombie.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "smdebug/actions/stop_process.h"
#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

namespace smdebug {

class Trainer {
 public:
  struct Ending {
    int exit_code = 0;
    std::optional<int> signal;
  };

  // Starts `command` with `NAME=value` added to its environment. Fails with
  // `not_found` or `io`, naming the program, where it cannot be started.
  static Result<std::unique_ptr<Trainer>> start(
      const std::vector<std::string>& command, const std::string& variable,
      const Clock& clock);

  // Ends what is left of it.
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Looks after the trainer; returns how it ended, once it has. Never waits,
  // except while the terminal has stopped the trainer: then this program is
  // stopped as well.
  std::optional<Ending> poll();

  // Passes a signal on to all of the trainer's processes.
  void send(int signal);

  // Ends all of the trainer's processes (see actions/stop_process.h).
  Result<StopOutcome> stop();

  // After the trainer's end: gives what it left behind a moment, then ends it.
  void sweep();

 private:
  Trainer(pid_t group, bool owns_terminal, const Clock& clock);
  void reap();
  bool group_has_ended();
  void follow_into_stop();
  void take_terminal_back();

  pid_t group_;  // the trainer's process id as well
  bool owns_terminal_;
  int was_subreaper_ = 0;
  const Clock& clock_;
  std::optional<Ending> ending_;
  bool is_stopped_ = false;
};

}  // namespace smdebug

#pragma once

// `Trainer` is the user's training as a child of this program: started in a
// process group of its own, with unchanged input and output. If this program is
// in the foreground of a terminal, it moves the trainer there, so that Ctrl-C,
// Ctrl-Z and a debugger's prompt work as if the shell had started it.
//
// After a trainer has ended, `sweep` also ends the processes that remain in its
// group, and none stays a zombie.

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

// Returns the path of the file that `Trainer::start` would execute for this
// program; empty if there is none.
std::string find_program(const std::string& program);

class Trainer {
 public:
  struct Ending {
    int exit_code = 0;
    std::optional<int> signal;
  };

  // Starts `command` with `NAME=value` added to its environment. Fails with
  // `not_found` or `io`, naming the program, if it cannot be started.
  static Result<std::unique_ptr<Trainer>> start(
      const std::vector<std::string>& command, const std::string& variable,
      const Clock& clock);

  // Ends all of its processes that are still running.
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Reaps processes that have ended. Returns how the trainer ended, or none
  // while it is running. Does not block, except while the terminal has
  // suspended the trainer: then this program is suspended as well.
  std::optional<Ending> poll();

  // Passes a signal on to all of the trainer's processes.
  void send(int signal);

  // Ends all of the trainer's processes (see actions/stop_process.h).
  Result<StopOutcome> stop();

  // Call after the trainer has ended: waits briefly for the processes that it
  // left behind, then ends those that remain.
  void sweep();

 private:
  Trainer(pid_t group, bool owns_terminal, const Clock& clock);
  void reap();
  bool group_has_ended();
  void follow_into_stop();
  void take_terminal_back();

  pid_t group_;  // also the process id of the trainer
  bool owns_terminal_;
  int was_subreaper_ = 0;
  const Clock& clock_;
  std::optional<Ending> ending_;
  bool is_stopped_ = false;
};

}  // namespace smdebug

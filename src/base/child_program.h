#pragma once

// Runs a program and waits for its end, for a limited time. Input and output
// are files in memory, so that no pipe can fill up and block, however much the
// program reads or writes. The program has its own process group, which is
// ended after the time limit, together with whatever the program started.
// Actions and AWS profiles use it.

#include <chrono>
#include <string>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

namespace smdebug {

struct ProgramCall {
  std::string name = "the program";  // the subject of messages
  // The program and its arguments. The program is a path, or a name in PATH;
  // there is no shell in between.
  std::vector<std::string> words;
  std::string input;  // its standard input
  std::chrono::milliseconds time_limit = std::chrono::seconds(60);
  // The number of bytes to keep of each output: the last ones.
  std::size_t kept_bytes = std::size_t{1} << 20;
  // Whether standard error goes to `ProgramEnd::output` too, in the order in
  // which the program writes.
  bool joins_errors = false;
};

struct ProgramEnd {
  bool is_success = false;  // it returned 0
  std::string text;         // "the program ended with exit code 7"
  std::string output;       // of standard output
  std::string errors;       // of standard error
};

// Returns how the program ended, successful or not. Fails with `io` if it
// cannot be started, and with `unavailable` if it was terminated after the time
// limit. The messages do not contain the words, which may be secret.
Result<ProgramEnd> run_program(const ProgramCall& call, const Clock& clock);

}  // namespace smdebug

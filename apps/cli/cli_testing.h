#pragma once

// Calls the command line in the process of its tests.

#include <sstream>
#include <string>
#include <vector>

#include "smdebug/cli/main.h"

#include "tests/support/recorded_run_testing.h"

namespace smdebug {

// The exit code and the output of a command.
struct Spoken {
  int code = 0;
  std::string out;
  std::string err;
};

inline Spoken smdebug(const std::vector<std::string>& args,
                      CliHooks hooks = {}) {
  std::ostringstream out, err;
  hooks.out = &out;
  hooks.err = &err;
  const int code = smdebug_main(args, hooks);
  return {code, out.str(), err.str()};
}

}  // namespace smdebug

#include "smdebug/base/terminal.h"

#include <unistd.h>

#include "base/environment.h"

namespace smdebug {

bool is_interactive_terminal(int descriptor) {
  if (::isatty(descriptor) != 1) return false;
  const std::string ci = environment_variable("CI").value_or("");
  const bool is_ci = !ci.empty() && ci != "0" && ci != "false";
  const std::string term = environment_variable("TERM").value_or("");
  return !is_ci && !term.empty() && term != "dumb";
}

}  // namespace smdebug

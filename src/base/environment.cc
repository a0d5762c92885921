#include "base/environment.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <limits.h>
#include <unistd.h>

namespace smdebug {

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return {};
  return value;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::int64_t process_id() { return getpid(); }

std::optional<std::uint64_t> process_start_ticks(std::int64_t process_id) {
  std::ifstream file("/proc/" + std::to_string(process_id) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // Field 2, the program's name, stands in parentheses and may hold any
  // character; field 22 is the start time (proc(5)).
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  // A zombie keeps its entry until its parent asks for it.
  if (state == "Z" || state == "X") return {};
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::uint64_t ticks = 0;
  if (!(fields >> ticks)) return {};
  return ticks;
}

}  // namespace smdebug

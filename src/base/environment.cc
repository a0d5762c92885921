#include "base/environment.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include <dlfcn.h>
#include <limits.h>
#include <pwd.h>
#include <time.h>
#include <unistd.h>

#include "smdebug/base/escape.h"

#include "base/json.h"

namespace smdebug {
namespace {

// Variables are read again and again, and each value is worth one line.
bool is_new_warning(std::string setting) {
  static std::mutex mutex;
  static std::set<std::string>* const known = new std::set<std::string>();
  const std::lock_guard lock(mutex);
  return known->insert(std::move(setting)).second;
}

double seconds_now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return {};
  return value;
}

std::string environment_text(const char* name) {
  return environment_variable(name).value_or("");
}

bool is_launched() { return environment_variable(kLaunchVariable).has_value(); }

int environment_number(const char* name, int fallback, Logger& logger) {
  const auto text = environment_variable(name);
  if (!text || text->empty()) return fallback;
  int number = 0;
  const char* const end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number >= 0) {
    return number;
  }
  if (!is_launched() && is_new_warning(std::string(name) + "=" + *text)) {
    logger.warning(std::string(name) +
                   " must be a non-negative integer, found '" + *text +
                   "'; using " + std::to_string(fallback));
  }
  return fallback;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::string home_folder() {
  std::string home = environment_text("HOME");
  if (!home.empty()) return home;
  std::array<char, 4096> buffer{};
  passwd entry = {};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found && found->pw_dir ? found->pw_dir : "";
}

std::string path_of_this_code() {
  Dl_info object{};
  const auto* const address = reinterpret_cast<const void*>(&host_name);
  const bool is_known = dladdr(address, &object) != 0 && object.dli_fname;
  return is_known ? object.dli_fname : "";
}

std::int64_t process_id() { return getpid(); }

std::optional<std::uint64_t> process_start_ticks(std::int64_t process_id) {
  std::ifstream file("/proc/" + std::to_string(process_id) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // Field 2, the name of the program, is in parentheses and may contain any
  // character; field 22 is the start time (proc(5)).
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  // A zombie has an entry until its parent reaps it.
  if (state == "Z" || state == "X") return {};
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::uint64_t ticks = 0;
  if (!(fields >> ticks)) return {};
  return ticks;
}

// Linux counts the ticks with the clock that continues while the machine
// sleeps. `btime` of /proc/stat is in whole seconds.
std::optional<double> process_start_seconds(std::int64_t process_id) {
  const auto ticks = process_start_ticks(process_id);
  const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  if (!ticks || ticks_per_second <= 0) return {};
  const double age_seconds =
      seconds_now(CLOCK_BOOTTIME) -
      static_cast<double>(*ticks) / static_cast<double>(ticks_per_second);
  return seconds_now(CLOCK_REALTIME) - age_seconds;
}

ProcessMark ProcessMark::of_this_process() {
  const std::int64_t process = smdebug::process_id();
  return {host_name(), process, process_start_ticks(process).value_or(0)};
}

std::optional<ProcessMark> ProcessMark::parse(const Json* json) {
  if (!json) return std::nullopt;
  const auto host = json->string_at("host");
  const auto process = json->int_at("pid");
  const auto ticks = json->int_at("start_ticks");
  if (!host || !process || !ticks || *ticks < 0) return std::nullopt;
  return ProcessMark{*host, *process, static_cast<std::uint64_t>(*ticks)};
}

Json ProcessMark::json() const {
  return Json::Object{
      {"host", host}, {"pid", process_id}, {"start_ticks", start_ticks}};
}

std::string ProcessMark::text() const {
  return "process " + std::to_string(process_id) + " on '" + printable(host) +
         "'";
}

bool ProcessMark::has_ended() const {
  return host == host_name() && process_start_ticks(process_id) != start_ticks;
}

}  // namespace smdebug

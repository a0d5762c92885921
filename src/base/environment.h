#pragma once

// Environment variables, the name of the host, and the identity of processes.
// No other file reads these.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "smdebug/base/logger.h"

namespace smdebug {

class Json;

std::optional<std::string> environment_variable(const char* name);

// Returns the variable, or an empty text if it is not set.
std::string environment_text(const char* name);

// `smdebug run` sets this variable for the training that it starts
// (`kCaptureRequestVariable`).
inline constexpr const char* kLaunchVariable = "SMDEBUG_RUN";

// Whether `smdebug run` has started this process. It reads the same variables
// and has logged which of them are invalid.
bool is_launched();

// Returns the non-negative integer in a variable. Returns `fallback` if the
// variable is not set or empty, or, with a warning, if it is invalid. Only the
// first process that reads it logs that (`is_launched`).
int environment_number(const char* name, int fallback, Logger& logger);

std::string host_name();

// Returns HOME, or the folder that the system has recorded for this user; empty
// if there is neither.
std::string home_folder();

// Returns the path of the program or the shared library that contains smdebug;
// empty if the system does not tell.
std::string path_of_this_code();
std::int64_t process_id();

// Returns the start time of a process in clock ticks since boot, or nothing if
// it is not running. A process that has ended but was not reaped by its parent
// counts as not running.
std::optional<std::uint64_t> process_start_ticks(std::int64_t process_id);

// Same in seconds since the Unix epoch, accurate to a tick (10 ms).
std::optional<double> process_start_seconds(std::int64_t process_id);

// The process that wrote a file. It lets other processes find out whether the
// writer is still running. In JSON: {"host", "pid", "start_ticks"}.
struct ProcessMark {
  std::string host;
  std::int64_t process_id = 0;
  std::uint64_t start_ticks = 0;  // unlike process ids, never reused

  static ProcessMark of_this_process();
  // Returns nothing if `json` is null or not a mark.
  static std::optional<ProcessMark> parse(const Json* json);

  Json json() const;
  std::string text() const;  // "process 12 on 'node'"
  // Returns true if the process has certainly ended; false for a process on
  // another host, whose state is unknown.
  bool has_ended() const;

  friend bool operator==(const ProcessMark&, const ProcessMark&) = default;
};

}  // namespace smdebug

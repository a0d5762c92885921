#pragma once

// The one place that reads environment variables, the host's name and the
// process's identity.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "smdebug/base/logger.h"

namespace smdebug {

std::optional<std::string> environment_variable(const char* name);

// Returns the whole number, 0 or more, in a variable. Where it is not set or
// empty, `fallback`; where it is something else, too, and says so.
int environment_number(const char* name, int fallback, Logger& logger);

std::string host_name();
std::int64_t process_id();

// When a process started, in clock ticks since boot; none where no such
// process lives: one that has ended and that its parent has not waited for
// does not.
std::optional<std::uint64_t> process_start_ticks(std::int64_t process_id);

// The same in seconds since the Unix epoch, right to about a second.
std::optional<double> process_start_seconds(std::int64_t process_id);

// True where that process has surely ended: process ids return, start times
// do not. Of a process on another host nothing can be known.
bool has_process_ended(std::string_view host, std::int64_t process_id,
                     std::uint64_t start_ticks);

}  // namespace smdebug

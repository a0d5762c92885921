#pragma once

// The one place that reads environment variables, the host's name and the
// process's identity.

#include <cstdint>
#include <optional>
#include <string>

namespace smdebug {

std::optional<std::string> environment_variable(const char* name);

std::string host_name();
std::int64_t process_id();

// When a process started, in clock ticks since boot; none where no such
// process lives: one that has ended and that its parent has not waited for
// does not.
std::optional<std::uint64_t> process_start_ticks(std::int64_t process_id);

}  // namespace smdebug

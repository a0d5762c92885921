#pragma once

// `claim.smd` says which process writes a run. The original's is empty; ours
// names its owner, so that a claim left by a dead process can be taken over.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smdebug {

struct Claim {
  std::string host;
  std::int64_t process_id = 0;
  // When the process started, in clock ticks since boot: process ids return.
  std::uint64_t process_start_ticks = 0;
};

std::string write_claim(const Claim& claim);

// None for an empty or foreign file.
std::optional<Claim> parse_claim(std::string_view text);

}  // namespace smdebug

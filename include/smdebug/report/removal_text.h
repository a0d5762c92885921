#pragma once

// The texts of `smdebug rm`.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] smdebug {

// A run to remove.
struct RunRemoval {
  std::string run;                 // as the user named it
  std::vector<std::string> files;  // keys, in the order of their removal
  std::uint64_t bytes = 0;         // of `files`
  // Keys in the same folder that are not part of a run; never removed.
  std::vector<std::string> kept;
};

/// Returns one line per run with its size, and the files that are kept.
std::string removals_text(std::span<const RunRemoval> removals);

/// Returns "2 runs (1.3 GB)".
std::string removal_total(std::span<const RunRemoval> removals);

}  // namespace smdebug

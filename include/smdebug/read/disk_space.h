#pragma once

// Names a full disk: a training that could not write its last files
// could not write the reason either.

#include <cstdint>
#include <string>

namespace [[gnu::visibility("default")]] smdebug {

/// Returns "; only 12.0 kB are free on its disk: free space, or write to
/// another disk" for less than 1 MiB, otherwise an empty string.
std::string disk_space_text(std::uint64_t free_bytes);

/// The same for the disk of a folder. Empty if the disk does not respond.
std::string disk_space_text(const std::string& location);

}  // namespace smdebug

#pragma once

// Finds why a path cannot become a folder.

#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] smdebug {

/// Returns the first part of a path that is a file where a folder is needed, or
/// nothing: "a/b" for "a/b/run" if "b" is a file. Waits for the storage without
/// a limit.
std::optional<std::string> find_file_in(const std::string& path);

}  // namespace smdebug

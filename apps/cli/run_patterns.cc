#include "run_patterns.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "smdebug/base/try.h"

namespace smdebug {
namespace {

// Returns "a" of "a/*"; none for a name without a pattern, and for a folder
// that really has this name.
std::optional<std::string> folder_of_pattern(const std::string& location) {
  std::error_code ignored;
  if (location != "*" && !location.ends_with("/*")) return std::nullopt;
  if (!is_address(location) && std::filesystem::exists(location, ignored))
    return std::nullopt;
  if (location == "*") return ".";
  const std::string folder = location.substr(0, location.size() - 2);
  return folder.empty() ? "/" : folder;
}

// As `find_runs` names it.
std::string found_name(const std::string& folder) {
  return is_address(folder)
             ? without_slashes(folder)
             : std::filesystem::path(folder).lexically_normal().string();
}

Result<FoundRuns> runs_below(const std::string& pattern,
                             const std::string& folder) {
  SMD_TRY(FoundRuns found, find_runs(folder));
  const std::string meaning =
      "'" + pattern + "' stands for the runs below '" + folder + "'";
  if (found.runs.empty()) {
    const std::string reason =
        found.skipped.empty() ? "" : ": " + found.skipped.front();
    return Error{Error::Code::not_found,
                 meaning + ", but it has none" + reason +
                     "; check the name, or list runs with 'smdebug ls'"};
  }
  if (found.runs.front() == found_name(folder)) {
    return Error{Error::Code::not_found,
                 meaning + ", which is a run itself; name it without '/*'"};
  }
  return found;
}

}  // namespace

bool is_pattern(const std::string& location) {
  return folder_of_pattern(location).has_value();
}

Result<FoundRuns> expand_patterns(std::span<const std::string> locations) {
  FoundRuns all;
  for (const std::string& location : locations) {
    const auto folder = folder_of_pattern(location);
    if (!folder) {
      all.runs.push_back(location);
      continue;
    }
    SMD_TRY(FoundRuns found, runs_below(location, *folder));
    all.runs.insert(all.runs.end(), found.runs.begin(), found.runs.end());
    all.skipped.insert(all.skipped.end(), found.skipped.begin(),
                       found.skipped.end());
  }
  return all;
}

}  // namespace smdebug

// Explains why there is no run at a location, or why it cannot be read. Each
// look at the file system is bounded: the parent of a mistyped path may be
// huge, or on a file system that does not respond.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "smdebug/read/run_folder.h"
#include "smdebug/store/bounded_storage.h"

#include "base/strings.h"
#include "base/suggestions.h"
#include "format/file_names.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLimit(5);
// Entries of the folder that is searched for similar names.
constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxLooks = 3;
// Folders in which a run is looked for.
constexpr std::size_t kMaxFolders = 64;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool holds_run(const fs::path& folder) {
  return std::ranges::any_of(
      std::vector{kClaimKey, kEndMarkerKey, kRunFileKey, kCollectionsPrefix},
      [&](std::string_view key) { return is_there(folder / key); });
}

// The names of the folders in `parent`, sorted; empty stands for the working
// directory.
std::vector<std::string> folders_in(const fs::path& parent) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entry(parent.empty() ? "." : parent, failure);
  for (std::size_t seen = 0;
       !failure && entry != fs::directory_iterator() && seen < kMaxEntries;
       ++seen, entry.increment(failure)) {
    std::error_code ignored;
    if (entry->is_directory(ignored))
      names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// Whether a user who wrote `wanted` may have meant the name.
bool is_similar(const std::string& wanted, const std::string& name) {
  const std::string a = lower_case(wanted), b = lower_case(name);
  return b.find(a) != b.npos || a.find(b) != a.npos ||
         misspelled_name(wanted, {&name, 1}).has_value();
}

// Returns the run whose path differs in the first part that does not exist:
// "runs/cnn" for "runs/cn", and for "run/cnn".
std::optional<std::string> nearest_run(const fs::path& path) {
  fs::path missing = path, rest;
  while (missing.has_relative_path() && !missing.parent_path().empty() &&
         !is_there(missing.parent_path())) {
    rest = rest.empty() ? missing.filename() : missing.filename() / rest;
    missing = missing.parent_path();
  }
  const fs::path parent = missing.parent_path();
  const std::vector<std::string> names = folders_in(parent);
  for (const std::string& name :
       nearest_names(missing.filename().string(), names, kMaxLooks)) {
    if (!is_similar(missing.filename().string(), name)) continue;
    const fs::path found = rest.empty() ? parent / name : parent / name / rest;
    if (holds_run(found)) return found.string();
  }
  return std::nullopt;
}

Error no_run(const fs::path& path, std::string_view why) {
  return {Error::Code::not_found,
          fmt::format("no run at '{}': {}", path.string(), why)};
}

Error unreadable(const fs::path& path, const std::error_code& failure) {
  return {Error::Code::io,
          fmt::format("run '{}' cannot be read by user {}: {}", path.string(),
                      ::geteuid(), failure.message())};
}

Error folder_without_run(const fs::path& path) {
  std::error_code failure;
  const fs::directory_iterator entries(path, failure);
  if (!failure && ::access(path.c_str(), R_OK | X_OK) != 0)
    failure = std::error_code(errno, std::generic_category());
  if (failure) return unreadable(path, failure);
  if (entries == fs::directory_iterator())
    return no_run(path, "the folder is empty; list runs with 'smdebug ls'");
  for (const fs::path& above :
       {path.parent_path(), path.parent_path().parent_path()}) {
    if (!above.empty() && holds_run(above)) {
      return no_run(path,
                    fmt::format("it is a folder inside the run '{}'; pass "
                                "that one",
                                above.string()));
    }
  }
  std::vector<std::string> names = folders_in(path);
  if (names.size() > kMaxFolders) names.resize(kMaxFolders);
  const auto run = std::ranges::find_if(
      names, [&](const std::string& name) { return holds_run(path / name); });
  std::string why = "the folder holds no files of a run";
  if (run != names.end()) {
    why += fmt::format(", but runs, such as '{}'; name one of them",
                       (path / *run).string());
  } else if (is_there(path / kRunFileKey)) {
    why = fmt::format(
        "the folder holds '{}', but no saved step: none was saved yet, or the "
        "copy of the run is not complete",
        kRunFileKey);
  } else {
    why += "; list runs with 'smdebug ls'";
  }
  return no_run(path, why);
}

Error explain(const std::string& location) {
  fs::path path = location;
  if (!path.has_filename() && path.has_relative_path())
    path = path.parent_path();
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (fs::is_directory(status)) return folder_without_run(path);
  if (fs::exists(status))
    return no_run(path, "it is a file; pass the folder of the run");
  if (status.type() != fs::file_type::not_found)
    return unreadable(path, failure);
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(path, ignored)))
    return no_run(path, "it is a link to a path that does not exist");
  const auto nearest = nearest_run(path);
  return no_run(path, nearest ? fmt::format("the path does not exist; nearest: "
                                            "'{}'",
                                            *nearest)
                              : "the path does not exist; check it, or list "
                                "runs with 'smdebug ls'");
}

}  // namespace

Error no_run_error(std::string_view location) {
  if (location.find("://") != location.npos)
    return no_run(location, "it holds no files of a run");
  const std::string path(location);
  return call_bounded("look for a run", path, {kLimit, nullptr},
                      [path] { return Status(explain(path)); })
      .error();
}

}  // namespace smdebug

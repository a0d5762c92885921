#include "run_removal.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "smdebug/base/parallel.h"
#include "smdebug/base/try.h"
#include "smdebug/read/run_folder.h"
#include "smdebug/store/open_storage.h"

#include "find_runs.h"
#include "run_rows.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;

// An attempt of a run has six levels of folders at most. The limit bounds the
// open folders and the length of paths.
constexpr int kMaxDepth = 16;
// Requests to a store at once.
constexpr std::size_t kMostRequests = 64;

Error cannot(std::string_view what, const fs::path& path,
             const std::error_code& failure) {
  return {Error::Code::io, "cannot " + std::string(what) + " '" +
                               path.string() + "': " + failure.message()};
}

// Without a slash at the end, which would make a link look like its target.
fs::path without_slash(const std::string& run) {
  const fs::path path = fs::path(run).lexically_normal();
  return path.has_filename() || !path.has_parent_path() ? path
                                                        : path.parent_path();
}

Status check_is_run(const std::string& run) {
  const fs::path path = without_slash(run);
  std::error_code failure;
  if (fs::is_symlink(path, failure)) {
    const fs::path target = fs::read_symlink(path, failure);
    return Error{Error::Code::invalid_argument,
                 "'" + run + "' is a link to '" + target.string() +
                     "': name the folder of the run itself"};
  }
  if (!fs::exists(path, failure)) return no_run_error(run);
  if (is_run_folder(path.string())) return {};
  return no_run_error(run);
}

Status check_is_run_in_store(const std::string& run) {
  SMD_TRY(const auto found, find_runs(run));
  if (found.runs == std::vector{without_slashes(run)}) return {};
  return no_run_error(run);
}

Status check_is_over(const std::string& run, const Console& console) {
  const RunRow row = read_run_row(run, console);
  if (row.state == RunState::running) {
    return Error{Error::Code::invalid_argument,
                 "run '" + run +
                     "' is being written: end the training first, or add "
                     "--force"};
  }
  if (row.state && (has_end(*row.state) || row.state == RunState::killed))
    return {};
  return Error{Error::Code::invalid_argument,
               "run '" + run +
                   "' has no end marker, and it is unknown whether its "
                   "training still runs: add --force if it does not"};
}

// The files that mark a folder as a run go last.
bool is_mark(const std::string& key) {
  return key.find('/') == key.npos || key.starts_with("collections/");
}

// Links are not followed and are kept.
Result<RunRemoval> list_run(const fs::path& folder) {
  RunRemoval removal;
  std::error_code failure;
  for (fs::recursive_directory_iterator entry(folder, failure), end;
       !failure && entry != end; entry.increment(failure)) {
    std::error_code ignored;
    const fs::file_status status = entry->symlink_status(ignored);
    const bool is_too_deep =
        fs::is_directory(status) && entry.depth() == kMaxDepth;
    if (is_too_deep) entry.disable_recursion_pending();
    if (fs::is_directory(status) && !is_too_deep) continue;
    const std::string key =
        entry->path().lexically_relative(folder).generic_string();
    if (!fs::is_regular_file(status) || !is_run_file(key)) {
      removal.kept.push_back(key);
      continue;
    }
    removal.files.push_back(key);
    const auto bytes = entry->file_size(ignored);
    if (!ignored) removal.bytes += bytes;
  }
  if (failure) return cannot("list", folder, failure);
  std::ranges::sort(removal.kept);
  std::ranges::sort(removal.files);
  std::ranges::stable_partition(removal.files, std::not_fn(is_mark));
  return removal;
}

// In a store, keys that are no file of a run are kept as well.
Result<RunRemoval> list_run_in_store(const std::string& run) {
  SMD_TRY(const auto storage, open_storage(run));
  SMD_TRY(const auto entries, storage->list(""));
  RunRemoval removal;
  for (const ObjectEntry& entry : entries) {
    if (!is_run_file(entry.key)) {
      removal.kept.push_back(entry.key);
      continue;
    }
    removal.files.push_back(entry.key);
    removal.bytes += entry.bytes;
  }
  std::ranges::stable_partition(removal.files, std::not_fn(is_mark));
  return removal;
}

Status remove_files_in_store(const RunRemoval& removal) {
  SMD_TRY(const auto storage, open_storage(removal.run));
  const auto marks = std::ranges::find_if(removal.files, is_mark);
  SMD_CHECK_OK(try_concurrently(
      static_cast<std::size_t>(marks - removal.files.begin()), kMostRequests,
      [&](std::size_t i) { return storage->remove(removal.files[i]); }));
  for (auto mark = marks; mark != removal.files.end(); ++mark)
    SMD_CHECK_OK(storage->remove(*mark));
  return {};
}

// `rmdir` removes neither a link nor a folder that still holds something.
void remove_empty_folders(const fs::path& folder) {
  std::vector<fs::path> folders = {folder};
  std::error_code failure;
  for (fs::recursive_directory_iterator entry(folder, failure), end;
       !failure && entry != end; entry.increment(failure)) {
    std::error_code ignored;
    if (entry.depth() == kMaxDepth) entry.disable_recursion_pending();
    if (fs::is_directory(entry->symlink_status(ignored)))
      folders.push_back(entry->path());
  }
  std::ranges::sort(folders, std::greater());  // the deepest ones first
  for (const fs::path& empty : folders) (void)::rmdir(empty.c_str());
}

}  // namespace

Result<RunRemoval> plan_removal(const std::string& run, bool is_forced,
                                const Console& console) {
  SMD_CHECK_OK(is_address(run) ? check_is_run_in_store(run)
                               : check_is_run(run));
  if (!is_forced) SMD_CHECK_OK(check_is_over(run, console));
  SMD_TRY(RunRemoval removal, is_address(run) ? list_run_in_store(run)
                                              : list_run(without_slash(run)));
  removal.run = run;
  return removal;
}

Status remove_run(const RunRemoval& removal) {
  if (is_address(removal.run)) return remove_files_in_store(removal);
  std::error_code failure;
  const fs::path folder = fs::canonical(without_slash(removal.run), failure);
  if (failure) return cannot("find", removal.run, failure);
  SMD_TRY(const auto storage, open_storage(folder.string()));
  for (const std::string& key : removal.files) {
    if (!key.ends_with(".tmp")) {
      SMD_CHECK_OK(storage->remove(key));
    } else if (fs::remove(folder / key, failure); failure) {
      return cannot("remove", folder / key, failure);
    }
  }
  remove_empty_folders(folder);
  return {};
}

}  // namespace smdebug

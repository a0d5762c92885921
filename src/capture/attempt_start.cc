#include "capture/attempt_start.h"

#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "format/file_names.h"
#include "format/run_file.h"

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPollInterval(100);

}  // namespace

AttemptStart::AttemptStart(std::shared_ptr<Storage> storage, Attempt attempt,
                           const Clock& clock, Logger& logger)
    : storage_(std::move(storage)),
      attempt_(attempt),
      clock_(clock),
      logger_(logger) {}

Result<bool> AttemptStart::run() {
  if (!attempt_.is_first_worker) {
    SMD_TRY(const bool is_ready, wait_for_first_worker());
    return !is_ready;
  }
  SMD_TRY(const EarlierFiles files, find_earlier_files());
  if (!files.empty() && are_of_earlier_attempt(files)) {
    SMD_CHECK_OK(move_aside(files));
  }
  return false;
}

Result<AttemptStart::EarlierFiles> AttemptStart::find_earlier_files() const {
  EarlierFiles files;
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    SMD_TRY(const auto listed, storage_->list(prefix));
    for (const ObjectEntry& object : listed) {
      const auto name = parse_step_file_key(object.key);
      if (!name || name->step < attempt_.first_step) continue;
      files[name->step].push_back(object.key);
    }
  }
  return files;
}

// If `run.json` records an attempt, the other workers of this one have waited.
// Otherwise they may have begun already, and only a file of the first worker
// itself must be older than this attempt.
bool AttemptStart::are_of_earlier_attempt(const EarlierFiles& files) const {
  if (attempt_.earlier > 0) return true;
  for (const auto& [step, keys] : files) {
    for (const std::string& key : keys) {
      if (parse_step_file_key(key)->worker == attempt_.worker) return true;
    }
  }
  return false;
}

// Moves the last step first, and its index files before its event files: if
// this is cut off, the folder holds the beginning of the earlier attempt, and
// every index file that a reader finds there has its event file.
Status AttemptStart::move_aside(const EarlierFiles& files) {
  for (auto step = files.rbegin(); step != files.rend(); ++step) {
    for (const std::string& key : step->second)
      SMD_CHECK_OK(storage_->move(key, key_aside(key)));
  }
  SMD_CHECK_OK(move_or_copy_all(kCollectionsPrefix));
  if (attempt_.first_step == 0)
    SMD_CHECK_OK(move_or_copy_all(kTensorboardPrefix));
  SMD_CHECK_OK(complete_earlier_run());
  logger_.warning(fmt::format(
      "run '{}' had not ended: its {} steps from {} to {} are now the run "
      "'{}/{}', and attempt {} begins at step {}",
      storage_->uri(), files.size(), files.begin()->first,
      files.rbegin()->first, storage_->uri(), attempt_folder(attempt_.earlier),
      attempt_.earlier + 1, attempt_.first_step));
  return {};
}

// The steps that stay in place still need their collections.
Status AttemptStart::move_or_copy_all(std::string_view prefix) {
  SMD_TRY(const auto listed, storage_->list(prefix));
  for (const ObjectEntry& object : listed) {
    if (!object.is_file) continue;
    const std::string target = key_aside(object.key);
    if (attempt_.first_step == 0) {
      SMD_CHECK_OK(storage_->move(object.key, target));
    } else {
      SMD_TRY(const Bytes bytes, get_object(*storage_, object.key));
      SMD_CHECK_OK(put_object(*storage_, target, bytes.span()));
    }
  }
  return {};
}

// A reader of the earlier attempt must not wait for further steps. Its
// `progress.json` counts the steps that stay in place too; if it stays, the
// first step of this attempt replaces it.
Status AttemptStart::complete_earlier_run() {
  if (const auto bytes = get_object(*storage_, kRunFileKey); bytes)
    SMD_CHECK_OK(put_object(*storage_, key_aside(kRunFileKey), bytes->span()));
  (void)storage_->remove(kProgressKey);
  return put_object(*storage_, key_aside(kEndMarkerKey), std::string_view());
}

// Returns false if the first worker does not come in time.
Result<bool> AttemptStart::wait_for_first_worker() {
  const auto end = clock_.monotonic() + kLongestWait;
  while (true) {
    SMD_TRY(const bool is_ready, is_folder_ready());
    if (is_ready) return true;
    if (clock_.monotonic() >= end) break;
    clock_.sleep_for(kPollInterval);
  }
  logger_.warning(fmt::format(
      "run '{}' holds an earlier attempt, and the first worker has not moved "
      "its steps within {} s: readers may see steps of both attempts",
      storage_->uri(), kLongestWait.count()));
  return false;
}

// The first worker writes `run.json` after it has moved the files.
Result<bool> AttemptStart::is_folder_ready() const {
  if (const auto bytes = get_object(*storage_, kRunFileKey)) {
    const auto file = parse_run_file(bytes->text());
    if (file && !file->attempts.empty()) {
      return file->attempts.back().started_seconds >= attempt_.began_seconds;
    }
  }
  SMD_TRY(const EarlierFiles files, find_earlier_files());
  return files.empty();
}

std::string AttemptStart::key_aside(std::string_view key) const {
  return fmt::format("{}/{}", attempt_folder(attempt_.earlier), key);
}

}  // namespace smdebug

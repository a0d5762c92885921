#include "capture/attempt_start.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "format/file_names.h"
#include "format/file_sizes.h"
#include "format/run_file.h"

namespace smdebug {
namespace {

constexpr std::chrono::milliseconds kPollInterval(100);

}  // namespace

AttemptStart::AttemptStart(std::shared_ptr<Storage> storage, Attempt attempt,
                           const Clock& clock, Logger& logger)
    : storage_(std::move(storage)),
      attempt_(std::move(attempt)),
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
  } else if (files.empty()) {
    SMD_CHECK_OK(remove_stray_statistics());
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
      files.steps[name->step].push_back(object.key);
    }
  }
  SMD_CHECK_OK(add_series(files));
  return files;
}

Status AttemptStart::add_series(EarlierFiles& files) const {
  SMD_TRY(const auto listed, storage_->list(kSeriesPrefix));
  for (const ObjectEntry& object : listed) {
    const auto name = parse_series_file_key(object.key);
    if (object.is_file && name && name->last >= attempt_.first_step)
      files.series.push_back(object.key);
  }
  return {};
}

// If `run.json` records an attempt, the other workers of this one have waited.
// Otherwise they may have begun already, and only a file of the first worker
// itself must be older than this attempt.
bool AttemptStart::are_of_earlier_attempt(const EarlierFiles& files) const {
  if (attempt_.earlier > 0) return true;
  for (const auto& [step, keys] : files.steps) {
    for (const std::string& key : keys) {
      if (parse_step_file_key(key)->worker == attempt_.worker) return true;
    }
  }
  return std::ranges::any_of(files.series, [this](const std::string& key) {
    return parse_series_file_key(key)->worker == attempt_.worker;
  });
}

// Moves the last step first, and index files before event files: if this is cut
// off, the folder holds the beginning of the earlier attempt, and every index
// file that a reader finds there has its event file.
Status AttemptStart::move_aside(const EarlierFiles& files) {
  const auto& steps = files.steps;
  std::vector<std::string> keys, event_keys;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    for (const std::string& key : step->second)
      (key.starts_with(kIndexPrefix) ? keys : event_keys).push_back(key);
  }
  keys.insert(keys.end(), event_keys.begin(), event_keys.end());
  SMD_CHECK_OK(move_each(keys));
  for (const std::string& key : files.series) SMD_CHECK_OK(move_series(key));
  SMD_CHECK_OK(move_statistics());
  move_fired_marks();
  SMD_CHECK_OK(move_or_copy_all(kCollectionsPrefix));
  SMD_CHECK_OK(move_or_copy_all(kFactsPrefix));
  if (attempt_.first_step == 0)
    SMD_CHECK_OK(move_or_copy_all(kTensorboardPrefix));
  SMD_CHECK_OK(complete_earlier_run());
  const std::string moved =
      steps.empty() ? "its scalars"
                    : fmt::format("its {} steps from {} to {}", steps.size(),
                                  steps.begin()->first, steps.rbegin()->first);
  logger_.warning(fmt::format(
      "run '{}' had not ended: {} are now the run '{}/{}', and attempt {} "
      "begins at step {}",
      storage_->uri(), moved, storage_->uri(), attempt_folder(attempt_.earlier),
      attempt_.earlier + 1, attempt_.first_step));
  return {};
}

// A file that also has steps before this attempt is divided. The part that
// stays is written before the file is removed: if this is cut off, two files
// hold the same samples, which readers count once.
Status AttemptStart::move_series(const std::string& key) {
  const SeriesFileName name = *parse_series_file_key(key);
  const auto bytes = get_object(*storage_, key, kMaxSeriesFileBytes);
  const auto file = bytes ? parse_series_file(bytes->text())
                          : Result<SeriesFile>(bytes.error());
  if (name.first >= attempt_.first_step || !file)
    return storage_->move(key, key_aside(key));
  SeriesFile before = {name.worker, {}}, replaced = before;
  for (const ScalarSeries& one : file->series) {
    const auto middle = std::ranges::partition_point(
        one.samples, [this](const ScalarSample& sample) {
          return sample.step.global < attempt_.first_step;
        });
    before.series.push_back({one.name, {one.samples.begin(), middle}});
    replaced.series.push_back({one.name, {middle, one.samples.end()}});
  }
  SMD_CHECK_OK(put_series(std::move(replaced), name.number, /*aside=*/true));
  SMD_CHECK_OK(put_series(std::move(before), name.number, /*aside=*/false));
  return storage_->remove(key);
}

Status AttemptStart::put_series(SeriesFile file, std::uint64_t number,
                                bool aside) {
  std::erase_if(file.series,
                [](const ScalarSeries& one) { return one.samples.empty(); });
  if (file.series.empty()) return {};
  const auto [first, last] = steps_of(file);
  const std::string key = series_file_key({file.worker, first, last, number});
  return put_object(*storage_, aside ? key_aside(key) : key,
                    write_series_file(file));
}

// The statistics files with steps that this attempt writes.
Result<std::vector<std::string>> AttemptStart::replaced_statistics() const {
  SMD_TRY(const auto listed, storage_->list(kStatisticsPrefix));
  std::vector<std::string> keys;
  for (const ObjectEntry& object : listed) {
    const auto name = parse_statistics_file_key(object.key);
    if (object.is_file && name && name->last >= attempt_.first_step)
      keys.push_back(object.key);
  }
  return keys;
}

// Readers find the steps that stay in place in their index files.
Status AttemptStart::move_statistics() {
  SMD_TRY(const auto keys, replaced_statistics());
  return move_each(keys);
}

Status AttemptStart::move_each(const std::vector<std::string>& keys) {
  std::vector<ObjectMove> moves;
  for (const std::string& key : keys) moves.push_back({key, key_aside(key)});
  return storage_->move_each(moves);
}

// Without their index files, they are of a run that was removed in part: the
// steps of this attempt must not be taken for theirs.
Status AttemptStart::remove_stray_statistics() {
  SMD_TRY(const auto keys, replaced_statistics());
  for (const std::string& key : keys) SMD_CHECK_OK(storage_->remove(key));
  return {};
}

// They are marks of the replaced steps. One that stays in place only keeps a
// step of this attempt longer.
void AttemptStart::move_fired_marks() {
  const auto marks = storage_->list(kFiredPrefix);
  if (!marks) return;
  std::vector<std::string> keys;
  for (const ObjectEntry& mark : *marks) {
    const auto step = parse_fired_file_key(mark.key);
    if (step && *step >= attempt_.first_step) keys.push_back(mark.key);
  }
  (void)move_each(keys);
}

// The steps that stay in place still need their collections and facts.
Status AttemptStart::move_or_copy_all(std::string_view prefix) {
  SMD_TRY(const auto listed, storage_->list(prefix));
  std::vector<std::string> replaced;
  for (const ObjectEntry& object : listed) {
    if (!object.is_file) continue;
    const auto facts = parse_facts_file_key(object.key);
    const bool is_replaced = facts && facts->step >= attempt_.first_step;
    if (attempt_.first_step == 0 || is_replaced) {
      replaced.push_back(object.key);
    } else {
      SMD_TRY(const Bytes bytes, get_object(*storage_, object.key));
      SMD_CHECK_OK(put_object(*storage_, key_aside(object.key), bytes.span()));
    }
  }
  return move_each(replaced);
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

#include "read/trial_impl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/read/run_folder.h"

#include "base/environment.h"
#include "format/file_names.h"
#include "format/file_sizes.h"
#include "format/progress_file.h"
#include "format/run_file.h"
#include "read/run_damage.h"

namespace smdebug {
namespace {

std::string last_part(std::string_view location) {
  while (location.size() > 1 && location.ends_with('/')) {
    location.remove_suffix(1);
  }
  return std::string(location.substr(location.rfind('/') + 1));
}

// The original's variables and defaults.
TrialOptions with_defaults(TrialOptions options, const Storage& storage) {
  if (options.clock == nullptr) options.clock = &system_clock();
  if (options.logger == nullptr) options.logger = &default_logger();
  if (options.name.empty()) options.name = last_part(storage.uri());
  const auto number = [&](const char* variable, int fallback) {
    return environment_number(variable, fallback, *options.logger);
  };
  if (!options.incomplete_step_window) {
    options.incomplete_step_window =
        number("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", 1000);
  }
  if (!options.end_delay) {
    options.end_delay =
        std::chrono::seconds(number("SMDEBUG_TRAINING_END_DELAY_REFRESH", 1));
  }
  if (!options.missing_event_file_retries) {
    options.missing_event_file_retries =
        number("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", 100);
  }
  return options;
}

// A process that started after the training reuses its id. The training records
// its start at its first step, and the boot time is known to a second.
constexpr double kClockSlack = 2;

std::optional<RunFile> find_run_file(const Storage& storage) {
  const auto bytes = get_object(storage, kRunFileKey, kMaxRunFileBytes);
  if (!bytes) return std::nullopt;
  auto file = parse_run_file(bytes->text());
  if (!file) return std::nullopt;
  return *std::move(file);
}

}  // namespace

Trial::Impl::Impl(std::shared_ptr<const Storage> storage, TrialOptions options)
    : storage_(std::move(storage)),
      options_(with_defaults(std::move(options), *storage_)),
      index_(storage_, options_.first_step, options_.end_step),
      series_(options_.first_step, options_.end_step),
      completeness_(*options_.incomplete_step_window),
      event_files_(*storage_, index_.table()) {}

Status Trial::Impl::refresh() { return refresh(options_.check_interrupt); }

Status Trial::Impl::refresh(const std::function<bool()>& check_interrupt) {
  if (completeness_.has_ended()) return {};
  if (options_.before_refresh) options_.before_refresh();
  const auto version = storage_->folder_version("");
  const bool root_changed = !version || version != root_version_;
  // Look for the end marker first: no file appears after it, so the listing
  // that follows is complete.
  bool has_ended = false;
  if (root_changed) {
    SMD_TRY(has_ended, storage_->exists(kEndMarkerKey));
  }
  SMD_CHECK_OK(load(root_changed, has_ended));
  root_version_ = version;
  if (!has_ended) return {};
  if (lacks_workers()) {
    SMD_CHECK_OK(sleep_for(*options_.end_delay, clock(), check_interrupt));
    SMD_CHECK_OK(load(true, true));
  }
  completeness_.end(table());
  return {};
}

Status Trial::Impl::load(bool root_changed, bool all_folders) {
  if (root_changed) follow_attempt();
  SMD_CHECK_OK(collections_.refresh(*storage_));
  SMD_CHECK_OK(index_.refresh(completeness_.listing_start(), all_folders));
  // The facts of a step are written before its index file, as are most scalars.
  if (has_facts_) SMD_CHECK_OK(facts_.refresh(*storage_));
  if (has_series_) SMD_CHECK_OK(series_.refresh(*storage_));
  const std::vector<std::string> names = workers();
  completeness_.update(table(), collections_.num_workers(),
                       names.empty() ? std::string_view() : names.back());
  return {};
}

// A new attempt moves the steps that it writes again, and then records itself
// in `run.json`: what was read before is out of date.
void Trial::Impl::follow_attempt() {
  const auto file = find_run_file(*storage_);
  if (!file || file->attempts.size() == attempt_) return;
  attempt_ = file->attempts.size();
  if (table().steps().empty() && series_.parts().empty()) return;
  logger().info(fmt::format(
      "run '{}': attempt {} has begun, and replaces the steps from {} on",
      options_.name, attempt_, file->attempts.back().first_step.value_or(0)));
  restart();
}

void Trial::Impl::restart() {
  index_.restart();
  collections_ = {};
  facts_ = {};
  series_ = RunSeriesFiles(options_.first_step, options_.end_step);
  completeness_ = Completeness(*options_.incomplete_step_window);
  event_files_.close();
  kept_values_.clear();
  unreadable_.clear();
  feeds_.clear();
}

bool Trial::Impl::lacks_workers() const {
  return std::ranges::any_of(table().steps(), [this](const auto& step) {
    return !completeness_.is_whole(step.second);
  });
}

void Trial::Impl::refresh_for_query() {
  if (is_refreshing) log_failure(refresh({}));
}

void Trial::Impl::log_failure(const Status& status) {
  if (status.ok()) {
    logged_failure_.clear();
  } else if (status.error().message != logged_failure_) {
    logged_failure_ = status.error().message;
    logger().warning(fmt::format("run '{}' could not be refreshed: {}",
                                 options_.name, logged_failure_));
  }
}

void Trial::Impl::load_statistics() {
  if (!std::exchange(has_statistics_, true)) index_.load_statistics();
}

Status Trial::Impl::load_facts() {
  if (has_facts_) return {};
  SMD_CHECK_OK(facts_.refresh(*storage_));
  has_facts_ = true;
  return {};
}

Status Trial::Impl::load_series() {
  if (has_series_) return {};
  SMD_CHECK_OK(series_.refresh(*storage_));
  has_series_ = true;
  return {};
}

std::vector<std::string> Trial::Impl::workers() const {
  const auto& named = collections_.workers();
  std::vector<std::string> workers(named.begin(), named.end());
  if (workers.empty()) {
    workers.assign(table().workers().begin(), table().workers().end());
    std::ranges::sort(workers);
  }
  return workers;
}

std::vector<Damage> Trial::Impl::damage() const {
  std::vector<Damage> all;
  for (const LeftOut& part : index_.left_out()) {
    // Its steps were read from their index files.
    const bool is_copy = part.key.starts_with(kStatisticsPrefix);
    all.push_back({part.key, part.what, !is_copy});
  }
  for (const auto& [key, what] : collections_.broken_files()) {
    all.push_back({key, what});
  }
  for (const auto& [key, what] : facts_.broken_files()) {
    all.push_back({key, what});
  }
  for (const auto& [key, what] : series_.broken_files()) {
    all.push_back({key, what});
  }
  for (Damage& part : damage_beside_index(*storage_)) {
    all.push_back(std::move(part));
  }
  for (const auto& [key, what] : unreadable_) all.push_back({key, what});
  // Until the run ends, an event file may appear after its index file.
  if (completeness_.has_ended() || has_writer_exited()) {
    for (Damage& part : damage_of_event_files(*storage_, table())) {
      if (!unreadable_.contains(part.key)) all.push_back(std::move(part));
    }
    const bool has_ended = completeness_.has_ended();
    for (Damage& part : damage_by_progress(*storage_, has_ended)) {
      all.push_back(std::move(part));
    }
  }
  const auto refused = find_refused_writer(*storage_);
  if (!refused) {
    all.push_back({std::string(kRefusedKey), refused.error().message, false});
  } else if (*refused) {
    all.push_back({std::string(kRefusedKey), **refused, false});
  }
  return all;
}

std::optional<std::string> Trial::Impl::find_damaged_index(Step step,
                                                           Mode mode) const {
  if (mode != Mode::global) return std::nullopt;
  for (const LeftOut& part : index_.left_out()) {
    const auto name = parse_step_file_key(part.key);
    if (name && name->step == step) return part.key;
  }
  return std::nullopt;
}

std::optional<Step> Trial::Impl::find_global(Step step, Mode mode) const {
  if (mode == Mode::global) return step;
  const auto& steps = table().steps_of(mode);
  const auto found = steps.find(step);
  if (found == steps.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> Trial::Impl::sorted_names() const {
  std::vector<std::string> names;
  for (TensorId id = 0; id < table().tensor_count(); ++id) {
    if (table().has_entries(id)) names.push_back(table().tensor_name(id));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> Trial::Impl::names_at(std::optional<Step> step,
                                               Mode mode) const {
  std::vector<std::string> names;
  if (!step) {
    for (TensorId id = 0; id < table().tensor_count(); ++id) {
      if (!table().has_entries(id)) continue;
      if (mode != Mode::global && !table().is_seen_in(id, mode)) continue;
      names.push_back(table().tensor_name(id));
    }
  } else if (const auto global = find_global(*step, mode)) {
    for (TensorId id = 0; id < table().tensor_count(); ++id) {
      if (table().entries_at(id, *global).empty()) continue;
      names.push_back(table().tensor_name(id));
    }
  }
  std::ranges::sort(names);
  return names;
}

// --- the writer ---

std::optional<RunWriter> Trial::Impl::writer() const {
  if (const auto bytes = get_object(*storage_, kClaimKey, kMaxClaimBytes)) {
    if (const auto claim = parse_claim(bytes->text())) {
      return RunWriter{claim->host, claim->process_id, claim->start_ticks};
    }
  }
  const auto file = find_run_file(*storage_);
  if (!file || file->attempts.empty()) return std::nullopt;
  const RunAttempt& last = file->attempts.back();
  if (last.ended_seconds || last.host != host_name()) return std::nullopt;
  const auto ticks = process_start_ticks(last.process_id);
  const auto started = process_start_seconds(last.process_id);
  if (!ticks || !started || *started > last.started_seconds + kClockSlack) {
    return std::nullopt;
  }
  return RunWriter{last.host, last.process_id, *ticks};
}

std::string Trial::Impl::framework() const {
  const auto file = find_run_file(*storage_);
  return file ? file->framework : "";
}

Result<std::vector<Attempt>> Trial::Impl::attempts() const {
  std::vector<Attempt> attempts;
  const auto add = [&](Attempt attempt) -> Status {
    const std::string folder = attempt_folder(attempt.number);
    SMD_TRY(const bool has_steps,
            storage_->exists(fmt::format("{}/{}", folder, kEndMarkerKey)));
    if (has_steps)
      attempt.location = fmt::format("{}/{}", storage_->uri(), folder);
    if (attempt.number > 0 || has_steps) attempts.push_back(std::move(attempt));
    return {};
  };
  SMD_CHECK_OK(add(Attempt()));
  const auto file = find_run_file(*storage_);
  if (!file) return attempts;
  for (const RunAttempt& record : file->attempts) {
    SMD_CHECK_OK(
        add({.number = attempts.empty() ? 1 : attempts.back().number + 1,
             .started_seconds = record.started_seconds,
             .ended_seconds = record.ended_seconds,
             .first_step = record.first_step,
             .status = record.status,
             .raised = record.raised,
             .location = "",
             .host = record.host,
             .process_id = record.process_id,
             .command = record.command,
             .versions = record.versions,
             .environment = record.environment,
             .cost = record.cost}));
  }
  return attempts;
}

bool Trial::Impl::exists() const {
  for (const std::string_view prefix : {kCollectionsPrefix, kIndexPrefix}) {
    const auto files = storage_->list(prefix);
    if (!files || !files->empty()) return true;
  }
  return has_unreadable_folder(*storage_) || has_published(*storage_);
}

WriterState Trial::Impl::writer_state() {
  (void)refresh({});
  if (completeness_.has_ended()) return WriterState::ended;
  if (!has_writer_exited()) return WriterState::running;
  // The writer may have ended the run since the refresh; the next refresh will
  // see the marker.
  const auto has_marker = storage_->exists(kEndMarkerKey);
  return has_marker && !*has_marker ? WriterState::exited
                                    : WriterState::running;
}

bool Trial::Impl::has_writer_exited() const {
  const auto bytes = get_object(*storage_, kClaimKey, kMaxClaimBytes);
  if (!bytes) return false;
  const auto claim = parse_claim(bytes->text());
  if (!claim) return false;
  if (claim->has_ended() || !storage_->is_remote()) return claim->has_ended();
  const auto progress = read_run_progress(*storage_);
  return progress &&
         has_fallen_silent(*claim, *progress, clock().wall_seconds());
}

}  // namespace smdebug

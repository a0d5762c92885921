#include "read/trial_impl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "smdebug/core/error_subject.h"

#include "base/environment.h"
#include "format/file_names.h"

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

}  // namespace

Trial::Impl::Impl(std::shared_ptr<const Storage> storage, TrialOptions options)
    : storage_(std::move(storage)),
      options_(with_defaults(std::move(options), *storage_)),
      index_(storage_, options_.first_step, options_.end_step),
      completeness_(*options_.incomplete_step_window),
      event_files_(*storage_, index_.table()) {}

Status Trial::Impl::wait_for_run() {
  Wait wait(options_, options_.timeout);
  while (true) {
    if (options_.before_refresh) options_.before_refresh();
    SMD_CHECK_OK(collections_.refresh(*storage_));
    SMD_TRY(const bool can_be_opened, is_described());
    if (can_be_opened) return {};
    if (wait.is_over()) return time_is_over();
    SMD_CHECK_OK(wait.pause(waiting_text()));
  }
}

Result<bool> Trial::Impl::is_described() {
  const auto here = static_cast<int>(collections_.workers().size());
  if (here > 0 && here >= collections_.num_workers()) return true;
  if (here == 0) {
    // A run of a FileWriter has no collections.
    SMD_TRY(const auto files, storage_->list(kIndexPrefix));
    if (!files.empty()) return true;
  }
  SMD_TRY(const bool has_ended, storage_->exists(kEndMarkerKey));
  if (!has_ended || !options_.require_all_workers) return has_ended;
  return Error{Error::Code::not_found,
               fmt::format("run '{}' ended after {} of {} workers wrote their "
                           "collections",
                           options_.name, here, collections_.num_workers())}
      .with(Error::Detail::collections_missing);
}

Status Trial::Impl::time_is_over() {
  const std::size_t here = collections_.workers().size();
  if (here == 0) {
    return Error{Error::Code::not_found,
                 fmt::format("no run at '{}': found none of its files; check "
                             "the path, or wait longer",
                             storage_->uri())};
  }
  if (options_.require_all_workers) {
    logger().warning(
        fmt::format("run '{}': {} of {} workers have written their collections",
                    options_.name, here, collections_.num_workers()));
  }
  return {};
}

std::string Trial::Impl::waiting_text() const {
  const std::size_t here = collections_.workers().size();
  if (here == 0) return fmt::format("a run at '{}'", storage_->uri());
  return fmt::format(
      "the run at '{}': {} of {} workers have written their collections",
      storage_->uri(), here, collections_.num_workers());
}

Status Trial::Impl::refresh() { return refresh(options_.check_interrupt); }

Status Trial::Impl::refresh(const std::function<bool()>& check_interrupt) {
  if (completeness_.has_ended()) return {};
  if (options_.before_refresh) options_.before_refresh();
  // The marker first: no file is added after a listing that follows it.
  SMD_TRY(const bool has_ended, storage_->exists(kEndMarkerKey));
  SMD_CHECK_OK(load(has_ended));
  if (!has_ended) return {};
  if (misses_workers()) {
    SMD_CHECK_OK(sleep_for(*options_.end_delay, clock(), check_interrupt));
    SMD_CHECK_OK(load(true));
  }
  completeness_.end(table());
  return {};
}

Status Trial::Impl::load(bool all_folders) {
  SMD_CHECK_OK(collections_.refresh(*storage_));
  SMD_CHECK_OK(index_.refresh(completeness_.listing_start(), all_folders));
  const std::vector<std::string> names = workers();
  completeness_.update(table(), collections_.num_workers(),
                       names.empty() ? std::string_view() : names.back());
  return {};
}

bool Trial::Impl::misses_workers() const {
  return std::ranges::any_of(table().steps(), [this](const auto& step) {
    return !completeness_.is_whole(step.second);
  });
}

void Trial::Impl::refresh_for_query() {
  if (!is_refreshing) return;
  const Status status = refresh({});
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
    all.push_back({part.key, part.what});
  }
  for (const auto& [key, what] : collections_.broken_files()) {
    all.push_back({key, what});
  }
  for (const auto& [key, what] : unreadable_) all.push_back({key, what});
  return all;
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
    names.push_back(table().tensor_name(id));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> Trial::Impl::names_at(std::optional<Step> step,
                                               Mode mode) const {
  std::vector<std::string> names;
  if (!step) {
    for (TensorId id = 0; id < table().tensor_count(); ++id) {
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

Status Trial::Impl::wait_for_step(Step step, Mode mode, Wait wait) {
  while (true) {
    SMD_CHECK_OK(refresh());
    const StepState state = completeness_.state(table(), step, mode);
    if (state == StepState::available) return {};
    if (state == StepState::unavailable || wait.is_over()) {
      return step_error(step, mode, state);
    }
    SMD_CHECK_OK(wait.pause(
        fmt::format("{} of run '{}'", step_text(step, mode), options_.name)));
  }
}

// Why a wait for a step ends without it. After the end of a run, a step that
// lies between saved ones was passed; a later one will never exist.
Error Trial::Impl::step_error(Step step, Mode mode, StepState state) const {
  const Step last = last_step(mode);
  const std::string what =
      fmt::format("{} of run '{}'", step_text(step, mode), options_.name);
  auto about = std::make_shared<ErrorSubject>();
  about->step = step;
  about->mode = mode;
  about->last_step = last;
  if (state != StepState::unavailable) {
    return Error{Error::Code::not_yet, what + ": not written in time"}.with(
        Error::Detail::step_not_yet, std::move(about));
  }
  if (completeness_.has_ended() && step >= last) {
    return Error{Error::Code::not_found,
                 fmt::format("{}: the run has ended with step {}", what, last)}
        .with(Error::Detail::no_more_data, std::move(about));
  }
  return Error{Error::Code::not_found,
               what + ": it was not saved, and later steps were"}
      .with(Error::Detail::step_passed, std::move(about));
}

Step Trial::Impl::last_step(Mode mode) const {
  if (mode == Mode::global) {
    const auto& steps = table().steps();
    return steps.empty() ? -1 : steps.rbegin()->first;
  }
  const auto& steps = table().steps_of(mode);
  return steps.empty() ? -1 : steps.rbegin()->first;
}

std::string step_text(Step step, Mode mode) {
  if (mode == Mode::global) return fmt::format("step {}", step);
  return fmt::format("step {} of {}", step, mode_name(mode));
}

}  // namespace smdebug

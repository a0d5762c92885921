// Waits for a run and for its steps: polls, logs reminders, and reports why a
// step did not become available.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/error_subject.h"

#include "format/file_names.h"
#include "read/run_damage.h"
#include "read/trial_impl.h"

namespace smdebug {
namespace {

constexpr std::chrono::nanoseconds kPoll = std::chrono::milliseconds(100);
constexpr std::chrono::nanoseconds kRemotePoll = std::chrono::seconds(1);
// A path without a run is often a mistake.
constexpr std::chrono::nanoseconds kReminderOfRun = std::chrono::seconds(2);
constexpr std::chrono::nanoseconds kReminder = std::chrono::seconds(10);
// Below the prefix of a job of SageMaker, beside its profiler's output.
constexpr std::string_view kJobFolder = "debug-output";

}  // namespace

Wait::Wait(const TrialOptions& options, const Storage& storage,
           std::optional<std::chrono::nanoseconds> timeout,
           std::chrono::nanoseconds first_reminder)
    : options_(options),
      start_(options.clock->monotonic()),
      timeout_(timeout),
      next_reminder_(start_ + first_reminder),
      poll_(storage.is_remote() ? kRemotePoll : kPoll) {}

bool Wait::is_over() const {
  return timeout_ && options_.clock->monotonic() - start_ >= *timeout_;
}

Status Wait::pause(std::string_view what) {
  if (options_.clock->monotonic() >= next_reminder_) {
    next_reminder_ += kReminder;
    options_.logger->warning(
        fmt::format("still waiting for {}; Ctrl-C ends the wait, and so does "
                    "timeout=SECONDS of create_trial, or --timeout of a "
                    "command",
                    what));
  }
  return sleep_for(poll_, *options_.clock, options_.check_interrupt);
}

Status sleep_for(std::chrono::nanoseconds duration, const Clock& clock,
                 const std::function<bool()>& check_interrupt) {
  if (!check_interrupt) {
    clock.sleep_for(duration);
    return {};
  }
  while (duration > std::chrono::nanoseconds(0)) {
    const std::chrono::nanoseconds piece = std::min(duration, kPoll);
    clock.sleep_for(piece);
    duration -= piece;
    if (check_interrupt()) {
      return Error{Error::Code::interrupted, "the wait was interrupted"};
    }
  }
  return {};
}

Result<std::string_view> Trial::Impl::wait_for_run() {
  Wait wait(options_, *storage_, options_.timeout, kReminderOfRun);
  while (true) {
    if (options_.before_refresh) options_.before_refresh();
    SMD_CHECK_OK(collections_.refresh(*storage_));
    SMD_TRY(const bool is_ready, can_open());
    if (is_ready) return std::string_view();
    SMD_TRY(const auto of_job, storage_->list(fmt::format("{}/{}", kJobFolder,
                                                          kCollectionsPrefix)));
    if (!of_job.empty()) return kJobFolder;
    if (wait.is_over()) {
      SMD_CHECK_OK(on_timeout());
      return std::string_view();
    }
    SMD_CHECK_OK(wait.pause(waiting_text()));
  }
}

Result<bool> Trial::Impl::can_open() {
  const auto here = static_cast<int>(collections_.workers().size());
  if (here > 0 && here >= collections_.num_workers()) return true;
  if (here == 0) {
    // A run of a `FileWriter` may have no collections file.
    if (has_unreadable_folder(*storage_)) return true;
    SMD_TRY(const auto files, storage_->list(kIndexPrefix));
    if (!files.empty() || has_published(*storage_)) return true;
  }
  SMD_TRY(const bool has_ended, storage_->exists(kEndMarkerKey));
  if (!has_ended || !options_.require_all_workers) return has_ended;
  return Error{Error::Code::not_found,
               fmt::format("run '{}' ended after {} of {} workers wrote their "
                           "collections",
                           options_.name, here, collections_.num_workers())}
      .with(Error::Detail::collections_missing);
}

Status Trial::Impl::on_timeout() {
  const std::size_t here = collections_.workers().size();
  if (here == 0) {
    const bool has_waited = options_.timeout > std::chrono::nanoseconds(0);
    return Error{
        Error::Code::not_found,
        fmt::format("no run at '{}': the path does not exist, or holds no "
                    "files of a run; check it{}",
                    storage_->uri(), has_waited ? ", or wait longer" : "")};
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
  if (here == 0) {
    return fmt::format("a run at '{}', which holds no files of a run yet",
                       storage_->uri());
  }
  return fmt::format(
      "the run at '{}': {} of {} workers have written their collections",
      storage_->uri(), here, collections_.num_workers());
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

// The reason why a step did not become available. After the end of a run, a
// step between saved ones was passed; a later one will never exist.
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
                 fmt::format("{}: the run has ended; its last saved step is {}",
                             what, last)}
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

}  // namespace smdebug

#include "capture/run_lifecycle.h"

#include <utility>

#include "smdebug/base/try.h"

#include "base/environment.h"
#include "format/file_names.h"
#include "format/file_sizes.h"
#include "format/progress_file.h"
#include "format/run_file.h"
#include "store/upload_queue.h"

namespace smdebug {
namespace {

// While tensors have new names at each step, their file is written again for
// few names, and otherwise for each fourth of them, or after this time.
constexpr std::size_t kFewMemberships = 64;
constexpr std::chrono::seconds kCollectionsInterval(10);

// Whether a process on another host, whose state is unknown, keeps its claim.
enum class DistantOwner { keeps_claim, loses_claim };

bool is_running(const Storage& storage, const ProcessMark& owner,
                DistantOwner distant, double now) {
  if (owner.host == host_name()) return !owner.has_ended();
  if (distant == DistantOwner::loses_claim) return false;
  if (!storage.is_remote()) return true;
  const auto bytes = get_object(storage, kProgressKey, kMaxProgressFileBytes);
  if (!bytes) return true;
  const auto progress = parse_progress_file(bytes->text());
  return !progress || !has_fallen_silent(owner, *progress, now);
}

// Claims the run, or a worker's part of it, for this process. Returns none on
// success, or why another writer has it, in one sentence. A claim whose process
// has died is replaced. Fails with `io` if the storage cannot be written.
Result<std::optional<std::string>> claim_run(Storage& storage,
                                             std::string_view key,
                                             DistantOwner distant, double now,
                                             Logger& logger) {
  const ProcessMark self = ProcessMark::of_this_process();
  const std::string text = write_claim(self);
  SMD_TRY(const bool is_ours,
          storage.create_exclusive(
              key, std::as_bytes(std::span(text.data(), text.size()))));
  if (is_ours) return std::optional<std::string>();

  std::optional<ProcessMark> owner;
  if (auto bytes = get_object(storage, key, kMaxClaimBytes); bytes)
    owner = parse_claim(bytes->text());
  if (owner && is_running(storage, *owner, distant, now)) {
    (void)put_object(storage, kRefusedKey, text);
    if (*owner == self) {
      return std::optional<std::string>(
          "another hook of this program, " + owner->text() +
          ", writes this run: close it first, or use another folder");
    }
    return std::optional<std::string>(
        owner->text() + " writes this run: use another folder, or remove '" +
        std::string(key) + "' if that process has exited");
  }
  logger.warning("run " + storage.uri() + ": the claim of " +
                 (owner ? owner->text() : std::string("an unnamed process")) +
                 " is taken over: that process has exited, or has written "
                 "nothing for minutes");
  // Of the attempt of that process.
  if (key == kClaimKey) (void)storage.remove(kRefusedKey);
  SMD_CHECK_OK(put_object(storage, key, text));
  return std::optional<std::string>();
}

bool is_event_file(std::string_view key) {
  return key.starts_with(kEventsPrefix);
}

// The write thread does not wait for the answers of a server. An event file may
// be published before older files, because its index file comes after it.
std::shared_ptr<Storage> without_waits(std::shared_ptr<Storage> storage) {
  if (!storage || !storage->is_remote()) return storage;
  return make_upload_queue(std::move(storage), {is_event_file});
}

Status as_status(const Result<bool>& result) {
  if (!result) return result.error();
  return {};
}

}  // namespace

RunLifecycle::RunLifecycle(SessionContext& context,
                           std::shared_ptr<const SlotTable> slots,
                           RunStorages storages)
    : context_(context),
      shared_slots_(std::move(slots)),
      slots_(*shared_slots_),
      storage_(std::move(storages.bounded)),
      watch_(std::make_shared<StorageWatch>()),
      write_storage_(
          watched_storage(without_waits(std::move(storages.run)), watch_)),
      tensorboard_storage_(
          watched_storage(std::move(storages.tensorboard), watch_)),
      created_seconds_(context.clock.wall_seconds()),
      logger_(std::make_shared<DetachableLogger>(context.logger)) {}

// --- the start ---

void RunLifecycle::give_up_folders(FolderErrors errors) {
  if (errors.run) {
    context_.logger.error("nothing will be recorded: " + errors.run->message);
    state_ = SessionStatus::State::failed;
    error_ = std::move(errors.run);
  }
  if (errors.tensorboard) {
    context_.logger.error("nothing will be written for TensorBoard: " +
                          errors.tensorboard->message);
    tensorboard_error_ = std::move(errors.tensorboard);
  }
}

void RunLifecycle::start() {
  first_step_at_ = context_.clock.monotonic();
  if (error_) return;
  WorkerIdentity& worker = context_.worker;
  if (context_.config.include_workers == IncludeWorkers::one) {
    if (!worker.is_first()) {
      return deactivate(worker.name +
                        " saves nothing: include_workers is 'one'");
    }
    worker.count = 1;
  }
  if (Status status = start_recording(); !status)
    latch(std::move(status).error().within("run " + uri()));
}

Status RunLifecycle::start_recording() {
  const HookConfig& config = context_.config;
  const WorkerIdentity& worker = context_.worker;
  SMD_TRY(const bool may_write, claim());
  if (!may_write) return {};
  auto target = config.dry_run ? nullptr : write_storage_;
  open_tensorboard();
  if (worker.is_first()) {
    run_record_.emplace(*storage_, context_.process, context_.framework,
                        context_.clock);
    if (target) open_progress();
  }
  auto steps = std::make_unique<StepWriter>(
      target, worker.name, context_.framework, config.checksum, tensorboard_,
      RunSizeLimit::make(config, target, worker.name, *logger_),
      begin_attempt(target), progress_);
  SMD_TRY(recorder_,
          Recorder::create(config,
                           {logger_, std::move(steps), watch_, shared_slots_},
                           context_.limit));
  if (run_record_) {
    recorder_->owner_lane->write(
        {std::string(kRunFileKey),
         run_record_->started(slots_, context_.num_writers(),
                              context_.steps.current().global)});
  }
  return {};
}

std::unique_ptr<AttemptStart> RunLifecycle::begin_attempt(
    const std::shared_ptr<Storage>& target) const {
  if (!target) return nullptr;
  const WorkerIdentity& worker = context_.worker;
  AttemptStart::Attempt attempt;
  attempt.first_step = context_.steps.current().global;
  attempt.is_first_worker = worker.is_first();
  attempt.worker = worker.name;
  if (run_record_) attempt.earlier = run_record_->number() - 1;
  attempt.began_seconds =
      worker.is_grouped
          ? created_seconds_
          : process_start_seconds(process_id()).value_or(created_seconds_);
  return std::make_unique<AttemptStart>(target, attempt, context_.clock,
                                        *logger_);
}

// A run is claimed by its only writer, or by the first worker of the process
// that records all of them. Each of several processes claims its worker, which
// may restart on another host.
Result<bool> RunLifecycle::claim() {
  const WorkerIdentity& worker = context_.worker;
  if (context_.config.dry_run || worker.reports_via_first_worker()) return true;
  const bool is_only_writer = worker.count == 1 || worker.is_grouped;
  claim_key_ =
      is_only_writer ? std::string(kClaimKey) : worker_claim_key(worker.name);
  SMD_TRY(std::optional<std::string> other,
          claim_run(*storage_, claim_key_,
                    is_only_writer ? DistantOwner::keeps_claim
                                   : DistantOwner::loses_claim,
                    context_.clock.wall_seconds(), context_.logger));
  if (other) {
    context_.logger.error("run " + uri() +
                          ": nothing will be saved: " + *other);
    error_ = Error{Error::Code::closed, "run " + uri() + ": " + *other};
    error_step_ = context_.steps.current().global;
    deactivate(*std::move(other));
    return false;
  }
  is_claimed_ = true;
  return true;
}

void RunLifecycle::open_tensorboard() {
  if (!tensorboard_storage_ || context_.worker.reports_via_first_worker())
    return;
  const WorkerIdentity& worker = context_.worker;
  TensorBoardFileName name;
  name.worker = worker.is_first() ? "" : worker.name;
  name.host = host_name();
  name.process_id = process_id();
  // The rest is for the steps.
  std::optional<std::uint64_t> max_bytes = context_.config.max_run_bytes;
  if (max_bytes) *max_bytes /= 4;
  tensorboard_ = std::make_shared<TensorBoardWriter>(
      tensorboard_storage_,
      context_.config.dry_run ? TensorBoardWriter::Files::none
                              : TensorBoardWriter::Files::written,
      name, max_bytes, *logger_);
}

void RunLifecycle::open_progress() {
  const ProcessMark self = ProcessMark::of_this_process();
  RunProgress progress;
  progress.framework = context_.framework.name;
  progress.attempt = run_record_->number();
  progress.workers = context_.num_writers();
  progress.host = self.host;
  progress.process_id = self.process_id;
  progress.start_ticks = self.start_ticks;
  progress.started_seconds = context_.clock.wall_seconds();
  progress_ = std::make_shared<ProgressWriter>(
      write_storage_, std::move(progress), context_.clock, *logger_);
}

// --- the state ---

void RunLifecycle::deactivate(std::string reason) {
  state_ = SessionStatus::State::inactive;
  inactive_reason_ = std::move(reason);
}

void RunLifecycle::latch(Error error) {
  if (error_) return;
  state_ = SessionStatus::State::failed;
  error_step_ = context_.steps.current().global;
  context_.logger.error(failure_text({error, *error_step_}));
  error_ = std::move(error);
}

// Adopts the error that the write thread has latched, and logged.
void RunLifecycle::notice_failure() {
  if (error_ || !recorder_ || !recorder_->thread->has_failed()) return;
  const auto failure = recorder_->thread->failure();
  state_ = SessionStatus::State::failed;
  error_ = failure->error;
  error_step_ = failure->step;
}

bool RunLifecycle::is_recording() {
  if (is_over()) return false;
  notice_failure();
  if (state_ == SessionStatus::State::active) return true;
  ++calls_after_failure_;
  return false;
}

// --- files ---

// A file for each new name would cost time and bytes that are quadratic in the
// number of names. A file for each fourth of them costs five times the last.
bool RunLifecycle::are_collections_due(std::uint64_t plan_version) const {
  const std::size_t memberships = slots_.memberships();
  return exported_plan_ != plan_version || memberships <= kFewMemberships ||
         memberships >= exported_memberships_ + exported_memberships_ / 4 ||
         context_.clock.monotonic() >= exported_at_ + kCollectionsInterval;
}

void RunLifecycle::write_collections_if_due(std::uint64_t plan_version) {
  if (slots_.memberships() == exported_memberships_ &&
      exported_plan_ == plan_version) {
    return;
  }
  if (are_collections_due(plan_version)) write_collections(plan_version);
}

void RunLifecycle::write_collections(std::uint64_t plan_version) {
  const std::size_t memberships = slots_.memberships();
  if (exported_memberships_ == memberships && exported_plan_ == plan_version)
    return;
  if (run_record_ && exported_plan_ != plan_version) {
    if (auto text = run_record_->replanned(slots_, context_.num_writers()))
      recorder_->owner_lane->write(
          {std::string(kRunFileKey), *std::move(text)});
  }
  exported_memberships_ = memberships;
  exported_plan_ = plan_version;
  exported_at_ = context_.clock.monotonic();
  recorder_->owner_lane->write(
      {collections_file_key(context_.worker.name),
       collections_text(slots_, context_.num_writers())});
}

Status RunLifecycle::flush() {
  if (is_forked_) return {};
  if (!recorder_) return error_ ? Status(*error_) : Status();
  SMD_CHECK_OK(recorder_->thread->drain());
  if (auto failure = recorder_->thread->failure()) return failure->error;
  return {};
}

// --- the end ---

void RunLifecycle::stop(std::uint64_t plan_version) {
  if (!recorder_) return;
  if (is_recording()) {
    write_collections(plan_version);
    (void)recorder_->thread->drain();  // latches what fails
  }
  recorder_->thread->stop();
  notice_failure();
}

void RunLifecycle::write_end(const SessionStatus& status,
                             const SessionCost& cost) {
  if (!recorder_ || context_.config.dry_run) return;
  if (recorder_->thread->is_stuck()) return;  // another call would be, too
  if (Status finished = finish_files(status, cost); !finished)
    latch(std::move(finished).error().within("run " + uri()));
}

// These calls are worth a try even if the storage has failed: `run.json` shows
// readers why the run stops where it does.
Status RunLifecycle::finish_files(const SessionStatus& status,
                                  const SessionCost& cost) {
  Status recorded;
  if (run_record_) {
    recorded = put_object(
        *storage_, kRunFileKey,
        run_record_->ended(status, cost, context_.clock.wall_seconds()));
  }
  if (progress_) progress_->finish(*storage_, status);
  // On SageMaker, which sets this variable, the platform writes the marker.
  // Elsewhere every worker tries to, and the first one succeeds.
  if (!environment_variable("TRAINING_JOB_NAME"))
    SMD_CHECK_OK(as_status(storage_->create_exclusive(kEndMarkerKey, {})));
  if (is_claimed_) SMD_CHECK_OK(storage_->remove(claim_key_));
  return recorded;
}

Status RunLifecycle::close() {
  is_closed_ = true;
  if (error_ && !is_inactive()) return *error_;
  if (is_started() && state_ == SessionStatus::State::active)
    state_ = SessionStatus::State::closed;
  return {};
}

void RunLifecycle::after_fork_in_child() {
  is_forked_ = true;
  (void)recorder_.release();
}

// --- reports ---

void RunLifecycle::notice_stuck_writer() {
  if (recorder_) recorder_->thread->notice_stuck();
}

void RunLifecycle::report(SessionStatus& status) {
  if (!is_forked_) {
    notice_stuck_writer();
    notice_failure();
  }
  status.state = is_forked_ ? SessionStatus::State::inactive : state_;
  status.error = error_;
  status.error_step = error_step_;
  status.tensorboard_error = tensorboard_error_;
  if (tensorboard_ && !is_forked_)
    status.tensorboard_error = tensorboard_->failure();
  status.reason = is_forked_
                      ? "this process was forked from the one that writes"
                      : inactive_reason_;
  status.calls_after_failure = calls_after_failure_;
  if (!recorder_) return;
  const WriteCounts written = recorder_->thread->counts();
  status.steps_published = written.steps;
  status.records = written.records;
  status.bytes = written.bytes;
  status.removed_steps = written.removals.removed_steps;
  status.replaced_tensors = written.replaced_tensors;
  status.first_kept_step = written.removals.first_kept_step;
  const LaneCounts captured = recorder_->counts();
  status.tensors = captured.tensors;
  status.dropped_tensors = captured.dropped_tensors;
  status.dropped_bytes = captured.dropped_bytes;
}

void RunLifecycle::report(SessionCost& cost) {
  if (first_step_at_) {
    cost.run_seconds = std::chrono::duration<double>(
                           context_.clock.monotonic() - *first_step_at_)
                           .count();
  }
  if (!recorder_) return;
  cost.wait_seconds = recorder_->owner_lane->wait_seconds();
  cost.writer_cpu_seconds = recorder_->thread->cpu_seconds();
  cost.bytes_captured = recorder_->counts().bytes;
  cost.bytes_written = recorder_->thread->counts().bytes;
}

}  // namespace smdebug

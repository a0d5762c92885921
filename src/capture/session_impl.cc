#include "capture/session_impl.h"

#include <algorithm>
#include <array>

#include "base/environment.h"
#include "capture/match_summary.h"
#include "capture/run_claim.h"
#include "format/file_names.h"
#include "format/string_elements.h"

namespace smdebug {
namespace {

// The shared lane is for gradients of other threads: smaller than the owner's.
constexpr std::size_t kSharedShare = 4;

// A lane must hold a few messages, whatever the user asked for.
constexpr std::size_t kMinRingBytes = std::size_t{1} << 20;

const Treatment& scalar_treatment() {
  static const Treatment treatment{.raw = true,
                                   .shape = false,
                                   .reductions = {},
                                   .scalar_summary = true,
                                   .histogram_collection = {}};
  return treatment;
}

// What the elements take in a record.
std::uint64_t captured_bytes(const TensorView& tensor) {
  const std::size_t bytes = tensor.bytes();
  return bytes == 0 && is_string(tensor.dtype)
             ? string_elements_bytes(tensor.strings())
             : bytes;
}

Status as_status(const Result<bool>& result) {
  if (!result) return result.error();
  return {};
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(
    const HookConfig& config, std::unique_ptr<StepWriter> writer,
    Logger& logger) {
  auto recorder = std::make_unique<Recorder>();
  const std::size_t bytes = std::max(config.queue_bytes, kMinRingBytes);
  SMD_TRY(recorder->owner_ring, StagingRing::create(bytes));
  SMD_TRY(recorder->shared_ring,
          StagingRing::create(std::max(bytes / kSharedShare, kMinRingBytes)));
  recorder->thread = std::make_unique<WriteThread>(
      *recorder->owner_ring, *recorder->shared_ring, std::move(writer), logger);
  recorder->owner_lane.emplace(*recorder->owner_ring, *recorder->thread,
                               config.when_full);
  recorder->shared_lane.emplace(*recorder->shared_ring, *recorder->thread,
                                config.when_full);
  return recorder;
}

LaneCounts Recorder::counts() {
  std::lock_guard lock(shared_mutex);
  return {owner_counts.tensors + shared_counts.tensors,
          owner_counts.bytes + shared_counts.bytes,
          owner_counts.dropped_tensors + shared_counts.dropped_tensors,
          owner_counts.dropped_bytes + shared_counts.dropped_bytes};
}

Session::Impl::Impl(SessionOptions options, std::shared_ptr<const Plan> plan)
    : config(std::move(options.config)),
      framework(std::move(options.framework)),
      process(std::move(options.process)),
      clock(options.clock != nullptr ? *options.clock : system_clock()),
      logger(options.logger != nullptr ? *options.logger : default_logger()),
      storage(std::move(options.storage)),
      tensorboard_storage(std::move(options.tensorboard)),
      sites(std::move(plan)) {
  resume_from_checkpoint();
}

// --- the start ---

void Session::Impl::resume_from_checkpoint() {
  checkpoints_ = CheckpointState::open(logger);
  if (!checkpoints_ || !checkpoints_->noted()) return;
  steps.resume(checkpoints_->noted()->counts);
  last_saved_step_ = checkpoints_->noted()->last_saved;
}

// One process of a run speaks for all: they count the same steps.
void Session::Impl::note_checkpoint() {
  if (!is_first_worker() || config.dry_run ||
      state_ == SessionStatus::State::silent) {
    return;
  }
  checkpoints_->note_if_changed(steps.counts(), last_saved_step_);
}

void Session::Impl::start() {
  is_started_ = true;
  first_step_at_ = clock.monotonic();
  if (config.include_workers == IncludeWorkers::one) {
    if (!is_first_worker()) {
      state_ = SessionStatus::State::silent;
      silent_reason_ = worker + " saves nothing: include_workers is 'one'";
      return;
    }
    num_workers = 1;  // readers wait for so many
  }
  if (Status status = start_recording(); !status)
    latch(std::move(status).error().within("run " + storage->uri()));
}

Status Session::Impl::start_recording() {
  const bool is_alone =
      num_workers == 1 || (shares_process && is_first_worker());
  if (!config.dry_run && is_alone) {
    SMD_TRY(std::optional<std::string> other, claim_run(*storage, logger));
    if (other) {
      state_ = SessionStatus::State::silent;
      silent_reason_ = *std::move(other);
      logger.error("run " + storage->uri() +
                   ": nothing will be saved: " + silent_reason_);
      return {};
    }
    is_claimed_ = true;
  }
  auto target = config.dry_run ? nullptr : storage;
  make_tensorboard_writer();
  SMD_TRY(recorder,
          Recorder::create(
              config,
              std::make_unique<StepWriter>(
                  target, worker, framework, config.checksum, tensorboard_,
                  Retention::make(config, target, worker, logger)),
              logger));
  if (is_first_worker()) {
    run_record_.emplace(*storage, process, framework, clock);
    recorder->owner_lane->write(
        {std::string(kRunFileKey),
         run_record_->started(sites, num_writers(), steps.current().global)});
  }
  return {};
}

void Session::Impl::make_tensorboard_writer() {
  if (!tensorboard_storage || is_spoken_for()) return;
  tensorboard_ = std::make_shared<TensorBoardWriter>(
      tensorboard_storage,
      config.dry_run ? TensorBoardWriter::Files::none
                     : TensorBoardWriter::Files::written,
      std::to_string(process_id()) + "_" + host_name(), logger);
}

void Session::Impl::latch(Error error) {
  if (error_) return;
  state_ = SessionStatus::State::failed;
  error_step_ = steps.current().global;
  logger.error("step " + std::to_string(*error_step_) +
               ": nothing more will be saved: " + error.message);
  error_ = std::move(error);
}

// Takes over what the write thread has latched.
void Session::Impl::notice_failure() {
  if (error_ || !recorder || !recorder->thread->has_failed()) return;
  const auto failure = recorder->thread->failure();
  state_ = SessionStatus::State::failed;
  error_ = failure->error;
  error_step_ = failure->step;
}

bool Session::Impl::is_recording() {
  if (is_dead || is_closed_) return false;
  notice_failure();
  if (state_ == SessionStatus::State::active) return true;
  ++calls_after_failure_;
  return false;
}

// --- steps ---

void Session::Impl::use_pending_plan() {
  if (!pending_plan) return;
  sites.use(std::exchange(pending_plan, nullptr));
  ++plan_version;
  is_summarized_ = false;
  tell_sink_collections();
}

void Session::Impl::tell_sink_collections() {
  if (!live.has_sink()) return;
  const SiteTable::Members assigned = sites.assigned_members();
  std::vector<TensorGroup> groups;
  for (const Collection& collection : sites.plan().collections()) {
    groups.push_back(collection.tensors);
    const auto own = assigned.find(collection.name());
    if (own == assigned.end()) continue;
    auto& names = groups.back().tensor_names;
    names.insert(names.end(), own->second.begin(), own->second.end());
  }
  live.tell_collections(groups);
}

bool Session::Impl::begin_step(std::atomic<bool>& capturing) {
  if (is_dead || is_closed_) return false;
  end_step(capturing);
  take_over();
  if (checkpoints_) note_checkpoint();
  steps.next();
  is_step_open_ = true;
  ++sequence;
  ++steps_begun_;
  if (!is_started_) start();
  if (!is_recording()) return false;
  use_pending_plan();
  is_paused_ = wants_pause;
  if (is_paused_) return false;
  put_waiting();

  const CollectionSet due = sites.plan().due(steps.current());
  if (due.empty()) return false;
  sites.apply(due);
  announce_step();
  ++steps_saved_;
  last_saved_step_ = steps.current().global;
  at_step_start_ = recorder->counts();
  capturing.store(true, std::memory_order_release);
  return true;
}

CollectionSet Session::Impl::next_due() const {
  if (is_dead || is_closed_ || state_ != SessionStatus::State::active ||
      wants_pause) {
    return {};
  }
  return coming_plan().due(StepCounter(steps).next());
}

CollectionSet Session::Impl::coming_matches(const Site& site) const {
  return pending_plan ? sites.matches(site, *pending_plan) : site.matched;
}

void Session::Impl::announce_step() {
  if (is_announced_) return;
  is_announced_ = true;
  recorder->owner_lane->begin_step(clock.wall_seconds(), steps.current(),
                                   sequence);
}

void Session::Impl::end_step(std::atomic<bool>& capturing) {
  is_step_open_ = false;
  if (!is_announced_ || is_dead) return;
  is_announced_ = false;
  const bool was_capturing = capturing.load();
  write_collections_if_grown();
  std::uint64_t shared_end = 0;
  {
    // From here on another thread's tensor belongs to no step.
    std::lock_guard lock(recorder->shared_mutex);
    capturing.store(false);
    shared_end = recorder->shared_ring->published();
  }
  const LaneCounts now = recorder->counts();
  recorder->owner_lane->end_step(
      shared_end, now.dropped_tensors - at_step_start_.dropped_tensors,
      now.dropped_bytes - at_step_start_.dropped_bytes, sequence);
  at_step_start_ = now;
  if (was_capturing && !is_summarized_) tell_summary();
  if (live.has_sink()) {
    live.show(steps.current(), StepPhase::complete, worker);
    live.clear();
  }
}

void Session::Impl::write_collections_if_grown() {
  const std::size_t memberships = sites.memberships();
  if (exported_memberships_ == memberships && exported_plan_ == plan_version)
    return;
  exported_memberships_ = memberships;
  exported_plan_ = plan_version;
  recorder->owner_lane->write(
      {collections_file_key(worker), collections_text(sites, num_writers())});
}

void Session::Impl::export_collections() {
  if (recorder && is_recording()) write_collections_if_grown();
}

void Session::Impl::tell_summary() {
  is_summarized_ = true;
  if (is_spoken_for()) return;
  MatchSummary matches = summarize_matches(sites);
  summary = std::move(matches.text);
  logger.info("first saved step is " + std::to_string(steps.current().global) +
              ", in " + storage->uri() + "\n" + summary);
  for (const std::string& warning : matches.warnings) logger.warning(warning);
  if (recorder->counts().tensors == 0 && matches.warnings.empty()) {
    logger.warning("step " + std::to_string(steps.current().global) +
                   " was to be saved, but no tensor came: is the model "
                   "registered?");
  }
}

// --- tensors ---

template <typename Put>
void Session::Impl::put_in_lane(const Site& site, const TensorView& tensor,
                                const std::atomic<bool>& capturing,
                                const Put& put) {
  if (is_owner()) {
    CycleMeter meter(step_cycles);
    note(recorder->owner_counts, site, tensor, put(*recorder->owner_lane));
  } else {
    std::lock_guard lock(recorder->shared_mutex);
    if (!capturing.load(std::memory_order_relaxed)) return;
    note(recorder->shared_counts, site, tensor, put(*recorder->shared_lane));
  }
}

void Session::Impl::capture(Site& site, const Treatment& treatment,
                            const TensorView& tensor,
                            const std::atomic<bool>& capturing) {
  if (!is_capturable(site, tensor)) return;
  put_in_lane(site, tensor, capturing, [&](Lane& lane) {
    return lane.put(site, treatment, tensor, sequence);
  });
}

bool Session::Impl::needs_elements(const Site& site,
                                   const Treatment& treatment) {
  if (Lane::needs_elements(treatment)) return true;
  if (!live.has_sink()) return false;
  // Once it was told of them, it may look at more.
  return has_new_members.load() || live.may_look_at_values(site);
}

void Session::Impl::capture_statistics(Site& site, const Treatment& treatment,
                                       const TensorView& tensor,
                                       const TensorStatistics& statistics,
                                       const std::atomic<bool>& capturing) {
  if (is_string(tensor.dtype)) return skip(site, "strings have no statistics");
  if (Lane::needs_elements(treatment)) {
    return skip(site,
                "its elements are to be saved, and only its statistics were "
                "given");
  }
  const auto size = static_cast<std::uint64_t>(tensor.size());
  if (statistics.count != size) {
    return skip(site, "statistics of " + std::to_string(statistics.count) +
                          " elements for a shape of " + std::to_string(size));
  }
  if (!has_capturable_shape(site, tensor)) return;
  put_in_lane(site, tensor, capturing, [&](Lane& lane) {
    return lane.put_statistics(site, treatment, tensor, statistics, sequence);
  });
}

void Session::Impl::capture_shared(std::vector<Site*> names,
                                   const Treatment& treatment,
                                   const TensorView& tensor) {
  Site& first = *names.front();
  if (!is_capturable(first, tensor)) return;
  CycleMeter meter(step_cycles);
  const auto* also = sites.keep_shared(first, {names.begin() + 1, names.end()});
  const TensorStatistics* kept =
      recorder->owner_lane->put(first, treatment, tensor, sequence, 0, also);
  note(recorder->owner_counts, first, tensor, kept);
  if (!live.has_sink() || kept == nullptr) return;
  for (const Site* site : *also) live.add(*site, tensor, *kept);
}

void Session::Impl::note(LaneCounts& counts, const Site& site,
                         const TensorView& tensor,
                         const TensorStatistics* kept) {
  const std::size_t bytes = captured_bytes(tensor);
  ++(kept != nullptr ? counts.tensors : counts.dropped_tensors);
  (kept != nullptr ? counts.bytes : counts.dropped_bytes) += bytes;
  if (!live.has_sink() || kept == nullptr) return;
  if (has_new_members.exchange(false)) tell_sink_collections();
  live.add(site, tensor, *kept);
}

bool Session::Impl::is_capturable(Site& site, const TensorView& tensor) {
  if (tensor.data == nullptr && tensor.size() > 0) {
    skip(site, "a tensor without memory");
    return false;
  }
  return has_capturable_shape(site, tensor);
}

bool Session::Impl::has_capturable_shape(Site& site, const TensorView& tensor) {
  if (tensor.shape.size() > Lane::kMaxRank) {
    skip(site, "more than " + std::to_string(Lane::kMaxRank) + " dimensions");
    return false;
  }
  if (captured_bytes(tensor) > kMaxPayloadBytes) {
    skip(site,
         "larger than a record can be: its statistics are saved, its values "
         "are not");
  }
  return true;
}

void Session::Impl::skip(Site& site, std::string_view reason) {
  if (site.is_skipped.exchange(true)) return;
  {
    std::lock_guard lock(skipped_mutex_);
    skipped_.emplace(site.name, reason);
  }
  logger.warning("tensor '" + site.name +
                 "' is not saved: " + std::string(reason));
}

// A tensor that comes between steps, or from another thread than the step's,
// waits for the next step.
void Session::Impl::save(const SavedTensor& saved, const TensorView& tensor) {
  if (is_dead || is_closed_) return;
  Site* site = sites.site(saved.name);
  if (!is_capturable(*site, tensor)) return;
  if (is_owner() && is_step_open_) {
    if (!is_paused_ && is_recording()) put_saved(*site, saved, tensor);
    return;
  }
  if (wants_pause) return;
  std::lock_guard lock(waiting_mutex_);
  waiting_.emplace_back(saved, tensor);
}

void Session::Impl::save_number(std::string_view name, DType dtype,
                                const void* value,
                                std::optional<double> wall_seconds) {
  constexpr std::array<std::int64_t, 1> kOne = {1};
  save({.name = "scalar/" + std::string(name),
        .collections = {},
        .is_scalar = true,
        .wall_seconds = wall_seconds.value_or(0)},
       {dtype, static_cast<const std::byte*>(value), kOne, {}});
}

void Session::Impl::put_saved(Site& site, const SavedTensor& saved,
                              const TensorView& tensor) {
  CycleMeter meter(step_cycles);
  announce_step();
  const Treatment* treatment = saved.is_scalar
                                   ? &scalar_treatment()
                                   : sites.join(site, saved.collections);
  note(recorder->owner_counts, site, tensor,
       recorder->owner_lane->put(site, *treatment, tensor, sequence,
                                 saved.wall_seconds));
}

bool Session::Impl::has_waiting() {
  std::lock_guard lock(waiting_mutex_);
  return !waiting_.empty();
}

void Session::Impl::put_waiting() {
  std::vector<WaitingTensor> waiting;
  {
    std::lock_guard lock(waiting_mutex_);
    waiting.swap(waiting_);
  }
  for (const WaitingTensor& each : waiting)
    put_saved(*sites.site(each.saved().name), each.saved(), each.view());
}

// --- the end ---

Status Session::Impl::close(std::atomic<bool>& capturing) {
  if (is_closed_ || is_dead) return {};
  if (has_waiting()) {  // from before a pause, if there is one
    wants_pause = false;
    begin_step(capturing);
  }
  end_step(capturing);
  if (recorder && is_recording()) {
    write_collections_if_grown();
    if (Status status = recorder->thread->drain(); !status)
      latch(std::move(status).error());
  }
  if (recorder) recorder->thread->stop();
  notice_failure();
  if (recorder && !config.dry_run) {
    if (Status status = finish_files(); !status)
      latch(std::move(status).error().within("run " + storage->uri()));
  }
  is_closed_ = true;
  if (error_) return *error_;
  if (is_started_ && state_ == SessionStatus::State::active)
    state_ = SessionStatus::State::closed;
  return {};
}

// On a storage that has failed these fail too, and are tried all the same: a
// reader learns from `run.json` why the run stops where it does.
Status Session::Impl::finish_files() {
  Status recorded;
  if (run_record_) {
    recorded =
        put_object(*storage, kRunFileKey,
                   run_record_->ended(status(), cost(), clock.wall_seconds()));
  }
  // On the platform that sets this variable the marker is not ours to write.
  // Elsewhere every worker writes it; the first one does.
  if (!environment_variable("TRAINING_JOB_NAME"))
    SMD_CHECK_OK(as_status(storage->create_exclusive(kEndMarkerKey, {})));
  if (is_claimed_) SMD_CHECK_OK(storage->remove(kClaimKey));
  return recorded;
}

// --- what it says about itself ---

SessionStatus Session::Impl::status() {
  SessionStatus status;
  if (!is_dead) notice_failure();
  status.state = is_dead ? SessionStatus::State::silent : state_;
  status.error = error_;
  status.error_step = error_step_;
  if (tensorboard_ && !is_dead)
    status.tensorboard_error = tensorboard_->failure();
  status.reason = is_dead ? "this process was forked from the one that writes"
                          : silent_reason_;
  status.last_step = steps.current().global;
  status.steps = steps_begun_;
  status.steps_saved = steps_saved_;
  status.calls_after_failure = calls_after_failure_;
  if (recorder) {
    const WriteCounts written = recorder->thread->counts();
    status.steps_published = written.steps;
    status.records = written.records;
    status.bytes = written.bytes;
    status.removed_steps = written.retention.removed_steps;
    status.replaced_tensors = written.replaced_tensors;
    status.first_kept_step = written.retention.first_kept_step;
    const LaneCounts captured = recorder->counts();
    status.tensors = captured.tensors;
    status.dropped_tensors = captured.dropped_tensors;
    status.dropped_bytes = captured.dropped_bytes;
  }
  std::lock_guard lock(skipped_mutex_);
  status.skipped = skipped_;
  return status;
}

SessionCost Session::Impl::cost() {
  SessionCost cost;
  cost.step_thread_seconds = cycle_clock_.seconds(step_cycles);
  cost.steps = steps_begun_;
  if (first_step_at_) {
    cost.run_seconds =
        std::chrono::duration<double>(clock.monotonic() - *first_step_at_)
            .count();
  }
  if (!recorder) return cost;
  cost.wait_seconds = recorder->owner_lane->wait_seconds();
  cost.writer_cpu_seconds = recorder->thread->cpu_seconds();
  cost.bytes_captured = recorder->counts().bytes;
  cost.bytes_written = recorder->thread->counts().bytes;
  return cost;
}

}  // namespace smdebug

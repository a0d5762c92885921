#include "capture/step_lifecycle.h"

#include <utility>

#include <fmt/format.h>

#include "config/save_schedule.h"
#include "reduce/gather.h"

namespace smdebug {

StepLifecycle::StepLifecycle(SessionContext& context, SlotTable& slots,
                             RunLifecycle& run, CaptureSink& sink,
                             ScalarNotes& scalars, LeapWatch& leaps)
    : context_(context),
      slots_(slots),
      run_(run),
      sink_(sink),
      scalars_(scalars),
      leaps_(leaps),
      checkpoints_(CheckpointState::open(context.logger, context.limit)) {
  if (!checkpoints_ || !checkpoints_->recorded()) return;
  context_.steps.resume(checkpoints_->recorded()->counts);
  last_saved_step_ = checkpoints_->recorded()->last_saved;
}

// The first worker records the steps for all workers of a run, since all count
// alike.
void StepLifecycle::record_checkpoint() {
  if (!context_.worker.is_first() || context_.config.dry_run ||
      run_.is_inactive()) {
    return;
  }
  checkpoints_->record_if_changed(context_.steps.counts(), last_saved_step_);
}

bool StepLifecycle::begin() {
  if (run_.is_over()) return false;
  end();
  sink_.bind_to_current_thread();
  if (checkpoints_) record_checkpoint();
  context_.steps.next();
  is_open_ = true;
  sink_.begin_step(++begun_);
  if (!run_.is_started()) start_run();
  const bool is_recorded = begin_recorded();
  scalars_.begin_step(is_recorded);
  if (!is_recorded) return false;
  put_waiting();

  const CollectionSet due = take_due();
  if (due.empty()) return false;
  // Set the specs and publish `begin_step` before `capturing_`: a thread that
  // captures may do so as soon as it sees that flag.
  slots_.apply(due);
  announce();
  ++saved_;
  last_saved_step_ = context_.steps.current().global;
  at_step_start_ = run_.recorder()->counts();
  sink_.start_capturing();
  return true;
}

// Returns whether the open step is recorded at all.
bool StepLifecycle::begin_recorded() {
  if (!run_.is_recording()) return false;
  use_pending_plan();
  is_paused_ = wants_pause_;
  return !is_paused_;
}

// Returns the collections that are due in the open step, on schedule or after a
// leap.
CollectionSet StepLifecycle::take_due() {
  const StepId step = context_.steps.current();
  const CollectionSet due = slots_.plan().due(step);
  return leaps_.begin_step(step.mode) ? due | slots_.plan().saved(step.mode)
                                      : due;
}

void StepLifecycle::start_run() {
  run_.start();
  sink_.set_recorder(run_.recorder());
  const std::uint32_t steps = context_.config.steps_after_leap;
  if (steps == 0 || context_.worker.count > 1) return;
  leaps_.set_steps(steps);
  scalars_.watch_leaps();
}

void StepLifecycle::use_pending_plan() {
  if (!pending_plan_) return;
  slots_.use(std::exchange(pending_plan_, nullptr));
  ++plan_version_;
  is_summarized_ = false;
  sink_.show_collections();
}

CollectionSet StepLifecycle::next_due() const {
  if (!run_.is_active() || wants_pause_) return {};
  const StepId step = StepCounter(context_.steps).next();
  const CollectionSet due = coming_plan().due(step);
  return leaps_.saves_next(step.mode) ? due | coming_plan().saved(step.mode)
                                      : due;
}

// Announces the open step to the writer, before its first tensor.
void StepLifecycle::announce() {
  if (is_announced_) return;
  is_announced_ = true;
  run_.recorder()->owner_lane->begin_step(context_.clock.wall_seconds(),
                                          context_.steps.current(), begun_,
                                          slots_.schedule_in_use());
}

void StepLifecycle::end() {
  is_open_ = false;
  if (run_.is_forked()) return;
  scalars_.end_step();
  if (!is_announced_) return;
  is_announced_ = false;
  const bool was_capturing = sink_.is_capturing();
  run_.write_collections_if_due(plan_version_);
  // From here on tensors of other threads are too late for this step, and
  // `shared_end` limits the tensors that the writer assigns to it. The counts
  // and the message must follow.
  const std::uint64_t shared_end = sink_.stop_capturing();
  const LaneCounts now = run_.recorder()->counts();
  run_.recorder()->owner_lane->end_step(
      shared_end, now.dropped_tensors - at_step_start_.dropped_tensors,
      now.dropped_bytes - at_step_start_.dropped_bytes, begun_);
  at_step_start_ = now;
  run_.notice_stuck_writer();
  if (was_capturing && !is_summarized_) report_matches();
  report_pattern_errors();
  scalars_.show();
  sink_.show_step(context_.steps.current(), StepPhase::complete,
                  context_.worker.name);
}

void StepLifecycle::finish() {
  if (has_waiting()) {  // perhaps from before a pause
    wants_pause_ = false;
    begin();
  }
  end();
  report_unmatched_at_end();
}

void StepLifecycle::report_unmatched_at_end() {
  if (!is_summarized_ || context_.worker.reports_via_first_worker()) return;
  for (const MatchSummary::Warning& warning :
       summarize_matches(slots_, context_.config.include_collections,
                         /*at_end=*/true)
           .warnings) {
    if (!warning.may_match_later) continue;
    const auto reason = reasons_.find(warning.collection);
    if (reason == reasons_.end()) {
      warn_once(warning);
    } else {
      warn_once({warning.collection, warning.subject,
                 fmt::format("collection '{}' should be saved, but {}",
                             warning.collection, reason->second)});
    }
  }
}

// A plan follows another one when layers become known or the user edits the
// configuration: most of its warnings are those of the plan before.
void StepLifecycle::warn_once(const MatchSummary::Warning& warning) {
  if (warned_.insert(warning.subject).second)
    context_.logger.warning(warning.text);
}

namespace {

std::string nothing_captured(const MatchSummary& matches,
                             std::string_view framework) {
  // Those whose user registers a model and calls backward().
  const bool is_imperative = framework == "pytorch" || framework == "mxnet";
  if (matches.to_save > 0) {
    return fmt::format("none of the {} tensors to save was captured{}",
                       matches.to_save,
                       is_imperative ? "; a gradient needs a backward pass of "
                                       "the registered model in the step"
                                     : "");
  }
  if (matches.seen > 0) return "no tensor of its collections was captured";
  return fmt::format(
      "no tensor was captured{}",
      is_imperative ? ": register the model, and save losses that no module "
                      "computes with save_scalar"
                    : "");
}

// ", every 500 steps" if the collections are saved alike in steps of `mode`;
// otherwise nothing, because `smdebug explain` and `smdebug show` list them.
std::string common_schedule(const Plan& plan,
                            std::span<const std::size_t> collections,
                            Mode mode) {
  std::string common;
  for (const std::size_t i : collections) {
    const auto& config = plan.collections()[i].save_config;
    const std::string text =
        schedule_text(config ? config->mode(mode).value_or(SaveConfigMode{})
                             : SaveConfigMode{});
    if (!common.empty() && common != text) return "";
    common = text;
  }
  return common.empty() ? "" : ", " + common;
}

}  // namespace

void StepLifecycle::report_matches() {
  is_summarized_ = true;
  if (context_.worker.reports_via_first_worker()) return;
  Logger& logger = context_.logger;
  const StepId& now = context_.steps.current();
  const std::string step = std::to_string(now.global);
  MatchSummary matches =
      summarize_matches(slots_, context_.config.include_collections);
  summary_ = std::move(matches.text);
  if (context_.config.announces_first_step && context_.worker.is_first() &&
      !std::exchange(is_location_logged_, true)) {
    logger.info((context_.config.dry_run ? "dry run, nothing is written to '"
                                         : "recording to '") +
                run_.uri() + "' from step " + step +
                common_schedule(slots_.plan(), matches.filled, now.mode) +
                ": " + matches.counts);
  }
  logger.debug(summary_);
  const bool is_empty = run_.recorder()->counts().tensors == 0;
  bool is_explained = matches.has_skipped;
  const std::string head = "step " + step + " should have been saved, but ";
  for (const auto& warning : matches.warnings) {
    if (!warning.may_match_later) {
      warn_once(warning);
      is_explained = true;
    } else if (is_empty && matches.seen > 0 && !warning.of_empty_step.empty()) {
      warn_once(
          {warning.collection, warning.subject, head + warning.of_empty_step});
      is_explained = true;
    }
  }
  if (is_empty && (!is_explained || matches.to_save > 0))
    logger.warning(head + nothing_captured(matches, context_.framework.name));
}

// Names of tensors may appear in any step.
void StepLifecycle::report_pattern_errors() {
  const Plan& plan = slots_.plan();
  if (plan.pattern_error_count() == 0) return;
  for (const std::string& error : plan.pattern_errors())
    if (logged_pattern_errors_.insert(error).second)
      context_.logger.warning(error);
}

// --- saved tensors ---

WaitingTensor::WaitingTensor(SavedTensor saved, const TensorView& tensor)
    : saved_(std::move(saved)),
      dtype_(tensor.dtype),
      shape_(tensor.shape.begin(), tensor.shape.end()) {
  if (is_string(dtype_)) {
    const auto strings = tensor.strings();
    strings_.assign(strings.begin(), strings.end());
    string_views_.assign(strings_.begin(), strings_.end());
    return;
  }
  const std::size_t count =
      static_cast<std::size_t>(tensor.size()) / repeats_of(tensor);
  elements_.resize(count * dtype_bytes(dtype_));
  if (elements_.empty()) return;
  Gather(tensor, Gather::Repeats::omitted).next(elements_.data(), count);
  strides_.resize(shape_.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    const bool is_expanded = !tensor.strides.empty() && tensor.strides[i] == 0;
    strides_[i] = is_expanded ? 0 : stride;
    if (!is_expanded) stride *= shape_[i];
  }
}

TensorView WaitingTensor::view() const {
  const void* first = is_string(dtype_)
                          ? static_cast<const void*>(string_views_.data())
                          : elements_.data();
  return {dtype_, static_cast<const std::byte*>(first), shape_, strides_};
}

void StepLifecycle::save(const SavedTensor& saved, const TensorView& tensor) {
  if (run_.is_over()) return;
  SlotState* slot = slots_.slot(saved.name);
  if (!sink_.is_capturable(*slot, tensor)) return;
  if (sink_.is_owner() && is_open_) {
    if (is_paused_ || !run_.is_recording()) return;
    CycleMeter meter(sink_.step_cycles());
    return put(*slot, saved, tensor);
  }
  if (wants_pause_) return;
  std::lock_guard lock(waiting_mutex_);
  waiting_.emplace_back(saved, tensor);
}

void StepLifecycle::put(SlotState& slot, const SavedTensor& saved,
                        const TensorView& tensor) {
  announce();
  sink_.save(slot, saved, tensor);
}

bool StepLifecycle::has_waiting() {
  std::lock_guard lock(waiting_mutex_);
  return !waiting_.empty();
}

void StepLifecycle::put_waiting() {
  std::vector<WaitingTensor> waiting;
  {
    std::lock_guard lock(waiting_mutex_);
    waiting.swap(waiting_);
  }
  for (const WaitingTensor& each : waiting)
    put(*slots_.slot(each.saved().name), each.saved(), each.view());
}

}  // namespace smdebug

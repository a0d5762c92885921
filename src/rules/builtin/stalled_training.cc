// StalledTrainingRule: there was no new step for a long time, so the training
// hangs.
//
// The rule uses the time of `on_tick`, from the first call on, so it also
// detects a training that hangs before its first step. Each step restarts the
// time, and so does a clock that is set back. A run that was not monitored
// while it was written cannot be judged, and the verdict reports that.
//
// `stop_training_on_fire` only marks the finding. The process that monitors the
// training stops the one that it started, so there is no other job for a prefix
// to select. `training_job_name_prefix` is accepted for scripts written for the
// cloud.

#include <algorithm>

#include <fmt/format.h>

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"

namespace smdebug {
namespace {

const ParameterSpec kStalledTrainingParameters[] = {
    {.name = "threshold",
     .type = ParameterType::real,
     .default_text = "1800",
     .description = "Seconds allowed without a new step.",
     .minimum = 0.0},
    {.name = "stop_training_on_fire",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether to end the training that 'smdebug run' started "
                    "when the rule fires."},
    {.name = "training_job_name_prefix",
     .type = ParameterType::text,
     .default_text = "",
     .description =
         "Accepted for scripts written for the cloud, where it names the job "
         "to stop; smdebug stops the training that it started."},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kStalledTrainingAdvice[] = {
    {.cause = "a data loader that hangs, a worker that waits for another, a "
              "full disk, or a lost network connection",
     .advice = "check these on the machine of the training; if the training is "
               "only slow, save more often or raise the threshold",
     .severity = Severity::fatal},
};

class StalledTraining : public Rule {
 public:
  StalledTraining(double threshold, bool stop_training)
      : threshold_(threshold), stop_training_(stop_training) {}

  // Any saved step counts; requesting losses ensures that steps are saved.
  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back({.collections = {"losses"}, .regexes = {}});
    needs.ticks = true;
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    last_step_ = step.step;
    has_new_step_ = true;
    count_judged();
    return no_finding();
  }

  Outcome on_tick(double wall_seconds) override {
    const bool is_set_back = since_ && wall_seconds < *since_;
    if (!since_ || has_new_step_ || is_set_back) {
      if (since_ && !is_set_back) {
        longest_pause_ = std::max(longest_pause_, wall_seconds - *since_);
      }
      since_ = wall_seconds;
      has_new_step_ = false;
    }
    const double pause = wall_seconds - *since_;
    // A threshold of 0 still requires a pause.
    if (pause <= 0 || pause < threshold_) return no_finding();
    return std::optional(describe(pause));
  }

  Outcome finish() override {
    if (since_ || !has_judged()) return no_finding();
    return Error{
        Error::Code::unsupported,
        fmt::format("nothing to judge: the {} steps of the run were complete "
                    "from the start, and a run does not record when they were "
                    "written; use 'smdebug run', or 'smdebug watch' while it "
                    "trains",
                    observations_judged())};
  }

 private:
  Finding describe(double pause) const {
    Finding finding;
    finding.message = fmt::format(
        "no new step for {:.4g} s {}; the threshold is {:.4g} s", pause,
        last_step_ ? "since " + step_text(*last_step_)
                   : std::string("since monitoring began, with no step before"),
        threshold_);
    if (longest_pause_ > 0) {
      finding.message += fmt::format("; the longest pause before was {:.4g} s",
                                     longest_pause_);
    }
    set_advice(finding, kStalledTrainingAdvice[0]);
    Evidence evidence;
    if (last_step_) evidence.step = *last_step_;
    evidence.quantity = "seconds without a new step";
    evidence.value = pause;
    evidence.relation = ">=";
    evidence.threshold = threshold_;
    finding.evidence.push_back(std::move(evidence));
    finding.stop_training = stop_training_;
    return finding;
  }

  double threshold_;
  bool stop_training_;
  std::optional<double> since_;  // wall seconds; none before the first tick
  bool has_new_step_ = false;    // since the last tick
  std::optional<StepId> last_step_;
  double longest_pause_ = 0;
};

Result<std::unique_ptr<Rule>> make_stalled_training(
    const Parameters& parameters) {
  return make_rule<StalledTraining>(
      parameters.real("threshold"),
      parameters.boolean("stop_training_on_fire"));
}

}  // namespace

const RuleFactory kStalledTrainingRule = {
    .name = "StalledTrainingRule",
    .summary = "There was no new step for a long time: the training hangs.",
    .condition = "Fires when 'threshold' seconds pass without a new step.",
    .advice = kStalledTrainingAdvice,
    .parameters = kStalledTrainingParameters,
    .make = make_stalled_training,
};

}  // namespace smdebug

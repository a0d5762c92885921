// Overtraining: neither the training loss nor the validation loss has improved
// for many steps, so further steps have no benefit or do harm.
//
// The documents are silent on the rest, or disagree. A loss is a new best only
// below the best so far minus `delta`, an absolute number. Both losses must
// have stopped improving, since a single one may only show the noise of small
// batches. Losses are paired by name as in Overfit; those of several workers at
// one step are averaged. NaN is not a new best. Without a validation loss
// nothing is judged, and the verdict reports that.
//
// Where series have the validation losses of all steps, the mean of each
// evaluation is one validation loss, and the mean of the training losses before
// it counts as many times as there are of them
// (rules/measures/evaluation_phases.h). They are judged worker by worker.

#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/evaluation_phases.h"
#include "rules/measures/loss_role.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

const ParameterSpec kOvertrainingParameters[] = {
    {.name = "patience_train",
     .type = ParameterType::integer,
     .default_text = "5",
     .description = "Number of saved TRAIN steps allowed without a new best "
                    "training loss.",
     .minimum = 1.0,
     .tuned_text = "20"},
    {.name = "patience_validation",
     .type = ParameterType::integer,
     .default_text = "10",
     .description = "Number of saved EVAL steps, or with series of "
                    "evaluations, allowed without a new best validation loss.",
     .minimum = 1.0},
    {.name = "delta",
     .type = ParameterType::real,
     .default_text = "0.01",
     .description = "Absolute amount by which a loss must be below the best "
                    "one to be a new best.",
     .minimum = 0.0},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kOvertrainingAdvice[] = {
    {.cause = "a training that continues after it has converged: further steps "
              "cost time without benefit",
     .advice =
         "stop and use the weights of the best validation loss; if both losses "
         "are still high, lower the learning rate or use a larger model"},
};

// The losses under one name, at one step each.
struct PairCourse {
  std::string pair;
  std::string_view unit = "saved steps";  // that `stale_steps` counts
  double best = std::numeric_limits<double>::infinity();
  StepId best_step;
  double last = 0;
  std::int64_t steps = 0;        // saved
  std::int64_t stale_steps = 0;  // of them, since `best_step`
  Evidence place;                // of the last loss

  void add(double loss, double delta, const Evidence& where,
           std::int64_t new_steps = 1) {
    place = where;
    last = loss;
    steps += new_steps;
    if (loss < best - delta) {
      best = loss;
      best_step = where.step;
      stale_steps = 0;
    } else {
      stale_steps += new_steps;
    }
  }

  Evidence evidence(std::string_view what, std::int64_t patience) const {
    Evidence evidence = place;
    evidence.quantity = fmt::format("{} without a better {} loss", unit, what);
    evidence.value = static_cast<double>(stale_steps);
    evidence.relation = ">=";
    evidence.threshold = static_cast<double>(patience);
    return evidence;
  }
};

std::string course_text(const PairCourse& course, std::string_view what) {
  const std::string best = course.best_step.global < 0
                               ? "no loss was finite"
                               : fmt::format("best: {:.4g} at {}", course.best,
                                             step_text(course.best_step));
  return fmt::format(
      "the {} loss has not improved for {} {} ({}, last: {:.4g})", what,
      course.stale_steps, course.unit, best, course.last);
}

class Overtraining : public Rule {
 public:
  explicit Overtraining(const Parameters& parameters)
      : patience_train_(parameters.integer("patience_train")),
        patience_validation_(parameters.integer("patience_validation")),
        delta_(parameters.real("delta")) {}

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back({.collections = {"losses"}, .regexes = {}});
    return needs;
  }

  void on_facts(std::string_view worker, const RunFacts& facts) override {
    phases_.add(worker, facts);
    roles_.add(facts);
  }

  Outcome on_scalars(std::string_view worker,
                     std::span<const ScalarSeriesView> series) override {
    return judge(phases_.add(worker, series));
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    SMD_CHECK_OK(add(step));
    for (const auto& [name, validation] : validation_) {
      const auto training = training_.find(validation.pair);
      const bool is_of_step = validation.place.step == step.step ||
                              (training != training_.end() &&
                               training->second.place.step == step.step);
      if (!is_of_step || training == training_.end()) continue;
      judge(training->second, validation, finding);
    }
    return finding;
  }

  Outcome finish() override {
    auto finding = judge(phases_.finish());
    const bool saw_nothing = training_.empty() && validation_.empty();
    if (finding || saw_nothing) return finding;
    if (observations_judged() > 0) {
      return fail_if_too_few(longest_validation(), "evaluated step",
                             patience_validation_ + 1);
    }
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: there were {0} losses, but no "
                             "{1} losses of the same name; save the losses of "
                             "{1} steps too",
                             training_.empty() ? "validation" : "training",
                             training_.empty() ? "training" : "validation")};
  }

  std::uint64_t observations_judged() const override {
    if (!of_series_.empty()) return seen_;
    for (const auto& [name, validation] : validation_) {
      if (training_.contains(validation.pair)) return seen_;
    }
    return 0;
  }

 private:
  // The number of losses, in which the patience must be able to run out.
  std::int64_t longest_validation() const {
    std::int64_t longest = 0;
    for (const auto& [key, all] : of_series_) {
      longest = std::max<std::int64_t>(longest, all.validation.steps);
    }
    for (const auto& [name, validation] : validation_) {
      longest = std::max<std::int64_t>(longest, validation.steps);
    }
    return longest;
  }

  struct StepLoss {
    std::string pair;
    RunningMean mean;
    Evidence place;
  };

  // The losses by one series, one for each evaluation.
  struct Evaluations {
    PairCourse training{.unit = "steps"};
    PairCourse validation{.unit = "evaluations"};
  };

  std::optional<Finding> judge(const EvaluationPhases::Ended& ended) {
    std::optional<Finding> finding;
    std::optional<Finding> later;  // however many arrive at once
    Step step = -1;
    for (const Evaluation& one : ended) {
      if (!one.is_of_series || one.training.count == 0) continue;
      Evaluations& all = of_series_[one.key];
      seen_ += one.training.count + one.validation.count;
      all.training.add(one.training.mean, delta_, one.last,
                       static_cast<std::int64_t>(one.training.count));
      all.validation.add(one.validation.mean, delta_, one.last);
      const bool is_later = finding && one.last.step.global != step;
      if (!is_later) step = one.last.step.global;
      judge(all.training, all.validation, is_later ? later : finding);
    }
    return finding;
  }

  Status add(const RuleStep& step) {
    std::ignore = phases_.begin_step(step.step);
    std::map<std::string, StepLoss> training, validation;
    for (const Observation* tensor : step.by_selector(0)) {
      auto role = roles_.of(tensor->name, step.step.mode);
      if (!role) continue;
      SMD_TRY(const auto loss, quantity(*tensor, {Reduction::mean}));
      if (!loss) continue;
      ++seen_;
      if (std::isfinite(*loss)) phases_.add(*tensor, step.step, *loss, *role);
      if (role->part == LossRole::Part::validation &&
          phases_.expects_series(tensor->worker, tensor->name)) {
        validation_.erase(std::string(tensor->name));
        continue;
      }
      StepLoss& of_step = role->part == LossRole::Part::training
                              ? training[role->pair]
                              : validation[std::string(tensor->name)];
      if (of_step.mean.count == 0) {
        of_step.place = evidence_of(*tensor, step.step);
      }
      of_step.pair = std::move(role->pair);
      of_step.mean.add(*loss);
    }
    add(training, training_);
    add(validation, validation_);
    return {};
  }

  void add(const std::map<std::string, StepLoss>& losses,
           std::map<std::string, PairCourse>& courses) const {
    for (const auto& [name, loss] : losses) {
      PairCourse& course = courses[name];
      course.pair = loss.pair;
      course.add(loss.mean.mean, delta_, loss.place);
    }
  }

  void judge(const PairCourse& training, const PairCourse& validation,
             std::optional<Finding>& finding) const {
    if (training.stale_steps < patience_train_ ||
        validation.stale_steps < patience_validation_) {
      return;
    }
    if (!finding) {
      finding.emplace();
      finding->message = fmt::format("{}: {}, and {}", validation.place.tensor,
                                     course_text(validation, "validation"),
                                     course_text(training, "training"));
      set_advice(*finding, kOvertrainingAdvice[0]);
    }
    finding->evidence.push_back(
        validation.evidence("validation", patience_validation_));
    finding->evidence.push_back(training.evidence("training", patience_train_));
  }

  std::int64_t patience_train_;
  std::int64_t patience_validation_;
  double delta_;
  std::map<std::string, PairCourse> training_;    // by pair
  std::map<std::string, PairCourse> validation_;  // by tensor name
  EvaluationPhases phases_;
  LossRoles roles_;
  std::map<std::string, Evaluations> of_series_;  // by `Evaluation::key`
  std::uint64_t seen_ = 0;
};

}  // namespace

const RuleFactory kOvertraining = {
    .name = "Overtraining",
    .summary =
        "Neither the training loss nor the validation loss improves anymore, "
        "so further steps have no benefit.",
    .condition =
        "Fires when 'patience_train' saved TRAIN steps and "
        "'patience_validation' saved EVAL steps have passed without a loss "
        "below the best one minus 'delta'. With series of all losses, the mean "
        "of each evaluation is one validation loss.",
    .advice = kOvertrainingAdvice,
    .parameters = kOvertrainingParameters,
    .make = make_rule<Overtraining>,
};

}  // namespace smdebug

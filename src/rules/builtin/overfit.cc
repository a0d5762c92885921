// Overfit: the validation loss is so much higher than the training loss that
// the model memorizes its training set.
//
//   (validation - training) / training > ratio_threshold, patience times
//
// An evaluation is the longest run of saved EVAL steps. It ends with the next
// TRAIN step or with the run. The mean of its losses is compared with the mean
// of the TRAIN losses saved since the evaluation before.
//
// The documents leave the rest open. Losses are paired by name, and those of
// all workers are averaged. Without modes, XGBoost's `train-x` is compared with
// `validation-x`, `eval-x` or `test-x` of the same step. Losses that are not
// finite are ignored. A mean training loss of zero or below has no ratio, so
// that evaluation is not judged. `start_step` delays the rule but not its
// losses: evaluations before it count toward `patience`.
//
// `pass_new_best` is an addition. A large ratio beside a validation loss that
// still falls means that the training loss approaches 0, not that the model
// gets worse.

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/loss_role.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

const ParameterSpec kParameters[] = {
    {.name = "tensor_regex",
     .type = ParameterType::text_list,
     .default_text = "",
     .description =
         "Patterns of the names of losses; default: the collection 'losses'."},
    {.name = "start_step",
     .type = ParameterType::integer,
     .default_text = "0",
     .description = "The rule does not fire before this step.",
     .minimum = 0.0},
    {.name = "patience",
     .type = ParameterType::integer,
     .default_text = "1",
     .description = "Number of consecutive evaluations above the ratio after "
                    "which the rule fires.",
     .minimum = 1.0,
     .tuned_text = "4"},
    {.name = "ratio_threshold",
     .type = ParameterType::real,
     .default_text = "0.1",
     .description = "Largest allowed excess of the mean validation loss over "
                    "the mean training loss, relative to the latter.",
     .minimum = 0.0,
     .tuned_text = "5"},
    {.name = "pass_new_best",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether an evaluation with the lowest mean validation "
                    "loss so far passes, whatever its ratio.",
     .tuned_text = "true"},
    kEndStep,
    kPreset,
};

const Advice kAdvice[] = {
    {.cause = "a model that memorizes its training set; a gap from the first "
              "evaluation on means that the two sets differ",
     .advice =
         "stop and use the weights of the best evaluation, or train with more "
         "or augmented data, dropout, weight decay or a smaller model",
     .severity = Severity::advice},
};

// The validation losses under one name.
struct Validation {
  std::string pair;  // of the training losses that they are compared with
  RunningMean phase;
  Evidence last;                 // place of the last loss of the phase
  std::int64_t exceeded = 0;     // evaluations in a row
  StepId exceeded_since;         // the first of them
  std::optional<double> before;  // the ratio of the evaluation before
  std::optional<double> best;    // the lowest mean of an evaluation
};

std::string percent_text(double ratio) {
  return fmt::format("{:.3g} %", 100 * ratio);
}

class Overfit : public Rule {
 public:
  explicit Overfit(const Parameters& parameters)
      : start_step_(parameters.integer("start_step")),
        patience_(parameters.integer("patience")),
        ratio_threshold_(parameters.real("ratio_threshold")),
        passes_new_best_(parameters.boolean("pass_new_best")) {
    selector_.regexes = parameters.text_list("tensor_regex");
    if (selector_.regexes.empty()) selector_.collections = {"losses"};
  }

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selector_);
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    if (step.step.mode == Mode::train) finding = close_phases();
    SMD_CHECK_OK(add(step));
    // Without modes, the two losses of a step belong together.
    if (step.step.mode == Mode::global) finding = close_phases();
    return finding;
  }

  Outcome finish() override {
    auto finding = close_phases();
    if (finding || has_judged() || (!saw_training_ && validations_.empty())) {
      return finding;
    }
    return Error{
        validations_.empty() ? Error::Code::unsupported
                             : Error::Code::not_found,
        fmt::format("nothing to judge: {}; save the losses in both modes",
                    validations_.empty()
                        ? "there were training losses, but no loss of an EVAL "
                          "step and none named like 'validation-logloss'"
                        : "there were validation losses, but no training loss "
                          "of the same name before them with a mean above 0")};
  }

 private:
  Status add(const RuleStep& step) {
    for (const Observation* tensor : step.by_selector(0)) {
      auto role = role_of_loss(tensor->name, step.step.mode);
      if (!role) continue;
      SMD_TRY(const auto loss, quantity(*tensor, {Reduction::mean}));
      if (!loss || !std::isfinite(*loss)) continue;
      if (role->part == LossRole::Part::training) {
        training_[role->pair].add(*loss);
        saw_training_ = true;
        continue;
      }
      Validation& validation = validations_[std::string(tensor->name)];
      validation.last = evidence_of(*tensor, step.step);
      validation.phase.add(*loss);
      validation.pair = std::move(role->pair);
    }
    for (auto& [name, validation] : validations_) {
      const auto training = training_.find(validation.pair);
      if (validation.last.step == step.step && training != training_.end() &&
          training->second.mean > 0) {
        count_judged();
      }
    }
    return {};
  }

  std::optional<Finding> close_phases() {
    std::optional<Finding> finding;
    bool has_closed = false;
    for (auto& [name, validation] : validations_) {
      if (validation.phase.count == 0) continue;
      has_closed = true;
      judge(validation, finding);
      validation.phase = {};
    }
    if (has_closed) training_.clear();
    if (finding) {
      std::ranges::stable_sort(finding->evidence, std::ranges::greater(),
                               &Evidence::value);
    }
    return finding;
  }

  void judge(Validation& validation, std::optional<Finding>& finding) {
    const auto training = training_.find(validation.pair);
    if (training == training_.end() || training->second.mean <= 0) return;
    const double mean = validation.phase.mean;
    const double ratio = (mean - training->second.mean) / training->second.mean;
    const bool is_new_best = !validation.best || mean < *validation.best;
    if (is_new_best) validation.best = mean;
    if (ratio > ratio_threshold_ && !(passes_new_best_ && is_new_best)) {
      if (++validation.exceeded == 1) {
        validation.exceeded_since = validation.last.step;
      }
    } else {
      validation.exceeded = 0;
    }
    const auto before = std::exchange(validation.before, ratio);
    if (validation.exceeded < patience_ ||
        validation.last.step.global < start_step_) {
      return;
    }
    Evidence evidence = validation.last;
    evidence.quantity = "validation loss above training loss, as a ratio";
    evidence.value = ratio;
    evidence.relation = ">";
    evidence.threshold = ratio_threshold_;
    if (!finding) finding.emplace();
    const bool is_worst = std::ranges::none_of(
        finding->evidence,
        [&](const Evidence& other) { return other.value >= ratio; });
    finding->evidence.push_back(std::move(evidence));
    if (is_worst) describe(validation, training->second.mean, before, *finding);
  }

  void describe(const Validation& validation, double training_mean,
                std::optional<double> before, Finding& finding) const {
    finding.message = fmt::format(
        "{}: the mean validation loss {:.4g} up to {} is {} above the mean "
        "training loss {:.4g} (allowed: up to {})",
        validation.last.tensor, validation.phase.mean,
        step_text(validation.last.step), percent_text(*validation.before),
        training_mean, percent_text(ratio_threshold_));
    if (validation.exceeded > 1) {
      finding.message +=
          fmt::format(", as at {} evaluations since {}", validation.exceeded,
                      step_text(validation.exceeded_since));
    }
    if (passes_new_best_) {
      finding.message +=
          fmt::format("; the lowest so far was {:.4g}", *validation.best);
    }
    if (before) {
      finding.message +=
          fmt::format("; the evaluation before had {}", percent_text(*before));
    }
    set_advice(finding, kAdvice[0]);
  }

  Step start_step_;
  std::int64_t patience_;
  double ratio_threshold_;
  bool passes_new_best_;
  TensorSelector selector_;
  std::map<std::string, RunningMean> training_;  // since the last evaluation
  std::map<std::string, Validation> validations_;
  bool saw_training_ = false;
};

}  // namespace

const RuleFactory kOverfit = {
    .name = "Overfit",
    .summary =
        "The validation loss is much higher than the training loss: the model "
        "memorizes its training set.",
    .condition =
        "Fires if (mean validation loss - mean training loss) / mean training "
        "loss > 'ratio_threshold' for 'patience' evaluations in a row. With "
        "'pass_new_best', evaluations with the lowest validation loss so far "
        "do not count.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make_rule<Overfit>,
    .has_own_start_step = true,
};

}  // namespace smdebug

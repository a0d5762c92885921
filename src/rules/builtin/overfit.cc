// Overfit: the validation loss is so much higher than the training loss that
// the model memorizes its training set.
//
//   (validation - training) / training > ratio_threshold, patience times
//
// The mean of the losses of an evaluation is compared with the mean of the
// TRAIN losses since the evaluation before
// (rules/measures/evaluation_phases.h).
//
// The documents leave the rest open. Losses are paired by name, and those of
// all workers are averaged, but series are judged worker by worker. Without
// modes, XGBoost's `train-x` is compared with `validation-x`, `eval-x`,
// `test-x` or a like name (rules/measures/loss_role.h) of the same step. Losses
// that are not finite are ignored, and so are XGBoost's error rates beside a
// loss: a few wrong decisions are many times none. A mean training loss of zero
// or below has no ratio, so that evaluation is not judged. `start_step` delays
// the rule but not its losses: evaluations before it count toward `patience`.
// With `tensor_regex` only saved losses are judged.
//
// `pass_new_best` and `rise_threshold` are additions. A large ratio beside a
// validation loss that still falls means that the training loss approaches 0,
// not that the model gets worse. A validation loss that rises shows that it
// does, at a smaller ratio.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

const ParameterSpec kOverfitParameters[] = {
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
    {.name = "rise_threshold",
     .type = ParameterType::real,
     .default_text = "0",
     .description = "Rise of the mean validation loss above the lowest so far, "
                    "relative to the latter, from which on an evaluation "
                    "counts if that loss is also twice the mean training loss; "
                    "0: only the ratio counts.",
     .minimum = 0.0,
     .tuned_text = "0.25"},
    {.name = "pass_new_best",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether an evaluation with the lowest mean validation "
                    "loss so far passes, whatever its ratio.",
     .tuned_text = "true"},
    kEndStep,
    kPreset,
};

const Advice kOverfitAdvice[] = {
    {.cause = "a model that memorizes its training set; a gap from the first "
              "evaluation on means that the two sets differ",
     .advice =
         "stop and use the weights of the best evaluation, or train with more "
         "or augmented data, dropout, weight decay or a smaller model",
     .severity = Severity::advice},
};

// The evaluations by one validation loss.
struct OverfitCourse {
  std::int64_t evaluations = 0;
  std::int64_t exceeded = 0;     // evaluations in a row
  StepId exceeded_since;         // the first of them
  std::optional<double> before;  // the ratio of the evaluation before
  std::optional<double> best;    // the lowest mean of an evaluation
};

// The ratio that an evaluation with a higher validation loss must have:
// otherwise both losses may only be noise.
constexpr double kRatioOfRise = 1;

// An excess from which on percents are hard to read.
constexpr double kManyTimes = 10;

std::string ratio_text(double ratio) {
  return fmt::format("{:.3g} %", 100 * ratio);
}

// "50 % above", "57 times".
std::string excess_text(double ratio) {
  return ratio < kManyTimes ? ratio_text(ratio) + " above"
                            : fmt::format("{:.0f} times", 1 + ratio);
}

bool is_error_rate_in_xgboost(std::string_view name) {
  const auto role = role_in_xgboost(name);
  return role && is_error_rate(role->pair);
}

// Whether XGBoost reports a loss of this worker in the step.
bool has_loss_beside(const RuleStep& step, std::string_view worker) {
  return std::ranges::any_of(
      step.by_selector(0), [&](const Observation* tensor) {
        return tensor->worker == worker && role_in_xgboost(tensor->name) &&
               !is_error_rate_in_xgboost(tensor->name);
      });
}

class Overfit : public Rule {
 public:
  explicit Overfit(const Parameters& parameters)
      : start_step_(parameters.integer("start_step")),
        patience_(parameters.integer("patience")),
        ratio_threshold_(parameters.real("ratio_threshold")),
        rise_threshold_(parameters.real("rise_threshold")),
        passes_new_best_(parameters.boolean("pass_new_best")) {
    selector_.regexes = parameters.text_list("tensor_regex");
    if (selector_.regexes.empty()) selector_.collections = {"losses"};
  }

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selector_);
    return needs;
  }

  void on_facts(std::string_view worker, const RunFacts& facts) override {
    phases_.add(worker, facts);
    roles_.add(facts);
  }

  Outcome on_scalars(std::string_view worker,
                     std::span<const ScalarSeriesView> series) override {
    if (!selector_.regexes.empty()) return no_finding();
    const auto ended = phases_.add(worker, series);
    for (const Evaluation& one : ended) {
      if (one.training.mean > 0) count_judged(one.validation.count);
    }
    return judge(ended);
  }

  Outcome on_step(const RuleStep& step) override {
    auto finding = judge(phases_.begin_step(step.step));
    SMD_CHECK_OK(add(step));
    auto more = judge(phases_.end_step(step.step));
    return finding ? std::move(finding) : std::move(more);
  }

  Outcome finish() override {
    auto finding = judge(phases_.finish());
    const bool has_validation = phases_.has_validation();
    if (finding || (!phases_.has_training() && !has_validation)) return finding;
    if (has_judged()) {
      return fail_if_too_few(most_evaluations(), "evaluation", patience_);
    }
    return Error{
        has_validation ? Error::Code::not_found : Error::Code::unsupported,
        fmt::format("nothing to judge: {}; save the losses in both modes",
                    has_validation
                        ? "there were validation losses, but no training loss "
                          "of the same name before them with a mean above 0"
                        : "there were training losses, but no loss of an EVAL "
                          "step and none named like 'validation-logloss'")};
  }

 private:
  bool is_left_out(const Observation& tensor, const RuleStep& step) const {
    return selector_.regexes.empty() && is_error_rate_in_xgboost(tensor.name) &&
           has_loss_beside(step, tensor.worker);
  }

  Status add(const RuleStep& step) {
    std::set<std::string_view> judged;  // a tensor counts once
    for (const Observation* tensor : step.by_selector(0)) {
      const auto role = roles_.of(tensor->name, step.step.mode);
      if (!role || is_left_out(*tensor, step)) continue;
      SMD_TRY(const auto loss, quantity(*tensor, {Reduction::mean}));
      if (!loss || !std::isfinite(*loss)) continue;
      if (phases_.add(*tensor, step.step, *loss, *role)) {
        judged.insert(tensor->name);
      }
    }
    if (!judged.empty()) count_judged(judged.size());
    return {};
  }

  std::optional<Finding> judge(const EvaluationPhases::Ended& ended) {
    std::optional<Finding> finding;
    std::optional<Finding> later;  // however many arrive at once
    Step step = -1;
    for (const Evaluation& one : ended) {
      const bool is_later =
          finding && one.is_of_series && one.last.step.global != step;
      if (!is_later) step = one.last.step.global;
      judge(one, is_later ? later : finding);
    }
    if (finding) {
      std::ranges::stable_sort(finding->evidence, std::ranges::greater(),
                               &Evidence::value);
    }
    return finding;
  }

  std::int64_t most_evaluations() const {
    std::int64_t most = 0;
    for (const auto& [key, course] : courses_) {
      most = std::max(most, course.evaluations);
    }
    return most;
  }

  void judge(const Evaluation& one, std::optional<Finding>& finding) {
    if (one.training.mean <= 0) return;
    const double mean = one.validation.mean;
    const double ratio = (mean - one.training.mean) / one.training.mean;
    OverfitCourse& course = courses_[one.key];
    ++course.evaluations;
    const bool is_new_best = !course.best || mean < *course.best;
    if (is_new_best) course.best = mean;
    const bool is_high = ratio > ratio_threshold_;
    const double rise = (mean - *course.best) / *course.best;
    const bool has_risen = rise_threshold_ > 0 && *course.best > 0 &&
                           rise > rise_threshold_ && ratio > kRatioOfRise;
    const bool passes = passes_new_best_ && is_new_best;
    if ((is_high || has_risen) && !passes) {
      if (++course.exceeded == 1) course.exceeded_since = one.last.step;
    } else {
      course.exceeded = 0;
    }
    const auto before = std::exchange(course.before, ratio);
    if (course.exceeded < patience_ || one.last.step.global < start_step_) {
      return;
    }
    Evidence evidence = one.last;
    evidence.quantity = is_high
                            ? "validation loss above training loss, as a ratio"
                            : "validation loss above the lowest, as a ratio";
    evidence.value = is_high ? ratio : rise;
    evidence.relation = ">";
    evidence.threshold = is_high ? ratio_threshold_ : rise_threshold_;
    if (!finding) finding.emplace();
    const bool is_worst = std::ranges::none_of(
        finding->evidence,
        [&](const Evidence& other) { return other.value >= evidence.value; });
    finding->evidence.push_back(std::move(evidence));
    if (is_worst) {
      describe(one, course, is_high ? std::nullopt : std::optional(rise),
               before, *finding);
    }
  }

  // `rise`: that of the validation loss; none: its ratio is too high.
  void describe(const Evaluation& one, const OverfitCourse& course,
                std::optional<double> rise, std::optional<double> before,
                Finding& finding) const {
    finding.message = fmt::format(
        "{}: the mean validation loss {:.4g} up to {} is ", one.last.tensor,
        one.validation.mean, step_text(one.last.step));
    if (rise) {
      finding.message +=
          fmt::format("{} the lowest so far (allowed: up to {}) and ",
                      excess_text(*rise), ratio_text(rise_threshold_));
    }
    finding.message +=
        fmt::format("{} the mean training loss {:.4g}",
                    excess_text(*course.before), one.training.mean);
    if (!rise) {
      finding.message +=
          fmt::format(" (allowed: up to {})", ratio_text(ratio_threshold_));
    }
    if (course.exceeded > 1) {
      finding.message +=
          fmt::format(", as at {} evaluations since {}", course.exceeded,
                      step_text(course.exceeded_since));
    }
    if (passes_new_best_) {
      finding.message +=
          fmt::format("; the lowest so far was {:.4g}", *course.best);
    }
    if (before) {
      finding.message +=
          fmt::format("; the evaluation before had {}",
                      *before < kManyTimes ? ratio_text(*before)
                                           : excess_text(*before) + " as much");
    }
    set_advice(finding, kOverfitAdvice[0]);
  }

  Step start_step_;
  std::int64_t patience_;
  double ratio_threshold_, rise_threshold_;
  bool passes_new_best_;
  TensorSelector selector_;
  EvaluationPhases phases_;
  LossRoles roles_;
  std::map<std::string, OverfitCourse> courses_;  // by `Evaluation::key`
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
        "'rise_threshold', evaluations count as well whose validation loss is "
        "twice the training loss and has risen that much above the lowest so "
        "far. With 'pass_new_best', evaluations with the lowest validation "
        "loss so far do not count.",
    .advice = kOverfitAdvice,
    .parameters = kOverfitParameters,
    .make = make_rule<Overfit>,
    .has_own_start_step = true,
};

}  // namespace smdebug

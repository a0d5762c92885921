// LossNotDecreasing: a loss is not lower than it was some steps before.
//
// Every `num_steps` steps the rule compares the loss with the newest saved one
// that is at least `num_steps` older. If the loss is saved every 3 steps and
// num_steps is 10, step 21 is compared with step 9, and the next comparison is
// at step 33.
//
// The documents are silent on the rest, or disagree. Each tensor of each worker
// is a loss by itself. A lower loss fires if it fell by less than
// `diff_percent`. A higher one fires if it rose by more than
// `increase_threshold_percent`. So a constant loss fires and a slightly higher
// one does not; `strict` makes both fire. A loss of NaN or infinity fires at
// once. Without `mode`, the rule judges TRAIN steps and those of a run without
// modes. The losses of one evaluation belong to one model and need not fall.
//
// With `trend`, loss_trend_rule.cc judges instead.

#include <cmath>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_view.h"

#include "rules/builtin/builtin.h"
#include "rules/builtin/loss_findings.h"
#include "rules/builtin/loss_trend_rule.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

// "3.9", "389".
std::string percent_text(double percent) {
  return percent < 100 ? fmt::format("{:.2g}", percent)
                       : fmt::format("{:.0f}", percent);
}

const ParameterSpec kLossNotDecreasingParameters[] = {
    {.name = "collection_names",
     .type = ParameterType::text_list,
     .default_text = "",
     .description = "Collections of losses, in addition to 'losses'."},
    {.name = "tensor_regex",
     .type = ParameterType::text_list,
     .default_text = "",
     .description = "Patterns of the names of losses."},
    {.name = "use_losses_collection",
     .type = ParameterType::boolean,
     .default_text = "true",
     .description = "Whether to judge the collection 'losses'."},
    {.name = "num_steps",
     .type = ParameterType::integer,
     .default_text = "10",
     .description = "Distance in steps between two losses that are compared.",
     .minimum = 1.0},
    {.name = "diff_percent",
     .type = ParameterType::real,
     .default_text = "0.1",
     .description =
         "A loss that fell by less than this percentage has not decreased.",
     .minimum = 0.0,
     .maximum = 100.0},
    {.name = "increase_threshold_percent",
     .type = ParameterType::real,
     .default_text = "5",
     .description = "A loss may rise by up to this percentage.",
     .minimum = 0.0,
     .maximum = 100.0},
    {.name = "mode",
     .type = ParameterType::text,
     .default_text = "",
     .description = "The mode whose steps are judged and counted; default: "
                    "TRAIN, or all steps of a run without modes.",
     .choices = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"}},
    {.name = "strict",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether any increase of a loss counts as not decreasing."},
    {.name = "average",
     .type = ParameterType::integer,
     .default_text = "1",
     .description =
         "Number of saved losses up to a step that are averaged before the "
         "comparison, to reduce the noise of small batches.",
     .minimum = 1.0,
     .maximum = 10000.0},
    {.name = "use_mean",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description = "Whether a loss with several elements is judged by its "
                    "mean; otherwise it is skipped.",
     .tuned_text = "true"},
    {.name = "trend",
     .type = ParameterType::boolean,
     .default_text = "false",
     .description =
         "Whether to judge the course of all losses together with their noise. "
         "'num_steps', 'diff_percent', 'increase_threshold_percent', 'strict' "
         "and 'average' then do not apply; if one of them is given, 'trend' is "
         "false in each preset.",
     .tuned_text = "true"},
    kStartStep,
    kEndStep,
    kPreset,
};

struct Thresholds {
  double fall_percent = 0.1;
  double rise_percent = 5;
  bool strict = false;

  // Whether a loss that went from `before` to `now` has not decreased.
  bool is_met(double before, double now) const {
    if (before == 0) return now >= 0;
    const double fallen = 100 * (before - now) / std::abs(before);
    if (fallen >= 0 || strict) return fallen < fall_percent;
    return -fallen > rise_percent;
  }
};

struct Loss {
  Step step = 0;
  double value = 0;
};

// The saved losses of one tensor from one worker, as far back as they are
// still needed.
class LossSeries {
 public:
  struct Comparison {
    Loss before, now;
  };

  LossSeries(Step num_steps, std::size_t average)
      : num_steps_(num_steps), average_(average) {}

  bool has(Step step) const {
    return !saved_.empty() && saved_.back().step >= step;
  }

  // The steps from the oldest kept loss to the newest.
  Step span() const {
    return saved_.empty() ? 0 : saved_.back().step - saved_.front().step;
  }

  // Adds a loss; returns what is to be compared now, if anything.
  std::optional<Comparison> add(Loss loss) {
    recent_.push_back(loss.value);
    if (recent_.size() > average_) recent_.pop_front();
    loss.value = recent_mean();
    saved_.push_back(loss);
    // Keep only the newest loss that is old enough to compare with.
    while (saved_.size() > 1 && saved_[1].step <= loss.step - num_steps_) {
      saved_.pop_front();
    }
    const bool is_due = !last_check_ || loss.step >= *last_check_ + num_steps_;
    if (!is_due || saved_.front().step > loss.step - num_steps_) {
      return std::nullopt;
    }
    last_check_ = loss.step;
    return Comparison{saved_.front(), loss};
  }

 private:
  // The mean of equal losses must be exactly that loss: a constant loss must
  // not seem to rise because of rounding.
  double recent_mean() const {
    const double first = std::isfinite(recent_.front()) ? recent_.front() : 0;
    double deviation = 0;
    for (const double loss : recent_) deviation += loss - first;
    return first + deviation / static_cast<double>(recent_.size());
  }

  Step num_steps_;
  std::size_t average_;
  std::optional<Step> last_check_;
  std::deque<Loss> saved_;
  std::deque<double> recent_;  // before averaging
};

TensorSelector selected_losses(const Parameters& parameters) {
  TensorSelector selector = selected_tensors(parameters);
  if (parameters.boolean("use_losses_collection")) {
    selector.collections.push_back("losses");
  }
  return selector;
}

class LossNotDecreasing : public Rule {
 public:
  explicit LossNotDecreasing(const Parameters& parameters)
      : num_steps_(parameters.integer("num_steps")),
        average_(static_cast<std::size_t>(parameters.integer("average"))),
        use_mean_(parameters.boolean("use_mean")),
        mode_(find_mode(parameters.text("mode"))),
        selector_(selected_losses(parameters)) {
    thresholds_.fall_percent = parameters.real("diff_percent");
    thresholds_.rise_percent = parameters.real("increase_threshold_percent");
    thresholds_.strict = parameters.boolean("strict");
  }

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selector_);
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    const auto counted = counted_step(step.step, mode_);
    if (!counted) return finding;
    for (const Observation* tensor : step.by_selector(0)) {
      if (!use_mean_ && !is_scalar(*tensor)) continue;
      SMD_TRY(const auto value, quantity(*tensor, {Reduction::mean}));
      if (!value) continue;
      LossSeries& losses = series_of(*tensor);
      if (losses.has(*counted)) continue;
      count_judged();
      if (auto found = judge(*tensor, losses, {*counted, *value}, step.step)) {
        merge(finding, *std::move(found));
      }
    }
    return finding;
  }

  // Without two losses to compare, no trend could have been found, so "nothing
  // found" would be wrong.
  Outcome finish() override {
    if (has_compared_ || !has_judged()) return no_finding();
    Step longest = 0;
    for (const auto& [name, losses] : series_) {
      longest = std::max(longest, losses.span());
    }
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: the saved losses span {} "
                             "steps, and the rule compares losses that are {} "
                             "steps apart (parameter 'num_steps')",
                             longest, num_steps_)};
  }

 private:
  static bool is_scalar(const Observation& tensor) {
    return element_count(tensor.shape) == 1;
  }

  LossSeries& series_of(const Observation& tensor) {
    auto key = std::pair(std::string(tensor.name), std::string(tensor.worker));
    return series_.try_emplace(std::move(key), num_steps_, average_)
        .first->second;
  }

  std::optional<Finding> judge(const Observation& tensor, LossSeries& losses,
                               Loss loss, const StepId& step) {
    Finding finding;
    Evidence evidence = evidence_of(tensor, step);
    if (!std::isfinite(loss.value)) {
      return not_finite_finding(std::move(evidence), loss.value);
    }
    const auto compared = losses.add(loss);
    has_compared_ |= compared.has_value();
    if (!compared ||
        !thresholds_.is_met(compared->before.value, compared->now.value)) {
      return std::nullopt;
    }
    describe(*compared, step, finding, evidence);
    finding.evidence.push_back(std::move(evidence));
    return finding;
  }

  void describe(const LossSeries::Comparison& compared, const StepId& step,
                Finding& finding, Evidence& evidence) const {
    const auto& [before, now] = compared;
    const double change = before.value == 0 ? 0
                                            : 100 * (now.value - before.value) /
                                                  std::abs(before.value);
    const bool rose = now.value > before.value;
    finding.message = fmt::format(
        "{}: the {}loss {:.4g} at {} {} {:.4g} {} steps before",
        tensor_text(evidence.tensor, evidence.worker),
        average_ > 1 ? "average " : "", now.value, step_text(step),
        rose ? fmt::format("is {} % above", percent_text(change))
             : fmt::format("is only {} % below", percent_text(-change)),
        before.value, now.step - before.step);
    set_advice(finding,
               advice_on(rose ? LossFault::rose : LossFault::unchanged));
    evidence.quantity = rose ? "increase of the loss in percent"
                             : "decrease of the loss in percent";
    evidence.value = std::abs(change);
    evidence.relation = rose ? ">" : "<";
    evidence.threshold = rose && !thresholds_.strict ? thresholds_.rise_percent
                         : rose                      ? 0
                                                     : thresholds_.fall_percent;
  }

  Step num_steps_;
  std::size_t average_;
  bool use_mean_;
  std::optional<Mode> mode_;
  Thresholds thresholds_;
  TensorSelector selector_;
  bool has_compared_ = false;
  std::map<std::pair<std::string, std::string>, LossSeries> series_;
};

// Whether the trend is judged. A user who gives a parameter of the comparison
// wants the comparison, whatever the preset.
Result<bool> judges_trend(const Parameters& parameters) {
  if (!parameters.boolean("trend")) return false;
  for (const char* name : {"num_steps", "diff_percent",
                           "increase_threshold_percent", "strict", "average"}) {
    if (!parameters.is_given(name)) continue;
    if (!parameters.is_given("trend")) return false;
    return Error{Error::Code::invalid_config,
                 fmt::format("rule LossNotDecreasing: parameter '{}' does not "
                             "apply if 'trend' is true; give only one of them",
                             name)};
  }
  return true;
}

Result<std::unique_ptr<Rule>> make_loss_not_decreasing(
    const Parameters& parameters) {
  if (!parameters.boolean("use_losses_collection") &&
      parameters.text_list("collection_names").empty() &&
      parameters.text_list("tensor_regex").empty()) {
    return Error{
        Error::Code::invalid_config,
        "rule LossNotDecreasing: no loss to judge: use_losses_collection is "
        "false, and neither collection_names nor tensor_regex is given"};
  }
  SMD_TRY(const bool trend, judges_trend(parameters));
  if (trend) {
    return make_loss_trend_rule(
        {.tensors = selected_losses(parameters),
         .use_series = parameters.boolean("use_losses_collection"),
         .use_mean = parameters.boolean("use_mean"),
         .mode = find_mode(parameters.text("mode"))});
  }
  return make_rule<LossNotDecreasing>(parameters);
}

}  // namespace

const RuleFactory kLossNotDecreasing = {
    .name = "LossNotDecreasing",
    .summary = "A loss is not lower than some steps ago.",
    .condition =
        "Every 'num_steps' steps, compares the loss with the newest saved one "
        "that is at least 'num_steps' steps older. Fires when it fell by less "
        "than 'diff_percent', or rose by more than "
        "'increase_threshold_percent'. With 'trend', compares the first losses "
        "with the newest after 40 steps, 60, 90 and so on, and fires for a "
        "loss that is constant, that did not fall although a fall of 5 % would "
        "have been seen, that leapt and stayed up, oscillates, rises or "
        "diverges, that "
        "fell and is as high again as it began, or that falls ever faster "
        "until it is 1000 times further below zero than it began from it. If "
        "the only loss is a cross "
        "entropy whose classes are known, one that is below that of a guess "
        "may stay where it is, and one that fell to that of a guess and falls "
        "no more fires after 200 losses. Fires at once if the loss is not "
        "finite. Fires at the end if the loss of a training of XGBoost hardly "
        "falls because of a learning rate that is too low for the rounds, and "
        "if a loss after 100 steps or more is above twice that of a constant "
        "prediction, or that of a guess while dropout drops 70 % of the units "
        "or more.",
    .advice = loss_advice(),
    .parameters = kLossNotDecreasingParameters,
    .make = make_loss_not_decreasing,
};

}  // namespace smdebug

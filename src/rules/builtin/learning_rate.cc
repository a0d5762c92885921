// LearningRate: the learning rate does not fit the weights that it updates.
//
// The size of the updates is estimated from the kind and the settings of the
// optimizer and the statistics of the gradients (update_size.h). The loss then
// shows whether that size harms: large updates may be what a training needs,
// and small ones are enough for a model that was trained before. So the rule
// judges a training whose weights look as if they were initialized at random.
// The original has no such rule.
//
// It does not see gradients that are multiplied by a loss scale, and does not
// judge an optimizer that it does not know, adversarial losses and
// reinforcement learning. LossNotDecreasing judges only the loss.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/builtin/rate_faults.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/update_history.h"

namespace smdebug {
namespace {

const ParameterSpec kLearningRateParameters[] = {
    {.name = "num_updates",
     .type = ParameterType::integer,
     .default_text = "100",
     .description = "Number of updates after which small updates and a "
                    "learning rate that has decayed are judged.",
     .minimum = 40.0},
    {.name = "small_ratio",
     .type = ParameterType::real,
     .default_text = "5e-4",
     .description = "An update is small if its estimated size, as a share of "
                    "the weights, is below this.",
     .minimum = 0.0},
    {.name = "large_ratio",
     .type = ParameterType::real,
     .default_text = "1",
     .description = "The first updates are large if they move the weights by "
                    "this many times their initial size.",
     .minimum = 0.0},
    kStartStep,
    kEndStep,
    kPreset,
};

// Losses before a learning rate is judged.
constexpr std::size_t kEnoughLosses = 40;
constexpr std::string_view kUnknownUpdates =
    "the run has no gradients of weights that an optimizer of a known kind "
    "updates; hooks for PyTorch tell the kind";

class LearningRate : public Rule {
 public:
  explicit LearningRate(const Parameters& parameters)
      : thresholds_{static_cast<std::size_t>(parameters.integer("num_updates")),
                    parameters.real("small_ratio"),
                    parameters.real("large_ratio")} {}

  RuleNeeds needs() const override {
    return {{{.collections = {"weights", "biases"}, .regexes = {}},
             {.collections = {"gradients"}, .regexes = {}}}};
  }

  void on_facts(std::string_view worker, const RunFacts& facts) override {
    history_of(worker).add(facts);
  }

  Outcome on_scalars(std::string_view worker,
                     std::span<const ScalarSeriesView> series) override {
    UpdateHistory& history = history_of(worker);
    for (const ScalarSeriesView& one : series) history.add(one);
    return judge_known(history);
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    if (!counted_step(step.step, std::nullopt)) return finding;
    if (open_.global >= 0 && step.step.global > open_.global) {
      finding = end_step(step.step.global);
    }
    open_ = step.step;
    for (const Observation* gradient : step.by_selector(1)) {
      SMD_CHECK_OK(history_of(gradient->worker).add_gradient(*gradient));
    }
    for (const Observation* parameter : step.by_selector(0)) {
      SMD_CHECK_OK(history_of(parameter->worker).add_parameter(*parameter));
    }
    return finding;
  }

  Outcome finish() override {
    auto finding = end_step(std::numeric_limits<Step>::max());
    for (auto& [worker, history] : histories_) {
      history.end_series();
      if (!finding) finding = judge_known(history);
    }
    for (const auto& [worker, history] : histories_) {
      if (!finding) finding = find_rare_warm_up(history);
      if (!finding) finding = find_warm_up(history, thresholds_);
    }
    if (finding || has_judged()) return finding;
    return why_not_judged();
  }

  std::string not_judged() const override {
    std::size_t most = 0;
    for (const auto& [worker, history] : histories_) {
      most = std::max(most, history.updates_until(open_.global));
    }
    if (most >= thresholds_.num_updates) {
      return has_update()
                 ? ""
                 : fmt::format("the sizes of updates: {}", kUnknownUpdates);
    }
    return fmt::format("small updates: {} were seen, num_updates={} are needed",
                       count_text(most, "update"), thresholds_.num_updates);
  }

 private:
  UpdateHistory& history_of(std::string_view worker) {
    const auto found = histories_.find(worker);
    if (found != histories_.end()) return found->second;
    return histories_.emplace(worker, UpdateHistory(worker)).first->second;
  }

  std::optional<Finding> end_step(Step next) {
    std::optional<Finding> finding;
    for (auto& [worker, history] : histories_) {
      history.end_step(open_, next);
      if (!finding) finding = judge_known(history);
    }
    return finding;
  }

  // Judges the steps whose losses and learning rates are known.
  std::optional<Finding> judge_known(UpdateHistory& history) {
    std::optional<Finding> finding;
    while (!finding && history.take_step()) {
      finding = take(judge_empty_clippings(history));
      if (!finding) finding = take(judge_sum(history));
      if (!finding) finding = take(judge_weight_decay(history));
      if (!finding) finding = judge_rate(history);
    }
    return finding;
  }

  std::optional<Finding> judge_rate(const UpdateHistory& history) {
    const auto losses = history.losses();
    if (losses.size() < kEnoughLosses || !std::isfinite(losses.back().value) ||
        !history.losses_should_fall()) {
      return std::nullopt;
    }
    const bool has_update = history.last_update().has_value();
    if (has_update) {
      if (auto found = take(judge_high_rate(history, thresholds_)))
        return found;
    }
    if (history.updates() < thresholds_.num_updates ||
        losses.size() < thresholds_.num_updates) {
      return std::nullopt;
    }
    if (has_update || history.rate()) count_judged();
    if (auto found = find_decayed(history, thresholds_)) return found;
    if (auto found = find_exhausted(history)) return found;
    if (!has_update) return std::nullopt;
    if (auto found = find_rounded(history)) return found;
    if (auto found = find_clipped(history, thresholds_)) return found;
    return find_low_rate(history, thresholds_);
  }

  std::optional<Finding> take(RateVerdict verdict) {
    if (verdict.is_judged) count_judged();
    return std::move(verdict.finding);
  }

  bool has_update() const {
    return std::ranges::any_of(histories_, [](const auto& of_worker) {
      return of_worker.second.last_update().has_value();
    });
  }

  Error why_not_judged() const {
    if (!has_update()) {
      return {Error::Code::unsupported,
              fmt::format("nothing to judge: {}", kUnknownUpdates)};
    }
    for (const auto& [worker, history] : histories_) {
      if (history.losses_should_fall()) continue;
      return {Error::Code::unsupported,
              fmt::format("nothing to judge: a loss that should fall is "
                          "needed, and this one may rise: {}",
                          history.why_losses_may_rise())};
    }
    return {Error::Code::not_found,
            fmt::format("nothing to judge: the losses and learning rates of "
                        "num_updates={} training steps are needed",
                        thresholds_.num_updates)};
  }

  RateThresholds thresholds_;
  std::map<std::string, UpdateHistory, std::less<>> histories_;  // by worker
  StepId open_ = {.global = -1};
};

}  // namespace

const RuleFactory kLearningRate = {
    .name = "LearningRate",
    .summary =
        "The learning rate is too low or too high for the weights, or "
        "the weight decay is too strong.",
    .condition =
        "Fires after 'num_updates' updates if they are smaller than "
        "'small_ratio' of the weights, if they cannot lower the loss by more "
        "than a thousandth each, if the learning rate is less than a fifth of "
        "what is usual for the optimizer, and if the loss is above 95 % of the "
        "first, or, as advice, falls as fast as in the beginning. Fires after "
        "40 losses if the first 20 updates moved the "
        "weights by more than 'large_ratio' of their initial size and the loss "
        "is no lower than it began. Fires if the learning rate fell to a "
        "hundredth in the first 'num_updates' steps and the loss is above half "
        "of the first, and at the end of a training whose learning rate still "
        "rises and whose updates are small. Fires after 20 losses if a weight "
        "decay takes at least 2e-3 of the weights in each update (or, if the "
        "optimizer divides it by its size as Adam does, is at least 0.05 and "
        "outweighs the gradients), if the median of the weights has shrunk to "
        "less than a tenth, and if the loss is above 95 % of the first or is "
        "that of a guess. Fires like the first if a clipping leaves less than "
        "a tenth of the gradients of SGD, which would be large enough without "
        "it, whatever the learning rate, and if the updates of weights of 16 "
        "bits are so small that they are rounded away. Fires after 40 losses, "
        "or if the loss "
        "is not finite, if the loss is a sum over the samples or gradients of "
        "several backward passes are summed, the learning "
        "rate of SGD times their number is more than three times what is "
        "usual, and the loss is above 95 % of the first. Fires if each of 10 "
        "clippings of gradients found none, at the end of a training whose "
        "learning rate still rises, has reached less than 30 % of that of the "
        "optimizer, and would need 30 steps of a scheduler that acts in less "
        "than every fifth update, and if at least 100 losses, a "
        "quarter of all, had less than a hundred-thousandth of the highest "
        "learning rate.",
    .advice = kRateAdvice,
    .parameters = kLearningRateParameters,
    .make = make_rule<LearningRate>,
};

}  // namespace smdebug
